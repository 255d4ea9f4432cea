"""Actuators whose force depends on their state: muscles, and gains affine in length and velocity.

Their force F = gain(L, V) a + bias(L, V), with the control or activation a, is linear over a step:
that of the step's beginning, with those of its derivatives by L and V that oppose motion. Others
act by the state at hand. Muscles are MuJoCo's (its documentation, ‘Muscles’).
"""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.compiled import Table

__all__ = ["feed_state_gains", "state_gains"]

_MUSCLE_GAIN = int(mujoco.mjtGain.mjGAIN_MUSCLE)
_MUSCLE_BIAS = int(mujoco.mjtBias.mjBIAS_MUSCLE)
_AFFINE_GAIN = int(mujoco.mjtGain.mjGAIN_AFFINE)
_AFFINE_BIAS = int(mujoco.mjtBias.mjBIAS_AFFINE)
_MUSCLE_DYNAMICS = int(mujoco.mjtDyn.mjDYN_MUSCLE)
_NO_DYNAMICS = int(mujoco.mjtDyn.mjDYN_NONE)
# Share of a muscle's range, and of ten lengths of it per second, that derivatives are taken over.
_SHARE = 1e-6


def state_gains(model: mujoco.MjModel) -> list[int]:
    """Actuators whose gain depends on their state, or whose activation is a muscle's."""
    return [
        i
        for i in range(model.nactuator)
        if int(model.actuator_gaintype[i]) == _MUSCLE_GAIN
        or int(model.actuator_biastype[i]) == _MUSCLE_BIAS
        or int(model.actuator_dyntype[i]) == _MUSCLE_DYNAMICS
        or (
            int(model.actuator_gaintype[i]) == _AFFINE_GAIN
            and np.any(model.actuator_gainprm[i, 1:3] != 0.0)
        )
    ]


def feed_state_gains(
    model: mujoco.MjModel,
    actuators: list[int],
    state: mujoco.MjData,
    activation: NDArray[np.float64],
    gears: NDArray[np.float64],
    table: Table,
) -> None:
    """Set the motors of some actuators for the step that begins at a state.

    Parameters
    ----------
    model : mujoco.MjModel
    actuators : list of int
    state : mujoco.MjData
        Lengths and velocities of actuators.
    activation : ndarray
        ``act``.
    gears : ndarray
        Length of actuators per length of their coordinates.
    table : Table
        The engine's, with the controls of all motors.
    """
    motors = table.motors
    for i in actuators:
        motor = int(model.actuator_outadr[i])
        control = float(motors.control[motor])
        if int(model.actuator_dyntype[i]) == _NO_DYNAMICS:
            input_ = control
        else:
            input_ = float(activation[model.actuator_actadr[i]])
        if int(model.actuator_dyntype[i]) == _MUSCLE_DYNAMICS:
            # Its activation goes on at this rate, as MuJoCo's does.
            parameters = np.ascontiguousarray(model.actuator_dynprm[i, :3])
            motors.control[motor] = mujoco.mju_muscleDynamics(control, input_, parameters)
        length, speed = float(state.actuator_length[motor]), float(state.actuator_velocity[motor])
        size = float(np.ptp(model.actuator_lengthrange[motor])) or 1.0
        small, quick = _SHARE * size, 10.0 * _SHARE * size

        def force(length: float, speed: float, i: int = i, input_: float = input_) -> float:
            return _gain(model, i, length, speed) * input_ + _bias(model, i, length, speed)

        stiffness = (force(length + small, speed) - force(length - small, speed)) / (2.0 * small)
        damping = (force(length, speed + quick) - force(length, speed - quick)) / (2.0 * quick)
        stiffness, damping = min(stiffness, 0.0), min(damping, 0.0)
        gear = float(gears[motor])
        reference = gear * float(table.joints.reference[motors.joint[motor]])
        motors.position[motor] = gear * gear * stiffness
        motors.velocity[motor] = gear * gear * damping
        motors.gain[motor] = gear * _gain(model, i, length, speed)
        motors.bias[motor] = gear * (
            _bias(model, i, length, speed) + stiffness * (reference - length) - damping * speed
        )
        motors.feed[motor] = motors.bias[motor] + motors.gain[motor] * input_


def _gain(model: mujoco.MjModel, i: int, length: float, speed: float) -> float:
    parameters = model.actuator_gainprm[i]
    kind = int(model.actuator_gaintype[i])
    if kind == _MUSCLE_GAIN:
        return float(mujoco.mju_muscleGain(length, speed, *_muscle(model, i, parameters)))
    return _affine(parameters, length, speed) if kind == _AFFINE_GAIN else float(parameters[0])


def _bias(model: mujoco.MjModel, i: int, length: float, speed: float) -> float:
    parameters = model.actuator_biasprm[i]
    kind = int(model.actuator_biastype[i])
    if kind == _MUSCLE_BIAS:
        return float(mujoco.mju_muscleBias(length, *_muscle(model, i, parameters)))
    return _affine(parameters, length, speed) if kind == _AFFINE_BIAS else 0.0


def _affine(parameters: NDArray[np.float64], length: float, speed: float) -> float:
    return float(parameters[0] + parameters[1] * length + parameters[2] * speed)


def _muscle(
    model: mujoco.MjModel, i: int, parameters: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float, NDArray[np.float64]]:
    """What MuJoCo's functions of a muscle take besides its state."""
    output = int(model.actuator_outadr[i])
    lengths = np.ascontiguousarray(model.actuator_lengthrange[output])
    return lengths, float(model.actuator_acc0[output]), np.ascontiguousarray(parameters[:9])
