"""Derivatives of sensors at a transition's beginning."""

from __future__ import annotations

import mujoco
import numpy as np

from asperity.derivatives.step_derivative import StepDerivative
from asperity.derivatives.tangent import StepState
from asperity.derivatives.tangent_space import displaced

__all__ = ["sensor_derivatives"]

_INPUTS = mujoco.mjtState.mjSTATE_INTEGRATION

# Displacements of states and of controls.
_SIZE = 1e-6
_CONTROL_SIZE = 1e-4


def sensor_derivatives(
    derivative: StepDerivative, state: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """C and D: central differences of ``sensordata`` as the simulator publishes it.

    Sensors of forces and accelerations are those of the step that would begin at the state.
    """
    simulator = derivative.simulator
    model, data = simulator.model, simulator.data
    inner = 2 * model.nv + model.na
    columns = np.zeros((inner + model.nu, model.nsensordata))
    for index in range(len(columns)):
        size = _SIZE if index < inner else _CONTROL_SIZE
        sides = []
        for sign in (1.0, -1.0):
            mujoco.mj_setState(model, data, state, _INPUTS)
            change = np.zeros(inner + model.nu)
            change[index] = sign * size
            start = StepState(data.time, data.qpos, data.qvel, data.act)
            moved = displaced(model, start, change[:inner])
            data.qpos[:], data.qvel[:], data.act[:] = moved.qpos, moved.qvel, moved.act
            data.ctrl[:] += change[inner:]
            simulator.advance_to(simulator.time)
            sides.append(data.sensordata.copy())
        columns[index] = (sides[0] - sides[1]) / (2.0 * size)
    mujoco.mj_setState(model, data, state, _INPUTS)
    simulator.take_over()
    return columns[:inner].T.copy(), columns[inner:].T.copy()
