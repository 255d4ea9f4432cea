"""Columns by differences of smooth forces, of states whose contacts only move.

Kinematics, inertia and smooth forces are evaluated twice for each position, and once for each of
the other coordinates; contacts and their laws are known by their slopes
(`asperity.derivatives.balance.contact_motion`, `asperity.derivatives.balance.law_slopes`). All of
this is smooth, so that displacements may be large and differences are good to ten digits. They must
be: where a contact sticks, what remains of velocities is the small difference of large impulses.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.compiled.calls import call_pp_status
from asperity.convex.contact_velocities import add_impulses, link_velocities
from asperity.convex.contact_velocities import contact_velocities as fill_velocities
from asperity.derivatives.balance.displacement import (
    displace,
    evaluate_inputs,
    evaluate_motion,
    moves,
    restore,
    size_of,
)
from asperity.derivatives.balance.matching import same_rows
from asperity.derivatives.balance.moved_contacts import move_contacts
from asperity.derivatives.balance.residual import activations_after, smooth_balance
from asperity.derivatives.balance.row_changes import (
    NARROW,
    OTHER_ROWS,
    any_row_missing,
    begin_row_changes,
    find_row_changes,
    subtract_rows,
)
from asperity.derivatives.balance.row_slopes import servo_columns
from asperity.derivatives.layout import CONTROL
from asperity.integrators.world_layout import OK
from asperity.plant.detection.collision import side_inverse_mass
from asperity.plant.plant_layouts import VALID
from asperity.plant.trees import force_from_solver

__all__ = ["control_columns", "smooth_columns"]

# Displacements [m, rad; m/s, rad/s; units of controls]. Those of positions are taken on
# both sides: 1e-12 remains of third powers, 1e-10 of round-off, and both may be amplified by as
# much as the stiffness of friction is above inertia. The
# balance is linear in inputs, and velocities have no contact to amplify what is off.
_SIZES = (1e-6, 1e-7, 1e-6)


@compiled
def _evaluate(world: Table, work: Table, kind: int) -> int:
    """Evaluate a displaced state without contacts."""
    if not moves(kind):
        return evaluate_inputs(world, kind)
    plant = world.plant
    state = world.current
    call_pp_status(work.evaluate_smooth, plant, state)
    code = OK
    if work.rows > 0:
        code = call_pp_status(plant.read_constraints, plant, state)
    state.valid = VALID
    return code


@compiled
def _move_links(world: Table, work: Table, state: Table) -> None:
    """Let contacts, and the links that they are on, be where the state has been displaced to."""
    plant = world.plant
    problem = world.problem
    graph = problem.graph
    contacts = state.contacts
    move_contacts(plant, work, state)
    column = contacts.chain_column
    if work.uses_mass == 0:
        for i in range(graph.island_path_start[graph.islands]):
            dof = graph.path_dof[i]
            entry = graph.path_entry[i]
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
        problem.graph,
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
        c = problem.graph.contact[i]
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
def _fill(
    world: Table, work: Table, step: float, kind: int, index: int, size: float, side: int
) -> int:
    """Fill one of ``sides`` with g at a displaced state, for the rows' impulses of the state.

    Returns −1 if its rows are others.
    """
    plant = world.plant
    problem = world.problem
    state = world.current
    displace(world, work, kind, index, size)
    code = _evaluate(world, work, kind)
    if code != OK:
        return code
    if not same_rows(work, state):
        return OTHER_ROWS
    smooth_balance(world, work, state, step)
    contacts = state.contacts.count
    if contacts > 0 and moves(kind):
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
        find_row_changes(world, work, state, step, size)
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
def _column(world: Table, work: Table, step: float, kind: int, index: int, row: int) -> int:
    """Fill a row of ``columns`` by one coordinate of a kind."""
    size = size_of(work, kind, index, _SIZES)
    begin_row_changes(work)
    ahead = _fill(world, work, step, kind, index, size, 1)
    behind = OTHER_ROWS
    if moves(kind) or work.others > 0 or ahead == OTHER_ROWS:
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
    if work.others > 0 or (moves(kind) and (first == 0 or last == 0)):
        work.one_sided += 1
    scale = 1.0 / size if first == 0 or last == 0 else 0.5 / size
    for i in range(column.size):
        column[i] = scale * (work.sides[first, i] - work.sides[last, i])
    if first > 0 and last > 0 and any_row_missing(work):
        begin_row_changes(work)
        for side in range(2):
            code = _fill(world, work, step, kind, index, (1 - 2 * side) * NARROW * size, 1 + side)
            if code > OK:
                return code
    subtract_rows(world, work, column)
    return OK


@compiled
def _unknown_columns(
    world: Table, work: Table, step: float, kind: int, row: int, known: np.ndarray
) -> int:
    """Fill columns by those coordinates of a kind of which they are not known yet."""
    displaced = False
    for index in range(known.size):
        if known[index] == 1:
            continue
        displaced = True
        code = _column(world, work, step, kind, index, row + index)
        if code != OK:
            return code
    if displaced and not moves(kind):
        # What depends on positions is at hand for the next kind.
        restore(work, world.current)
        return evaluate_motion(world, world.current)
    return OK


@compiled
def smooth_columns(world: Table, work: Table, step: float, kind: int, count: int, row: int) -> int:
    """Fill rows of ``columns``, from ``row``, by all coordinates of a kind."""
    return _unknown_columns(world, work, step, kind, row, np.zeros(count, np.int64))


@compiled
def control_columns(world: Table, work: Table, step: float, row: int) -> int:
    """Fill rows of ``columns``, from ``row``, by all controls."""
    known = np.zeros(work.ctrl.size, np.int64)
    servo_columns(world, work, step, row, known)
    return _unknown_columns(world, work, step, CONTROL, row, known)
