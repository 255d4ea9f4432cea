"""Distances of points from triangle surfaces."""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from asperity.compiled import compiled, compiled_loop
from asperity.geometry.surfaces import Surface

__all__ = ["distances"]

Floats = NDArray[np.float64]


def distances(points: Floats, surface: Surface) -> Floats:
    """Distance of every point from the nearest point of a surface.

    Every triangle is looked at for every point, but for those whose bounding sphere is farther away
    than what was found before.

    Parameters
    ----------
    points : ndarray, shape (n, 3)
        [m].
    surface : Surface
        With one triangle at least.

    Returns
    -------
    ndarray, shape (n,)
        [m].
    """
    corners = np.ascontiguousarray(surface.vertices[surface.faces], dtype=np.float64)
    sphere = np.empty((len(corners), 4))
    sphere[:, :3] = 0.5 * (corners.min(axis=1) + corners.max(axis=1))
    sphere[:, 3] = np.linalg.norm(corners - sphere[:, None, :3], axis=2).max(axis=1)
    out = np.empty(len(points))
    _search(np.ascontiguousarray(points, dtype=np.float64), corners, sphere, out)
    return out


@compiled
def _squared_distance(p: np.ndarray, t: np.ndarray) -> float:
    """Squared distance of a point and a triangle, by the regions of the triangle's plane.

    The nearest point a + v (b − a) + w (c − a) lies at a corner, on an edge or inside, as the signs
    of projections onto the edges tell (Ericson, Real-Time Collision Detection, 5.1.5).
    """
    ab0, ab1, ab2 = t[1, 0] - t[0, 0], t[1, 1] - t[0, 1], t[1, 2] - t[0, 2]
    ac0, ac1, ac2 = t[2, 0] - t[0, 0], t[2, 1] - t[0, 1], t[2, 2] - t[0, 2]
    ap0, ap1, ap2 = p[0] - t[0, 0], p[1] - t[0, 1], p[2] - t[0, 2]
    d1 = ab0 * ap0 + ab1 * ap1 + ab2 * ap2
    d2 = ac0 * ap0 + ac1 * ap1 + ac2 * ap2
    cross = ab0 * ac0 + ab1 * ac1 + ab2 * ac2
    d3 = d1 - (ab0 * ab0 + ab1 * ab1 + ab2 * ab2)
    d4 = d2 - cross
    d5 = d1 - cross
    d6 = d2 - (ac0 * ac0 + ac1 * ac1 + ac2 * ac2)
    va = d3 * d6 - d5 * d4
    vb = d5 * d2 - d1 * d6
    vc = d1 * d4 - d3 * d2
    if d1 <= 0.0 and d2 <= 0.0:
        v, w = 0.0, 0.0
    elif d3 >= 0.0 and d4 <= d3:
        v, w = 1.0, 0.0
    elif d6 >= 0.0 and d5 <= d6:
        v, w = 0.0, 1.0
    elif vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        v, w = d1 / (d1 - d3), 0.0
    elif vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        v, w = 0.0, d2 / (d2 - d6)
    elif va <= 0.0 and d4 >= d3 and d5 >= d6:
        w = (d4 - d3) / ((d4 - d3) + (d5 - d6))
        v = 1.0 - w
    else:
        scale = 1.0 / (va + vb + vc)
        v, w = vb * scale, vc * scale
    x = ap0 - v * ab0 - w * ac0
    y = ap1 - v * ab1 - w * ac1
    z = ap2 - v * ab2 - w * ac2
    return float(x * x + y * y + z * z)


@compiled_loop(
    types.void(
        types.float64[:, ::1], types.float64[:, :, ::1], types.float64[:, ::1], types.float64[::1]
    )
)
def _search(points: np.ndarray, corners: np.ndarray, sphere: np.ndarray, out: np.ndarray) -> None:
    # Neighbouring points are often neighbours in memory, too: the last one's triangle is a guess.
    guess = 0
    for i in range(points.shape[0]):
        p = points[i]
        best = _squared_distance(p, corners[guess])
        reach = np.sqrt(best)
        for k in range(corners.shape[0]):
            x = p[0] - sphere[k, 0]
            y = p[1] - sphere[k, 1]
            z = p[2] - sphere[k, 2]
            far = reach + sphere[k, 3]
            if x * x + y * y + z * z <= far * far:
                found = _squared_distance(p, corners[k])
                if found < best:
                    best, reach, guess = found, np.sqrt(found), k
        out[i] = reach
