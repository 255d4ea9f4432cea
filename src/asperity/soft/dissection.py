"""Order of elimination of particles: nested dissection.

Particles are halved along the longest axis of where they are at rest. Those of one half that have
bonds with the other come last, and each half is ordered in the same way. In a cube of n³ particles
that takes half of the operations of minimum degree (A. George, Nested dissection of a regular
finite element mesh, SIAM J. Numer. Anal. 10, 1973).
"""

from __future__ import annotations

import numpy as np

__all__ = ["dissection_ranks"]

# Particles that are not divided any more.
_FEWEST = 6


def dissection_ranks(positions: np.ndarray, bonds: np.ndarray) -> np.ndarray:
    """Place of every particle in the order, shape (n,).

    Parameters
    ----------
    positions : array, shape (n, 3)
        At rest [m].
    bonds : array of int, shape (m, 2)
        Pairs of particles that share an element.
    """
    rank = np.zeros(len(positions), np.int64)
    side = np.zeros(len(positions), np.int8)
    following = len(positions)
    # Parts that are still to be divided, with the bonds within: those that come last first.
    parts = [(np.arange(len(positions)), bonds)]
    while parts:
        part, within = parts.pop()
        where = positions[part]
        axis = int(np.argmax(np.ptp(where, axis=0))) if len(part) else 0
        lower = where[:, axis] < np.median(where[:, axis]) - 1e-12 if len(part) > _FEWEST else []
        if not np.any(lower) or np.all(lower):
            following -= len(part)
            rank[part] = following + np.arange(len(part))
            continue
        side[part] = np.where(lower, 0, 1)
        ends = side[within]
        across = ends[:, 0] != ends[:, 1]
        side[within[across][ends[across] == 1]] = 2
        separator = part[side[part] == 2]
        following -= len(separator)
        rank[separator] = following + np.arange(len(separator))
        for half in (0, 1):
            own = np.all(side[within] == half, axis=1)
            parts.append((part[side[part] == half], within[own]))
    return rank
