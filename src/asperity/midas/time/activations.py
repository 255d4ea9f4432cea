"""Activations of motors: states that follow their controls, and that they pull by.

An integrator has ȧ = u, a filter ȧ = (u − a)/τ, solved exactly over a step by ``filterexact`` and
by explicit Euler otherwise, as in MuJoCo. A step's forces are by the activation at its end. Those
of PID controllers and DC motors, which may have several, are
`asperity.midas.model.evaluated_motors`'.
"""

from __future__ import annotations

import math
from typing import Any

import mujoco
import numpy as np

from asperity.compiled import Table, compiled
from asperity.midas.model.motors import evaluated_actuators, motor_actuators
from asperity.plant.model.joints import is_disabled

__all__ = ["DYNAMICS", "activation_tables", "advance_activations"]

_DYN = mujoco.mjtDyn

# Kinds of motors.
_NONE, _INTEGRATOR, _FILTER, _EXACT, _EVALUATED = range(5)

DYNAMICS = {
    int(_DYN.mjDYN_MUSCLE): _INTEGRATOR,  # of a rate that `state_gains` looks up
    int(_DYN.mjDYN_NONE): _NONE,
    int(_DYN.mjDYN_INTEGRATOR): _INTEGRATOR,
    int(_DYN.mjDYN_FILTER): _FILTER,
    int(_DYN.mjDYN_FILTEREXACT): _EXACT,
    int(_DYN.mjDYN_PID): _EVALUATED,
    int(_DYN.mjDYN_DCMOTOR): _EVALUATED,
}
"""MuJoCo's kinds of activation dynamics that the engine knows."""


def activation_tables(model: mujoco.MjModel, gears: np.ndarray) -> dict[str, Any]:
    """Fields of the engine's table, but for what controls set.

    ``gears`` are lengths of motors per length of what they pull.
    """
    owner = motor_actuators(model)
    kind = np.array([DYNAMICS[int(dynamics)] for dynamics in model.actuator_dyntype], np.int64)
    kind[(model.actuator_actnum > 0) & np.isin(range(len(kind)), evaluated_actuators(model))] = (
        _EVALUATED
    )
    limited = model.actuator_actlimited.astype(bool)
    limited &= not is_disabled(model, mujoco.mjtDisableBit.mjDSBL_CLAMPCTRL)
    unlimited = np.tile([-np.inf, np.inf], (model.nactuator, 1))
    return {
        "dynamics": kind[owner],
        "activation": np.array(model.actuator_actadr[owner], dtype=np.int64),
        "states": np.array(model.actuator_actnum[owner], dtype=np.int64),
        "time": np.maximum(model.actuator_dynprm[owner, 0], 1e-15),
        "activation_limit": np.ascontiguousarray(
            np.where(limited[:, None], model.actuator_actrange, unlimited)[owner]
        ),
        "control": np.zeros(len(owner)),
        "gain": gears * model.actuator_gainprm[owner, 0],
        "bias": np.zeros(len(owner)),
    }


@compiled
def _advance_evaluated(
    motors: Table, motor: int, before: np.ndarray, after: np.ndarray, h: float
) -> None:
    """Advance the activations of a motor whose rates and slopes MuJoCo has evaluated."""
    first = motors.activation[motor]
    feed = motors.bias[motor]
    for k in range(motors.states[motor]):
        at = first + k
        x = h * motors.state_slope[at]
        growth = math.expm1(x) / x if x != 0.0 else 1.0
        value = before[at] + h * growth * motors.state_rate[at]
        after[at] = min(max(value, motors.state_limit[at, 0]), motors.state_limit[at, 1])
        feed += motors.state_gain[motor, k] * (after[at] - motors.state_start[at])
    motors.feed[motor] = feed


@compiled
def advance_activations(motors: Table, before: np.ndarray, after: np.ndarray, h: float) -> None:
    """Fill the activations at the end of a step of h [s], and what they feed their motors."""
    for i in range(before.size):
        after[i] = before[i]
    for motor in range(motors.joint.size):
        kind = motors.dynamics[motor]
        if kind == _NONE:
            continue
        at = motors.activation[motor]
        if kind == _EVALUATED:
            _advance_evaluated(motors, motor, before, after, h)
            continue
        control = motors.control[motor]
        value = before[at]
        if kind == _INTEGRATOR:
            value += h * control
        elif kind == _FILTER:
            value += h * (control - value) / motors.time[motor]
        else:
            value += (control - value) * (1.0 - math.exp(-h / motors.time[motor]))
        low = motors.activation_limit[motor, 0]
        high = motors.activation_limit[motor, 1]
        after[at] = min(max(value, low), high)
        motors.feed[motor] = motors.bias[motor] + motors.gain[motor] * after[at]
