"""Primitives of a link that moves past another one, and whether they come near.

The other link is still: positions and paths are in its rest coordinates
(`asperity.midas.lists.link_pair_paths`). What passes by is told by the times at which it is near,
and of single primitives by conservative advancement.
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled
from asperity.midas.geometry.box_trees import KEPT_LEAVES, KINDS, leaf_begin
from asperity.midas.geometry.distances import separation
from asperity.midas.geometry.stencil import VERTEX_FACE, Stencil
from asperity.midas.lists.tree_search import corner_of

__all__ = ["come_near", "near_times", "set_corner", "still_box", "track_leaf", "tracks_pass"]

# Of times.
_ROUNDING = 1e-9
# Advances after which primitives are taken for near, and gap over the margin that is taken for it.
_ADVANCES = 4
_CLOSE = 1.05


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
def _vertex_path(
    shapes: Table, relative: Table, block: int, vertex: int, x: np.ndarray, p: np.ndarray
) -> None:
    """Fill where a vertex of the moving link is, and its path."""
    rest = shapes.vertex_rest[vertex]
    start = relative.start[block]
    path = relative.path[block]
    for k in range(3):
        x[k] = start[0, k] + rest[1] * start[1, k] + rest[2] * start[2, k] + rest[3] * start[3, k]
        p[k] = path[0, k] + rest[1] * path[1, k] + rest[2] * path[2, k] + rest[3] * path[3, k]


@compiled
def _track(
    shapes: Table,
    relative: Table,
    block: int,
    kind: int,
    item: int,
    track: np.ndarray,
    corners: np.ndarray,
) -> None:
    """Fill the box of a moving primitive with its least and largest moves, shape (4, 3).

    And where its vertices are and their paths, shape (3, 2, 3).
    """
    for corner in range(kind + 1):
        x = corners[corner, 0]
        p = corners[corner, 1]
        _vertex_path(shapes, relative, block, corner_of(shapes, kind, item, corner), x, p)
        for k in range(3):
            track[0, k] = x[k] if corner == 0 else min(track[0, k], x[k])
            track[1, k] = x[k] if corner == 0 else max(track[1, k], x[k])
            track[2, k] = p[k] if corner == 0 else min(track[2, k], p[k])
            track[3, k] = p[k] if corner == 0 else max(track[3, k], p[k])


@compiled
def track_leaf(engine: Table, block: int, tree: int, leaf: int) -> int:
    """Where it is found, filled, what boxes a leaf's moving primitives have, and their vertices."""
    slot = leaf & (KEPT_LEAVES - 1)
    if engine.work.moving_leaf[slot] == leaf:
        return slot
    engine.work.moving_leaf[slot] = leaf
    begin = leaf_begin(engine.box_trees, tree, leaf)
    for j in range(leaf_begin(engine.box_trees, tree, leaf + 1) - begin):
        item = engine.box_trees.item[begin + j]
        _track(
            engine.shapes,
            engine.relative,
            block,
            tree % KINDS,
            item,
            engine.work.moving_box[slot, j],
            engine.work.moving_corner[slot, j],
        )
    return slot


@compiled
def still_box(shapes: Table, kind: int, item: int, box: np.ndarray) -> None:
    """Fill the box of a primitive that is still."""
    for corner in range(kind + 1):
        rest = shapes.vertex_rest[corner_of(shapes, kind, item, corner)]
        for k in range(3):
            x = rest[1 + k]
            box[0, k] = x if corner == 0 else min(box[0, k], x)
            box[1, k] = x if corner == 0 else max(box[1, k], x)


@compiled
def tracks_pass(still: np.ndarray, track: np.ndarray, margin: float) -> bool:
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
def come_near(shapes: Table, work: Table, kind: int, margin: float) -> bool:
    """Whether two primitives, whose corners and paths are filled, come near on the path.

    The direction that told the last ones apart is tried first.
    """
    corner = work.corner
    path = work.relative_move
    normal = work.relative_normal
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
    stencil = Stencil(kind, 0, 1, 2, 3)
    for _ in range(_ADVANCES):
        separation(stencil, corner, shapes, 0.0, work.side_weight[0], normal)
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
def set_corner(
    shapes: Table, work: Table, i: int, still: int, tracked: np.ndarray, moves: bool
) -> None:
    """Fill a corner of a stencil: a vertex that is still, or one that was placed."""
    for k in range(3):
        work.corner[i, k] = tracked[0, k] if moves else shapes.vertex_rest[still, 1 + k]
        work.relative_move[i, k] = tracked[1, k] if moves else 0.0
