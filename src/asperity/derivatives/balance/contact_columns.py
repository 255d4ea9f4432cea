"""What contacts change by with positions and velocities, in closed form.

A displacement moves a contact with its geoms and by their relative motion
(`asperity.derivatives.balance.contact_motion`), and its impulse γ with its distance and its
velocities at both ends of the step (`asperity.derivatives.balance.law_slopes`), where the law asks
for it also with the inverse mass. Of the generalized force Jᵀ γ both factors change: F = Σ γ_k t_k
acts at another point, along other axes, and on joints whose own axes have turned, X × S_m behind a
joint with the axis X.

Of a displacement along the axis S of joint j, before which bodies have the velocities V and V_0 at
the step's end and beginning, a contact knows y = (S, S × V, S × V_0) alone. Its wrench on a body
that moves along changes by K y, with a matrix K that is the same for all joints before the body. So
the matrices of all contacts behind a degree of freedom are added up once, as inertias are
(`asperity.derivatives.balance.rigid_terms`). A contact of two bodies has further matrices, of the
wrench on one of them by the motion of the other.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.derivatives.balance.force_changes import (
    add_force_change,
    impulse_in_world,
    stiffness_in_world,
)
from asperity.derivatives.balance.hessian import add_products
from asperity.derivatives.balance.inverse_mass_change import (
    cross3,
    inverse_mass_change,
)
from asperity.derivatives.balance.moved_contacts import fill_side
from asperity.derivatives.balance.rigid_terms import add_cross_force, cross_motion
from asperity.derivatives.balance.sides import body_of_side, contact_axes
from asperity.derivatives.layout import ARGUMENTS

__all__ = ["contact_columns", "start_velocity_columns"]


@compiled
def _fill_arguments(world: Table, work: Table) -> None:
    """Fill y of all degrees of freedom."""
    rigid = work.rigid
    cdof = world.current.cdof
    for j in range(cdof.shape[0]):
        before = world.plant.dofs.parent[rigid.joint_first[j]]
        y = rigid.argument[j]
        for a in range(6):
            y[a] = cdof[j, a]
        for a in range(6, ARGUMENTS):
            y[a] = 0.0
        if before >= 0:
            cross_motion(cdof[j], rigid.end_motion[before], y[6:12])
            cross_motion(cdof[j], rigid.start_motion[before], y[12:18])


@compiled
def _add_by_masses(
    world: Table,
    work: Table,
    i: int,
    dofs: tuple[int, int],
    arms: np.ndarray,
    sides: np.ndarray,
    pad: np.ndarray,
) -> None:
    """Subtract what a contact's impulse changes by with the inverse mass that it feels."""
    laws = work.laws
    plant = world.plant
    trees = plant.trees
    cdof = world.current.cdof
    c = world.problem.graph.contact[i]
    change = np.zeros(7)
    axes = contact_axes(
        world.current.contacts, c, work.motion.contact_frame[c], laws.by_mass.shape[1]
    )
    force = np.empty(len(axes))
    impulse_in_world(laws.by_mass[i], axes, force)
    if not np.any(force != 0.0):
        return
    one = plant.dofs.tree[dofs[0]] if dofs[0] >= 0 else -1
    other = plant.dofs.tree[dofs[1]] if dofs[1] >= 0 else -1
    wrench = np.zeros(6)
    for part in range(1 if one == other else 2):
        tree = one if part == 0 else other
        if tree < 0:
            continue
        for j in range(trees.start[tree], trees.start[tree] + trees.size[tree]):
            end = work.rigid.subtree_end[j]
            for k in range(7):
                change[k] = 0.0
            for side in range(2):
                if j <= dofs[side] < end:
                    for k in range(7):
                        for a in range(6):
                            change[k] += sides[side, k, a] * cdof[j, a]
            mass = 0.0
            for side in range(2):
                if dofs[side] >= 0:
                    moved = j <= dofs[side] < end
                    mass += inverse_mass_change(
                        plant, work, world.current, j, dofs[side], moved, arms[side], change, pad
                    )
            for side in range(2):
                _fill_wrench(arms[side], force, 1.0, wrench)
                _subtract(
                    plant, cdof, dofs[side], mass if side == 1 else -mass, wrench, work.columns[j]
                )


@compiled
def _fill_wrench(arm: np.ndarray, force: np.ndarray, sign: float, out: np.ndarray) -> None:
    """Fill the wrench of a force at the end of an arm, with the moment behind it, if any."""
    for a in range(3):
        out[a] = sign * force[3 + a] if force.size > 3 else 0.0
        out[3 + a] = sign * force[a]
    cross3(arm, force, sign, out)


@compiled
def _subtract(
    plant: Table, cdof: np.ndarray, dof: int, size: float, wrench: np.ndarray, column: np.ndarray
) -> None:
    """Subtract what a wrench on a body is to all degrees of freedom that move it."""
    m = dof
    while m >= 0:
        for a in range(6):
            column[m] -= size * cdof[m, a] * wrench[a]
        m = plant.dofs.parent[m]


@compiled
def _add_contact(
    world: Table, work: Table, i: int, arms: np.ndarray, pad: np.ndarray, by_axis: np.ndarray
) -> None:
    """Add a contact's wrench and K to those of the bodies, or to columns.

    ``by_axis``, (2, components, arguments), is room for what force and moment change by with either
    side's axis.
    """
    rigid = work.rigid
    motion = work.motion
    laws = work.laws
    plant = world.plant
    bodies = plant.bodies
    graph = world.problem.graph
    contacts = world.current.contacts
    cdof = world.current.cdof
    c = graph.contact[i]
    frame = motion.contact_frame[c]
    pair = (body_of_side(plant, contacts, c, 0), body_of_side(plant, contacts, c, 1))
    dofs = (bodies.last_dof[pair[0]], bodies.last_dof[pair[1]])
    components = by_axis.shape[1]
    axes = contact_axes(contacts, c, frame, components)
    force, softer = np.empty(components), np.empty(components)
    impulse_in_world(laws.side_impulse[0, i], axes, force)
    impulse_in_world(laws.by_distance[i], axes, softer)
    by_change = np.zeros((components, 7))
    stiffness = np.empty((components, components))
    sides = np.zeros((2, 7, 6))
    matrix = np.zeros((6, ARGUMENTS))
    for side in range(2):
        for a in range(3):
            arms[side, a] = work.sets.contact_point[c, a] - motion.com[bodies.root[pair[side]], a]
        if dofs[side] >= 0:
            fill_side(plant, work, c, pair[side], side, sides[side])
    by_axis[:] = 0.0
    # As axes turn, by n × dn, so do force and moment; the law knows the distance.
    for row in range(0, components, 3):
        along = 0.0
        for a in range(3):
            along += force[row + a] * frame[6 + a]
        for a in range(3):
            for b in range(3):
                # (n × dn) × F = dn (n·F) − n (dn·F)
                turned = along if a == b else 0.0
                by_change[row + a, 3 + b] = turned - frame[6 + a] * force[row + b]
            by_change[row + a, 6] = softer[row + a]
    stiffness_in_world(laws.blocks[i], axes, -1.0, stiffness)
    add_force_change(stiffness, rigid.end_motion, dofs, arms, frame, 6, pad, by_change, by_axis)
    if laws.uses_start == 1:
        stiffness_in_world(laws.by_start[i].T, axes, 1.0, stiffness)
        add_force_change(
            stiffness, rigid.start_motion, dofs, arms, frame, 12, pad, by_change, by_axis
        )
    for side in range(2):
        for a in range(components):
            for k in range(6):
                for b in range(7):
                    by_axis[side, a, k] += by_change[a, b] * sides[side, b, k]
    if laws.uses_mass == 1:
        _add_by_masses(world, work, i, dofs, arms, sides, pad[0])
    for side in range(2):
        if dofs[side] < 0:
            continue
        sign = 1.0 if side == 1 else -1.0
        _fill_wrench(arms[side], force, sign, pad[0, 0])
        for a in range(6):
            rigid.wrench[dofs[side], a] += pad[0, 0, a]
        for source in range(2):
            if dofs[source] < 0:
                continue
            _fill_matrix(by_axis[source], sides[source], arms[side], force, sign, matrix)
            if source == side:
                total = rigid.contact_rate[dofs[side]]
                for a in range(6):
                    for k in range(ARGUMENTS):
                        total[ARGUMENTS * a + k] += matrix[a, k]
                continue
            j = dofs[source]
            while j >= 0:
                _fill_product(matrix, rigid.argument[j], pad[0, 0])
                _subtract(plant, cdof, dofs[side], 1.0, pad[0, 0], work.columns[j])
                j = plant.dofs.parent[j]


@compiled
def _fill_product(matrix: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
    for a in range(6):
        out[a] = 0.0
        for k in range(ARGUMENTS):
            out[a] += matrix[a, k] * y[k]


@compiled
def _fill_matrix(
    by_axis: np.ndarray,
    moved: np.ndarray,
    arm: np.ndarray,
    force: np.ndarray,
    sign: float,
    out: np.ndarray,
) -> None:
    """Fill K: force and moment change, and the point of action moves."""
    for k in range(ARGUMENTS):
        x = sign * by_axis[0, k]
        y = sign * by_axis[1, k]
        z = sign * by_axis[2, k]
        out[0, k] = arm[1] * z - arm[2] * y
        out[1, k] = arm[2] * x - arm[0] * z
        out[2, k] = arm[0] * y - arm[1] * x
        out[3, k] = x
        out[4, k] = y
        out[5, k] = z
        for a in range(3, len(by_axis)):
            out[a - 3, k] += sign * by_axis[a, k]
    for k in range(6):
        out[0, k] += sign * (moved[1, k] * force[2] - moved[2, k] * force[1])
        out[1, k] += sign * (moved[2, k] * force[0] - moved[0, k] * force[2])
        out[2, k] += sign * (moved[0, k] * force[1] - moved[1, k] * force[0])


@compiled
def _gather(world: Table, work: Table) -> None:
    """Add up what is behind degrees of freedom, and fill what their own axes feel of it."""
    rigid = work.rigid
    cdof = world.current.cdof
    for d in range(cdof.shape[0] - 1, -1, -1):
        parent = world.plant.dofs.parent[d]
        if parent >= 0:
            for a in range(6):
                rigid.wrench[parent, a] += rigid.wrench[d, a]
            for k in range(6 * ARGUMENTS):
                rigid.contact_rate[parent, k] += rigid.contact_rate[d, k]
        felt = rigid.axis_contact[d]
        turned = rigid.axis_wrench[d]
        for k in range(ARGUMENTS):
            felt[k] = 0.0
            for a in range(6):
                felt[k] += cdof[d, a] * rigid.contact_rate[d, ARGUMENTS * a + k]
        # (X × S) · f = X · (S ×* f)
        for a in range(6):
            turned[a] = 0.0
        add_cross_force(cdof[d], rigid.wrench[d], turned)
        for a in range(6):
            felt[a] += turned[a]


@compiled
def _by_positions(world: Table, work: Table) -> None:
    """Subtract what Jᵀ γ changes by with positions."""
    rigid = work.rigid
    cdof = world.current.cdof
    force = np.zeros(6)
    for j in range(cdof.shape[0]):
        column = work.columns[j]
        y = rigid.argument[j]
        for m in range(j, rigid.subtree_end[j]):
            value = 0.0
            for k in range(ARGUMENTS):
                value += rigid.axis_contact[m, k] * y[k]
            column[m] -= value
        for a in range(6):
            force[a] = 0.0
            for k in range(ARGUMENTS):
                force[a] += rigid.contact_rate[j, ARGUMENTS * a + k] * y[k]
        m = world.plant.dofs.parent[j]
        while m >= 0:
            for a in range(6):
                column[m] -= cdof[m, a] * force[a]
                if m >= rigid.joint_first[j]:
                    column[m] -= cdof[j, a] * rigid.axis_wrench[m, a]
            m = world.plant.dofs.parent[m]


@compiled
def start_velocity_columns(world: Table, work: Table) -> None:
    """Add what contacts do to columns by velocities, wherever they are."""
    nv = work.start.qvel.size
    if work.laws.uses_start == 1:
        by_velocity = work.columns[nv : 2 * nv]
        add_products(world, work, world.current, work.laws.by_start, -1.0, by_velocity)


@compiled
def contact_columns(world: Table, work: Table) -> None:
    """Add what contacts do to columns by positions and velocities."""
    rigid = work.rigid
    count = world.current.contacts.count
    if count == 0:
        return
    nv = work.start.qvel.size
    arms = np.zeros((2, 3))
    pad = np.zeros((3, 6, 12))
    by_axis = np.zeros((2, work.laws.blocks.shape[1], ARGUMENTS))
    for d in range(nv):
        for a in range(6):
            rigid.wrench[d, a] = 0.0
        for k in range(6 * ARGUMENTS):
            rigid.contact_rate[d, k] = 0.0
    _fill_arguments(world, work)
    start_velocity_columns(world, work)
    for i in range(count):
        _add_contact(world, work, i, arms, pad, by_axis)
    _gather(world, work)
    _by_positions(world, work)
