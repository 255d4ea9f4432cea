"""Broad phase of two shapes of one tree, looked at from the link of one of them.

The base is still, with the boxes of its trees in rest coordinates. The other link goes along its
path (`asperity.midas.lists.link_pair_paths`). Times at which the boxes are near tell what passes
by, and conservative advancement tells it for primitives. The list takes what comes nearer than it
may somewhere on the path.
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled
from asperity.midas.geometry.box_trees import KINDS, leaf_begin
from asperity.midas.geometry.stencil import EDGE_EDGE, VERTEX_FACE, Stencil
from asperity.midas.lists.link_pair_primitives import (
    come_near,
    near_times,
    set_corner,
    still_box,
    track_leaf,
    tracks_pass,
)
from asperity.midas.lists.stencils import append_stencil, weigh_edges
from asperity.midas.lists.tree_search import (
    EDGES,
    VERTICES,
    divide_nodes,
    is_empty,
    trees_of_third,
)
from asperity.midas.pose.link_pair_poses import (
    box_centre,
    box_on_path,
    extent_along,
    half_extent,
)

__all__ = ["search_link_pair"]


@compiled
def _margin(relative: Table, block: int, box: np.ndarray) -> float:
    """How near the points of a box may come in the base's coordinates without being listed."""
    pivot = relative.pivot[block]
    square = 0.0
    for k in range(3):
        square += max(pivot[k] - box[0, k], box[1, k] - pivot[k]) ** 2
    width = relative.width[block]
    reach = relative.reach[block] + width[0] + width[1] * math.sqrt(square)
    return reach / relative.link_stretch[relative.link[block, 0]]


@compiled
def _pass_by(
    relative: Table, work: Table, block: int, still: np.ndarray, moving: np.ndarray, margin: float
) -> bool:
    """Whether what is in two boxes stays apart; both are in their links' rest coordinates."""
    start = relative.start[block]
    path = relative.path[block]
    early = 0.0
    late = 1.0
    gap = work.relative_gap
    for k in range(3):
        centre, half, move, spread = box_on_path(start, path, moving, k)
        gap[0, k] = centre - box_centre(still, k)
        gap[1, k] = move
        gap[2, k] = half_extent(still, k)
        half += gap[2, k]
        early, late = near_times(
            gap[0, k] - half, gap[0, k] + half, move - spread, move + spread, margin, early, late
        )
        if early > late:
            return True
    # What told the last primitives apart may do so with all that is here.
    normal = work.relative_normal
    square = 0.0
    centre = 0.0
    move = 0.0
    half, spread = extent_along(normal, start, path, moving)
    for k in range(3):
        square += normal[k] * normal[k]
        centre += normal[k] * gap[0, k]
        move += normal[k] * gap[1, k]
        half += abs(normal[k]) * gap[2, k]
    if square == 0.0:
        return False
    reach = margin * math.sqrt(square)
    early, late = near_times(
        centre - half, centre + half, move - spread, move + spread, reach, early, late
    )
    return early > late


@compiled
def _leaves(
    engine: Table,
    count: int,
    pair: int,
    block: int,
    still: int,
    a: int,
    moving: int,
    b: int,
    margin: float,
) -> int:
    """Add stencils of two leaves' primitives, of which the moving ones have their boxes."""
    boxes = engine.work.leaf_box
    chosen = engine.work.leaf_item
    box = boxes[chosen.size]
    kind = still % KINDS
    kind_too = moving % KINDS
    node = engine.box_trees.box[engine.box_trees.node[still] + a]
    begin = leaf_begin(engine.box_trees, moving, b)
    near = 0
    for j in range(leaf_begin(engine.box_trees, moving, b + 1) - begin):
        if not tracks_pass(node, boxes[j], margin):
            chosen[near] = j
            near += 1
    if near == 0:
        return count
    for at in range(
        leaf_begin(engine.box_trees, still, a), leaf_begin(engine.box_trees, still, a + 1)
    ):
        item = engine.box_trees.item[at]
        still_box(engine.shapes, kind, item, box)
        for j in range(near):
            if tracks_pass(box, boxes[chosen[j]], margin):
                continue
            item_too = engine.box_trees.item[begin + chosen[j]]
            placed = engine.work.leaf_corner[chosen[j]]
            if kind == EDGES:
                # As in the pair: the first shape's edge first.
                swapped = still // KINDS != engine.pairs.shape[pair, 0]
                one = item_too if swapped else item
                other = item if swapped else item_too
                v = engine.shapes.edge[one]
                w = engine.shapes.edge[other]
                for i in range(2):
                    set_corner(engine.shapes, engine.work, i, v[i], placed[i], swapped)
                    set_corner(engine.shapes, engine.work, 2 + i, w[i], placed[i], not swapped)
                if not come_near(engine.shapes, engine.work, EDGE_EDGE, margin):
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
                set_corner(engine.shapes, engine.work, 0, vertex, placed[0], moves)
                for i in range(3):
                    set_corner(engine.shapes, engine.work, 1 + i, f[i], placed[i], not moves)
                if not come_near(engine.shapes, engine.work, VERTEX_FACE, margin):
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
    block = engine.pairs.block[pair]
    stack = engine.work.node_stack
    boxes = box_trees.box
    leaf = 1 << box_trees.depth[still]
    leaf_too = 1 << box_trees.depth[moving]
    tracked = 0
    stack[0, 0] = 1
    stack[0, 1] = 1
    waiting = 1
    while waiting > 0:
        waiting -= 1
        a = stack[waiting, 0]
        b = stack[waiting, 1]
        box = boxes[box_trees.node[still] + a]
        box_too = boxes[box_trees.node[moving] + b]
        margin = _margin(engine.relative, block, box_too)
        if _pass_by(engine.relative, engine.work, block, box, box_too, margin):
            continue
        if a >= leaf and b >= leaf_too:
            if b != tracked:
                track_leaf(engine, block, moving, b)
                tracked = b
            count = _leaves(engine, count, pair, block, still, a, moving, b, margin)
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
    block = engine.pairs.block[pair]
    one, other = trees_of_third(engine.pairs, pair, third)
    moving = engine.shapes.vertex_link[engine.shapes.vertex_start[engine.pairs.shape[pair, 0]]]
    # What is found depends on nothing that was looked for before.
    engine.work.relative_normal[:] = 0.0
    if moving == engine.relative.link[block, 1]:
        return _search(engine, count, pair, other, one)
    return _search(engine, count, pair, one, other)
