"""Derivatives of contact impulses by all that a law takes, on the piece of the law at hand.

A law gives the impulse of a contact from its velocity at the step's end, which H knows, and from
its distance, its velocity at the step's beginning, and its inverse mass. Its derivatives by these
are differences of all contacts at once, at fixed velocities. Where a displacement leads across the
kink at which a contact begins to push, the other side's difference is taken: derivatives then
belong to the same piece of the law as H does, for every contact by itself.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.convex.contact_velocities import add_surface_velocities, link_velocities
from asperity.convex.contact_velocities import contact_velocities as fill_velocities
from asperity.convex.potentials.contact_driver import (
    begin_estimates,
    change_numbers,
    evaluate_contacts,
    prepare_contacts,
)

__all__ = ["contact_velocities_of", "fill_law_slopes", "respond"]

# Displacements of distances [m] and velocities [m/s], and of inverse masses relative to them.
_DISTANCE = 1e-8
_VELOCITY = 1e-8
_MASS = 1e-6
# Slopes on both sides that differ by more have a kink between.
_KINK = 0.1


@compiled
def contact_velocities_of(
    problem: Table, state: Table, vector: np.ndarray, out: np.ndarray
) -> None:
    """Fill ``out`` with contact velocities of solver velocities."""
    contacts = state.contacts
    count = contacts.count
    link_velocities(problem, contacts, vector)
    fill_velocities(problem.graph, contacts, 0, count, vector, problem.v1, problem.v2, problem.vn)
    add_surface_velocities(problem, contacts, 0, count)
    for i in range(count):
        out[i, 0] = problem.v1[i]
        out[i, 1] = problem.v2[i]
        out[i, 2] = problem.vn[i]


@compiled
def respond(
    work: Table, problem: Table, contacts: Table, step: float, axis: int, size: float
) -> None:
    """Fill impulses with velocities at the beginning displaced along an axis, if that is not −1."""
    count = contacts.count
    for i in range(count):
        problem.v1[i] = work.start_velocity[i, 0] + (size if axis == 0 else 0.0)
        problem.v2[i] = work.start_velocity[i, 1] + (size if axis == 1 else 0.0)
        problem.vn[i] = work.start_velocity[i, 2] + (size if axis == 2 else 0.0)
    prepare_contacts(problem, contacts, step, count)
    for i in range(count):
        problem.v1[i] = work.end_velocity[i, 0]
        problem.v2[i] = work.end_velocity[i, 1]
        problem.vn[i] = work.end_velocity[i, 2]
    if problem.law.settle_contacts != 0:
        problem.changes = 0
        begin_estimates(problem, 0, count)
        change_numbers(problem, contacts, 0, count, False)
    evaluate_contacts(problem, 0, count)


@compiled
def _slope(work: Table, problem: Table, i: int, a: int, size: float, ahead: np.ndarray) -> float:
    """A difference of impulses on the piece at hand; ``ahead`` has those ahead, and whether they
    push, and the problem those behind."""
    behind_value = problem.g1[i] if a == 0 else (problem.g2[i] if a == 1 else problem.gn[i])
    base = work.impulse[i, a]
    first = (ahead[i, a] - base) / size
    second = (base - behind_value) / size
    pushes = work.impulse[i, 2] > 0.0
    ahead_same = (ahead[i, 2] > 0.0) == pushes
    behind_same = (problem.gn[i] > 0.0) == pushes
    if ahead_same and not behind_same:
        return first
    if behind_same and not ahead_same:
        return second
    if abs(first - second) > _KINK * max(abs(first), abs(second)):
        return first
    return 0.5 * (first + second)


@compiled
def _keep_ahead(problem: Table, count: int, ahead: np.ndarray) -> None:
    for i in range(count):
        ahead[i, 0] = problem.g1[i]
        ahead[i, 1] = problem.g2[i]
        ahead[i, 2] = problem.gn[i]


@compiled
def fill_law_slopes(work: Table, problem: Table, state: Table, step: float) -> None:
    """Fill impulses of the state itself, and their slopes, after `residual` there."""
    contacts = state.contacts
    count = contacts.count
    work.uses_mass = 0
    work.uses_start = 0
    if count == 0:
        return
    contact_velocities_of(problem, state, problem.velocity, work.end_velocity)
    contact_velocities_of(problem, state, state.velocity, work.start_velocity)
    respond(work, problem, contacts, step, -1, 0.0)
    _keep_ahead(problem, count, work.impulse)
    ahead = np.zeros((count, 3))
    for side in range(2):
        size = _DISTANCE if side == 0 else -_DISTANCE
        for c in range(count):
            contacts.signed_distance[c] = work.contact_distance[c] + size
        respond(work, problem, contacts, step, -1, 0.0)
        if side == 0:
            _keep_ahead(problem, count, ahead)
    for i in range(count):
        contacts.signed_distance[i] = work.contact_distance[i]
        for a in range(3):
            work.by_distance[i, a] = _slope(work, problem, i, a, _DISTANCE, ahead)
    for side in range(2):
        size = 1.0 + (_MASS if side == 0 else -_MASS)
        for c in range(count):
            contacts.inverse_mass[c] = work.inverse_mass[c] * size
        respond(work, problem, contacts, step, -1, 0.0)
        if side == 0:
            _keep_ahead(problem, count, ahead)
    for i in range(count):
        c = problem.graph.contact[i]
        for a in range(3):
            work.by_mass[i, a] = 0.0
            if work.inverse_mass[c] > 0.0:
                size = _MASS * work.inverse_mass[c]
                work.by_mass[i, a] = _slope(work, problem, i, a, size, ahead)
            if work.by_mass[i, a] != 0.0:
                work.uses_mass = 1
    for c in range(count):
        contacts.inverse_mass[c] = work.inverse_mass[c]
    for axis in range(3):
        for side in range(2):
            size = _VELOCITY if side == 0 else -_VELOCITY
            respond(work, problem, contacts, step, axis, size)
            if side == 0:
                _keep_ahead(problem, count, ahead)
        for i in range(count):
            for a in range(3):
                slope = _slope(work, problem, i, a, _VELOCITY, ahead)
                work.by_start[i, a, axis] = slope
                if slope != 0.0:
                    work.uses_start = 1
