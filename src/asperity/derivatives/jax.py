"""Transitions and rollouts as functions of JAX (extra ``jax``).

    transition = Transition(model, parameters=[...])
    state = step(transition, state, control)                   # (state_size,)
    states = rollout(transition, state, controls, theta)       # (n+1, state_size)

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


def _call(function: Any, like: tuple[Any, ...], *arguments: Any) -> tuple[Any, ...]:
    """Call a function of batches from traced code; the third argument are parameters.

    With ``jax.vmap`` every argument has all batch dimensions, and so have the results. Worlds with
    the same parameters are one batch.
    """
    kinds = tuple(jax.ShapeDtypeStruct(one.shape, one.dtype) for one in like)
    ranks = [len(one.shape) for one in arguments]

    def host(*values: Any) -> tuple[Any, ...]:
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
        return tuple(
            one.reshape(*batch, *kind.shape).astype(kind.dtype)
            for one, kind in zip(results, kinds, strict=True)
        )

    return tuple(jax.pure_callback(host, kinds, *arguments, vmap_method="broadcast_all"))


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _rollout(transition: Transition, state: Any, controls: Any, parameters: Any) -> Any:
    def run(theta: np.ndarray, x: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, ...]:
        transition.set_parameters(theta)
        return (worlds_of_transition(transition).trajectories(x, u),)

    like = jax.ShapeDtypeStruct((controls.shape[0] + 1, *state.shape), state.dtype)
    return _call(run, (like,), state, controls, parameters)[0]


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
        parts = worlds.pull_back_trajectories(worlds.trajectories(x, u), u, one)
        return tuple(np.array([part[k] for part in parts]) for k in range(3))

    _, *inputs = kept
    return _call(run, tuple(inputs), *inputs, gradient)


_rollout.defvjp(_rollout_forward, _rollout_backward)


def step(transition: Transition, state: Any, control: Any, parameters: Any = None) -> Any:
    """x⁺ = f(x, u, θ).

    Parameters
    ----------
    transition : Transition
    state : jax.Array
        As of the transition, shape (state_size,).
    control : jax.Array
        Shape (nu,).
    parameters : jax.Array, optional
        Shape (number of parameters,); the transition's present values by default.
    """
    state, control = jnp.asarray(state, float), jnp.asarray(control, float)
    return rollout(transition, state, control[None], parameters)[1]


def rollout(transition: Transition, state: Any, controls: Any, parameters: Any = None) -> Any:
    """All states of a trajectory, shape (n+1, state_size); as `step`, with controls (n, nu)."""
    state, controls = jnp.asarray(state, float), jnp.asarray(controls, float)
    check_shapes(transition, state.shape, controls.shape)
    theta = jnp.asarray(transition.values if parameters is None else parameters, float)
    return _rollout(transition, state, controls, theta)
