"""Rows of contacts in the vectors of `asperity.convex.contact_space`.

A contact has a row for each tangent, for torsion and rolling if it is ellipsoidal
(`asperity.convex.ellipsoids`), and for its normal, in this order. Velocities are scaled slips, and
impulses those conjugate to them.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, inlined

__all__ = ["gather_impulses", "gather_slips", "row_of", "spread_changes", "width"]


@inlined
def width(graph: Table, i: int) -> int:
    """The number of rows of a contact, 3 to 6."""
    return max(graph.ellipsoidal[i], 3) if graph.ellipsoids != 0 else 3


@inlined
def row_of(width: int, k: int) -> int:
    """Which of `asperity.convex.ellipsoids.contact_row` the k-th row of so many is."""
    return k if k < 2 else k + 6 - width


@inlined
def _gather(
    graph: Table,
    at_hand: Table,
    parts: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    out: np.ndarray,
) -> None:
    """Fill ``out`` with numbers of the island's contacts: of tangents, turning and normal."""
    first, second, turn, normal = parts
    at = 0
    for i in range(at_hand.first_contact, at_hand.last_contact):
        out[at] = first[i]
        out[at + 1] = second[i]
        at += 2
        for k in range(6 - width(graph, i), 3):
            out[at] = turn[i, k]
            at += 1
        out[at] = normal[i]
        at += 1


@inlined
def gather_slips(graph: Table, iterate: Table, at_hand: Table, out: np.ndarray) -> None:
    """Fill ``out`` with the present velocities of the island's contacts."""
    _gather(graph, at_hand, (iterate.v1, iterate.v2, iterate.turn, iterate.vn), out)


@inlined
def gather_impulses(graph: Table, iterate: Table, at_hand: Table, out: np.ndarray) -> None:
    """Fill ``out`` with the present impulses of the island's contacts."""
    _gather(graph, at_hand, (iterate.g1, iterate.g2, iterate.turn_impulse, iterate.gn), out)


@inlined
def spread_changes(graph: Table, iterate: Table, at_hand: Table, vector: np.ndarray) -> None:
    """Let a vector be how the velocities of the island's contacts change along the direction."""
    at = 0
    for i in range(at_hand.first_contact, at_hand.last_contact):
        iterate.dv1[i] = vector[at]
        iterate.dv2[i] = vector[at + 1]
        at += 2
        if graph.ellipsoids != 0:
            without = 6 - width(graph, i)
            for k in range(3):
                iterate.turn_change[i, k] = 0.0 if k < without else vector[at + k - without]
            at += 3 - without
        iterate.dvn[i] = vector[at]
        at += 1
