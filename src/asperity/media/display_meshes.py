"""Geoms as viewers want them.

Sharp edges have their vertices doubled, because viewers average normals over the triangles that
share a vertex.
"""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from asperity.errors import ModelError
from asperity.geometry.primitives import rectangle
from asperity.geometry.surfaces import Surface
from asperity.plant.model.geom_surfaces import geom_surface, primitive_surface

__all__ = [
    "checkerboard",
    "display_mesh",
    "site_mesh",
    "smooth_vertices",
    "solid_faces",
    "split_creases",
]

# Segments around a circle; 32 look round and cost little.
SEGMENTS = 32
CREASE_ANGLE = np.deg2rad(35.0)
# Half size of a plane that the model makes infinite, in units of the scene's extent.
INFINITE = 4.0

_Type = mujoco.mjtGeom
# What is smooth all over.
_SMOOTH = (int(_Type.mjGEOM_SPHERE), int(_Type.mjGEOM_ELLIPSOID), int(_Type.mjGEOM_CAPSULE))


def display_mesh(model: mujoco.MjModel, geom: int) -> Surface | None:
    """Triangles of one geom in its frame, or None for a type without a surface to show."""
    if model.geom_type[geom] == _Type.mjGEOM_PLANE:
        size = np.array(model.geom_size[geom, :2])
        return rectangle(np.where(size > 0.0, size, INFINITE * model.stat.extent))
    try:
        surface = geom_surface(model, geom, segments=SEGMENTS, hulls=False, closed=False)
    except ModelError:
        return None
    return surface if int(model.geom_type[geom]) in _SMOOTH else split_creases(surface)


def site_mesh(model: mujoco.MjModel, site: int) -> Surface:
    """Triangles of one site in its frame."""
    kind = _Type(int(model.site_type[site]))
    surface = primitive_surface(kind, np.array(model.site_size[site]), SEGMENTS)
    assert surface is not None, "sites are boxes or round"
    return surface if int(kind) in _SMOOTH else split_creases(surface)


def checkerboard(half: NDArray[np.float64], cells: tuple[int, int]) -> tuple[Surface, Surface]:
    """Light and dark tiles of a rectangle with half sizes ``half`` [m], shape (2,)."""
    vertices, faces = rectangle(half, cells)
    i, j = np.divmod(np.arange(cells[0] * cells[1]), cells[1])
    light = np.tile((i + j) % 2 == 0, 2)
    return Surface(vertices, faces[light]), Surface(vertices, faces[~light])


def split_creases(surface: Surface, angle: float = CREASE_ANGLE) -> Surface:
    """Double the vertices on edges sharper than ``angle`` [rad].

    Two corners of triangles at the same vertex stay one vertex if smooth edges connect them.
    """
    vertices = surface.vertices
    faces, normal, _ = solid_faces(surface)
    number, label = smooth_vertices(faces, normal, angle)
    result = np.empty((number, 3))
    result[label.ravel()] = vertices[faces.ravel()]
    return Surface(result, label)


def solid_faces(
    surface: Surface,
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.bool_]]:
    """Triangles with an area, their unit normals, and which ones of the surface these are."""
    vertices, faces = surface
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    area = np.linalg.norm(normal, axis=1)
    solid = area > 0.0
    return faces[solid], normal[solid] / area[solid, None], solid


def smooth_vertices(
    faces: NDArray[np.int64], normal: NDArray[np.float64], angle: float = CREASE_ANGLE
) -> tuple[int, NDArray[np.int64]]:
    """Number of vertices with one normal each, and which one every corner is, shape (n, 3).

    Parameters
    ----------
    faces, normal : ndarray, shape (n, 3)
        Triangles and their unit normals.
    angle : float
        Between the normals of triangles on both sides of a sharp edge, at least [rad].
    """
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
    return int(number), label.reshape(count, 3).astype(np.int64)
