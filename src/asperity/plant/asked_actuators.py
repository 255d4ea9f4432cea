"""Actuators whose forces and rates MuJoCo is asked for: PID controllers and DC motors.

Their force F(l, l̇, a) depends on length, velocity and activations a, whose rates are ȧ(l, l̇, a).
MuJoCo is asked for both and for their slopes, by differences: all actuators' at once, since none
depends on another's. Over a step of h activations change by h φ(h ∂ȧ/∂a) ȧ with
φ(x) = (eˣ − 1)/x. Servo rows have the force by the activations at the step's end,

    F + ∂F/∂a h φ ȧ,

and its slopes by l and l̇, with what these do to ȧ: bristles and currents can be far faster than
steps are.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, entry_point, inlined
from asperity.compiled.calls import call_pp
from asperity.plant import native
from asperity.plant.plant_layouts import PLANT, STATE

__all__ = ["activation_growth", "actuation_struct", "ask_actuators", "asked_servo"]

_WORD = 8
# Differences of lengths, velocities and activations. All but cogging, friction and clamped voltages
# is linear.
_LENGTH, _SPEED, _ACTIVATION = 1e-6, 1e-5, 1e-6


def actuation_struct(address: int, **flags: np.ndarray) -> np.ndarray:
    """MuJoCo's struct with other flags of actuators.

    None's force is by the next activation (``actuator_actearly``), which would be that after
    MuJoCo's time step, whatever the step is. Where MuJoCo is asked, rows have force limits instead
    (``actuator_forcelimited``).

    Parameters
    ----------
    address : int
        Of the ``mjModel``, whose other arrays are those of the struct.
    **flags : ndarray of bool, shape (nactuator,)
        By the names of their fields; kept alive by the caller.
    """
    struct = native.memory(address, native.struct_size("mjModel") // _WORD).copy()
    for name, array in flags.items():
        struct[native.offset("mjModel", name) // _WORD] = array.ctypes.data
    return struct


@inlined
def activation_growth(step: float, slope: float) -> float:
    """h φ(h s) of a step, or h where activations do not relax."""
    return np.expm1(step * slope) / slope if step * slope < -1e-8 else step


@compiled
def _force_slopes(plant: Table, state: Table, way: int, values: np.ndarray, size: float) -> None:
    """Leave central differences of forces and rates by lengths (way 0) or velocities (1)."""
    slope, of_rate = state.output_slope[way], state.act_motion_slope[way]
    slope[:] = 0.0
    of_rate[:] = 0.0
    for change in (size, -size):
        for o in range(slope.size):
            values[o] += change
        call_pp(plant.mujoco.forward_actuation, plant.mujoco.asked_model, state.data)
        for o in range(slope.size):
            values[o] -= change
            slope[o] += state.mj_actuator_force[o] / (2.0 * change)
        for i in range(of_rate.size):
            of_rate[i] += state.mj_act_dot[i] / (2.0 * change)


@compiled
def _rate_slopes(plant: Table, state: Table, number: int) -> None:
    """Leave central differences of rates and forces by all actuators' activations of a number."""
    for change in (_ACTIVATION, -_ACTIVATION):
        for i in range(state.act_slope.size):
            if plant.actuators.act_number[i] == number:
                state.mj_act[i] = state.act[i] + change
        call_pp(plant.mujoco.forward_actuation, plant.mujoco.asked_model, state.data)
        for i in range(state.act_slope.size):
            if plant.actuators.act_number[i] == number:
                state.mj_act[i] = state.act[i]
                state.act_slope[i] += state.mj_act_dot[i] / (2.0 * change)
                o = plant.actuators.act_output[i]
                if o >= 0:
                    state.act_pull[i] += state.mj_actuator_force[o] / (2.0 * change)


@entry_point(types.int64(PLANT.type, STATE.type))
def ask_actuators(plant: Table, state: Table) -> int:
    """Fill forces, their slopes and those of rates; in the MjData are MuJoCo's own values then."""
    length, velocity = state.mj_actuator_length, state.mj_actuator_velocity
    _force_slopes(plant, state, 0, length, _LENGTH)
    _force_slopes(plant, state, 1, velocity, _SPEED)
    state.act_slope[:] = 0.0
    state.act_pull[:] = 0.0
    last = -1
    for i in range(state.act_slope.size):
        last = max(last, plant.actuators.act_number[i])
    for number in range(last + 1):
        _rate_slopes(plant, state, number)
    call_pp(plant.mujoco.forward_actuation, plant.mujoco.asked_model, state.data)
    for o in range(length.size):
        state.output_force[o] = state.mj_actuator_force[o]
    call_pp(plant.mujoco.forward_actuation, plant.mujoco.actuation_model, state.data)
    return 0


@compiled
def asked_servo(plant: Table, state: Table, o: int, row: int) -> None:
    """Fill force and gains of an actuator's row for the state's step."""
    actuators, rows = plant.actuators, state.rows
    force = state.output_force[o]
    stiffness, damping = -state.output_slope[0, o], -state.output_slope[1, o]
    for i in range(state.act.size):
        if actuators.act_output[i] == o:
            growth = activation_growth(state.step, state.act_slope[i])
            value = state.act[i] + growth * state.act_dot[i]
            value = min(max(value, actuators.act_range[i, 0]), actuators.act_range[i, 1])
            force += state.act_pull[i] * (value - state.act[i])
            stiffness -= state.act_pull[i] * growth * state.act_motion_slope[0, i]
            damping -= state.act_pull[i] * growth * state.act_motion_slope[1, i]
    rows.force[row] = force
    rows.proportional[row] = max(stiffness, 0.0)
    rows.derivative[row] = max(damping, 0.0)
