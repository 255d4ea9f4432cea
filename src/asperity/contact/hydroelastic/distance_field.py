"""The pressure field of any solid of tetrahedra: the distance from its surface."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from asperity.contact.hydroelastic.distances import distances
from asperity.contact.hydroelastic.field_mesh import (
    FieldMesh,
    boundary_faces,
    oriented,
    verify,
    volumes,
)
from asperity.contact.hydroelastic.splitting import split_thin_walls
from asperity.errors import ArgumentError, ModelError
from asperity.geometry.surfaces import Surface

__all__ = ["distance_field", "project_into_hull"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Volumes [m³] below which numbers of inverses would overflow anything; flat tetrahedra of mesh
# generators.
_FLAT = 1e-18

# A mesh that lies farther outside of its geom than this share of the geom's size was made in
# another frame or in other units; generators keep a thousandth.
_MISPLACED = 0.02

_SWEEPS = 3


def distance_field(
    vertices: Floats, tetrahedra: Ints, *, depth: float | None = None, name: str = "the mesh"
) -> FieldMesh:
    """Field whose extent is the distance from the surface over a depth, 1 at most.

    Tetrahedra without a corner inside are split (`split_thin_walls`).

    Parameters
    ----------
    vertices : ndarray, shape (n, 3)
        [m]; those that no tetrahedron uses are left out.
    tetrahedra : ndarray, shape (m, 4)
        That meet face to face, in any orientation.
    depth : float, optional
        Distance at which the extent reaches 1 [m]; by default the largest one of any vertex.
    name : str
        What the mesh belongs to, for messages.

    Raises
    ------
    ArgumentError, ModelError
        If the depth is not positive, or the tetrahedra are no closed solid (`verify`).
    """
    if depth is not None and not (np.isfinite(depth) and depth > 0.0):
        raise ArgumentError(f"{name}: the depth of its field must be positive, got {depth!r} m.")
    used, label = np.unique(tetrahedra, return_inverse=True)
    points = np.asarray(vertices, dtype=np.float64)[used]
    cells = oriented(points, label.reshape(-1, 4))
    flat = volumes(points, cells) < _FLAT
    if flat.any():
        raise ModelError(
            f"{name}: {np.count_nonzero(flat)} of its {len(cells)} tetrahedra, the first of them "
            f"{np.flatnonzero(flat)[0]}, are flat; mesh the shape again."
        )
    surface = boundary_faces(cells)
    points, cells = split_thin_walls(points, cells)
    inside = np.ones(len(points), dtype=bool)
    inside[np.unique(surface)] = False
    extent = np.zeros(len(points))
    extent[inside] = distances(points[inside], Surface(points, surface))
    reached = float(extent.max()) if depth is None else float(depth)
    mesh = FieldMesh(points, cells, np.minimum(extent / reached, 1.0), reached)
    verify(mesh, name)
    return mesh


def project_into_hull(
    vertices: Floats, tetrahedra: Ints, hull: Floats, name: str = "the mesh"
) -> Floats:
    """Move what pokes out of a geom's convex hull back into it.

    Generators keep surfaces within a tolerance only, and a field mesh must lie inside of the shape
    that MuJoCo collides. Vertices are projected onto the half-spaces of the hull. Should that turn
    a tetrahedron inside out, the whole mesh is shrunk towards the middle of the hull instead.

    Parameters
    ----------
    vertices : ndarray, shape (n, 3)
    tetrahedra : ndarray, shape (m, 4)
        Of positive volume.
    hull : ndarray, shape (k, 3)
        Points whose convex hull is meant, in the frame of the vertices [m].
    name : str
        What the mesh belongs to, for messages.

    Returns
    -------
    ndarray, shape (n, 3)
        [m].

    Raises
    ------
    ModelError
        If the mesh pokes out too far to be in the same frame and units.
    """
    # Rows (n, d) with n · x + d ≤ 0 inside.
    from scipy.spatial import ConvexHull  # slow to import, and most need it not

    planes = np.unique(ConvexHull(hull).equations, axis=0)
    middle = np.asarray(hull.mean(axis=0))
    size = float(np.linalg.norm(np.ptp(hull, axis=0)))
    outside = _outside(vertices, planes)
    worst = float(outside.max())
    if worst > _MISPLACED * size:
        raise ModelError(
            f"{name}: its field mesh reaches {worst:.3g} m out of the geom's convex hull, whose "
            f"size is {size:.3g} m; give both the same frame and units."
        )
    moved = np.array(vertices, dtype=np.float64)
    out = outside > 0.0
    if not out.any():
        return moved
    for _ in range(_SWEEPS):
        for plane in planes:
            excess = np.maximum(moved[out] @ plane[:3] + plane[3], 0.0)
            moved[out] -= excess[:, None] * plane[:3]
    # Sharp corners may take more sweeps than is worth while: a last one goes straight inwards.
    moved[out] = middle + _shares(moved[out], planes, middle)[:, None] * (moved[out] - middle)
    if volumes(moved, tetrahedra).min() < _FLAT:
        share = _shares(vertices, planes, middle).min()
        moved = middle + share * (vertices - middle)
    return moved


def _outside(points: Floats, planes: Floats) -> Floats:
    """Largest distance of every point outside of a half-space [m]; negative inside of all."""
    out = np.full(len(points), -np.inf)
    for plane in planes:
        np.maximum(out, points @ plane[:3] + plane[3], out=out)
    return out


def _shares(points: Floats, planes: Floats, middle: Floats) -> Floats:
    """How far along the way from the middle to every point the hull ends, 1 at most."""
    share = np.ones(len(points))
    for plane in planes:
        depth = -(middle @ plane[:3] + plane[3])
        along = (points - middle) @ plane[:3]
        crossing = along > depth
        share[crossing] = np.minimum(share[crossing], depth / along[crossing])
    return share
