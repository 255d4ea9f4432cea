"""Time of impact of a round shape and a half-space that moves, by conservative advancement.

The height of a point over the plane of a face changes by no more than the two move against each
other, the point and its foot on the plane. The feet of all of a round shape are near that of its
middle, so that the plane's velocity there and how it changes across bound all of them, however far
from the face they are.
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import compiled
from asperity.midas.geometry.round_heights import find_foot, plane_through, round_height
from asperity.midas.geometry.stencil import RIM_PLANE, Stencil

__all__ = ["time_to_face"]

_MOST_ADVANCES = 10000
# How much faster than at the beginning of an advance a plane may turn within it: its axes become
# shorter by a third at most.
_SHRINKAGE = 2.0


@compiled
def _vertex_at_time(
    x: np.ndarray, p: np.ndarray, vertex: int, time: float, out: np.ndarray
) -> None:
    for k in range(3):
        out[k] = x[vertex, k] + time * p[vertex, k]


@compiled
def _speed(
    stencil: Stencil, face: np.ndarray, p: np.ndarray, height: float, corner: np.ndarray
) -> float:
    """Bound of how fast points of the shape move against their feet, with vertices at ``corner``.

    Until they have moved by the height.
    """
    kind, i0, i1, i2, i3 = stencil
    is_rim = kind == RIM_PLANE
    last = i2 if is_rim else i1
    own = 2 if is_rim else 1
    x0 = 0.5 * (corner[0, 0] + corner[own, 0])
    x1 = 0.5 * (corner[0, 1] + corner[own, 1])
    x2 = 0.5 * (corner[0, 2] + corner[own, 2])
    one, other = find_foot(corner, 4, 5, 6, x0, x1, x2)
    size = 0.0
    turning = 0.0
    drift = 0.0
    uu = 0.0
    vv = 0.0
    uv = 0.0
    growth = 0.0
    growth_too = 0.0
    for k in range(3):
        middle = 0.5 * (corner[0, k] + corner[own, k])
        velocity = 0.5 * (p[i0, k] + p[last, k])
        size += (corner[0, k] - middle) ** 2
        turning += (p[i0, k] - velocity) ** 2
        if is_rim:
            size += (corner[1, k] - middle) ** 2
            turning += (p[i1, k] - velocity) ** 2
        else:
            size += (corner[2, k] - middle) ** 2 + (corner[3, k] - middle) ** 2
            turning += (p[i2, k] - velocity) ** 2 + (p[i3, k] - velocity) ** 2
        a = p[face[1], k] - p[face[0], k]
        b = p[face[2], k] - p[face[0], k]
        drift += (velocity - p[face[0], k] - one * a - other * b) ** 2
        growth += a * a
        growth_too += b * b
        u = corner[5, k] - corner[4, k]
        v = corner[6, k] - corner[4, k]
        uu += u * u
        vv += v * v
        uv += u * v
    # Of feet that are so far apart, α and β differ by that times the lengths of the dual axes.
    apart = math.sqrt(size) + 3.0 * height
    area = math.sqrt(uu * vv - uv * uv)
    slope = (math.sqrt(growth * vv) + math.sqrt(growth_too * uu)) / area
    return math.sqrt(drift) + math.sqrt(turning) + _SHRINKAGE * apart * slope


@compiled
def time_to_face(
    stencil: Stencil,
    face: np.ndarray,
    x: np.ndarray,
    p: np.ndarray,
    activation: float,
    height: float,
    kept: float,
    longest: float,
    c: np.ndarray,
    corner: np.ndarray,
) -> float:
    """Largest time τ ≤ ``longest`` up to which x + τ p leaves a height of ``kept``.

    Parameters
    ----------
    stencil : Stencil
        Of a circle, by three of its points, or an ellipsoid, by four.
    face : array, shape (3,)
        Vertices of the plane.
    x, p : arrays, shape (n, 3)
        Positions and displacements of vertices [m].
    activation, height, kept, longest : float
        `round_height` wants the first; the height at x, and what is to be left of it [m].
    c, corner : arrays, shapes (4,) and (7, 3)
        Space to work in.
    """
    time = 0.0
    at_corners = Stencil(stencil.kind, 0, 1, 2, 3)
    for _ in range(_MOST_ADVANCES):
        _vertex_at_time(x, p, stencil.i0, time, corner[0])
        _vertex_at_time(x, p, stencil.i1, time, corner[1])
        _vertex_at_time(x, p, stencil.i2, time, corner[2])
        if stencil.kind != RIM_PLANE:
            _vertex_at_time(x, p, stencil.i3, time, corner[3])
        for k in range(3):
            _vertex_at_time(x, p, face[k], time, corner[4 + k])
        if time > 0.0:
            plane = plane_through(corner, 4, 5, 6)
            height = round_height(at_corners, corner, plane, activation, c)
            # The last stretch is not worth the iterations.
            if height <= 1.01 * kept:
                break
        speed = _speed(stencil, face, p, height, corner)
        if speed * (longest - time) <= height - kept:
            return longest
        time += (height - kept) / speed
    return time
