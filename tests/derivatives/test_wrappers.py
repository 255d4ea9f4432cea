"""Gradients of PyTorch and JAX through transitions, against differences."""

from __future__ import annotations

from typing import Any

import derivative_models as models
import mujoco
import numpy as np
import pytest

import asperity as asp
from asperity.derivatives import Transition, model_number
from asperity.derivatives.pull_back import from_tangent_space, to_tangent_space
from asperity.derivatives.transition_worlds import TransitionWorlds


def _sliding() -> tuple[Transition, np.ndarray]:
    model = models.load("sliding box")
    model.geom_friction[:, 0] = 0.0, 0.3  # MuJoCo takes the larger one
    data = mujoco.MjData(model)
    asp.step(model, data, 200, integrator=asp.Icf())
    data.qvel[:] = 1.0, 0.2, 0.0, 0.0, 0.0, 0.5
    parameters = [model_number(model, "geom_friction", (1, 0))]
    transition = Transition(model, parameters=parameters)
    return transition, transition.state_of(data)


def _pendulum() -> tuple[Transition, np.ndarray, np.ndarray]:
    model = models.load("double pendulum on the floor")
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = (-0.8, 0.6), (0.5, -0.3)
    transition = Transition(model)
    controls = np.random.default_rng(0).normal(size=(20, 1))
    return transition, transition.state_of(data), controls


def test_gradients_by_quaternions_are_those_of_what_they_mean() -> None:
    """A function of a unit quaternion that does not depend on its length."""
    model = models.load("ball joint and free body")
    data = next(models.states(model, 1, seed=0))
    state = np.concatenate([data.qpos, data.qvel, data.act])
    random = np.random.default_rng(1)
    weights = random.normal(size=2 * model.nv)

    def function(x: np.ndarray) -> float:
        qpos = np.array(x[: model.nq])
        mujoco.mj_normalizeQuat(model, qpos)
        change = np.zeros(model.nv)
        mujoco.mj_differentiatePos(model, change, 1.0, data.qpos, qpos)
        return float(weights[: model.nv] @ change + weights[model.nv :] @ x[model.nq :])

    found = from_tangent_space(model, state, weights)
    for index in range(len(state)):
        sides = []
        for sign in (1.0, -1.0):
            moved = state.copy()
            moved[index] += sign * 1e-6
            sides.append(function(moved))
        assert found[index] == pytest.approx((sides[0] - sides[1]) / 2e-6, abs=1e-8)
    np.testing.assert_allclose(to_tangent_space(model, state, found), weights, atol=1e-12)


@pytest.mark.extras
def test_torch_steps_and_rollouts() -> None:
    torch = pytest.importorskip("torch")
    from asperity.derivatives.torch import rollout, step

    transition, start, inputs = _pendulum()
    state = torch.tensor(start, requires_grad=True)
    controls = torch.tensor(inputs, requires_grad=True)

    def by_steps(x: Any, u: Any) -> Any:
        for one in u:
            x = step(transition, x, one)
        return (x**2).sum()

    assert torch.autograd.gradcheck(by_steps, (state, controls), eps=1e-6, atol=1e-5, rtol=1e-4)
    loss = by_steps(state, controls)
    loss.backward()
    one = controls.grad.clone()
    controls.grad = None
    states = rollout(transition, state, controls)
    assert states.shape == (21, 4)
    (states[-1] ** 2).sum().backward()
    torch.testing.assert_close(controls.grad, one, rtol=1e-9, atol=1e-12)


def test_worlds_are_rolled_out_as_transitions_and_share_gradients() -> None:
    """Against one world after the other; controls, parameters and applied forces are heard."""
    model = models.load("double pendulum on the floor")
    data = mujoco.MjData(model)
    data.qfrc_applied[:] = 0.3, -0.1
    transition = Transition(model, parameters=[model_number(model, "dof_damping", 0)], data=data)
    transition.set_parameters([0.2])
    random = np.random.default_rng(3)
    states = np.zeros((5, 4))
    states[:, :2] = (-0.8, 0.6) + 0.2 * random.normal(size=(5, 2))
    states[:, 2:] = random.normal(size=(5, 2))
    controls = random.normal(size=(5, 30, 1))
    worlds = TransitionWorlds(transition, threads=2)
    runs = worlds.trajectories(states, controls)
    wanted = np.array([transition.trajectory(x, u) for x, u in zip(states, controls, strict=True)])
    np.testing.assert_allclose(runs, wanted, atol=1e-7)
    gradients = random.normal(size=runs.shape)
    parts = worlds.pull_back_trajectories(runs, controls, gradients)
    alone = TransitionWorlds(transition, threads=1)
    for one, other in zip(
        parts, alone.pull_back_trajectories(runs, controls, gradients), strict=True
    ):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)
    with pytest.raises(asp.ArgumentError, match="not finite"):
        worlds.trajectories(np.full((2, 4), np.nan), controls[:2])


@pytest.mark.parametrize("gliding", [False, True])
def test_worlds_of_sap_take_the_steps_that_have_derivatives(gliding: bool) -> None:
    """Boxes that slide on each other, whose friction depends on how well it is solved."""
    box = (
        "<body pos='{} 0 {}'><freejoint/><geom type='box' size='.05 .05 .05' mass='1'"
        " friction='.5'/></body>"
    )
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><geom type='plane' size='5 5 .1' friction='.5'/>"
        f"{box.format(0.0, 0.0499)}{box.format(0.02, 0.1497)}</worldbody></mujoco>"
    )
    integrator = asp.Sap(time_step=2e-3, gliding=gliding, resolve_impacts=False)
    transition = Transition(model, integrator=integrator)
    data = mujoco.MjData(model)
    data.qvel[:6] = 1.0, 0.3, -0.2, 1.0, 2.0, 3.0
    state, controls = transition.state_of(data), np.zeros((60, 0))
    wanted = transition.trajectory(state, controls)
    worlds = TransitionWorlds(transition)
    for run in worlds.trajectories(np.tile(state, (3, 1)), np.tile(controls, (3, 1, 1))):
        np.testing.assert_allclose(run, wanted, atol=1e-7)


@pytest.mark.extras
def test_torch_batches_and_parameters() -> None:
    torch = pytest.importorskip("torch")
    from asperity.derivatives.torch import rollout

    transition, start = _sliding()
    slower = start.copy()
    slower[7:9] *= 0.5
    state = torch.tensor(np.array([start, slower]))
    theta = torch.tensor(transition.values, requires_grad=True)
    states = rollout(transition, state, torch.zeros((2, 100, 0)), theta)
    assert states.shape == (2, 101, 13)
    # Both have decelerated by μ g t along their velocities.
    speed = torch.linalg.vector_norm(states[:, -1, 7:9], dim=1).sum()
    speed.backward()
    assert float(theta.grad[0]) == pytest.approx(-2 * 9.81 * 0.1, rel=5e-3)
    with pytest.raises(asp.ArgumentError, match="same batch"):
        rollout(transition, state, torch.zeros((3, 100, 0)))


@pytest.mark.extras
def test_jax_steps_rollouts_and_batches() -> None:
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    from asperity.derivatives.jax import rollout, step

    transition, start, inputs = _pendulum()

    def by_steps(x: Any, u: Any) -> Any:
        for one in u:
            x = step(transition, x, one)
        return (x**2).sum()

    def at_once(x: Any, u: Any) -> Any:
        return (rollout(transition, x, u)[-1] ** 2).sum()

    value, (by_state, by_control) = jax.value_and_grad(by_steps, argnums=(0, 1))(start, inputs)
    again = jax.jit(jax.grad(at_once, argnums=(0, 1)))(start, inputs)
    np.testing.assert_allclose(again[0], by_state, rtol=1e-9)
    np.testing.assert_allclose(again[1], by_control, rtol=1e-9, atol=1e-12)
    for index in (0, 7, 19):
        sides = []
        for sign in (1.0, -1.0):
            moved = inputs.copy()
            moved[index] += sign * 1e-5
            sides.append(float(by_steps(start, moved)))
        assert float(by_control[index, 0]) == pytest.approx(
            (sides[0] - sides[1]) / 2e-5, rel=1e-5, abs=1e-8
        )
    batch = jax.vmap(at_once, in_axes=(0, None))(np.array([start, start]), inputs)
    np.testing.assert_allclose(batch, [float(value)] * 2, rtol=1e-12)


@pytest.mark.extras
def test_jax_parameters() -> None:
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    from asperity.derivatives.jax import rollout

    transition, start = _sliding()

    def speed(theta: Any) -> Any:
        return jax.numpy.linalg.norm(rollout(transition, start, np.zeros((100, 0)), theta)[-1, 7:9])

    found = jax.grad(speed)(transition.values)
    assert float(found[0]) == pytest.approx(-9.81 * 0.1, rel=5e-3)
