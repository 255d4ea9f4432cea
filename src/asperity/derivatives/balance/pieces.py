"""Which piece of its law a contact or a row is on, and differences that stay on it.

Where a displaced state has led across a kink of a law, its side of a central difference belongs to
another piece than H does. The impulse of the contact or row on that side is then replaced by what
continues the difference on the other side, γ(+) = 2 γ − γ(−). If both sides are on other pieces the
difference is left as it is: the state itself is where several kinks meet.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.contact.constraint_laws import EQUALITY_RECOVERY, NEAR_RIGID_PERIOD, STIFFEST_STEP
from asperity.contact.constraint_set import ACTUATOR, EQUALITY, LIMIT
from asperity.derivatives.balance.matching import is_near

__all__ = [
    "contact_piece",
    "has_left_pieces",
    "keep_side",
    "row_piece",
    "stay_on_pieces",
]

# What is as stiff in all directions, but for how friction that bends does so at the least slip.
_EVEN = 1e-6


@compiled
def contact_piece(problem: Table, i: int) -> int:
    """The piece that a contact's curvatures are those of.

    Whether it pushes, and, of friction that is linear where it sticks, whether it slides: there
    it is as stiff in all directions.
    """
    piece = 1 if problem.hnn[i] > 0.0 else 0
    stiffness = abs(problem.h11[i]) + abs(problem.h22[i])
    if abs(problem.h12[i]) + abs(problem.h11[i] - problem.h22[i]) > _EVEN * stiffness:
        piece += 2
    return piece


@compiled
def row_piece(
    problem: Table, rows: Table, i: int, impulse: float, curvature: float, step: float, shift: float
) -> int:
    """The piece that a row with this impulse and curvature is on, its position shifted by a bit."""
    law = problem.law
    r = problem.graph.row[i]
    kind = rows.kind[r]
    if kind == LIMIT:
        piece = 1 if curvature > 0.0 else 0
        if rows.position[r] + shift < problem.limit_gap:
            piece += 2
        if rows.upper[r] - shift < problem.limit_gap:
            piece += 4
        return piece
    if kind == EQUALITY:
        size = abs(rows.position[r] + shift)
        reach = step + NEAR_RIGID_PERIOD * max(step, STIFFEST_STEP) / np.pi
        slow = size / EQUALITY_RECOVERY
        if size / reach <= max(slow, problem.drift_speed):
            return 0
        return 1 if slow > problem.drift_speed else 2
    if kind == ACTUATOR and curvature == 0.0:
        if impulse <= law.row_lower[i]:
            return 1
        return 2 if impulse >= law.row_upper[i] else 0
    return 0


@compiled
def keep_side(work: Table, problem: Table, state: Table, step: float, side: int) -> bool:
    """Keep impulses and pieces of a state whose balance has been found; 0 is the state itself.

    False if contacts are in another order than in the state itself.
    """
    contacts = state.contacts
    graph = problem.graph
    for i in range(contacts.count):
        c = graph.contact[i]
        if side == 0:
            work.contact_place[i] = c
        elif not is_near(work, contacts, c, c):
            return False
        work.side_piece[side, c] = contact_piece(problem, i)
        for a in range(3):
            work.side_force[side, c, a] = (
                problem.g1[i] * contacts.frame[c, a]
                + problem.g2[i] * contacts.frame[c, 3 + a]
                + problem.gn[i] * contacts.frame[c, 6 + a]
            )
    for i in range(state.rows.count):
        r = graph.row[i]
        if side == 0:
            work.row_place[i] = r
        impulse = problem.row_impulse[i]
        work.side_impulse[side, r] = impulse
        work.side_row_piece[side, r] = row_piece(
            problem, state.rows, i, impulse, problem.row_curvature[i], step, 0.0
        )
    return True


@compiled
def _other_side(pieces: np.ndarray, i: int) -> int:
    """Which of both sides alone is on another piece than the state itself; 0 if that is none."""
    ahead = pieces[1, i] != pieces[0, i]
    behind = pieces[2, i] != pieces[0, i]
    if ahead and not behind:
        return 1
    return 2 if behind and not ahead else 0


@compiled
def has_left_pieces(work: Table) -> bool:
    """Whether a contact or row is on another piece than the state itself on both sides."""
    for c in range(work.contacts):
        piece = work.side_piece[0, c]
        if work.side_piece[1, c] != piece and work.side_piece[2, c] != piece:
            return True
    for r in range(work.rows):
        piece = work.side_row_piece[0, r]
        if work.side_row_piece[1, r] != piece and work.side_row_piece[2, r] != piece:
            return True
    return False


@compiled
def stay_on_pieces(work: Table, scale: float, column: np.ndarray) -> bool:
    """Let a difference of both sides, times ``scale``, be that of the pieces of the state itself.

    Returns whether anything was on another one.
    """
    any_other = False
    change = np.zeros(3)
    for i in range(work.contacts):
        c = work.contact_place[i]
        side = _other_side(work.side_piece, c)
        if side == 0:
            continue
        any_other = True
        for k in range(3):
            change[k] = 0.0
            for a in range(3):
                bend = 2.0 * work.side_force[0, c, a]
                bend -= work.side_force[1, c, a] + work.side_force[2, c, a]
                change[k] += bend * work.contact_frame[c, 3 * k + a]
        sign = -scale if side == 1 else scale
        for j in range(work.qvel.size):
            for k in range(3):
                column[j] += sign * change[k] * work.jacobian[3 * i + k, j]
    for i in range(work.rows):
        r = work.row_place[i]
        side = _other_side(work.side_row_piece, r)
        if side == 0:
            continue
        any_other = True
        sign = -scale if side == 1 else scale
        bend = 2.0 * work.side_impulse[0, r] - work.side_impulse[1, r] - work.side_impulse[2, r]
        for j in range(work.qvel.size):
            column[j] += sign * bend * work.jacobian[3 * work.contacts + i, j]
    return any_other
