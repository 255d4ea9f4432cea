"""Transitions and rollouts as functions of PyTorch (extra ``torch``).

    transition = Transition(model, parameters=[...])
    state = step(transition, state, control)                   # (..., state_size)
    states = rollout(transition, state, controls, theta)       # (..., n+1, state_size)

Gradients flow to states, controls and parameters. All leading dimensions are a batch of worlds,
which are simulated together as `asperity.Batch` does it, and whose gradients are shared out to
threads; parameters are the same for all of them. The work is done on the CPU in double precision,
whatever tensors come in; second derivatives are refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.autograd.function import once_differentiable

from asperity.derivatives.pull_back import check_shapes
from asperity.derivatives.transition import Transition
from asperity.derivatives.transition_worlds import total_of, worlds_of_transition

__all__ = ["rollout", "step"]


def _numbers(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().cpu().numpy().astype(np.float64)


def _like(array: np.ndarray, tensor: torch.Tensor) -> torch.Tensor:
    return torch.as_tensor(array, dtype=tensor.dtype, device=tensor.device)


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
        batch = check_shapes(transition, tuple(state.shape), tuple(controls.shape))
        steps = controls.shape[-2]
        first = _numbers(state).reshape(-1, transition.state_size)
        inputs = _numbers(controls).reshape(len(first), steps, transition.model.nu)
        runs = worlds_of_transition(transition).trajectories(first, inputs)
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
        worlds = worlds_of_transition(ctx.transition)
        parts = worlds.pull_back_trajectories(ctx.runs, ctx.inputs, gradients)
        return (
            None,
            _like(np.array([part[0] for part in parts]).reshape(state.shape), state),
            _like(np.array([part[1] for part in parts]).reshape(controls.shape), controls),
            _like(total_of(parts).reshape(parameters.shape), parameters),
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
        As of the transition, shape (..., state_size).
    control : torch.Tensor
        Shape (..., nu), with the same batch.
    parameters : torch.Tensor, optional
        Shape (number of parameters,); the transition's present values by default.
    """
    return rollout(transition, state, control.unsqueeze(-2), parameters)[..., 1, :]


def rollout(
    transition: Transition,
    state: torch.Tensor,
    controls: torch.Tensor,
    parameters: torch.Tensor | None = None,
) -> torch.Tensor:
    """All states of a trajectory, shape (..., n+1, state_size).

    As `step`, with controls of the shape (..., n, nu). The gradient is found backward in time, with
    nothing but the states in memory.
    """
    if parameters is None:
        parameters = torch.as_tensor(transition.values, dtype=torch.float64, device=state.device)
    return _Rollout.apply(transition, state, controls, parameters)
