"""Closing speeds: how fast the contacts of a tree close, and what its limits stop.

A fast approach to a contact, or any to a limit, that a step stops is no smooth motion: solutions of
different steps see the stop at different times, and their difference is no term of a Taylor series.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.contact.constraint_set import EQUALITY, LIMIT

__all__ = ["closing_speeds", "closing_speeds_before"]

# Gaps of limits by which an equality is violated that is restored rather than held.
_RESTORED = 3.0
# Share of a limit's impulse up to which it holds a joint rather than stops it.
_STOPPED = 0.01


@compiled
def _add_contact(contacts: Table, c: int, vn: float, closing: np.ndarray) -> None:
    for side in range(2):
        link = contacts.link[c, side]
        if link >= 0:
            tree = contacts.link_tree[link]
            closing[tree] = max(closing[tree], -contacts.dissipation[c] * vn)


@compiled
def closing_speeds(state: Table, closing: np.ndarray) -> None:
    """Fill how fast the contacts of every tree close in the last solution kept in a state's sets.

    Parameters
    ----------
    state : Table
    closing : array, shape (ntree,)
        Fastest normal velocity with which a contact of the tree that carries a force closes, times
        its dissipation (by what share damping exceeds the elastic force); 0 if none closes.
    """
    closing[:] = 0.0
    contacts = state.contacts
    for c in range(contacts.count):
        if contacts.impulse[c, 2] > 0.0:
            _add_contact(contacts, c, contacts.velocity[c, 2], closing)


@compiled
def closing_speeds_before(
    graph: Table, options: Table, iterate: Table, state: Table, step: float, closing: np.ndarray
) -> None:
    """Fill how fast, at a state's own velocity, the contacts close that then carry a force.

    Those are the ones with an impulse in the last solution that is kept. Needs the problem's
    contact and row velocities at the state's own velocity. What limits stop closes infinitely fast.
    """
    closing[:] = 0.0
    contacts = state.contacts
    for i in range(contacts.count):
        c = graph.contact[i]
        if contacts.impulse[c, 2] > 0.0:
            _add_contact(contacts, c, iterate.vn[i], closing)
    rows = state.rows
    for i in range(rows.count):
        r = graph.row[i]
        if _stopped_share(rows, r, iterate.row_u[i], step, options.limit_gap) > _STOPPED:
            for side in range(2):
                if rows.tree[r, side] >= 0:
                    closing[rows.tree[r, side]] = np.inf


@compiled
def _stopped_share(rows: Table, r: int, velocity: float, step: float, gap: float) -> float:
    """The share of a row's impulse that has stopped an approach, from its velocity before.

    All of it if the row brings back what is far from where it belongs: a violated equality that
    cannot be met, as a weld to what is out of reach, has no smooth motion.
    """
    impulse = rows.impulse[r]
    if impulse == 0.0:
        return 0.0
    if rows.kind[r] == EQUALITY:
        return 1.0 if abs(rows.position[r]) > _RESTORED * gap else 0.0
    if rows.kind[r] != LIMIT:
        return 0.0
    fastest = rows.lower[r]
    if min(rows.position[r], rows.upper[r]) > fastest * step:
        return max(abs(velocity) - fastest, 0.0) / (abs(impulse) * rows.inverse_mass[r])
    sign = 1.0 if rows.position[r] <= rows.upper[r] else -1.0
    pushed = sign * impulse * rows.inverse_mass[r]
    if pushed <= 0.0:
        return 1.0
    away = max(min(rows.position[r], rows.upper[r]) - gap, 0.0)
    return (max(-sign * velocity, 0.0) + away / step) / pushed
