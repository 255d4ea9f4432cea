"""What robots that turn far in a step should have of energy and momentum, and how they get it.

Velocities of a step are found with the mass matrix of its beginning; at its end a tree has another.
In continuous time gyroscopic and Coriolis forces x make up for that. Over a step they do so but for
terms of higher order, which let light limbs that flail gain energy without bound (links of 2 g with
300 g at their end, at 40 rad/s in steps of 2 ms, three hundred times theirs in a second), and push
a robot through empty space by what goes on within it. What it should have at the step's end follows
from the impulse p = M (v − v_0) − δt x of all forces but those and gravity, with the mean velocity
v̄ and the loss of potential energy ΔU:

    T = T_0 + v̄ · p − ΔU.

Velocities are scaled to that energy. Of a robot that nothing touches, momentum and angular momentum
about its centre of mass are known as well, from the components of p at the joint by which it
floats, and all energies are those about its centre of mass, so that it does the same on a train.
Its velocity is the sum of a rigid motion, which has its momentum, and of another that has none, and
nothing in common with the rigid motion's energy: the rigid motion is replaced, the other scaled. A
robot that something touches, or that an equality holds, only loses what it gained too much: what
its constraints do in a step is not known that well. Single free bodies obey all this as they are.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled, inlined
from asperity.integrators.methods.turning_trees import FLOATS, HANGS, TOUCHED
from asperity.plant.rotations import (
    Vector,
    cross,
    dot,
    plus,
    turned,
    turned_back,
    unit_quaternion,
    vector_at,
)
from asperity.plant.tree_energy import work_of_gravity
from asperity.plant.tree_motion import INERTIA, MOMENT, MOMENTUM, SPIN, motion_of_trees
from asperity.plant.trees import base_position

__all__ = [
    "LEAST_PART",
    "LEAST_SHARE",
    "MOST_SHARE",
    "TOLERATED",
    "add_gains",
    "balance_trees",
    "begin_gains",
    "spin_of",
]

# Factors by which a motion is scaled at most, and share of the energy that the other one gets if
# the rigid motion's is all there should be.
LEAST_SHARE = 0.1
MOST_SHARE = 1.2
LEAST_PART = 0.5
# What is touched is not scaled for less than this.
TOLERATED = 1.01


@compiled
def _multiply(plant: Table, state: Table, tree: int, velocity: np.ndarray, out: np.ndarray) -> None:
    """Fill a tree's part of M v, by MuJoCo's lower triangle of M."""
    dofs = plant.dofs
    first = plant.trees.start[tree]
    for i in range(first, first + plant.trees.size[tree]):
        out[i] = 0.0
        start = dofs.mass_rowadr[i]
        for k in range(start, start + dofs.mass_rownnz[i]):
            j = dofs.mass_colind[k]
            out[i] += state.mj_mass[k] * velocity[j]
            if j != i:
                out[j] += state.mj_mass[k] * velocity[i]


@compiled
def _add(
    plant: Table,
    state: Table,
    tree: int,
    mark: int,
    velocity: np.ndarray,
    impulse: np.ndarray,
    gains: np.ndarray,
) -> None:
    """Add v · p to a tree's energy, and of what floats p to momentum and angular momentum."""
    trees = plant.trees
    start = trees.start[tree]
    size = trees.size[tree]
    for i in range(start, start + size):
        gains[tree, 0] += velocity[i] * impulse[i]
    if mark != FLOATS:
        return
    block = trees.block_start[tree]
    force = vector_at(impulse, start)
    for a in range(3):
        momentum = 0.0
        for j in range(size):
            momentum += state.mass[block + a * size + j] * velocity[start + j]
        gains[tree, 0] -= momentum * force[a] / state.mass[block]
    at = base_position(plant, tree)
    com = vector_at(state.mj_subtree_com[trees.body[tree]], 0)
    arm = plus(vector_at(state.qpos, at), com, -1.0)
    torque = turned(unit_quaternion(state.qpos, at + 3), vector_at(impulse, start + 3))
    moment = plus(torque, cross(arm, force), 1.0)
    for a in range(3):
        gains[tree, MOMENTUM + a] += force[a]
        gains[tree, SPIN + a] += moment[a]


@compiled
def begin_gains(plant: Table, state: Table, marked: np.ndarray, gains: np.ndarray) -> None:
    """Fill what marked trees have in a state: twice their energy, momentum, angular momentum."""
    momentum = state.work.dof_force
    for tree in range(plant.ntree):
        if marked[tree] != 0:
            gains[tree] = 0.0
            _multiply(plant, state, tree, state.qvel, momentum)
            _add(plant, state, tree, marked[tree], state.qvel, momentum, gains)


@compiled
def add_gains(
    plant: Table,
    state: Table,
    marked: np.ndarray,
    motion: tuple[np.ndarray, np.ndarray],
    force: np.ndarray,
    step: float,
    gains: np.ndarray,
) -> None:
    """Add what a step from a state does to marked trees, but for gravity.

    Parameters
    ----------
    plant, state : Table
        The state has the mass matrix.
    marked : array of int64, shape (ntree,)
        By `asperity.integrators.methods.turning_trees`.
    motion : tuple of array, shape (nv,)
        Twice the mean velocity, and the change of velocity.
    force : array, shape (nv,)
        Gravity, gyroscopic and Coriolis forces of the step.
    step : float
        Its size [s].
    gains : array, shape (ntree, 7)
        As `begin_gains` fills it.
    """
    trees = plant.trees
    twice_mean, change = motion
    impulse = state.work.dof_force
    for tree in range(plant.ntree):
        if marked[tree] != 0:
            _multiply(plant, state, tree, change, impulse)
            for i in range(trees.start[tree], trees.start[tree] + trees.size[tree]):
                impulse[i] -= step * force[i]
            _add(plant, state, tree, marked[tree], twice_mean, impulse, gains)


@compiled
def spin_of(inertia: np.ndarray, mass: float, com: Vector, spin: Vector) -> Vector:
    """Angular velocity of an angular momentum about the centre of mass; 0 for a rod's."""
    x, y, z = com
    xx = inertia[INERTIA] - mass * (y * y + z * z)
    yy = inertia[INERTIA + 1] - mass * (x * x + z * z)
    zz = inertia[INERTIA + 2] - mass * (x * x + y * y)
    xy = inertia[INERTIA + 3] + mass * x * y
    xz = inertia[INERTIA + 4] + mass * x * z
    yz = inertia[INERTIA + 5] + mass * y * z
    first = (yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy)
    second = (first[1], xx * zz - xz * xz, xy * xz - xx * yz)
    third = (first[2], second[2], xx * yy - xy * xy)
    determinant = xx * first[0] + xy * first[1] + xz * first[2]
    if not determinant > 1e-9 * (xx + yy + zz) ** 3:
        return 0.0, 0.0, 0.0
    return (
        dot(first, spin) / determinant,
        dot(second, spin) / determinant,
        dot(third, spin) / determinant,
    )


@inlined
def _share(energy: float, found: float) -> float:
    if not found > 0.0:
        return 1.0
    return min(max(np.sqrt(max(energy, 0.0) / found), LEAST_SHARE), MOST_SHARE)


@compiled
def _replace_rigid_motion(
    plant: Table, state: Table, target: Table, tree: int, step: float
) -> None:
    """Give a floating tree its momenta, and scale the rest of its motion."""
    trees = plant.trees
    start = trees.start[tree]
    mass = state.mass[trees.block_start[tree]]
    motion = state.work.tree_motion[tree]
    gains = state.work.gains[tree]
    zero = (0.0, 0.0, 0.0)
    com = plus(zero, vector_at(motion, MOMENT), 1.0 / mass)
    momentum = vector_at(motion, MOMENTUM)
    spin = plus(vector_at(motion, SPIN), cross(com, momentum), -1.0)
    before = spin_of(motion, mass, com, spin)
    wanted = vector_at(gains, SPIN)
    after = spin_of(motion, mass, com, wanted)
    other = motion[0] - dot(momentum, momentum) / mass - dot(spin, before)
    turning = dot(wanted, after)
    share = _share(gains[0] - turning, other)
    if turning > 0.0 and gains[0] - turning < LEAST_SHARE**2 * other:
        # Bodies turn by so much in a step that it does not tell how.
        share = min(share, np.sqrt(LEAST_PART * max(gains[0], 0.0) / other))
        rest = np.sqrt(max(gains[0] - share * share * other, 0.0) / turning)
        after = plus(zero, after, min(rest, 1.0))
    for i in range(start, start + trees.size[tree]):
        target.qvel[i] *= share
    turn = plus(after, before, -share)
    moved = cross(turn, com)
    turn = turned_back(unit_quaternion(target.qpos, base_position(plant, tree) + 3), turn)
    for a in range(3):
        speed = (gains[MOMENTUM + a] - share * momentum[a]) / mass + step * plant.gravity[a]
        target.qvel[start + a] += speed - moved[a]
        target.qvel[start + 3 + a] += turn[a]


@compiled
def balance_trees(
    plant: Table, state: Table, target: Table, marked: np.ndarray, step: float
) -> None:
    """Give marked trees at the end of a step what the ``gains`` of its beginning say."""
    trees = plant.trees
    gains = state.work.gains
    motion = state.work.tree_motion
    hangs = False
    for tree in range(plant.ntree):
        hangs = hangs or marked[tree] in (HANGS, TOUCHED)
    if hangs:
        motion_of_trees(plant, state, marked, state.qpos, target.qvel, motion)
        for tree in range(plant.ntree):
            if marked[tree] in (HANGS, TOUCHED):
                gains[tree, 0] -= 2.0 * work_of_gravity(plant, state, tree, state.qpos)
    motion_of_trees(plant, state, marked, target.qpos, target.qvel, motion)
    for tree in range(plant.ntree):
        if marked[tree] == 0:
            continue
        if marked[tree] == FLOATS:
            _replace_rigid_motion(plant, state, target, tree, step)
            continue
        gains[tree, 0] += 2.0 * work_of_gravity(plant, state, tree, target.qpos)
        share = _share(gains[tree, 0], motion[tree, 0])
        if marked[tree] == TOUCHED:
            share = min(TOLERATED * share, 1.0)
        for i in range(trees.start[tree], trees.start[tree] + trees.size[tree]):
            target.qvel[i] *= share
