"""Boxes of a shape's trees, where its link is and goes.

A node's box holds the boxes of all its vertices (`asperity.midas.lists.vertex_boxes`). It is made
of the node's box in rest coordinates, where the link is and where its path leads, when it is first
asked for in a list.
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled
from asperity.compiled.atomics import atomic_load, atomic_store
from asperity.midas.geometry.box_trees import KINDS

__all__ = ["placed_node", "shape_box"]

# Of vertices of a box, against round-off, relative to lengths.
_ROUNDING = 1e-9


@compiled
def _fill_node_box(engine: Table, tree: int, at: int) -> None:
    """Fill the box of a node where its shape is and goes.

    Each number is written once, as it stays: another thread may read what this one writes anew.
    """
    box_trees = engine.box_trees
    shape = tree // KINDS
    link = engine.shapes.vertex_link[engine.shapes.vertex_start[shape]]
    box = box_trees.box[at]
    begin = engine.boxes.path_begin[link]
    end = engine.boxes.path_end[link]
    share = engine.boxes.link_share[link]
    placed = engine.work.box_work
    square = 0.0
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
        low = min(share * (move - spread), 0.0)
        high = max(share * (move + spread), 0.0)
        square += max(-low, high) ** 2
        more = _ROUNDING * (size + half) + engine.shapes.radius[shape]
        placed[0, k] = centre - half + low - more
        placed[1, k] = centre + half + high + more
    slack = engine.boxes.least_slack + engine.boxes.boxed_widening * math.sqrt(square)
    for k in range(3):
        box_trees.placed[at, 0, k] = placed[0, k] - slack
        box_trees.placed[at, 1, k] = placed[1, k] + slack


@compiled
def placed_node(engine: Table, tree: int, node: int) -> int:
    """Where a node's box is found, which is filled."""
    at = engine.box_trees.node[tree] + node
    # Two threads may fill it at once, with the same numbers.
    stamp = engine.box_trees.stamp.ctypes.data + 8 * at
    if atomic_load(stamp) != engine.boxes.list_number:
        _fill_node_box(engine, tree, at)
        atomic_store(stamp, engine.boxes.list_number)
    return at


@compiled
def shape_box(engine: Table, shape: int) -> np.ndarray:
    """The box of a whole shape, shape (2, 3)."""
    return engine.box_trees.placed[placed_node(engine, KINDS * shape, 1)]
