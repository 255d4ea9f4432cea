"""A triangle mesh, and what follows from it alone: volume, areas, sharp edges, closedness.

Triangles face outwards and every vertex is there once, so that the mesh of a solid is closed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Surface",
    "is_closed",
    "open_edges",
    "sharp_edges",
    "vertex_areas",
    "volume_integrals",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Sine of the angle between neighbouring triangles below which their common edge is flat: what
# single-precision coordinates of mesh files leave of an exactly flat face is below it.
_FLAT = 1e-6


class Surface(NamedTuple):
    """A triangle mesh."""

    vertices: Floats
    """[m], shape (n, 3)."""
    faces: Ints
    """Vertex numbers, anticlockwise seen from outside, shape (m, 3)."""


def volume_integrals(surface: Surface) -> tuple[float, Floats, Floats]:
    """Exact ∫dV, ∫x dV and ∫xxᵀdV over the solid inside a closed surface.

    Sums over the tetrahedra that the triangles span with the origin.

    Returns
    -------
    volume : float
        [m³].
    first : ndarray, shape (3,)
        [m⁴].
    second : ndarray, shape (3, 3)
        [m⁵].
    """
    corners = surface.vertices[surface.faces]
    volume = np.linalg.det(corners) / 6.0
    total = corners.sum(axis=1)
    first = np.einsum("t,ti->i", volume, total) / 4.0
    second = np.einsum("t,ti,tj->ij", volume, total, total)
    second += np.einsum("t,tki,tkj->ij", volume, corners, corners)
    return float(volume.sum()), first, second / 20.0


def vertex_areas(surface: Surface) -> Floats:
    """A third of the area of the triangles at every vertex [m²], shape (n,)."""
    a, b, c = (surface.vertices[surface.faces[:, k]] for k in range(3))
    area = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)
    count = len(surface.vertices)
    out = np.zeros(count)
    np.add.at(out, surface.faces, area[:, None] / 3.0)
    return out


def sharp_edges(surface: Surface) -> tuple[Ints, Floats]:
    """Edges that are not inside a flat face, and their areas.

    An edge between two coplanar triangles touches nothing that the triangles' other edges and the
    other surface's vertices do not touch first, and an affine body keeps flat faces flat.

    Returns
    -------
    edges : ndarray, shape (n, 2)
    areas : ndarray, shape (n,)
        A third of the area of the triangles at every edge [m²].
    """
    vertices, faces = surface
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    double = np.linalg.norm(normal, axis=1)
    normal = normal / np.maximum(double, 1e-300)[:, None]
    sides = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
    owner = np.tile(np.arange(len(faces)), 3)
    order = np.lexsort((sides[:, 1], sides[:, 0]))
    sides, owner = sides[order], owner[order]
    edges, first, count = np.unique(sides, axis=0, return_index=True, return_counts=True)
    area = np.add.reduceat(double[owner] / 6.0, first)
    sharp = count != 2
    pair = np.flatnonzero(count == 2)
    one, other = normal[owner[first[pair]]], normal[owner[first[pair] + 1]]
    bent = np.linalg.norm(np.cross(one, other), axis=1) > _FLAT
    sharp[pair] = bent | (np.einsum("ij,ij->i", one, other) < 0.0)
    # An edge of three or more triangles, or of one, is where the surface is not closed.
    return edges[sharp].astype(np.int64), area[sharp]


def open_edges(surface: Surface) -> Ints:
    """Edges of one triangle, of more than two, or of two that disagree on the outside.

    Returns
    -------
    ndarray, shape (n, 2)
    """
    faces = surface.faces
    sides = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    edges, label = np.unique(np.sort(sides, axis=1), axis=0, return_inverse=True)
    label = label.reshape(-1)
    forward = np.bincount(label, sides[:, 0] < sides[:, 1], minlength=len(edges))
    count = np.bincount(label, minlength=len(edges))
    return np.asarray(edges[(count != 2) | (forward != 1)], dtype=np.int64)


def is_closed(surface: Surface) -> bool:
    """Whether every edge belongs to two triangles that agree on the outside."""
    faces = surface.faces
    sides = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    there = np.unique(sides, axis=0)
    back = np.unique(sides[:, ::-1], axis=0)
    return len(there) == len(sides) and np.array_equal(there, back)
