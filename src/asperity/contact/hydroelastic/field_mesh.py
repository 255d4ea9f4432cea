"""A solid as tetrahedra, with the share of its hydroelastic modulus that acts at every vertex.

The pressure in a compliant body is p(x) = E e(x) with the hydroelastic modulus E [Pa]. The extent e
is 0 on the surface and 1 on the medial axis, and linear in every tetrahedron (Elandt, Drumwright,
Sherman & Ruina, "A pressure field model for fast, robust approximation of net contact force and
moment between nominally rigid objects", IROS 2019).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from asperity.errors import ModelError

__all__ = ["FieldMesh", "boundary_faces", "gradients", "oriented", "verify", "volumes"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Corners of the face opposite to every corner, anticlockwise seen from outside.
_OPPOSITE = np.array([[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]])


class FieldMesh(NamedTuple):
    """Tetrahedra with a field that is linear in each, in the frame of a geom."""

    vertices: Floats
    """[m], shape (n, 3)."""
    tetrahedra: Ints
    """Vertex numbers, of positive volume, shape (m, 4)."""
    extent: Floats
    """Pressure over the hydroelastic modulus, 0 on the surface and 1 at most, shape (n,)."""
    depth: float
    """Distance from the surface to where the extent is 1 [m]."""


def boundary_faces(tetrahedra: Ints) -> Ints:
    """Faces of one tetrahedron only, anticlockwise seen from outside, shape (k, 3)."""
    faces = tetrahedra[:, _OPPOSITE].reshape(-1, 3)
    _, first, count = np.unique(
        np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True
    )
    return faces[np.sort(first[count == 1])]


def volumes(vertices: Floats, tetrahedra: Ints) -> Floats:
    """Signed volumes [m³], shape (m,): positive if corner 3 sees 0, 1, 2 clockwise."""
    a, b, c, d = (vertices[tetrahedra[:, k]] for k in range(4))
    return np.asarray(np.einsum("ij,ij->i", np.cross(b - a, c - a), d - a) / 6.0)


def oriented(vertices: Floats, tetrahedra: Ints) -> Ints:
    """Exchange two corners of the tetrahedra that have a negative volume."""
    out = np.array(tetrahedra, dtype=np.int64)
    negative = volumes(vertices, out) < 0.0
    out[negative] = out[negative][:, [1, 0, 2, 3]]
    return out


def gradients(mesh: FieldMesh) -> Floats:
    """Gradient of the extent in every tetrahedron [1/m], shape (m, 3)."""
    corners = mesh.vertices[mesh.tetrahedra]
    values = mesh.extent[mesh.tetrahedra]
    edges = corners[:, 1:] - corners[:, :1]
    rises = values[:, 1:] - values[:, :1]
    return np.asarray(np.linalg.solve(edges, rises[:, :, None])[:, :, 0])


def verify(mesh: FieldMesh, name: str) -> None:
    """Refuse a mesh that is no field of a closed solid.

    Parameters
    ----------
    mesh : FieldMesh
    name : str
        What the mesh belongs to, the subject of the message: ``"geom 'mug'"``.

    Raises
    ------
    ModelError
        If numbers are not finite or out of range, tetrahedra are flat or turned inside out, overlap
        or do not meet face to face, or if the extent is not within 0 and 1, not 0 on the whole
        surface, or 0 in a whole tetrahedron.
    """
    vertices, tetrahedra, extent, depth = mesh
    if vertices.ndim != 2 or vertices.shape[1] != 3 or extent.shape != vertices.shape[:1]:
        raise ModelError(
            f"{name}: a field mesh has vertices (n, 3) and an extent (n,), got shapes "
            f"{vertices.shape} and {extent.shape}."
        )
    if tetrahedra.ndim != 2 or tetrahedra.shape[1] != 4 or len(tetrahedra) == 0:
        raise ModelError(
            f"{name}: a field mesh has tetrahedra (m, 4), at least one, got shape "
            f"{tetrahedra.shape}."
        )
    if not (np.isfinite(vertices).all() and np.isfinite(extent).all() and np.isfinite(depth)):
        raise ModelError(f"{name}: its field mesh has numbers that are not finite; make it anew.")
    if tetrahedra.min() < 0 or tetrahedra.max() >= len(vertices):
        raise ModelError(f"{name}: its tetrahedra name vertices that do not exist.")
    if depth <= 0.0:
        raise ModelError(f"{name}: the depth of its field is {depth:g} m; it must be positive.")
    _verify_shape(vertices, tetrahedra, name)
    _verify_extent(tetrahedra, extent, name)


def _verify_shape(vertices: Floats, tetrahedra: Ints, name: str) -> None:
    volume = volumes(vertices, tetrahedra)
    worst = int(volume.argmin())
    if volume[worst] <= 0.0:
        raise ModelError(
            f"{name}: tetrahedron {worst} of its field mesh has the volume {volume[worst]:.3g} m³; "
            f"all must be positive."
        )
    faces = tetrahedra[:, _OPPOSITE].reshape(-1, 3)
    # Two tetrahedra that share a face see it from opposite sides: the same cyclic order of corners
    # twice means that they overlap.
    lowest = faces.argmin(axis=1)
    turned = np.take_along_axis(faces, (lowest[:, None] + np.arange(3)) % 3, axis=1)
    if len(np.unique(turned, axis=0)) != len(turned):
        raise ModelError(
            f"{name}: two tetrahedra of its field mesh overlap, because they are on the same side "
            "of their common face; mesh the shape again."
        )


def _verify_extent(tetrahedra: Ints, extent: Floats, name: str) -> None:
    used = extent[tetrahedra]
    if used.min() < 0.0 or used.max() > 1.0 + 1e-12:
        raise ModelError(
            f"{name}: the extent of its field goes from {used.min():g} to {used.max():g}; "
            f"it must be within 0 and 1."
        )
    surface = np.unique(boundary_faces(tetrahedra))
    if extent[surface].max() > 0.0:
        worst = surface[extent[surface].argmax()]
        raise ModelError(
            f"{name}: the extent is {extent[worst]:g} at vertex {worst} on the surface of its "
            f"field mesh, where it must be 0; tetrahedra that do not meet face to face leave gaps."
        )
    empty = np.flatnonzero(used.max(axis=1) <= 0.0)
    if empty.size:
        raise ModelError(
            f"{name}: {empty.size} of {len(tetrahedra)} tetrahedra of its field mesh, the first of "
            f"them {empty[0]}, have all corners on the surface and no pressure; split them, as "
            f"'asperity tetrahedralize' does."
        )
