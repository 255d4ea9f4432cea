"""Actuators: linear servos as implicit feedback rows, everything else as explicit forces.

An actuator whose force is linear in length l and velocity, for its present input u,

    f = (g_0 + g_1 l + g_2 l̇) u + b_0 + b_1 l + b_2 l̇,

is linear feedback with k_p = −(g_1 u + b_1) and k_d = −(g_2 u + b_2). Position and velocity servos
are of this kind. They become ``ACTUATOR`` rows, which the convex methods integrate implicitly and
whose effort limits are exact. So do PID controllers and DC motors, by the slopes that MuJoCo is
asked for (`asperity.plant.asked_actuators`). The rest of MuJoCo's actuators act through MuJoCo's
own forces at the beginning of the step, with what those of muscles change by within it
(`asperity.plant.passive_rows`).
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled, inlined
from asperity.contact.constraint_set import ACTUATOR
from asperity.plant.asked_actuators import asked_servo
from asperity.plant.constraints import add_joint_row, add_row
from asperity.plant.plant_layouts import EVALUATED, ROWS_FULL, TREES

__all__ = ["actuator_forces", "add_servo_rows", "set_asked_servos", "set_servo"]

# A range of forces that is none.
_ANY = 1e299


@compiled
def actuator_forces(plant: Table, state: Table, out: np.ndarray) -> None:
    """Add the explicit actuators' generalized forces."""
    actuators = plant.actuators
    if actuators.all_explicit:
        total = state.mj_qfrc_actuator
        for i in range(out.size):
            out[i] += total[i]
        return
    total = state.work.dof_row
    for o in range(actuators.output_explicit.size):
        if actuators.output_explicit[o]:
            for e in range(
                state.mj_moment_rowadr[o], state.mj_moment_rowadr[o] + state.mj_moment_rownnz[o]
            ):
                total[state.mj_moment_colind[e]] += (
                    state.mj_actuator_moment[e] * state.mj_actuator_force[o]
                )
    for i in range(out.size):
        value = total[i]
        total[i] = 0.0
        if actuators.dof_actuator_gravcomp[i]:
            value += state.mj_qfrc_gravcomp[i]
        state.work.dof_actuation[i] = value
        out[i] += value
    _limit_joints(plant, state, out)


@inlined
def _is_limited(plant: Table, state: Table, dof: int) -> bool:
    """Whether actuators exert more on a joint than its limit lets them, other than by a row."""
    limits = plant.actuators.dof_actuator_range
    return not limits[dof, 0] <= state.work.dof_actuation[dof] <= limits[dof, 1]


@compiled
def _limit_joints(plant: Table, state: Table, out: np.ndarray) -> None:
    """Let joints whose limits are below the sum of what acts on them at first have these limits.

    That is all that actuators exert, but servos that have their joint's limit in their row.
    """
    actuators = plant.actuators
    actuation, explicit = state.work.dof_actuation, state.work.dof_row
    for i in range(out.size):
        explicit[i] = actuation[i]
    for k in range(actuators.servo_output.size):
        o = actuators.servo_output[k]
        if actuators.servo_limited[k] < 0:
            first = state.mj_moment_rowadr[o]
            for e in range(first, first + state.mj_moment_rownnz[o]):
                actuation[state.mj_moment_colind[e]] += (
                    state.mj_actuator_moment[e] * state.mj_actuator_force[o]
                )
    for i in range(out.size):
        if _is_limited(plant, state, i):
            # Rows of servos leave it out.
            least, most = actuators.dof_actuator_range[i, 0], actuators.dof_actuator_range[i, 1]
            out[i] += min(max(actuation[i], least), most) - explicit[i]
        explicit[i] = 0.0


@compiled
def set_servo(plant: Table, state: Table, k: int, row: int, shift: float) -> None:
    """Fill force and gains of servo k's row, with its control shifted by some amount."""
    actuators = plant.actuators
    rows = state.rows
    gain = actuators.servo_gain
    bias = actuators.servo_bias
    o = actuators.servo_output[k]
    if actuators.servo_asked[k]:
        asked_servo(plant, state, o, row)
        return
    if actuators.servo_activation[k] >= 0:
        u = state.act[actuators.servo_activation[k]]
    else:
        u = min(
            max(
                state.mj_ctrl[actuators.servo_ctrl[k]] + shift,
                actuators.servo_ctrl_range[k, 0],
            ),
            actuators.servo_ctrl_range[k, 1],
        )
    extent = state.mj_actuator_length[o]
    period = actuators.servo_period[k]
    if period > 0.0:
        u -= period * np.floor((u - extent) / period + 0.5)
    v = state.mj_actuator_velocity[o]
    rows.force[row] = (
        (gain[k, 0] + gain[k, 1] * extent + gain[k, 2] * v) * u
        + bias[k, 0]
        + bias[k, 1] * extent
        + bias[k, 2] * v
    )
    rows.proportional[row] = -(gain[k, 1] * u + bias[k, 1])
    rows.derivative[row] = -(gain[k, 2] * u + bias[k, 2])


@compiled
def _limit_servo(plant: Table, state: Table, k: int, row: int) -> None:
    """Fill the limits of servo k's row, by its own range and by what joints have left."""
    actuators, rows = plant.actuators, state.rows
    actuation = state.work.dof_actuation
    lower, upper = actuators.servo_range[k, 0], actuators.servo_range[k, 1]
    o = actuators.servo_output[k]
    force = state.mj_actuator_force[o]
    own = actuators.servo_limited[k]
    first = state.mj_moment_rowadr[o]
    for e in range(first, first + state.mj_moment_rownnz[o]):
        dof, moment = state.mj_moment_colind[e], state.mj_actuator_moment[e]
        others = actuation[dof]
        low, high = actuators.dof_actuator_range[dof, 0], actuators.dof_actuator_range[dof, 1]
        if own >= 0:
            low, high = actuators.servo_joint_range[k, 0], actuators.servo_joint_range[k, 1]
        elif _is_limited(plant, state, dof):
            continue
        else:
            others -= moment * force
        if moment == 0.0 or high - low > _ANY:
            continue
        one, other = (low - others) / moment, (high - others) / moment
        least, most = min(one, other), max(one, other)
        # The joint's limit counts last: it may ask for more than the servo can exert.
        lower, upper = min(max(lower, least), most), max(min(upper, most), least)
    rows.lower[row] = lower
    rows.upper[row] = upper


@compiled
def add_servo_rows(plant: Table, state: Table) -> int:
    """Append a feedback row for every linear servo."""
    actuators = plant.actuators
    for k in range(actuators.servo_output.size):
        o = actuators.servo_output[k]
        start, size = state.mj_moment_rowadr[o], state.mj_moment_rownnz[o]
        for e in range(start, start + size):
            dof = state.mj_moment_colind[e]
            if actuators.servo_limited[k] >= 0 or not _is_limited(plant, state, dof):
                state.work.dof_row[dof] += state.mj_actuator_moment[e]
        first = state.mj_moment_colind[start] if size > 0 else -1
        # Most act on one joint; dofs of the others need not be looked at.
        if size == 1 and not plant.trees.spatial[plant.dofs.tree[first]]:
            row = add_joint_row(plant, state, ACTUATOR, -1 - o, first, 1)
        else:
            row = add_row(plant, state, ACTUATOR, -1 - o, first)
        state.output_row[o] = row
        if row == -1:
            return ROWS_FULL
        if row == -2:
            return TREES
        if row < 0:
            continue
        set_servo(plant, state, k, row, 0.0)
        _limit_servo(plant, state, k, row)
    return EVALUATED


@compiled
def set_asked_servos(plant: Table, state: Table) -> None:
    """Let the rows of actuators that MuJoCo is asked for be those of the state's present step."""
    if plant.mujoco.ask_actuators == 0:
        return
    actuators = plant.actuators
    for k in range(actuators.servo_output.size):
        o = actuators.servo_output[k]
        if actuators.servo_asked[k] and state.output_row[o] >= 0:
            asked_servo(plant, state, o, state.output_row[o])
