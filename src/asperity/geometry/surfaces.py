"""A triangle mesh, and what follows from it alone: volume, areas, sharp edges, closedness.

Triangles face outwards and every vertex is there once, so that the mesh of a solid is closed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Surface",
    "edge_uses",
    "is_closed",
    "sharp_edges",
    "sorted_sides",
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
    numbers = _edge_numbers(faces)
    order = np.argsort(numbers, kind="stable")
    owner = np.tile(np.arange(len(faces)), 3)[order]
    found, first, count = np.unique(numbers[order], return_index=True, return_counts=True)
    edges = _edges_of(found, faces)
    area = np.add.reduceat(double[owner] / 6.0, first)
    sharp = count != 2
    pair = np.flatnonzero(count == 2)
    one, other = normal[owner[first[pair]]], normal[owner[first[pair] + 1]]
    bent = np.linalg.norm(np.cross(one, other), axis=1) > _FLAT
    sharp[pair] = bent | (np.einsum("ij,ij->i", one, other) < 0.0)
    # An edge of three or more triangles, or of one, is where the surface is not closed.
    return edges[sharp], area[sharp]


def edge_uses(faces: np.ndarray) -> tuple[Ints, Ints, Ints]:
    """Edges, how many triangles have each, and how many of these go from its first vertex on.

    Returns
    -------
    tuple of ndarray
        Shapes (n, 2), (n,) and (n,); the first vertex of an edge is that of the smaller number.
    """
    numbers, label = np.unique(_edge_numbers(faces), return_inverse=True)
    rising = (faces < np.roll(faces, -1, axis=1)).T.ravel()
    times = np.bincount(label, minlength=len(numbers))
    forward = np.bincount(label[rising], minlength=len(numbers))
    return _edges_of(numbers, faces), times, forward


def _edge_numbers(faces: np.ndarray) -> Ints:
    """One number for the edge of every side: NumPy sorts rows a hundred times slower."""
    faces = faces.astype(np.int64, copy=False)
    ends = faces, np.roll(faces, -1, axis=1)
    count = int(faces.max(initial=0)) + 1
    return (np.minimum(*ends) * count + np.maximum(*ends)).T.ravel()


def _edges_of(numbers: Ints, faces: np.ndarray) -> Ints:
    return np.stack(np.divmod(numbers, int(faces.max(initial=0)) + 1), axis=1)


def is_closed(surface: Surface) -> bool:
    """Whether every edge belongs to two triangles that agree on the outside."""
    there, back = sorted_sides(surface.faces)
    return bool(np.all(there[1:] > there[:-1])) and np.array_equal(there, back)


def sorted_sides(faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sides of triangles in their direction and in the other, as sorted numbers of each."""
    sides = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    count = int(faces.max(initial=0)) + 1
    return np.sort(sides @ [count, 1]), np.sort(sides @ [1, count])
