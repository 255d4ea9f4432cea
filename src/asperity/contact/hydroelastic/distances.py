"""Distances of points from triangle surfaces."""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from asperity.compiled import compiled, compiled_loop
from asperity.geometry.surfaces import Surface
from asperity.geometry.triangles import nearest_weights

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
    """Squared distance of a point and a triangle."""
    ab0, ab1, ab2 = t[1, 0] - t[0, 0], t[1, 1] - t[0, 1], t[1, 2] - t[0, 2]
    ac0, ac1, ac2 = t[2, 0] - t[0, 0], t[2, 1] - t[0, 1], t[2, 2] - t[0, 2]
    ap0, ap1, ap2 = p[0] - t[0, 0], p[1] - t[0, 1], p[2] - t[0, 2]
    v, w = nearest_weights(
        ab0 * ab0 + ab1 * ab1 + ab2 * ab2,
        ab0 * ac0 + ab1 * ac1 + ab2 * ac2,
        ac0 * ac0 + ac1 * ac1 + ac2 * ac2,
        ab0 * ap0 + ab1 * ap1 + ab2 * ap2,
        ac0 * ap0 + ac1 * ap1 + ac2 * ap2,
    )
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
