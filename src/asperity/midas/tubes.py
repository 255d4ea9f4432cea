"""Tubes about synchronous paths, for links of one tree that move together.

The fingers of a hand that swings stay where they are on the hand, but the boxes of their paths hold
all of their neighbours. So vertices of a tree whose links may touch each other stay in tubes too:
there are a time t, 0 ≤ t ≤ 1, and a displacement c for all of the tree, such that each of them is
within its slack of

    x + c + t (m − m̄),

with x where it was when candidates were listed, m its path and m̄ the mean of all. Two of them then
have moved against each other by no more than the difference of their paths and their slacks,
however far a robot falls meanwhile.
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled
from asperity.midas.distances import EDGE_EDGE

__all__ = [
    "FIRMNESS",
    "LEAST_WIDTH",
    "is_in_tube",
    "measure_tubes",
    "relative_reach",
    "time_in_tubes",
    "tube_width",
]


FIRMNESS = 0.3
"""Width of a tube over that of a box, as shares of the path's length."""

LEAST_WIDTH = 2.5e-4
"""Half the width of a tube, at least [m]."""

# How much longer paths may be than those of boxes.
_LONGER = 8.0


@compiled
def is_in_tube(engine: Table, link: int) -> bool:
    """Whether a link's vertices stay in tubes."""
    if engine.tubes == 0 or link >= engine.link_tree.size:
        return False
    return engine.tube_tree[engine.link_tree[link]] == 1


@compiled
def measure_tubes(engine: Table, p: np.ndarray, longest: float) -> None:
    """Choose whether there are tubes about paths ``p``, and what share of the paths they hold.

    It is the same for all, so that affine surfaces have affine paths.
    """
    largest = 0.0
    mean = engine.tree_path
    mean[:] = 0.0
    for vertex in range(engine.moving_vertices):
        tree = engine.link_tree[engine.vertex_link[vertex]]
        if engine.tube_tree[tree] == 1:
            square = 0.0
            for k in range(3):
                square += p[vertex, k] ** 2
                mean[tree, 0, k] += engine.tree_weight[tree] * p[vertex, k]
            largest = max(largest, square)
    # Short paths have small boxes, and lists of them last.
    engine.tubes = 1 if largest > engine.activation**2 else 0
    engine.common_share = 1.0
    if engine.tubes == 1:
        engine.common_share = min(1.0, _LONGER * longest / math.sqrt(largest))
    for tree in range(mean.shape[0]):
        for k in range(3):
            mean[tree, 0, k] *= engine.common_share


@compiled
def tube_width(engine: Table, link: int, share: float, path: np.ndarray) -> float:
    """Half the width of the tube about a share of a vertex's path [m]."""
    mean = engine.tree_path[engine.link_tree[link], 0]
    square = 0.0
    for k in range(3):
        square += (share * path[k] - mean[k]) ** 2
    width = max(engine.least_slack, LEAST_WIDTH)
    return width + FIRMNESS * engine.widening * math.sqrt(square)


@compiled
def _times(engine: Table, x: np.ndarray, p: np.ndarray) -> None:
    """Fill where on its paths each tree is at ``x`` and ``x + p``, by least squares."""
    time = engine.tree_time
    mean = engine.tree_path
    for tree in range(time.shape[0]):
        for k in range(3):
            time[tree, k] = 0.0
            mean[tree, 1, k] = 0.0
            mean[tree, 2, k] = 0.0
    for vertex in range(engine.moving_vertices):
        tree = engine.link_tree[engine.vertex_link[vertex]]
        if engine.tube_tree[tree] == 1:
            weight = engine.tree_weight[tree]
            for k in range(3):
                mean[tree, 1, k] += weight * (x[vertex, k] - engine.vertex_start[vertex, k])
                mean[tree, 2, k] += weight * p[vertex, k]
    for vertex in range(engine.moving_vertices):
        tree = engine.link_tree[engine.vertex_link[vertex]]
        if engine.tube_tree[tree] == 0:
            continue
        square = 0.0
        here = 0.0
        more = 0.0
        for k in range(3):
            m = engine.vertex_path[vertex, k] - mean[tree, 0, k]
            square += m * m
            here += m * (x[vertex, k] - engine.vertex_start[vertex, k] - mean[tree, 1, k])
            more += m * (p[vertex, k] - mean[tree, 2, k])
        time[tree, 0] += here
        time[tree, 1] += more
        time[tree, 2] += square
    for tree in range(time.shape[0]):
        square = time[tree, 2]
        if square > 0.0:
            here = time[tree, 0] / square
            more = time[tree, 1] / square
            time[tree, 0] = min(max(here, 0.0), 1.0)
            time[tree, 1] = min(max(here + more, 0.0), 1.0)
        else:
            time[tree, 0] = 0.0
            time[tree, 1] = 0.0


@compiled
def time_in_tubes(engine: Table, x: np.ndarray, p: np.ndarray, longest: float) -> float:
    """Largest time τ ≤ ``longest`` for which x + τ p stays in the tubes."""
    if engine.tubes == 0:
        return longest
    _times(engine, x, p)
    mean = engine.tree_path
    time = longest
    for vertex in range(engine.moving_vertices):
        tree = engine.link_tree[engine.vertex_link[vertex]]
        if engine.tube_tree[tree] == 0:
            continue
        slack = engine.vertex_slack[vertex]
        begin = engine.tree_time[tree, 0]
        more = engine.tree_time[tree, 1] - begin
        for k in range(3):
            m = engine.vertex_path[vertex, k] - mean[tree, 0, k]
            here = x[vertex, k] - engine.vertex_start[vertex, k] - mean[tree, 1, k] - begin * m
            move = p[vertex, k] - mean[tree, 2, k] - more * m
            if here + time * move > slack:
                time = max((slack - here) / move, 0.0) if here < slack else 0.0
            elif here + time * move < -slack:
                time = max((-slack - here) / move, 0.0) if here > -slack else 0.0
    return time


@compiled
def relative_reach(engine: Table, kind: int, i0: int, i1: int, i2: int, i3: int) -> float:
    """Bound of how far two primitives of one tree move against each other in their tubes [m]."""
    path = engine.vertex_path
    largest = 0.0
    slack = 0.0
    slack_too = 0.0
    for i in range(2 if kind == EDGE_EDGE else 1):
        a = i0 if i == 0 else i1
        slack = max(slack, engine.vertex_slack[a])
        for j in range(2 if kind == EDGE_EDGE else 3):
            b = i3 if j == 0 else (i2 if j == 1 else i1)
            slack_too = max(slack_too, engine.vertex_slack[b])
            square = 0.0
            for k in range(3):
                square += (path[a, k] - path[b, k]) ** 2
            largest = max(largest, square)
    return math.sqrt(largest) + 1.7320508075688772 * (slack + slack_too)
