"""Derivatives of the momentum balance by state and inputs, at a prescribed velocity.

Central differences of the evaluation alone: a displaced state is evaluated, its contacts are
matched with those of the state itself, the method prepares its problem there, and g is taken at the
same velocity. No problem is solved. Where contacts appear or vanish on one side of the state, the
difference is one-sided. What a displacement leads to another piece of its law is taken from the
other side (`asperity.derivatives.balance.pieces`); polygons of pressure fields that move have no
partners, so there both sides of a whole difference are compared, with a kink between if they
differ.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.compiled.calls import call_pp_status
from asperity.derivatives.balance.contact_motion import keep_contacts
from asperity.derivatives.balance.displacement import (
    displace,
    evaluate_inputs,
    evaluate_motion,
    moves,
    restore,
    size_of,
)
from asperity.derivatives.balance.matching import match_contacts, same_rows
from asperity.derivatives.balance.pieces import has_left_pieces, keep_side, stay_on_pieces
from asperity.derivatives.balance.residual import activations_after, prepare, residual
from asperity.derivatives.layout import (
    ACTIVATION,
    CONTROL,
    DIRECTION,
    EVALUATED_COLUMNS,
    POSITION,
    VELOCITY,
)
from asperity.derivatives.stages import stage
from asperity.integrators.world_layout import OK

__all__ = ["evaluated_columns"]

# What one side of a difference is, if it is not to be had, beside the codes of methods.
OTHER_SETS = -1
OTHER_ORDER = -2  # of contacts that are the same

_NEARER = 1e-2
# Differences of both sides that are farther apart, relative, have a kink between; and one that is
# so much nearer to a smaller difference has none.
_BENT = 1e-5
_SAME = 0.1

# Displacements of central differences [m, rad; m/s, rad/s; units of controls]. With
# positions contact velocities move, at a metre per second by 3e-8 m/s, and friction bends within
# the stiction tolerance of 1e-4 m/s: smaller ones are lost in the round-off of distances, at larger
# ones (the whole step would not feel them, as its velocity adapts) differences are off by their
# square. By velocities and inputs g is nearly linear.
_SIZES = (3e-8, 1e-6, 1e-5)


@compiled
def _needs_contacts(world: Table, kind: int) -> bool:
    """Whether contacts depend on what is displaced.

    Those with pressure fields know how fast shapes roll and slide.
    """
    return moves(kind) or (kind == VELOCITY and world.plant.fields.any == 1)


@compiled
def _keeps_contacts(work: Table, kind: int, index: int) -> bool:
    """Whether displaced states have the contacts of the state itself: not polygons that move."""
    if work.patches == 0 or not moves(kind):
        return True
    if kind == POSITION:
        return False
    farthest = 0.0
    for i in range(work.qvel.size):
        farthest = max(farthest, abs(work.directions[index, i]))
    return farthest == 0.0


@compiled
def _side(
    world: Table, work: Table, kind: int, index: int, size: float, step: float, side: int
) -> int:
    """Fill one side of a difference; `OTHER_SETS` if contacts or rows are others there."""
    displace(world, work, kind, index, size)
    state = world.current
    anew = _needs_contacts(world, kind)
    if anew:
        state.valid = 0
        code = call_pp_status(world.evaluate, world.plant, state)
    else:
        code = evaluate_inputs(world, kind)
    if code != OK:
        return code
    same = same_rows(work, state)
    if anew and same:
        same = match_contacts(work, state)
    if not same:
        return OTHER_SETS
    code = prepare(world, state, step)
    if code != OK:
        return code
    out = work.sides[side]
    residual(world, work, state, step, out)
    activations_after(world, work, state, step, out)
    if _keeps_contacts(work, kind, index) and not keep_side(work, world.problem, state, step, side):
        return OTHER_ORDER
    return OK


@compiled
def _both_sides(
    world: Table, work: Table, kind: int, index: int, size: float, step: float
) -> tuple[int, int]:
    """Fill both sides of a difference."""
    return (
        _side(world, work, kind, index, size, step, 1),
        _side(world, work, kind, index, -size, step, 2),
    )


@compiled
def _is_bent(work: Table) -> bool:
    """Whether both sides of a difference are so different that there is a kink between."""
    most = 0.0
    bend = 0.0
    for i in range(work.qvel.size):
        ahead = work.sides[1, i] - work.sides[0, i]
        behind = work.sides[0, i] - work.sides[2, i]
        most = max(most, abs(ahead), abs(behind))
        bend = max(bend, abs(ahead - behind))
    return bend > _BENT * most


@compiled
def _distance(column: np.ndarray, own: np.ndarray) -> float:
    total = 0.0
    for i in range(own.size):
        total = max(total, abs(column[i] - own[i]))
    return total


@compiled
def _choose_side(
    world: Table, work: Table, step: float, kind: int, index: int, row: int, size: float
) -> int:
    """Let a column be that of one side, where both are different, as those of pressure fields.

    Of the side without a kink, as a smaller difference knows, or ahead at the kink itself.
    """
    width = work.sides.shape[1]
    ahead = np.zeros(width)
    behind = np.zeros(width)
    for i in range(width):
        ahead[i] = (work.sides[1, i] - work.sides[0, i]) / size
        behind[i] = (work.sides[0, i] - work.sides[2, i]) / size
    near = _NEARER * size
    one, other = _both_sides(world, work, kind, index, near, step)
    if one != OK or other != OK:
        return max(one, other, OK)
    column = work.columns[row]
    for i in range(width):
        column[i] = (work.sides[1, i] - work.sides[2, i]) * (0.5 / near)
    at_kink = _is_bent(work)
    first = _distance(ahead, column)
    last = _distance(behind, column)
    if at_kink or first < _SAME * last:
        column[:] = ahead
    elif last < _SAME * first:
        column[:] = behind
    return OK


@compiled
def _column(
    world: Table, work: Table, step: float, kind: int, index: int, row: int, size: float
) -> int:
    """Fill a row of ``columns`` by one coordinate of a kind."""
    reach = size
    ahead, behind = _both_sides(world, work, kind, index, reach, step)
    if ahead == OTHER_SETS and behind == OTHER_SETS:
        # Nearer to the state the sets may be the same.
        reach = _NEARER * size
        ahead, behind = _both_sides(world, work, kind, index, reach, step)
    keeps = _keeps_contacts(work, kind, index)
    if ahead == OK and behind == OK and keeps and has_left_pieces(work):
        # A piece that is narrower than the displacement.
        reach = _NEARER * size
        ahead, behind = _both_sides(world, work, kind, index, reach, step)
    ordered = ahead == OK and behind == OK
    ahead = OK if ahead == OTHER_ORDER else ahead
    behind = OK if behind == OTHER_ORDER else behind
    if ahead > OK or behind > OK:
        return max(ahead, behind)
    first = work.sides[1]
    last = work.sides[2]
    scale = 0.5 / reach
    if ahead < OK and behind < OK:
        work.unmatched += 1
        scale = 0.0
    elif ahead < OK:
        work.one_sided += 1
        first = work.sides[0]
        scale = 1.0 / reach
    elif behind < OK:
        work.one_sided += 1
        last = work.sides[0]
        scale = 1.0 / reach
    for i in range(work.sides.shape[1]):
        work.columns[row, i] = scale * (first[i] - last[i])
    if ordered and keeps:
        work.one_sided += int(stay_on_pieces(work, scale, work.columns[row]))
    elif ordered and _is_bent(work):
        work.one_sided += 1
        return _choose_side(world, work, step, kind, index, row, reach)
    return OK


@compiled
def _columns(world: Table, work: Table, step: float, kind: int, count: int, row: int) -> int:
    """Fill rows of ``columns``, from ``row``, by all coordinates of a kind."""
    for index in range(count):
        size = size_of(work, kind, index, _SIZES)
        code = _column(world, work, step, kind, index, row + index, size)
        if code != OK:
            return code
    restore(work, world.current)
    if count > 0 and not _needs_contacts(world, kind):
        return evaluate_motion(world, world.current)
    # Of positions the snapshot is to be made anew; else what does not depend on them stays.
    world.current.valid = 0
    return OK


@stage
def evaluated_columns(world: Table, work: Table, step: float, selection: int) -> int:
    """Fill ``columns`` as `asperity.derivatives.balance.frozen_columns.frozen_columns` does.

    ``sides[0]`` has what belongs to the state itself. Afterwards the current state is that again,
    without an evaluation.
    """
    nv = work.qvel.size
    na = work.act.size
    nu = work.ctrl.size
    code = OK
    work.columns_kind = EVALUATED_COLUMNS
    keep_contacts(world.plant, work, world.current)
    keep_side(work, world.problem, world.current, step, 0)
    if selection < 0:
        code = _columns(world, work, step, DIRECTION, -selection, 0)
    else:
        code = _columns(world, work, step, VELOCITY, nv, nv)
        if code == OK:
            code = _columns(world, work, step, ACTIVATION, na, 2 * nv)
        if code == OK:
            code = _columns(world, work, step, CONTROL, nu, 2 * nv + na)
        if code == OK:
            code = _columns(world, work, step, POSITION, nv, 0)
    restore(work, world.current)
    world.current.valid = 0
    world.graph_state = 0
    return code
