"""Derivatives of the dynamics from those of the forces, against finite differences."""

from __future__ import annotations

import numba
import numpy as np
import pytest

import asperity as asp
from asperity.errors import ArgumentError

pytestmark = pytest.mark.filterwarnings("ignore::asperity.AsperityWarning")

BOXES = """
<mujoco><option gravity='0 0 -9.81'/>
<custom><text name='asperity' data='stiffness=1e5 dissipation=5 friction=0.8 dynamic_friction=0.4
  stiction_tolerance=1e-3'/></custom>
<worldbody><geom type='plane' size='1 1 1'/>
  <body pos='0 0 0.0498'><freejoint/><geom type='box' size='.1 .08 .05' mass='1'/></body>
  <body pos='.02 0 0.1495' euler='0 0 20'><freejoint/>
    <geom type='box' size='.06 .07 .05' mass='2'/></body>
  <body pos='.5 0 .1995'><joint axis='0 1 0' stiffness='30' damping='2'/>
    <geom type='capsule' fromto='0 0 0 .2 0 -.1' size='.05' mass='1'/>
    <body pos='.2 0 -.1'><joint type='ball'/>
      <geom type='sphere' size='.0997' mass='.5' contype='1'/></body></body>
</worldbody></mujoco>
"""
JOINTS = """
<mujoco><worldbody>
  <body><joint name='a' axis='0 1 0' limited='true' range='-10 10' frictionloss='2'
      actuatorfrclimited='true' actuatorfrcrange='-30 30'/>
    <geom type='capsule' fromto='0 0 0 .3 0 0' size='.03' mass='1'/>
    <body pos='.3 0 0'><joint name='b' axis='0 1 0' stiffness='20' damping='.7'/>
      <geom type='capsule' fromto='0 0 0 .3 0 0' size='.03' mass='.4'/></body></body>
</worldbody>
<equality><joint joint1='b' joint2='a' polycoef='.1 .5 0 0 0'/></equality>
<actuator><position joint='a' kp='700' kv='11'/><position joint='b' kp='90' kv='3'/></actuator>
</mujoco>
"""


@numba.njit
def _force(z, x):
    return np.array([-400.0 * x.qpos[1] - 25.0 * x.qvel[0], -8.0 * x.qvel[1] ** 3])


def _jacobians(text: str, jacobian: str, qvel, friction_law: str = "smooth", qpos=None, **options):
    """J_v and J_q at the beginning of a Rosenbrock step."""
    integrator = asp.Rosenbrock2(time_step=1e-6, jacobian=jacobian, friction_law=friction_law)
    sim = asp.Simulator(text, integrator=integrator, **options)
    sim.data.qvel[:] = qvel
    if qpos is not None:
        sim.data.qpos[:] = qpos
    assert sim.step().success
    table, nv = sim.session.method.base.table, sim.model.nv
    return [m.reshape(nv, nv).copy() for m in (table.velocity_jacobian, table.position_jacobian)]


def _compare(text: str, tolerance: tuple[float, float], *args, **options) -> None:
    found = _jacobians(text, "analytic", *args, **options)
    exact = _jacobians(text, "finite-differences", *args, **options)
    for a, b, most in zip(found, exact, tolerance, strict=True):
        assert np.abs(b).max() > 10.0
        assert np.abs(a - b).max() < most * np.abs(b).max()


@pytest.mark.parametrize("law", ["smooth", "linear", "parabolic"])
@pytest.mark.parametrize("speed", [3e-4, 2e-2])
def test_contacts_in_stiction_and_in_slip(law: str, speed: float) -> None:
    """Geometry, which is left out, is softer than contact by the depth over the size of a body."""
    rng = np.random.default_rng(3)
    qvel = speed * rng.normal(size=16)
    # Positions: friction in stiction turns with the contact's frame.
    _compare(BOXES, (1e-5, 0.03), qvel, law)


def test_joints_servos_limits_and_equalities() -> None:
    # Where the equality nearly holds, and slowly: large accelerations would show the derivatives
    # of inertia, large velocities those of Coriolis forces, which are left out.
    _compare(JOINTS, (1e-5, 1e-4), [1e-3, -2e-3], qpos=np.array([0.05, 0.125 + 1e-7]))
    # Beyond the limit, and with the servo at its own.
    _compare(JOINTS, (1e-5, 1e-4), [3e-3, -2e-3], qpos=np.array([0.2, 0.2]))


def test_external_systems_within_their_limits() -> None:
    plain = JOINTS.replace("<equality>", "<!--").replace("</equality>", "-->")
    for limit in (None, 1e-3):
        systems = [asp.systems.FunctionSystem(_force, joints=["a", "b"], effort_limit=limit)]
        qpos = np.array([1e-3, 2e-3])
        _compare(plain, (1e-5, 1e-2), [3e-3, -5e-3], qpos=qpos, systems=systems)


@pytest.mark.parametrize("method", [asp.ImplicitEuler, asp.Sdirk2])
def test_solutions_are_the_same_and_cost_fewer_evaluations(method) -> None:
    sims = []
    for jacobian in ("finite-differences", "analytic"):
        integrator = method(time_step=1e-3, jacobian=jacobian)
        sim = asp.Simulator(BOXES, integrator=integrator)
        sim.data.qvel[0] = 0.3
        assert sim.advance_to(0.05).success
        sims.append(sim)
    # To the tolerance of Newton's method, of which there are fifty solutions.
    np.testing.assert_allclose(sims[1].data.qpos, sims[0].data.qpos, rtol=0, atol=1e-6)
    assert sims[1].stats.evaluations < 0.7 * sims[0].stats.evaluations


def test_unknown_jacobians_are_refused() -> None:
    with pytest.raises(
        ArgumentError, match="jacobian 'exact' is unknown; use one of analytic, fin"
    ):
        asp.Sdirk2(jacobian="exact")
