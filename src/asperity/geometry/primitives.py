"""Triangle meshes of primitive shapes.

Triangles face outwards, and every vertex is there once. Round shapes are inscribed polyhedra: their
vertices lie on the shape.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from asperity.geometry.surfaces import Surface

__all__ = [
    "box",
    "capsule",
    "convex_hull",
    "cylinder",
    "ellipsoid",
    "height_field",
    "rectangle",
    "revolve",
]

Floats = NDArray[np.float64]


def box(half: Floats, pieces: int = 1) -> Surface:
    """Box with half sizes ``half`` [m], its edges in pieces, its faces cut into right triangles."""
    n = pieces
    vertices: dict[tuple[int, int, int], int] = {}
    faces: list[tuple[int, int, int]] = []

    def number(corner: list[int]) -> int:
        return vertices.setdefault((corner[0], corner[1], corner[2]), len(vertices))

    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        for side in (0, n):
            for i in range(n):
                for j in range(n):
                    corner = [0, 0, 0]
                    corner[axis] = side
                    ring = []
                    for di, dj in ((0, 0), (1, 0), (1, 1), (0, 1)):
                        corner[u], corner[v] = i + di, j + dj
                        ring.append(number(corner))
                    if side == 0:
                        ring.reverse()
                    faces += [(ring[0], ring[1], ring[2]), (ring[0], ring[2], ring[3])]
    grid = np.array(list(vertices), dtype=np.float64)
    return Surface((2.0 * grid / n - 1.0) * half, np.array(faces, dtype=np.int64))


def ellipsoid(radii: Floats, segments: int) -> Surface:
    """Octahedron whose edges are cut into ``segments / 4`` pieces and blown up to a sphere.

    ``segments``, a multiple of 4, are the straight pieces around an equator.
    """
    n = segments // 4
    signs = [(x, y, z) for x in (1, -1) for y in (1, -1) for z in (1, -1)]
    vertices: dict[tuple[int, int, int], int] = {}
    faces: list[list[int]] = []
    for x, y, z in signs:
        outward = x * y * z > 0
        for i in range(n):
            for j in range(n - i):
                rings = [((i, j), (i + 1, j), (i, j + 1))]
                if i + j < n - 1:
                    rings.append(((i + 1, j), (i + 1, j + 1), (i, j + 1)))
                for ring in rings:
                    points = [(x * a, y * b, z * (n - a - b)) for a, b in ring]
                    face = [vertices.setdefault(p, len(vertices)) for p in points]
                    faces.append(face if outward else face[::-1])
    grid = np.array(list(vertices), dtype=np.float64)
    # Equal arcs rather than equal chords: triangles of nearly one size.
    grid = np.sign(grid) * np.sin(0.5 * np.pi * np.abs(grid) / n)
    grid /= np.linalg.norm(grid, axis=1)[:, None]
    return Surface(grid * radii, np.array(faces, dtype=np.int64))


def capsule(radius: float, half_length: float, segments: int) -> Surface:
    """Cylinder along z with hemispheres at its ends, a multiple of 4 segments around."""
    angle = np.linspace(-0.5 * np.pi, 0.0, segments // 4 + 1)
    r, z = radius * np.cos(angle), radius * np.sin(angle) - half_length
    return revolve(np.r_[r, r[::-1]], np.r_[z, -z[::-1]], segments)


def cylinder(radius: float, half_length: float, segments: int) -> Surface:
    """Cylinder along z."""
    return revolve(
        np.array([0.0, radius, radius, 0.0]),
        np.array([-half_length, -half_length, half_length, half_length]),
        segments,
    )


def revolve(radius: Floats, height: Floats, segments: int) -> Surface:
    """Rotate a profile [m] that starts and ends on the z axis, bottom first."""
    angle = 2.0 * np.pi * np.arange(segments) / segments
    rings = [
        np.column_stack([r * np.cos(angle), r * np.sin(angle), np.full(segments, z)])
        for r, z in zip(radius[1:-1], height[1:-1], strict=True)
    ]
    vertices = np.concatenate([[[0.0, 0.0, height[0]]], *rings, [[0.0, 0.0, height[-1]]]])
    here = np.arange(segments)
    there = (here + 1) % segments
    top = np.full_like(here, len(vertices) - 1)
    faces = [np.column_stack([np.zeros_like(here), 1 + there, 1 + here])]
    for k in range(len(rings) - 1):
        low, high = 1 + k * segments, 1 + (k + 1) * segments
        faces.append(np.column_stack([low + here, low + there, high + there]))
        faces.append(np.column_stack([low + here, high + there, high + here]))
    last = 1 + (len(rings) - 1) * segments
    faces.append(np.column_stack([last + here, last + there, top]))
    return Surface(vertices, np.concatenate(faces).astype(np.int64))


def convex_hull(points: Floats) -> Surface:
    """Convex hull of points, shape (n, 3).

    Raises
    ------
    scipy.spatial.QhullError
        If the points lie in a plane.
    """
    from scipy.spatial import ConvexHull  # slow to import, and most need it not

    hull = ConvexHull(points)
    faces = hull.simplices.astype(np.int64)
    a, b, c = (points[faces[:, k]] for k in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), hull.equations[:, :3]) < 0.0
    faces[inward] = faces[inward][:, ::-1]
    used, label = np.unique(faces, return_inverse=True)
    return Surface(points[used], label.reshape(faces.shape).astype(np.int64))


def height_field(heights: Floats, half: Floats, base: float, *, closed: bool) -> Surface:
    """Heights over a rectangle in the xy plane, with walls and a base plate if closed.

    Parameters
    ----------
    heights : ndarray, shape (rows, columns)
        [m]; rows run along y, columns along x.
    half : ndarray, shape (2,)
        Half sizes of the rectangle along x and y [m].
    base : float
        Depth of the base below z = 0 [m].
    closed : bool
        Whether the solid above the base is meant, or its upper surface.
    """
    rows, columns = heights.shape
    x, y = np.linspace(-half[0], half[0], columns), np.linspace(-half[1], half[1], rows)
    gy, gx = np.meshgrid(y, x, indexing="ij")
    top = np.column_stack([gx.ravel(), gy.ravel(), heights.ravel()])
    i, j = (k.ravel() for k in np.meshgrid(np.arange(rows - 1), np.arange(columns - 1)))
    a = i * columns + j
    b, c, d = a + 1, a + columns + 1, a + columns
    faces = [np.column_stack([a, b, c]), np.column_stack([a, c, d])]
    if not closed:
        return Surface(top, np.concatenate(faces).astype(np.int64))
    rim = np.concatenate(
        [
            np.arange(columns),
            columns * np.arange(2, rows + 1) - 1,
            rows * columns - 2 - np.arange(columns - 1),
            columns * np.arange(rows - 2, 0, -1),
        ]
    )
    low = rows * columns + np.arange(len(rim))
    bottom = top[rim].copy()
    bottom[:, 2] = -base
    following = np.roll(np.arange(len(rim)), -1)
    faces.append(np.column_stack([rim, low, low[following]]))
    faces.append(np.column_stack([rim, low[following], rim[following]]))
    centre = rows * columns + len(rim)
    faces.append(np.column_stack([np.full_like(low, centre), low[following], low]))
    vertices = np.concatenate([top, bottom, [[0.0, 0.0, -base]]])
    return Surface(vertices, np.concatenate(faces).astype(np.int64))


def rectangle(half: Floats, cells: tuple[int, int] = (1, 1)) -> Surface:
    """Rectangle in the xy plane with half sizes ``half`` [m], facing up, cut into cells."""
    nx, ny = cells
    x, y = np.linspace(-half[0], half[0], nx + 1), np.linspace(-half[1], half[1], ny + 1)
    gx, gy = np.meshgrid(x, y, indexing="ij")
    vertices = np.column_stack([gx.ravel(), gy.ravel(), np.zeros(gx.size)])
    i, j = (index.ravel() for index in np.meshgrid(np.arange(nx), np.arange(ny), indexing="ij"))
    a, b = i * (ny + 1) + j, (i + 1) * (ny + 1) + j
    faces = np.concatenate([np.column_stack([a, b, b + 1]), np.column_stack([a, b + 1, a + 1])])
    return Surface(vertices, faces)
