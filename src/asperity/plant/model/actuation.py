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

from asperity.compiled import Table, compiled
from asperity.contact.constraint_set import ACTUATOR
from asperity.plant.constraints import add_joint_row, add_row
from asperity.plant.plant_layouts import EVALUATED, ROWS_FULL, TREES

__all__ = ["actuator_forces", "add_servo_rows", "set_servo"]


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
        state.work.dof_explicit[i] = value
        out[i] += min(
            max(value, actuators.dof_actuator_range[i, 0]),
            actuators.dof_actuator_range[i, 1],
        )


@compiled
def set_servo(plant: Table, state: Table, k: int, row: int, shift: float) -> None:
    """Fill force and gains of servo k's row, with its control shifted by some amount."""
    actuators = plant.actuators
    rows = state.rows
    gain = actuators.servo_gain
    bias = actuators.servo_bias
    o = actuators.servo_output[k]
    if actuators.servo_asked[k]:
        rows.force[row] = state.work.output_force[o]
        rows.proportional[row] = max(-state.work.output_slope[0, o], 0.0)
        rows.derivative[row] = max(-state.work.output_slope[1, o], 0.0)
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
    """Fill the limits of servo k's row, by its own range and by what its joint has left."""
    actuators = plant.actuators
    lower, upper = actuators.servo_range[k, 0], actuators.servo_range[k, 1]
    dof = actuators.servo_limited[k]
    if dof >= 0:
        gear = state.mj_actuator_moment[state.mj_moment_rowadr[actuators.servo_output[k]]]
        one = (actuators.servo_joint_range[k, 0] - state.work.dof_explicit[dof]) / gear
        other = (actuators.servo_joint_range[k, 1] - state.work.dof_explicit[dof]) / gear
        least, most = min(one, other), max(one, other)
        # The joint's limit counts last: it may ask for more than the servo can exert.
        lower, upper = min(max(lower, least), most), max(min(upper, most), least)
    state.rows.lower[row] = lower
    state.rows.upper[row] = upper


@compiled
def add_servo_rows(plant: Table, state: Table) -> int:
    """Append a feedback row for every linear servo."""
    actuators = plant.actuators
    for k in range(actuators.servo_output.size):
        o = actuators.servo_output[k]
        for e in range(
            state.mj_moment_rowadr[o], state.mj_moment_rowadr[o] + state.mj_moment_rownnz[o]
        ):
            state.work.dof_row[state.mj_moment_colind[e]] += state.mj_actuator_moment[e]
        # Most act on one joint; dofs of the others need not be looked at.
        alone = state.mj_moment_rownnz[o] == 1
        first = state.mj_moment_colind[state.mj_moment_rowadr[o]] if alone else 0
        if (
            alone
            and state.work.dof_row[first] != 0.0
            and not plant.trees.spatial[plant.dofs.tree[first]]
        ):
            row = add_joint_row(plant, state, ACTUATOR, -1 - o, first, 1)
        else:
            row = add_row(plant, state, ACTUATOR, -1 - o)
        if row == -1:
            return ROWS_FULL
        if row == -2:
            return TREES
        if row < 0:
            continue
        set_servo(plant, state, k, row, 0.0)
        _limit_servo(plant, state, k, row)
    return EVALUATED
