"""Activations of motors: states that follow their controls, and that they pull by.

Over a step of h their rates are ȧ + s (a − a₀), with numbers of the state at hand
(`asperity.midas.model.motor_tables`, `asperity.midas.model.evaluated_motors`). They go on by an
exponential step of Euler's,

    a₁ = a + h φ(h s) ȧ,    φ(x) = (eˣ − 1)/x,

and those of muscles in steps of their own (`asperity.plant.muscles`). A step's forces are by the
activation at its end.
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled
from asperity.plant.muscles import activation_after

__all__ = ["advance_activations"]


@compiled
def advance_activations(motors: Table, before: np.ndarray, after: np.ndarray, h: float) -> None:
    """Fill the activations at the end of a step of h [s], and what they feed their motors."""
    for i in range(before.size):
        after[i] = before[i]
    for motor in range(motors.joint.size):
        feed = motors.bias[motor]
        for k in range(motors.states[motor]):
            at = motors.activation[motor] + k
            slope = motors.state_slope[at]
            if motors.state_muscle[at, 4] > 0.0:
                value = activation_after(
                    motors.state_muscle[at], before[at], motors.state_control[at], h
                )
            else:
                x = h * slope
                growth = math.expm1(x) / x if x != 0.0 else 1.0
                rate = motors.state_rate[at] + slope * (before[at] - motors.state_start[at])
                value = before[at] + h * growth * rate
            after[at] = min(max(value, motors.state_limit[at, 0]), motors.state_limit[at, 1])
            feed += motors.state_gain[motor, k] * (after[at] - motors.state_start[at])
        if motors.states[motor] > 0:
            motors.feed[motor] = feed
