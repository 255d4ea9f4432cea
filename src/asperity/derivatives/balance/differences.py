"""Columns of the momentum balance by differences of displaced states, at a fixed velocity.

A displaced state is evaluated, and g is taken there at the velocity of the solution: nothing is
solved. What belongs to contacts and rows is kept on the pieces of their laws that H has:

- Points of contact only move, with their geoms and by their relative motion
  (`asperity.derivatives.balance.contact_motion`), and their impulses follow by the slopes of their
  law (`asperity.derivatives.balance.law_slopes`). No collision is detected, all is smooth, and
  displacements may be large. They must be: where a contact sticks, what remains of velocities is
  the small difference of large impulses.
- Points of pressure fields, and points between vertices of flexes, come and go with a force of
  zero. All contacts are then found anew in displaced states, with their impulses; where both sides
  of a difference differ, there is a kink between, and a smaller difference says which of them is
  the state's own.
- Rows whose piece is another one on one side take the difference on the other side
  (`asperity.derivatives.balance.row_changes`).
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.compiled.calls import call_pp_status
from asperity.convex.contact_velocities import add_impulses
from asperity.convex.mobility import fill_inverse_masses
from asperity.derivatives.balance.displacement import (
    displace,
    evaluate_inputs,
    evaluate_motion,
    moves,
    restore,
    size_of,
)
from asperity.derivatives.balance.law_slopes import contact_velocities_of, evaluate_law
from asperity.derivatives.balance.matching import same_rows
from asperity.derivatives.balance.moved_contacts import move_contacts
from asperity.derivatives.balance.residual import activations_after, prepare, smooth_balance
from asperity.derivatives.balance.row_changes import (
    NARROW,
    OTHER_ROWS,
    any_row_missing,
    begin_row_changes,
    find_row_changes,
    subtract_rows,
)
from asperity.derivatives.balance.row_slopes import servo_columns
from asperity.derivatives.layout import CONTROL, UNKNOWN, VELOCITY
from asperity.integrators.methods.convex_step import turning_step
from asperity.integrators.world_layout import OK
from asperity.plant.detection.collision import side_inverse_mass
from asperity.plant.detection.turning_contacts import fill_turning_velocities
from asperity.plant.plant_layouts import VALID
from asperity.plant.trees import force_from_solver, velocity_to_solver

__all__ = [
    "balance_side",
    "choose_side",
    "control_columns",
    "difference_columns",
    "displacement_of",
    "fill_inverse_masses_of",
    "is_bent",
]

# Displacements [m, rad; m/s, rad/s; units of controls]. Those of positions are taken on
# both sides: 1e-12 remains of third powers, 1e-10 of round-off, and both may be amplified by as
# much as the stiffness of friction is above inertia. The balance is linear in inputs, and
# velocities have no contact to amplify what is off.
_SIZES = (1e-6, 1e-7, 1e-6)
# Where friction is evaluated, it bends within the stiction tolerance of 1e-4 m/s, and contact
# velocities move with positions, at a metre per second by 3e-8 m/s.
_SIZES_OF_FIELDS = (3e-8, 1e-6, 1e-5)
# Vertices of flexes touch with stiction tolerances of 3e-6 m/s.
_SIZES_OF_WEIGHTS = (1e-9, 1e-8, 1e-5)
# The tension of stiff ropes and cloth ends within less than a micrometre.
_SIZES_OF_TENSION = (1e-8, 1e-7, 1e-6)
# Of the θ-method, which is not linear in velocities.
_SIZES_OF_STAGES = (1e-6, 1e-6, 1e-6)

_NEARER = 1e-2
# Differences of both sides that are farther apart, relative, have a kink between; and one that is
# so much nearer to a smaller difference has none.
_BENT = 1e-5
_SAME = 0.1


@compiled
def displacement_of(work: Table, kind: int, index: int) -> float:
    sets = work.sets
    if sets.weights == 1:
        return size_of(work, kind, index, _SIZES_OF_WEIGHTS)
    if sets.patches == 1:
        return size_of(work, kind, index, _SIZES_OF_FIELDS)
    if work.has_stages == 1:
        return size_of(work, kind, index, _SIZES_OF_STAGES)
    return size_of(work, kind, index, _SIZES_OF_TENSION if sets.taut == 1 else _SIZES)


@compiled
def _finds_contacts(sets: Table, kind: int) -> bool:
    """Whether contacts are found anew: those of fields also know how fast shapes roll."""
    return sets.patches == 1 and (moves(kind) or kind == VELOCITY)


@compiled
def _evaluate(world: Table, work: Table, kind: int) -> int:
    """Evaluate a displaced state, with contacts if they are to be found anew."""
    sets = work.sets
    plant = world.plant
    state = world.current
    if _finds_contacts(sets, kind):
        state.valid = 0
        return call_pp_status(world.evaluate, plant, state)
    if not moves(kind):
        return evaluate_inputs(world, kind)
    call_pp_status(work.evaluate_smooth, plant, state)
    code = OK
    # MuJoCo has no rows of an equality of tendons without an arm.
    if sets.rows > 0 or plant.joints.equality_dof.size > 0:
        code = call_pp_status(plant.read_constraints, plant, state)
    state.valid = VALID
    return code


@compiled
def _move_links(world: Table, work: Table, state: Table) -> None:
    """Let contacts, and the links that they are on, be where the state has been displaced to."""
    laws = work.laws
    graph = world.problem.graph
    paths = graph.paths
    contacts = state.contacts
    move_contacts(world.plant, work, state)
    column = contacts.chain_column
    if laws.uses_mass == 0:
        for i in range(paths.island_start[graph.islands]):
            dof = paths.dof[i]
            entry = paths.entry[i]
            for a in range(6):
                column[entry, a] = state.cdof[dof, a]
        return
    for link in range(contacts.link_count):
        start = contacts.link_start[link]
        for e in range(start, start + contacts.link_size[link]):
            for a in range(6):
                column[e, a] = state.cdof[contacts.chain_dof[e], a]


@compiled
def fill_inverse_masses_of(world: Table, work: Table, state: Table) -> None:
    """Fill the inverse masses of contacts that their law knows, of A or of the diagonal of M."""
    contacts = state.contacts
    if work.has_stages == 1:
        masses = np.empty(contacts.count)
        fill_inverse_masses(world.problem, contacts, contacts.count, masses)
        for i in range(contacts.count):
            contacts.inverse_mass[world.problem.graph.contact[i]] = masses[i]
        return
    for c in range(contacts.count):
        contacts.inverse_mass[c] = 0.0
        for side in range(2):
            arm = contacts.arm_a if side == 0 else contacts.arm_b
            link = contacts.link[c, side]
            if link >= 0:
                contacts.inverse_mass[c] += side_inverse_mass(
                    world.plant, state, contacts, link, arm, c
                )


@compiled
def _follow_slopes(world: Table, motion: Table, laws: Table, state: Table, moved: bool) -> None:
    """Fill impulses of contacts by the slopes of their law, if they have ``moved`` or not.

    That includes contacts that turn at another velocity.
    """
    problem = world.problem
    iterate = problem.iterate
    contacts = state.contacts
    count = contacts.count
    components = laws.side_impulse.shape[2]
    impulse = np.empty((count, components))
    for i in range(count):
        c = problem.graph.contact[i]
        distance = contacts.signed_distance[c] - motion.contact_distance[c]
        mass = contacts.inverse_mass[c] - laws.inverse_mass[c] if laws.uses_mass == 1 else 0.0
        for k in range(components):
            impulse[i, k] = laws.side_impulse[0, i, k] + laws.by_distance[i, k] * distance
            impulse[i, k] += laws.by_mass[i, k] * mass
    for end in range(1 + laws.uses_start):
        # Of contact velocities at the end of the step, and at its beginning.
        if end == 0 and not moved:
            continue
        vector = iterate.velocity if end == 0 else state.velocity
        before_now = laws.end_velocity if end == 0 else laws.start_velocity
        contact_velocities_of(problem.graph, iterate, state, vector, laws.now)
        for i in range(count):
            for a in range(components):
                change = laws.now[i, a] - before_now[i, a]
                for k in range(components):
                    if end == 0:
                        impulse[i, k] -= laws.blocks[i, k, a] * change
                    else:
                        impulse[i, k] += laws.by_start[i, a, k] * change
    for i in range(count):
        iterate.g1[i] = impulse[i, 0]
        iterate.g2[i] = impulse[i, 1]
        iterate.gn[i] = impulse[i, 2]
        for k in range(3, components):
            iterate.turn_impulse[i, k - 3] = impulse[i, k]


@compiled
def _find_impulses(world: Table, state: Table) -> None:
    """Fill impulses of contacts that have been found anew, of which the law has been prepared."""
    problem = world.problem
    count = state.contacts.count
    contact_velocities_of(
        problem.graph, problem.iterate, state, problem.iterate.velocity, np.empty((count, 3))
    )
    evaluate_law(problem, state.contacts)


@compiled
def balance_side(
    world: Table,
    work: Table,
    step: float,
    kind: int,
    index: int,
    size: float,
    side: int,
    alone: bool,
) -> int:
    """Fill one of ``sides`` with g at a displaced state, for the rows' impulses of the state.

    Or with what contacts ``alone`` have in g. Returns `OTHER_ROWS` if its rows are others.
    """
    sets = work.sets
    laws = work.laws
    row_laws = work.row_laws
    plant = world.plant
    problem = world.problem
    iterate = problem.iterate
    state = world.current
    displace(world, work, kind, index, size)
    code = _evaluate(world, work, kind)
    if code != OK:
        return code
    if not alone and not same_rows(sets, state):
        return OTHER_ROWS
    if sets.patches == 1:
        code = prepare(world, state, step)
    elif moves(kind) and state.contacts.count > 0:
        _move_links(world, work, state)
    if sets.turning == 1 and sets.patches == 0:
        fill_turning_velocities(plant, state, turning_step(world, step))
    if alone:
        velocity_to_solver(plant, state.cdof, work.velocity, iterate.velocity)
        iterate.gradient[:] = 0.0
    elif code == OK:
        code = smooth_balance(world, work, state, step)
    if code != OK:
        return code
    contacts = state.contacts.count
    rows = 0 if alone else sets.rows
    if contacts > 0 and sets.patches == 1:
        _find_impulses(world, state)
    elif contacts > 0:
        if laws.uses_mass == 1 and (moves(kind) or work.has_stages == 1):
            fill_inverse_masses_of(world, work, state)
        _follow_slopes(world, work.motion, laws, state, moves(kind) or sets.turning == 1)
    if rows > 0:
        find_row_changes(world, sets, row_laws, state, step, size)
        for i in range(rows):
            iterate.row_impulse[i] = row_laws.row_impulse[problem.graph.row[i]]
    add_impulses(
        problem.graph,
        iterate,
        state.contacts,
        state.rows,
        (0, contacts),
        (0, rows),
        iterate.gradient,
        -1.0,
    )
    force_from_solver(plant, state.cdof, iterate.gradient, work.generalized)
    for i in range(work.generalized.size):
        work.sides[side, i] = work.generalized[i]
    activations_after(world, work.start, state, step, work.sides[side])
    for i in range(work.start.qvel.size + state.act.size, work.sides.shape[1]):
        work.sides[side, i] = work.sides[0, i]
    return OK


@compiled
def is_bent(work: Table) -> bool:
    """Whether both sides of a difference are so different that there is a kink between."""
    start = work.start
    most = 0.0
    bend = 0.0
    for i in range(start.qvel.size):
        ahead = work.sides[1, i] - work.sides[0, i]
        behind = work.sides[0, i] - work.sides[2, i]
        most = max(most, abs(ahead), abs(behind))
        bend = max(bend, abs(ahead - behind))
    return bend > _BENT * most


@compiled
def choose_side(
    world: Table,
    work: Table,
    step: float,
    kind: int,
    index: int,
    size: float,
    alone: bool,
    out: np.ndarray,
) -> int:
    """Fill the difference of the side without a kink, as a smaller difference knows.

    Or ahead, at the kink itself.
    """
    ahead = (work.sides[1] - work.sides[0]) / size
    behind = (work.sides[0] - work.sides[2]) / size
    near = _NEARER * size
    one = balance_side(world, work, step, kind, index, near, 1, alone)
    other = balance_side(world, work, step, kind, index, -near, 2, alone)
    if one != OK or other != OK:
        return max(one, other, OK)
    out[:] = (work.sides[1] - work.sides[2]) * (0.5 / near)
    first = np.max(np.abs(ahead - out))
    last = np.max(np.abs(behind - out))
    if is_bent(work) or first < _SAME * last:
        out[:] = ahead
    elif last < _SAME * first:
        out[:] = behind
    return OK


@compiled
def _fill_column(world: Table, work: Table, step: float, kind: int, index: int, row: int) -> int:
    """Fill a row of ``columns`` by one coordinate of a kind."""
    sets = work.sets
    row_laws = work.row_laws
    size = displacement_of(work, kind, index)
    is_curved = moves(kind) or sets.patches == 1 or work.has_stages == 1
    begin_row_changes(sets, row_laws)
    ahead = balance_side(world, work, step, kind, index, size, 1, False)
    behind = OTHER_ROWS
    if is_curved or row_laws.others > 0 or ahead == OTHER_ROWS:
        behind = balance_side(world, work, step, kind, index, -size, 2, False)
    if ahead > OK or behind > OK:
        return max(ahead, behind)
    first = 1 if ahead == OK else 0
    last = 2 if behind == OK else 0
    column = work.columns[row]
    if first == last:
        work.unmatched += 1
        column[:] = 0.0
        return OK
    if row_laws.others > 0 or (is_curved and (first == 0 or last == 0)):
        work.one_sided += 1
    scale = 1.0 / size if first == 0 or last == 0 else 0.5 / size
    for i in range(column.size):
        column[i] = scale * (work.sides[first, i] - work.sides[last, i])
    if first > 0 and last > 0 and sets.patches == 1 and is_bent(work):
        work.one_sided += 1
        code = choose_side(world, work, step, kind, index, size, False, column)
        if code != OK:
            return code
    if first > 0 and last > 0 and any_row_missing(sets, row_laws):
        begin_row_changes(sets, row_laws)
        for side in range(2):
            near = (1 - 2 * side) * NARROW * size
            code = balance_side(world, work, step, kind, index, near, 1 + side, False)
            if code > OK:
                return code
    subtract_rows(work, column)
    return OK


@compiled
def difference_columns(
    world: Table, work: Table, step: float, kind: int, row: int, known: np.ndarray
) -> int:
    """Fill columns, from ``row``, by coordinates of a kind of which they are not known yet."""
    displaced = False
    for index in range(known.size):
        if known[index] != UNKNOWN:
            continue
        displaced = True
        code = _fill_column(world, work, step, kind, index, row + index)
        if code != OK:
            return code
    if displaced and not moves(kind):
        # What depends on positions is at hand for the next kind.
        state = world.current
        restore(work.start, work.inputs, state)
        if _finds_contacts(work.sets, kind):
            state.valid = 0
            return call_pp_status(world.evaluate, world.plant, state)
        return evaluate_motion(world, state)
    return OK


@compiled
def control_columns(world: Table, work: Table, step: float, row: int) -> int:
    """Fill rows of ``columns``, from ``row``, by all controls."""
    start = work.start
    sets = work.sets
    known = np.zeros(start.ctrl.size, np.int64)
    if sets.patches == 0:
        servo_columns(world, work, step, row, known)
    return difference_columns(world, work, step, CONTROL, row, known)
