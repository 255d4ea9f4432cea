"""One row for each attempted step, for the history of a run."""

from __future__ import annotations

from asperity.compiled import Table, compiled
from asperity.compiled.calls import load_address
from asperity.integrators.results import kept_contacts
from asperity.integrators.world_layout import ATTEMPT_COLUMNS, NON_FINITE, NOT_CONVERGED, OK

__all__ = [
    "ACCEPTED",
    "CONTACTS",
    "ELASTIC",
    "ERROR",
    "IMPACT",
    "INACCURATE",
    "ITERATIONS",
    "MISSED",
    "NO_SOLUTION",
    "STEP",
    "TIME",
    "UNSOLVED",
    "VERDICT",
    "keep_attempt",
    "verdict_of",
]

# Columns: beginning of the step [s], its size [s], estimated error, verdict, iterations so far,
# contacts of the state in which it begins, and their elastic energy [J].
TIME, STEP, ERROR, VERDICT, ITERATIONS, CONTACTS, ELASTIC = range(ATTEMPT_COLUMNS)

# Verdicts.
ACCEPTED, INACCURATE, UNSOLVED, NO_SOLUTION, IMPACT, MISSED = range(6)


@compiled
def verdict_of(code: int) -> int:
    """Verdict on an attempt that is refused for its code, or for its error."""
    if code == NOT_CONVERGED:
        return UNSOLVED
    if code == NON_FINITE:
        return NO_SOLUTION
    return INACCURATE if code == OK else UNSOLVED


@compiled
def keep_attempt(world: Table, step: float, error: float) -> None:
    """Begin the row of an attempt, with the current state as it was evaluated for it."""
    contacts = world.current.contacts
    elastic = 0.0
    kept = kept_contacts(world.current)
    for i in range(kept):
        depth = max(-world.delivered.contacts.signed_distance[i], 0.0)
        elastic += 0.5 * world.delivered.contacts.stiffness[i] * depth * depth
    for i in range(contacts.count):
        depth = max(-contacts.signed_distance[i], 0.0)
        elastic += 0.5 * contacts.stiffness[i] * depth * depth
    row = world.attempts
    world.attempt[row, TIME] = world.current.time
    world.attempt[row, STEP] = step
    world.attempt[row, ERROR] = error
    world.attempt[row, VERDICT] = ACCEPTED
    world.attempt[row, CONTACTS] = kept + contacts.count
    world.attempt[row, ELASTIC] = elastic
    if world.attempt_counter != 0:
        world.attempt[row, ITERATIONS] = load_address(world.attempt_counter)
    world.attempts = row + 1
