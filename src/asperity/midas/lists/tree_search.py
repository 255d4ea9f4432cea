"""Broad phase of two shapes: their trees of boxes, walked two at a time."""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.compiled.atomics import atomic_load
from asperity.midas.geometry.box_trees import KINDS, LEAF
from asperity.midas.geometry.stencil import VERTEX_FACE, VERTEX_PLANE, Stencil
from asperity.midas.lists.placed_boxes import pass_by_along_axes, placed_node, prepare_axes
from asperity.midas.lists.stencils import add_pair_of_edges, add_stencil, apart, primitive_box
from asperity.midas.lists.vertex_boxes import box_vertex

__all__ = ["leaf_begin", "search_edges", "search_faces", "search_half_space"]

_VERTEX, _EDGE, _FACE = range(KINDS)


@compiled
def leaf_begin(box_trees: Table, tree: int, node: int) -> int:
    """First item of a leaf; that of the next one, or of the next tree, follows its last."""
    depth = box_trees.depth[tree]
    count = box_trees.first[tree + 1] - box_trees.first[tree]
    return box_trees.first[tree] + (((node - (1 << depth)) * count) >> depth)


@compiled
def _prepare(shapes: Table, boxes: Table, vertex: int) -> None:
    """See that a vertex has its box."""
    if atomic_load(boxes.stamp.ctypes.data + 8 * vertex) != boxes.list_number:
        box_vertex(shapes, boxes, vertex)


@compiled
def _box(shapes: Table, boxes: Table, tree: int, item: int, box: np.ndarray) -> None:
    """Fill the box of a primitive."""
    kind = tree % KINDS
    radius = shapes.radius[tree // KINDS]
    low = boxes.low
    high = boxes.high
    if kind == _EDGE:
        for corner in range(2):
            _prepare(shapes, boxes, shapes.edge[item, corner])
        primitive_box(low, high, shapes.edge[item], radius, box)
    elif kind == _FACE:
        for corner in range(3):
            _prepare(shapes, boxes, shapes.face[item, corner])
        primitive_box(low, high, shapes.face[item], radius, box)
    else:
        _prepare(shapes, boxes, item)
        for k in range(3):
            box[0, k] = low[item, k] - radius
            box[1, k] = high[item, k] + radius


@compiled
def _leaves(
    engine: Table,
    x: np.ndarray,
    count: int,
    pair: int,
    one: int,
    a: int,
    other: int,
    b: int,
    margin: float,
) -> int:
    """Add stencils of two leaves' primitives."""
    box_trees = engine.box_trees
    boxes = engine.work.leaf_box
    chosen = engine.work.leaf_item
    box = boxes[LEAF]
    at = box_trees.node[one] + a
    at_too = box_trees.node[other] + b
    near = 0
    for j in range(leaf_begin(box_trees, other, b), leaf_begin(box_trees, other, b + 1)):
        _box(engine.shapes, engine.boxes, other, box_trees.item[j], boxes[near])
        if not apart(boxes[near], box_trees.placed[at], margin):
            chosen[near] = box_trees.item[j]
            near += 1
    if near == 0:
        return count
    for i in range(leaf_begin(box_trees, one, a), leaf_begin(box_trees, one, a + 1)):
        item = box_trees.item[i]
        _box(engine.shapes, engine.boxes, one, item, box)
        if apart(box, box_trees.placed[at_too], margin):
            continue
        for j in range(near):
            if apart(box, boxes[j], margin):
                continue
            if one % KINDS == _EDGE:
                count = add_pair_of_edges(engine, x, count, pair, item, chosen[j], margin)
            else:
                f = engine.shapes.face[chosen[j]]
                stencil = Stencil(VERTEX_FACE, item, f[0], f[1], f[2])
                count = add_stencil(engine, x, count, pair, stencil, margin)
            if count < 0:
                return count
    return count


@compiled
def _search(
    engine: Table,
    x: np.ndarray,
    count: int,
    pair: int,
    one: int,
    other: int,
    margin: float,
) -> int:
    """Add stencils of a primitive of one tree and one of another; as `add_stencil`."""
    box_trees = engine.box_trees
    if (
        box_trees.first[one] == box_trees.first[one + 1]
        or box_trees.first[other] == box_trees.first[other + 1]
    ):
        return count
    stack = engine.work.node_stack
    wide = margin + engine.shapes.radius[one // KINDS] + engine.shapes.radius[other // KINDS]
    prepare_axes(engine, one // KINDS, other // KINDS)
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
        at = box_trees.node[one] + a
        at_too = box_trees.node[other] + b
        if pass_by_along_axes(box_trees, engine.work, at, at_too, wide):
            continue
        if a >= leaf and b >= leaf_too:
            count = _leaves(engine, x, count, pair, one, a, other, b, margin)
            if count < 0:
                return count
            continue
        size = 0.0
        size_too = 0.0
        for k in range(3):
            size += box[1, k] - box[0, k]
            size_too += box_too[1, k] - box_too[0, k]
        first = a < leaf and (b >= leaf_too or size >= size_too)
        for child in range(2):
            # The left one is looked at first.
            stack[waiting, 0] = 2 * a + 1 - child if first else a
            stack[waiting, 1] = b if first else 2 * b + 1 - child
            waiting += 1
    return count


@compiled
def search_faces(
    engine: Table,
    x: np.ndarray,
    count: int,
    pair: int,
    vertices: int,
    faces: int,
    margin: float,
) -> int:
    """Add the vertices of one shape against the faces of another; as `add_stencil`."""
    one = KINDS * vertices + _VERTEX
    other = KINDS * faces + _FACE
    return _search(engine, x, count, pair, one, other, margin)


@compiled
def search_edges(
    engine: Table,
    x: np.ndarray,
    count: int,
    pair: int,
    a: int,
    b: int,
    margin: float,
) -> int:
    """Add the edges of two shapes against each other; as `add_stencil`."""
    one = KINDS * a + _EDGE
    other = KINDS * b + _EDGE
    return _search(engine, x, count, pair, one, other, margin)


@compiled
def search_half_space(
    engine: Table, x: np.ndarray, count: int, pair: int, shape: int, plane: int, margin: float
) -> int:
    """Add the vertices of a shape against a half-space; as `add_stencil`."""
    tree = KINDS * shape + _VERTEX
    if engine.box_trees.first[tree] == engine.box_trees.first[tree + 1]:
        return count
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
            _prepare(engine.shapes, engine.boxes, v)
            stencil = Stencil(VERTEX_PLANE, v, v, v, plane)
            count = add_stencil(engine, x, count, pair, stencil, margin)
            if count < 0:
                return count
    return count
