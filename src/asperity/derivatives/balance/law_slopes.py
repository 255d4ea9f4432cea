"""Derivatives of contact impulses by all that a law takes, on the piece of the law at hand.

A law gives the impulse of a contact from its velocity at the step's end, which H knows, and from
its distance, its velocity at the step's beginning, and its inverse mass. Its derivatives by these
are differences of all contacts at once, at fixed velocities. Where one leads a contact to
another piece of its law, the other side's difference is taken: derivatives then belong to the same
piece as H does, for every contact by itself.

Velocities and impulses have three components, or six in models with torsional or rolling friction
(`asperity.derivatives.layout.LAWS`).
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.convex.contact_velocities import contact_velocities, link_velocities
from asperity.convex.potentials.contact_driver import (
    begin_estimates,
    change_numbers,
    evaluate_contacts,
    evaluate_exactly,
    prepare_contacts,
)

__all__ = [
    "contact_velocities_of",
    "evaluate_law",
    "fill_law_slopes",
    "respond",
]

# What is displaced: a component of velocities (0 to 5), or else.
_DISTANCE = 6
_MASS = 7
# Displacements of velocities [m/s] and distances [m], and of inverse masses relative to them.
_SIZE = 1e-8
_SHARE = 1e-6
# What is as stiff in all directions, but for how friction that bends does so at the least slip.
_EVEN = 1e-6
# Slopes on both sides that differ by more have a kink between.
_KINK = 0.1


@compiled
def contact_velocities_of(
    graph: Table, iterate: Table, state: Table, vector: np.ndarray, out: np.ndarray
) -> None:
    """Fill ``out`` with contact velocities of solver velocities."""
    contacts = state.contacts
    count = contacts.count
    link_velocities(graph, iterate, contacts, vector)
    contact_velocities(graph, iterate, contacts, 0, count, vector)
    for i in range(count):
        out[i, 0] = iterate.v1[i]
        out[i, 1] = iterate.v2[i]
        out[i, 2] = iterate.vn[i]
        for k in range(3, out.shape[1]):
            # Not filled without contacts that have it.
            out[i, k] = iterate.turn[i, k - 3] if graph.ellipsoids != 0 else 0.0


@compiled
def _set_velocities(
    iterate: Table, velocities: np.ndarray, count: int, axis: int, size: float
) -> None:
    """Set velocities of contacts, with one component displaced, if there is such an axis."""
    for i in range(count):
        iterate.v1[i] = velocities[i, 0] + (size if axis == 0 else 0.0)
        iterate.v2[i] = velocities[i, 1] + (size if axis == 1 else 0.0)
        iterate.vn[i] = velocities[i, 2] + (size if axis == 2 else 0.0)
        for k in range(3, velocities.shape[1]):
            iterate.turn[i, k - 3] = velocities[i, k] + (size if axis == k else 0.0)


@compiled
def evaluate_law(problem: Table, contacts: Table) -> None:
    """Fill impulses at the contact velocities at hand, of a law that has been prepared."""
    count = contacts.count
    if problem.law.settle_contacts != 0:
        problem.newton.changes = 0
        begin_estimates(problem, 0, count)
        # However little that is.
        change_numbers(problem, contacts, 0, count, False)
        evaluate_contacts(problem, 0, count)
    else:
        evaluate_exactly(problem, 0, count)


@compiled
def respond(
    laws: Table, problem: Table, contacts: Table, step: float, axis: int, size: float
) -> None:
    """Fill impulses with a component of velocities at the beginning displaced, if it is one."""
    count = contacts.count
    _set_velocities(problem.iterate, laws.start_velocity, count, axis, size)
    prepare_contacts(problem, contacts, step, count)
    _set_velocities(problem.iterate, laws.end_velocity, count, -1, 0.0)
    evaluate_law(problem, contacts)


@compiled
def _piece(graph: Table, iterate: Table, i: int) -> int:
    """The piece that a contact's curvatures are those of.

    Whether it pushes, and, of friction that is linear where it sticks, whether it slides: there
    it is as stiff in all directions.
    """
    piece = 1 if iterate.gn[i] > 0.0 else 0
    if graph.ellipsoids != 0 and graph.ellipsoidal[i] != 0:
        uneven = abs(iterate.slip_curvature[i, 1])
        stiffness = 2.0 * abs(iterate.slip_curvature[i, 0]) + uneven
    else:
        uneven = abs(iterate.h12[i]) + abs(iterate.h11[i] - iterate.h22[i])
        stiffness = abs(iterate.h11[i]) + abs(iterate.h22[i])
    if uneven > _EVEN * stiffness:
        piece += 2
    return piece


@compiled
def _keep(graph: Table, laws: Table, iterate: Table, count: int, side: int) -> None:
    for i in range(count):
        impulse = laws.side_impulse[side, i]
        impulse[0] = iterate.g1[i]
        impulse[1] = iterate.g2[i]
        impulse[2] = iterate.gn[i]
        for k in range(3, impulse.size):
            impulse[k] = iterate.turn_impulse[i, k - 3] if graph.ellipsoidal[i] != 0 else 0.0
        laws.side_piece[side, i] = _piece(graph, iterate, i)


@compiled
def _slope(first: float, second: float, pieces: tuple[int, int, int]) -> float:
    """A difference of impulses, of both sides' slopes, on the piece at hand, ``pieces[0]``."""
    if pieces[1] == pieces[0] and pieces[2] != pieces[0]:
        return first
    if pieces[2] == pieces[0] and pieces[1] != pieces[0]:
        return second
    if abs(first - second) > _KINK * max(abs(first), abs(second)):
        return first
    return 0.5 * (first + second)


@compiled
def _displace_laws(
    motion: Table,
    laws: Table,
    smooth: Table,
    contacts: Table,
    matrix: np.ndarray,
    what: int,
    size: float,
) -> None:
    """Displace what a law takes of all contacts; by 0 it is as it was.

    A law that knows A itself feels inverse masses as A is scaled; ``matrix`` is A then.
    """
    for c in range(contacts.count):
        if what == _DISTANCE:
            contacts.signed_distance[c] = motion.contact_distance[c] + size
        else:
            contacts.inverse_mass[c] = laws.inverse_mass[c] * (1.0 + size)
    if what == _MASS:
        for k in range(matrix.size):
            smooth.matrix[k] = matrix[k] / (1.0 + size)


@compiled
def _fill_slopes(
    work: Table,
    problem: Table,
    contacts: Table,
    step: float,
    what: int,
    matrix: np.ndarray,
    out: np.ndarray,
) -> bool:
    """Fill slopes of impulses by one number of every contact; False if all are zero."""
    laws = work.laws
    size = _SHARE if what == _MASS else _SIZE
    for side in range(1, 3):
        change = size if side == 1 else -size
        if what >= _DISTANCE:
            _displace_laws(work.motion, laws, problem.smooth, contacts, matrix, what, change)
        respond(laws, problem, contacts, step, what, change)
        _keep(problem.graph, laws, problem.iterate, contacts.count, side)
    if what >= _DISTANCE:
        _displace_laws(work.motion, laws, problem.smooth, contacts, matrix, what, 0.0)
    impulse = laws.side_impulse
    piece = laws.side_piece
    any_slope = False
    for i in range(contacts.count):
        width = size
        if what == _MASS:
            width *= laws.inverse_mass[problem.graph.contact[i]]
        pieces = (piece[0, i], piece[1, i], piece[2, i])
        for a in range(out.shape[1]):
            out[i, a] = 0.0
            if width > 0.0:
                first = (impulse[1, i, a] - impulse[0, i, a]) / width
                second = (impulse[0, i, a] - impulse[2, i, a]) / width
                out[i, a] = _slope(first, second, pieces)
            any_slope = any_slope or out[i, a] != 0.0
    return any_slope


@compiled
def fill_law_slopes(work: Table, problem: Table, state: Table, step: float) -> None:
    """Fill impulses of the state itself, and their slopes, after `residual` there."""
    iterate = problem.iterate
    laws = work.laws
    contacts = state.contacts
    laws.uses_mass = 0
    laws.uses_start = 0
    if contacts.count == 0:
        return
    contact_velocities_of(problem.graph, iterate, state, iterate.velocity, laws.end_velocity)
    contact_velocities_of(problem.graph, iterate, state, state.velocity, laws.start_velocity)
    respond(laws, problem, contacts, step, -1, 0.0)
    _keep(problem.graph, laws, iterate, contacts.count, 0)
    matrix = problem.smooth.matrix.copy() if work.has_stages == 1 else np.empty(0)
    _fill_slopes(work, problem, contacts, step, _DISTANCE, matrix, laws.by_distance)
    if _fill_slopes(work, problem, contacts, step, _MASS, matrix, laws.by_mass):
        laws.uses_mass = 1
    components = laws.by_start.shape[1]
    slopes = np.empty((contacts.count, components))
    for axis in range(components):
        if _fill_slopes(work, problem, contacts, step, axis, matrix, slopes):
            laws.uses_start = 1
        for i in range(contacts.count):
            for k in range(components):
                laws.by_start[i, axis, k] = slopes[i, k]
