"""Broad phase of two shapes: their trees of boxes, walked two at a time."""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.midas.geometry.box_trees import KINDS, LEAF, apart, leaf_begin
from asperity.midas.geometry.stencil import VERTEX_FACE, VERTEX_PLANE, Stencil
from asperity.midas.lists.placed_boxes import placed_node
from asperity.midas.lists.stencils import LIST_FULL, add_pair_of_edges, add_stencil
from asperity.midas.lists.vertex_boxes import box_vertex

__all__ = [
    "EDGES",
    "FACES",
    "VERTICES",
    "corner_of",
    "divide_nodes",
    "is_empty",
    "search_half_space",
    "search_trees",
    "trees_of_third",
]

VERTICES, EDGES, FACES = range(KINDS)


@compiled
def is_empty(box_trees: Table, tree: int) -> bool:
    return box_trees.first[tree] == box_trees.first[tree + 1]


@compiled
def corner_of(shapes: Table, kind: int, item: int, corner: int) -> int:
    """A vertex of a primitive."""
    if kind == EDGES:
        return shapes.edge[item, corner]
    return shapes.face[item, corner] if kind == FACES else item


@compiled
def trees_of_third(pairs: Table, pair: int, third: int) -> tuple[int, int]:
    """Trees that a third of a pair's stencils are of, the first shape's first."""
    one = KINDS * pairs.shape[pair, 0]
    other = KINDS * pairs.shape[pair, 1]
    if third == 0:
        return one + VERTICES, other + FACES
    if third == 1:
        return one + FACES, other + VERTICES
    return one + EDGES, other + EDGES


@compiled
def divide_nodes(
    stack: np.ndarray,
    waiting: int,
    box: np.ndarray,
    box_too: np.ndarray,
    is_leaf: bool,
    is_leaf_too: bool,
) -> int:
    """Let the larger of two nodes be replaced by its halves; returns how many pairs wait.

    The two, with such boxes, are what was last taken from the stack; one of them is no leaf.
    """
    a = stack[waiting, 0]
    b = stack[waiting, 1]
    size = 0.0
    size_too = 0.0
    for k in range(3):
        size += box[1, k] - box[0, k]
        size_too += box_too[1, k] - box_too[0, k]
    first = not is_leaf and (is_leaf_too or size >= size_too)
    for child in range(2):
        # The left one is looked at first.
        stack[waiting + child, 0] = 2 * a + 1 - child if first else a
        stack[waiting + child, 1] = b if first else 2 * b + 1 - child
    return waiting + 2


@compiled
def _box(engine: Table, tree: int, item: int, box: np.ndarray) -> None:
    """Fill the box of a primitive."""
    boxes = engine.boxes
    kind = tree % KINDS
    radius = engine.shapes.radius[tree // KINDS]
    for corner in range(kind + 1):
        vertex = corner_of(engine.shapes, kind, item, corner)
        box_vertex(engine.shapes, boxes, vertex)
        for k in range(3):
            low = boxes.low[vertex, k] - radius
            high = boxes.high[vertex, k] + radius
            box[0, k] = low if corner == 0 else min(box[0, k], low)
            box[1, k] = high if corner == 0 else max(box[1, k], high)


@compiled
def _leaves(engine: Table, count: int, pair: int, one: int, a: int, other: int, b: int) -> int:
    """Add stencils of two leaves' primitives."""
    box_trees = engine.box_trees
    boxes = engine.work.leaf_box
    chosen = engine.work.leaf_item[0]
    box = boxes[LEAF]
    margin = engine.pairs.activation[pair]
    at = box_trees.node[one] + a
    at_too = box_trees.node[other] + b
    near = 0
    for j in range(leaf_begin(box_trees, other, b), leaf_begin(box_trees, other, b + 1)):
        _box(engine, other, box_trees.item[j], boxes[near])
        if not apart(boxes[near], box_trees.placed[at], margin):
            chosen[near] = box_trees.item[j]
            near += 1
    if near == 0:
        return count
    for i in range(leaf_begin(box_trees, one, a), leaf_begin(box_trees, one, a + 1)):
        item = box_trees.item[i]
        _box(engine, one, item, box)
        if apart(box, box_trees.placed[at_too], margin):
            continue
        for j in range(near):
            if apart(box, boxes[j], margin):
                continue
            if one % KINDS == EDGES:
                count = add_pair_of_edges(engine, count, pair, item, chosen[j])
            else:
                f = engine.shapes.face[chosen[j]]
                stencil = Stencil(VERTEX_FACE, item, f[0], f[1], f[2])
                count = add_stencil(engine, count, pair, stencil)
            if count == LIST_FULL:
                return count
    return count


@compiled
def search_trees(engine: Table, count: int, pair: int, third: int) -> int:
    """Add a third of the stencils of two shapes; as `add_stencil`."""
    box_trees = engine.box_trees
    one, other = trees_of_third(engine.pairs, pair, third)
    if third == 1:
        one, other = other, one
    if is_empty(box_trees, one) or is_empty(box_trees, other):
        return count
    stack = engine.work.node_stack
    margin = engine.pairs.activation[pair]
    leaf = 1 << box_trees.depth[one]
    leaf_too = 1 << box_trees.depth[other]
    stack[0, 0] = 1
    stack[0, 1] = 1
    waiting = 1
    while waiting > 0:
        waiting -= 1
        a = stack[waiting, 0]
        b = stack[waiting, 1]
        box = box_trees.placed[placed_node(engine, one, a)]
        box_too = box_trees.placed[placed_node(engine, other, b)]
        if apart(box, box_too, margin):
            continue
        if a < leaf or b < leaf_too:
            waiting = divide_nodes(stack, waiting, box, box_too, a >= leaf, b >= leaf_too)
            continue
        count = _leaves(engine, count, pair, one, a, other, b)
        if count == LIST_FULL:
            return count
    return count


@compiled
def search_half_space(engine: Table, count: int, pair: int, shape: int, plane: int) -> int:
    """Add the vertices of a shape against a half-space; as `add_stencil`."""
    tree = KINDS * shape + VERTICES
    margin = engine.pairs.activation[pair]
    stack = engine.work.node_stack[:, 0]
    leaf = 1 << engine.box_trees.depth[tree]
    normal = engine.shapes.plane[plane]
    stack[0] = 1
    waiting = 1
    while waiting > 0:
        waiting -= 1
        node = stack[waiting]
        box = engine.box_trees.placed[placed_node(engine, tree, node)]
        height = -normal[3]
        for k in range(3):
            height += normal[k] * (box[0, k] if normal[k] > 0.0 else box[1, k])
        if height > margin:
            continue
        if node < leaf:
            # The left one is looked at first.
            stack[waiting] = 2 * node + 1
            stack[waiting + 1] = 2 * node
            waiting += 2
            continue
        for i in range(
            leaf_begin(engine.box_trees, tree, node), leaf_begin(engine.box_trees, tree, node + 1)
        ):
            v = engine.box_trees.item[i]
            box_vertex(engine.shapes, engine.boxes, v)
            count = add_stencil(engine, count, pair, Stencil(VERTEX_PLANE, v, v, v, plane))
            if count == LIST_FULL:
                return count
    return count
