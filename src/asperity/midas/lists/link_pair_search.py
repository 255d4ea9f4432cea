"""Broad phase of two shapes of one tree, or of one and the world, seen from the link of one.

The base is still, with the boxes of its trees in rest coordinates. The other link goes along its
path (`asperity.midas.lists.link_pair_paths`). What passes by is told by where nodes and primitives
are on the whole path along the axes of both (`asperity.midas.lists.link_pair_nodes`), and then of
primitives by conservative advancement. The list takes what comes nearer than it may somewhere on
the path.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.midas.geometry.box_trees import KINDS, leaf_begin
from asperity.midas.geometry.stencil import EDGE_EDGE, VERTEX_FACE, Stencil
from asperity.midas.lists.link_pair_nodes import (
    begin_search,
    moving_node,
    pass_by,
    still_node,
)
from asperity.midas.lists.link_pair_primitives import (
    come_near,
    moving_leaf,
    set_corner,
    still_leaf,
)
from asperity.midas.lists.stencils import append_stencil, weigh_edges
from asperity.midas.lists.tree_search import (
    EDGES,
    VERTICES,
    divide_nodes,
    is_empty,
    trees_of_third,
)

__all__ = ["search_link_pair"]


@compiled
def _leaves(
    engine: Table,
    count: int,
    pair: int,
    still: int,
    a: int,
    node: np.ndarray,
    moving: int,
    b: int,
    node_too: np.ndarray,
    margin: float,
) -> int:
    """Add stencils of two leaves' primitives, which are between such positions along all axes."""
    work = engine.work
    slot = still_leaf(engine, still, a)
    chosen = work.leaf_item[0]
    chosen_too = work.leaf_item[1]
    kind = still % KINDS
    kind_too = moving % KINDS
    first = leaf_begin(engine.box_trees, still, a)
    near = 0
    for i in range(leaf_begin(engine.box_trees, still, a + 1) - first):
        if not pass_by(node_too, work.still_item[slot, i]):
            chosen[near] = i
            near += 1
    if near == 0:
        return count
    slot_too = moving_leaf(engine, engine.pairs.seen[pair], moving, b, margin)
    begin = leaf_begin(engine.box_trees, moving, b)
    near_too = 0
    for j in range(leaf_begin(engine.box_trees, moving, b + 1) - begin):
        if not pass_by(node, work.moving_item[slot_too, j]):
            chosen_too[near_too] = j
            near_too += 1
    for i in chosen[:near]:
        item = engine.box_trees.item[first + i]
        for j in chosen_too[:near_too]:
            if pass_by(work.still_item[slot, i], work.moving_item[slot_too, j]):
                continue
            item_too = engine.box_trees.item[begin + j]
            placed = work.moving_corner[slot_too, j]
            if kind == EDGES:
                # As in the pair: the first shape's edge first.
                swapped = still // KINDS != engine.pairs.shape[pair, 0]
                one = item_too if swapped else item
                other = item if swapped else item_too
                v = engine.shapes.edge[one]
                w = engine.shapes.edge[other]
                for end in range(2):
                    set_corner(engine.shapes, work, end, v[end], placed[end], swapped)
                    set_corner(engine.shapes, work, 2 + end, w[end], placed[end], not swapped)
                if not come_near(engine.shapes, work, EDGE_EDGE, margin):
                    continue
                stencil = Stencil(EDGE_EDGE, v[0], v[1], w[0], w[1])
                after = append_stencil(engine.shapes, engine.candidates, count, pair, stencil)
                if after > count:
                    weigh_edges(engine.shapes, engine.candidates, count, one, other)
                count = after
            else:
                vertex = item if kind == VERTICES else item_too
                f = engine.shapes.face[item_too if kind == VERTICES else item]
                moves = kind_too == VERTICES
                set_corner(engine.shapes, work, 0, vertex, placed[0], moves)
                for end in range(3):
                    set_corner(engine.shapes, work, 1 + end, f[end], placed[end], not moves)
                if not come_near(engine.shapes, work, VERTEX_FACE, margin):
                    continue
                stencil = Stencil(VERTEX_FACE, vertex, f[0], f[1], f[2])
                count = append_stencil(engine.shapes, engine.candidates, count, pair, stencil)
            if count < 0:
                return count
    return count


@compiled
def _search(engine: Table, count: int, pair: int, still: int, moving: int) -> int:
    """Add stencils of primitives of two trees, of which the second one's link moves."""
    box_trees = engine.box_trees
    if is_empty(box_trees, still) or is_empty(box_trees, moving):
        return count
    block = engine.pairs.seen[pair]
    work = engine.work
    begin_search(engine.relative, work, block)
    stack = work.node_stack
    boxes = box_trees.box
    leaf = 1 << box_trees.depth[still]
    leaf_too = 1 << box_trees.depth[moving]
    stack[0, 0] = 1
    stack[0, 1] = 1
    waiting = 1
    while waiting > 0:
        waiting -= 1
        a = stack[waiting, 0]
        b = stack[waiting, 1]
        box = boxes[box_trees.node[still] + a]
        box_too = boxes[box_trees.node[moving] + b]
        node = work.still_seen[still_node(work, a, box)]
        slot = moving_node(engine.relative, work, block, b, box_too)
        if pass_by(node, work.moving_seen[slot]):
            continue
        if a >= leaf and b >= leaf_too:
            node_too = work.moving_seen[slot]
            margin = work.moving_margin[slot]
            count = _leaves(engine, count, pair, still, a, node, moving, b, node_too, margin)
            if count < 0:
                return count
            continue
        waiting = divide_nodes(stack, waiting, box, box_too, a >= leaf, b >= leaf_too)
    return count


@compiled
def search_link_pair(engine: Table, pair: int, third: int, count: int) -> int:
    """Add a third of the stencils of two shapes that may meet on their links' path.

    Returns the new count, or `LIST_FULL`.
    """
    block = engine.pairs.seen[pair]
    one, other = trees_of_third(engine.pairs, pair, third)
    moving = engine.shapes.vertex_link[engine.shapes.vertex_start[engine.pairs.shape[pair, 0]]]
    if moving == engine.relative.link[block, 1]:
        return _search(engine, count, pair, other, one)
    return _search(engine, count, pair, one, other)
