"""Primitives of a link that moves past another one, and whether they come near.

The other link is still: positions and paths are in its rest coordinates
(`asperity.midas.lists.link_pair_paths`). Those of leaves are seen along the axes of both links, as
nodes are (`asperity.midas.lists.link_pair_nodes`), which leaves a third of the humanoid's that are
near by their boxes and times. Conservative advancement tells what of the rest comes near.
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled
from asperity.midas.geometry.box_trees import KEPT_LEAVES, KINDS, leaf_begin
from asperity.midas.geometry.distances import separation
from asperity.midas.geometry.stencil import VERTEX_FACE, Stencil
from asperity.midas.lists.tree_search import corner_of

__all__ = ["come_near", "moving_leaf", "set_corner", "still_leaf"]

# Advances after which primitives are taken for near, and gap over the margin that is taken for it.
_ADVANCES = 4
_CLOSE = 1.05


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
def _along(work: Table, i: int, x: np.ndarray) -> float:
    """A vector's part along an axis, of which the first three are those of the coordinates."""
    if i < 3:
        return x[i]
    axis = work.seen_axis[i]
    return axis[0] * x[0] + axis[1] * x[1] + axis[2] * x[2]


@compiled
def moving_leaf(engine: Table, block: int, tree: int, leaf: int, margin: float) -> int:
    """Slot of a leaf of the moving link, filled.

    It has between which positions along all axes its primitives are on the path, with the margin,
    and where their vertices are and their paths.
    """
    work = engine.work
    slot = leaf & (KEPT_LEAVES - 1)
    if work.moving_leaf[slot] == leaf:
        return slot
    work.moving_leaf[slot] = leaf
    begin = leaf_begin(engine.box_trees, tree, leaf)
    kind = tree % KINDS
    for j in range(leaf_begin(engine.box_trees, tree, leaf + 1) - begin):
        item = engine.box_trees.item[begin + j]
        seen = work.moving_item[slot, j]
        for corner in range(kind + 1):
            x = work.moving_corner[slot, j, corner, 0]
            p = work.moving_corner[slot, j, corner, 1]
            vertex = corner_of(engine.shapes, kind, item, corner)
            _vertex_path(engine.shapes, engine.relative, block, vertex, x, p)
            for i in range(seen.shape[0]):
                here = _along(work, i, x)
                move = _along(work, i, p)
                low = here + min(move, 0.0) - margin
                high = here + max(move, 0.0) + margin
                seen[i, 0] = low if corner == 0 else min(seen[i, 0], low)
                seen[i, 1] = high if corner == 0 else max(seen[i, 1], high)
    return slot


@compiled
def still_leaf(engine: Table, tree: int, leaf: int) -> int:
    """Slot of a leaf of the base, filled with the positions its primitives are between."""
    work = engine.work
    slot = leaf & (KEPT_LEAVES - 1)
    if work.still_leaf[slot] == leaf:
        return slot
    work.still_leaf[slot] = leaf
    begin = leaf_begin(engine.box_trees, tree, leaf)
    kind = tree % KINDS
    for j in range(leaf_begin(engine.box_trees, tree, leaf + 1) - begin):
        item = engine.box_trees.item[begin + j]
        seen = work.still_item[slot, j]
        for corner in range(kind + 1):
            x = engine.shapes.vertex_rest[corner_of(engine.shapes, kind, item, corner)][1:]
            for i in range(seen.shape[0]):
                here = _along(work, i, x)
                seen[i, 0] = here if corner == 0 else min(seen[i, 0], here)
                seen[i, 1] = here if corner == 0 else max(seen[i, 1], here)
    return slot


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
