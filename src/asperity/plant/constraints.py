"""Scalar constraints into the constraint set.

Limits and dry friction of joints are written here: both limits of every hinge and slide and the
limit of every ball joint, at any distance, so that a long step cannot jump over one, and limits of
tendons that are near. Equalities and dry friction of tendons are MuJoCo's own constraint rows,
computed with contacts switched off.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.compiled.calls import call_pp, load_address, load_double, load_int, store_int
from asperity.contact.constraint_set import EQUALITY, FRICTION, LIMIT, NO_LIMIT
from asperity.plant.plant_layouts import EVALUATED, FAILED, ROWS_FULL, TREES
from asperity.soft.layout import HELD_BY_ELEMENTS
from asperity.soft.strands import NO_EDGE, edge_rates, follow_edge

__all__ = [
    "add_joint_row",
    "add_joint_rows",
    "add_mujoco_rows",
    "add_row",
    "add_tendon_limits",
    "to_solver_row",
]

# MuJoCo's mjtConstraint.
_MJ_EQUALITY = 0
_MJ_FRICTION_TENDON = 2
_MJ_LIMIT_TENDON = 4

# Rotation of a ball joint [rad] below which it has no axis of its own.
_NO_ROTATION = 1e-9

# Part of a tendon's range within which its limits have rows: what rests on one keeps its row, and
# muscles by the dozen cost nothing.
_NEAR = 0.1

# Added to a contact's `exclude` while it shall be ignored.
_EXCLUDED = 64


@compiled
def to_solver_row(plant: Table, state: Table, tree: int) -> None:
    """Change the part of ``dof_row`` that belongs to a spatial tree to solver velocities."""
    dense = state.work.dof_row
    cdof = state.cdof
    s = plant.trees.start[tree]
    x, y, z = dense[s], dense[s + 1], dense[s + 2]
    u, v, w = dense[s + 3], dense[s + 4], dense[s + 5]
    u -= cdof[s + 3, 3] * x + cdof[s + 3, 4] * y + cdof[s + 3, 5] * z
    v -= cdof[s + 4, 3] * x + cdof[s + 4, 4] * y + cdof[s + 4, 5] * z
    w -= cdof[s + 5, 3] * x + cdof[s + 5, 4] * y + cdof[s + 5, 5] * z
    for a in range(3):
        dense[s + a] = cdof[s + 3, a] * u + cdof[s + 4, a] * v + cdof[s + 5, a] * w
    dense[s + 3] = x
    dense[s + 4] = y
    dense[s + 5] = z


@compiled
def add_joint_row(
    plant: Table, state: Table, kind: int, source: int, first: int, count: int
) -> int:
    """Add a row (`add_row`) over ``count`` dofs of one joint of an articulated tree."""
    rows = state.rows
    row = rows.count
    entry = rows.entry_count
    if row >= rows.tree.shape[0] or entry + count > rows.jacobian.size:
        for j in range(first, first + count):
            state.work.dof_row[j] = 0.0
        return -1
    w = 0.0
    rows.start[row, 0] = entry
    for j in range(first, first + count):
        value = state.work.dof_row[j]
        state.work.dof_row[j] = 0.0
        rows.dof[entry] = j
        rows.jacobian[entry] = value
        w += value * value / state.mass_diagonal[j]
        entry += 1
    rows.start[row, 1] = entry
    rows.start[row, 2] = entry
    rows.tree[row, 0] = plant.dofs.tree[first]
    rows.tree[row, 1] = -1
    rows.count = row + 1
    rows.entry_count = entry
    rows.inverse_mass[row] = w
    rows.kind[row] = kind
    rows.source[row] = source
    return row


@compiled
def add_row(plant: Table, state: Table, kind: int, source: int, dof: int) -> int:
    """Append a row whose generalized Jacobian is in ``dof_row`` (which is zeroed again).

    A row that is zero has an entry for ``dof``, unless that is −1: in a state beside this one the
    row may not be zero, and steps from both must have the same rows to be differentiated.

    Returns the row's index, ``−1`` if the constraint set is full, ``−2`` if the row has more than
    two trees, ``−3`` if it is zero (and was dropped).
    """
    rows = state.rows
    tree = rows.tree
    start = rows.start
    dense = state.work.dof_row
    row = rows.count
    entry = rows.entry_count
    if row >= tree.shape[0] or entry + dense.size > rows.jacobian.size:
        for j in range(dense.size):
            dense[j] = 0.0
        return -1
    trees = 0
    tree[row, 0] = -1
    tree[row, 1] = -1
    start[row, 0] = entry
    w = 0.0
    i = 0
    while i < dense.size:
        if dense[i] == 0.0:
            i += 1
            continue
        t = plant.dofs.tree[i]
        if trees == 2:
            for j in range(dense.size):
                dense[j] = 0.0
            return -2
        if trees == 1:
            start[row, 1] = entry
        tree[row, trees] = t
        trees += 1
        if plant.trees.spatial[t]:
            to_solver_row(plant, state, t)
        end = plant.trees.start[t] + plant.trees.size[t]
        for j in range(plant.trees.start[t], end):
            value = dense[j]
            if value != 0.0:
                rows.dof[entry] = j
                rows.jacobian[entry] = value
                entry += 1
                w += value * value / state.mass_diagonal[j]
                dense[j] = 0.0
        i = end
    if trees == 0:
        return -3 if dof < 0 else add_joint_row(plant, state, kind, source, dof, 1)
    if trees == 1:
        start[row, 1] = entry
    start[row, 2] = entry
    rows.count = row + 1
    rows.entry_count = entry
    rows.inverse_mass[row] = w
    rows.kind[row] = kind
    rows.source[row] = source
    return row


@compiled
def _add_limits(plant: Table, state: Table) -> int:
    """Limits of hinges and slides, both in one row."""
    joints = plant.joints
    rows = state.rows
    for k in range(joints.limit_dof.size):
        state.work.dof_row[joints.limit_dof[k]] = 1.0
        row = add_joint_row(plant, state, LIMIT, joints.limit_source[k], joints.limit_dof[k], 1)
        if row < 0:
            return ROWS_FULL
        q = state.qpos[joints.limit_qpos[k]]
        rows.position[row] = q - joints.limit_range[k, 0]
        rows.upper[row] = joints.limit_range[k, 1] - q
        rows.lower[row] = joints.limit_speed[k]
    return EVALUATED


@compiled
def _add_ball_limits(plant: Table, state: Table) -> int:
    """Limits of ball joints, c = range − angle − margin with the rate −axis · ω.

    The angle and axis are those of the rotation from the reference, in [0, π]; ω is in the moving
    body's axes, in which the axis has the same coordinates. Without a rotation the axis is that of
    the present motion, along which the limit is nearest.
    """
    joints = plant.joints
    rows = state.rows
    qpos = state.qpos
    for k in range(joints.ball_dof.size):
        s = joints.ball_dof[k]
        q = joints.ball_qpos[k]
        w, x, y, z = qpos[q], qpos[q + 1], qpos[q + 2], qpos[q + 3]
        sine = np.sqrt(x * x + y * y + z * z)
        angle = 2.0 * np.arctan2(sine, abs(w))
        scale = -1.0 / max(sine, 1e-300)
        if w < 0.0:
            scale = -scale
        if angle < _NO_ROTATION:
            x, y, z = state.qvel[s], state.qvel[s + 1], state.qvel[s + 2]
            speed = np.sqrt(x * x + y * y + z * z)
            if speed < _NO_ROTATION:
                continue
            scale = -1.0 / speed
        state.work.dof_row[s] = scale * x
        state.work.dof_row[s + 1] = scale * y
        state.work.dof_row[s + 2] = scale * z
        row = add_joint_row(plant, state, LIMIT, joints.ball_source[k], s, 3)
        if row < 0:
            return ROWS_FULL
        rows.position[row] = joints.ball_range[k] - angle
        rows.upper[row] = NO_LIMIT
        rows.lower[row] = np.inf
    return EVALUATED


@compiled
def add_joint_rows(plant: Table, state: Table) -> int:
    """Start the constraint set with limits and dry friction of joints."""
    joints = plant.joints
    rows = state.rows
    rows.count = 0
    rows.entry_count = 0
    if _add_limits(plant, state) != EVALUATED or _add_ball_limits(plant, state) != EVALUATED:
        return ROWS_FULL
    for k in range(joints.friction_dof.size):
        dof = joints.friction_dof[k]
        state.work.dof_row[dof] = 1.0
        if plant.trees.spatial[plant.dofs.tree[dof]]:
            row = add_row(plant, state, FRICTION, -1 - dof, -1)
        else:
            row = add_joint_row(plant, state, FRICTION, -1 - dof, dof, 1)
        if row < 0:
            return ROWS_FULL
        rows.lower[row] = joints.stiction_tolerance
        rows.upper[row] = joints.friction_force[k]
    return EVALUATED


@compiled
def add_tendon_limits(plant: Table, state: Table) -> int:
    """Append the limits that tendons are beyond, or near, with the signs of MuJoCo's rows.

    A tendon of more than two trees has rows beyond its limits only, which no method can take.
    """
    tendons = plant.tendons
    rows = state.rows
    for k in range(tendons.limited.size):
        tendon = tendons.limited[k]
        extent = state.mj_ten_length[tendon]
        near = _NEAR * (tendons.range[k, 1] - tendons.range[k, 0])
        for side in range(2):
            sign = 1.0 if side == 0 else -1.0
            remaining = sign * (extent - tendons.range[k, side])
            if not remaining < near:
                continue
            first = tendons.rowadr[tendon]
            for e in range(first, first + tendons.rownnz[tendon]):
                state.work.dof_row[tendons.colind[e]] = sign * state.mj_ten_jacobian[e]
            row = add_row(plant, state, LIMIT, 2 * tendon + side, -1)
            if row == -1:
                return ROWS_FULL
            if row == -2 and remaining < 0.0:
                return TREES
            if row < 0:
                continue
            rows.identity[row] = (_MJ_LIMIT_TENDON << 32) + tendon
            rows.position[row] = remaining
            rows.upper[row] = NO_LIMIT
            rows.lower[row] = np.inf
    return EVALUATED


@compiled
def _fill_edge(elastic: Table, state: Table, row: int, edge: tuple[int, int]) -> None:
    """Fill what a row has as an edge of a rope."""
    rows = state.rows
    rows.inverse_mass[row] *= elastic.equality_softness[edge[0]]
    _, rows.turning[row, 1] = edge_rates(elastic, state.soft.position, state.qvel, edge[1])
    rows.turning[row, 0] = elastic.strand_length[edge[1]]


@compiled
def add_mujoco_rows(plant: Table, state: Table) -> int:
    """Append MuJoCo's rows of equalities and tendon friction."""
    rows = state.rows
    offsets = plant.offsets
    data = state.data
    # MuJoCo makes rows for everything but the contacts that are marked as excluded.
    ncon = load_int(data + offsets.ncon_offset)
    excluded = load_address(data + offsets.contact_offset)
    excluded += offsets.contact_exclude
    size = offsets.contact_size
    for i in range(ncon):
        store_int(excluded + i * size, load_int(excluded + i * size) + _EXCLUDED)
    call_pp(plant.mujoco.make_constraint, plant.detection_model, data)
    for i in range(ncon):
        store_int(excluded + i * size, load_int(excluded + i * size) - _EXCLUDED)
    count = load_int(data + offsets.nefc_offset)
    store_int(data + offsets.nefc_offset, 0)
    if count == 0:
        return EVALUATED
    types = load_address(data + offsets.efc_type_offset)
    identities = load_address(data + offsets.efc_id_offset)
    positions = load_address(data + offsets.efc_pos_offset)
    weights = load_address(data + offsets.efc_weight_offset)
    losses = load_address(data + offsets.efc_frictionloss_offset)
    jacobian = load_address(data + offsets.efc_jacobian_offset)
    if types == 0 or jacobian == 0:
        return FAILED
    rownnz = load_address(data + offsets.efc_rownnz_offset)
    rowadr = load_address(data + offsets.efc_rowadr_offset)
    colind = load_address(data + offsets.efc_colind_offset)
    dense = state.work.dof_row
    nv = dense.size
    edge = NO_EDGE
    for i in range(count):
        kind = load_int(types + 4 * i)
        if kind not in (_MJ_EQUALITY, _MJ_FRICTION_TENDON):
            continue
        if kind == _MJ_EQUALITY and plant.elastic.equality_strand.size > 0:
            equality = load_int(identities + 4 * i)
            if plant.elastic.equality_strand[equality] == HELD_BY_ELEMENTS:
                continue
        if plant.sparse_rows:
            nonzeros = load_int(rownnz + 4 * i)
            at = load_int(rowadr + 4 * i)
            for e in range(at, at + nonzeros):
                dense[load_int(colind + 4 * e)] = load_double(jacobian + 8 * e)
        else:
            for j in range(nv):
                dense[j] = load_double(jacobian + 8 * (i * nv + j))
        # Where an equality has no arm in this pose, it has one beside.
        held = -1
        if kind == _MJ_EQUALITY:
            held = plant.joints.equality_dof[load_int(identities + 4 * i)]
        row = add_row(plant, state, EQUALITY if kind == _MJ_EQUALITY else FRICTION, i, held)
        if row == -1:
            return ROWS_FULL
        if row == -2:
            return TREES
        if row < 0:
            continue
        rows.identity[row] = (kind << 32) + load_int(identities + 4 * i)
        rows.position[row] = load_double(positions + 8 * i)
        rows.turning[row, 0] = 0.0
        rows.turning[row, 1] = 0.0
        if kind == _MJ_EQUALITY and plant.elastic.strands > 0:
            edge = follow_edge(plant.elastic, load_int(identities + 4 * i), edge)
        else:
            edge = NO_EDGE
        if edge[1] >= 0:
            _fill_edge(plant.elastic, state, row, edge)
        else:
            # MuJoCo's own estimate, of the model's first pose, does not vanish where a chain is
            # stretched: what it cannot reach would pull it there with a force without bounds.
            # Edges have a softness of their own.
            rows.inverse_mass[row] = max(rows.inverse_mass[row], load_double(weights + 8 * i))
        if kind == _MJ_FRICTION_TENDON:
            rows.lower[row] = plant.joints.stiction_tolerance
            rows.upper[row] = load_double(losses + 8 * i)
    return EVALUATED
