"""Contacts in the middle of a doubled step, with the gaps that the first half step has aimed at.

The end of a half step lies on a chord. Above a curved surface the chord ends h²κ/8 too high, where
κ is the relative curvature times the square of the speed. That is the half step's error of
position. If the second half step corrected it, the doubled step would count the error twice.
Extrapolation would then end with a gap of −h²κ/4 instead of one of third order, and rolling bodies
would hop.

So contacts that have carried a force in the first half have the signed distance φ + v_n h/2 in the
second half, as near-rigid constraints have (`.convex_step.drift_speed`). If such geoms have no
contact any more because the gap has opened, the middle is evaluated once more with it
(`asperity.plant.detection.pressed_contacts`).

None of this is part of the CENIC paper.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled, inlined
from asperity.integrators.methods.motion import ensure_evaluated
from asperity.integrators.world_layout import OK
from asperity.plant.plant_layouts import GLIDING

__all__ = ["evaluate_middle", "keep_expected_gaps"]

# How much farther than the contact itself the next one of the same geoms must be, as a square.
_APART = 4.0


@compiled
def _is_of_the_same_geoms(before: Table, k: int, after: Table, c: int) -> bool:
    return before.geom[k, 0] == after.geom[c, 0] and before.geom[k, 1] == after.geom[c, 1]


@compiled
def _contacts_before(before: Table, after: Table, c: int, begin: int) -> int:
    """The first contact of the same geoms, or −1; sought from ``begin`` on, and then before it.

    Both sets are mostly in the same order, in which contacts of the same geoms follow each other.
    """
    for offset in range(before.count):
        k = begin + offset
        if k >= before.count:
            k -= before.count
        if _is_of_the_same_geoms(before, k, after, c):
            return k
    return -1


@inlined
def _square_between(before: Table, k: int, after: Table, c: int) -> float:
    square = 0.0
    for i in range(3):
        d = after.point[c, i] - before.point[k, i]
        square += d * d
    return square


@compiled
def _nearest_before(before: Table, after: Table, c: int, first: int) -> int:
    """Which contact from the first one of the same geoms on is nearest; −1 if several are near.

    And if another one of those after is nearer to it, so that this one is new.
    """
    best = -1
    least = np.inf
    second = np.inf
    k = first
    while k < before.count and _is_of_the_same_geoms(before, k, after, c):
        square = _square_between(before, k, after, c)
        if square < least:
            second = least
            least = square
            best = k
        elif square < second:
            second = square
        k += 1
    if best < 0 or second < _APART * least:
        return -1
    for step in (-1, 1):
        other = c + step
        while 0 <= other < after.count and _is_of_the_same_geoms(before, best, after, other):
            if _square_between(before, best, after, other) < least:
                return -1
            other += step
    return best


@compiled
def _loses_contact(before: Table, after: Table) -> bool:
    """Whether geoms that were pressed together have no contact any more."""
    last = 0
    for k in range(before.count):
        if before.impulse[k, 2] > 0.0:
            last = _contacts_before(after, before, k, max(last, 0))
            if last < 0:
                return True
    return False


@compiled
def evaluate_middle(world: Table, source: Table, half: Table, interval: float) -> int:
    """Evaluate the end of the first half step, with its contacts; returns a code."""
    code = ensure_evaluated(world, half)
    if code == OK and half.gliding != 0 and _loses_contact(source.contacts, half.contacts):
        gliding = GLIDING.at(half.gliding)
        gliding.before = source.address
        gliding.interval = interval
        half.valid = 0
        code = ensure_evaluated(world, half)
        gliding.before = 0
    if code == OK:
        keep_expected_gaps(source.contacts, half.contacts, interval, world.accuracy)
    return code


@compiled
def keep_expected_gaps(before: Table, after: Table, interval: float, accuracy: float) -> None:
    """Give contacts the signed distances that the solution before has aimed at.

    Parameters
    ----------
    before, after : Table
        Contact sets at a half step's beginning, with its solution, and at its end.
    interval : float
        The half step [s].
    accuracy : float
        Of the step [m]. Larger differences than half of it are no error of the half step.
    """
    first = 0
    for c in range(after.count):
        if after.patch[c] >= 0:
            continue
        found = _contacts_before(before, after, c, first)
        if found < 0:
            continue
        first = found
        k = _nearest_before(before, after, c, first)
        if k < 0 or before.impulse[k, 2] <= 0.0:
            continue
        expected = before.signed_distance[k] + interval * before.velocity[k, 2]
        change = expected - after.signed_distance[c]
        if abs(change) <= 0.5 * accuracy:
            after.signed_distance[c] = expected
            after.distance_change[c] = change
