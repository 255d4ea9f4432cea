"""What contacts change by with positions and velocities, in closed form.

A displacement moves a contact with its geoms and by their relative motion
(`asperity.derivatives.balance.contact_motion`), and its impulse γ with its distance and its
velocities at both ends of the step (`asperity.derivatives.balance.law_slopes`), where the law asks
for it also with the inverse mass. Of the generalized force Jᵀ γ both factors change: F = Σ γ_k t_k
acts at another point, along other axes, and on joints whose own axes have turned, X × S_m behind a
joint with the axis X.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.derivatives.balance.hessian import add_product
from asperity.derivatives.balance.inverse_mass_change import (
    add_point_velocity,
    cross3,
    inverse_mass_change,
)
from asperity.derivatives.balance.moved_contacts import change_of_contact, turn_frame
from asperity.derivatives.balance.rigid_terms import cross_motion

__all__ = ["contact_columns"]


@compiled
def _add_wrench(force: np.ndarray, arm: np.ndarray, sign: float, out: np.ndarray) -> None:
    """Add a force at the end of an arm, as (torque, force)."""
    cross3(arm, force, sign, out)
    for a in range(3):
        out[3 + a] += sign * force[a]


@compiled
def _gather(plant: Table, wrench: np.ndarray, first: int, last: int) -> None:
    """Let degrees of freedom of whole trees have the wrenches of all that is behind them."""
    for d in range(last - 1, first - 1, -1):
        parent = plant.dofs.parent[d]
        if parent >= 0:
            for a in range(6):
                wrench[parent, a] += wrench[d, a]


@compiled
def _change_of_velocity(
    motion: np.ndarray,
    dofs: tuple[int, int],
    moved: tuple[bool, bool],
    before: int,
    axis: np.ndarray,
    arms: np.ndarray,
    change: np.ndarray,
    frames: tuple[np.ndarray, np.ndarray],
    out: np.ndarray,
    pad: np.ndarray,
) -> None:
    """Fill what the components of the relative velocity of both geoms at a contact change by.

    ``motion`` has the velocities behind every degree of freedom, ``before`` is the one before the
    joint whose axis is displaced, and ``change`` begins with the motion of the contact point.
    ``frames`` are the contact's axes and what these change by, and ``pad`` is room for four
    motions.
    """
    relative = pad[0]
    turned = pad[1]
    velocity = pad[2]
    rate = pad[3]
    for a in range(3):
        velocity[a] = 0.0
        rate[a] = 0.0
    for side in range(2):
        dof = dofs[side]
        if dof < 0:
            continue
        sign = 1.0 if side == 1 else -1.0
        add_point_velocity(motion[dof], arms[side], sign, velocity)
        cross3(motion[dof], change, sign, rate)
        if moved[side]:
            for a in range(6):
                relative[a] = motion[dof, a] - (motion[before, a] if before >= 0 else 0.0)
            cross_motion(axis, relative, turned)
            add_point_velocity(turned, arms[side], sign, rate)
    for k in range(3):
        out[k] = 0.0
        for a in range(3):
            out[k] += frames[0][3 * k + a] * rate[a] + frames[1][3 * k + a] * velocity[a]


@compiled
def _wrenches_of(plant: Table, work: Table, state: Table, graph: Table) -> None:
    """Fill the wrenches of contacts of the state itself behind every degree of freedom."""
    start = work.start
    rigid = work.rigid
    laws = work.laws
    motion = work.motion
    sets = work.sets
    contacts = state.contacts
    force = np.zeros(3)
    arm = np.zeros(3)
    for d in range(start.qvel.size):
        for a in range(6):
            rigid.wrench[d, a] = 0.0
    for i in range(contacts.count):
        c = graph.contact[i]
        for a in range(3):
            force[a] = 0.0
            for k in range(3):
                force[a] += laws.side_impulse[0, i, k] * motion.contact_frame[c, 3 * k + a]
        for side in range(2):
            body = plant.geoms.body[contacts.geom[c, side]]
            dof = plant.bodies.last_dof[body]
            if dof >= 0:
                for a in range(3):
                    arm[a] = sets.contact_point[c, a] - motion.com[plant.bodies.root[body], a]
                _add_wrench(force, arm, 1.0 if side == 1 else -1.0, rigid.wrench[dof])
    _gather(plant, rigid.wrench, 0, start.qvel.size)


@compiled
def _feels_mass(plant: Table, laws: Table, i: int, j: int, dofs: tuple[int, int]) -> bool:
    """Whether a contact's impulse depends on masses that a joint of its trees moves about."""
    if laws.uses_mass == 0:
        return False
    if laws.by_mass[i, 0] == 0.0 and laws.by_mass[i, 1] == 0.0 and laws.by_mass[i, 2] == 0.0:
        return False
    tree = plant.dofs.tree[j]
    return (dofs[0] >= 0 and plant.dofs.tree[dofs[0]] == tree) or (
        dofs[1] >= 0 and plant.dofs.tree[dofs[1]] == tree
    )


@compiled
def _by_positions(world: Table, work: Table) -> None:
    """Subtract what Jᵀ γ changes by with positions."""
    start = work.start
    rigid = work.rigid
    sets = work.sets
    motion = work.motion
    laws = work.laws
    plant = world.plant
    bodies = plant.bodies
    problem = world.problem
    state = world.current
    contacts = state.contacts
    cdof = state.cdof
    wrench_change = rigid.wrench_change
    pad = np.zeros((4, 6))
    change = np.zeros(7)
    turned_frame = np.zeros(9)
    turned = np.zeros(6)
    alone = np.zeros(6)
    at_rest = np.zeros(6)
    arms = np.zeros((2, 3))
    at_end = np.zeros(3)
    at_start = np.zeros(3)
    impulse = np.zeros(3)
    force = np.zeros(3)
    force_change = np.zeros(3)
    for j in range(start.qvel.size):
        first = rigid.joint_first[j]
        end = rigid.subtree_end[j]
        before = plant.dofs.parent[first]
        tree = plant.dofs.tree[j]
        tree_first = plant.trees.start[tree]
        tree_last = tree_first + plant.trees.size[tree]
        column = work.columns[j]
        any_moved = False
        for i in range(contacts.count):
            c = problem.graph.contact[i]
            body_a = plant.geoms.body[contacts.geom[c, 0]]
            body_b = plant.geoms.body[contacts.geom[c, 1]]
            dofs = (bodies.last_dof[body_a], bodies.last_dof[body_b])
            moved = (j <= dofs[0] < end, j <= dofs[1] < end)
            if not (moved[0] or moved[1] or _feels_mass(plant, laws, i, j, dofs)):
                continue
            if not any_moved:
                any_moved = True
                for d in range(tree_first, tree_last):
                    for a in range(6):
                        wrench_change[d, a] = 0.0
            for a in range(3):
                arms[0, a] = sets.contact_point[c, a] - motion.com[bodies.root[body_a], a]
                arms[1, a] = sets.contact_point[c, a] - motion.com[bodies.root[body_b], a]
            axes = (cdof[j] if moved[0] else at_rest, cdof[j] if moved[1] else at_rest)
            change_of_contact(plant, work, c, (body_a, body_b), axes, change, pad)
            turn_frame(motion.contact_frame[c], change, turned_frame)
            frames = (motion.contact_frame[c], turned_frame)
            _change_of_velocity(
                rigid.end_motion, dofs, moved, before, cdof[j], arms, change, frames, at_end, pad
            )
            if laws.uses_start == 1:
                _change_of_velocity(
                    rigid.start_motion,
                    dofs,
                    moved,
                    before,
                    cdof[j],
                    arms,
                    change,
                    frames,
                    at_start,
                    pad,
                )
            mass = 0.0
            for side in range(2):
                if laws.uses_mass == 1 and dofs[side] >= 0:
                    mass += inverse_mass_change(
                        plant, work, state, j, dofs[side], moved[side], arms[side], change, pad
                    )
            for k in range(3):
                impulse[k] = laws.by_distance[i, k] * change[6] + laws.by_mass[i, k] * mass
                for a in range(3):
                    impulse[k] -= laws.blocks[i, k, a] * at_end[a]
                    if laws.uses_start == 1:
                        impulse[k] += laws.by_start[a, i, k] * at_start[a]
            for a in range(3):
                force[a] = 0.0
                force_change[a] = 0.0
                for k in range(3):
                    force[a] += laws.side_impulse[0, i, k] * motion.contact_frame[c, 3 * k + a]
                    force_change[a] += laws.side_impulse[0, i, k] * turned_frame[3 * k + a]
                    force_change[a] += impulse[k] * motion.contact_frame[c, 3 * k + a]
            for side in range(2):
                if dofs[side] < 0:
                    continue
                sign = 1.0 if side == 1 else -1.0
                own = tree_first <= dofs[side] < tree_last
                wrench = wrench_change[dofs[side]] if own else alone
                if not own:
                    for a in range(6):
                        alone[a] = 0.0
                _add_wrench(force_change, arms[side], sign, wrench)
                # The point of action has moved.
                cross3(change, force, sign, wrench)
                m = -1 if own else dofs[side]
                while m >= 0:
                    for a in range(6):
                        column[m] -= cdof[m, a] * alone[a]
                    m = plant.dofs.parent[m]
        if not any_moved:
            continue
        _gather(plant, wrench_change, tree_first, tree_last)
        for m in range(tree_first, tree_last):
            for a in range(6):
                column[m] -= cdof[m, a] * wrench_change[m, a]
        for m in range(first, end):
            cross_motion(cdof[j], cdof[m], turned)
            for a in range(6):
                column[m] -= turned[a] * rigid.wrench[m, a]


@compiled
def contact_columns(world: Table, work: Table) -> None:
    """Add what contacts do to columns by positions and velocities."""
    laws = work.laws
    if world.current.contacts.count == 0:
        return
    if laws.uses_start == 1:
        nv = work.start.qvel.size
        for i in range(world.current.contacts.count):
            slopes = laws.by_start[:, i, :]
            add_product(work.jacobian, 3 * i, slopes, -1.0, work.index, work.columns[nv : 2 * nv])
    _wrenches_of(world.plant, work, world.current, world.problem.graph)
    _by_positions(world, work)
