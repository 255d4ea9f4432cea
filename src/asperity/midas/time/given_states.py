"""Surfaces that are put within each other's activation distance.

What a user puts there may rest, as a grasp that was saved does, or lie where nothing holds it
against the barrier, which would throw it off. A trial step tells: pairs that it lets part begin to
push where they were put.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.midas.energy.potentials import lowered_activation
from asperity.midas.soft.calls import LOWER, ask_soft

__all__ = ["TRIAL_STEP", "lower_where_parting"]

TRIAL_STEP = 0.01
"""The least trial step [s]."""


@compiled
def lower_where_parting(engine: Table) -> None:
    """Lower activation distances of pairs of links that the iterate has farther apart than given.

    So it does with pairs of flexes (`asperity.midas.soft.hooks`).
    """
    pairs = engine.pairs
    ended = np.full(pairs.given.size, np.inf)
    for run in range(engine.runs.count):
        pair = engine.candidates.pair[engine.runs.begin[run]]
        ended[pair] = min(ended[pair], engine.runs.least[run])
    for pair in range(ended.size):
        usual = pairs.activation[pair]
        pairs.activation[pair] = lowered_activation(pairs.given[pair], usual, ended[pair])
    # Lists were made with other distances.
    engine.boxes.listed = 0
    ask_soft(engine, LOWER)
