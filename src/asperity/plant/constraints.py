"""Scalar constraints into the constraint set.

Limits and dry friction of joints are written here: both limits of every hinge and slide and the
limit of every ball joint, at any distance, so that a long step cannot jump over one. Equalities and
whatever belongs to tendons are MuJoCo's own constraint rows, computed with contacts switched off.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import compiled
from asperity.compiled.calls import call_pp, load_address, load_double, load_int, store_int
from asperity.contact.constraint_set import CONSTRAINT_SET, EQUALITY, FRICTION, LIMIT, NO_LIMIT
from asperity.plant.layouts import EVALUATED, FAILED, PLANT, ROWS_FULL, STATE, TREES

__all__ = ["add_joint_rows", "add_mujoco_rows", "add_row", "to_solver_row"]

# MuJoCo's mjtConstraint.
_MJ_EQUALITY = 0
_MJ_FRICTION_TENDON = 2
_MJ_LIMIT_TENDON = 4

# Rotation of a ball joint [rad] below which it has no axis of its own.
_NO_ROTATION = 1e-9

# Added to a contact's `exclude` while it shall be ignored.
_EXCLUDED = 64

_plant = PLANT.get
_state = STATE.get
_rows = CONSTRAINT_SET.get


@compiled
def to_solver_row(plant, state, tree):
    """Change the part of ``dof_row`` that belongs to a spatial tree to solver velocities."""
    dense = _plant(plant, "dof_row")
    cdof = _state(state, "cdof")
    s = _plant(plant, "tree_start")[tree]
    x = dense[s]
    y = dense[s + 1]
    z = dense[s + 2]
    u = dense[s + 3]
    v = dense[s + 4]
    w = dense[s + 5]
    u -= cdof[s + 3, 3] * x + cdof[s + 3, 4] * y + cdof[s + 3, 5] * z
    v -= cdof[s + 4, 3] * x + cdof[s + 4, 4] * y + cdof[s + 4, 5] * z
    w -= cdof[s + 5, 3] * x + cdof[s + 5, 4] * y + cdof[s + 5, 5] * z
    for a in range(3):
        dense[s + a] = cdof[s + 3, a] * u + cdof[s + 4, a] * v + cdof[s + 5, a] * w
    dense[s + 3] = x
    dense[s + 4] = y
    dense[s + 5] = z


@compiled
def add_row(plant, state, kind, source):
    """Append a row whose generalized Jacobian is in ``dof_row`` (which is zeroed again).

    Returns the row's index, ``−1`` if the constraint set is full, ``−2`` if the row has more than
    two trees, ``−3`` if it is zero (and was dropped).
    """
    rows = _state(state, "rows")
    counts = _rows(rows, "counts")
    tree = _rows(rows, "tree")
    start = _rows(rows, "start")
    dof = _rows(rows, "dof")
    jacobian = _rows(rows, "jacobian")
    inverse_mass = _rows(rows, "inverse_mass")
    dense = _plant(plant, "dof_row")
    dof_tree = _plant(plant, "dof_tree")
    tree_start = _plant(plant, "tree_start")
    tree_size = _plant(plant, "tree_size")
    tree_spatial = _plant(plant, "tree_spatial")
    mass = _state(state, "mass_diagonal")
    row = counts[0]
    entry = counts[1]
    if row >= tree.shape[0] or entry + dense.size > jacobian.size:
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
        t = dof_tree[i]
        if trees == 2:
            for j in range(dense.size):
                dense[j] = 0.0
            return -2
        if trees == 1:
            start[row, 1] = entry
        tree[row, trees] = t
        trees += 1
        if tree_spatial[t]:
            to_solver_row(plant, state, t)
        end = tree_start[t] + tree_size[t]
        for j in range(tree_start[t], end):
            value = dense[j]
            if value != 0.0:
                dof[entry] = j
                jacobian[entry] = value
                entry += 1
                w += value * value / mass[j]
                dense[j] = 0.0
        i = end
    if trees == 0:
        return -3
    if trees == 1:
        start[row, 1] = entry
    start[row, 2] = entry
    counts[0] = row + 1
    counts[1] = entry
    inverse_mass[row] = w
    _rows(rows, "kind")[row] = kind
    _rows(rows, "source")[row] = source
    return row


@compiled
def _add_joint_row(plant, state, kind, source, first, count):
    """As `add_row`, of a row that is in ``count`` dofs of one joint of an articulated tree."""
    rows = _state(state, "rows")
    counts = _rows(rows, "counts")
    tree = _rows(rows, "tree")
    start = _rows(rows, "start")
    dof = _rows(rows, "dof")
    jacobian = _rows(rows, "jacobian")
    dense = _plant(plant, "dof_row")
    mass = _state(state, "mass_diagonal")
    row = counts[0]
    entry = counts[1]
    if row >= tree.shape[0] or entry + count > jacobian.size:
        for j in range(first, first + count):
            dense[j] = 0.0
        return -1
    w = 0.0
    start[row, 0] = entry
    for j in range(first, first + count):
        value = dense[j]
        dense[j] = 0.0
        dof[entry] = j
        jacobian[entry] = value
        w += value * value / mass[j]
        entry += 1
    start[row, 1] = entry
    start[row, 2] = entry
    tree[row, 0] = _plant(plant, "dof_tree")[first]
    tree[row, 1] = -1
    counts[0] = row + 1
    counts[1] = entry
    _rows(rows, "inverse_mass")[row] = w
    _rows(rows, "kind")[row] = kind
    _rows(rows, "source")[row] = source
    return row


@compiled
def _add_limits(plant, state):
    """Limits of hinges and slides, both in one row."""
    rows = _state(state, "rows")
    dense = _plant(plant, "dof_row")
    position = _rows(rows, "position")
    upper = _rows(rows, "upper")
    qpos = _state(state, "qpos")
    limit_dof = _plant(plant, "limit_dof")
    limit_qpos = _plant(plant, "limit_qpos")
    limit_range = _plant(plant, "limit_range")
    limit_source = _plant(plant, "limit_source")
    for k in range(limit_dof.size):
        dense[limit_dof[k]] = 1.0
        row = _add_joint_row(plant, state, LIMIT, limit_source[k], limit_dof[k], 1)
        if row < 0:
            return ROWS_FULL
        q = qpos[limit_qpos[k]]
        position[row] = q - limit_range[k, 0]
        upper[row] = limit_range[k, 1] - q
    return EVALUATED


@compiled
def _add_ball_limits(plant, state):
    """Limits of ball joints, c = range − angle − margin with the rate −axis · ω.

    The angle and axis are those of the rotation from the reference, in [0, π]; ω is in the moving
    body's axes, in which the axis has the same coordinates. Without a rotation the axis is that of
    the present motion, along which the limit is nearest.
    """
    rows = _state(state, "rows")
    dense = _plant(plant, "dof_row")
    position = _rows(rows, "position")
    upper = _rows(rows, "upper")
    qpos = _state(state, "qpos")
    qvel = _state(state, "qvel")
    ball_dof = _plant(plant, "ball_dof")
    ball_qpos = _plant(plant, "ball_qpos")
    ball_range = _plant(plant, "ball_range")
    ball_source = _plant(plant, "ball_source")
    for k in range(ball_dof.size):
        s = ball_dof[k]
        q = ball_qpos[k]
        w = qpos[q]
        x = qpos[q + 1]
        y = qpos[q + 2]
        z = qpos[q + 3]
        sine = np.sqrt(x * x + y * y + z * z)
        angle = 2.0 * np.arctan2(sine, abs(w))
        scale = -1.0 / max(sine, 1e-300)
        if w < 0.0:
            scale = -scale
        if angle < _NO_ROTATION:
            x = qvel[s]
            y = qvel[s + 1]
            z = qvel[s + 2]
            speed = np.sqrt(x * x + y * y + z * z)
            if speed < _NO_ROTATION:
                continue
            scale = -1.0 / speed
        dense[s] = scale * x
        dense[s + 1] = scale * y
        dense[s + 2] = scale * z
        row = _add_joint_row(plant, state, LIMIT, ball_source[k], s, 3)
        if row < 0:
            return ROWS_FULL
        position[row] = ball_range[k] - angle
        upper[row] = NO_LIMIT
    return EVALUATED


@compiled
def add_joint_rows(plant, state):
    """Start the constraint set with limits and dry friction of joints."""
    rows = _state(state, "rows")
    counts = _rows(rows, "counts")
    counts[0] = 0
    counts[1] = 0
    if _add_limits(plant, state) != EVALUATED or _add_ball_limits(plant, state) != EVALUATED:
        return ROWS_FULL
    dense = _plant(plant, "dof_row")
    lower = _rows(rows, "lower")
    upper = _rows(rows, "upper")
    dof_tree = _plant(plant, "dof_tree")
    tree_spatial = _plant(plant, "tree_spatial")
    friction_dof = _plant(plant, "friction_dof")
    friction_force = _plant(plant, "friction_force")
    for k in range(friction_dof.size):
        dof = friction_dof[k]
        dense[dof] = 1.0
        if tree_spatial[dof_tree[dof]]:
            row = add_row(plant, state, FRICTION, -1 - dof)
        else:
            row = _add_joint_row(plant, state, FRICTION, -1 - dof, dof, 1)
        if row < 0:
            return ROWS_FULL
        lower[row] = _plant(plant, "joint_stiction_tolerance")
        upper[row] = friction_force[k]
    return EVALUATED


@compiled
def add_mujoco_rows(plant, state):
    """Append MuJoCo's rows of equalities, tendon limits and tendon friction."""
    rows = _state(state, "rows")
    data = _state(state, "data")
    # MuJoCo makes rows for everything but the contacts that are marked as excluded.
    ncon = load_int(data + _plant(plant, "ncon_offset"))
    excluded = load_address(data + _plant(plant, "contact_offset"))
    excluded += _plant(plant, "contact_exclude")
    size = _plant(plant, "contact_size")
    for i in range(ncon):
        store_int(excluded + i * size, load_int(excluded + i * size) + _EXCLUDED)
    call_pp(_plant(plant, "make_constraint"), _plant(plant, "model"), data)
    for i in range(ncon):
        store_int(excluded + i * size, load_int(excluded + i * size) - _EXCLUDED)
    count = load_int(data + _plant(plant, "nefc_offset"))
    store_int(data + _plant(plant, "nefc_offset"), 0)
    if count == 0:
        return EVALUATED
    types = load_address(data + _plant(plant, "efc_type_offset"))
    positions = load_address(data + _plant(plant, "efc_pos_offset"))
    margins = load_address(data + _plant(plant, "efc_margin_offset"))
    losses = load_address(data + _plant(plant, "efc_frictionloss_offset"))
    jacobian = load_address(data + _plant(plant, "efc_jacobian_offset"))
    if types == 0 or jacobian == 0:
        return FAILED
    rownnz = load_address(data + _plant(plant, "efc_rownnz_offset"))
    rowadr = load_address(data + _plant(plant, "efc_rowadr_offset"))
    colind = load_address(data + _plant(plant, "efc_colind_offset"))
    dense = _plant(plant, "dof_row")
    position = _rows(rows, "position")
    lower = _rows(rows, "lower")
    upper = _rows(rows, "upper")
    nv = dense.size
    for i in range(count):
        kind = load_int(types + 4 * i)
        if _plant(plant, "sparse_rows"):
            nonzeros = load_int(rownnz + 4 * i)
            at = load_int(rowadr + 4 * i)
            for e in range(at, at + nonzeros):
                dense[load_int(colind + 4 * e)] = load_double(jacobian + 8 * e)
        else:
            for j in range(nv):
                dense[j] = load_double(jacobian + 8 * (i * nv + j))
        if kind in (_MJ_EQUALITY, _MJ_LIMIT_TENDON):
            row = add_row(plant, state, EQUALITY if kind == _MJ_EQUALITY else LIMIT, i)
        elif kind == _MJ_FRICTION_TENDON:
            row = add_row(plant, state, FRICTION, i)
        else:
            for j in range(nv):
                dense[j] = 0.0
            continue
        if row == -1:
            return ROWS_FULL
        if row == -2:
            return TREES
        if row < 0:
            continue
        position[row] = load_double(positions + 8 * i)
        if kind != _MJ_EQUALITY:
            position[row] -= load_double(margins + 8 * i)
            upper[row] = NO_LIMIT
        if kind == _MJ_FRICTION_TENDON:
            lower[row] = _plant(plant, "joint_stiction_tolerance")
            upper[row] = load_double(losses + 8 * i)
    return EVALUATED
