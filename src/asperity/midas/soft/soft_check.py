"""Given states of deformable bodies: what is near, and what intersects."""

from __future__ import annotations

import math

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, compiled_loop
from asperity.midas.engine_layout import MIDAS
from asperity.midas.geometry.crossings import edge_crosses, ray_leaves
from asperity.midas.soft.contacts import place
from asperity.midas.soft.search import list_stencils
from asperity.midas.soft.soft_layout import SOFT

__all__ = ["CHECK_KERNELS", "crossing_pair", "place_vertices", "survey"]

# Height over a plane that is none, relative to coordinates.
_ROUNDING = 1e-12


@compiled_loop(types.void(MIDAS.type, types.float64[:, ::1]))
def place_vertices(engine: Table, x: np.ndarray) -> None:
    """Fill the positions of all vertices at the engine's state."""
    place(SOFT.at(engine.soft.bodies), engine.poses.q, x)


@compiled_loop(types.int64(MIDAS.type, types.float64[:, ::1], types.float64))
def survey(engine: Table, x: np.ndarray, activation: float) -> int:
    """List and measure what is within a distance of each other at ``x``; returns a code.

    The next step lists anew.
    """
    soft = SOFT.at(engine.soft.bodies)
    for v in range(x.shape[0]):
        for k in range(3):
            soft.now[v, k] = x[v, k]
    kept = soft.activation
    soft.activation = activation
    code = list_stencils(soft, engine.shapes, x)
    soft.activation = kept
    soft.listed = 0
    engine.soft.measured = 0
    return code


@compiled
def _misses(x: np.ndarray, a: int, b: int, face: np.ndarray) -> bool:
    """Whether the boxes of an edge and a face are apart."""
    for k in range(3):
        low = min(x[face[0], k], x[face[1], k], x[face[2], k])
        high = max(x[face[0], k], x[face[1], k], x[face[2], k])
        if max(x[a, k], x[b, k]) < low or min(x[a, k], x[b, k]) > high:
            return True
    return False


@compiled
def _is_in_plane(x: np.ndarray, a: int, b: int, face: np.ndarray) -> bool:
    """Whether an edge is in a face's plane, but for round-off: it does not cross it there."""
    square = 0.0
    one = 0.0
    other = 0.0
    longest = 0.0
    for k in range(3):
        i = (k + 1) % 3
        j = (k + 2) % 3
        n = (x[face[1], i] - x[face[0], i]) * (x[face[2], j] - x[face[0], j]) - (
            x[face[1], j] - x[face[0], j]
        ) * (x[face[2], i] - x[face[0], i])
        square += n * n
        one += n * (x[a, k] - x[face[0], k])
        other += n * (x[b, k] - x[face[0], k])
        longest = max(longest, abs(x[a, k]), abs(x[b, k]), abs(x[face[0], k]))
    return max(abs(one), abs(other)) <= _ROUNDING * longest * math.sqrt(square)


@compiled
def _is_inside(soft: Table, x: np.ndarray, vertex: int, group: int) -> bool:
    """Whether a vertex is inside the surface of a group, if that is closed."""
    count = 0
    for f in range(soft.face.shape[0]):
        if soft.vertex_group[soft.face[f, 0]] != group:
            continue
        count += ray_leaves(x, vertex, soft.face[f])
    return count % 2 == 1


@compiled_loop(types.int64(MIDAS.type, types.float64[:, ::1], types.int64[::1]))
def crossing_pair(engine: Table, x: np.ndarray, closed: np.ndarray) -> int:
    """A pair of groups whose surfaces intersect at ``x``, or of which one is inside the other; −1.

    Parameters
    ----------
    engine : Table
    x : array, shape (vertices, 3)
    closed : array of int
        1 for groups whose surface is closed.
    """
    soft = SOFT.at(engine.soft.bodies)
    for e in range(soft.edge.shape[0]):
        a = soft.edge[e, 0]
        b = soft.edge[e, 1]
        for f in range(soft.face.shape[0]):
            face = soft.face[f]
            pair = soft.group_pair[soft.vertex_group[a], soft.vertex_group[face[0]]]
            if pair < 0 or _misses(x, a, b, face):
                continue
            if (
                a == face[0]
                or a == face[1]
                or a == face[2]
                or b == face[0]
                or b == face[1]
                or b == face[2]
            ):
                continue
            if _is_in_plane(x, a, b, face):
                continue
            if edge_crosses(x, a, b, face):
                return pair
    groups = closed.size
    for i in range(soft.point.size):
        v = soft.point[i]
        one = soft.vertex_group[v]
        # One vertex of a group says whether it is inside another that it does not cross.
        if i > 0 and soft.vertex_group[soft.point[i - 1]] == one:
            continue
        for other in range(groups):
            pair = soft.group_pair[one, other]
            if pair >= 0 and one != other and closed[other] == 1 and _is_inside(soft, x, v, other):
                return pair
    return -1


CHECK_KERNELS = (place_vertices, survey, crossing_pair)
"""What Python calls of them."""
