"""Broad phase: the pairs of primitives that may touch while vertices stay in given boxes.

Every vertex gets a box that holds its expected path. As long as no vertex leaves its box, only
primitives whose boxes come within the activation distance of each other can touch; the solver cuts
its steps at the boxes and asks for new ones when it must. Resting bodies thus get small boxes and
short lists, and a fast body a long, thin one along its path.
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled
from asperity.midas.box_trees import LEAF
from asperity.midas.candidate_runs import SLACK, divide_into_runs
from asperity.midas.distances import VERTEX_PLANE
from asperity.midas.engine_layout import CANDIDATES_FULL
from asperity.midas.round_planes import add_round_stencils
from asperity.midas.stencils import add_edges, add_faces, add_stencil, apart
from asperity.midas.tree_search import STACK, search_edges, search_faces
from asperity.midas.tubes import (
    FIRMNESS,
    LEAST_WIDTH,
    is_in_tube,
    measure_tubes,
    time_in_tubes,
    tube_width,
)

__all__ = ["are_kept", "box_vertices", "find_candidates", "time_in_boxes"]


# Length of paths, slack included, up to which a list serves later steps, in activation distances.
_KEPT = 1.0
# Pairs of edges of two shapes that are looked at one by one; more of them by trees.
_FEW = 4096


@compiled
def box_vertices(engine: Table, x: np.ndarray, p: np.ndarray, longest: float) -> None:
    """Box the paths from ``x`` along ``p``, of each no more than a length ``longest`` [m]."""
    least = SLACK * engine.activation
    engine.least_slack = least
    widening = engine.widening
    longest_path = 0.0
    measure_tubes(engine, p, longest)
    for vertex in range(engine.moving_vertices):
        length = math.sqrt(p[vertex, 0] ** 2 + p[vertex, 1] ** 2 + p[vertex, 2] ** 2)
        share = longest / length if length > longest else 1.0
        slack = least + widening * share * length
        engine.vertex_slack[vertex] = slack
        link = engine.vertex_link[vertex]
        if is_in_tube(engine, link):
            share = engine.common_share
            slack = max(least, LEAST_WIDTH) + FIRMNESS * widening * share * length
            engine.vertex_slack[vertex] = tube_width(engine, link, share, p[vertex])
        for k in range(3):
            move = share * p[vertex, k]
            engine.vertex_low[vertex, k] = x[vertex, k] + min(move, 0.0) - slack
            engine.vertex_high[vertex, k] = x[vertex, k] + max(move, 0.0) + slack
            engine.vertex_start[vertex, k] = x[vertex, k]
            engine.vertex_path[vertex, k] = move
        engine.vertex_reach[vertex] = share * length + 1.7320508075688772 * slack
        longest_path = max(longest_path, share * length + slack)
    # Nor do tubes last. Larger boxes would go on holding candidates that are none any more.
    kept = longest_path <= _KEPT * engine.activation and engine.tubes == 0
    engine.listed = 1 if kept else 0


@compiled
def are_kept(engine: Table, x: np.ndarray, p: np.ndarray) -> bool:
    """Whether paths from ``x`` along ``p`` leave half of their boxes' slack, so that these hold."""
    if engine.listed == 0:
        return False
    slack = 0.5 * SLACK * engine.activation
    for vertex in range(engine.moving_vertices):
        for k in range(3):
            low = engine.vertex_low[vertex, k] + slack
            high = engine.vertex_high[vertex, k] - slack
            end = x[vertex, k] + p[vertex, k]
            # Written so that NaN is not kept.
            if not (low <= x[vertex, k] <= high and low <= end <= high):
                return False
    return True


@compiled
def time_in_boxes(engine: Table, x: np.ndarray, p: np.ndarray) -> float:
    """Largest time τ ≤ 1 for which x + τ p stays in the boxes, and in tubes if there are any."""
    time = 1.0
    for vertex in range(engine.moving_vertices):
        for k in range(3):
            end = x[vertex, k] + time * p[vertex, k]
            if end > engine.vertex_high[vertex, k]:
                time = max((engine.vertex_high[vertex, k] - x[vertex, k]) / p[vertex, k], 0.0)
            elif end < engine.vertex_low[vertex, k]:
                time = max((engine.vertex_low[vertex, k] - x[vertex, k]) / p[vertex, k], 0.0)
    return time_in_tubes(engine, x, p, time)


@compiled
def _use_slot(engine: Table, block: int) -> bool:
    """Give a pair of links a Hessian block; returns False if there is no room."""
    if block < 0:
        return True
    if engine.block_slot[block] >= 0:
        return True
    slot = engine.slots
    if slot >= engine.slot_link.shape[0]:
        return False
    engine.slot_link[slot, 0] = engine.block_link[block, 0]
    engine.slot_link[slot, 1] = engine.block_link[block, 1]
    engine.block_slot[block] = slot
    engine.slots = slot + 1
    return True


@compiled
def _move_together(engine: Table, one: int, other: int) -> int:
    """1 if two shapes are on links of one tree, whose vertices stay in tubes."""
    a = engine.vertex_link[engine.shape_vertex[one]]
    b = engine.vertex_link[engine.shape_vertex[other]]
    if not is_in_tube(engine, a) or not is_in_tube(engine, b):
        return 0
    return 1 if engine.link_tree[a] == engine.link_tree[b] else 0


@compiled
def find_candidates(engine: Table, x: np.ndarray, keep_slots: bool) -> int:
    """List all stencils that may touch in the vertices' boxes; returns 0 or `CANDIDATES_FULL`.

    Parameters
    ----------
    engine : int
    x : array, shape (p, 3)
        Positions [m], inside the boxes.
    keep_slots : bool
        Whether Hessian blocks in use stay in use (those of friction outlive a list).
    """
    starts = engine.shape_vertex
    starts_of_edges = engine.shape_edge
    margin = engine.activation
    shapes = starts.size - 1
    if not keep_slots:
        engine.slots = 0
        for i in range(engine.block_slot.size):
            engine.block_slot[i] = -1
    for block in engine.tie_block:
        if not _use_slot(engine, block):
            return CANDIDATES_FULL
    for block in engine.turn_block:
        if not _use_slot(engine, block):
            return CANDIDATES_FULL
    hull = np.empty((shapes, 2, 3))
    for shape in range(shapes):
        for k in range(3):
            hull[shape, 0, k] = math.inf
            hull[shape, 1, k] = -math.inf
            for v in range(starts[shape], starts[shape + 1]):
                hull[shape, 0, k] = min(hull[shape, 0, k], engine.vertex_low[v, k])
                hull[shape, 1, k] = max(hull[shape, 1, k], engine.vertex_high[v, k])
            hull[shape, 0, k] -= engine.shape_radius[shape]
            hull[shape, 1, k] += engine.shape_radius[shape]
    most = max(engine.edge.shape[0], engine.face.shape[0])
    work = (np.empty(most, np.int64), np.empty((most + 1, 2, 3)), np.empty((2, 3)))
    work_too = (np.empty(most, np.int64), np.empty((most + 1, 2, 3)), np.empty((2, 3)))
    region = np.empty((2, 3))
    space = (np.empty((STACK, 2), np.int64), np.empty((LEAF + 1, 4, 3)), np.empty(LEAF, np.int64))
    engine.list_number += 1
    engine.relative = 0
    count = 0
    for pair in range(engine.pair_shape.shape[0]):
        a = engine.pair_shape[pair, 0]
        b = engine.pair_shape[pair, 1]
        before = count
        if b < 0 and engine.shape_anchor[a, 0, 0] >= 0:
            count = add_round_stencils(engine, x, count, pair, a, -1 - b, margin)
            if count < 0:
                return CANDIDATES_FULL
            continue
        if b < 0:
            for v in range(starts[a], starts[a + 1]):
                count = add_stencil(engine, x, count, pair, VERTEX_PLANE, v, v, v, -1 - b, margin)
                if count < 0:
                    return CANDIDATES_FULL
            continue
        if apart(hull[a], hull[b], margin):
            continue
        edges = starts_of_edges[a + 1] - starts_of_edges[a]
        engine.relative = _move_together(engine, a, b)
        if engine.relative == 1 or (edges * (starts_of_edges[b + 1] - starts_of_edges[b]) > _FEW):
            count = search_faces(engine, x, count, pair, a, b, margin, space)
            if count >= 0:
                count = search_faces(engine, x, count, pair, b, a, margin, space)
            if count >= 0:
                count = search_edges(engine, x, count, pair, a, b, margin, space)
            engine.relative = 0
            if count < 0 or (count > before and not _use_slot(engine, engine.pair_block[pair])):
                return CANDIDATES_FULL
            continue
        for k in range(3):
            region[0, k] = max(hull[a, 0, k], hull[b, 0, k]) - margin
            region[1, k] = min(hull[a, 1, k], hull[b, 1, k]) + margin
        count = add_faces(engine, x, count, pair, a, b, region, margin, work)
        if count >= 0:
            count = add_faces(engine, x, count, pair, b, a, region, margin, work)
        if count >= 0:
            count = add_edges(engine, x, count, pair, a, b, region, margin, work, work_too)
        if count < 0:
            return CANDIDATES_FULL
        if count > before and not _use_slot(engine, engine.pair_block[pair]):
            return CANDIDATES_FULL
    engine.candidates = count
    engine.anchored = 0
    divide_into_runs(engine)
    return 0
