"""Derivatives of sensors at a transition's beginning."""

from __future__ import annotations

import mujoco
import numpy as np

from asperity.derivatives.step_derivative import StepDerivative
from asperity.simulator import Simulator

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
    nv, na, nu = model.nv, model.na, model.nu
    columns = np.zeros((2 * nv + na + nu, model.nsensordata))
    for index in range(len(columns)):
        size = _SIZE if index < 2 * nv + na else _CONTROL_SIZE
        sides = []
        for sign in (1.0, -1.0):
            mujoco.mj_setState(model, data, state, _INPUTS)
            _displace(model, data, index, sign * size)
            sides.append(_sensors(simulator))
        columns[index] = (sides[0] - sides[1]) / (2.0 * size)
    mujoco.mj_setState(model, data, state, _INPUTS)
    simulator.take_over()
    return columns[: 2 * nv + na].T.copy(), columns[2 * nv + na :].T.copy()


def _displace(model: mujoco.MjModel, data: mujoco.MjData, index: int, size: float) -> None:
    nv, na = model.nv, model.na
    if index < nv:
        unit = np.zeros(nv)
        unit[index] = size
        mujoco.mj_integratePos(model, data.qpos, unit, 1.0)
    elif index < 2 * nv:
        data.qvel[index - nv] += size
    elif index < 2 * nv + na:
        data.act[index - 2 * nv] += size
    else:
        data.ctrl[index - 2 * nv - na] += size


def _sensors(simulator: Simulator) -> np.ndarray:
    """Sensors of the state in the simulator's data."""
    data = simulator.data
    simulator.advance_to(simulator.time)
    return np.array(data.sensordata)
