"""Changes of the impulses of scalar constraints with a displaced state, on the piece at hand.

A row whose piece of its law is another one on one side takes the difference on the other one, so
that all derivatives belong to the pieces that H has.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.compiled.calls import call_pp_status
from asperity.convex.contact_velocities import row_velocities
from asperity.convex.potentials.rows import evaluate_rows, prepare_rows
from asperity.derivatives.displacement import displace, restore
from asperity.derivatives.layout import POSITION, VELOCITY
from asperity.derivatives.matching import same_rows
from asperity.derivatives.pieces import row_piece
from asperity.derivatives.rigid_terms import mass_diagonal_change
from asperity.integrators.world_layout import OK
from asperity.plant.trees import velocity_to_solver

__all__ = [
    "NARROW",
    "OTHER_ROWS",
    "any_row_missing",
    "begin_row_changes",
    "find_row_changes",
    "row_columns",
    "subtract_rows",
]

OTHER_ROWS = -1
"""Of a displaced state with other rows, instead of a code."""

# Rows are smooth on a piece, and limits of joints know positions as they are. A piece may be
# narrower than this: that of a joint that is about to reach its limit, for instance.
_SIZE = 1e-6
NARROW = 1e-3
"""How much smaller a displacement is where rows are on other pieces on both of its sides."""


@compiled
def begin_row_changes(work: Table) -> None:
    """Forget the changes of another displacement; ``row_done`` counts the sides of each row."""
    for i in range(work.rows):
        work.row_done[i] = 0
        work.row_change[i] = 0.0
    work.others = 0


@compiled
def find_row_changes(world: Table, work: Table, state: Table, step: float, size: float) -> None:
    """Add differences of the impulses of a displaced state's rows to ``row_change``.

    ``others`` counts the rows that are on another piece. Fills the rows' impulses and curvatures.
    """
    problem = world.problem
    rows = state.rows
    count = rows.count
    row_velocities(problem, rows, 0, count, state.velocity, problem.row_u)
    prepare_rows(problem, rows, step, count, False)
    row_velocities(problem, rows, 0, count, problem.velocity, problem.row_u)
    evaluate_rows(problem, 0, count)
    for i in range(work.rows):
        impulse = problem.row_impulse[i]
        piece = row_piece(problem, rows, i, impulse, problem.row_curvature[i], step, 0.0)
        if piece != work.row_piece[i]:
            work.others += 1
            continue
        work.row_change[i] += (problem.row_impulse[i] - work.row_impulse[i]) / size
        work.row_done[i] += 1


@compiled
def any_row_missing(work: Table) -> bool:
    """Whether a row has been on another piece on every side so far."""
    missing = 0
    for i in range(work.rows):
        if work.row_done[i] == 0:
            missing += 1
    return missing > 0


@compiled
def subtract_rows(world: Table, work: Table, column: np.ndarray) -> None:
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
def _move_outputs(plant: Table, state: Table, array: np.ndarray, dof: int, size: float) -> None:
    """Let lengths or velocities of servos follow a degree of freedom."""
    for k in range(plant.servo_output.size):
        o = plant.servo_output[k]
        for e in range(
            state.mj_moment_rowadr[o], state.mj_moment_rowadr[o] + state.mj_moment_rownnz[o]
        ):
            if state.mj_moment_colind[e] == dof:
                array[o] += size * state.mj_actuator_moment[e]


@compiled
def _rows_at(
    world: Table,
    work: Table,
    kind: int,
    index: int,
    size: float,
    step: float,
    diagonal: np.ndarray,
    pad: np.ndarray,
) -> int:
    """Find changes of rows in a displaced state of which nothing else is evaluated."""
    plant = world.plant
    state = world.current
    displace(world, work, kind, index, size)
    outputs = state.mj_actuator_length
    if kind == VELOCITY:
        outputs = state.mj_actuator_velocity
        velocity_to_solver(plant, state.cdof, state.qvel, state.velocity)
    else:
        m = plant.dof_parent[work.joint_first[index]]
        while m >= 0:
            change = mass_diagonal_change(work, state.cdof, index, m, pad)
            state.mass_diagonal[m] = diagonal[m] + size * change
            m = plant.dof_parent[m]
    _move_outputs(plant, state, outputs, index, size)
    code = call_pp_status(plant.read_constraints, plant, state)
    _move_outputs(plant, state, outputs, index, -size)
    m = plant.dof_parent[work.joint_first[index]]
    while m >= 0:
        state.mass_diagonal[m] = diagonal[m]
        m = plant.dof_parent[m]
    if code != OK:
        return code
    if not same_rows(work, state):
        return OTHER_ROWS
    find_row_changes(world, work, state, step, size)
    return OK


@compiled
def row_columns(world: Table, work: Table, step: float) -> int:
    """Add what rows do to columns by positions and velocities, of joints that are hinges or slides.

    Afterwards the current state's rows are those of a displaced one.
    """
    if work.rows == 0:
        return OK
    nv = work.qvel.size
    diagonal = world.current.mass_diagonal.copy()
    pad = np.zeros((2, 6))
    for kind in (POSITION, VELOCITY):
        first = 0 if kind == POSITION else nv
        for index in range(nv):
            size = _SIZE
            for attempt in range(2):
                begin_row_changes(work)
                ahead = _rows_at(world, work, kind, index, size, step, diagonal, pad)
                behind = _rows_at(world, work, kind, index, -size, step, diagonal, pad)
                if ahead > OK or behind > OK:
                    return max(ahead, behind)
                if attempt == 0 and (work.others > 0 or ahead != OK or behind != OK):
                    work.one_sided += 1
                if not any_row_missing(work):
                    break
                size = NARROW * _SIZE
            subtract_rows(world, work, work.columns[first + index])
    restore(work, world.current)
    velocity_to_solver(world.plant, world.current.cdof, work.qvel, world.current.velocity)
    return OK
