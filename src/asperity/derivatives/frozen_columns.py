"""Derivatives of the momentum balance with contacts that move as their geoms do.

Two evaluations of kinematics, inertia and smooth forces for each position, one for each of the
other coordinates, without collision detection (`asperity.derivatives.contact_motion`) and without
contact laws, whose impulses follow their slopes (`asperity.derivatives.law_slopes`). All of this is
smooth, so that displacements may be large and differences are good to ten digits. They must be:
where a contact sticks, what remains of velocities is the small difference of large impulses. Rows
of limits, servos and friction are evaluated; a row whose piece of the law is another one on one
side takes the difference on the other one, so that all derivatives belong to the pieces that H has.

For steps whose A and r are those of `asperity.integrators.methods.icf`, whatever the contact law.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, compiled_loop
from asperity.compiled.calls import call_pp_status, call_pppd
from asperity.convex.contact_velocities import add_impulses, link_velocities, row_velocities
from asperity.convex.contact_velocities import contact_velocities as fill_velocities
from asperity.convex.potentials.rows import evaluate_rows, prepare_rows
from asperity.derivatives.columns import evaluate_motion, restore, write_input
from asperity.derivatives.contact_motion import find_motion, keep_contacts, move_contacts
from asperity.derivatives.law_slopes import fill_law_slopes
from asperity.derivatives.layout import (
    ACTIVATION,
    APPLIED,
    CONTROL,
    DERIVATIVE,
    DIRECTION,
    POSITION,
    VELOCITY,
)
from asperity.derivatives.matching import same_rows
from asperity.derivatives.residual import activations_after, smooth_balance
from asperity.integrators.world_layout import OK, WORLD
from asperity.plant.collision import side_inverse_mass
from asperity.plant.evaluate import evaluate_smooth
from asperity.plant.plant_layouts import OTHER_FORCES, VALID
from asperity.plant.trees import force_from_solver

__all__ = ["FROZEN_KERNELS", "freeze_contacts", "frozen_columns"]

# Displacements [m, rad; m/s, rad/s; units of controls and forces]. Those of positions are taken on
# both sides: 1e-12 remains of third powers, 1e-10 of round-off, and both may be amplified by as
# much as the stiffness of friction is above inertia. The
# balance is linear in inputs, and velocities have no contact to amplify what is off.
_POSITION = 1e-6
_VELOCITY = 1e-7
_INPUT = 1e-6
_FORCE = 1e-3

# Curvatures of a row that differ by more, relative, are those of other pieces of its law.
_KINK = 0.1

# Of sides of a row's differences.
_OTHER_ROWS = -1


@compiled
def _size(kind: int) -> float:
    if kind in (POSITION, DIRECTION):
        return _POSITION
    if kind == APPLIED:
        return _FORCE
    return _VELOCITY if kind == VELOCITY else _INPUT


@compiled
def _moves(kind: int) -> bool:
    """Whether positions are displaced."""
    return kind in (POSITION, DIRECTION)


@compiled
def _displace(world: Table, work: Table, kind: int, index: int, size: float) -> int:
    """Displace one coordinate of the current state, and evaluate it there without contacts."""
    plant = world.plant
    state = world.current
    restore(work, state)
    if _moves(kind):
        nv = work.displacement.size
        for i in range(nv):
            work.displacement[i] = 0.0
            if kind == DIRECTION:
                work.displacement[i] = size * work.directions[index, i]
                state.qvel[i] += size * work.directions[index, nv + i]
        if kind == POSITION:
            work.displacement[index] = size
        else:
            for i in range(state.act.size):
                state.act[i] += size * work.directions[index, 2 * nv + i]
        call_pppd(
            plant.integrate_positions,
            plant.model,
            state.qpos.ctypes.data,
            work.displacement.ctypes.data,
            1.0,
        )
        call_pp_status(work.evaluate_smooth, plant, state)
        code = OK
        if work.rows > 0:
            code = call_pp_status(plant.read_constraints, plant, state)
        state.valid = VALID
        return code
    if kind == VELOCITY:
        state.qvel[index] += size
    elif kind == ACTIVATION:
        state.act[index] += size
    elif kind == CONTROL:
        write_input(state.mj_ctrl, work.other_ctrl, index, work.ctrl[index] + size)
    elif kind == APPLIED:
        write_input(state.mj_qfrc_applied, work.other_applied, index, work.applied[index] + size)
    if kind in (CONTROL, APPLIED):
        state.valid = OTHER_FORCES
        return call_pp_status(world.evaluate, plant, state)
    return evaluate_motion(world, state)


@compiled
def _move_links(world: Table, work: Table, state: Table) -> None:
    """Let contacts, and the links that they are on, be where the state has been displaced to."""
    plant = world.plant
    problem = world.problem
    contacts = state.contacts
    move_contacts(plant, work, state)
    column = contacts.chain_column
    if work.uses_mass == 0:
        for i in range(problem.island_path_start[problem.islands]):
            dof = problem.path_dof[i]
            entry = problem.path_entry[i]
            for a in range(6):
                column[entry, a] = state.cdof[dof, a]
        return
    for link in range(contacts.link_count):
        start = contacts.link_start[link]
        for e in range(start, start + contacts.link_size[link]):
            for a in range(6):
                column[e, a] = state.cdof[contacts.chain_dof[e], a]
    for c in range(contacts.count):
        contacts.inverse_mass[c] = 0.0
        if contacts.link[c, 0] >= 0:
            contacts.inverse_mass[c] += side_inverse_mass(
                plant, state, contacts, contacts.link[c, 0], contacts.arm_a, c
            )
        if contacts.link[c, 1] >= 0:
            contacts.inverse_mass[c] += side_inverse_mass(
                plant, state, contacts, contacts.link[c, 1], contacts.arm_b, c
            )


@compiled
def _add_responses(
    work: Table, problem: Table, velocity: np.ndarray, slopes: np.ndarray, sign: float, count: int
) -> None:
    """Add to impulses what their slopes make of a change of contact velocities."""
    for i in range(count):
        x = sign * (problem.v1[i] - velocity[i, 0])
        y = sign * (problem.v2[i] - velocity[i, 1])
        z = sign * (problem.vn[i] - velocity[i, 2])
        problem.g1[i] += slopes[i, 0, 0] * x + slopes[i, 0, 1] * y + slopes[i, 0, 2] * z
        problem.g2[i] += slopes[i, 1, 0] * x + slopes[i, 1, 1] * y + slopes[i, 1, 2] * z
        problem.gn[i] += slopes[i, 2, 0] * x + slopes[i, 2, 1] * y + slopes[i, 2, 2] * z


@compiled
def _velocities(problem: Table, state: Table, vector: np.ndarray) -> None:
    link_velocities(problem, state.contacts, vector)
    fill_velocities(
        problem,
        state.contacts,
        0,
        state.contacts.count,
        vector,
        problem.v1,
        problem.v2,
        problem.vn,
    )


@compiled
def _contact_impulses(world: Table, work: Table, state: Table) -> None:
    """Fill impulses of the contacts of a displaced state."""
    problem = world.problem
    contacts = state.contacts
    count = contacts.count
    for i in range(count):
        c = problem.contact[i]
        distance = contacts.signed_distance[c] - work.contact_distance[c]
        mass = contacts.inverse_mass[c] - work.inverse_mass[c]
        by_distance = work.by_distance[i]
        by_mass = work.by_mass[i]
        problem.g1[i] = work.impulse[i, 0] + by_distance[0] * distance + by_mass[0] * mass
        problem.g2[i] = work.impulse[i, 1] + by_distance[1] * distance + by_mass[1] * mass
        problem.gn[i] = work.impulse[i, 2] + by_distance[2] * distance + by_mass[2] * mass
    _velocities(problem, state, problem.velocity)
    _add_responses(work, problem, work.end_velocity, work.blocks, -1.0, count)
    if work.uses_start == 1:
        _velocities(problem, state, state.velocity)
        _add_responses(work, problem, work.start_velocity, work.by_start, 1.0, count)


@compiled
def _row_impulses(world: Table, state: Table, step: float) -> None:
    """Fill impulses and curvatures of rows at the prescribed velocity."""
    problem = world.problem
    rows = state.rows
    count = rows.count
    row_velocities(problem, rows, 0, count, state.velocity, problem.row_u)
    prepare_rows(problem, rows, step, count, False)
    row_velocities(problem, rows, 0, count, problem.velocity, problem.row_u)
    evaluate_rows(problem, 0, count)


@compiled
def _keep_row_changes(world: Table, work: Table, size: float) -> int:
    """Add differences of rows that are on the same piece; returns how many are not.

    ``row_done`` counts the sides of each row.
    """
    problem = world.problem
    others = 0
    for i in range(work.rows):
        before = work.row_curvature[i]
        now = problem.row_curvature[i]
        if abs(now - before) > _KINK * max(now, before):
            others += 1
            continue
        work.row_change[i] += (problem.row_impulse[i] - work.row_impulse[i]) / size
        work.row_done[i] += 1
    return others


@compiled
def _subtract_rows(world: Table, work: Table, column: np.ndarray) -> None:
    """Subtract what changes of the rows' impulses do."""
    first = 3 * world.current.contacts.count
    for i in range(work.rows):
        if work.row_done[i] == 0:
            work.unmatched += 1
            continue
        change = work.row_change[i] / work.row_done[i]
        if change != 0.0:
            for k in range(work.qvel.size):
                column[k] -= change * work.jacobian[first + i, k]


@compiled
def _fill(
    world: Table, work: Table, step: float, kind: int, index: int, size: float, side: int
) -> int:
    """Fill one of ``sides`` with g at a displaced state, for the rows' impulses of the state.

    Returns −1 if its rows are others.
    """
    plant = world.plant
    problem = world.problem
    state = world.current
    code = _displace(world, work, kind, index, size)
    if code != OK:
        return code
    if not same_rows(work, state):
        return _OTHER_ROWS
    smooth_balance(world, work, state, step)
    contacts = state.contacts.count
    if contacts > 0 and _moves(kind):
        _move_links(world, work, state)
        _contact_impulses(world, work, state)
    elif contacts > 0:
        for i in range(contacts):
            problem.g1[i] = work.impulse[i, 0]
            problem.g2[i] = work.impulse[i, 1]
            problem.gn[i] = work.impulse[i, 2]
        if work.uses_start == 1:
            _velocities(problem, state, state.velocity)
            _add_responses(work, problem, work.start_velocity, work.by_start, 1.0, contacts)
    if work.rows > 0:
        _row_impulses(world, state, step)
        work.others += _keep_row_changes(world, work, size)
        for i in range(work.rows):
            problem.row_impulse[i] = work.row_impulse[i]
    add_impulses(
        problem, state.contacts, state.rows, (0, contacts), (0, work.rows), problem.gradient, -1.0
    )
    force_from_solver(plant, state.cdof, problem.gradient, work.generalized)
    for i in range(work.generalized.size):
        work.sides[side, i] = work.generalized[i]
    activations_after(world, work, state, step, work.sides[side])
    return OK


@compiled
def freeze_contacts(world: Table, work: Table, step: float) -> None:
    """Find out how the contacts of the state itself move and respond; H has been filled there."""
    keep_contacts(world.plant, work, world.current)
    work.unmatched += find_motion(world.plant, work, world.current)
    fill_law_slopes(work, world.problem, world.current, step)


@compiled
def _column(world: Table, work: Table, step: float, kind: int, index: int, row: int) -> int:
    """Fill a row of ``columns`` by one coordinate of a kind."""
    size = _size(kind)
    if kind == DIRECTION:
        largest = 0.0
        for i in range(work.directions.shape[1]):
            largest = max(largest, abs(work.directions[index, i]))
        if largest > 0.0:
            size /= largest
    for i in range(work.rows):
        work.row_done[i] = 0
        work.row_change[i] = 0.0
    work.others = 0
    ahead = _fill(world, work, step, kind, index, size, 1)
    behind = _OTHER_ROWS
    if _moves(kind) or work.others > 0 or ahead == _OTHER_ROWS:
        behind = _fill(world, work, step, kind, index, -size, 2)
    if ahead > OK or behind > OK:
        return max(ahead, behind)
    first = 1 if ahead == OK else 0
    last = 2 if behind == OK else 0
    column = work.columns[row]
    if first == last:
        work.unmatched += 1
        for i in range(column.size):
            column[i] = 0.0
        return OK
    if work.others > 0 or (_moves(kind) and (first == 0 or last == 0)):
        work.one_sided += 1
    scale = 1.0 / size if first == 0 or last == 0 else 0.5 / size
    for i in range(column.size):
        column[i] = scale * (work.sides[first, i] - work.sides[last, i])
    _subtract_rows(world, work, column)
    return OK


@compiled
def _columns(world: Table, work: Table, step: float, kind: int, count: int, row: int) -> int:
    """Fill rows of ``columns``, from ``row``, by all coordinates of a kind."""
    for index in range(count):
        code = _column(world, work, step, kind, index, row + index)
        if code != OK:
            return code
    if count > 0 and not _moves(kind):
        # What depends on positions is at hand for the next kind.
        restore(work, world.current)
        return evaluate_motion(world, world.current)
    return OK


_I = types.int64


@compiled_loop(_I(_I, _I, types.float64, _I, _I))
def frozen_columns(
    world_address: int, work_address: int, step: float, forces: int, directions: int
) -> int:
    """Fill ``columns`` by positions, velocities, activations, controls and, if wanted, forces.

    Or, if there are any, by so many directions alone. Needs H, and ``sides[0]``, of the state
    itself; afterwards the current state is that again, without an evaluation.
    """
    world = WORLD.at(world_address)
    work = DERIVATIVE.at(work_address)
    state = world.current
    nv = work.qvel.size
    freeze_contacts(world, work, step)
    if directions > 0:
        code = _columns(world, work, step, DIRECTION, directions, 0)
    else:
        row = nv
        code = _columns(world, work, step, VELOCITY, nv, row)
        row += nv
        if code == OK:
            code = _columns(world, work, step, ACTIVATION, work.act.size, row)
            row += work.act.size
        if code == OK:
            code = _columns(world, work, step, CONTROL, work.ctrl.size, row)
            row += work.ctrl.size
        if code == OK and forces == 1:
            code = _columns(world, work, step, APPLIED, nv, row)
        if code == OK:
            code = _columns(world, work, step, POSITION, nv, 0)
    restore(work, state)
    state.valid = 0
    world.graph_state = 0
    return code


FROZEN_KERNELS = (frozen_columns, evaluate_smooth)
