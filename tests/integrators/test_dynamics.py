"""The continuous dynamics: laws of force, and their agreement with the potentials of small steps."""

from __future__ import annotations

import ctypes

import mujoco
import numpy as np
import pytest

import asperity as asp
from asperity.contact.laws import (
    LINEAR,
    PARABOLIC,
    SMOOTH,
    friction_per_speed,
    normal_force,
)
from asperity.convex.potentials.contact_driver import evaluate_contacts
from asperity.convex.potentials.lagged import LAGGED_LAW
from asperity.convex.potentials.law_table import install_law
from asperity.convex.potentials.rows import evaluate_rows
from asperity.integrators.methods.classical.dynamics import dynamics
from asperity.integrators.methods.convex_step import prepare_potentials

# Everything that exerts forces: contacts that stick, slide and part, a limit that is near, one that
# is violated, dry friction, servos with and without effort limits, an equality, a spring.
EVERYTHING = """
<mujoco>
  <worldbody>
    <geom type='plane' size='0 0 1'/>
    <body pos='0 0 0.0995' euler='0.3 0 0'><freejoint/>
      <geom type='box' size='.1 .1 .1' mass='1'/></body>
    <body pos='1 0 0.199'><freejoint/><geom type='sphere' size='.2' mass='2'/></body>
    <body pos='2 0 1'>
      <joint name='a' axis='0 1 0' limited='true' range='-40 40' damping='.3' frictionloss='.2'/>
      <geom type='capsule' fromto='0 0 0 0 0 -.3' size='.02' mass='1'/>
      <body pos='0 0 -.3'>
        <joint name='b' axis='0 1 0' limited='true' range='-10 20' stiffness='2'/>
        <geom type='capsule' fromto='0 0 0 0 0 -.3' size='.02' mass='.5'/></body></body>
    <body pos='3 0 1'><joint name='c' type='slide' axis='1 0 0'/>
      <geom type='sphere' size='.05' mass='1'/></body>
    <body pos='3 1 1'><joint name='d' type='slide' axis='1 0 0'/>
      <geom type='sphere' size='.05' mass='1'/></body>
  </worldbody>
  <equality><joint joint1='c' joint2='d' polycoef='0 1 0 0 0'/></equality>
  <actuator>
    <position joint='a' kp='30' kv='3' ctrlrange='-2 2'/>
    <position joint='c' kp='500' kv='3' forcerange='-5 5' ctrlrange='-2 2'/>
    <motor joint='d' gear='2'/>
  </actuator>
</mujoco>
"""


def everything(integrator: asp.RungeKutta3) -> asp.Simulator:
    """The model in a state in which every kind of force acts."""
    model = mujoco.MjModel.from_xml_string(EVERYTHING)
    data = mujoco.MjData(model)
    data.qpos[14:18] = 0.69, 0.5, 0.1, 0.103
    data.qvel[:6] = 0.4, 0.1, -0.05, 0.3, -0.2, 1.0
    data.qvel[6:12] = 3e-5, -2e-5, 0.03, 0, 0, 0
    data.qvel[12:] = 0.4, 0.3, -0.1, 0.2
    data.ctrl[:] = 0.2, 1.0, 0.7
    contact = asp.ContactParameters(
        stiffness=1e4,
        dissipation=5.0,
        friction=0.8,
        dynamic_friction=0.5,
        stiction_tolerance=1e-4,
    )
    return asp.Simulator(model, integrator=integrator, data=data, contact=contact)


def evaluate_dynamics(sim: asp.Simulator) -> None:
    """Fill the problem with the forces of the current state."""
    assert sim.session.method.base.table is not None
    world, state, classical = (
        table.address
        for table in (
            sim.session.world.table,
            sim.session.world.current.table,
            sim.session.method.base.table,
        )
    )
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 3)
    assert kind(dynamics.address)(world, state, classical) == 0


def test_normal_force() -> None:
    assert normal_force(1e4, 2.0, -1e-3, -0.1) == pytest.approx(10.0 * 1.2)
    assert normal_force(1e4, 2.0, 1e-3, -0.1) == 0.0
    # Bodies that part faster than 1/d do not pull.
    assert normal_force(1e4, 2.0, -1e-3, 0.6) == 0.0


@pytest.mark.parametrize("law", [SMOOTH, LINEAR, PARABOLIC])
def test_regularised_friction(law: int) -> None:
    tolerance = 1e-4
    slips = np.geomspace(1e-9, 10.0, 400)
    friction = np.array([friction_per_speed(law, s, tolerance) * s for s in slips])
    assert np.all(np.diff(friction) >= -1e-15)
    assert np.all(friction <= 1.0 + 1e-15)
    assert friction[-1] == pytest.approx(1.0, abs=1e-9)
    slope = {SMOOTH: 1.0, LINEAR: 1.0, PARABOLIC: 2.0}[law]
    assert friction_per_speed(law, 0.0, tolerance) == pytest.approx(slope / tolerance)
    at_tolerance = friction_per_speed(law, tolerance, tolerance) * tolerance
    assert at_tolerance == pytest.approx(np.sqrt(0.5) if law == SMOOTH else 1.0)


def test_potentials_converge_to_the_laws() -> None:
    """Impulses over the step approach the forces of the continuous laws, linearly in the step.

    Those of the lagged law and of rows, that is; the similar law dissipates with the speed of
    sliding at any step.
    """
    sim = everything(asp.RungeKutta3(time_step=1.0))
    world = sim.session.world
    problem, state = world.problem, world.current
    contacts, rows = state.contacts.count, state.rows.count
    assert contacts >= 3
    names = ("g1", "g2", "gn")
    # Publication has set aside what actuators do.
    evaluate_dynamics(sim)
    exact = np.concatenate([getattr(problem.iterate, name)[:contacts] for name in names])
    exact_rows = problem.iterate.row_impulse[:rows].copy()
    install_law(problem, LAGGED_LAW)
    errors, row_errors = [], []
    for step in (1e-8, 1e-9, 1e-10):
        prepare_potentials(world.table, state.table, step, 0.0)
        evaluate_contacts(problem, 0, contacts)
        evaluate_rows(problem.law, problem.iterate, 0, rows)
        found = np.concatenate([getattr(problem.iterate, name)[:contacts] for name in names])
        errors.append(np.abs(found / step - exact))
        row_errors.append(np.abs(problem.iterate.row_impulse[:rows] / step - exact_rows))
    scale = np.abs(exact).max()
    assert scale > 1.0
    # No row is idle but the limits that are far.
    assert np.count_nonzero(exact_rows) >= 5
    relative = np.array([(e / np.maximum(np.abs(exact_rows), 1.0)).max() for e in row_errors])
    np.testing.assert_allclose(relative[:-1] / relative[1:], 10.0, rtol=0.1)
    assert relative[-1] < 1e-3
    largest = np.array([error.max() for error in errors]) / scale
    assert largest[-1] < 1e-6
    assert largest[0] < 1e-4


def test_dynamics_are_the_limit_of_small_steps() -> None:
    """Accelerations are those by which ICF changes velocities in a tiny step."""
    exact = everything(asp.RungeKutta3(time_step=1.0)).data.qacc.copy()
    steps = 1e-8, 1e-9
    errors = []
    for step in steps:
        sim = everything(asp.Icf(time_step=step, tolerance=1e-16))
        # Rows near a limit are stiff: 10⁶ 1/s is an honest acceleration there.
        errors.append(np.abs(sim.data.qacc - exact) / (1.0 + np.abs(exact)))
    assert errors[1].max() < 1e-2
    assert errors[0].max() / errors[1].max() == pytest.approx(10.0, rel=0.2)


@pytest.mark.parametrize("friction_law", ["smooth", "linear", "parabolic"])
def test_published_forces_are_those_of_the_state(friction_law: str) -> None:
    """Newton's law holds for what is published, and friction keeps to its cone."""
    sim = everything(asp.RungeKutta3(time_step=1e-6, friction_law=friction_law))
    contacts = sim.contacts
    geoms = sim.model.geom_bodyid[contacts.geom[:, 1]]
    sphere = geoms == 2
    assert np.count_nonzero(sphere) == 1
    force = contacts.force[sphere].sum(axis=0)
    weight = np.array([0, 0, -9.81 * 2.0])
    np.testing.assert_allclose(sim.data.qacc[6:9], (force + weight) / 2.0, rtol=1e-9)
    tangential = np.linalg.norm(
        contacts.force - contacts.normal_force[:, None] * contacts.normal, axis=1
    )
    assert np.all(tangential <= 0.8 * contacts.normal_force * (1 + 1e-12))
    wrench = np.zeros(6)
    total = np.zeros(3)
    for i in range(sim.data.ncon):
        mujoco.mj_contactForce(sim.model, sim.data, i, wrench)
        frame = sim.data.contact.frame[i].reshape(3, 3)
        if sim.model.geom_bodyid[sim.data.contact.geom[i, 1]] == 2:
            total += frame.T @ wrench[:3]
    np.testing.assert_allclose(total, force, rtol=1e-9, atol=1e-9)
