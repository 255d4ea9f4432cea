"""Actuators: linear servos as implicit feedback rows, everything else as explicit forces.

An actuator whose force is linear in length l and velocity, for its present input u,

    f = (g_0 + g_1 l + g_2 l̇) u + b_0 + b_1 l + b_2 l̇,

is linear feedback with k_p = −(g_1 u + b_1) and k_d = −(g_2 u + b_2). Position and velocity servos
are of this kind. They become ``ACTUATOR`` rows, which the convex methods integrate implicitly and
whose effort limits are exact. The rest of MuJoCo's actuators (motors, muscles, ...) act through
MuJoCo's own forces at the beginning of the step.
"""

from __future__ import annotations

from asperity.compiled import compiled
from asperity.contact.constraint_set import ACTUATOR, CONSTRAINT_SET
from asperity.plant.constraints import add_row
from asperity.plant.layouts import EVALUATED, PLANT, ROWS_FULL, STATE, TREES

__all__ = ["actuator_forces", "add_servo_rows"]

_plant = PLANT.get
_state = STATE.get
_rows = CONSTRAINT_SET.get


@compiled
def actuator_forces(plant, state, out):
    """Add the explicit actuators' generalized forces."""
    if _plant(plant, "all_explicit"):
        total = _state(state, "mj_qfrc_actuator")
        for i in range(out.size):
            out[i] += total[i]
        return
    force = _state(state, "mj_actuator_force")
    moment = _state(state, "mj_actuator_moment")
    rownnz = _state(state, "mj_moment_rownnz")
    rowadr = _state(state, "mj_moment_rowadr")
    colind = _state(state, "mj_moment_colind")
    explicit = _plant(plant, "output_explicit")
    gravcomp = _plant(plant, "dof_actuator_gravcomp")
    compensation = _state(state, "mj_qfrc_gravcomp")
    limits = _plant(plant, "dof_actuator_range")
    total = _plant(plant, "dof_row")
    for o in range(explicit.size):
        if explicit[o]:
            for e in range(rowadr[o], rowadr[o] + rownnz[o]):
                total[colind[e]] += moment[e] * force[o]
    for i in range(out.size):
        value = total[i]
        total[i] = 0.0
        if gravcomp[i]:
            value += compensation[i]
        out[i] += min(max(value, limits[i, 0]), limits[i, 1])


@compiled
def add_servo_rows(plant, state):
    """Append a feedback row for every linear servo."""
    rows = _state(state, "rows")
    ctrl = _state(state, "mj_ctrl")
    act = _state(state, "act")
    length = _state(state, "mj_actuator_length")
    velocity = _state(state, "mj_actuator_velocity")
    moment = _state(state, "mj_actuator_moment")
    rownnz = _state(state, "mj_moment_rownnz")
    rowadr = _state(state, "mj_moment_rowadr")
    colind = _state(state, "mj_moment_colind")
    output = _plant(plant, "servo_output")
    servo_ctrl = _plant(plant, "servo_ctrl")
    ctrl_range = _plant(plant, "servo_ctrl_range")
    activation = _plant(plant, "servo_activation")
    gain = _plant(plant, "servo_gain")
    bias = _plant(plant, "servo_bias")
    limits = _plant(plant, "servo_range")
    dense = _plant(plant, "dof_row")
    force = _rows(rows, "force")
    proportional = _rows(rows, "proportional")
    derivative = _rows(rows, "derivative")
    lower = _rows(rows, "lower")
    upper = _rows(rows, "upper")
    for k in range(output.size):
        o = output[k]
        for e in range(rowadr[o], rowadr[o] + rownnz[o]):
            dense[colind[e]] += moment[e]
        row = add_row(plant, state, ACTUATOR, -1 - o)
        if row == -1:
            return ROWS_FULL
        if row == -2:
            return TREES
        if row < 0:
            continue
        if activation[k] >= 0:
            u = act[activation[k]]
        else:
            u = min(max(ctrl[servo_ctrl[k]], ctrl_range[k, 0]), ctrl_range[k, 1])
        extent = length[o]
        v = velocity[o]
        force[row] = (
            (gain[k, 0] + gain[k, 1] * extent + gain[k, 2] * v) * u
            + bias[k, 0]
            + bias[k, 1] * extent
            + bias[k, 2] * v
        )
        proportional[row] = -(gain[k, 1] * u + bias[k, 1])
        derivative[row] = -(gain[k, 2] * u + bias[k, 2])
        lower[row] = limits[k, 0]
        upper[row] = limits[k, 1]
    return EVALUATED
