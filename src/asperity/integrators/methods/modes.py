"""Modes of contacts and constraints: the active set, which must not change in a smooth step.

A contact is open, sticks or slides. Dry friction and servos are at one of their bounds or between
them. A limit pushes at one end or not at all. Equalities have a single mode. If the solutions of a
step differ in a mode, from each other or from the step's beginning, they approximate no common
smooth motion, and their difference is no term of a Taylor series.

Two things are never smooth: a contact that breaks loose from static friction, and a fast approach
to a contact, or any to a limit, that the step stops. Closing speeds show the second.

A patch of pressure fields is one contact, because its points come and go without a jump of the
force. It sticks, or slides if any of its points does.

The modes of a tree are one number: a sum of hashes over the contacts and rows that touch it.
Indices and order change from one evaluation to the next, and do not enter.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.contact.constraint_set import ACTUATOR, EQUALITY, FRICTION, LIMIT
from asperity.contact.laws import STRIBECK_WIDTH
from asperity.convex.ellipsoids import slip_square
from asperity.integrators.contact_groups import in_group

__all__ = ["tree_modes", "tree_modes_before"]

# Slip, in stiction tolerances, up to which a contact sticks.
_STICKING = 3.0
# Up to which it may have stuck before the step, whatever the directions of contacts do.
_UNCERTAIN = 30.0
# And up to which its coefficient falls from the static to the dynamic one.
_FALLING = 2.0 * STRIBECK_WIDTH
# Gaps of limits by which an equality is violated that is restored rather than held.
_RESTORED = 3.0
# Share of a limit's impulse up to which it holds a joint rather than stops it.
_STOPPED = 0.01
# Shares of a bound from which dry friction and servos are at it.
_SLIDING = 0.95
_SATURATED = 1.0 - 1e-9

_STICKS = 1
_SLIDES = 2
# This and what follows differ between solutions.
_BREAKS_LOOSE = 3


@compiled
def _hash(mode: int, first: int, second: int) -> int:
    value = mode * 0x9E3779B97F4A7C1 + first * 0x2545F4914F6CDD1 + second * 0x369DEA0F31A53F8
    value ^= value >> 29
    return value * 0x1B873593CC9E2D51


@compiled
def _slip_of(contacts: Table, c: int) -> float:
    """Slip of a contact in the last solution that is kept [m/s]."""
    if contacts.ellipsoidal[c] != 0:
        return contacts.slip[c]
    v1 = contacts.velocity[c, 0]
    v2 = contacts.velocity[c, 1]
    return np.sqrt(v1 * v1 + v2 * v2)


@compiled
def _contact_mode(contacts: Table, c: int, slip: float) -> int:
    """The mode of a contact that carries a force."""
    tolerance = contacts.stiction_tolerance[c]
    if slip < _STICKING * tolerance:
        return _STICKS
    if slip < _FALLING * tolerance and (
        contacts.static_friction[c] != contacts.dynamic_friction[c]
    ):
        return _BREAKS_LOOSE
    return _SLIDES


@compiled
def _joined(mode: int, other: int) -> int:
    """The mode of a patch with another point: what its points do, whether some do it or all."""
    if mode == 0 or mode == other:
        return other
    return max(mode, other)


@compiled
def _add_contact(
    contacts: Table,
    c: int,
    mode: int,
    vn: float,
    modes: np.ndarray,
    closing: np.ndarray,
) -> None:
    number = _hash(mode, contacts.geom[c, 0], contacts.geom[c, 1])
    for side in range(2):
        link = contacts.link[c, side]
        if link >= 0:
            tree = contacts.link_tree[link]
            modes[tree] += number
            closing[tree] = max(closing[tree], -contacts.dissipation[c] * vn)


@compiled
def _row_mode(rows: Table, r: int, interval: float) -> int:
    kind = rows.kind[r]
    force = rows.impulse[r] / interval
    if kind == LIMIT:
        return int(force > 0.0) + 2 * int(force < 0.0)
    if kind == FRICTION:
        bound = _SLIDING * rows.upper[r]
        return int(force > bound) + 2 * int(force < -bound)
    if kind == ACTUATOR:
        upper = rows.upper[r] - (1.0 - _SATURATED) * abs(rows.upper[r])
        lower = rows.lower[r] + (1.0 - _SATURATED) * abs(rows.lower[r])
        return int(force >= upper) + 2 * int(force <= lower)
    return 0


@compiled
def tree_modes(
    state: Table,
    interval: float,
    solution: int,
    modes: np.ndarray,
    row_modes: np.ndarray,
    closing: np.ndarray,
) -> None:
    """Fill the modes of every tree in the last solution that is kept in a state's sets.

    Parameters
    ----------
    state : Table
    interval : float
        Of that solution [s].
    solution : int
        Its number, which tells apart modes that are never smooth.
    modes : array of int64, shape (ntree,)
        Of contacts.
    row_modes : array of int64, shape (ntree,)
        Of rows.
    closing : array, shape (ntree,)
        Fastest normal velocity with which a contact of the tree closes, times its dissipation (by
        what share damping exceeds the elastic force); 0 if none closes.
    """
    for tree in range(modes.size):
        modes[tree] = 0
        row_modes[tree] = 0
        closing[tree] = 0.0
    contacts = state.contacts
    c = 0
    while c < contacts.count:
        first = c
        mode = 0
        vn = np.inf
        while c < contacts.count and in_group(contacts, first, c):
            if contacts.impulse[c, 2] > 0.0:
                velocity = contacts.velocity[c]
                mode = _joined(mode, _contact_mode(contacts, c, _slip_of(contacts, c)))
                vn = min(vn, velocity[2])
            c += 1
        if mode == 0:
            continue
        if mode >= _BREAKS_LOOSE:
            mode += solution
        _add_contact(contacts, first, mode, vn, modes, closing)
    rows = state.rows
    for r in range(rows.count):
        mode = _row_mode(rows, r, interval)
        if mode == 0:
            continue
        number = _hash(4 * (1 + rows.kind[r]) + mode, rows.source[r], rows.identity[r])
        for side in range(2):
            if rows.tree[r, side] >= 0:
                row_modes[rows.tree[r, side]] += number


@compiled
def tree_modes_before(
    graph: Table,
    options: Table,
    iterate: Table,
    state: Table,
    step: float,
    modes: np.ndarray,
    closing: np.ndarray,
) -> None:
    """Fill the modes that a state's own velocity has, of the contacts that then carry a force.

    Those are the ones with an impulse in the last solution that is kept. Needs the problem's
    contact and row velocities at the state's own velocity. Rows have no modes here, but what they
    stop closes infinitely fast.

    A velocity that stuck in the directions of the middle of the step before slips in those of its
    end. So a contact that sticks in the solution counts as one that has stuck.
    """
    for tree in range(modes.size):
        modes[tree] = 0
        closing[tree] = 0.0
    contacts = state.contacts
    i = 0
    while i < contacts.count:
        first = graph.contact[i]
        c = first
        mode = 0
        vn = np.inf
        while in_group(contacts, first, c):
            if contacts.impulse[c, 2] > 0.0:
                found = _contact_mode(contacts, c, _slip_of(contacts, c))
                square = slip_square(graph, iterate, i, 0.0)
                uncertain = _UNCERTAIN * contacts.stiction_tolerance[c]
                if found != _STICKS and square >= uncertain * uncertain:
                    found = _contact_mode(contacts, c, np.sqrt(square))
                mode = _joined(mode, found)
                vn = min(vn, iterate.vn[i])
            i += 1
            if i == contacts.count:
                break
            c = graph.contact[i]
        if mode != 0:
            _add_contact(contacts, first, mode, vn, modes, closing)
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
