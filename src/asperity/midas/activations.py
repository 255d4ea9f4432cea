"""Activations of motors: states that follow their controls, and that they pull by.

An integrator has ȧ = u, a filter ȧ = (u − a)/τ, solved exactly over a step by ``filterexact`` and
by explicit Euler otherwise, as in MuJoCo. A step's forces are by the activation at its end.
"""

from __future__ import annotations

import math
from typing import Any

import mujoco
import numpy as np

from asperity.compiled import Table, compiled
from asperity.plant.joints import is_disabled

__all__ = ["DYNAMICS", "activation_tables", "advance_activations"]

_DYN = mujoco.mjtDyn

# Kinds of motors.
_NONE, _INTEGRATOR, _FILTER, _EXACT = range(4)

DYNAMICS = {
    int(_DYN.mjDYN_MUSCLE): _INTEGRATOR,  # of a rate that `state_gains` looks up
    int(_DYN.mjDYN_NONE): _NONE,
    int(_DYN.mjDYN_INTEGRATOR): _INTEGRATOR,
    int(_DYN.mjDYN_FILTER): _FILTER,
    int(_DYN.mjDYN_FILTEREXACT): _EXACT,
}
"""MuJoCo's kinds of activation dynamics that the engine knows."""


def activation_tables(model: mujoco.MjModel, gears: np.ndarray) -> dict[str, Any]:
    """Fields of the engine's table, but for what controls set.

    ``gears`` are lengths of actuators per length of what they pull.
    """
    kind = np.array([DYNAMICS[int(dynamics)] for dynamics in model.actuator_dyntype], np.int64)
    limited = model.actuator_actlimited.astype(bool)
    limited &= not is_disabled(model, mujoco.mjtDisableBit.mjDSBL_CLAMPCTRL)
    unlimited = np.tile([-np.inf, np.inf], (model.nu, 1))
    return {
        "motor_dynamics": kind,
        "motor_activation": np.array(model.actuator_actadr, dtype=np.int64),
        "motor_time": np.maximum(model.actuator_dynprm[:, 0], 1e-15),
        "motor_activation_limit": np.ascontiguousarray(
            np.where(limited[:, None], model.actuator_actrange, unlimited)
        ),
        "motor_control": np.zeros(model.nu),
        "motor_gain": gears * model.actuator_gainprm[:, 0],
        "motor_bias": np.zeros(model.nu),
    }


@compiled
def advance_activations(engine: Table, before: np.ndarray, after: np.ndarray, h: float) -> None:
    """Fill the activations at the end of a step of h [s], and what they feed their motors."""
    for i in range(before.size):
        after[i] = before[i]
    for motor in range(engine.motor_joint.size):
        kind = engine.motor_dynamics[motor]
        if kind == _NONE:
            continue
        at = engine.motor_activation[motor]
        control = engine.motor_control[motor]
        value = before[at]
        if kind == _INTEGRATOR:
            value += h * control
        elif kind == _FILTER:
            value += h * (control - value) / engine.motor_time[motor]
        else:
            value += (control - value) * (1.0 - math.exp(-h / engine.motor_time[motor]))
        low = engine.motor_activation_limit[motor, 0]
        high = engine.motor_activation_limit[motor, 1]
        after[at] = min(max(value, low), high)
        engine.motor_feed[motor] = engine.motor_bias[motor] + engine.motor_gain[motor] * after[at]
