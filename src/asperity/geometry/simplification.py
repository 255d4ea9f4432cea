"""Heavy meshes with fewer triangles, within a distance of the original that is measured.

Edges are collapsed by their quadric error (Garland and Heckbert 1997) by the library
``fast-simplification``; its error measure is no distance, so that the result is measured: from all
vertices, edge midpoints and face centres of both meshes to the other one's triangles.
"""

from __future__ import annotations

import functools
import importlib.util
import math

import numpy as np

from asperity.compiled import compiled
from asperity.geometry.surfaces import Surface

__all__ = ["can_simplify", "is_within", "simplified"]

# Errors that the library stops at, as shares of the tolerance: it sums up squared distances from
# planes, which are more, and from planes alone, which are less than distances. Most shapes keep
# their distance with one of the first, some that run through themselves only with one of the last.
_SHARES = 2.8 * 0.7 ** np.arange(10)
# Cells of the grid along the longest side, and at most in all.
_CELLS = 64
# Extent that meshes are scaled to for the library. Its largest squared error in the last of a
# hundred rounds is 1e-9 times 103 to the power of its aggressiveness.
_SIZE = 100.0
_FIRST_ERROR = 1e-9
_LAST_ROUND = 103.0
# A mesh that keeps more than this share of its triangles is not worth another shape.
_WORTHWHILE = 0.9


def can_simplify() -> bool:
    """Whether the library is installed."""
    return importlib.util.find_spec("fast_simplification") is not None


def simplified(surface: Surface, tolerance: float, aim: int) -> Surface:
    """A mesh of about ``aim`` triangles, or of as few as the tolerance allows.

    Parameters
    ----------
    surface : Surface
    tolerance : float
        Largest distance [m] between samples of one mesh and the other mesh (Hausdorff).
    aim : int
        Triangles that are enough.

    Returns
    -------
    Surface
        The given one itself if there is nothing to gain.
    """
    return _simplified(
        surface.vertices.tobytes(), surface.faces.tobytes(), float(tolerance), int(aim)
    )


# A model's numbers may change many times, its meshes hardly ever.
@functools.lru_cache(maxsize=64)
def _simplified(vertices: bytes, faces: bytes, tolerance: float, aim: int) -> Surface:
    import fast_simplification

    surface = Surface(
        np.frombuffer(vertices).reshape(-1, 3), np.frombuffer(faces, np.int64).reshape(-1, 3)
    )
    count = len(surface.faces)
    # The library collapses what is below errors of a fixed size first, which suit this one.
    scale = _SIZE / max(float(np.ptp(surface.vertices, axis=0).max()), 1e-12)
    best = surface
    # Larger errors leave fewer triangles; bisection finds the largest that is small enough.
    low, high = 0, len(_SHARES)
    while low < high:
        middle = (low + high) // 2
        square = (_SHARES[middle] * scale * tolerance) ** 2
        points, triangles = fast_simplification.simplify(
            scale * surface.vertices,
            surface.faces.astype(np.int32),
            target_count=aim,
            agg=math.log(square / _FIRST_ERROR) / math.log(_LAST_ROUND),
        )
        found = _cleaned(np.asarray(points) / scale, np.asarray(triangles, np.int64))
        if len(found.faces) and _near(surface, found, tolerance):
            best, high = found, middle
        else:
            low = middle + 1
    return best if len(best.faces) < _WORTHWHILE * count else surface


def _cleaned(vertices: np.ndarray, faces: np.ndarray) -> Surface:
    """Without triangles that have no area, and vertices that no triangle has."""
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    faces = faces[np.linalg.norm(np.cross(b - a, c - a), axis=1) > 0.0]
    used, label = np.unique(faces, return_inverse=True)
    return Surface(vertices[used], label.reshape(-1, 3))


def _near(one: Surface, other: Surface, tolerance: float) -> bool:
    """Whether all samples of each mesh are within the tolerance of the other."""
    return is_within(_samples(one), other, tolerance) and is_within(_samples(other), one, tolerance)


def _samples(surface: Surface) -> np.ndarray:
    corners = surface.vertices[surface.faces]
    middles = 0.5 * (corners + np.roll(corners, 1, axis=1)).reshape(-1, 3)
    return np.concatenate([surface.vertices, middles, corners.mean(axis=1)])


def is_within(points: np.ndarray, surface: Surface, tolerance: float) -> bool:
    """Whether all points are within a distance [m] of a mesh."""
    corners = surface.vertices[surface.faces]
    low, high = corners.min(axis=1) - tolerance, corners.max(axis=1) + tolerance
    origin = low.min(axis=0)
    size = max(float((high.max(axis=0) - origin).max()) / _CELLS, 1e-12)
    first = np.floor((low - origin) / size).astype(np.int64)
    last = np.floor((high - origin) / size).astype(np.int64)
    shape = last.max(axis=0) + 1
    cell = np.floor((points - origin) / size).astype(np.int64)
    if np.any(cell < 0) or np.any(cell >= shape):
        return False
    counts = np.zeros(int(math.prod(shape)) + 1, np.int64)
    _fill(first, last, shape, counts, np.zeros(0, np.int64))
    starts = np.concatenate([[0], np.cumsum(counts[:-1])])
    listed = np.empty(int(starts[-1]), np.int64)
    _fill(first, last, shape, starts[:-1].copy(), listed)
    number = (cell[:, 0] * shape[1] + cell[:, 1]) * shape[2] + cell[:, 2]
    return bool(_all_within(points, number, corners, starts, listed, tolerance))


@compiled
def _fill(
    first: np.ndarray, last: np.ndarray, shape: np.ndarray, at: np.ndarray, listed: np.ndarray
) -> None:
    """Count the triangles of every cell, or list them where ``at`` says."""
    for t in range(first.shape[0]):
        for i in range(first[t, 0], last[t, 0] + 1):
            for j in range(first[t, 1], last[t, 1] + 1):
                for k in range(first[t, 2], last[t, 2] + 1):
                    cell = (i * shape[1] + j) * shape[2] + k
                    if listed.size > 0:
                        listed[at[cell]] = t
                    at[cell] += 1


@compiled
def _square(point: np.ndarray, corners: np.ndarray) -> float:
    """Squared distance of a point from a triangle [m²] (Eberly 1999: by regions of its plane)."""
    uu = uv = vv = uw = vw = ww = 0.0
    for k in range(3):
        u = corners[1, k] - corners[0, k]
        v = corners[2, k] - corners[0, k]
        w = point[k] - corners[0, k]
        uu += u * u
        uv += u * v
        vv += v * v
        uw += u * w
        vw += v * w
        ww += w * w
    area = uu * vv - uv * uv
    best = ww  # the first corner
    if area > 0.0:
        s = (vv * uw - uv * vw) / area
        t = (uu * vw - uv * uw) / area
        if s >= 0.0 and t >= 0.0 and s + t <= 1.0:
            return max(ww - s * uw - t * vw, 0.0)
    # On one of the three sides.
    x = min(max(uw / uu, 0.0), 1.0) if uu > 0.0 else 0.0
    best = min(best, ww - 2.0 * x * uw + x * x * uu)
    x = min(max(vw / vv, 0.0), 1.0) if vv > 0.0 else 0.0
    best = min(best, ww - 2.0 * x * vw + x * x * vv)
    side = uu - 2.0 * uv + vv
    x = min(max((vw - uw + uu - uv) / side, 0.0), 1.0) if side > 0.0 else 0.0
    # From the second corner towards the third.
    square = 0.0
    for k in range(3):
        gap = point[k] - corners[1, k] - x * (corners[2, k] - corners[1, k])
        square += gap * gap
    return max(min(best, square), 0.0)


@compiled
def _all_within(
    points: np.ndarray,
    cell: np.ndarray,
    corners: np.ndarray,
    starts: np.ndarray,
    listed: np.ndarray,
    tolerance: float,
) -> bool:
    for p in range(points.shape[0]):
        near = False
        for at in range(starts[cell[p]], starts[cell[p] + 1]):
            if _square(points[p], corners[listed[at]]) <= tolerance * tolerance:
                near = True
                break
        if not near:
            return False
    return True
