"""Transitions and rollouts as functions of PyTorch (extra ``torch``).

    transition = Transition(model, parameters=[...])
    state = step(transition, state, control)                   # (..., nq+nv+na)
    states = rollout(transition, state, controls, theta)       # (..., n+1, nq+nv+na)

Gradients flow to states, controls and parameters. All leading dimensions are a batch, whose members
are simulated one after the other; parameters are the same for all of them. The work is done on the
CPU in double precision, whatever tensors come in; second derivatives are refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.autograd.function import once_differentiable

from asperity.derivatives.pull_back import check_shapes, pull_back_step, pull_back_trajectory
from asperity.derivatives.transition import Transition

__all__ = ["rollout", "step"]


def _numbers(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().cpu().numpy().astype(np.float64)


def _like(array: np.ndarray, tensor: torch.Tensor) -> torch.Tensor:
    return torch.as_tensor(array, dtype=tensor.dtype, device=tensor.device)


def _total(parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> np.ndarray:
    """Gradient by parameters, which all members of a batch share."""
    return np.sum([part[2] for part in parts], axis=0)


class _Step(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        transition: Transition,
        state: torch.Tensor,
        control: torch.Tensor,
        parameters: torch.Tensor,
    ) -> torch.Tensor:
        transition.set_parameters(_numbers(parameters))
        batch = check_shapes(transition, tuple(state.shape), tuple(control.shape), 0)
        states = _numbers(state).reshape(-1, transition.state_size)
        controls = _numbers(control).reshape(-1, transition.model.nu)
        found = [transition.linearize(x, u) for x, u in zip(states, controls, strict=True)]
        ctx.model, ctx.states, ctx.found = transition.model, states, found
        ctx.like = state, control, parameters
        ends = np.array([end for end, _ in found]).reshape(*batch, transition.state_size)
        return _like(ends, state)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[Any, ...]:
        state, control, parameters = ctx.like
        gradients = _numbers(gradient).reshape(len(ctx.states), -1)
        parts = [
            pull_back_step(ctx.model, x, end, tangent, one)
            for x, (end, tangent), one in zip(ctx.states, ctx.found, gradients, strict=True)
        ]
        return (
            None,
            _like(np.array([part[0] for part in parts]).reshape(state.shape), state),
            _like(np.array([part[1] for part in parts]).reshape(control.shape), control),
            _like(_total(parts).reshape(parameters.shape), parameters),
        )


class _Rollout(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        transition: Transition,
        state: torch.Tensor,
        controls: torch.Tensor,
        parameters: torch.Tensor,
    ) -> torch.Tensor:
        values = _numbers(parameters)
        transition.set_parameters(values)
        batch = check_shapes(transition, tuple(state.shape), tuple(controls.shape), 1)
        steps = controls.shape[-2]
        first = _numbers(state).reshape(-1, transition.state_size)
        inputs = _numbers(controls).reshape(len(first), steps, transition.model.nu)
        runs = np.array([transition.trajectory(x, u) for x, u in zip(first, inputs, strict=True)])
        ctx.transition, ctx.runs, ctx.inputs, ctx.values = transition, runs, inputs, values
        ctx.like = state, controls, parameters
        return _like(runs.reshape(*batch, steps + 1, transition.state_size), state)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[Any, ...]:
        state, controls, parameters = ctx.like
        # Another call may have set others meanwhile.
        ctx.transition.set_parameters(ctx.values)
        gradients = _numbers(gradient).reshape(ctx.runs.shape)
        parts = [
            pull_back_trajectory(ctx.transition, run, u, one)
            for run, u, one in zip(ctx.runs, ctx.inputs, gradients, strict=True)
        ]
        return (
            None,
            _like(np.array([part[0] for part in parts]).reshape(state.shape), state),
            _like(np.array([part[1] for part in parts]).reshape(controls.shape), controls),
            _like(_total(parts).reshape(parameters.shape), parameters),
        )


def step(
    transition: Transition,
    state: torch.Tensor,
    control: torch.Tensor,
    parameters: torch.Tensor | None = None,
) -> torch.Tensor:
    """x⁺ = f(x, u, θ).

    Parameters
    ----------
    transition : Transition
    state : torch.Tensor
        (qpos, qvel, act), shape (..., nq+nv+na).
    control : torch.Tensor
        Shape (..., nu), with the same batch.
    parameters : torch.Tensor, optional
        Shape (number of parameters,); the transition's present values by default.
    """
    return _Step.apply(transition, state, control, _given(transition, state, parameters))


def rollout(
    transition: Transition,
    state: torch.Tensor,
    controls: torch.Tensor,
    parameters: torch.Tensor | None = None,
) -> torch.Tensor:
    """All states of a trajectory, shape (..., n+1, nq+nv+na).

    As `step`, with controls of the shape (..., n, nu). The gradient is found backward in time, with
    nothing but the states in memory.
    """
    return _Rollout.apply(transition, state, controls, _given(transition, state, parameters))


def _given(
    transition: Transition, state: torch.Tensor, parameters: torch.Tensor | None
) -> torch.Tensor:
    if parameters is not None:
        return parameters
    return torch.as_tensor(transition.values, dtype=torch.float64, device=state.device)
