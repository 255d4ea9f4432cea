"""Calls without Python in between, and publication that waits for a reader."""

from __future__ import annotations

import copy
from typing import Any

import mujoco
import numpy as np
import pytest

import asperity as asp

ARM = """
<mujoco>
  <option timestep="0.004" cone="elliptic"/>
  <worldbody>
    <geom type="plane" size="2 2 .1"/>
    <body name="box" pos="0 0 .0999">
      <freejoint/>
      <geom type="box" size=".1 .1 .1"/>
      <site name="feels" type="box" size=".12 .12 .12"/>
    </body>
    <body name="upper" pos="0 .5 .5">
      <joint name="shoulder" axis="1 0 0" range="-60 60" limited="true" damping=".05"/>
      <geom type="capsule" fromto="0 0 0 0 0 -.3" size=".04"/>
      <body name="lower" pos="0 0 -.3">
        <joint name="elbow" axis="1 0 0" frictionloss=".02"/>
        <geom type="capsule" fromto="0 0 0 0 0 -.25" size=".03"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor joint="shoulder" gear="3"/>
    <position joint="elbow" kp="5"/>
  </actuator>
  <sensor>
    <touch site="feels"/>
    <framepos objtype="body" objname="lower"/>
    <jointlimitfrc joint="shoulder"/>
    <framelinacc objtype="body" objname="lower"/>
  </sensor>
</mujoco>
"""

INTEGRATORS = [asp.Icf(time_step=2e-3), asp.Cenic(accuracy=1e-3), asp.Sap(time_step=4e-3)]

_DERIVED = (
    "qacc", "xpos", "xmat", "cvel", "sensordata", "qfrc_constraint", "qfrc_actuator", "efc_force",
    "qM" if hasattr(mujoco.MjData, "qM") else "M",
)  # fmt: skip


def _state(sim: asp.Simulator) -> list[np.ndarray]:
    data = sim.session.data
    return [np.array(data.time), data.qpos.copy(), data.qvel.copy()]


def _derived(data: mujoco.MjData) -> dict[str, np.ndarray]:
    found = {name: np.array(getattr(data, name)) for name in _DERIVED}
    found["contact"] = np.array(data.contact.dist)
    return found


def _same(first: Any, second: Any) -> None:
    np.testing.assert_equal(first, second)


def _control(number: int) -> np.ndarray:
    return np.array([np.sin(0.7 * number), np.cos(0.4 * number)])


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda one: type(one).__name__)
def test_calls_in_compiled_code_and_through_python_are_the_same(integrator: asp.Integrator) -> None:
    quick, slow = (asp.Simulator(ARM, integrator=integrator) for _ in range(2))
    for number in range(60):
        end = 0.01 * (number + 1)
        reports = []
        for sim, progress in ((quick, None), (slow, lambda _: None)):
            sim.data.ctrl[:] = _control(number)
            if number == 30:
                sim.data.xfrc_applied[1] = [0.0, 5.0, 0.0, 0.0, 0.0, 0.3]
            if number == 40:
                sim.data.qvel[1] = 0.5
            reports.append(sim.advance_to(end, progress=progress))
        one, other = ({**vars(report.stats), "wall_time": 0.0} for report in reports)
        assert one == other
        _same(_state(quick), _state(slow))
        _same(_derived(quick.data), _derived(slow.data))
    totals = [{**vars(sim.stats), "wall_time": 0.0} for sim in (quick, slow)]
    assert totals[0] == totals[1]
    assert quick.stats.steps > 0


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda one: type(one).__name__)
def test_who_reads_finds_what_eager_publication_leaves(integrator: asp.Integrator) -> None:
    eager = asp.Simulator(ARM, integrator=integrator)
    lazy = asp.Simulator(ARM, integrator=integrator, publish="lazy")
    _same(_derived(lazy.data), _derived(eager.data))
    held = lazy.data
    for number in range(40):
        for sim in (eager, lazy):
            # Written without a reading of the attribute.
            sim.session.data.ctrl[:] = _control(number)
            sim.advance_to(0.01 * (number + 1))
        _same(_state(lazy), _state(eager))
        _same(lazy.contacts.force, eager.contacts.force)
        if number % 7 == 0:
            assert lazy.data is held
            _same(_derived(lazy.data), _derived(eager.data))
            assert lazy.energy() == eager.energy()
    assert np.abs(held.sensordata).max() > 1.0


def test_nothing_is_evaluated_for_nobody() -> None:
    lazy = asp.Simulator(ARM, integrator=asp.Icf(time_step=2e-3), publish="lazy")
    before = lazy.stats
    lazy.advance_to(0.1)
    work = lazy.stats - before
    # The first state was published by the constructor.
    assert work.evaluations == work.steps - 1 == 49
    for _ in range(2):
        assert lazy.data.time == 0.1
        assert (lazy.stats - before).evaluations == 50


def test_what_a_user_has_written_outlives_a_reading() -> None:
    sims = [
        asp.Simulator(ARM, integrator=asp.Icf(time_step=2e-3), publish=publish)
        for publish in ("eager", "lazy")
    ]
    for sim in sims:
        data = sim.data
        sim.advance_to(0.1)
        data.qvel[0] = 0.3
        data.ctrl[0] = 0.5
        # Of the state that the call has led to.
        assert np.linalg.norm(sim.data.cvel[1, 3:]) < 0.1
        assert sim.data.qvel[0] == 0.3
        assert sim.data.ctrl[0] == 0.5
        sim.advance_to(0.2)
    _same(_state(sims[0]), _state(sims[1]))
    assert sims[1].data.qpos[0] > 0.001


def test_controls_see_what_is_published() -> None:
    runs = []
    for publish in ("eager", "lazy"):
        seen = []

        def control(_: mujoco.MjModel, data: mujoco.MjData, seen: list[np.ndarray] = seen) -> None:
            seen.append(data.sensordata.copy())
            data.ctrl[0] = 10.0 * data.sensordata[2]

        sim = asp.Simulator(
            ARM, integrator=asp.Icf(time_step=2e-3), control=control, publish=publish
        )
        for number in range(20):
            sim.advance_to(0.013 * (number + 1))
        runs.append((seen, _state(sim)))
    _same(runs[0], runs[1])
    assert len(runs[0][0]) > 40


def test_copies_are_lazy_too() -> None:
    sim = asp.Simulator(ARM, integrator=asp.Icf(time_step=2e-3), publish="lazy")
    sim.advance_to(0.05)
    other = copy.deepcopy(sim)
    for one in (sim, other):
        one.advance_to(0.1)
    assert other.stats.evaluations == sim.stats.evaluations
    _same(_state(other), _state(sim))
    _same(_derived(other.data), _derived(sim.data))


def test_other_words_are_refused() -> None:
    with pytest.raises(asp.ArgumentError, match="publish must be 'eager' or 'lazy', got 'never'"):
        asp.Simulator(ARM, publish="never")


def test_a_bad_control_is_refused_and_nothing_has_changed() -> None:
    sim = asp.Simulator(ARM, integrator=asp.Icf(time_step=2e-3), publish="lazy")
    sim.advance_to(0.05)
    before = _state(sim)
    sim.data.ctrl[1] = np.nan
    with pytest.raises(asp.ArgumentError, match=r"ctrl\[1\]"):
        sim.advance_to(0.1)
    _same(_state(sim), before)
    with pytest.raises(asp.ArgumentError, match="not before"):
        sim.advance_to(0.01)


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda one: type(one).__name__)
def test_several_steps_of_one_call_are_those_of_several(integrator: asp.Integrator) -> None:
    model = mujoco.MjModel.from_xml_string(ARM)
    one, other = mujoco.MjData(model), mujoco.MjData(model)
    for number in range(6):
        one.ctrl[:] = other.ctrl[:] = _control(number)
        asp.step(model, one, 5, integrator=integrator)
        for _ in range(5):
            asp.step(model, other, integrator=integrator)
        for name in ("qpos", "qvel", "time"):
            _same(getattr(one, name), getattr(other, name))
        _same(_derived(one), _derived(other))


def test_a_failure_in_the_middle_is_published() -> None:
    model = mujoco.MjModel.from_xml_string(ARM)
    data, other = mujoco.MjData(model), mujoco.MjData(model)
    # Enough in the air, and not for the impact of a corner.
    integrator = asp.Icf(time_step=0.004, max_iterations=3)
    for one in (data, other):
        one.qpos[2:7] = [0.4, 0.9, 0.3, 0.2, 0.1]
        one.qvel[2] = -3.0
    with pytest.raises(asp.SimulationError):
        asp.step(model, data, 500, integrator=integrator)
    steps = round(data.time / 0.004)
    assert 1 < steps < 499
    for _ in range(steps):
        asp.step(model, other, integrator=integrator)
    with pytest.raises(asp.SimulationError):
        asp.step(model, other, integrator=integrator)
    _same(data.time, other.time)
    _same(_derived(data), _derived(other))
