"""Contacts of a state are found again in a displaced state.

Collision detection may return the contacts of a displaced state in another order, with more of
them, or with fewer: the corners of two faces that lie on each other, for instance, change when one
is turned. A derivative is that of a fixed set of contacts, so every contact of the state itself
looks for its partner, the nearest one of the same geoms, and what has none is left out.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.derivatives.balance.sides import has_weights

__all__ = ["match_contacts", "remember_sets", "same_rows"]


@compiled
def remember_sets(plant: Table, sets: Table, state: Table) -> None:
    """Keep what contacts and rows of the state at hand are recognised by."""
    contacts = state.contacts
    sets.contacts = contacts.count
    sets.fields = 0
    sets.weights = 0
    sets.taut = 1 if plant.elastic.strands + plant.elastic.triangles > 0 else 0
    for c in range(contacts.count):
        if has_weights(plant, contacts, c):
            sets.weights = 1
        if contacts.patch[c] >= 0:
            sets.fields = 1
        sets.contact_geom[c, 0] = contacts.geom[c, 0]
        sets.contact_geom[c, 1] = contacts.geom[c, 1]
        for a in range(3):
            sets.contact_point[c, a] = contacts.point[c, a]
    sets.patches = max(sets.fields, sets.weights)
    rows = state.rows
    sets.rows = rows.count
    for r in range(rows.count):
        sets.row_kind[r] = rows.kind[r]
        sets.row_source[r] = rows.source[r]


@compiled
def _distance(sets: Table, contacts: Table, c: int, other: int) -> float:
    """How far contact ``other`` of a displaced state is from c, if it may be what that was."""
    if (
        contacts.geom[other, 0] != sets.contact_geom[c, 0]
        or contacts.geom[other, 1] != sets.contact_geom[c, 1]
    ):
        return np.inf
    farthest = np.max(np.abs(contacts.point[other] - sets.contact_point[c]))
    return float(farthest) if farthest <= sets.reach else np.inf


@compiled
def _move(contacts: Table, source: int, target: int) -> None:
    """Copy what detection says of a contact to another place."""
    if source == target:
        return
    for side in range(2):
        contacts.link[target, side] = contacts.link[source, side]
        contacts.geom[target, side] = contacts.geom[source, side]
        contacts.surface_velocity[target, side] = contacts.surface_velocity[source, side]
    for a in range(3):
        contacts.arm_a[target, a] = contacts.arm_a[source, a]
        contacts.arm_b[target, a] = contacts.arm_b[source, a]
        contacts.point[target, a] = contacts.point[source, a]
    for a in range(9):
        contacts.frame[target, a] = contacts.frame[source, a]
    contacts.signed_distance[target] = contacts.signed_distance[source]
    contacts.stiffness[target] = contacts.stiffness[source]
    contacts.dissipation[target] = contacts.dissipation[source]
    contacts.static_friction[target] = contacts.static_friction[source]
    contacts.dynamic_friction[target] = contacts.dynamic_friction[source]
    contacts.stiction_tolerance[target] = contacts.stiction_tolerance[source]
    contacts.relaxation_time[target] = contacts.relaxation_time[source]
    contacts.inverse_mass[target] = contacts.inverse_mass[source]
    contacts.source[target] = contacts.source[source]
    contacts.area[target] = contacts.area[source]
    contacts.patch[target] = contacts.patch[source]
    contacts.growth[target] = contacts.growth[source]
    contacts.carried[target] = contacts.carried[source]


@compiled
def match_contacts(sets: Table, state: Table) -> bool:
    """Leave in a displaced state the contacts of the state itself; False if one is missing."""
    contacts = state.contacts
    if sets.patches == 1:
        # Polygons of pressure fields appear and vanish with an area of zero.
        return True
    taken = np.zeros(contacts.count, np.int64)
    for c in range(sets.contacts):
        best = -1
        least = np.inf
        for other in range(contacts.count):
            distance = _distance(sets, contacts, c, other)
            if taken[other] == 0 and distance < least:
                least = distance
                best = other
        if best < 0:
            return False
        taken[best] = 1
    # Those that are taken keep their order: whose partner is whose makes no difference to a sum.
    count = 0
    for other in range(contacts.count):
        if taken[other] == 1:
            _move(contacts, other, count)
            count += 1
    contacts.count = count
    return True


@compiled
def same_rows(sets: Table, state: Table) -> bool:
    """Whether a displaced state has the same scalar constraints."""
    rows = state.rows
    if rows.count != sets.rows:
        return False
    for r in range(rows.count):
        if rows.kind[r] != sets.row_kind[r] or rows.source[r] != sets.row_source[r]:
            return False
    return True
