"""Trees of boxes over the vertices, edges and faces of shapes, for the broad phase.

A tree is perfect and binary, over primitives in the order of a Morton curve through the shape
(Karras 2012, section 3): node i has the children 2i and 2i + 1, the root is 1, and leaf number j of
depth d holds items ⌊jn/2ᵈ⌋ to ⌊(j + 1)n/2ᵈ⌋. Boxes are those of rest coordinates: surfaces are
affine, so that a node's box at any pose follows from its own alone (`asperity.midas.tree_search`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["KINDS", "LEAF", "STACK", "tree_tables"]

KINDS = 3
"""Trees of a shape: of its vertices, edges and faces."""

LEAF = 8
"""Primitives of a leaf, at most."""

STACK = 256
"""Nodes, or pairs of them, that may wait: two for each level of both trees."""
# Cells of a Morton curve along each axis, as a power of 2.
_BITS = 20

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def tree_tables(fields: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Fields of the engine's table for the surfaces that others of its fields describe."""
    rest = fields["vertex_rest"][:, 1:]
    primitives = (np.arange(len(rest))[:, None], fields["edge"], fields["face"])
    starts = (fields["shape_vertex"], fields["shape_edge"], fields["shape_face"])
    items: list[Ints] = [np.zeros(0, np.int64)]
    boxes: list[Floats] = [np.zeros((0, 2, 3))]
    first_item, first_node, depths = [], [], []
    item_count = node_count = 0
    for shape in range(len(starts[0]) - 1):
        for kind in range(KINDS):
            begin, end = int(starts[kind][shape]), int(starts[kind][shape + 1])
            corners = rest[primitives[kind][begin:end]]
            order, box, depth = _tree(corners.min(axis=1), corners.max(axis=1))
            first_item.append(item_count)
            first_node.append(node_count - 1)  # the root is 1
            depths.append(depth)
            items.append(begin + order)
            boxes.append(box)
            item_count += len(order)
            node_count += len(box)
    return {
        "tree_item": np.concatenate(items),
        "tree_first": np.array([*first_item, item_count], np.int64),
        "tree_node": np.array(first_node, np.int64),
        "tree_depth": np.array(depths, np.int64),
        "tree_box": np.ascontiguousarray(np.concatenate(boxes)),
        "tree_placed": np.zeros((node_count, 2, 3)),
        "tree_still": np.zeros((node_count, 4, 3)),
        "tree_slack": np.zeros((node_count, 2)),
        "tree_stamp": np.zeros(node_count, np.int64),
    }


def _tree(low: Floats, high: Floats) -> tuple[Ints, Floats, int]:
    """Order of some primitives, boxes of the nodes over them, shape (nodes, 2, 3), and depth."""
    count = len(low)
    if count == 0:
        return np.zeros(0, np.int64), np.zeros((1, 2, 3)), 0
    order = np.argsort(_morton(0.5 * (low + high)), kind="stable")
    depth = max(int(np.ceil(np.log2(count / LEAF))), 0)
    leaves = (np.arange(1 << depth) * count) >> depth
    levels = [
        np.stack(
            [
                np.minimum.reduceat(low[order], leaves),
                np.maximum.reduceat(high[order], leaves),
            ],
            axis=1,
        )
    ]
    for _ in range(depth):
        below = levels[-1]
        levels.append(
            np.stack(
                [
                    np.minimum(below[::2, 0], below[1::2, 0]),
                    np.maximum(below[::2, 1], below[1::2, 1]),
                ],
                axis=1,
            )
        )
    return order, np.concatenate(levels[::-1]), depth


def _morton(points: Floats) -> Ints:
    """Numbers along a Morton curve, shape (n,)."""
    least = points.min(axis=0)
    extent = float(np.ptp(points, axis=0).max())
    scale = ((1 << _BITS) - 1) / extent if extent > 0.0 else 0.0
    cells = ((points - least) * scale).astype(np.int64)
    code = np.zeros(len(points), np.int64)
    for bit in range(_BITS):
        for axis in range(3):
            code |= ((cells[:, axis] >> bit) & 1) << (3 * bit + axis)
    return code
