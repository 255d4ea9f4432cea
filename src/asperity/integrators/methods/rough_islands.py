"""Islands in which something stops a fast approach: these are rough, and are not extrapolated.

A fast approach to a contact, or any to a limit, that a step stops is no smooth motion: solutions of
different steps see the stop at different times, and their difference is no term of a Taylor series.
Closing speeds before and after the step show it. A contact that the second half step alone sees is
judged by the speed in the middle; an island that so meets another one is rough at any speed, as
both must be extrapolated together to keep their momentum.

Islands in which contacts that push come or go from one half step to the next are extrapolated, but
their velocities count less (`asperity.integrators.methods.extrapolation`), and they do not swing
(`asperity.integrators.methods.swings`).
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.contact.constraint_set import EQUALITY, LIMIT
from asperity.integrators.contact_groups import in_group
from asperity.integrators.methods.convex_step import velocities_at
from asperity.integrators.methods.extrapolation_layout import EXTRAPOLATION
from asperity.integrators.methods.half_step_gaps import contacts_before

__all__ = ["find_rough_islands", "note_approach", "note_first_half"]

# Closing speed, times dissipation, up to which extrapolation stands an impact.
_CLOSING = 0.3
# Gaps of limits by which an equality is violated that is restored rather than held.
_RESTORED = 3.0
# Share of a limit's impulse up to which it holds a joint rather than stops it.
_STOPPED = 0.01

_BEFORE, _WHOLE, _FIRST, _SECOND = range(4)


@compiled
def _add_contact(contacts: Table, c: int, vn: float, closing: np.ndarray) -> None:
    for side in range(2):
        link = contacts.link[c, side]
        if link >= 0:
            tree = contacts.link_tree[link]
            closing[tree] = max(closing[tree], -contacts.dissipation[c] * vn)


@compiled
def _fill_closing(state: Table, closing: np.ndarray) -> None:
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
def _fill_closing_before(
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


@compiled
def note_approach(world: Table, source: Table, step: float) -> None:
    """Keep the islands of the whole step's graph, and the closing speeds before and after it."""
    problem = world.problem
    graph = problem.graph
    memory = EXTRAPOLATION.at(world.memory)
    velocities_at(graph, problem.iterate, source, source.velocity)
    _fill_closing(source, memory.closing[_WHOLE])
    closing = memory.closing[_BEFORE]
    _fill_closing_before(graph, problem.options, problem.iterate, source, step, closing)
    for tree in range(graph.ntree):
        memory.island[tree] = graph.component[graph.ntree + tree]


@compiled
def note_first_half(memory: Table, source: Table) -> None:
    """Keep the closing speeds of the first half step's solution, which the source has."""
    _fill_closing(source, memory.closing[_FIRST])


@compiled
def _stops_approach(closing: np.ndarray) -> bool:
    """Whether contacts close much slower than before, or limits have stopped something."""
    before = closing[_BEFORE]
    return before > _CLOSING and np.min(closing[_WHOLE:]) < 0.5 * before


@compiled
def _meets_something(source: Table, half: Table) -> bool:
    """Whether a contact has a force in the second half step whose geoms did not meet before."""
    contacts = half.contacts
    last = 0
    for c in range(contacts.count):
        if contacts.impulse[c, 2] > 0.0:
            last = contacts_before(source.contacts, contacts, c, max(last, 0))
            if last < 0:
                return True
    return False


@compiled
def _add_rough_meetings(world: Table, source: Table, half: Table) -> None:
    """Add the islands that meet something fast, or each other, in the second half step."""
    memory = EXTRAPOLATION.at(world.memory)
    graph = world.problem.graph
    iterate = world.problem.iterate
    contacts = half.contacts
    velocities_at(graph, iterate, half, half.velocity)
    for i in range(contacts.count):
        c = graph.contact[i]
        if contacts.impulse[c, 2] > 0.0 and contacts_before(source.contacts, contacts, c, 0) < 0:
            link = max(contacts.link[c, 0], contacts.link[c, 1])
            other = min(contacts.link[c, 0], contacts.link[c, 1])
            island = memory.island[contacts.link_tree[link]]
            met = memory.island[contacts.link_tree[other]] if other >= 0 else island
            if met != island or -contacts.dissipation[c] * iterate.vn[i] > _CLOSING:
                memory.rough[island] = 1
                memory.rough[met] = 1
    velocities_at(graph, iterate, half, iterate.velocity)


@compiled
def _count_pushing(memory: Table, contacts: Table, number: int) -> None:
    """Add a number to a tree's count for every contact, or patch, that pushes it."""
    c = 0
    while c < contacts.count:
        first = c
        pushes = False
        while c < contacts.count and in_group(contacts, first, c):
            pushes = pushes or contacts.impulse[c, 2] > 0.0
            c += 1
        if pushes:
            for side in range(2):
                link = contacts.link[first, side]
                if link >= 0:
                    memory.pushed[contacts.link_tree[link]] += number


@compiled
def _find_changing_islands(memory: Table, source: Table, half: Table) -> None:
    """Find the islands in which contacts that push come or go from one half step to the next."""
    memory.pushed[:] = 0
    _count_pushing(memory, source.contacts, -1)
    _count_pushing(memory, half.contacts, 1)
    memory.changing[:] = 0
    for tree in range(memory.island.size):
        if memory.pushed[tree] != 0:
            memory.changing[memory.island[tree]] = 1


@compiled
def find_rough_islands(world: Table, source: Table, half: Table) -> None:
    """Find the islands that are rough and those that change; needs both half steps' solutions."""
    memory = EXTRAPOLATION.at(world.memory)
    _fill_closing(half, memory.closing[_SECOND])
    memory.rough[:] = 0
    for tree in range(memory.island.size):
        if _stops_approach(memory.closing[:, tree]):
            memory.rough[memory.island[tree]] = 1
    if _meets_something(source, half):
        _add_rough_meetings(world, source, half)
    _find_changing_islands(memory, source, half)
