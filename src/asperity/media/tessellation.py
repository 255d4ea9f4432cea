"""Triangles for MuJoCo's geoms.

All functions return ``(vertices, faces)``: vertices [m], shape (n, 3), in the geom's frame, and
outward-facing triangles, shape (m, 3). Sharp edges have their vertices doubled, because viewers
average normals over the triangles that share a vertex.
"""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

__all__ = ["Mesh", "checkerboard", "split_creases", "tessellate"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mesh = tuple[Floats, Ints]

# Segments around a circle; 32 look round and cost little.
SEGMENTS = 32
RINGS = 12
CREASE_ANGLE = np.deg2rad(35.0)
# Half size of a plane that the model makes infinite, in units of the scene's extent.
INFINITE = 4.0

_Type = mujoco.mjtGeom


def tessellate(model: mujoco.MjModel, geom: int) -> Mesh | None:
    """Triangles of one geom, or None for a type without a surface to show."""
    size = np.array(model.geom_size[geom])
    kind = _Type(int(model.geom_type[geom]))
    dataid = int(model.geom_dataid[geom])
    if kind == _Type.mjGEOM_PLANE:
        half = np.where(size[:2] > 0.0, size[:2], INFINITE * model.stat.extent)
        return _grid(half)
    if kind == _Type.mjGEOM_HFIELD:
        return split_creases(*_height_field(model, dataid))
    if kind == _Type.mjGEOM_SPHERE:
        return _revolve(*_arc(size[0], 0.0))
    if kind == _Type.mjGEOM_CAPSULE:
        return _revolve(*_arc(size[0], size[1]))
    if kind == _Type.mjGEOM_ELLIPSOID:
        vertices, faces = _revolve(*_arc(1.0, 0.0))
        return vertices * size, faces
    if kind == _Type.mjGEOM_CYLINDER:
        radius = np.array([0.0, size[0], size[0], 0.0])
        height = np.array([-size[1], -size[1], size[1], size[1]])
        return split_creases(*_revolve(radius, height))
    if kind == _Type.mjGEOM_BOX:
        return split_creases(*_box(size))
    if kind in (_Type.mjGEOM_MESH, _Type.mjGEOM_SDF) and dataid >= 0:
        first, count = model.mesh_vertadr[dataid], model.mesh_vertnum[dataid]
        vertices = model.mesh_vert[first : first + count].astype(np.float64)
        first, count = model.mesh_faceadr[dataid], model.mesh_facenum[dataid]
        return split_creases(vertices, model.mesh_face[first : first + count].astype(np.int64))
    return None


def checkerboard(half: Floats, cells: tuple[int, int]) -> tuple[Mesh, Mesh]:
    """Light and dark tiles of a rectangle with half sizes ``half`` [m], shape (2,)."""
    vertices, faces = _grid(half, cells)
    i, j = np.divmod(np.arange(cells[0] * cells[1]), cells[1])
    light = np.tile((i + j) % 2 == 0, 2)
    return (vertices, faces[light]), (vertices, faces[~light])


def split_creases(vertices: Floats, faces: Ints, angle: float = CREASE_ANGLE) -> Mesh:
    """Double the vertices on edges sharper than ``angle`` [rad].

    Two corners of triangles at the same vertex stay one vertex if smooth edges connect them.
    """
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    area = np.linalg.norm(normal, axis=1)
    faces, normal = faces[area > 0.0], normal[area > 0.0] / area[area > 0.0, None]
    count = len(faces)
    # Every triangle side, as (smaller vertex, larger vertex), with its triangle and two corners.
    side = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    corner = np.arange(3 * count).reshape(count, 3)
    ends = np.concatenate([corner[:, [0, 1]], corner[:, [1, 2]], corner[:, [2, 0]]])
    owner = np.tile(np.arange(count), 3)
    swap = side[:, 0] > side[:, 1]
    side[swap], ends[swap] = side[swap][:, ::-1], ends[swap][:, ::-1]
    order = np.lexsort((side[:, 1], side[:, 0]))
    side, ends, owner = side[order], ends[order], owner[order]
    same = np.all(side[1:] == side[:-1], axis=1)
    smooth = np.einsum("ij,ij->i", normal[owner[1:]], normal[owner[:-1]]) > np.cos(angle)
    join = np.flatnonzero(same & smooth)
    rows, columns = ends[join].ravel(), ends[join + 1].ravel()
    graph = coo_array((np.ones(rows.size), (rows, columns)), shape=(3 * count, 3 * count))
    number, label = connected_components(graph, directed=False)
    result = np.empty((number, 3))
    result[label] = vertices[faces.ravel()]
    return result, label.reshape(count, 3).astype(np.int64)


def _arc(radius: float, half_length: float) -> tuple[Floats, Floats]:
    """Profile (radius, height) of a sphere pulled apart by ``2 * half_length``."""
    angle = np.linspace(-0.5 * np.pi, 0.0, RINGS // 2 + 1)
    r, z = radius * np.cos(angle), radius * np.sin(angle) - half_length
    r[0] = 0.0
    skip = 1 if half_length == 0.0 else 0
    return np.concatenate([r, r[::-1][skip:]]), np.concatenate([z, -z[::-1][skip:]])


def _revolve(radius: Floats, height: Floats) -> Mesh:
    """Rotate a profile that starts and ends on the z axis, bottom first."""
    angle = 2.0 * np.pi * np.arange(SEGMENTS) / SEGMENTS
    inner = range(1, len(radius) - 1)
    rings = [
        np.column_stack(
            [radius[k] * np.cos(angle), radius[k] * np.sin(angle), np.full(SEGMENTS, height[k])]
        )
        for k in inner
    ]
    vertices = np.concatenate([[[0.0, 0.0, height[0]]], *rings, [[0.0, 0.0, height[-1]]]])
    here = np.arange(SEGMENTS)
    there = (here + 1) % SEGMENTS
    top = len(vertices) - 1
    faces = [np.column_stack([np.zeros_like(here), 1 + there, 1 + here])]
    for k in range(len(rings) - 1):
        low, high = 1 + k * SEGMENTS, 1 + (k + 1) * SEGMENTS
        faces.append(np.column_stack([low + here, low + there, high + there]))
        faces.append(np.column_stack([low + here, high + there, high + here]))
    last = 1 + (len(rings) - 1) * SEGMENTS
    faces.append(np.column_stack([last + here, last + there, np.full_like(here, top)]))
    return vertices, np.concatenate(faces)


def _box(half: Floats) -> Mesh:
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    faces = [t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))]
    return corners * half, np.array(faces)


def _grid(half: Floats, cells: tuple[int, int] = (1, 1)) -> Mesh:
    """Rectangle in the xy plane, facing up."""
    nx, ny = cells
    x, y = np.linspace(-half[0], half[0], nx + 1), np.linspace(-half[1], half[1], ny + 1)
    gx, gy = np.meshgrid(x, y, indexing="ij")
    vertices = np.column_stack([gx.ravel(), gy.ravel(), np.zeros(gx.size)])
    i, j = (index.ravel() for index in np.meshgrid(np.arange(nx), np.arange(ny), indexing="ij"))
    a, b = i * (ny + 1) + j, (i + 1) * (ny + 1) + j
    faces = np.concatenate([np.column_stack([a, b, b + 1]), np.column_stack([a, b + 1, a + 1])])
    return vertices, faces


def _height_field(model: mujoco.MjModel, index: int) -> Mesh:
    """Upper surface of a height field."""
    rows, columns = int(model.hfield_nrow[index]), int(model.hfield_ncol[index])
    first = model.hfield_adr[index]
    size = np.array(model.hfield_size[index])
    vertices, faces = _grid(size[:2], (columns - 1, rows - 1))
    data = model.hfield_data[first : first + rows * columns].reshape(rows, columns)
    vertices[:, 2] = size[2] * data.T.ravel()  # rows run along y
    return vertices, faces
