"""Which boxes of two trees overlap, and how deep in two fields their contact can lie.

Two geoms whose convex hulls overlap by a width w along any direction can have equal pressures only
where neither exceeds w times the smaller of the steepest gradients: whoever goes from such a point
along that direction leaves both hulls within w. Trees keep boxes of what has an extent of at most
4⁻ᵏ; the deepest level that contains that pressure spares most of two fields' insides.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled, inlined
from asperity.contact.hydroelastic.field_layout import LEVELS

__all__ = ["hull_support", "level_of", "next_leaves", "relative_pose"]


@inlined
def relative_pose(
    work: Table,
) -> tuple[
    tuple[float, float, float, float, float, float, float, float, float],
    tuple[float, float, float, float, float, float, float, float, float],
    tuple[float, float, float],
]:
    """Rotation of the second geom in the frame of the first, its absolute values, and its place."""
    m = work.rotation
    r = (m[0, 0], m[0, 1], m[0, 2], m[1, 0], m[1, 1], m[1, 2], m[2, 0], m[2, 1], m[2, 2])
    q = (
        abs(r[0]),
        abs(r[1]),
        abs(r[2]),
        abs(r[3]),
        abs(r[4]),
        abs(r[5]),
        abs(r[6]),
        abs(r[7]),
        abs(r[8]),
    )
    return r, q, (work.translation[0], work.translation[1], work.translation[2])


@inlined
def boxes_apart(
    box: np.ndarray,
    a: int,
    level_a: int,
    b: int,
    level_b: int,
    r: tuple[float, float, float, float, float, float, float, float, float],
    q: tuple[float, float, float, float, float, float, float, float, float],
    t: tuple[float, float, float],
) -> bool:
    """Whether one of six face normals separates two boxes.

    Parameters
    ----------
    box : array, shape (n, LEVELS, 6)
        Centres and half sides.
    a, level_a, b, level_b : int
        The boxes.
    r, q : tuple of float
        Rotation of b's frame in a's, row by row, and its absolute values.
    t : tuple of float
        Origin of b's frame in a's.
    """
    ax, ay, az = box[a, level_a, 3], box[a, level_a, 4], box[a, level_a, 5]
    bx, by, bz = box[b, level_b, 3], box[b, level_b, 4], box[b, level_b, 5]
    if ax < 0.0 or bx < 0.0:
        return True
    cx, cy, cz = box[b, level_b, 0], box[b, level_b, 1], box[b, level_b, 2]
    dx = r[0] * cx + r[1] * cy + r[2] * cz + t[0] - box[a, level_a, 0]
    if abs(dx) > ax + q[0] * bx + q[1] * by + q[2] * bz:
        return True
    dy = r[3] * cx + r[4] * cy + r[5] * cz + t[1] - box[a, level_a, 1]
    if abs(dy) > ay + q[3] * bx + q[4] * by + q[5] * bz:
        return True
    dz = r[6] * cx + r[7] * cy + r[8] * cz + t[2] - box[a, level_a, 2]
    if abs(dz) > az + q[6] * bx + q[7] * by + q[8] * bz:
        return True
    if abs(dx * r[0] + dy * r[3] + dz * r[6]) > bx + q[0] * ax + q[3] * ay + q[6] * az:
        return True
    if abs(dx * r[1] + dy * r[4] + dz * r[7]) > by + q[1] * ax + q[4] * ay + q[7] * az:
        return True
    return abs(dx * r[2] + dy * r[5] + dz * r[8]) > bz + q[2] * ax + q[5] * ay + q[8] * az


@inlined
def _next_pair(
    fields: Table,
    stack: np.ndarray,
    height: int,
    a: int,
    level_a: int,
    b: int,
    level_b: int,
) -> int:
    """Put the children of the larger of two nodes on the stack; its new height.

    The stack cannot run over: its height is at most the sum of the trees' depths, which grow with
    the logarithm of their size.
    """
    box = fields.box
    leaf_a = fields.child[a, 0] < 0
    leaf_b = fields.child[b, 0] < 0
    size_a = box[a, level_a, 3] + box[a, level_a, 4] + box[a, level_a, 5]
    size_b = box[b, level_b, 3] + box[b, level_b, 4] + box[b, level_b, 5]
    if leaf_b or (not leaf_a and size_a >= size_b):
        stack[height, 0] = fields.child[a, 1]
        stack[height, 1] = b
        stack[height + 1, 0] = fields.child[a, 0]
        stack[height + 1, 1] = b
    else:
        stack[height, 0] = a
        stack[height, 1] = fields.child[b, 1]
        stack[height + 1, 0] = a
        stack[height + 1, 1] = fields.child[b, 0]
    return height + 2


@inlined
def next_leaves(
    fields: Table,
    stack: np.ndarray,
    height: int,
    level_a: int,
    level_b: int,
    pose: tuple[
        tuple[float, float, float, float, float, float, float, float, float],
        tuple[float, float, float, float, float, float, float, float, float],
        tuple[float, float, float],
    ],
) -> tuple[int, int, int]:
    """The next two leaves below the pairs on the stack whose boxes overlap.

    Returns the height of the stack, −1 where there are no others, and both leaves. ``pose`` is the
    second geom's, from `relative_pose`.
    """
    r, q, t = pose
    while height > 0:
        height -= 1
        a = stack[height, 0]
        b = stack[height, 1]
        if boxes_apart(fields.box, a, level_a, b, level_b, r, q, t):
            continue
        if fields.child[a, 0] < 0 and fields.child[b, 0] < 0:
            return height, a, b
        height = _next_pair(fields, stack, height, a, level_a, b, level_b)
    return -1, 0, 0


@compiled
def hull_support(fields: Table, field: int, x: float, y: float, z: float) -> float:
    """How far a field's hull reaches along a direction of its frame [m]."""
    best = -np.inf
    start = fields.hull_first[field]
    hull = fields.hull
    for i in range(start, start + fields.hull_count[field]):
        best = max(best, hull[i, 0] * x + hull[i, 1] * y + hull[i, 2] * z)
    return best


@compiled
def level_of(extent: float) -> int:
    """The deepest level of boxes with all that has an extent up to this one."""
    level = 0
    cut = 0.25
    while level + 1 < LEVELS and cut >= extent:
        level += 1
        cut *= 0.25
    return level
