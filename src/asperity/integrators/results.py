"""Results of steps: from the solver to the contact set, and from there to what is published.

A method calls `keep_results` with its solution. The impulses and velocities then stand in the
contact and constraint sets of the state in which the step was solved. A stepping that accepts the
step has `deliver` copy them, so that later attempts do not disturb what is published. Methods
without impulses, as the classical ones, keep nothing: publication asks them for the forces of the
state.

Between the method's end and `deliver` nobody may evaluate the state with the results anew. With
error control, which evaluates a step's end before it accepts the step, this is never the current
state.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, entry_point, inlined
from asperity.compiled.arrays import copy_numbers
from asperity.compiled.calls import call_method
from asperity.compiled.team import over_ranges
from asperity.contact.delivered import NOTHING, TAKEN
from asperity.convex.ellipsoids import slip_square
from asperity.integrators.world_layout import OK, SHARE_SIGNATURE, WORLD
from asperity.plant.plant_layouts import STATE
from asperity.plant.resting_layout import RESTING

__all__ = [
    "FEWEST_CONTACTS",
    "RESULT_KERNELS",
    "copy_contact",
    "copy_results",
    "install_results",
    "keep_results",
    "kept_contacts",
    "write_results",
]

FEWEST_CONTACTS = 200
"""Contacts that are worth a thread's while, where they take about ten nanoseconds each."""


@compiled
def _write_contacts(graph: Table, iterate: Table, contacts: Table, first: int, last: int) -> None:
    for i in range(first, last):
        c = graph.contact[i]
        contacts.impulse[c, 0] = iterate.g1[i]
        contacts.impulse[c, 1] = iterate.g2[i]
        contacts.impulse[c, 2] = iterate.gn[i]
        contacts.velocity[c, 0] = iterate.v1[i]
        contacts.velocity[c, 1] = iterate.v2[i]
        contacts.velocity[c, 2] = iterate.vn[i]
        if graph.ellipsoids != 0 and graph.ellipsoidal[i] != 0:
            scale = contacts.slip_scale[c]
            contacts.impulse[c, 1] *= scale[0]
            contacts.velocity[c, 1] /= scale[0]
            contacts.slip[c] = np.sqrt(slip_square(graph, iterate, i, 0.0))
            for k in range(3):
                contacts.angular_impulse[c, k] = scale[1 + k] * iterate.turn_impulse[i, k]


@compiled
def _write_rows(graph: Table, iterate: Table, rows: Table) -> None:
    for i in range(rows.count):
        rows.impulse[graph.row[i]] = iterate.row_impulse[i]


@compiled
def write_results(graph: Table, iterate: Table, contacts: Table, rows: Table) -> None:
    """Write a problem's impulses and contact velocities into the sets that it was made from."""
    _write_contacts(graph, iterate, contacts, 0, contacts.count)
    _write_rows(graph, iterate, rows)


@entry_point(SHARE_SIGNATURE)
def _write_part(world: Table, first: int, last: int, _unused: int) -> int:
    """`write_results` of some contacts, or, for −1, of all rows."""
    state = STATE.at(world.shared_source)
    if first < 0:
        _write_rows(world.problem.graph, world.problem.iterate, state.rows)
    else:
        _write_contacts(world.problem.graph, world.problem.iterate, state.contacts, first, last)
    return OK


@compiled
def keep_results(
    world: Table, state: Table, before: np.ndarray, after: np.ndarray, step: float
) -> None:
    """Keep what a solve in a state's configuration has found.

    Parameters
    ----------
    world, state : Table
        The solution is in the world's problem: impulses, and velocities of contacts.
    before, after : array, shape (nv,)
        Generalized velocities at the beginning and at the end of the interval.
    step : float
        The interval over which the impulses act [s].
    """
    world.shared_source = state.address
    count = state.contacts.count
    over_ranges(world.team, world.write_results, world.address, count, FEWEST_CONTACTS, True)
    for i in range(after.size):
        world.result.acceleration[i] = (after[i] - before[i]) / step
    world.result.interval = step
    world.result.solved = state.address


@inlined
def copy_contact(source: Table, i: int, target: Table, k: int) -> None:
    """Copy what publication reads of a contact of one set into a place of another."""
    target.signed_distance[k] = source.signed_distance[i]
    target.static_friction[k] = source.static_friction[i]
    target.ellipsoidal[k] = source.ellipsoidal[i]
    target.stiffness[k] = source.stiffness[i]
    target.area[k] = source.area[i]
    target.patch[k] = source.patch[i]
    for side in range(2):
        target.geom[k, side] = source.geom[i, side]
        target.element[k, side] = source.element[i, side]
        target.vertex[k, side] = source.vertex[i, side]
    for a in range(9):
        target.frame[k, a] = source.frame[i, a]
    for a in range(3):
        target.point[k, a] = source.point[i, a]
        target.impulse[k, a] = source.impulse[i, a]
        target.velocity[k, a] = source.velocity[i, a]
    if source.ellipsoidal[i] != 0:
        for a in range(4):
            target.slip_scale[k, a] = source.slip_scale[i, a]
        for a in range(3):
            target.angular_impulse[k, a] = source.angular_impulse[i, a]


@compiled
def _copy_contacts(delivered: Table, state: Table, kept: int, first: int, last: int) -> None:
    for i in range(first, last):
        copy_contact(state.contacts, i, delivered.contacts, kept + i)


@compiled
def kept_contacts(state: Table) -> int:
    """How many contacts of what rests come before those of a state."""
    return RESTING.at(state.resting).kept if state.resting != 0 else 0


@compiled
def _copy_rows(delivered: Table, state: Table) -> None:
    rows = state.rows
    kept = delivered.rows
    kept.count = rows.count
    for i in range(rows.count):
        kept.kind[i] = rows.kind[i]
        kept.source[i] = rows.source[i]
        kept.identity[i] = rows.identity[i]
        kept.impulse[i] = rows.impulse[i]


@compiled
def copy_results(delivered: Table, source: Table, kept: int) -> None:
    """Copy what publication reads of the contact and constraint sets of a state, or of another one.

    So many contacts of what rests, which are there already, come before those of the source.
    """
    delivered.contacts.count = kept + source.contacts.count
    _copy_contacts(delivered, source, kept, 0, source.contacts.count)
    _copy_rows(delivered, source)


@entry_point(SHARE_SIGNATURE)
def _copy_part(world: Table, first: int, last: int, _unused: int) -> int:
    """`copy_results` of some contacts, or, for −1, all else that is delivered."""
    delivered = world.delivered
    state = STATE.at(world.shared_source)
    kept = kept_contacts(state)
    if first >= 0:
        _copy_contacts(delivered, state, kept, first, last)
        return OK
    delivered.contacts.count = kept + state.contacts.count
    _copy_rows(delivered, state)
    copy_numbers(world.result.acceleration, delivered.acceleration)
    return OK


@entry_point(types.int64(WORLD.type))
def deliver(world: Table) -> int:
    """Copy the results that the last method has kept; they then belong to an accepted step."""
    delivered = world.delivered
    if world.result.solved == 0:
        delivered.origin = NOTHING
        return OK
    state = STATE.at(world.result.solved)
    world.result.solved = 0
    if world.resting != 0:
        call_method(RESTING.at(world.resting).keep_contacts, world, state, 0, world.result.interval)
    world.shared_source = state.address
    count = state.contacts.count
    over_ranges(world.team, world.copy_results, world.address, count, FEWEST_CONTACTS, True)
    delivered.step = world.result.interval
    delivered.origin = TAKEN
    return OK


RESULT_KERNELS = (deliver, _write_part, _copy_part)
"""What `keep_results` and `deliver` need compiled."""


def install_results(world: Table) -> None:
    """Put the entry points of `RESULT_KERNELS` into a world."""
    world.deliver = deliver.address
    world.write_results = _write_part.address
    world.copy_results = _copy_part.address
