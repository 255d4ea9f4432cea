"""Trees of boxes over the vertices, edges and faces of shapes, for the broad phase.

A tree is perfect and binary: node i has the children 2i and 2i + 1, the root is 1, and leaf number
j of depth d holds items ⌊jn/2ᵈ⌋ to ⌊(j + 1)n/2ᵈ⌋. Items are in an order that makes boxes small:
every node is cut where the surface area of its halves' boxes is least (MacDonald and Booth 1990),
across an axis or between small primitives and large ones, so that the long edges and triangles of a
designer's mesh do not widen the boxes of its fine ones. Boxes are those of rest coordinates:
surfaces are affine, so that a node's box at any pose follows from its own alone
(`asperity.midas.lists.tree_search`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from asperity.compiled import Table, compiled

__all__ = [
    "KEPT_LEAVES",
    "KEPT_NODES",
    "KINDS",
    "LEAF",
    "STACK",
    "apart",
    "leaf_begin",
    "tree_tables",
]

KINDS = 3
"""Trees of a shape: of its vertices, edges and faces."""

LEAF = 8
"""Primitives of a leaf, at most."""

STACK = 256
"""Nodes, or pairs of them, that may wait: two for each level of both trees."""

KEPT_NODES, KEPT_LEAVES = 256, 32
"""How much of a tree is kept while it is searched, in places by the numbers of nodes modulo these.

Powers of two.
"""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@compiled
def apart(one: np.ndarray, other: np.ndarray, margin: float) -> bool:
    """Whether two boxes, by their least and largest corners, are farther apart than a margin."""
    for k in range(3):
        if one[0, k] > other[1, k] + margin or other[0, k] > one[1, k] + margin:
            return True
    return False


@compiled
def leaf_begin(box_trees: Table, tree: int, node: int) -> int:
    """First item of a leaf; that of the next one, or of the next tree, follows its last."""
    depth = box_trees.depth[tree]
    count = box_trees.first[tree + 1] - box_trees.first[tree]
    return box_trees.first[tree] + (((node - (1 << depth)) * count) >> depth)


def tree_tables(fields: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Fields of `BOX_TREES`, for fields of `SHAPES`."""
    rest = fields["vertex_rest"][:, 1:]
    primitives = (np.arange(len(rest))[:, None], fields["edge"], fields["face"])
    starts = (fields["vertex_start"], fields["edge_start"], fields["face_start"])
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
        "item": np.concatenate(items),
        "first": np.array([*first_item, item_count], np.int64),
        "node": np.array(first_node, np.int64),
        "depth": np.array(depths, np.int64),
        "box": np.ascontiguousarray(np.concatenate(boxes)),
        "placed": np.zeros((node_count, 2, 3)),
        "stamp": np.zeros(node_count, np.int64),
    }


def _tree(low: Floats, high: Floats) -> tuple[Ints, Floats, int]:
    """Order of some primitives, boxes of the nodes over them, shape (nodes, 2, 3), and depth."""
    count = len(low)
    if count == 0:
        return np.zeros(0, np.int64), np.zeros((1, 2, 3)), 0
    depth = max(int(np.ceil(np.log2(count / LEAF))), 0)
    order = _order(low, high, depth)
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


def _order(low: Floats, high: Floats, depth: int) -> Ints:
    """Order of primitives with given boxes, for a tree of given depth."""
    count = len(low)
    keys = np.column_stack([low + high, np.linalg.norm(high - low, axis=1)])
    # By the node that primitives are in, and then by each of the keys.
    orders = list(np.argsort(keys, axis=0, kind="stable").T)
    best = orders[0]
    # Sorting small integers takes linear time.
    node = np.zeros(count, np.uint16 if depth <= 16 else np.int64)
    for level in range(depth):
        starts = (np.arange(1 << level) * count) >> level
        halves = (np.arange(2 << level) * count) >> (level + 1)
        own = np.repeat(np.arange(1 << level), np.diff([*starts, count]))
        least = np.full(1 << level, np.inf)
        orders = [order[np.argsort(node[order], kind="stable")] for order in orders]
        for order in orders:
            size = np.maximum.reduceat(high[order], halves) - np.minimum.reduceat(
                low[order], halves
            )
            area = np.sum(size * np.roll(size, 1, axis=1), axis=1)
            cost = area[::2] + area[1::2]
            best = order if order is orders[0] else np.where((cost < least)[own], order, best)
            least = np.minimum(cost, least)
        node[best] = np.repeat(np.arange(2 << level), np.diff([*halves, count]))
    return np.argsort(node, kind="stable")
