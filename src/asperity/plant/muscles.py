"""Muscles: activations over a step of any length, and stiffness and damping.

A muscle's activation a follows its excitation u with a time constant that depends on both: ȧ =
(u − a)/τ(u, a). It moves within hundredths of a second, so explicit steps of Euler's as long as
those of a robot leave the range from 0 to 1. Nothing else enters its rate. It therefore goes on in
steps of its own, a fraction of the present time constant each.

With MuJoCo's curves of length L and velocity V, relative to the muscle's optimal length L_0, it
pulls by a F FL(L) FV(V) + F FP(L). Near V = 0 the slope of FV is that of a damper of 2 a F/v_max,
which stops a finger within microseconds.
"""

from __future__ import annotations

import mujoco
import numpy as np

from asperity.compiled import compiled

__all__ = ["activation_after", "muscle_curves", "muscle_parameters", "muscle_slopes"]

# Of the present time constant of the linearised rate: fourth-order steps are then good to 4e-6.
_PART = 0.25
# Differences from the excitation that are none.
_SETTLED = 1e-12
_LEAST = mujoco.mjMINVAL


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
    if width < _LEAST:
        share = 1.0 if difference > 0.0 else 0.0
    else:
        x = min(max(difference / width + 0.5, 0.0), 1.0)
        share = x * x * x * (x * (6.0 * x - 15.0) + 10.0)
    return max(falls + share * (rises - falls), _LEAST)


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


def muscle_curves(model: mujoco.MjModel, i: int) -> np.ndarray:
    """Numbers of an actuator's active and passive curves, shape (2, 8); 0 where it has none.

    L at the least length, that length and L_0 [m], F [N], least and largest L of the active curve,
    and then of the active one v_max [L_0/s] and FV's limit, of the passive one FP at the largest L.
    """
    curves = np.zeros((2, 8))
    kinds = model.actuator_gaintype[i], model.actuator_biastype[i]
    muscle = int(mujoco.mjtGain.mjGAIN_MUSCLE), int(mujoco.mjtBias.mjBIAS_MUSCLE)
    output = model.actuator_outadr[i]
    least, most = model.actuator_lengthrange[output]
    for k, prm in enumerate((model.actuator_gainprm[i], model.actuator_biasprm[i])):
        if kinds[k] != muscle[k]:
            continue
        low, high, force, scale, shortest, longest, fastest, passive, eccentric = prm[:9]
        if force < 0.0:
            force = scale / max(model.actuator_acc0[output], _LEAST)
        optimal = max((most - least) / max(high - low, _LEAST), _LEAST)
        own = (fastest, eccentric) if k == 0 else (passive, 0.0)
        curves[k] = low, least, optimal, force, shortest, longest, *own
    return curves


@compiled
def _active(at: float, shortest: float, longest: float) -> tuple[float, float]:
    """FL(L) as of ``mju_muscleGainLength``, and its slope."""
    if not shortest <= at <= longest:
        return 0.0, 0.0
    end = shortest if at < 1.0 else longest
    middle = 0.5 * (end + 1.0)
    width = max(abs(middle - end), _LEAST)
    sign = 1.0 if at < 1.0 else -1.0
    if abs(at - end) <= width:
        x = abs(at - end) / width
        return 0.5 * x * x, sign * x / width
    x = abs(1.0 - at) / width
    return 1.0 - 0.5 * x * x, sign * x / width


@compiled
def _speeded(speed: float, eccentric: float) -> tuple[float, float]:
    """FV(V) as of ``mju_muscleGain``, and its slope, which is not less than that to FV(−1) = 0.

    With a tangent that is level, where a muscle is stretched, a step would let it shorten at once
    by more than it ever can.
    """
    if speed <= -1.0:
        return 0.0, 0.0
    if speed <= 0.0:
        return (speed + 1.0) ** 2, 2.0 * (speed + 1.0)
    left = max(eccentric - 1.0 - speed, 0.0)
    width = max(eccentric - 1.0, _LEAST)
    value = eccentric - left * left / width
    return value, max(2.0 * left / width, value / (speed + 1.0))


@compiled
def muscle_slopes(
    curves: np.ndarray, extent: float, speed: float, activation: float
) -> tuple[float, float]:
    """By how much the pull of a muscle grows with its length [N/m] and with its rate [N s/m].

    ``curves`` are the muscle's, of `muscle_curves`.
    """
    stiffness = damping = 0.0
    low, least, optimal, force = curves[0, 0], curves[0, 1], curves[0, 2], curves[0, 3]
    if force > 0.0:
        fastest = max(optimal * curves[0, 6], _LEAST)
        length, slope = _active(low + (extent - least) / optimal, curves[0, 4], curves[0, 5])
        velocity, growth = _speeded(speed / fastest, curves[0, 7])
        stiffness += activation * force * slope * velocity / optimal
        damping += activation * force * length * growth / fastest
    low, least, optimal, force = curves[1, 0], curves[1, 1], curves[1, 2], curves[1, 3]
    if force > 0.0:
        # FP is quadratic half of the way to its end, then linear.
        half = max(0.5 * (curves[1, 5] - 1.0), _LEAST)
        x = min(max((low + (extent - least) / optimal - 1.0) / half, 0.0), 1.0)
        stiffness += force * curves[1, 6] * x / half / optimal
    return stiffness, damping
