"""Transitions and rollouts as functions of JAX (extra ``jax``).

    transition = Transition(model, parameters=[...])
    state = step(transition, state, control)                   # (nq+nv+na,)
    states = rollout(transition, state, controls, theta)       # (n+1, nq+nv+na)

Gradients (``jax.grad``, ``jax.vjp``) flow to states, controls and parameters. The functions may be
compiled with ``jax.jit`` and batched with ``jax.vmap``, whose members are simulated one after the
other: they call back to the CPU, where all work is done in double precision. Forward-mode and
second derivatives are refused by JAX. Let ``jax_enable_x64`` be on, or results are rounded to
single precision.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from asperity.derivatives.pull_back import check_shapes, pull_back_step, pull_back_trajectory
from asperity.derivatives.transition import Transition

__all__ = ["rollout", "step"]


def _call(function: Any, like: tuple[Any, ...] | Any, *arguments: Any) -> Any:
    """Call a function of double-precision arrays from traced code."""
    shapes = jax.tree.map(lambda one: jax.ShapeDtypeStruct(one.shape, one.dtype), like)
    single = not isinstance(shapes, tuple)

    def host(*values: Any) -> Any:
        found = function(*(np.asarray(value, np.float64) for value in values))
        if single:
            return np.asarray(found, shapes.dtype)
        return tuple(np.asarray(one, s.dtype) for one, s in zip(found, shapes, strict=True))

    return jax.pure_callback(host, shapes, *arguments, vmap_method="sequential")


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _step(transition: Transition, state: Any, control: Any, parameters: Any) -> Any:
    def run(x: np.ndarray, u: np.ndarray, theta: np.ndarray) -> np.ndarray:
        transition.set_parameters(theta)
        return transition(x, u)

    return _call(run, state, state, control, parameters)


def _step_forward(transition: Transition, *inputs: Any) -> Any:
    return _step(transition, *inputs), inputs


def _step_backward(transition: Transition, inputs: Any, gradient: Any) -> Any:
    def run(x: np.ndarray, u: np.ndarray, theta: np.ndarray, one: np.ndarray) -> Any:
        transition.set_parameters(theta)
        end, tangent = transition.linearize(x, u)
        return pull_back_step(transition.model, x, end, tangent, one)

    return _call(run, inputs, *inputs, gradient)


_step.defvjp(_step_forward, _step_backward)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _rollout(transition: Transition, state: Any, controls: Any, parameters: Any) -> Any:
    def run(x: np.ndarray, u: np.ndarray, theta: np.ndarray) -> np.ndarray:
        transition.set_parameters(theta)
        return transition.trajectory(x, u)

    like = jax.ShapeDtypeStruct((controls.shape[0] + 1, *state.shape), state.dtype)
    return _call(run, like, state, controls, parameters)


def _rollout_forward(transition: Transition, *inputs: Any) -> Any:
    states = _rollout(transition, *inputs)
    return states, (states, *inputs)


def _rollout_backward(transition: Transition, kept: Any, gradient: Any) -> Any:
    def run(
        x: np.ndarray, u: np.ndarray, theta: np.ndarray, one: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        transition.set_parameters(theta)
        # Not those that were kept, which may have been rounded to single precision.
        return pull_back_trajectory(transition, transition.trajectory(x, u), u, one)

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
