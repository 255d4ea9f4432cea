"""Broad phase of large shapes: their trees of boxes, walked two at a time.

A node's box holds the boxes of all its vertices (`asperity.midas.candidates.box_vertices`). It is
made of the node's box in rest coordinates, where the link is and where its path leads, when it is
first asked for in a list.
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled
from asperity.compiled.atomics import atomic_load, atomic_store
from asperity.midas.box_trees import KINDS, LEAF
from asperity.midas.distances import VERTEX_FACE
from asperity.midas.stencils import add_pair_of_edges, add_stencil, apart, primitive_box
from asperity.midas.tubes import FIRMNESS, LEAST_WIDTH, is_in_tube

__all__ = ["STACK", "search_edges", "search_faces"]

STACK = 256
"""Pairs of nodes that may wait: two for each level of both trees."""

# Of vertices of a box, against round-off, relative to lengths.
_ROUNDING = 1e-9
_VERTEX, _EDGE, _FACE = range(KINDS)


@compiled
def _place(engine: Table, tree: int, at: int) -> None:
    """Fill the box of a node where its shape is and goes."""
    shape = tree // KINDS
    link = engine.vertex_link[engine.shape_vertex[shape]]
    box = engine.tree_box[at]
    begin = engine.path_begin[link]
    end = engine.path_end[link]
    longest = engine.longest_move
    tube = is_in_tube(engine, link)
    common = engine.tree_path[engine.link_tree[link] if tube else 0, 0]
    square = 0.0
    square_own = 0.0
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
        low = move - spread
        high = move + spread
        if tube:
            low *= engine.common_share
            high *= engine.common_share
            engine.tree_still[at, 2, k] = low
            engine.tree_still[at, 3, k] = high
            square_own += max(common[k] - low, high - common[k]) ** 2
        else:
            low = max(low, -longest)
            high = min(high, longest)
        low = min(low, 0.0)
        high = max(high, 0.0)
        square += max(-low, high) ** 2
        more = _ROUNDING * (size + half) + engine.shape_radius[shape]
        engine.tree_still[at, 0, k] = centre - half - more
        engine.tree_still[at, 1, k] = centre + half + more
        engine.tree_placed[at, 0, k] = centre - half + low - more
        engine.tree_placed[at, 1, k] = centre + half + high + more
    slack = engine.least_slack + engine.widening * math.sqrt(square)
    own = slack
    if tube:
        slack = own = max(engine.least_slack, LEAST_WIDTH)
        slack += FIRMNESS * engine.widening * math.sqrt(square)
        own += FIRMNESS * engine.widening * math.sqrt(square_own)
    for k in range(3):
        engine.tree_placed[at, 0, k] -= slack
        engine.tree_placed[at, 1, k] += slack
        engine.tree_still[at, 0, k] -= own
        engine.tree_still[at, 1, k] += own


@compiled
def _node(engine: Table, tree: int, node: int) -> int:
    """Where a node's box is found, which is filled."""
    at = engine.tree_node[tree] + node
    # Two threads may fill it at once, with the same numbers.
    stamp = engine.tree_stamp.ctypes.data + 8 * at
    if atomic_load(stamp) != engine.list_number:
        _place(engine, tree, at)
        atomic_store(stamp, engine.list_number)
    return at


@compiled
def _pass_by(one: np.ndarray, other: np.ndarray, margin: float) -> bool:
    """Whether two that move together stay apart; by where they are and their moves."""
    for k in range(3):
        least = min(other[2, k] - one[3, k], 0.0)
        most = max(other[3, k] - one[2, k], 0.0)
        if other[0, k] + least > one[1, k] + margin or other[1, k] + most < one[0, k] - margin:
            return True
    return False


@compiled
def _item(engine: Table, tree: int, node: int) -> int:
    """First item of a leaf; that of the next one, or of the next tree, follows its last."""
    depth = engine.tree_depth[tree]
    count = engine.tree_first[tree + 1] - engine.tree_first[tree]
    return engine.tree_first[tree] + (((node - (1 << depth)) * count) >> depth)


@compiled
def _box(engine: Table, tree: int, item: int, box: np.ndarray) -> None:
    """Fill the box of a primitive."""
    kind = tree % KINDS
    radius = engine.shape_radius[tree // KINDS]
    low = engine.vertex_low
    high = engine.vertex_high
    if kind == _EDGE:
        primitive_box(low, high, engine.edge[item], radius, box)
    elif kind == _FACE:
        primitive_box(low, high, engine.face[item], radius, box)
    else:
        for k in range(3):
            box[0, k] = low[item, k] - radius
            box[1, k] = high[item, k] + radius


@compiled
def _track(engine: Table, tree: int, item: int, track: np.ndarray) -> None:
    """Fill where a primitive is and its moves, as of nodes, shape (4, 3)."""
    kind = tree % KINDS
    radius = engine.shape_radius[tree // KINDS]
    for corner in range(kind + 1):
        v = item
        if kind == _EDGE:
            v = engine.edge[item, corner]
        elif kind == _FACE:
            v = engine.face[item, corner]
        wide = radius + engine.vertex_slack[v]
        for k in range(3):
            x = engine.vertex_start[v, k]
            m = engine.vertex_path[v, k]
            track[0, k] = x - wide if corner == 0 else min(track[0, k], x - wide)
            track[1, k] = x + wide if corner == 0 else max(track[1, k], x + wide)
            track[2, k] = m if corner == 0 else min(track[2, k], m)
            track[3, k] = m if corner == 0 else max(track[3, k], m)


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
    boxes: np.ndarray,
    chosen: np.ndarray,
) -> int:
    """Add stencils of two leaves' primitives."""
    box = boxes[LEAF]
    at = engine.tree_node[one] + a
    at_too = engine.tree_node[other] + b
    together = engine.relative == 1
    near = 0
    for j in range(_item(engine, other, b), _item(engine, other, b + 1)):
        if together:
            _track(engine, other, engine.tree_item[j], boxes[near])
            away = _pass_by(boxes[near], engine.tree_still[at], margin)
        else:
            _box(engine, other, engine.tree_item[j], boxes[near])
            away = apart(boxes[near], engine.tree_placed[at], margin)
        if not away:
            chosen[near] = engine.tree_item[j]
            near += 1
    if near == 0:
        return count
    for i in range(_item(engine, one, a), _item(engine, one, a + 1)):
        item = engine.tree_item[i]
        if together:
            _track(engine, one, item, box)
            away = _pass_by(box, engine.tree_still[at_too], margin)
        else:
            _box(engine, one, item, box)
            away = apart(box, engine.tree_placed[at_too], margin)
        if away:
            continue
        for j in range(near):
            if _pass_by(box, boxes[j], margin) if together else apart(box, boxes[j], margin):
                continue
            if one % KINDS == _EDGE:
                count = add_pair_of_edges(engine, x, count, pair, item, chosen[j], margin)
            else:
                f = engine.face[chosen[j]]
                count = add_stencil(
                    engine, x, count, pair, VERTEX_FACE, item, f[0], f[1], f[2], margin
                )
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
    work: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> int:
    """Add stencils of a primitive of one tree and one of another; as `add_stencil`."""
    if (
        engine.tree_first[one] == engine.tree_first[one + 1]
        or engine.tree_first[other] == engine.tree_first[other + 1]
    ):
        return count
    stack, boxes, chosen = work
    leaf = 1 << engine.tree_depth[one]
    leaf_too = 1 << engine.tree_depth[other]
    stack[0, 0] = 1
    stack[0, 1] = 1
    waiting = 1
    while waiting > 0:
        waiting -= 1
        a = stack[waiting, 0]
        b = stack[waiting, 1]
        box = engine.tree_placed[_node(engine, one, a)]
        box_too = engine.tree_placed[_node(engine, other, b)]
        if apart(box, box_too, margin) or (
            engine.relative == 1
            and _pass_by(
                engine.tree_still[engine.tree_node[one] + a],
                engine.tree_still[engine.tree_node[other] + b],
                margin,
            )
        ):
            continue
        if a >= leaf and b >= leaf_too:
            count = _leaves(engine, x, count, pair, one, a, other, b, margin, boxes, chosen)
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
    work: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> int:
    """Add the vertices of one shape against the faces of another; as `add_stencil`."""
    one = KINDS * vertices + _VERTEX
    other = KINDS * faces + _FACE
    return _search(engine, x, count, pair, one, other, margin, work)


@compiled
def search_edges(
    engine: Table,
    x: np.ndarray,
    count: int,
    pair: int,
    a: int,
    b: int,
    margin: float,
    work: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> int:
    """Add the edges of two shapes against each other; as `add_stencil`."""
    one = KINDS * a + _EDGE
    other = KINDS * b + _EDGE
    return _search(engine, x, count, pair, one, other, margin, work)
