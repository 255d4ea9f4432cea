"""Contacts that the middle of a doubled step must not lose.

The first half step ends on a chord. Above a curved surface the chord ends a little too high, so
that a contact that the half step has pressed together may not overlap any more: the second half
step would fall freely, for as long as it takes. So geoms that were pressed together count as in
contact up to the distance that their force closes within the whole step,

    φ ≤ ½ w (J/τ) (2 τ)² = 2 w J τ,

with the inverse mass w at the contact and the normal impulse J of the half step τ. Where the force
goes to zero, as it does when something lifts off, so does the distance.
"""

from __future__ import annotations

from asperity.compiled import Table, compiled
from asperity.plant.plant_layouts import GLIDING, STATE

__all__ = ["widen_for_pressed", "within_reach_of_force"]


@compiled
def _closed_by_force(before: Table, k: int, interval: float) -> float:
    """The distance that the force of contact k closes within two intervals [m]."""
    return 2.0 * before.inverse_mass[k] * before.impulse[k, 2] * interval


@compiled
def widen_for_pressed(gliding: Table) -> None:
    """Fill what geoms that the state before has pressed together add to their margins."""
    before = STATE.at(gliding.before).contacts
    added = gliding.added
    for g in range(added.size):
        added[g] = 0.0
    for k in range(before.count):
        share = 0.5 * _closed_by_force(before, k, gliding.interval)
        for side in range(2):
            g = before.geom[k, side]
            added[g] = max(added[g], share)


@compiled
def within_reach_of_force(state: Table, c: int) -> bool:
    """Whether a contact's geoms were pressed together so that they may count at its distance."""
    gliding = GLIDING.at(state.gliding)
    contacts = state.contacts
    before = STATE.at(gliding.before).contacts
    for k in range(before.count):
        if (
            before.geom[k, 0] == contacts.geom[c, 0]
            and before.geom[k, 1] == contacts.geom[c, 1]
            and contacts.signed_distance[c] <= _closed_by_force(before, k, gliding.interval)
        ):
            return True
    return False
