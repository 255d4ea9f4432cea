"""Steps of error control that are taken again, with their sizes and what they extrapolate."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from asperity.derivatives.doubled_step import DoubledStep
from asperity.derivatives.step_derivative import StepDerivative
from asperity.derivatives.tangent import StepState

_INPUTS = mujoco.mjtState.mjSTATE_INTEGRATION

Decisions = list[tuple[float, Any]]


def state_of(data: mujoco.MjData) -> StepState:
    return StepState(data.time, data.qpos.copy(), data.qvel.copy(), data.act.copy())


def take_over(derivative: StepDerivative, data: mujoco.MjData) -> None:
    """Let a derivative have state and inputs of an MjData."""
    model = derivative.simulator.model
    inputs = np.empty(mujoco.mj_stateSize(model, _INPUTS))
    mujoco.mj_getState(model, data, inputs, _INPUTS)
    derivative.take_over(inputs)


def decide(derivative: StepDerivative, state: StepState, sizes: Any) -> Decisions:
    """Sizes of steps from a state, with what each of them extrapolates."""
    decisions: Decisions = []
    for size in sizes:
        decided: Any = None
        if isinstance(derivative.steps, DoubledStep):
            decided = derivative.steps.decide(state, size)
        decisions.append((float(size), decided))
        state = replay(derivative, state, decisions[-1:])
    return decisions


def replay(derivative: StepDerivative, state: StepState, decisions: Decisions) -> StepState:
    """The end of these steps from a state, each of them solved to round-off."""
    steps = derivative.steps
    for size, decided in decisions:
        if isinstance(steps, DoubledStep):
            state = steps.at(state, size, decisions=decided).end
        else:
            state = steps.end(state, size)
    return state
