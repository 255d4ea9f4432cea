"""Actuators whose forces and rates MuJoCo is asked for: PID controllers and DC motors.

Their force F(l, l̇, a) depends on length, velocity and activations a, whose rates are ȧ(l, l̇, a).
MuJoCo is asked for both and, by differences, for ∂F/∂l and ∂F/∂l̇, which make servo rows of them,
and for ∂ȧ/∂a, by which activations advance (`asperity.integrators.methods.motion`): all actuators'
at once, since none depends on another's.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, entry_point
from asperity.compiled.calls import call_pp
from asperity.plant import native
from asperity.plant.plant_layouts import PLANT, STATE

__all__ = ["ask_actuators", "asked_struct"]

_WORD = 8
# Differences of lengths, velocities and activations. All but cogging, friction and clamped voltages
# is linear.
_LENGTH, _SPEED, _ACTIVATION = 1e-6, 1e-5, 1e-6


def asked_struct(address: int, limited: np.ndarray) -> np.ndarray:
    """MuJoCo's struct with other force limits of actuators, which rows have instead.

    Parameters
    ----------
    address : int
        Of the ``mjModel``, whose arrays are those of the struct.
    limited : ndarray of bool, shape (nactuator,)
        Whether MuJoCo is to limit the force of an actuator; kept alive by the caller.
    """
    struct = native.memory(address, native.struct_size("mjModel") // _WORD).copy()
    at = native.offset("mjModel", "actuator_forcelimited")
    struct[at // _WORD] = limited.ctypes.data
    return struct


@compiled
def _force_slopes(plant: Table, state: Table, way: int, values: np.ndarray, size: float) -> None:
    """Leave central differences of forces by lengths (way 0) or velocities (1)."""
    slope = state.work.output_slope[way]
    slope[:] = 0.0
    for change in (size, -size):
        for o in range(slope.size):
            values[o] += change
        call_pp(plant.mujoco.forward_actuation, plant.mujoco.asked_model, state.data)
        for o in range(slope.size):
            values[o] -= change
            slope[o] += state.mj_actuator_force[o] / (2.0 * change)


@compiled
def _rate_slopes(plant: Table, state: Table, number: int) -> None:
    """Leave central differences of rates by every actuator's activation of that number."""
    for change in (_ACTIVATION, -_ACTIVATION):
        for i in range(state.act_slope.size):
            if plant.actuators.act_number[i] == number:
                state.mj_act[i] = state.act[i] + change
        call_pp(plant.mujoco.forward_actuation, plant.mujoco.asked_model, state.data)
        for i in range(state.act_slope.size):
            if plant.actuators.act_number[i] == number:
                state.mj_act[i] = state.act[i]
                state.act_slope[i] += state.mj_act_dot[i] / (2.0 * change)


@entry_point(types.int64(PLANT.type, STATE.type))
def ask_actuators(plant: Table, state: Table) -> int:
    """Fill forces, their slopes and those of rates; in the MjData are MuJoCo's own values then."""
    length, velocity = state.mj_actuator_length, state.mj_actuator_velocity
    _force_slopes(plant, state, 0, length, _LENGTH)
    _force_slopes(plant, state, 1, velocity, _SPEED)
    state.act_slope[:] = 0.0
    last = -1
    for i in range(state.act_slope.size):
        last = max(last, plant.actuators.act_number[i])
    for number in range(last + 1):
        _rate_slopes(plant, state, number)
    call_pp(plant.mujoco.forward_actuation, plant.mujoco.asked_model, state.data)
    for o in range(length.size):
        state.work.output_force[o] = state.mj_actuator_force[o]
    call_pp(plant.mujoco.forward_actuation, plant.model, state.data)
    return 0
