"""Change between generalized velocities and solver velocities.

For a spatial tree (one free body) with dofs (linear 3, rotational 3) and MuJoCo's ``cdof`` columns
(a_i, l_i) of its rotational dofs, both in world axes with linear parts at the centre of mass:

    ω = Σ a_i w_i,   v_com = v + Σ l_i w_i        and back, because the a_i are orthonormal,
    w_i = a_i·ω,     v = v_com − Σ l_i w_i.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled

__all__ = [
    "add_mass",
    "force_from_solver",
    "force_to_solver",
    "velocity_from_solver",
    "velocity_of_trees",
    "velocity_to_solver",
]


@compiled
def velocity_to_solver(plant: Table, cdof: np.ndarray, qvel: np.ndarray, out: np.ndarray) -> None:
    """Solver velocities of generalized velocities."""
    trees = plant.trees
    for tree in range(plant.ntree):
        s = trees.start[tree]
        if not trees.spatial[tree]:
            for i in range(s, s + trees.size[tree]):
                out[i] = qvel[i]
            continue
        for a in range(3):
            angular = 0.0
            linear = qvel[s + a]
            for i in range(3):
                w = qvel[s + 3 + i]
                angular += cdof[s + 3 + i, a] * w
                linear += cdof[s + 3 + i, 3 + a] * w
            out[s + a] = angular
            out[s + 3 + a] = linear


@compiled
def velocity_from_solver(
    plant: Table, cdof: np.ndarray, velocity: np.ndarray, out: np.ndarray
) -> None:
    """Generalized velocities of solver velocities."""
    velocity_of_trees(plant, cdof, velocity, 0, plant.ntree, out)


@compiled
def velocity_of_trees(
    plant: Table, cdof: np.ndarray, velocity: np.ndarray, first: int, last: int, out: np.ndarray
) -> None:
    """`velocity_from_solver` for the trees ``first .. last``."""
    trees = plant.trees
    for tree in range(first, last):
        s = trees.start[tree]
        if not trees.spatial[tree]:
            for i in range(s, s + trees.size[tree]):
                out[i] = velocity[i]
            continue
        for a in range(3):
            out[s + a] = velocity[s + 3 + a]
        for i in range(3):
            w = 0.0
            for a in range(3):
                w += cdof[s + 3 + i, a] * velocity[s + a]
            out[s + 3 + i] = w
            for a in range(3):
                out[s + a] -= cdof[s + 3 + i, 3 + a] * w


@compiled
def force_to_solver(plant: Table, cdof: np.ndarray, force: np.ndarray, out: np.ndarray) -> None:
    """Solver forces of generalized forces (the power is the same)."""
    trees = plant.trees
    for tree in range(plant.ntree):
        s = trees.start[tree]
        if not trees.spatial[tree]:
            for i in range(s, s + trees.size[tree]):
                out[i] = force[i]
            continue
        for a in range(3):
            out[s + 3 + a] = force[s + a]
            out[s + a] = 0.0
        for i in range(3):
            moment = force[s + 3 + i]
            for a in range(3):
                moment -= cdof[s + 3 + i, 3 + a] * force[s + a]
            for a in range(3):
                out[s + a] += cdof[s + 3 + i, a] * moment


@compiled
def force_from_solver(plant: Table, cdof: np.ndarray, force: np.ndarray, out: np.ndarray) -> None:
    """Generalized forces of solver forces."""
    trees = plant.trees
    for tree in range(plant.ntree):
        s = trees.start[tree]
        if not trees.spatial[tree]:
            for i in range(s, s + trees.size[tree]):
                out[i] = force[i]
            continue
        for a in range(3):
            out[s + a] = force[s + 3 + a]
        for i in range(3):
            moment = 0.0
            for a in range(3):
                moment += cdof[s + 3 + i, a] * force[s + a]
                moment += cdof[s + 3 + i, 3 + a] * force[s + 3 + a]
            out[s + 3 + i] = moment


@compiled
def add_mass(
    plant: Table,
    mass: np.ndarray,
    own_cdof: np.ndarray,
    cdof: np.ndarray,
    work: np.ndarray,
    matrix: np.ndarray,
) -> None:
    """``matrix += M`` of one configuration in the solver velocities of another.

    ``mass`` is in the solver velocities of ``own_cdof``, the sum in those of ``cdof``; ``work`` has
    room for three rows of 36 numbers.
    """
    trees = plant.trees
    w = work[2]
    for tree in range(plant.ntree):
        block = trees.block_start[tree]
        n = trees.size[tree]
        if not trees.spatial[tree]:
            for k in range(block, block + n * n):
                matrix[k] += mass[k]
            continue
        s = trees.start[tree]
        # Row k of `work`: own solver velocity that equals the other's unit velocity k.
        for k in range(6):
            for a in range(3):
                w[a] = 1.0 if k == 3 + a else 0.0
            for i in range(3):
                rate = cdof[s + 3 + i, k] if k < 3 else 0.0
                w[3 + i] = rate
                for a in range(3):
                    w[a] -= cdof[s + 3 + i, 3 + a] * rate
            for a in range(3):
                work[0, 6 * k + a] = 0.0
                work[0, 6 * k + 3 + a] = w[a]
                for i in range(3):
                    work[0, 6 * k + a] += own_cdof[s + 3 + i, a] * w[3 + i]
                    work[0, 6 * k + 3 + a] += own_cdof[s + 3 + i, 3 + a] * w[3 + i]
        for k in range(6):
            for a in range(6):
                value = 0.0
                for b in range(6):
                    value += mass[block + 6 * a + b] * work[0, 6 * k + b]
                work[1, 6 * k + a] = value
        for j in range(6):
            for k in range(6):
                value = 0.0
                for a in range(6):
                    value += work[0, 6 * j + a] * work[1, 6 * k + a]
                matrix[block + 6 * j + k] += value
