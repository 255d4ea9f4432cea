"""Activations of muscles over a step of any length.

A muscle's activation a follows its excitation u with a time constant that depends on both: ȧ =
(u − a)/τ(u, a). It moves within hundredths of a second, so explicit steps of Euler's as long as
those of a robot leave the range from 0 to 1. Nothing else enters its rate. It therefore goes on in
steps of its own, a fraction of the present time constant each.
"""

from __future__ import annotations

import mujoco
import numpy as np

from asperity.compiled import compiled

__all__ = ["activation_after", "muscle_parameters"]

# Of the present time constant of the linearised rate: fourth-order steps are then good to 4e-6.
_PART = 0.25
# Differences from the excitation that are none.
_SETTLED = 1e-12


def muscle_parameters(model: mujoco.MjModel) -> np.ndarray:
    """Parameters of activations, shape (na, 5); rows of zeros are of no muscle.

    Time constants of activation and deactivation [s], the width over which one turns into the
    other, least and largest excitation.
    """
    parameters = np.zeros((model.na, 5))
    for i in np.flatnonzero(model.actuator_dyntype == mujoco.mjtDyn.mjDYN_MUSCLE):
        control = model.actuator_ctrladr[i]
        low, high = 0.0, 1.0
        clamps = not model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_CLAMPCTRL
        if model.actuator_ctrllimited[control] and clamps:
            low, high = np.clip(model.actuator_ctrlrange[control], 0.0, 1.0)
        parameters[model.actuator_actadr[i]] = *model.actuator_dynprm[i, :3], low, high
    return parameters


@compiled
def _time_constant(parameters: np.ndarray, activation: float, difference: float) -> float:
    """τ as of Millard, Uchida, Seth and Delp (2013), blended as by ``mju_muscleDynamics``."""
    scale = 0.5 + 1.5 * min(max(activation, 0.0), 1.0)
    rises, falls, width = parameters[0] * scale, parameters[1] / scale, parameters[2]
    if width < mujoco.mjMINVAL:
        share = 1.0 if difference > 0.0 else 0.0
    else:
        x = min(max(difference / width + 0.5, 0.0), 1.0)
        share = x * x * x * (x * (6.0 * x - 15.0) + 10.0)
    return max(falls + share * (rises - falls), mujoco.mjMINVAL)


@compiled
def _rate(parameters: np.ndarray, activation: float, excitation: float) -> float:
    difference = excitation - activation
    return difference / _time_constant(parameters, activation, difference)


@compiled
def activation_after(
    parameters: np.ndarray, activation: float, control: float, duration: float
) -> float:
    """A muscle's activation after ``duration`` [s] under a constant control.

    ``parameters`` is the muscle's row of `muscle_parameters`.
    """
    excitation = min(max(control, parameters[3]), parameters[4])
    a, left = activation, duration
    while left > 0.0:
        difference = excitation - a
        if abs(difference) < _SETTLED:
            break
        scale = 0.5 + 1.5 * min(max(a, 0.0), 1.0)
        slope = 1.0 + 1.5 * abs(difference) / scale
        step = min(left, _PART * _time_constant(parameters, a, difference) / slope)
        k1 = _rate(parameters, a, excitation)
        k2 = _rate(parameters, a + 0.5 * step * k1, excitation)
        k3 = _rate(parameters, a + 0.5 * step * k2, excitation)
        k4 = _rate(parameters, a + step * k3, excitation)
        a += step * (k1 + 2.0 * (k2 + k3) + k4) / 6.0
        left -= step
    return a
