"""Closed triangle meshes of MuJoCo's geoms, and what follows from a mesh alone.

Surfaces are in the geom's frame, with outward-facing triangles and every vertex once, so that the
mesh of a solid is closed. Round shapes are inscribed polyhedra: their vertices lie on the shape.
"""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError

from asperity.errors import ModelError
from asperity.plant.names import element

__all__ = [
    "Surface",
    "geom_surface",
    "is_closed",
    "sharp_edges",
    "vertex_areas",
    "volume_integrals",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_Type = mujoco.mjtGeom

# Sine of the angle between neighbouring triangles below which their common edge is flat: what
# single-precision coordinates of mesh files leave of an exactly flat face is below it.
_FLAT = 1e-6


class Surface(NamedTuple):
    """A triangle mesh."""

    vertices: Floats
    """[m], shape (n, 3)."""
    faces: Ints
    """Vertex numbers, anticlockwise seen from outside, shape (m, 3)."""


def geom_surface(
    model: mujoco.MjModel, geom: int, *, segments: int = 16, subdivisions: int = 1, hulls: bool
) -> Surface:
    """Triangles of one geom, which must not be a plane.

    Parameters
    ----------
    model : mujoco.MjModel
    geom : int
    segments : int
        Straight pieces around a circle, a multiple of 4.
    subdivisions : int
        Pieces of every edge of a box.
    hulls : bool
        Whether a mesh is replaced by its convex hull.

    Raises
    ------
    ModelError
        If the geom has no surface, as a signed distance field has none, or its mesh is flat.
    """
    size = np.array(model.geom_size[geom])
    kind = _Type(int(model.geom_type[geom]))
    if kind == _Type.mjGEOM_BOX:
        return _box(size, subdivisions)
    if kind == _Type.mjGEOM_SPHERE:
        return _ellipsoid(np.full(3, size[0]), segments)
    if kind == _Type.mjGEOM_ELLIPSOID:
        return _ellipsoid(size, segments)
    if kind == _Type.mjGEOM_CAPSULE:
        angle = np.linspace(-0.5 * np.pi, 0.0, segments // 4 + 1)
        radius, height = size[0] * np.cos(angle), size[0] * np.sin(angle) - size[1]
        return _revolve(np.r_[radius, radius[::-1]], np.r_[height, -height[::-1]], segments)
    if kind == _Type.mjGEOM_CYLINDER:
        return _revolve(
            np.array([0.0, size[0], size[0], 0.0]),
            np.array([-size[1], -size[1], size[1], size[1]]),
            segments,
        )
    name = element(model, mujoco.mjtObj.mjOBJ_GEOM, geom)
    if kind == _Type.mjGEOM_MESH:
        return _mesh(model, int(model.geom_dataid[geom]), name, hulls)
    if kind == _Type.mjGEOM_HFIELD:
        return _height_field(model, int(model.geom_dataid[geom]))
    raise ModelError(f"{name} is a {kind.name}, which has no surface for the Midas integrator.")


def volume_integrals(surface: Surface) -> tuple[float, Floats, Floats]:
    """Exact ∫dV, ∫x dV and ∫xxᵀdV over the solid inside a closed surface.

    Sums over the tetrahedra that the triangles span with the origin (Midas design 8.1).

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


def _box(half: Floats, n: int) -> Surface:
    """Box with every edge in ``n`` pieces, its faces cut into right triangles."""
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


def _ellipsoid(radii: Floats, segments: int) -> Surface:
    """Octahedron whose edges are cut into ``segments / 4`` pieces and blown up to a sphere."""
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


def _revolve(radius: Floats, height: Floats, segments: int) -> Surface:
    """Rotate a profile that starts and ends on the z axis, bottom first."""
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


def _mesh(model: mujoco.MjModel, mesh: int, name: str, hulls: bool) -> Surface:
    first, count = model.mesh_vertadr[mesh], model.mesh_vertnum[mesh]
    vertices = model.mesh_vert[first : first + count].astype(np.float64)
    if hulls:
        return _hull(vertices, name)
    first, count = model.mesh_faceadr[mesh], model.mesh_facenum[mesh]
    faces = model.mesh_face[first : first + count].astype(np.int64)
    vertices, label = np.unique(vertices, axis=0, return_inverse=True)
    faces = label.reshape(-1)[faces]
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    faces = faces[np.linalg.norm(np.cross(b - a, c - a), axis=1) > 0.0]
    if len(faces) == 0:
        raise ModelError(f"{name}: its mesh has no triangle with an area.")
    return Surface(vertices, faces)


def _hull(vertices: Floats, name: str) -> Surface:
    try:
        hull = ConvexHull(vertices)
    except QhullError:
        raise ModelError(f"{name}: its mesh is flat, so it has no convex hull.") from None
    faces = hull.simplices.astype(np.int64)
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), hull.equations[:, :3]) < 0.0
    faces[inward] = faces[inward][:, ::-1]
    used, label = np.unique(faces, return_inverse=True)
    return Surface(vertices[used], label.reshape(faces.shape).astype(np.int64))


def _height_field(model: mujoco.MjModel, index: int) -> Surface:
    """Solid between a height field's upper surface and its base."""
    rows, columns = int(model.hfield_nrow[index]), int(model.hfield_ncol[index])
    first = model.hfield_adr[index]
    size = np.array(model.hfield_size[index])
    x, y = np.linspace(-size[0], size[0], columns), np.linspace(-size[1], size[1], rows)
    gy, gx = np.meshgrid(y, x, indexing="ij")
    data = np.array(model.hfield_data[first : first + rows * columns], dtype=np.float64)
    top = np.column_stack([gx.ravel(), gy.ravel(), size[2] * data])
    i, j = (k.ravel() for k in np.meshgrid(np.arange(rows - 1), np.arange(columns - 1)))
    a = i * columns + j
    b, c, d = a + 1, a + columns + 1, a + columns
    faces = [np.column_stack([a, b, c]), np.column_stack([a, c, d])]
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
    bottom[:, 2] = -size[3]
    following = np.roll(np.arange(len(rim)), -1)
    faces.append(np.column_stack([rim, low, low[following]]))
    faces.append(np.column_stack([rim, low[following], rim[following]]))
    centre = rows * columns + len(rim)
    faces.append(np.column_stack([np.full_like(low, centre), low[following], low]))
    vertices = np.concatenate([top, bottom, [[0.0, 0.0, -size[3]]]])
    return Surface(vertices, np.concatenate(faces).astype(np.int64))


def is_closed(surface: Surface) -> bool:
    """Whether every edge belongs to two triangles that agree on the outside."""
    faces = surface.faces
    sides = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    there = np.unique(sides, axis=0)
    back = np.unique(sides[:, ::-1], axis=0)
    return len(there) == len(sides) and np.array_equal(there, back)
