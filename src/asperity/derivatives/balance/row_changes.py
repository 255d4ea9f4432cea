"""Changes of the impulses of scalar constraints with a displaced state, on the piece at hand.

A row whose piece of its law is another one on one side takes the difference on the other one, so
that all derivatives belong to the pieces that H has.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.contact.constraint_laws import EQUALITY_RECOVERY, NEAR_RIGID_PERIOD, STIFFEST_STEP
from asperity.contact.constraint_set import ACTUATOR, EQUALITY, LIMIT
from asperity.convex.contact_velocities import row_velocities
from asperity.convex.potentials.rows import evaluate_rows, prepare_rows
from asperity.integrators.methods.convex_step import drift_speed, equality_step, limit_step

__all__ = [
    "NARROW",
    "OTHER_ROWS",
    "any_row_missing",
    "begin_row_changes",
    "find_row_changes",
    "row_piece",
    "subtract_rows",
]

OTHER_ROWS = -1
"""Of a displaced state with other rows, instead of a code."""

NARROW = 1e-3
"""How much smaller a displacement is where rows are on other pieces on both of its sides.

A piece may be narrow: that of a joint that is about to reach its limit, for instance.
"""


@compiled
def row_piece(
    world: Table, rows: Table, i: int, impulse: float, curvature: float, step: float, shift: float
) -> int:
    """The piece that a row with this impulse and curvature is on, its position shifted by a bit."""
    problem = world.problem
    law = problem.law
    r = problem.graph.row[i]
    kind = rows.kind[r]
    if kind == LIMIT:
        piece = 1 if curvature > 0.0 else 0
        if rows.position[r] + shift < problem.options.limit_gap:
            piece += 2
        if rows.upper[r] - shift < problem.options.limit_gap:
            piece += 4
        # At the joint's limit of velocity, its own limits play no part.
        if law.row_target[i] == -rows.lower[r]:
            piece += 8
        if law.row_upper[i] == rows.lower[r]:
            piece += 16
        return piece
    if kind == EQUALITY:
        size = abs(rows.position[r] + shift)
        reach = step + NEAR_RIGID_PERIOD * max(equality_step(world, step), STIFFEST_STEP) / np.pi
        slow = size / EQUALITY_RECOVERY
        at_once = drift_speed(world)
        if size / reach <= max(slow, at_once):
            return 0
        return 1 if slow > at_once else 2
    if kind == ACTUATOR and curvature == 0.0:
        if impulse <= law.row_lower[i]:
            return 1
        return 2 if impulse >= law.row_upper[i] else 0
    return 0


@compiled
def begin_row_changes(sets: Table, row_laws: Table) -> None:
    """Forget the changes of another displacement; ``row_done`` counts the sides of each row."""
    for i in range(sets.rows):
        row_laws.row_done[i] = 0
        row_laws.row_change[i] = 0.0
    row_laws.others = 0


@compiled
def find_row_changes(
    world: Table, sets: Table, row_laws: Table, state: Table, step: float, size: float
) -> None:
    """Add differences of the impulses of a displaced state's rows to ``row_change``.

    ``others`` counts the rows that are on another piece. Fills the rows' impulses and curvatures.
    """
    problem = world.problem
    iterate, graph = problem.iterate, problem.graph
    rows = state.rows
    count = rows.count
    row_velocities(graph, rows, 0, count, state.velocity, iterate.row_u)
    limits, equalities = limit_step(world, step), equality_step(world, step)
    prepare_rows(problem, rows, step, limits, equalities, drift_speed(world), count, False)
    row_velocities(graph, rows, 0, count, iterate.velocity, iterate.row_u)
    evaluate_rows(problem.law, iterate, 0, count)
    for i in range(sets.rows):
        r = graph.row[i]
        impulse = iterate.row_impulse[i]
        piece = row_piece(world, rows, i, impulse, iterate.row_curvature[i], step, 0.0)
        if piece != row_laws.row_piece[r]:
            row_laws.others += 1
            continue
        row_laws.row_change[r] += (impulse - row_laws.row_impulse[r]) / size
        row_laws.row_done[r] += 1


@compiled
def any_row_missing(sets: Table, row_laws: Table) -> bool:
    """Whether a row has been on another piece on every side so far."""
    missing = 0
    for i in range(sets.rows):
        if row_laws.row_done[i] == 0:
            missing += 1
    return missing > 0


@compiled
def subtract_rows(work: Table, column: np.ndarray) -> None:
    """Subtract what changes of the rows' impulses do."""
    start = work.start
    sets = work.sets
    row_laws = work.row_laws
    first = work.laws.blocks.shape[1] * sets.contacts
    for r in range(sets.rows):
        if row_laws.row_done[r] == 0:
            work.unmatched += 1
            continue
        change = row_laws.row_change[r] / row_laws.row_done[r]
        if change != 0.0:
            for k in range(start.qvel.size):
                column[k] -= change * work.jacobian[first + r, k]
