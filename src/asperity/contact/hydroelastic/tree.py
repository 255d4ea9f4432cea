"""Trees of boxes over tetrahedra and triangles.

A tree is balanced: nodes split their items in halves along the axis on which the centres spread
most, down to leaves of two. Its items are sorted so that those of a node follow each other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["Tree", "build_tree", "node_boxes"]

_LEAF = 2
# Boxes grow by this share of the whole for rounding.
_ROUNDING = 1e-12


class Tree(NamedTuple):
    """A balanced tree over n items, with m nodes; the first is its root."""

    order: np.ndarray
    """Items, node by node, shape (n,)."""
    first: np.ndarray
    """Of a node's items in that order, shape (m,)."""
    size: np.ndarray
    """Number of a node's items."""
    child: np.ndarray
    """Shape (m, 2); −1 of leaves."""


def build_tree(centres: np.ndarray) -> Tree:
    """Build a tree over items with these centres, shape (n, 3)."""
    order = np.arange(len(centres))
    starts, counts = np.array([0]), np.array([len(centres)])
    first, count, child = [], [], []
    nodes = 0
    while len(starts):
        first.append(starts)
        count.append(counts)
        split = counts > _LEAF
        segment = np.repeat(np.arange(len(starts)), counts)
        bounds = np.cumsum(counts) - counts
        members = np.arange(int(np.sum(counts))) + np.repeat(starts - bounds, counts)
        placed = centres[order[members]]
        spread = np.maximum.reduceat(placed, bounds) - np.minimum.reduceat(placed, bounds)
        along = placed[np.arange(len(members)), np.argmax(spread, axis=1)[segment]]
        # What is not split keeps its order: its key is its place.
        along = np.where(split[segment], along, np.arange(len(members)))
        order[members] = order[members][np.lexsort((along, segment))]
        children = np.full((len(starts), 2), -1, np.int64)
        below = nodes + len(starts)
        children[split, 0] = below + 2 * np.arange(np.count_nonzero(split))
        children[split, 1] = children[split, 0] + 1
        child.append(children)
        nodes = below
        left = counts[split] // 2
        starts = np.stack([starts[split], starts[split] + left], axis=1).reshape(-1)
        counts = np.stack([left, counts[split] - left], axis=1).reshape(-1)
    return Tree(order, np.concatenate(first), np.concatenate(count), np.concatenate(child))


def node_boxes(tree: Tree, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Boxes of a tree's nodes: centre and half sides, shape (m, 6).

    Parameters
    ----------
    tree : Tree
    low, high : arrays, shape (n, 3)
        Boxes of the items; of empty ones ``low`` is +inf and ``high`` −inf. Nodes of nothing get
        negative half sides.
    """
    ends = np.stack([tree.first, tree.first + tree.size], axis=1).reshape(-1)
    # Reduction wants every index within bounds: one item more that changes nothing.
    padded_low = np.concatenate([low[tree.order], [[np.inf] * 3]])
    padded_high = np.concatenate([high[tree.order], [[-np.inf] * 3]])
    lower = np.minimum.reduceat(padded_low, ends)[::2]
    upper = np.maximum.reduceat(padded_high, ends)[::2]
    empty = lower[:, 0] > upper[:, 0]
    lower[empty], upper[empty] = 0.0, 0.0
    scale = np.max(np.abs(np.concatenate([lower, upper])), initial=0.0)
    boxes = np.concatenate([0.5 * (lower + upper), 0.5 * (upper - lower)], axis=1)
    boxes[:, 3:] += _ROUNDING * scale
    boxes[empty, 3:] = -1.0
    return boxes
