"""Motors: one for every force that MuJoCo's actuators exert."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

__all__ = ["evaluated_actuators", "motor_actuators"]

_DYN, _GAIN, _BIAS = mujoco.mjtDyn, mujoco.mjtGain, mujoco.mjtBias
_DYNAMICS = [int(kind) for kind in (_DYN.mjDYN_PID, _DYN.mjDYN_DCMOTOR)]
_GAINS = [int(kind) for kind in (_GAIN.mjGAIN_PID, _GAIN.mjGAIN_DCMOTOR, _GAIN.mjGAIN_SO3)]
_BIASES = [int(kind) for kind in (_BIAS.mjBIAS_DCMOTOR, _BIAS.mjBIAS_SO3)]


def motor_actuators(model: mujoco.MjModel) -> NDArray[np.int64]:
    """The actuator of every motor, shape (nout,): an orientation servo has three, others one."""
    return np.repeat(np.arange(model.nactuator, dtype=np.int64), model.actuator_outnum)


def evaluated_actuators(model: mujoco.MjModel) -> list[int]:
    """PID controllers, DC motors and orientation servos, whose forces MuJoCo is asked for."""
    return [
        i
        for i in range(model.nactuator)
        if int(model.actuator_dyntype[i]) in _DYNAMICS
        or int(model.actuator_gaintype[i]) in _GAINS
        or int(model.actuator_biastype[i]) in _BIASES
    ]
