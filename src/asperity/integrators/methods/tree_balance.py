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
from asperity.contact.constraint_set import EQUALITY
from asperity.plant.tree_motion import INERTIA, MOMENT, MOMENTUM, SPIN, motion_of_trees

__all__ = [
    "add_gains",
    "balance_trees",
    "begin_gains",
    "choose_marked",
    "mark_touched",
    "mark_trees",
]

# Marks of trees that turn: those that hang on something, that float, and that something touches.
_HANGS, _FLOATS, _TOUCHED = 1, 2, 3

# Factors by which a motion is scaled at most, and share of the energy that the other one gets if
# the rigid motion's is all there should be.
_LEAST_SHARE = 0.5
_MOST_SHARE = 1.2
_LEAST_PART = 0.5
# What is touched is not scaled for less than this.
_TOLERATED = 1.01

# Angles [rad] by which a body of a robot must turn in a step, if it floats untouched, hangs on
# something untouched, or is touched.
_FLOATING_ANGLE = 0.025
_HANGING_ANGLE = 0.05
_TOUCHED_ANGLE = 0.1

_Vector = tuple[float, float, float]


@inlined
def _three(values: np.ndarray, start: int) -> _Vector:
    return values[start], values[start + 1], values[start + 2]


@inlined
def _cross(a: _Vector, b: _Vector) -> _Vector:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@inlined
def _dot(a: _Vector, b: _Vector) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inlined
def _minus(a: _Vector, b: _Vector, scale: float) -> _Vector:
    return a[0] - scale * b[0], a[1] - scale * b[1], a[2] - scale * b[2]


@compiled
def _turned(qpos: np.ndarray, at: int, v: _Vector, sign: float) -> _Vector:
    """A vector in the axes of a body on a free joint in the world's, or back with −1."""
    w = qpos[at + 3]
    u = (sign * qpos[at + 4], sign * qpos[at + 5], sign * qpos[at + 6])
    t = _cross(u, v)
    s = _cross(u, t)
    half = 0.5 * (w * w + _dot(u, u))
    return _minus(v, (w * t[0] + s[0], w * t[1] + s[1], w * t[2] + s[2]), -1.0 / half)


@inlined
def _base(plant: Table, tree: int) -> int:
    """Where a floating tree's position is in ``qpos``."""
    return plant.joint_qpos[plant.body_joint[plant.tree_body[tree]]]


@compiled
def mark_trees(plant: Table, state: Table, step: float) -> bool:
    """Mark the robots of which a body turns far in a step; False if there is none.

    The marks are ``state.work.turning``.
    """
    if plant.only_free_bodies:
        return False
    marked = state.work.turning
    turned = state.work.turned
    for tree in range(plant.ntree):
        marked[tree] = 0
        turned[tree] = 0.0
    farthest = 0.0
    for body in range(1, plant.nbody):
        tree = plant.body_tree[body]
        if tree >= 0 and plant.tree_balances[tree]:
            marked[tree] = _FLOATS if plant.tree_floats[tree] else _HANGS
            v = state.mj_cvel[body]
            angle = step * np.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
            turned[tree] = max(turned[tree], angle)
            farthest = max(farthest, angle)
    return farthest >= _FLOATING_ANGLE


@compiled
def mark_touched(state: Table, marked: np.ndarray) -> None:
    """Mark those of the marked trees that a contact of a state pushes, or an equality holds."""
    contacts = state.contacts
    for c in range(contacts.count):
        if contacts.impulse[c, 2] != 0.0:
            for side in range(2):
                link = contacts.link[c, side]
                if link >= 0 and marked[contacts.link_tree[link]] != 0:
                    marked[contacts.link_tree[link]] = _TOUCHED
    rows = state.rows
    for r in range(rows.count):
        if rows.kind[r] == EQUALITY:
            for side in range(2):
                tree = rows.tree[r, side]
                if tree >= 0 and marked[tree] != 0:
                    marked[tree] = _TOUCHED


@compiled
def choose_marked(plant: Table, state: Table) -> bool:
    """Leave out trees that turn less far than matters to what they are; False if none is left."""
    work = state.work
    found = False
    for tree in range(plant.ntree):
        least = _TOUCHED_ANGLE
        if work.turning[tree] == _FLOATS:
            least = _FLOATING_ANGLE
        elif work.turning[tree] == _HANGS:
            least = _HANGING_ANGLE
        if work.turned[tree] < least:
            work.turning[tree] = 0
        found = found or work.turning[tree] != 0
    return found


@compiled
def _multiply(plant: Table, state: Table, tree: int, velocity: np.ndarray, out: np.ndarray) -> None:
    """Fill a tree's part of M v, by MuJoCo's lower triangle of M."""
    first = plant.tree_start[tree]
    for i in range(first, first + plant.tree_size[tree]):
        out[i] = 0.0
        start = plant.mass_rowadr[i]
        for k in range(start, start + plant.mass_rownnz[i]):
            j = plant.mass_colind[k]
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
    start = plant.tree_start[tree]
    size = plant.tree_size[tree]
    for i in range(start, start + size):
        gains[tree, 0] += velocity[i] * impulse[i]
    if mark != _FLOATS:
        return
    block = plant.block_start[tree]
    force = _three(impulse, start)
    for a in range(3):
        momentum = 0.0
        for j in range(size):
            momentum += state.mass[block + a * size + j] * velocity[start + j]
        gains[tree, 0] -= momentum * force[a] / state.mass[block]
    arm = _minus(
        _three(state.qpos, _base(plant, tree)),
        _three(state.mj_subtree_com[plant.tree_body[tree]], 0),
        1.0,
    )
    torque = _turned(state.qpos, _base(plant, tree), _three(impulse, start + 3), 1.0)
    moment = _minus(torque, _cross(force, arm), 1.0)
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
        By `mark_turning` and `mark_touched`.
    motion : tuple of array, shape (nv,)
        Twice the mean velocity, and the change of velocity.
    force : array, shape (nv,)
        Gravity, gyroscopic and Coriolis forces of the step.
    step : float
        Its size [s].
    gains : array, shape (ntree, 7)
        As `begin_gains` fills it.
    """
    twice_mean, change = motion
    impulse = state.work.dof_force
    for tree in range(plant.ntree):
        if marked[tree] != 0:
            _multiply(plant, state, tree, change, impulse)
            for i in range(plant.tree_start[tree], plant.tree_start[tree] + plant.tree_size[tree]):
                impulse[i] -= step * force[i]
            _add(plant, state, tree, marked[tree], twice_mean, impulse, gains)


@compiled
def _spin_of(inertia: np.ndarray, mass: float, com: _Vector, spin: _Vector) -> _Vector:
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
        _dot(first, spin) / determinant,
        _dot(second, spin) / determinant,
        _dot(third, spin) / determinant,
    )


@inlined
def _share(energy: float, found: float) -> float:
    if not found > 0.0:
        return 1.0
    return min(max(np.sqrt(max(energy, 0.0) / found), _LEAST_SHARE), _MOST_SHARE)


@compiled
def _replace_rigid_motion(
    plant: Table, state: Table, target: Table, tree: int, step: float
) -> None:
    """Give a floating tree its momenta, and scale the rest of its motion."""
    start = plant.tree_start[tree]
    mass = state.mass[plant.block_start[tree]]
    motion = state.work.tree_motion[tree]
    gains = state.work.gains[tree]
    zero = (0.0, 0.0, 0.0)
    com = _minus(zero, _three(motion, MOMENT), -1.0 / mass)
    momentum = _three(motion, MOMENTUM)
    spin = _minus(_three(motion, SPIN), _cross(com, momentum), 1.0)
    before = _spin_of(motion, mass, com, spin)
    wanted = _three(gains, SPIN)
    after = _spin_of(motion, mass, com, wanted)
    other = motion[0] - _dot(momentum, momentum) / mass - _dot(spin, before)
    turning = _dot(wanted, after)
    share = _share(gains[0] - turning, other)
    if turning > 0.0 and gains[0] - turning < _LEAST_SHARE**2 * other:
        # Bodies turn by so much in a step that it does not tell how.
        share = min(share, np.sqrt(_LEAST_PART * max(gains[0], 0.0) / other))
        rest = np.sqrt(max(gains[0] - share * share * other, 0.0) / turning)
        after = _minus(zero, after, -min(rest, 1.0))
    for i in range(start, start + plant.tree_size[tree]):
        target.qvel[i] *= share
    turn = _minus(after, before, share)
    moved = _cross(turn, com)
    turn = _turned(target.qpos, _base(plant, tree), turn, -1.0)
    for a in range(3):
        speed = (gains[MOMENTUM + a] - share * momentum[a]) / mass + step * plant.gravity[a]
        target.qvel[start + a] += speed - moved[a]
        target.qvel[start + 3 + a] += turn[a]


@compiled
def _work_of_gravity(plant: Table, state: Table, tree: int, qpos: np.ndarray) -> float:
    """Work of gravity on a tree from the origin to where it is."""
    work = 0.0
    for a in range(3):
        moment = state.work.tree_motion[tree, MOMENT + a]
        if plant.tree_floats[tree]:
            moment += state.mass[plant.block_start[tree]] * qpos[_base(plant, tree) + a]
        work += plant.gravity[a] * moment
    return work


@compiled
def balance_trees(
    plant: Table, state: Table, target: Table, marked: np.ndarray, step: float
) -> None:
    """Give marked trees at the end of a step what the ``gains`` of its beginning say."""
    gains = state.work.gains
    motion = state.work.tree_motion
    hangs = False
    for tree in range(plant.ntree):
        hangs = hangs or marked[tree] in (_HANGS, _TOUCHED)
    if hangs:
        motion_of_trees(plant, state, marked, state.qpos, target.qvel, motion)
        for tree in range(plant.ntree):
            if marked[tree] in (_HANGS, _TOUCHED):
                gains[tree, 0] -= 2.0 * _work_of_gravity(plant, state, tree, state.qpos)
    motion_of_trees(plant, state, marked, target.qpos, target.qvel, motion)
    for tree in range(plant.ntree):
        if marked[tree] == 0:
            continue
        if marked[tree] == _FLOATS:
            _replace_rigid_motion(plant, state, target, tree, step)
            continue
        gains[tree, 0] += 2.0 * _work_of_gravity(plant, state, tree, target.qpos)
        share = _share(gains[tree, 0], motion[tree, 0])
        if marked[tree] == _TOUCHED:
            share = min(_TOLERATED * share, 1.0)
        for i in range(plant.tree_start[tree], plant.tree_start[tree] + plant.tree_size[tree]):
            target.qvel[i] *= share
