"""Change between generalized velocities and solver velocities.

For a spatial tree (one free body) with dofs (linear 3, rotational 3) and MuJoCo's ``cdof`` columns
(a_i, l_i) of its rotational dofs, both in world axes with linear parts at the centre of mass:

    ω = Σ a_i w_i,   v_com = v + Σ l_i w_i        and back, because the a_i are orthonormal,
    w_i = a_i·ω,     v = v_com − Σ l_i w_i.

A step keeps w and v_com while the body turns from R to R′. The joint's origin has the velocity
v + (R − R′)(w × c) afterwards, with the centre of mass c in the joint's frame. It has moved by
δt (v + R (w × c)) + (R − R′) c, because the centre of mass has moved by δt v_com.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled, inlined
from asperity.plant.rotations import cross, dot, plus, rotation, turned, unit_quaternion, vector_at

__all__ = [
    "add_mass",
    "base_position",
    "force_from_solver",
    "force_to_solver",
    "is_centred",
    "move_origins",
    "turn_along",
    "turn_by_themselves",
    "turn_origins",
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


@inlined
def is_centred(plant: Table, tree: int) -> bool:
    """Whether a free body's joint has its origin at the centre of mass; True of other trees."""
    c = plant.trees.centre[tree]
    return bool(c[0] == 0.0 and c[1] == 0.0 and c[2] == 0.0)


@inlined
def base_position(plant: Table, tree: int) -> int:
    """Where the position of a tree that floats is in ``qpos``."""
    return plant.joints.qpos[plant.bodies.joint[plant.trees.body[tree]]]


@compiled
def turn_origins(
    plant: Table, first: int, last: int, before: np.ndarray, after: np.ndarray, qvel: np.ndarray
) -> None:
    """Change ``qvel`` of the trees ``first .. last`` from one configuration to another.

    Velocities of centres of mass stay, and so do angular velocities in bodies' own axes.
    """
    trees = plant.trees
    for tree in range(first, last):
        if is_centred(plant, tree):
            continue
        s, at = trees.start[tree], base_position(plant, tree) + 3
        speed = cross(vector_at(qvel, s + 3), vector_at(trees.centre[tree], 0))
        old = turned(unit_quaternion(before, at), speed)
        new = turned(unit_quaternion(after, at), speed)
        for a in range(3):
            qvel[s + a] += old[a] - new[a]


@compiled
def turn_by_themselves(plant: Table, qpos: np.ndarray, step: float, qvel: np.ndarray) -> None:
    """`turn_origins` from ``qpos`` to where free bodies have turned after a step."""
    trees = plant.trees
    for tree in range(plant.ntree):
        if is_centred(plant, tree):
            continue
        s = trees.start[tree]
        w = vector_at(qvel, s + 3)
        quat = unit_quaternion(qpos, base_position(plant, tree) + 3)
        speed = cross(w, vector_at(trees.centre[tree], 0))
        change = turned(quat, plus(speed, turned(rotation(w, step), speed), -1.0))
        for a in range(3):
            qvel[s + a] += change[a]


@compiled
def move_origins(
    plant: Table,
    first: int,
    last: int,
    before: np.ndarray,
    qvel: np.ndarray,
    step: float,
    after: np.ndarray,
) -> None:
    """Let centres of mass of the trees ``first .. last`` move straight on.

    ``after`` is ``before ⊕ step · qvel``, of which origins of joints have done so.
    """
    trees = plant.trees
    for tree in range(first, last):
        if is_centred(plant, tree):
            continue
        s, at = trees.start[tree], base_position(plant, tree)
        c = vector_at(trees.centre[tree], 0)
        swept = plus(c, cross(vector_at(qvel, s + 3), c), step)
        old = turned(unit_quaternion(before, at + 3), swept)
        new = turned(unit_quaternion(after, at + 3), c)
        for a in range(3):
            after[at + a] += old[a] - new[a]


@compiled
def turn_along(
    plant: Table, cdof: np.ndarray, other: np.ndarray, vector: np.ndarray, out: np.ndarray
) -> None:
    """Solver velocities or forces of one configuration as those of another one.

    Parts along axes stay, and so do those of centres of mass.
    """
    trees = plant.trees
    for tree in range(plant.ntree):
        s = trees.start[tree]
        if not trees.spatial[tree]:
            for i in range(s, s + trees.size[tree]):
                out[i] = vector[i]
            continue
        turn = vector_at(vector, s)
        moved = (0.0, 0.0, 0.0)
        for i in range(s + 3, s + 6):
            moved = plus(moved, vector_at(other[i], 0), dot(vector_at(cdof[i], 0), turn))
        for a in range(3):
            out[s + a] = moved[a]
            out[s + 3 + a] = vector[s + 3 + a]


@compiled
def add_mass(
    plant: Table, mass: np.ndarray, own_cdof: np.ndarray, cdof: np.ndarray, matrix: np.ndarray
) -> None:
    """``matrix += M`` of one configuration in the solver velocities of another, as `turn_along`.

    ``mass`` is in the solver velocities of ``own_cdof``, the sum in those of ``cdof``.
    """
    trees = plant.trees
    turn, product = np.empty((3, 3)), np.empty((3, 3))
    for tree in range(plant.ntree):
        block = trees.block_start[tree]
        n = trees.size[tree]
        if not trees.spatial[tree]:
            for k in range(block, block + n * n):
                matrix[k] += mass[k]
            continue
        s = trees.start[tree] + 3
        for a in range(3):
            matrix[block + 7 * (3 + a)] += mass[block + 7 * (3 + a)]
            for b in range(3):
                turn[a, b] = 0.0
                for i in range(3):
                    turn[a, b] += own_cdof[s + i, a] * cdof[s + i, b]
        for a in range(3):
            for b in range(3):
                product[a, b] = 0.0
                for k in range(3):
                    product[a, b] += mass[block + 6 * a + k] * turn[k, b]
        for a in range(3):
            for b in range(3):
                for k in range(3):
                    matrix[block + 6 * a + b] += turn[k, a] * product[k, b]
