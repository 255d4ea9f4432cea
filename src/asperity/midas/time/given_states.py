"""Surfaces that are put within each other's activation distance.

What a user puts there may rest, as a grasp that was saved does, or lie where nothing holds it
against the barrier, which would throw it off. A trial step tells: pairs that it lets part begin to
push where they were put.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled

__all__ = ["SMALLEST_ACTIVATION", "TRIAL_STEP", "lower_where_parting"]

SMALLEST_ACTIVATION = 1e-5
"""No activation distance is chosen below this [m]."""

TRIAL_STEP = 0.01
"""The least trial step [s]."""

# Share of the activation distance by which surfaces part that are thrown. What is pressed parts by
# less as bodies deform, which begin undeformed.
_PARTS = 1e-2


@compiled
def lower_where_parting(engine: Table) -> None:
    """Lower the activation distance of pairs that the iterate has farther apart than given."""
    pairs = engine.pairs
    ended = np.full(pairs.given.size, np.inf)
    for run in range(engine.runs.count):
        pair = engine.candidates.pair[engine.runs.begin[run]]
        ended[pair] = min(ended[pair], engine.runs.least[run])
    for pair in range(ended.size):
        before, usual = pairs.given[pair], pairs.activation[pair]
        if before < usual and ended[pair] > before + _PARTS * usual:
            pairs.activation[pair] = max(before, SMALLEST_ACTIVATION)
    # Lists were made with other distances.
    engine.boxes.listed = 0
