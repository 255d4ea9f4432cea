"""Transitions and rollouts as functions of JAX (extra ``jax``).

    transition = Transition(model, parameters=[...])
    state = step(transition, state, control)                   # (nq+nv+na,)
    states = rollout(transition, state, controls, theta)       # (n+1, nq+nv+na)

Gradients (``jax.grad``, ``jax.vjp``) flow to states, controls and parameters. The functions may be
compiled with ``jax.jit`` and batched with ``jax.vmap``, whose members are worlds that are simulated
together as `asperity.Batch` does it, and whose gradients are shared out to threads. They call back
to the CPU, where all work is done in double precision. Forward-mode and second derivatives are
refused by JAX. Let ``jax_enable_x64`` be on, or results are rounded to
single precision.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from asperity.derivatives.pull_back import check_shapes
from asperity.derivatives.transition import Transition
from asperity.derivatives.transition_worlds import worlds_of_transition

__all__ = ["rollout", "step"]


def _call(function: Any, like: tuple[Any, ...] | Any, *arguments: Any) -> Any:
    """Call a function of batches from traced code; the third argument are parameters.

    With ``jax.vmap`` every argument has all batch dimensions, and so have the results. Worlds with
    the same parameters are one batch.
    """
    shapes = jax.tree.map(lambda one: jax.ShapeDtypeStruct(one.shape, one.dtype), like)
    single = not isinstance(shapes, tuple)
    kinds = (shapes,) if single else shapes
    ranks = [len(one.shape) for one in arguments]

    def host(*values: Any) -> Any:
        given = [np.asarray(value, np.float64) for value in values]
        batch = given[0].shape[: given[0].ndim - ranks[0]]
        count = int(np.prod(batch))
        rows = [
            one.reshape(count, *one.shape[one.ndim - rank :])
            for one, rank in zip(given, ranks, strict=True)
        ]
        results = [np.empty((count, *kind.shape)) for kind in kinds]
        groups: dict[bytes, list[int]] = {}
        for world, theta in enumerate(rows[2]):
            groups.setdefault(theta.tobytes(), []).append(world)
        for chosen in groups.values():
            theta = rows[2][chosen[0]]
            found = function(theta, *(one[chosen] for k, one in enumerate(rows) if k != 2))
            for result, part in zip(results, found, strict=True):
                result[chosen] = part
        shaped = tuple(
            one.reshape(*batch, *kind.shape).astype(kind.dtype)
            for one, kind in zip(results, kinds, strict=True)
        )
        return shaped[0] if single else shaped

    return jax.pure_callback(host, shapes, *arguments, vmap_method="broadcast_all")


def _columns(parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> tuple[np.ndarray, ...]:
    """Gradients of all worlds by states, controls and parameters."""
    return tuple(np.array([part[k] for part in parts]) for k in range(3))


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _step(transition: Transition, state: Any, control: Any, parameters: Any) -> Any:
    def run(theta: np.ndarray, x: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, ...]:
        transition.set_parameters(theta)
        return (worlds_of_transition(transition).trajectories(x, u[:, None])[:, -1],)

    return _call(run, state, state, control, parameters)


def _step_forward(transition: Transition, *inputs: Any) -> Any:
    return _step(transition, *inputs), inputs


def _step_backward(transition: Transition, inputs: Any, gradient: Any) -> Any:
    def run(
        theta: np.ndarray, x: np.ndarray, u: np.ndarray, one: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        transition.set_parameters(theta)
        return _columns(worlds_of_transition(transition).pull_back_steps(x, u, one))

    return _call(run, inputs, *inputs, gradient)


_step.defvjp(_step_forward, _step_backward)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _rollout(transition: Transition, state: Any, controls: Any, parameters: Any) -> Any:
    def run(theta: np.ndarray, x: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, ...]:
        transition.set_parameters(theta)
        return (worlds_of_transition(transition).trajectories(x, u),)

    like = jax.ShapeDtypeStruct((controls.shape[0] + 1, *state.shape), state.dtype)
    return _call(run, like, state, controls, parameters)


def _rollout_forward(transition: Transition, *inputs: Any) -> Any:
    states = _rollout(transition, *inputs)
    return states, (states, *inputs)


def _rollout_backward(transition: Transition, kept: Any, gradient: Any) -> Any:
    def run(
        theta: np.ndarray, x: np.ndarray, u: np.ndarray, one: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        transition.set_parameters(theta)
        worlds = worlds_of_transition(transition)
        # Not the states that were kept, which may have been rounded to single precision.
        return _columns(worlds.pull_back_trajectories(worlds.trajectories(x, u), u, one))

    _, *inputs = kept
    return _call(run, tuple(inputs), *inputs, gradient)


_rollout.defvjp(_rollout_forward, _rollout_backward)


def step(transition: Transition, state: Any, control: Any, parameters: Any = None) -> Any:
    """x⁺ = f(x, u, θ).

    Parameters
    ----------
    transition : Transition
    state : jax.Array
        (qpos, qvel, act), shape (nq+nv+na,).
    control : jax.Array
        Shape (nu,).
    parameters : jax.Array, optional
        Shape (number of parameters,); the transition's present values by default.
    """
    state, control = jnp.asarray(state, float), jnp.asarray(control, float)
    check_shapes(transition, state.shape, control.shape, 0)
    return _step(transition, state, control, _given(transition, parameters))


def rollout(transition: Transition, state: Any, controls: Any, parameters: Any = None) -> Any:
    """All states of a trajectory, shape (n+1, nq+nv+na); as `step`, with controls (n, nu)."""
    state, controls = jnp.asarray(state, float), jnp.asarray(controls, float)
    check_shapes(transition, state.shape, controls.shape, 1)
    return _rollout(transition, state, controls, _given(transition, parameters))


def _given(transition: Transition, parameters: Any) -> Any:
    return jnp.asarray(transition.values if parameters is None else parameters, float)
