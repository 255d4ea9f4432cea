"""Tubes about synchronous paths, for links of one tree that move together.

The fingers of a hand that swings stay where they are on the hand, but the boxes of their paths hold
all of their neighbours. So vertices of a tree whose links may touch each other stay in tubes too:
there are a time t, 0 ≤ t ≤ 1, and a displacement c for all of the tree, such that each of them is
within its slack of

    x + c + t (m − m̄),

with x where it was when candidates were listed, m its path and m̄ the mean of all. Two of them then
have moved against each other by no more than the difference of their paths and their slacks,
however far a robot falls meanwhile. Trees that hang on one body which does not move, as the legs
and arms of a robot whose pelvis is held, are one tree here.

Fine surfaces that pass each other closely have a hundred candidates within the slack for every one
within the difference of the paths. Where that makes lists long (`asperity.midas.candidates`) tubes
are narrow, a share ``tube_scale`` as wide, and new lists are asked for earlier.
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled
from asperity.midas.distances import EDGE_EDGE

__all__ = [
    "FIRMNESS",
    "LEAST_WIDTH",
    "find_times",
    "is_in_tube",
    "measure_tubes",
    "relative_reach",
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
    if engine.tubes == 0 or link >= engine.link_root.size:
        return False
    return engine.tube_tree[engine.link_root[link]] == 1


@compiled
def measure_tubes(engine: Table, longest: float) -> None:
    """Choose whether there are tubes about the links' paths, and what share of these they hold.

    It is the same for all, so that affine surfaces have affine paths.
    """
    largest = 0.0
    mean = engine.tree_path
    mean[:] = 0.0
    for link in range(engine.link_root.size):
        tree = engine.link_root[link]
        if engine.tube_tree[tree] == 1:
            largest = max(largest, engine.path_length[link])
            _add_sum(engine, link, engine.path_begin, engine.path_end, mean[tree, 0])
    # Short paths have small boxes, and lists of them last.
    engine.tubes = 1 if largest > engine.activation else 0
    engine.common_share = 1.0
    if engine.tubes == 1:
        engine.common_share = min(1.0, _LONGER * longest / largest)
    for tree in range(mean.shape[0]):
        for k in range(3):
            mean[tree, 0, k] *= engine.tree_weight[tree] * engine.common_share


@compiled
def _add_sum(
    engine: Table, link: int, begin: np.ndarray, end: np.ndarray, total: np.ndarray
) -> None:
    """Add how far the vertices of a link have moved."""
    for k in range(3):
        for i in range(4):
            total[k] += engine.link_moment[link, 0, i] * (end[link, i, k] - begin[link, i, k])


@compiled
def tube_width(engine: Table, link: int, path: np.ndarray) -> float:
    """Half the width of the tube about the path of a vertex [m]."""
    mean = engine.tree_path[engine.link_root[link], 0]
    square = 0.0
    for k in range(3):
        square += (path[k] - mean[k]) ** 2
    width = max(engine.least_slack, LEAST_WIDTH)
    width += FIRMNESS * engine.boxed_widening * math.sqrt(square)
    return engine.tube_scale * width


@compiled
def find_times(engine: Table) -> None:
    """Fill where on its path each tree is at the iterate and at the trial state.

    By least squares, over all vertices.
    """
    time = engine.tree_time
    mean = engine.tree_path
    begin = engine.path_begin
    for tree in range(time.shape[0]):
        for k in range(3):
            time[tree, k] = 0.0
            mean[tree, 1, k] = 0.0
            mean[tree, 2, k] = 0.0
    for link in range(engine.link_root.size):
        tree = engine.link_root[link]
        if engine.tube_tree[tree] == 0:
            continue
        _add_sum(engine, link, begin, engine.q_now, mean[tree, 1])
        _add_sum(engine, link, engine.q_now, engine.q_trial, mean[tree, 2])
        moment = engine.link_moment[link]
        share = engine.common_share
        for k in range(3):
            for i in range(4):
                path = 0.0
                for j in range(4):
                    path += moment[i, j] * share * (engine.path_end[link, j, k] - begin[link, j, k])
                now = engine.q_now[link, i, k]
                time[tree, 0] += path * (now - begin[link, i, k])
                time[tree, 1] += path * (engine.q_trial[link, i, k] - now)
                time[tree, 2] += path * share * (engine.path_end[link, i, k] - begin[link, i, k])
    for tree in range(time.shape[0]):
        if engine.tube_tree[tree] == 0:
            continue
        # Of what is left of paths and moves without their means.
        weight = engine.tree_weight[tree]
        for k in range(3):
            own = mean[tree, 0, k]
            mean[tree, 1, k] *= weight
            mean[tree, 2, k] *= weight
            time[tree, 0] -= own * mean[tree, 1, k] / weight
            time[tree, 1] -= own * mean[tree, 2, k] / weight
            time[tree, 2] -= own * own / weight
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
