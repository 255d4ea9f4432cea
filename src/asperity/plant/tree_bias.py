"""Coriolis, centrifugal and gravity forces of some kinematic trees at other velocities.

The recursive Newton–Euler algorithm (R. Featherstone, Rigid Body Dynamics Algorithms, 2008, 5.3)
without accelerations of joints, in MuJoCo's spatial vectors, angular before linear about the centre
of mass of a root's subtree. MuJoCo's own computes all trees, of which few turn far.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.plant.plant_layouts import FREE_TRANSLATION, ROTATION

__all__ = ["bias_of_trees"]


@compiled
def _turn_column(plant: Table, state: Table, body: int, dof: int, rate: float) -> None:
    """Add what a dof's axis gains of acceleration as its body moves: V × S q̇."""
    motion = state.work.body_motion[body]
    column = state.mj_cdof[dof]
    x, y, z = motion[0], motion[1], motion[2]
    u, v, w = motion[3], motion[4], motion[5]
    a, b, c = column[0], column[1], column[2]
    d, e, f = column[3], column[4], column[5]
    motion[6] += rate * (y * c - z * b)
    motion[7] += rate * (z * a - x * c)
    motion[8] += rate * (x * b - y * a)
    motion[9] += rate * (y * f - z * e + v * c - w * b)
    motion[10] += rate * (z * d - x * f + w * a - u * c)
    motion[11] += rate * (x * e - y * d + u * b - v * a)


@compiled
def _move(plant: Table, state: Table, body: int, qvel: np.ndarray) -> None:
    """Fill a body's velocity and acceleration from those of its parent."""
    work = state.work.body_motion
    motion = work[body]
    parent = plant.body_parent[body]
    if plant.body_tree[parent] < 0:
        for a in range(12):
            motion[a] = 0.0
        for a in range(3):
            motion[9 + a] = -plant.gravity[a]
    else:
        for a in range(12):
            motion[a] = work[parent, a]
    dof = plant.body_dof[body]
    last = dof + plant.body_dofs[body]
    while dof < last:
        kind = plant.dof_kind[dof]
        # The three dofs of a rotation turn with what was there before them.
        count = 3 if kind in (FREE_TRANSLATION, ROTATION) else 1
        if kind != FREE_TRANSLATION:
            for i in range(dof, dof + count):
                _turn_column(plant, state, body, i, qvel[i])
        for i in range(dof, dof + count):
            for a in range(6):
                motion[a] += state.mj_cdof[i, a] * qvel[i]
        dof += count


@compiled
def _momentum(
    inertia: np.ndarray, x: float, y: float, z: float, u: float, v: float, w: float
) -> tuple[float, float, float, float, float, float]:
    """Inertia times a spatial velocity (or acceleration)."""
    h, k, m = inertia[6], inertia[7], inertia[8]
    return (
        inertia[0] * x + inertia[3] * y + inertia[4] * z - m * v + k * w,
        inertia[3] * x + inertia[1] * y + inertia[5] * z + m * u - h * w,
        inertia[4] * x + inertia[5] * y + inertia[2] * z - k * u + h * v,
        m * y - k * z + inertia[9] * u,
        h * z - m * x + inertia[9] * v,
        k * x - h * y + inertia[9] * w,
    )


@compiled
def _force(state: Table, body: int) -> None:
    """Fill the force that a body's motion needs: I A + V × I V."""
    motion = state.work.body_motion[body]
    inertia = state.mj_cinert[body]
    x, y, z, u, v, w = motion[0], motion[1], motion[2], motion[3], motion[4], motion[5]
    a, b, c, d, e, f = _momentum(inertia, x, y, z, u, v, w)
    p, q, r, s, t, o = _momentum(
        inertia, motion[6], motion[7], motion[8], motion[9], motion[10], motion[11]
    )
    motion[12] = p + (y * c - z * b) + (v * f - w * e)
    motion[13] = q + (z * a - x * c) + (w * d - u * f)
    motion[14] = r + (x * b - y * a) + (u * e - v * d)
    motion[15] = s + (y * f - z * e)
    motion[16] = t + (z * d - x * f)
    motion[17] = o + (x * e - y * d)


@compiled
def bias_of_trees(
    plant: Table, state: Table, marked: np.ndarray, qvel: np.ndarray, out: np.ndarray
) -> None:
    """Fill the generalized bias forces of marked trees at these velocities, as ``qfrc_bias``.

    Parameters
    ----------
    plant, state : Table
        The state's MjData holds the kinematics of its positions.
    marked : array of int64, shape (ntree,)
        Not 0 for the trees that are wanted.
    qvel : array, shape (nv,)
        Generalized velocities.
    out : array, shape (nv,)
        Forces [N, Nm], of marked trees alone.
    """
    motion = state.work.body_motion
    for body in range(1, plant.nbody):
        tree = plant.body_tree[body]
        if tree >= 0 and marked[tree] != 0:
            _move(plant, state, body, qvel)
            _force(state, body)
    # Parents come before their children.
    for body in range(plant.nbody - 1, 0, -1):
        tree = plant.body_tree[body]
        if tree < 0 or marked[tree] == 0:
            continue
        first = plant.body_dof[body]
        for dof in range(first, first + plant.body_dofs[body]):
            value = 0.0
            for a in range(6):
                value += state.mj_cdof[dof, a] * motion[body, 12 + a]
            out[dof] = value
        parent = plant.body_parent[body]
        if plant.body_tree[parent] >= 0:
            for a in range(12, 18):
                motion[parent, a] += motion[body, a]
