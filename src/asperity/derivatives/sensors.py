"""Derivatives of sensors at a transition's beginning.

Sensors of positions and velocities follow from kinematics, so that no step is taken. If there are
others, of forces and accelerations, a step begins at every displaced state.
"""

from __future__ import annotations

from collections.abc import Callable

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
_SENSORS = mujoco.mjtSensor
# Which MuJoCo reads from constraints, or asks users for.
_OF_MORE = (
    _SENSORS.mjSENS_JOINTLIMITPOS,
    _SENSORS.mjSENS_JOINTLIMITVEL,
    _SENSORS.mjSENS_TENDONLIMITPOS,
    _SENSORS.mjSENS_TENDONLIMITVEL,
    _SENSORS.mjSENS_PLUGIN,
    _SENSORS.mjSENS_USER,
)


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
    sense, moving = _by_steps(derivative), inner + model.nu
    if _are_kinematic(model):
        data, moving = mujoco.MjData(model), 2 * model.nv
        sense = _by_kinematics(model, data)
        if np.all(model.sensor_needstage <= int(mujoco.mjtStage.mjSTAGE_POS)):
            moving = model.nv
    for index in range(moving):
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
            sense()
            sides.append(data.sensordata.copy())
        columns[index] = (sides[0] - sides[1]) / (2.0 * size)
    if data is simulator.data:
        mujoco.mj_setState(model, data, state, _INPUTS)
        simulator.take_over()
    return columns[:inner].T.copy(), columns[inner:].T.copy()


def _are_kinematic(model: mujoco.MjModel) -> bool:
    """Whether all sensors follow from positions and velocities, without constraints and delays."""
    late = model.sensor_needstage > int(mujoco.mjtStage.mjSTAGE_VEL)
    more = np.isin(model.sensor_type, [int(kind) for kind in _OF_MORE])
    return model.nhistory == 0 and not np.any(late | more)


def _by_steps(derivative: StepDerivative) -> Callable[[], object]:
    simulator = derivative.simulator
    return lambda: simulator.advance_to(simulator.time)


def _by_kinematics(model: mujoco.MjModel, data: mujoco.MjData) -> Callable[[], object]:
    moves = bool(np.any(model.sensor_needstage > int(mujoco.mjtStage.mjSTAGE_POS)))

    def sense() -> None:
        data.flg_energypos = data.flg_energyvel = data.flg_subtreevel = False
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_camlight(model, data)
        mujoco.mj_tendon(model, data)
        mujoco.mj_makeM(model, data)
        mujoco.mj_transmission(model, data)
        mujoco.mj_sensorPos(model, data)
        if moves:
            mujoco.mj_fwdVelocity(model, data)
            mujoco.mj_sensorVel(model, data)

    return sense
