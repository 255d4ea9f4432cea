"""Boxes of a shape's trees, where its link is and goes.

A node's box holds the boxes of all its vertices (`asperity.midas.vertex_boxes`). It is made of the
node's box in rest coordinates, where the link is and where its path leads, when it is first asked
for in a list.
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled
from asperity.compiled.atomics import atomic_load, atomic_store
from asperity.midas.box_trees import KINDS
from asperity.midas.tubes import FIRMNESS, LEAST_WIDTH, is_in_tube
from asperity.midas.vertex_boxes import box_vertex

__all__ = ["box_shape", "placed_node"]

# Of vertices of a box, against round-off, relative to lengths.
_ROUNDING = 1e-9
# Vertices up to which a shape's box is made of theirs, and levels of its tree elsewhere.
_FEW = 64
_LEVELS = 4


@compiled
def _place(engine: Table, tree: int, at: int) -> None:
    """Fill the box of a node where its shape is and goes."""
    shape = tree // KINDS
    link = engine.vertex_link[engine.shape_vertex[shape]]
    box = engine.tree_box[at]
    begin = engine.path_begin[link]
    end = engine.path_end[link]
    share = engine.link_share[link]
    tube = is_in_tube(engine, link)
    common = engine.tree_path[engine.link_tree[link] if tube else 0, 0]
    square = 0.0
    square_own = 0.0
    for k in range(3):
        centre = begin[0, k]
        half = 0.0
        move = end[0, k] - begin[0, k]
        spread = 0.0
        size = abs(centre)
        for j in range(3):
            c = 0.5 * (box[0, j] + box[1, j])
            e = 0.5 * (box[1, j] - box[0, j])
            turn = end[1 + j, k] - begin[1 + j, k]
            centre += c * begin[1 + j, k]
            half += e * abs(begin[1 + j, k])
            move += c * turn
            spread += e * abs(turn)
            size += abs(c)
        low = share * (move - spread)
        high = share * (move + spread)
        if tube:
            engine.tree_still[at, 2, k] = low
            engine.tree_still[at, 3, k] = high
            square_own += max(common[k] - low, high - common[k]) ** 2
        low = min(low, 0.0)
        high = max(high, 0.0)
        square += max(-low, high) ** 2
        more = _ROUNDING * (size + half) + engine.shape_radius[shape]
        engine.tree_still[at, 0, k] = centre - half - more
        engine.tree_still[at, 1, k] = centre + half + more
        engine.tree_placed[at, 0, k] = centre - half + low - more
        engine.tree_placed[at, 1, k] = centre + half + high + more
    slack = engine.least_slack + engine.boxed_widening * math.sqrt(square)
    own = slack
    if tube:
        slack = own = max(engine.least_slack, LEAST_WIDTH)
        slack += FIRMNESS * engine.boxed_widening * math.sqrt(square)
        own += FIRMNESS * engine.boxed_widening * math.sqrt(square_own)
    for k in range(3):
        engine.tree_placed[at, 0, k] -= slack
        engine.tree_placed[at, 1, k] += slack
        engine.tree_still[at, 0, k] -= own
        engine.tree_still[at, 1, k] += own


@compiled
def placed_node(engine: Table, tree: int, node: int) -> int:
    """Where a node's box is found, which is filled."""
    at = engine.tree_node[tree] + node
    # Two threads may fill it at once, with the same numbers.
    stamp = engine.tree_stamp.ctypes.data + 8 * at
    if atomic_load(stamp) != engine.list_number:
        _place(engine, tree, at)
        atomic_store(stamp, engine.list_number)
    return at


@compiled
def box_shape(engine: Table, shape: int, box: np.ndarray) -> None:
    """Fill the box of a whole shape, shape (2, 3)."""
    for k in range(3):
        box[0, k] = math.inf
        box[1, k] = -math.inf
    begin = engine.shape_vertex[shape]
    end = engine.shape_vertex[shape + 1]
    if end - begin <= _FEW:
        radius = engine.shape_radius[shape]
        for vertex in range(begin, end):
            box_vertex(engine, vertex)
            for k in range(3):
                box[0, k] = min(box[0, k], engine.vertex_low[vertex, k] - radius)
                box[1, k] = max(box[1, k], engine.vertex_high[vertex, k] + radius)
        return
    tree = KINDS * shape
    first = 1 << min(_LEVELS, engine.tree_depth[tree])
    for node in range(first, 2 * first):
        at = placed_node(engine, tree, node)
        for k in range(3):
            box[0, k] = min(box[0, k], engine.tree_placed[at, 0, k])
            box[1, k] = max(box[1, k], engine.tree_placed[at, 1, k])
