"""What the balance of robots that turn far changes by, in closed form.

By `asperity.integrators.methods.tree_balance` a tree's velocity v becomes

    v⁺ = σ v + (speed, turn, 0, …),    dv⁺ = σ dv + v dσ + (d speed, d turn, 0, …),

of seven numbers, the last six of which are those of what floats. They follow from energy and
momenta that there should be (`asperity.derivatives.balance.gain_slopes`), and from those at the
end. Its positions change by v and by the state.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.compiled.arrays import copy_numbers
from asperity.compiled.calls import call_pp
from asperity.derivatives.assembly import fill_turns
from asperity.derivatives.balance.displacement import restore
from asperity.derivatives.balance.gain_slopes import (
    fill_before,
    fill_field,
    gain_slopes,
    momentum_change,
)
from asperity.derivatives.balance.rigid_terms import (
    cross_motion,
    dot6,
    fill_rigid_terms,
    multiply_inertia,
)
from asperity.integrators.methods.motion import move_positions
from asperity.integrators.methods.tree_balance import (
    LEAST_PART,
    LEAST_SHARE,
    MOST_SHARE,
    TOLERATED,
    spin_of,
)
from asperity.integrators.methods.turning_trees import FLOATS, TOUCHED
from asperity.plant.rotations import (
    Quaternion,
    cross,
    dot,
    plus,
    turned_back,
    unit_quaternion,
    vector_at,
)
from asperity.plant.tree_motion import INERTIA, MOMENTUM, SPIN
from asperity.plant.trees import base_position

__all__ = ["fill_end_slopes"]

# Where changes of what the seven numbers follow from are: gains, twice the energy at the end, its
# angular momentum and momentum, products of the inertia's change with two angular velocities, and
# the centre of mass from the base.
_ENERGY, _ANGULAR, _LINEAR, _BEFORE, _AFTER, _ARM, _CHANGES = 7, 8, 11, 14, 17, 20, 23
# Where what is known of a tree at the end is: σ and its slopes by the energy that there should be,
# the rigid motion's part of it, and what is scaled; a factor of the rigid motion and its slopes by
# these three and by σ; angular velocities before and after (but for the factor), the centre of mass
# from the base, and the turn.
_SHARE, _SHARE_SLOPES, _REST, _REST_SLOPES = 0, 1, 4, 5
_SPIN_BEFORE, _SPIN_AFTER, _AT, _TURN, _KNOWN = 9, 12, 15, 18, 21


@compiled
def _find_positions(world: Table, qpos: np.ndarray) -> None:
    """Let the current state have bodies and axes at some positions, and else be what it was."""
    plant = world.plant
    state = world.current
    copy_numbers(qpos, state.mj_qpos)
    call_pp(plant.mujoco.kinematics, plant.model, state.data)
    call_pp(plant.mujoco.com_pos, plant.model, state.data)
    state.cdof[:] = state.mj_cdof


@compiled
def _fill_inertias(plant: Table, state: Table, inertia: np.ndarray, axes: np.ndarray) -> None:
    """Fill inertias of all that is behind degrees of freedom, and I S."""
    inertia[:] = 0.0
    for body in range(1, plant.nbody):
        dof = plant.bodies.last_dof[body]
        if dof >= 0:
            for a in range(10):
                inertia[dof, a] += state.mj_cinert[body, a]
    for d in range(plant.nv - 1, -1, -1):
        parent = plant.dofs.parent[d]
        if parent >= 0:
            for a in range(10):
                inertia[parent, a] += inertia[d, a]
        multiply_inertia(inertia[d], state.mj_cdof[d], axes[d])


@compiled
def _know_share(gain: float, found: float, known: np.ndarray) -> None:
    """Fill σ = √(gain/found), within its bounds, and its slopes."""
    known[:] = 0.0
    known[_SHARE] = 1.0
    known[_REST] = 1.0
    if not found > 0.0:
        return
    share = np.sqrt(max(gain, 0.0) / found)
    known[_SHARE] = min(max(share, LEAST_SHARE), MOST_SHARE)
    if LEAST_SHARE < share < MOST_SHARE:
        known[_SHARE_SLOPES] = 0.5 / (share * found)
        known[_SHARE_SLOPES + 1] = -0.5 / (share * found)
        known[_SHARE_SLOPES + 2] = -0.5 * share / found


@compiled
def _know_floating(
    inertia: np.ndarray, gains: np.ndarray, energy: float, spin: np.ndarray, known: np.ndarray
) -> None:
    """Fill what is known of what floats, but for the centre of mass."""
    zero = (0.0, 0.0, 0.0)
    wanted = vector_at(gains, SPIN)
    before = spin_of(inertia, 0.0, zero, vector_at(spin, 0))
    after = spin_of(inertia, 0.0, zero, wanted)
    other = energy - dot(vector_at(spin, 0), before)
    turning = dot(wanted, after)
    _know_share(gains[0] - turning, other, known)
    if turning > 0.0 and gains[0] - turning < LEAST_SHARE**2 * other:
        share = np.sqrt(LEAST_PART * max(gains[0], 0.0) / other)
        if 0.0 < share < known[_SHARE]:
            known[_SHARE] = share
            known[_SHARE_SLOPES] = 0.5 * LEAST_PART / (share * other)
            known[_SHARE_SLOPES + 2] = -0.5 * share / other
        share = known[_SHARE]
        rest = np.sqrt(max(gains[0] - share * share * other, 0.0) / turning)
        if 0.0 < rest < 1.0:
            known[_REST] = rest
            known[_REST_SLOPES] = 0.5 / (rest * turning)
            known[_REST_SLOPES + 1] = -0.5 * rest / turning
            known[_REST_SLOPES + 2] = -0.5 * share * share / (rest * turning)
            known[_REST_SLOPES + 3] = -share * other / (rest * turning)
    for a in range(3):
        known[_SPIN_BEFORE + a] = before[a]
        known[_SPIN_AFTER + a] = after[a]
        known[_TURN + a] = known[_REST] * after[a] - known[_SHARE] * before[a]


@compiled
def _know_tree(work: Table, tree: int, energy: float, spin: np.ndarray, known: np.ndarray) -> None:
    """Fill what is known of a tree at the end, but for the centre of mass."""
    ends = work.ends
    mark = ends.marked[tree]
    gains = ends.gains[tree]
    if mark == FLOATS:
        _know_floating(ends.inertia[tree], gains, energy, spin, known)
    else:
        _know_share(gains[0], energy, known)
        if mark == TOUCHED:
            factor = TOLERATED if TOLERATED * known[_SHARE] < 1.0 else 0.0
            known[_SHARE] = min(TOLERATED * known[_SHARE], 1.0)
            for a in range(3):
                known[_SHARE_SLOPES + a] *= factor
    ends.share[tree] = known[_SHARE]


@compiled
def _add_slopes(
    inertia: np.ndarray,
    mass: float,
    known: np.ndarray,
    floats: bool,
    change: np.ndarray,
    quat: Quaternion,
    out: np.ndarray,
) -> None:
    """Add what the seven numbers change by, by what they follow from; the turn in body axes."""
    if not floats:
        out[0] += known[_SHARE_SLOPES] * change[0] + known[_SHARE_SLOPES + 2] * change[_ENERGY]
        return
    zero = (0.0, 0.0, 0.0)
    before, after = vector_at(known, _SPIN_BEFORE), vector_at(known, _SPIN_AFTER)
    spin, wanted = vector_at(change, _ANGULAR), vector_at(change, SPIN)
    by_before, by_after = vector_at(change, _BEFORE), vector_at(change, _AFTER)
    other = change[_ENERGY] - 2.0 * dot(before, spin) + dot(before, by_before)
    turning = 2.0 * dot(after, wanted) - dot(after, by_after)
    share = known[_SHARE_SLOPES] * change[0] + known[_SHARE_SLOPES + 1] * turning
    share += known[_SHARE_SLOPES + 2] * other
    rest = known[_REST_SLOPES] * change[0] + known[_REST_SLOPES + 1] * turning
    rest += known[_REST_SLOPES + 2] * other + known[_REST_SLOPES + 3] * share
    before_change = spin_of(inertia, 0.0, zero, plus(spin, by_before, -1.0))
    after_change = spin_of(inertia, 0.0, zero, plus(wanted, by_after, -1.0))
    turn = plus(plus(zero, after_change, known[_REST]), before_change, -known[_SHARE])
    turn = plus(plus(turn, after, rest), before, -share)
    moved = cross(turn, vector_at(known, _AT))
    moved = plus(moved, cross(vector_at(known, _TURN), vector_at(change, _ARM)), 1.0)
    own = turned_back(quat, turn)
    out[0] += share
    for a in range(3):
        speed = change[MOMENTUM + a] - known[_SHARE] * change[_LINEAR + a]
        out[1 + a] += speed / mass - moved[a]
        out[4 + a] += own[a]


@compiled
def _position_change(
    plant: Table,
    j: int,
    s: np.ndarray,
    fields: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    before: int,
    known: np.ndarray,
    change: np.ndarray,
) -> None:
    """Fill what energy, momenta, inertia and centre of mass change by with an end's position."""
    inertia, axes, motion, momentum = fields
    root = plant.trees.start[plant.dofs.tree[j]]
    v, psi, moved, spin = np.empty(6), np.empty(6), np.empty(6), np.zeros(6)
    fill_before(motion, before, v)
    cross_motion(v, s, psi)
    change[:] = 0.0
    change[_ENERGY] = 2.0 * dot6(momentum[j], psi)
    momentum_change(inertia[j], s, momentum[j], psi, moved)
    for a in range(3):
        change[_ANGULAR + a] = moved[a]
        change[_LINEAR + a] = moved[3 + a]
        change[_ARM + a] = axes[j, 3 + a] / axes[root, 3]
        if j == root + a:
            change[_ARM + a] -= 1.0
    for side in range(2):
        for a in range(3):
            spin[a] = known[_SPIN_BEFORE + 3 * side + a]
        multiply_inertia(inertia[j], spin, v)
        cross_motion(spin, s, psi)
        momentum_change(inertia[j], s, v, psi, moved)
        for a in range(3):
            change[_BEFORE + 3 * side + a] = moved[a]


@compiled
def _end_slopes(world: Table, work: Table, step: float, gains: np.ndarray) -> None:
    """Fill ``changes`` with the seven numbers' slopes, of the gains' ones."""
    plant = world.plant
    state = world.current
    ends = work.ends
    trees, dofs = plant.trees, plant.dofs
    cdof = state.mj_cdof
    nv = plant.nv
    inertia, axes = np.empty((nv, 10)), np.empty((nv, 6))
    motion, momentum = np.empty((nv, 6)), np.empty((nv, 6))
    _fill_inertias(plant, state, inertia, axes)
    fields = (inertia, axes, motion, momentum)
    for i in range(nv):
        ends.scaled[i] = work.velocity[i]
    fill_field(plant, state, ends.marked, axes, ends.scaled, motion, momentum)
    known, change, slope = np.empty(_KNOWN), np.empty(_CHANGES), np.empty(7)
    quat = (1.0, 0.0, 0.0, 0.0)
    for tree in range(plant.ntree):
        if ends.marked[tree] == 0:
            continue
        root, last = trees.start[tree], trees.start[tree] + trees.size[tree]
        floats = ends.marked[tree] == FLOATS
        energy = 0.0
        for j in range(root, last):
            by_velocity = dot6(cdof[j], momentum[j]) + dofs.armature[j] * ends.scaled[j]
            energy += ends.scaled[j] * by_velocity
        for a in range(6):
            ends.inertia[tree, INERTIA + a] = inertia[root, a]
        _know_tree(work, tree, energy, momentum[root], known)
        mass = axes[root, 3]
        if floats:
            at = base_position(plant, tree)
            quat = unit_quaternion(state.mj_qpos, at + 3)
            for a in range(3):
                com = state.mj_subtree_com[trees.body[tree], a]
                known[_AT + a] = com - state.mj_qpos[at + a]
        own_turn = turned_back(quat, vector_at(known, _TURN))
        for j in range(root, last):
            for kind in range(3):
                change[:] = 0.0
                for a in range(7):
                    change[a] = gains[kind, j, a]
                if kind == 2:
                    change[_ENERGY] = dot6(cdof[j], momentum[j])
                    change[_ENERGY] += dofs.armature[j] * ends.scaled[j]
                    change[_ENERGY] *= 2.0
                    for a in range(3):
                        change[_ANGULAR + a] = axes[j, a]
                        change[_LINEAR + a] = axes[j, 3 + a]
                _add_slopes(
                    ends.inertia[tree], mass, known, floats, change, quat, ends.changes[kind, j]
                )
            before = dofs.parent[work.rigid.joint_first[j]]
            _position_change(plant, j, cdof[j], fields, before, known, change)
            if not floats:
                for a in range(3):
                    change[0] += 2.0 * plant.gravity[a] * axes[j, 3 + a]
            slope[:] = 0.0
            _add_slopes(ends.inertia[tree], mass, known, floats, change, quat, slope)
            if floats and root + 3 <= j < root + 6:
                axis = j - root - 3
                one, two = (axis + 1) % 3, (axis + 2) % 3
                slope[4 + one] += own_turn[two]
                slope[4 + two] -= own_turn[one]
            _add_by_end(work, step, j, slope)


@compiled
def _add_by_end(work: Table, step: float, j: int, slope: np.ndarray) -> None:
    """Add slopes by a position at the end to those by what it follows from."""
    changes = work.ends.changes
    for number in range(work.rotations.size):
        row = j - work.rotations[number]
        if 0 <= row < 3:
            turn = work.turns[number]
            for b in range(3):
                i = work.rotations[number] + b
                travel = step * turn[3 * row + b]
                start = turn[9 + 3 * row + b] + (1.0 if b == row else 0.0)
                for a in range(7):
                    changes[0, i, a] += start * slope[a]
                    changes[1, i, a] += (1.0 - work.share) * travel * slope[a]
                    changes[2, i, a] += work.share * travel * slope[a]
            return
    for a in range(7):
        changes[0, j, a] += slope[a]
        changes[1, j, a] += (1.0 - work.share) * step * slope[a]
        changes[2, j, a] += work.share * step * slope[a]


@compiled
def fill_end_slopes(world: Table, work: Table, step: float) -> None:
    """Fill what the balance changes by; needs its ``gains``, and leaves MjData at the end."""
    plant = world.plant
    state = world.current
    restore(work.start, work.inputs, state)
    _find_positions(world, state.qpos)
    fill_rigid_terms(world, work, step)
    gains = np.empty((3, plant.nv, 7))
    gain_slopes(world, work, step, gains)
    end = world.following.qpos
    copy_numbers(state.qpos, end)
    for i in range(plant.nv):
        travel = work.share * work.velocity[i] + (1.0 - work.share) * state.qvel[i]
        work.mean[i] = step * travel
    move_positions(plant, end, work.mean, 1.0)
    _find_positions(world, end)
    fill_turns(work, step)
    work.ends.changes[:] = 0.0
    _end_slopes(world, work, step, gains)
