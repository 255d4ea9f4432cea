"""Cells that shapes are made of, cut into tetrahedra and triangles that meet face to face.

Prisms and quadrilaterals are cut by the diagonals that begin in their lowest vertex number, which
neighbours agree on.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from asperity.contact.hydroelastic.field_mesh import FieldMesh, oriented

__all__ = ["fan", "field_mesh", "prisms", "quadrilaterals", "triangles", "without_slivers"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def field_mesh(vertices: Floats, tetrahedra: Ints, extent: Floats, depth: float) -> FieldMesh:
    """A field mesh of tetrahedra in any orientation."""
    return FieldMesh(
        np.ascontiguousarray(vertices),
        np.ascontiguousarray(oriented(vertices, tetrahedra)),
        extent,
        float(depth),
    )


def fan(vertices: Floats, faces: Ints, centre: Floats, depth: float) -> FieldMesh:
    """Tetrahedra from a point inside to triangles around it."""
    tetrahedra = np.column_stack([faces, np.full(len(faces), len(vertices))])
    extent = np.r_[np.zeros(len(vertices)), 1.0]
    return field_mesh(np.concatenate([vertices, centre[None]]), tetrahedra, extent, depth)


def triangles(quad: list[int]) -> list[list[int]]:
    """Triangles of one quadrilateral, some of whose neighbouring corners may be the same."""
    ring = [corner for k, corner in enumerate(quad) if corner != quad[k - 1]]
    if len(ring) < 3 or len(set(ring)) < 3:
        return []
    start = ring.index(min(ring))
    ring = ring[start:] + ring[:start]
    return [[ring[0], ring[k], ring[k + 1]] for k in range(1, len(ring) - 1)]


def quadrilaterals(quads: Ints) -> Ints:
    """Triangles of quadrilaterals, shape (n, 4), cut from their lowest corners."""
    order = (quads.argmin(axis=1)[:, None] + np.arange(4)) % 4
    q = np.take_along_axis(quads, order, axis=1)
    return np.concatenate([q[:, [0, 1, 2]], q[:, [0, 2, 3]]])


# Symmetries of a prism (a0, a1, a2, b0, b1, b2) that bring each of its corners to the front.
_TURNED = np.array(
    [
        [0, 1, 2, 3, 4, 5],
        [1, 2, 0, 4, 5, 3],
        [2, 0, 1, 5, 3, 4],
        [3, 5, 4, 0, 2, 1],
        [4, 3, 5, 1, 0, 2],
        [5, 4, 3, 2, 1, 0],
    ]
)


def prisms(a0: Ints, a1: Ints, a2: Ints, b0: Ints, b1: Ints, b2: Ints) -> Ints:
    """Three tetrahedra for every prism between the triangles a and b, shape (3 n, 4).

    The lowest corner is in two of the three quadrilaterals; the lowest corner of the third one says
    which of two ways of cutting is left.
    """
    corners = np.column_stack([a0, a1, a2, b0, b1, b2])
    p = np.take_along_axis(corners, _TURNED[corners.argmin(axis=1)], axis=1)
    from_one = np.minimum(p[:, 1], p[:, 5]) < np.minimum(p[:, 2], p[:, 4])
    one, other = p[from_one], p[~from_one]
    return np.concatenate(
        [
            one[:, [0, 1, 2, 5]],
            one[:, [0, 1, 5, 4]],
            one[:, [0, 4, 5, 3]],
            other[:, [0, 1, 2, 4]],
            other[:, [0, 4, 2, 5]],
            other[:, [0, 4, 5, 3]],
        ]
    )


def without_slivers(points: Floats, faces: Ints, thin: float) -> Ints:
    """Triangles of the same polyhedron without those that are thinner than a length [m].

    Hulls of points that lie on a common edge have such triangles. The longest edge of one is
    flipped, so that the polyhedron stays closed; it stays within the hull of its points.
    """
    distinct = (np.roll(faces, 1, axis=1) != faces).all(axis=1)
    left = [list(map(int, face)) for face in faces[distinct]]
    for _ in range(len(left)):
        corners = points[np.array(left).reshape(-1, 3)]
        sides = np.linalg.norm(np.roll(corners, -1, axis=1) - corners, axis=2)
        double = np.linalg.norm(
            np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1
        )
        slivers = np.flatnonzero(double <= thin * sides.max(axis=1))
        if not slivers.size:
            break
        # The one with the longest edge first: its neighbour is then wider, or as flat a sliver.
        k = int(slivers[sides[slivers].max(axis=1).argmax()])
        side = int(sides[k].argmax())
        a, b, tip = (left[k][(side + j) % 3] for j in range(3))
        across = [j for j, face in enumerate(left) if j != k and a in face and b in face]
        if len(across) != 1:
            break
        other = across[0]
        (opposite,) = (v for v in left[other] if v not in (a, b))
        if opposite == tip:
            left = [face for j, face in enumerate(left) if j not in (k, other)]
            continue
        left[k], left[other] = [a, tip, opposite], [tip, b, opposite]
    return np.array(left, dtype=np.int64).reshape(-1, 3)
