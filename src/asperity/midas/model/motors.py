"""Motors: one for every force that MuJoCo's actuators exert."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

__all__ = ["DYNAMICS", "UNHEARD", "evaluated_actuators", "motor_actuators"]

_DYN, _GAIN, _BIAS, _TRN = mujoco.mjtDyn, mujoco.mjtGain, mujoco.mjtBias, mujoco.mjtTrn
_SIMPLE = [_DYN.mjDYN_NONE, _DYN.mjDYN_INTEGRATOR, _DYN.mjDYN_FILTER, _DYN.mjDYN_FILTEREXACT]
_OTHERS = [_DYN.mjDYN_MUSCLE, _DYN.mjDYN_PID, _DYN.mjDYN_DCMOTOR]
DYNAMICS = [int(kind) for kind in (*_SIMPLE, *_OTHERS)]
"""MuJoCo's kinds of activation dynamics that the engine knows."""

UNHEARD = ("actuator_actearly", "actuator_delay", "actuator_history")
"""What MuJoCo shall not do where it is asked for forces: look ahead in activations, or delay
controls, which are given as they arrive."""

_BIASES = [int(kind) for kind in (_BIAS.mjBIAS_NONE, _BIAS.mjBIAS_AFFINE)]


def motor_actuators(model: mujoco.MjModel) -> NDArray[np.int64]:
    """The actuator of every motor, shape (nout,): an orientation servo has three, others one."""
    return np.repeat(np.arange(model.nactuator, dtype=np.int64), model.actuator_outnum)


def evaluated_actuators(model: mujoco.MjModel) -> list[int]:
    """Actuators whose forces MuJoCo is asked for: all but motors and affine servos.

    Servos whose set-point is an angle on a circle, by the turn that is nearest, are among them.
    """
    return [
        i
        for i in range(model.nactuator)
        if model.actuator_plugin[i] >= 0
        or int(model.actuator_dyntype[i]) in _OTHERS
        or _depends_on_state(model, i)
        or int(model.actuator_biastype[i]) not in _BIASES
        or _is_on_circle(model, i)
    ]


def _depends_on_state(model: mujoco.MjModel, actuator: int) -> bool:
    """Whether a gain is neither fixed nor as if it were."""
    kind = int(model.actuator_gaintype[actuator])
    if kind == int(_GAIN.mjGAIN_AFFINE):
        return bool(np.any(model.actuator_gainprm[actuator, 1:3] != 0.0))
    return kind != int(_GAIN.mjGAIN_FIXED)


def _is_on_circle(model: mujoco.MjModel, actuator: int) -> bool:
    """Whether a servo may hold an angle about an axis of a ball joint or of a site."""
    if (
        int(model.actuator_gaintype[actuator]) != int(_GAIN.mjGAIN_FIXED)
        or int(model.actuator_biastype[actuator]) != int(_BIAS.mjBIAS_AFFINE)
        or model.actuator_biasprm[actuator, 1] == 0.0
    ):
        return False
    kind, (target, reference) = (
        int(model.actuator_trntype[actuator]),
        model.actuator_trnid[actuator],
    )
    if kind in (int(_TRN.mjTRN_JOINT), int(_TRN.mjTRN_JOINTINPARENT)):
        return int(model.jnt_type[target]) == int(mujoco.mjtJoint.mjJNT_BALL)
    return kind == int(_TRN.mjTRN_SITE) and bool(reference >= 0)
