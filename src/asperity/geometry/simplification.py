"""Heavy meshes with fewer triangles, within a distance of the original that is measured.

The library ``fast-simplification`` collapses edges by their quadric error (Garland and Heckbert
1997). ``manifold3d`` first collapses flat and short edges of solids. Neither's error measure is a
distance, so that all results are measured: from all vertices, edge midpoints and face centres of
both meshes to the other one's triangles. Connected parts of a mesh are simplified one by one. The
few triangles that a simpler mesh has lost, spikes and fins mostly, are added to it as they were. A
part that cannot be simplified does not prevent others from it. Results are kept on disk by content.
"""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
from numba import types
from numpy.typing import NDArray

from asperity.compiled import compiled, compiled_loop
from asperity.geometry.kept_arrays import kept_file, load_arrays, save_arrays
from asperity.geometry.surfaces import Surface, sorted_sides

__all__ = ["are_within", "can_simplify", "is_kept", "is_within", "simplified"]

# Errors that ``fast-simplification`` stops at, as shares of the tolerance: it sums up squared
# distances from planes, which are more, and from planes alone, which are less than distances. Most
# shapes keep their distance with one of the first, some that run through themselves only with one
# of the last.
_SHARES = 2.8 * 0.7 ** np.arange(10)
# Tolerances of ``manifold3d`` as shares of the tolerance: its collapses add up.
_SOLID_SHARES = 0.8 ** np.arange(10)
# Cells of the grid along the longest side, and at most in all.
_CELLS = 64
# Extent that meshes are scaled to for ``fast-simplification``. Its largest squared error in the
# last of a hundred rounds is 1e-9 times 103 to the power of its aggressiveness.
_SIZE = 100.0
_FIRST_ERROR = 1e-9
_LAST_ROUND = 103.0
# A mesh that keeps more than this share of its triangles is not worth another shape.
_WORTHWHILE = 0.9
# Orders that triangles are given to ``manifold3d`` in: some put a long triangle where it is not.
_ORDERS = 3
# Triangles of a part that is not worth looking at.
_SMALL = 12
# Share of a part's triangles that may be added again.
_LOST = 0.05


def can_simplify() -> bool:
    """Whether the libraries are installed."""
    names = ("fast_simplification", "manifold3d")
    return all(importlib.util.find_spec(name) is not None for name in names)


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
    return _simplified(*_contents(surface, tolerance, aim))


def is_kept(surface: Surface, tolerance: float, aim: int) -> bool:
    """Whether what `simplified` returns is on disk already, or could not be kept there."""
    path = _kept_file(*_contents(surface, tolerance, aim))
    return path is None or path.is_file()


def _contents(surface: Surface, tolerance: float, aim: int) -> tuple[bytes, bytes, float, int]:
    return surface.vertices.tobytes(), surface.faces.tobytes(), float(tolerance), int(aim)


def _kept_file(vertices: bytes, faces: bytes, tolerance: float, aim: int) -> Path | None:
    key = (_version(), repr((tolerance, aim, len(vertices))).encode(), vertices, faces)
    return kept_file("simplified", key)


# A model's numbers may change many times, its meshes hardly ever.
@functools.lru_cache(maxsize=64)
def _simplified(vertices: bytes, faces: bytes, tolerance: float, aim: int) -> Surface:
    path = _kept_file(vertices, faces, tolerance, aim)
    kept = load_arrays(path, "vertices", "faces")
    if kept is not None:
        return Surface(*kept)
    surface = Surface(
        np.frombuffer(vertices).reshape(-1, 3), np.frombuffer(faces, np.int64).reshape(-1, 3)
    )
    count = len(surface.faces)
    parts = [_simplified_part(part, tolerance, aim / count) for part in _parts(surface)]
    if sum(len(part.faces) for part in parts) < _WORTHWHILE * count:
        surface = _joined(parts)
    save_arrays(path, vertices=surface.vertices, faces=surface.faces)
    return surface


@functools.cache
def _version() -> bytes:
    """What results follow from besides their input: this file and the libraries."""
    libraries = [importlib.metadata.version(name) for name in ("fast-simplification", "manifold3d")]
    return Path(__file__).read_bytes() + repr(libraries).encode()


def _parts(surface: Surface) -> list[Surface]:
    """The parts of a mesh that have no vertex in common."""
    # Slow to import, and most need it not.
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    faces, count = surface.faces, len(surface.vertices)
    edges = faces.ravel(), np.roll(faces, 1, axis=1).ravel()
    graph = coo_matrix((np.ones(faces.size, np.int8), edges), shape=(count, count))
    label = connected_components(graph, directed=False)[1][faces[:, 0]]
    return [_cut(surface.vertices, faces[label == part]) for part in np.unique(label)]


def _joined(parts: list[Surface]) -> Surface:
    starts = np.cumsum([0, *(len(part.vertices) for part in parts)])
    return Surface(
        np.concatenate([part.vertices for part in parts]),
        np.concatenate([part.faces + start for part, start in zip(parts, starts, strict=False)]),
    )


def _simplified_part(part: Surface, tolerance: float, share: float) -> Surface:
    """One that has about a share of the triangles, or as few as the tolerance allows."""
    aim = max(round(share * len(part.faces)), 4)
    if len(part.faces) <= max(aim, _SMALL):
        return part
    best = _largest_allowed(
        part, tolerance, _SHARES, lambda error: [_collapsed(part, error * tolerance, aim)]
    )
    solid = _largest_allowed(
        part, tolerance, _SOLID_SHARES, lambda error: _solids_simplified(part, error * tolerance)
    )
    if aim < len(solid.faces) < len(part.faces):
        solid = _largest_allowed(
            part,
            tolerance,
            _SHARES,
            lambda error: [_collapsed(solid, error * tolerance, aim)],
            solid,
        )
    return solid if len(solid.faces) < len(best.faces) else best


def _largest_allowed(
    part: Surface,
    tolerance: float,
    errors: np.ndarray,
    simplify: Callable[[float], Iterable[Surface]],
    otherwise: Surface | None = None,
) -> Surface:
    """What the largest error leaves that is allowed, by bisection; errors fall."""
    best = part if otherwise is None else otherwise
    low, high = 0, len(errors)
    while low < high:
        middle = (low + high) // 2
        candidates = (_completed(part, found, tolerance) for found in simplify(errors[middle]))
        allowed = next((found for found in candidates if found is not None), None)
        if allowed is None:
            low = middle + 1
        else:
            best, high = allowed, middle
    return best


def _completed(part: Surface, found: Surface, tolerance: float) -> Surface | None:
    """A simpler mesh with the triangles that it has lost; None if it is another shape."""
    if len(found.faces) == 0 or not is_within(_samples(found), part, tolerance):
        return None
    count = len(part.faces)
    near = are_within(_samples(part), found, tolerance)
    corners = near[: len(part.vertices)][part.faces].all(axis=1)
    middles = near[len(part.vertices) : -count].reshape(count, 3).all(axis=1)
    lost = ~(corners & middles & near[-count:])
    if not np.any(lost):
        return found
    if np.count_nonzero(lost) > _LOST * count:
        return None
    return _joined([found, _cut(part.vertices, part.faces[lost])])


def _collapsed(surface: Surface, error: float, aim: int) -> Surface:
    """A mesh whose edges are collapsed by their quadric error, of less than an error [m]."""
    import fast_simplification

    # The library collapses what is below errors of a fixed size first, which suit this one.
    scale = _SIZE / max(float(np.ptp(surface.vertices, axis=0).max()), 1e-12)
    points, triangles = fast_simplification.simplify(
        scale * surface.vertices,
        surface.faces.astype(np.int32),
        target_count=aim,
        agg=math.log((scale * error) ** 2 / _FIRST_ERROR) / math.log(_LAST_ROUND),
    )
    return _cleaned(np.asarray(points) / scale, np.asarray(triangles, np.int64))


def _solids_simplified(surface: Surface, error: float) -> Iterator[Surface]:
    """Solids without edges that are flat or short within an error [m]; none of what is none."""
    import manifold3d

    # The library ends the process on some open ones.
    if not _is_balanced(surface.faces):
        return
    random = np.random.default_rng(0)
    for attempt in range(_ORDERS):
        faces = surface.faces if attempt == 0 else random.permutation(surface.faces)
        solid = manifold3d.Manifold(manifold3d.Mesh64(surface.vertices, faces.astype(np.uint64)))
        if solid.status() != manifold3d.Error.NoError:
            return
        found = solid.simplify(error).to_mesh64()
        yield _cleaned(
            np.asarray(found.vert_properties, np.float64)[:, :3],
            np.asarray(found.tri_verts).astype(np.int64),
        )


def _is_balanced(faces: np.ndarray) -> bool:
    """Whether every side of a triangle is another one's, in the other direction."""
    if np.any(faces == np.roll(faces, -1, axis=1)):
        return False
    return np.array_equal(*sorted_sides(faces))


def _cleaned(vertices: np.ndarray, faces: np.ndarray) -> Surface:
    """Without triangles that have no area, and vertices that no triangle has."""
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    return _cut(vertices, faces[np.linalg.norm(np.cross(b - a, c - a), axis=1) > 0.0])


def _cut(vertices: np.ndarray, faces: np.ndarray) -> Surface:
    """Of triangles alone."""
    used, label = np.unique(faces, return_inverse=True)
    return Surface(vertices[used], label.reshape(-1, 3))


def _samples(surface: Surface) -> np.ndarray:
    corners = surface.vertices[surface.faces]
    middles = 0.5 * (corners + np.roll(corners, 1, axis=1)).reshape(-1, 3)
    return np.concatenate([surface.vertices, middles, corners.mean(axis=1)])


def is_within(points: np.ndarray, surface: Surface, tolerance: float) -> bool:
    """Whether all points are within a distance [m] of a mesh."""
    return bool(np.all(are_within(points, surface, tolerance)))


def are_within(points: np.ndarray, surface: Surface, tolerance: float) -> NDArray[np.bool_]:
    """Which points, shape (n, 3), are within a distance [m] of a mesh."""
    corners = surface.vertices[surface.faces]
    low, high = corners.min(axis=1) - tolerance, corners.max(axis=1) + tolerance
    origin = low.min(axis=0)
    # Not smaller than the tolerance, or every triangle of a tiny part would be in every cell.
    size = max(float((high.max(axis=0) - origin).max()) / _CELLS, tolerance, 1e-12)
    first = np.floor((low - origin) / size).astype(np.int64)
    last = np.floor((high - origin) / size).astype(np.int64)
    shape = last.max(axis=0) + 1
    cell = np.floor((points - origin) / size).astype(np.int64)
    near = np.all((cell >= 0) & (cell < shape), axis=1)
    counts = np.zeros(int(math.prod(shape)) + 1, np.int64)
    _fill(first, last, shape, counts, np.zeros(0, np.int64))
    starts = np.concatenate([[0], np.cumsum(counts[:-1])])
    listed = np.empty(int(starts[-1]), np.int64)
    _fill(first, last, shape, starts[:-1].copy(), listed)
    number = (cell[:, 0] * shape[1] + cell[:, 1]) * shape[2] + cell[:, 2]
    _find_near(points, number, corners, starts, listed, tolerance, near)
    return near


_F2, _F3 = types.float64[:, ::1], types.float64[:, :, ::1]
_I1, _I2 = types.int64[::1], types.int64[:, ::1]


@compiled_loop(types.void(_I2, _I2, _I1, _I1, _I1))
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


@compiled_loop(types.void(_F2, _I1, _F3, _I1, _I1, types.float64, types.boolean[::1]))
def _find_near(
    points: np.ndarray,
    cell: np.ndarray,
    corners: np.ndarray,
    starts: np.ndarray,
    listed: np.ndarray,
    tolerance: float,
    near: np.ndarray,
) -> None:
    """Of the points that are marked, unmark those that no triangle of their cell is near."""
    for p in range(points.shape[0]):
        if not near[p]:
            continue
        near[p] = False
        for at in range(starts[cell[p]], starts[cell[p] + 1]):
            if _square(points[p], corners[listed[at]]) <= tolerance * tolerance:
                near[p] = True
                break
