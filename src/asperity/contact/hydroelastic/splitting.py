"""Vertices inside of thin walls, without which tetrahedra there would have no pressure.

Mesh generators put no vertex into a wall that is thinner than their edges, so that all corners of
its tetrahedra lie on the surface, where the extent is 0. They are split until every tetrahedron has
a corner inside. All tetrahedra around an edge or a face are split at once and in the same way, so
that they still meet face to face, and the surface stays as it is.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from asperity.contact.hydroelastic.field_mesh import boundary_faces

__all__ = ["split_thin_walls"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def split_thin_walls(vertices: Floats, tetrahedra: Ints) -> tuple[Floats, Ints]:
    """Split tetrahedra until each has a corner that is not on the surface.

    First the edges that run through the inside from surface to surface are halved, the longest
    first, which keeps the pieces round. Then faces inside with all three corners on the surface are
    split in three, and last the tetrahedra that are left in four.

    Parameters
    ----------
    vertices : ndarray, shape (n, 3)
        [m].
    tetrahedra : ndarray, shape (m, 4)
        That meet face to face.

    Returns
    -------
    vertices : ndarray
        The given ones, followed by new ones inside.
    tetrahedra : ndarray
        Of the same orientation as those that they are part of.
    """
    boundary = boundary_faces(tetrahedra)
    mesh = _Pieces(vertices, tetrahedra)
    outside = np.zeros(len(vertices), dtype=bool)
    outside[np.unique(boundary)] = True

    corners = boundary.tolist()
    on_surface = {
        frozenset(part)
        for face in corners
        for size in (2, 3)
        for part in itertools.combinations(face, size)
    }
    for size in (2, 3, 4):
        # Vertices that were added lie inside, so that what they are corners of needs no splitting.
        simplices = mesh.simplices(size, outside) - on_surface
        for simplex in sorted(simplices, key=mesh.longest_first):
            mesh.split(simplex)
    return mesh.arrays()


class _Pieces:
    """Tetrahedra, and which of them are at every vertex."""

    def __init__(self, vertices: Floats, tetrahedra: Ints) -> None:
        self._vertices = list(vertices)
        self._tetrahedra: dict[int, tuple[int, ...]] = dict(
            enumerate(map(tuple, tetrahedra.tolist()))
        )
        self._at: dict[int, set[int]] = {}
        for number, corners in self._tetrahedra.items():
            for vertex in corners:
                self._at.setdefault(vertex, set()).add(number)
        self._following = len(self._tetrahedra)

    def simplices(self, size: int, marked: NDArray[np.bool_]) -> set[frozenset[int]]:
        """Edges, faces or tetrahedra, by their number of corners, all of which are marked."""
        count = len(marked)
        return {
            frozenset(part)
            for corners in self._tetrahedra.values()
            for part in itertools.combinations(corners, size)
            if all(vertex < count and marked[vertex] for vertex in part)
        }

    def longest_first(self, simplex: frozenset[int]) -> tuple[float, list[int]]:
        """Sorting key: minus the extent of a simplex, and its corners to break ties."""
        corners = sorted(simplex)
        points = np.array([self._vertices[vertex] for vertex in corners])
        return -float(((points - points.mean(axis=0)) ** 2).sum()), corners

    def split(self, simplex: frozenset[int]) -> None:
        """Put a vertex in the middle of a simplex, and split all tetrahedra that it belongs to."""
        corners = sorted(simplex)
        middle = len(self._vertices)
        self._vertices.append(sum(self._vertices[vertex] for vertex in corners) / len(corners))
        for number in sorted(set.intersection(*(self._at[vertex] for vertex in corners))):
            whole = self._tetrahedra.pop(number)
            for vertex in whole:
                self._at[vertex].discard(number)
            # One piece for every corner of the simplex, which the middle takes the place of.
            for replaced in corners:
                piece = tuple(middle if vertex == replaced else vertex for vertex in whole)
                for vertex in piece:
                    self._at.setdefault(vertex, set()).add(self._following)
                self._tetrahedra[self._following] = piece
                self._following += 1

    def arrays(self) -> tuple[Floats, Ints]:
        return np.array(self._vertices), np.array(list(self._tetrahedra.values()), dtype=np.int64)
