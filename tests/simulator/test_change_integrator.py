"""Other options of a simulator's integrator in the middle of a simulation."""

from __future__ import annotations

import dataclasses

import mujoco
import numpy as np
import pytest
from every_integrator import INTEGRATORS, SCENE

import asperity as asp


def other(integrator):
    """The same integrator with a tenth of its accuracy or half its step."""
    if integrator.time_step is None:
        return dataclasses.replace(integrator, accuracy=0.1 * integrator.accuracy)
    return dataclasses.replace(integrator, time_step=0.5 * integrator.time_step)


@pytest.mark.parametrize("integrator", INTEGRATORS.values(), ids=INTEGRATORS)
def test_it_goes_on_as_one_with_these_options_would_from_there(integrator):
    sim = asp.Simulator(SCENE, integrator=integrator)
    sim.data.qvel[0] = 0.5
    assert sim.advance_to(0.03).success
    before = {name: getattr(sim.data, name).copy() for name in ("qpos", "qvel", "efc_force")}
    steps = sim.stats.steps
    midas = isinstance(integrator, asp.Midas)
    sim.change_integrator(other(integrator))
    assert sim.integrator == other(integrator)
    np.testing.assert_array_equal(sim.data.qpos, before["qpos"])
    np.testing.assert_array_equal(sim.data.qvel, before["qvel"])
    if not midas:
        np.testing.assert_allclose(sim.data.efc_force, before["efc_force"], rtol=1e-9, atol=1e-9)
    fresh = asp.Simulator(SCENE, integrator=other(integrator))
    fresh.data.qpos[:], fresh.data.qvel[:] = before["qpos"], before["qvel"]
    fresh.data.time = sim.time
    for one in (sim, fresh):
        assert one.advance_to(0.06).success
    np.testing.assert_allclose(sim.data.qpos, fresh.data.qpos, atol=1e-9)
    np.testing.assert_allclose(sim.data.qvel, fresh.data.qvel, atol=1e-7)
    if not midas:
        assert sim.stats.steps == steps + fresh.stats.steps


def test_a_tighter_accuracy_comes_closer():
    def missing(accuracies):
        sim = asp.Simulator(SCENE, integrator=asp.Cenic(accuracy=accuracies[0]))
        sim.advance_to(0.1)
        for accuracy in accuracies[1:]:
            sim.change_integrator(asp.Cenic(accuracy=accuracy))
        sim.advance_to(0.4)
        return np.abs(sim.data.qpos - exact).max()

    reference = asp.Simulator(SCENE, integrator=asp.Cenic(accuracy=1e-7))
    reference.advance_to(0.4)
    exact = reference.data.qpos.copy()
    assert missing([1e-1, 1e-6]) < 0.3 * missing([1e-1])
    # There and back again.
    assert missing([1e-4, 1e-1, 1e-4]) < 1e-3


def test_systems_and_their_states_stay():
    spring = asp.systems.FunctionSystem(
        joints=("a",),
        initial_state=[0.0],
        output=lambda z, x: -5.0 * x.qpos[7:8] + z,
        derivative=lambda z, x: np.ones(1),
    )
    sim = asp.Simulator(SCENE, systems=[spring])
    sim.advance_to(0.1)
    sim.change_integrator(asp.Cenic(accuracy=1e-5))
    np.testing.assert_allclose(sim.system_state(spring), 0.1)
    sim.advance_to(0.2)
    np.testing.assert_allclose(sim.system_state(spring), 0.2)
    with pytest.raises(asp.ArgumentError, match="external systems"):
        sim.change_integrator(asp.Cenic(error_estimate="trapezoid"))
    sim.advance_to(0.21)


def test_what_cannot_change_is_named_and_nothing_happens():
    sim = asp.Simulator(SCENE, integrator=asp.Sap(accuracy=1e-3))
    sim.advance_to(0.02)
    for wrong, words in (
        (asp.Cenic(), "can take other options of it, but not Cenic"),
        (asp.Sap(time_step=1e-2), "cannot change between fixed steps and error control"),
        ("sap", "can take other options of it, but not 'sap'"),
    ):
        with pytest.raises(asp.ArgumentError, match=words):
            sim.change_integrator(wrong)
    assert sim.integrator == asp.Sap(accuracy=1e-3)
    twin = asp.Simulator(SCENE, integrator=asp.Sap(accuracy=1e-3))
    twin.advance_to(0.02)
    for one in (sim, twin):
        one.advance_to(0.04)
    np.testing.assert_array_equal(sim.data.qpos, twin.data.qpos)


def test_not_while_it_runs():
    def control(model: mujoco.MjModel, data: mujoco.MjData) -> None:
        sim.change_integrator(asp.Cenic(accuracy=1e-5))

    sim = asp.Simulator(SCENE, control=control)
    with pytest.raises(asp.SimulationError, match="running"):
        sim.advance_to(0.1)
