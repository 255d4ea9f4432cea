"""Broad phase of two shapes of one tree, looked at from the link of one of them.

There one of them is still, with the boxes of its trees as they are in rest coordinates, and the
other one goes along its path (`asperity.midas.relative_paths`). What passes by is told by the times
at which it is near, of all axes of both, and for primitives by conservative advancement: listed is
what comes nearer than it may somewhere on the path.
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled, entry_point
from asperity.midas.box_trees import KINDS
from asperity.midas.distances import EDGE_EDGE, VERTEX_FACE, separation
from asperity.midas.parts import PART, count_parts, do_parts
from asperity.midas.relative_paths import may_meet, part_for_now
from asperity.midas.shared_lists import THIRDS
from asperity.midas.stencils import append_stencil, weigh_edges
from asperity.midas.tree_search import leaf_begin

__all__ = ["WIDENING_KERNELS", "near_times", "search_relative", "widen"]

_VERTEX, _EDGE, _FACE = range(KINDS)
# Of times.
_ROUNDING = 1e-9
# Advances after which primitives are taken for near, and gap over the margin that is taken for it.
_ADVANCES = 4
_CLOSE = 1.05
# How much wider than they must be paths are tried to be, from the first to the last, and stencils
# of the last list with which they are not.
_WIDEST = 16.0
_FACTOR = 4.0
_LEVELS = 2
_MANY = 64
# Pairs of links that make a part.
_PAIRS = 8


@compiled
def near_times(
    low: float, high: float, least: float, most: float, margin: float, early: float, late: float
) -> tuple[float, float]:
    """Times in a range at which two that move may be near, seen along an axis.

    At a time t they are apart by ``low + t least`` or more and by ``high + t most`` or less. What
    passes by along a slanted way is near along one axis and along another one, but not at once.

    Returns
    -------
    early, late : float
        The range, of which ``early > late`` if there is no such time.
    """
    begin = low - margin
    end = begin + least
    begin_too = -high - margin
    end_too = begin_too - most
    if (begin > 0.0 and end > 0.0) or (begin_too > 0.0 and end_too > 0.0):
        return 1.0, 0.0
    if begin > 0.0:
        early = max(early, begin / (begin - end) - _ROUNDING)
    elif end > 0.0:
        late = min(late, begin / (begin - end) + _ROUNDING)
    if begin_too > 0.0:
        early = max(early, begin_too / (begin_too - end_too) - _ROUNDING)
    elif end_too > 0.0:
        late = min(late, begin_too / (begin_too - end_too) + _ROUNDING)
    return early, late


@compiled
def _prepare(engine: Table, block: int) -> None:
    """Fill the axes of the moving link: themselves, and its own axes and their turns along them."""
    start = engine.relative_start[block]
    path = engine.relative_path[block]
    for i in range(3):
        axis = engine.relative_axes[i]
        square = 0.0
        for k in range(3):
            square += start[1 + i, k] ** 2
        for k in range(3):
            axis[k] = start[1 + i, k] / math.sqrt(square)
        for j in range(3):
            axis[3 + j] = 0.0
            axis[6 + j] = 0.0
            for k in range(3):
                axis[3 + j] += axis[k] * start[1 + j, k]
                axis[6 + j] += axis[k] * path[1 + j, k]
            axis[3 + j] = abs(axis[3 + j])
            axis[6 + j] = abs(axis[6 + j])


@compiled
def _margin(engine: Table, block: int, box: np.ndarray) -> float:
    """How near the points of a box may come in the base's coordinates without being listed."""
    pivot = engine.relative_pivot[block]
    square = 0.0
    for k in range(3):
        square += max(pivot[k] - box[0, k], box[1, k] - pivot[k]) ** 2
    width = engine.relative_width[block]
    reach = engine.relative_reach[block] + width[0] + width[1] * math.sqrt(square)
    return reach / engine.link_stretch[engine.relative_link[block, 0]]


@compiled
def _pass_by(
    engine: Table, block: int, still: np.ndarray, moving: np.ndarray, margin: float
) -> bool:
    """Whether what is in two boxes stays apart; both are in their links' rest coordinates."""
    start = engine.relative_start[block]
    path = engine.relative_path[block]
    early = 0.0
    late = 1.0
    c0 = 0.5 * (moving[0, 0] + moving[1, 0])
    c1 = 0.5 * (moving[0, 1] + moving[1, 1])
    c2 = 0.5 * (moving[0, 2] + moving[1, 2])
    e0 = 0.5 * (moving[1, 0] - moving[0, 0])
    e1 = 0.5 * (moving[1, 1] - moving[0, 1])
    e2 = 0.5 * (moving[1, 2] - moving[0, 2])
    gap = engine.relative_gap
    for k in range(3):
        centre = start[0, k] + c0 * start[1, k] + c1 * start[2, k] + c2 * start[3, k]
        move = path[0, k] + c0 * path[1, k] + c1 * path[2, k] + c2 * path[3, k]
        half = e0 * abs(start[1, k]) + e1 * abs(start[2, k]) + e2 * abs(start[3, k])
        spread = e0 * abs(path[1, k]) + e1 * abs(path[2, k]) + e2 * abs(path[3, k])
        early, late = near_times(
            centre - half - still[1, k],
            centre + half - still[0, k],
            move - spread,
            move + spread,
            margin,
            early,
            late,
        )
        if early > late:
            return True
        gap[0, k] = centre - 0.5 * (still[0, k] + still[1, k])
        gap[1, k] = move
        gap[2, k] = 0.5 * (still[1, k] - still[0, k])
    for i in range(3):
        axis = engine.relative_axes[i]
        centre = axis[0] * gap[0, 0] + axis[1] * gap[0, 1] + axis[2] * gap[0, 2]
        move = axis[0] * gap[1, 0] + axis[1] * gap[1, 1] + axis[2] * gap[1, 2]
        half = abs(axis[0]) * gap[2, 0] + abs(axis[1]) * gap[2, 1] + abs(axis[2]) * gap[2, 2]
        half += e0 * axis[3] + e1 * axis[4] + e2 * axis[5]
        spread = e0 * axis[6] + e1 * axis[7] + e2 * axis[8]
        early, late = near_times(
            centre - half, centre + half, move - spread, move + spread, margin, early, late
        )
        if early > late:
            return True
    return False


@compiled
def _place(engine: Table, block: int, vertex: int, x: np.ndarray, p: np.ndarray) -> None:
    """Fill where a vertex of the moving link is, and its path."""
    rest = engine.vertex_rest[vertex]
    start = engine.relative_start[block]
    path = engine.relative_path[block]
    for k in range(3):
        x[k] = start[0, k] + rest[1] * start[1, k] + rest[2] * start[2, k] + rest[3] * start[3, k]
        p[k] = path[0, k] + rest[1] * path[1, k] + rest[2] * path[2, k] + rest[3] * path[3, k]


@compiled
def _corner(engine: Table, kind: int, item: int, corner: int) -> int:
    """A vertex of a primitive."""
    if kind == _EDGE:
        return engine.edge[item, corner]
    return engine.face[item, corner] if kind == _FACE else item


@compiled
def _track(
    engine: Table, block: int, kind: int, item: int, track: np.ndarray, corners: np.ndarray
) -> None:
    """Fill the box of a moving primitive with its least and largest moves, shape (4, 3).

    And where its vertices are and their paths, shape (3, 2, 3).
    """
    for corner in range(kind + 1):
        x = corners[corner, 0]
        p = corners[corner, 1]
        _place(engine, block, _corner(engine, kind, item, corner), x, p)
        for k in range(3):
            track[0, k] = x[k] if corner == 0 else min(track[0, k], x[k])
            track[1, k] = x[k] if corner == 0 else max(track[1, k], x[k])
            track[2, k] = p[k] if corner == 0 else min(track[2, k], p[k])
            track[3, k] = p[k] if corner == 0 else max(track[3, k], p[k])


@compiled
def _track_leaf(engine: Table, block: int, tree: int, leaf: int) -> None:
    """Fill the boxes of a leaf's moving primitives, and where their vertices are."""
    begin = leaf_begin(engine, tree, leaf)
    for j in range(leaf_begin(engine, tree, leaf + 1) - begin):
        item = engine.tree_item[begin + j]
        _track(engine, block, tree % KINDS, item, engine.leaf_box[j], engine.leaf_corner[j])


@compiled
def _box(engine: Table, kind: int, item: int, box: np.ndarray) -> None:
    """Fill the box of a primitive that is still."""
    for corner in range(kind + 1):
        rest = engine.vertex_rest[_corner(engine, kind, item, corner)]
        for k in range(3):
            x = rest[1 + k]
            box[0, k] = x if corner == 0 else min(box[0, k], x)
            box[1, k] = x if corner == 0 else max(box[1, k], x)


@compiled
def _tracks_pass(still: np.ndarray, track: np.ndarray, margin: float) -> bool:
    early = 0.0
    late = 1.0
    for k in range(3):
        early, late = near_times(
            track[0, k] - still[1, k],
            track[1, k] - still[0, k],
            track[2, k],
            track[3, k],
            margin,
            early,
            late,
        )
        if early > late:
            return True
    return False


@compiled
def _gaps(
    corner: np.ndarray, path: np.ndarray, firsts: int, rest: float, normal: np.ndarray
) -> tuple[float, float]:
    """How far two sides are apart along a direction now and at the path's end, times its length.

    In between they are apart by no less than a straight line has it: along any direction the gap is
    concave in time.
    """
    low = math.inf
    high = -math.inf
    low_end = math.inf
    high_end = -math.inf
    for i in range(4):
        here = normal[0] * corner[i, 0] + normal[1] * corner[i, 1] + normal[2] * corner[i, 2]
        move = normal[0] * path[i, 0] + normal[1] * path[i, 1] + normal[2] * path[i, 2]
        there = here + rest * move
        if i < firsts:
            low = min(low, here)
            low_end = min(low_end, there)
        else:
            high = max(high, here)
            high_end = max(high_end, there)
    return low - high, low_end - high_end


@compiled
def _meet(engine: Table, kind: int, margin: float) -> bool:
    """Whether two primitives, whose corners and paths are filled, come near on the path.

    The direction that told the last ones apart is tried first.
    """
    corner = engine.corner
    path = engine.relative_move
    normal = engine.relative_normal
    firsts = 1 if kind == VERTEX_FACE else 2
    reach = margin * math.sqrt(normal[0] ** 2 + normal[1] ** 2 + normal[2] ** 2)
    gap, gap_end = _gaps(corner, path, firsts, 1.0, normal)
    if gap > reach and gap_end > reach:
        return False
    # Nearest vertices, at no cost.
    for i in range(firsts):
        for j in range(firsts, 4):
            square = 0.0
            for k in range(3):
                square += (corner[i, k] - corner[j, k]) ** 2
            if square <= margin * margin:
                return True
    rest = 1.0
    for _ in range(_ADVANCES):
        separation(
            kind,
            0,
            1,
            2,
            3,
            corner,
            engine.plane,
            engine.plane_corner,
            0.0,
            engine.side_weight[0],
            normal,
        )
        reach = margin * math.sqrt(normal[0] ** 2 + normal[1] ** 2 + normal[2] ** 2)
        gap, gap_end = _gaps(corner, path, firsts, rest, normal)
        # Also of what is not a number.
        if not gap > _CLOSE * reach:
            return True
        if gap_end > reach:
            return False
        advance = rest * (gap - reach) / (gap - gap_end)
        rest -= advance
        for i in range(4):
            for k in range(3):
                corner[i, k] += advance * path[i, k]
    return True


@compiled
def _set_corner(engine: Table, i: int, still: int, tracked: np.ndarray, moves: bool) -> None:
    """Fill a corner of a stencil: a vertex that is still, or one that was placed."""
    for k in range(3):
        engine.corner[i, k] = tracked[0, k] if moves else engine.vertex_rest[still, 1 + k]
        engine.relative_move[i, k] = tracked[1, k] if moves else 0.0


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
    lists: bool,
) -> int:
    """Add stencils of two leaves' primitives, of which the moving ones have their boxes.

    Or count them only.
    """
    boxes = engine.leaf_box
    chosen = engine.leaf_item
    box = boxes[chosen.size]
    kind = still % KINDS
    kind_too = moving % KINDS
    node = engine.tree_box[engine.tree_node[still] + a]
    begin = leaf_begin(engine, moving, b)
    near = 0
    for j in range(leaf_begin(engine, moving, b + 1) - begin):
        if not _tracks_pass(node, boxes[j], margin):
            chosen[near] = j
            near += 1
    if near == 0:
        return count
    for at in range(leaf_begin(engine, still, a), leaf_begin(engine, still, a + 1)):
        item = engine.tree_item[at]
        _box(engine, kind, item, box)
        for j in range(near):
            if _tracks_pass(box, boxes[chosen[j]], margin):
                continue
            item_too = engine.tree_item[begin + chosen[j]]
            placed = engine.leaf_corner[chosen[j]]
            if kind == _EDGE:
                # As in the pair: the first shape's edge first.
                swapped = still // KINDS != engine.pair_shape[pair, 0]
                one = item_too if swapped else item
                other = item if swapped else item_too
                v = engine.edge[one]
                w = engine.edge[other]
                for i in range(2):
                    _set_corner(engine, i, v[i], placed[i], swapped)
                    _set_corner(engine, 2 + i, w[i], placed[i], not swapped)
                if not _meet(engine, EDGE_EDGE, margin):
                    continue
                after = count + 1
                if lists:
                    after = append_stencil(engine, count, pair, EDGE_EDGE, v[0], v[1], w[0], w[1])
                    if after > count:
                        weigh_edges(engine, count, one, other)
                count = after
            else:
                vertex = item if kind == _VERTEX else item_too
                f = engine.face[item_too if kind == _VERTEX else item]
                moves = kind_too == _VERTEX
                _set_corner(engine, 0, vertex, placed[0], moves)
                for i in range(3):
                    _set_corner(engine, 1 + i, f[i], placed[i], not moves)
                if not _meet(engine, VERTEX_FACE, margin):
                    continue
                if lists:
                    count = append_stencil(
                        engine, count, pair, VERTEX_FACE, vertex, f[0], f[1], f[2]
                    )
                else:
                    count += 1
            if count < 0:
                return count
    return count


@compiled
def _search(engine: Table, count: int, pair: int, still: int, moving: int, most: int) -> int:
    """Add stencils of primitives of two trees, of which the second one's link moves."""
    if (
        engine.tree_first[still] == engine.tree_first[still + 1]
        or engine.tree_first[moving] == engine.tree_first[moving + 1]
    ):
        return count
    block = engine.pair_block[pair]
    stack = engine.node_stack
    boxes = engine.tree_box
    leaf = 1 << engine.tree_depth[still]
    leaf_too = 1 << engine.tree_depth[moving]
    tracked = 0
    stack[0, 0] = 1
    stack[0, 1] = 1
    waiting = 1
    while waiting > 0:
        waiting -= 1
        a = stack[waiting, 0]
        b = stack[waiting, 1]
        box = boxes[engine.tree_node[still] + a]
        box_too = boxes[engine.tree_node[moving] + b]
        margin = _margin(engine, block, box_too)
        if _pass_by(engine, block, box, box_too, margin):
            continue
        if a >= leaf and b >= leaf_too:
            if b != tracked:
                _track_leaf(engine, block, moving, b)
                tracked = b
            count = _leaves(engine, count, pair, block, still, a, moving, b, margin, most < 0)
            if count < 0 or (0 <= most < count):
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
def search_relative(engine: Table, pair: int, third: int, count: int, most: int) -> int:
    """Add a third of the stencils of two shapes that may meet on their links' path.

    Returns the new count, or −1 if the list is full. With ``most`` ≥ 0 they are only counted, until
    there are more than that.
    """
    block = engine.pair_block[pair]
    one = KINDS * engine.pair_shape[pair, 0]
    other = KINDS * engine.pair_shape[pair, 1]
    moving = engine.vertex_link[engine.shape_vertex[engine.pair_shape[pair, 0]]]
    is_first = moving == engine.relative_link[block, 1]
    _prepare(engine, block)
    # What is found depends on nothing that was looked for before.
    engine.relative_normal[:] = 0.0
    if third == 2:
        one += _EDGE
        other += _EDGE
    else:
        one += _VERTEX if third == 0 else _FACE
        other += _FACE if third == 0 else _VERTEX
    if is_first:
        return _search(engine, count, pair, other, one, most)
    return _search(engine, count, pair, one, other, most)


@compiled
def _may_meet(engine: Table, block: int) -> bool:
    """Whether anything of two links comes near on their path."""
    pair = engine.relative_first[block]
    while pair >= 0:
        for third in range(THIRDS):
            if search_relative(engine, pair, third, 0, 0) > 0:
                return True
        pair = engine.relative_next[pair]
    return False


@entry_point(PART)
def widen_part(engine: Table, part: int, _member: int, _unused: int) -> int:
    """Widen the paths of some pairs of links of which nothing comes near then."""
    for block in range(part * _PAIRS, min((part + 1) * _PAIRS, engine.relative_state.size)):
        if not may_meet(engine, block) or engine.relative_kept[block] == 1:
            continue
        # What had many is likely to have some.
        if engine.relative_found[block] > _MANY:
            continue
        width = engine.relative_width[block]
        wide = width[0]
        turn = width[1]
        for level in range(_LEVELS):
            more = _WIDEST / _FACTOR**level
            width[0] = more * wide
            width[1] = more * turn
            if not _may_meet(engine, block):
                part_for_now(engine, block)
                break
            width[0] = wide
            width[1] = turn
    return 0


@compiled
def widen(engine: Table) -> None:
    """Widen the paths of pairs of links, as far as nothing comes near then.

    What stays in wider paths is listed anew less often.
    """
    do_parts(engine, engine.widen_part, count_parts(engine.relative_state.size, _PAIRS))


WIDENING_KERNELS = (widen_part,)
