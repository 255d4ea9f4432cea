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
from asperity.midas.pose.link_pair_poses import box_on_path

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
    placed = engine.work.box_work
    square = 0.0
    for k in range(3):
        centre, half, move, spread = box_on_path(
            engine.boxes.path_begin[link], engine.boxes.link_path[link], box, k
        )
        low = min(move - spread, 0.0)
        high = max(move + spread, 0.0)
        square += max(-low, high) ** 2
        more = engine.shapes.radius[shape] + _ROUNDING * (abs(centre) + half)
        for j in range(3):
            more += _ROUNDING * max(abs(box[0, j]), abs(box[1, j]))
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
