"""Derivatives of steps in which robots turn far, and of which the balance changes the velocities."""

from __future__ import annotations

import dataclasses

import derivative_models as models
import mujoco
import numpy as np
import pytest

import asperity as asp
from asperity.derivatives import Transition, body_mass, model_number
from asperity.derivatives.tangent import StepState

_ROBOT = """<body pos="0 0 2" euler="20 30 40">{root}
  <geom type="capsule" size=".03" fromto="0 0 0 0 0 -.3" mass=".5"/>
  <body pos="0 0 -.3"><joint name="knee" axis="0 1 0" damping=".01"/>
    <geom name="shin" type="capsule" size=".03" fromto="0 0 0 .1 0 -.3" mass=".3"/>
    <body name="foot" pos=".1 0 -.3"><joint axis="1 0 1" stiffness="1"/>
      <geom type="box" size=".05 .02 .01" mass=".1" pos=".03 0 0"/></body></body></body>"""
_JOINTS = """<body pos="0 0 2" euler="20 30 40">{root}
  <geom type="capsule" size=".03" fromto="0 0 0 .05 0 -.3" mass=".5"/>
  <body pos="0 .1 -.3"><joint type="ball" pos=".01 .02 .03" damping=".01"/>
    <geom type="capsule" size=".03" fromto="0 0 0 .1 0 -.3" mass=".3"/>
    <body pos=".1 0 -.3" euler="10 20 30">
      <joint type="slide" axis="1 0 1" armature=".02" stiffness="20"/>
      <joint name="knee" axis="0 1 .2" pos=".02 0 .01" armature=".01"/>
      <geom type="box" size=".05 .02 .01" mass=".1" pos=".03 0 0"/></body></body>
  <body pos=".2 0 .1"><joint axis="0 0 1"/><geom size=".05" mass=".2" pos=".1 0 .1"/></body></body>"""
_MODELS = {
    "floats": _ROBOT.format(root="<freejoint/>"),
    "two float": _ROBOT.format(root="<freejoint/>")
    + """<body pos="3 0 2"><freejoint/><geom type="box" size=".1 .2 .3"/>
      <body pos="0 0 .4"><joint axis="1 0 0"/><geom size=".1"/></body></body>""",
    "has joints of all kinds": _JOINTS.format(root="<freejoint/>"),
    "hangs by a ball": _JOINTS.format(root="<joint type='ball' pos='.1 0 .1'/>"),
    "hangs": _ROBOT.format(root="<joint axis='0 1 0'/>"),
    "is touched": _ROBOT.format(root="<freejoint/>")
    + "<geom type='plane' size='5 5 1' pos='0 0 1.6'/>",
}
_SPEEDS = {
    "has joints of all kinds": 10.0,
    "hangs by a ball": 40.0,
    "floats": 4.0,
    "two float": 4.0,
    "hangs": 30.0,
    "is touched": 40.0,
}
_INTEGRATORS = {
    "icf": asp.Icf(time_step=2e-3, tolerance=1e-13, resolve_impacts=False),
    "sap": asp.Sap(time_step=2e-3, tolerance=1e-13, resolve_impacts=False),
    "tamsi": asp.Tamsi(time_step=2e-3, tolerance=1e-12, resolve_impacts=False),
}


def _load(name: str) -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(
        f"<mujoco><worldbody>{_MODELS[name]}</worldbody>"
        "<actuator><motor joint='knee'/></actuator></mujoco>"
    )


def _throw(model: mujoco.MjModel, name: str, seed: int = 5) -> mujoco.MjData:
    random = np.random.default_rng(seed)
    data = mujoco.MjData(model)
    data.qvel[:] = _SPEEDS[name] * random.normal(size=model.nv)
    if name == "is touched":
        data.qvel[:3] *= 0.05
    data.ctrl[0] = 0.3
    return data


def _differences(
    model: mujoco.MjModel, data: mujoco.MjData, integrator: asp.integrators.Integrator
) -> np.ndarray:
    """Central differences of the simulator's own steps, (2nv, 2nv + nu)."""
    size, nv = 3e-6, model.nv
    simulator = asp.Simulator(model, integrator=integrator)
    own = simulator.data

    def end(change: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        own.qpos[:] = data.qpos
        mujoco.mj_integratePos(model, own.qpos, change[:nv].copy(), 1.0)
        own.qvel[:], own.ctrl[:] = data.qvel + change[nv : 2 * nv], data.ctrl + change[2 * nv :]
        simulator.take_over()
        report = simulator.step()
        assert report.success, report.message
        return own.qpos.copy(), own.qvel.copy()

    columns = []
    for change in size * np.eye(2 * nv + model.nu):
        ahead, behind = end(change), end(-change)
        moved = np.zeros(nv)
        mujoco.mj_differentiatePos(model, moved, 1.0, behind[0], ahead[0])
        columns.append(np.concatenate([moved, ahead[1] - behind[1]]) / (2.0 * size))
    return np.array(columns).T


@pytest.mark.parametrize("key", _INTEGRATORS)
@pytest.mark.parametrize("name", ["floats", "two float", "has joints of all kinds"])
def test_they_agree_with_differences_of_the_simulator_s_steps(name: str, key: str) -> None:
    model, integrator = _load(name), _INTEGRATORS[key]
    data = _throw(model, name)
    lin = asp.derivatives.linearize(model, data, integrator=integrator)
    expected = _differences(model, data, integrator)
    assert models.error(np.hstack([lin.A, lin.B]), expected) < 2e-6
    # The place where it is thrown plays no part.
    np.testing.assert_allclose(lin.A[model.nv :, :3], 0.0, atol=1e-6)


@pytest.mark.parametrize("key", _INTEGRATORS)
@pytest.mark.parametrize("name", ["hangs", "hangs by a ball", "is touched"])
def test_they_agree_with_differences_of_steps_solved_to_round_off(name: str, key: str) -> None:
    """Where forces of the middle of the step, and contacts, end far above round-off else."""
    model, integrator = _load(name), _INTEGRATORS[key]
    # Each method has a motion of which contact leaves too much energy.
    data = _throw(model, name, 9 if key == "sap" else 8)
    lin = asp.derivatives.linearize(model, data, integrator=integrator)
    differences = models.Differences(model, integrator)
    ahead, behind = differences.sides(data, 3e-6)
    assert models.error(np.hstack([lin.A, lin.B]), 0.5 * (ahead + behind)) < 2e-6
    start = StepState(0.0, data.qpos, data.qvel, data.act)
    solution = differences.convex.at(start, 2e-3, balanced=False).end
    assert np.abs(solution.qvel - lin.qvel).max() > 1e-5 * np.abs(lin.qvel).max()


@pytest.mark.parametrize("key", _INTEGRATORS)
def test_momentum_does_not_depend_on_a_motor(key: str) -> None:
    """Momentum and angular momentum about the centre of mass, of what nothing touches."""
    model = _load("floats")
    data = _throw(model, "floats")
    lin = asp.derivatives.linearize(model, data, integrator=_INTEGRATORS[key])
    after = mujoco.MjData(model)

    def momenta(size: float) -> np.ndarray:
        change = size * lin.B[:, 0]
        after.qpos[:], after.qvel[:] = lin.qpos, lin.qvel + change[model.nv :]
        mujoco.mj_integratePos(model, after.qpos, change[: model.nv].copy(), 1.0)
        mujoco.mj_fwdPosition(model, after)
        mujoco.mj_fwdVelocity(model, after)
        mujoco.mj_subtreeVel(model, after)
        return np.concatenate(
            [model.body_subtreemass[1] * after.subtree_linvel[1], after.subtree_angmom[1]]
        )

    slope = (momenta(1e-3) - momenta(-1e-3)) / 2e-3
    # The motor alone gives the foot a hundred times as much.
    assert np.abs(lin.B[model.nv + 6 :, 0]).max() > 0.1
    np.testing.assert_allclose(slope, 0.0, atol=1e-8)


def test_a_trajectory_is_the_simulator_s() -> None:
    model = _load("floats")
    data = _throw(model, "floats")
    transition = Transition(model, integrator=_INTEGRATORS["icf"])
    states = transition.trajectory(transition.state_of(data), np.full((50, 1), 0.3))
    simulator = asp.Simulator(model, integrator=_INTEGRATORS["icf"])
    simulator.data.qvel[:], simulator.data.ctrl[:] = data.qvel, data.ctrl
    simulator.take_over()
    for _ in range(50):
        simulator.step()
    own = np.concatenate([simulator.data.qpos, simulator.data.qvel])
    np.testing.assert_allclose(states[-1], own, atol=1e-9)


def test_gradients_and_sensitivities_by_parameters() -> None:
    """Of a mass, of which the balance knows, and of damping, against differences."""
    model = _load("floats")
    data = _throw(model, "floats")
    mass = dataclasses.replace(body_mass(model, "foot"), size=1e-5)
    parameters = [mass, model_number(model, "dof_damping", 6)]
    transition = Transition(model, integrator=_INTEGRATORS["icf"], parameters=parameters)
    start, controls = transition.state_of(data), np.full((10, 1), 0.3)
    found = transition.sensitivities(start, controls).by_parameter[-1]
    weights = np.random.default_rng(1).normal(size=(11, transition.tangent_size))
    backward = transition.gradient(start, controls, weights)
    every = transition.sensitivities(start, controls)
    np.testing.assert_allclose(
        backward.by_parameter, np.einsum("ki,kij->j", weights, every.by_parameter), rtol=1e-9
    )
    values = transition.values
    for index, size in enumerate((1e-5, 1e-5)):
        ends = []
        for sign in (1.0, -1.0):
            moved = values.copy()
            moved[index] += sign * size
            transition.set_parameters(moved)
            ends.append(transition.trajectory(start, controls)[-1])
        slope = transition.difference(ends[1], ends[0]) / (2.0 * size)
        np.testing.assert_allclose(found[:, index], slope, atol=2e-6 * np.abs(slope).max())
