"""Islands that are rough: contacts or limits come or go, or stop a fast approach, within the step.

Such motion is not smooth: solutions of different steps see the event at different times, and their
difference is no term of a Taylor series. The numbers of contacts and limits that push a tree, which
must be the same in all three solutions, show the first. Closing speeds before and after the step
show the second. Friction that begins to slip, or sticks, leaves an island smooth.

Where faces or edges of volumes touch, they do so in points that are others in every solution:
extrapolated, what rests on them would not stop vibrating.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.contact.constraint_set import EQUALITY, LIMIT
from asperity.integrators.contact_groups import in_group
from asperity.integrators.methods.convex_step import velocities_at
from asperity.integrators.methods.extrapolation_layout import EXTRAPOLATION

__all__ = ["OF_VOLUMES", "find_rough_islands", "note_approach", "note_first_half"]

# Closing speed, times dissipation, up to which extrapolation stands an impact.
_CLOSING = 0.3
# Gaps of limits, and how far [m or rad], by which an equality is violated that is restored rather
# than held. So far one gives way to a force that would accelerate what it holds by 10⁴ m/s².
_RESTORED, _GIVES_WAY = 3.0, 2e-5
# Share of a limit's impulse up to which it holds a joint rather than stops it.
_STOPPED = 0.01
OF_VOLUMES = 4
"""Corners of an element of a volume."""

_BEFORE, _WHOLE, _FIRST, _SECOND = range(4)


@compiled
def _note_solution(memory: Table, state: Table, solution: int) -> None:
    """Keep, of the last solution in a state's sets, closing speeds and how much pushes every tree.

    Contacts and limits without a force do not count, and patches count as one contact.
    """
    closing, pushing = memory.closing[solution], memory.pushing[solution]
    closing[:] = 0.0
    pushing[:] = 0
    contacts = state.contacts
    c = 0
    while c < contacts.count:
        first = c
        fastest = -np.inf
        while c < contacts.count and in_group(contacts, first, c):
            if contacts.impulse[c, 2] > 0.0:
                fastest = max(fastest, -contacts.velocity[c, 2])
            c += 1
        if fastest == -np.inf:
            continue
        for side in range(2):
            link = contacts.link[first, side]
            if link >= 0:
                tree = contacts.link_tree[link]
                pushing[tree] += 1
                closing[tree] = max(closing[tree], contacts.dissipation[first] * fastest)
    rows = state.rows
    for r in range(rows.count):
        if rows.kind[r] == LIMIT and rows.impulse[r] != 0.0:
            for side in range(2):
                if rows.tree[r, side] >= 0:
                    pushing[rows.tree[r, side]] += 1


@compiled
def _fill_closing_before(
    graph: Table, options: Table, iterate: Table, state: Table, step: float, closing: np.ndarray
) -> None:
    """Fill how fast the contacts of trees close before a step, of those that then carry a force.

    Speeds are times the dissipation: by what share damping exceeds the elastic force.

    Those are the ones with an impulse in the last solution that is kept. Needs the problem's
    contact and row velocities at the state's own velocity. What limits stop closes infinitely fast.
    """
    closing[:] = 0.0
    contacts = state.contacts
    for i in range(contacts.count):
        c = graph.contact[i]
        for side in range(2):
            link = contacts.link[c, side]
            if contacts.impulse[c, 2] > 0.0 and link >= 0:
                tree = contacts.link_tree[link]
                closing[tree] = max(closing[tree], -contacts.dissipation[c] * iterate.vn[i])
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
        return 1.0 if abs(rows.position[r]) > max(_RESTORED * gap, _GIVES_WAY) else 0.0
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
    """Keep the islands of the whole step's graph, and its contacts' speeds before and after it."""
    problem = world.problem
    graph = problem.graph
    memory = EXTRAPOLATION.at(world.memory)
    velocities_at(graph, problem.iterate, source, source.velocity)
    _note_solution(memory, source, _WHOLE)
    closing = memory.closing[_BEFORE]
    _fill_closing_before(graph, problem.options, problem.iterate, source, step, closing)
    for tree in range(graph.ntree):
        memory.island[tree] = graph.component[graph.ntree + tree]


@compiled
def note_first_half(memory: Table, source: Table) -> None:
    """Keep what the first half step's solution, which the source has, shows of its contacts."""
    _note_solution(memory, source, _FIRST)


@compiled
def _stops_approach(closing: np.ndarray) -> bool:
    """Whether contacts close much slower than before, or limits have stopped something."""
    before = closing[_BEFORE]
    return before > _CLOSING and np.min(closing[_WHOLE:]) < 0.5 * before


@compiled
def _note_faces(plant: Table, memory: Table, contacts: Table) -> None:
    """Let islands be rough in which points of faces or edges of volumes are pushed."""
    for c in range(contacts.count):
        for side in range(2):
            flex = contacts.geom[c, side] - plant.ngeom
            link = contacts.link[c, side]
            if (
                flex >= 0
                and link >= 0
                and contacts.vertex[c, side] < 0
                and contacts.impulse[c, 2] > 0.0
                and plant.elastic.flex_corners[flex] == OF_VOLUMES
            ):
                memory.rough[memory.island[contacts.link_tree[link]]] = 1


@compiled
def find_rough_islands(plant: Table, memory: Table, half: Table) -> None:
    """Find the islands that are rough; takes the solution of the second half step."""
    _note_solution(memory, half, _SECOND)
    memory.rough[:] = 0
    for tree in range(memory.island.size):
        pushing = memory.pushing[:, tree]
        if (
            pushing[_WHOLE] != pushing[_FIRST]
            or pushing[_FIRST] != pushing[_SECOND]
            or _stops_approach(memory.closing[:, tree])
        ):
            memory.rough[memory.island[tree]] = 1
    _note_faces(plant, memory, half.contacts)
