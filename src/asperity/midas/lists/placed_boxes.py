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

__all__ = ["pass_by_along_axes", "placed_node", "prepare_axes", "shape_box"]

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
    work = engine.work.box_work
    square = 0.0
    largest = 0.0
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
        box_trees.still[at, 2, k] = low
        box_trees.still[at, 3, k] = high
        low = min(low, 0.0)
        high = max(high, 0.0)
        square += max(-low, high) ** 2
        rounding = _ROUNDING * (size + half)
        largest = max(largest, rounding)
        more = rounding + engine.shapes.radius[shape]
        work[0, k] = centre - half - more
        work[1, k] = centre + half + more
        work[2, k] = centre - half + low - more
        work[3, k] = centre + half + high + more
    slack = engine.boxes.least_slack + engine.boxes.boxed_widening * math.sqrt(square)
    box_trees.slack[at] = slack + largest
    for k in range(3):
        box_trees.still[at, 0, k] = work[0, k] - slack
        box_trees.still[at, 1, k] = work[1, k] + slack
        box_trees.placed[at, 0, k] = work[2, k] - slack
        box_trees.placed[at, 1, k] = work[3, k] + slack


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
def _set_axes(boxes: Table, link: int, other: int, axes: np.ndarray, swapped: bool) -> None:
    """Fill what `pass_by_along_axes` needs of a link's axes, shape (3, 10)."""
    for i in range(3):
        axis = axes[i]
        square = 0.0
        for k in range(3):
            square += boxes.path_begin[link, 1 + i, k] ** 2
        scale = 1.0 / math.sqrt(square) if square > 0.0 else 0.0
        axis[9] = 0.0
        for k in range(3):
            axis[k] = scale * boxes.path_begin[link, 1 + i, k]
            axis[9] += abs(axis[k])
        for j in range(3):
            own = 0.0
            others = 0.0
            for k in range(3):
                own += axis[k] * boxes.path_begin[link, 1 + j, k]
                others += axis[k] * boxes.path_begin[other, 1 + j, k]
            axis[6 + j if swapped else 3 + j] = abs(own)
            axis[3 + j if swapped else 6 + j] = abs(others)


@compiled
def prepare_axes(engine: Table, one: int, other: int) -> None:
    """Prepare `pass_by_along_axes` for two shapes."""
    a = engine.shapes.vertex_link[engine.shapes.vertex_start[one]]
    b = engine.shapes.vertex_link[engine.shapes.vertex_start[other]]
    _set_axes(engine.boxes, a, b, engine.work.pair_axes[:3], False)
    _set_axes(engine.boxes, b, a, engine.work.pair_axes[3:], True)


@compiled
def pass_by_along_axes(box_trees: Table, work: Table, at: int, at_too: int, margin: float) -> bool:
    """Whether vertices of two nodes stay apart, seen along the axes of one of their links.

    Turned boxes are smaller along these than along the world's (the tests of faces of Gottschalk,
    Lin and Manocha, OBBTree, 1996). Shapes are those of `prepare_axes`; ``margin`` includes their
    radii.
    """
    one = box_trees.still[at]
    other = box_trees.still[at_too]
    box = box_trees.box[at]
    box_too = box_trees.box[at_too]
    slack = box_trees.slack[at] + box_trees.slack[at_too]
    for i in range(6):
        axis = work.pair_axes[i]
        gap = 0.0
        least = 0.0
        most = 0.0
        size = margin + slack * axis[9]
        for k in range(3):
            n = axis[k]
            gap += 0.5 * n * (other[0, k] + other[1, k] - one[0, k] - one[1, k])
            low = min(other[2, k], 0.0) - max(one[3, k], 0.0)
            high = max(other[3, k], 0.0) - min(one[2, k], 0.0)
            least += n * (low if n > 0.0 else high)
            most += n * (high if n > 0.0 else low)
            size += 0.5 * axis[3 + k] * (box[1, k] - box[0, k])
            size += 0.5 * axis[6 + k] * (box_too[1, k] - box_too[0, k])
        if gap + least > size or gap + most < -size:
            return True
    return False


@compiled
def shape_box(engine: Table, shape: int) -> np.ndarray:
    """The box of a whole shape, shape (2, 3)."""
    return engine.box_trees.placed[placed_node(engine, KINDS * shape, 1)]
