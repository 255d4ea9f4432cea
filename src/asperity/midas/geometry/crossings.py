"""Whether two surfaces intersect: edges through faces, and one solid inside another.

Only given states need this test; between states the solver never lets surfaces cross.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, compiled_loop
from asperity.midas.engine_layout import MIDAS
from asperity.midas.geometry.box_trees import apart

__all__ = ["crossing_pairs", "edge_crosses", "ray_leaves"]


# A direction along which no edge of a modelled part will lie.
_RAY = (0.5377, 0.3188, 0.7805)


@compiled
def _determinant(
    a0: float,
    a1: float,
    a2: float,
    b0: float,
    b1: float,
    b2: float,
    c0: float,
    c1: float,
    c2: float,
) -> float:
    return a0 * (b1 * c2 - b2 * c1) - a1 * (b0 * c2 - b2 * c0) + a2 * (b0 * c1 - b1 * c0)


@compiled
def _meets_face(
    x: np.ndarray,
    face: np.ndarray,
    p0: float,
    p1: float,
    p2: float,
    d0: float,
    d1: float,
    d2: float,
) -> float:
    """Parameter s at which p + s d meets a triangle's plane inside the triangle, or inf."""
    i = face[0]
    e0 = x[face[1], 0] - x[i, 0]
    e1 = x[face[1], 1] - x[i, 1]
    e2 = x[face[1], 2] - x[i, 2]
    f0 = x[face[2], 0] - x[i, 0]
    f1 = x[face[2], 1] - x[i, 1]
    f2 = x[face[2], 2] - x[i, 2]
    t0 = p0 - x[i, 0]
    t1 = p1 - x[i, 1]
    t2 = p2 - x[i, 2]
    whole = _determinant(-d0, -d1, -d2, e0, e1, e2, f0, f1, f2)
    if whole == 0.0:
        return math.inf
    u = _determinant(-d0, -d1, -d2, t0, t1, t2, f0, f1, f2) / whole
    v = _determinant(-d0, -d1, -d2, e0, e1, e2, t0, t1, t2) / whole
    if u < 0.0 or v < 0.0 or u + v > 1.0:
        return math.inf
    return _determinant(t0, t1, t2, e0, e1, e2, f0, f1, f2) / whole


@compiled
def edge_crosses(x: np.ndarray, a: int, b: int, face: np.ndarray) -> bool:
    """Whether an edge, between two vertices, goes through a face."""
    s = _meets_face(
        x, face, x[a, 0], x[a, 1], x[a, 2], x[b, 0] - x[a, 0], x[b, 1] - x[a, 1], x[b, 2] - x[a, 2]
    )
    return 0.0 <= s <= 1.0


@compiled
def ray_leaves(x: np.ndarray, vertex: int, face: np.ndarray) -> bool:
    """Whether a ray from a vertex goes through a face: through a closed surface an odd number."""
    s = _meets_face(x, face, x[vertex, 0], x[vertex, 1], x[vertex, 2], _RAY[0], _RAY[1], _RAY[2])
    return 0.0 <= s < math.inf


@compiled
def _box(x: np.ndarray, primitive: np.ndarray, box: np.ndarray) -> None:
    """Fill the box of an edge or a face, shape (2, 3)."""
    for k in range(3):
        box[0, k] = x[primitive[0], k]
        box[1, k] = x[primitive[0], k]
        for corner in range(1, primitive.size):
            box[0, k] = min(box[0, k], x[primitive[corner], k])
            box[1, k] = max(box[1, k], x[primitive[corner], k])


@compiled
def _edges_cross(
    shapes: Table,
    x: np.ndarray,
    edges: int,
    faces: int,
    region: np.ndarray,
    chosen: np.ndarray,
    boxes: np.ndarray,
) -> bool:
    """Whether an edge of one shape goes through a face of another, in a region that has both."""
    box = np.empty((2, 3))
    count = 0
    for i in range(shapes.edge_start[edges], shapes.edge_start[edges + 1]):
        _box(x, shapes.edge[i], boxes[count])
        if not apart(boxes[count], region, 0.0):
            chosen[count] = i
            count += 1
    for j in range(shapes.face_start[faces], shapes.face_start[faces + 1]):
        f = shapes.face[j]
        _box(x, f, box)
        if apart(box, region, 0.0):
            continue
        for i in range(count):
            if apart(boxes[i], box, 0.0):
                continue
            a = shapes.edge[chosen[i], 0]
            b = shapes.edge[chosen[i], 1]
            if edge_crosses(x, a, b, f):
                return True
    return False


@compiled
def _is_inside(shapes: Table, x: np.ndarray, vertex: int, shape: int) -> bool:
    """Whether a vertex is inside a closed shape: a ray from it leaves an odd number of times."""
    count = 0
    for j in range(shapes.face_start[shape], shapes.face_start[shape + 1]):
        count += ray_leaves(x, vertex, shapes.face[j])
    return count % 2 == 1


_I1 = types.int64[::1]


@compiled_loop(types.void(MIDAS.type, types.float64[:, ::1], _I1, _I1))
def crossing_pairs(engine: Table, x: np.ndarray, closed: np.ndarray, out: np.ndarray) -> None:
    """Mark the pairs of shapes that intersect at vertex positions ``x``.

    Parameters
    ----------
    closed : array of int64
        1 for shapes whose surface is closed.
    out : array of int64
        One number for every pair of the engine's table.
    """
    start = engine.shapes.vertex_start
    chosen = np.empty(engine.shapes.edge.shape[0], np.int64)
    # One more, which is filled before it is known to be too many.
    boxes = np.empty((engine.shapes.edge.shape[0] + 1, 2, 3))
    shapes = start.size - 1
    hull = np.empty((shapes, 2, 3))
    region = np.empty((2, 3))
    for shape in range(shapes):
        for k in range(3):
            hull[shape, 0, k] = math.inf
            hull[shape, 1, k] = -math.inf
            for v in range(start[shape], start[shape + 1]):
                hull[shape, 0, k] = min(hull[shape, 0, k], x[v, k])
                hull[shape, 1, k] = max(hull[shape, 1, k], x[v, k])
    for pair in range(engine.pairs.shape.shape[0]):
        a = engine.pairs.shape[pair, 0]
        b = engine.pairs.shape[pair, 1]
        out[pair] = 0
        if b < 0:
            plane = engine.shapes.plane[-1 - b]
            for v in range(start[a], start[a + 1]):
                height = plane[0] * x[v, 0] + plane[1] * x[v, 1] + plane[2] * x[v, 2] - plane[3]
                if height <= engine.shapes.radius[a]:
                    out[pair] = 1
            continue
        if apart(hull[a], hull[b], 0.0):
            continue
        for k in range(3):
            region[0, k] = max(hull[a, 0, k], hull[b, 0, k])
            region[1, k] = min(hull[a, 1, k], hull[b, 1, k])
        if (
            _edges_cross(engine.shapes, x, a, b, region, chosen, boxes)
            or _edges_cross(engine.shapes, x, b, a, region, chosen, boxes)
            or (closed[b] == 1 and _is_inside(engine.shapes, x, start[a], b))
            or (closed[a] == 1 and _is_inside(engine.shapes, x, start[b], a))
        ):
            out[pair] = 1
