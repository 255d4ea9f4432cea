"""Convex geoms: how far they come along a direction, and what of their faces is where."""

from __future__ import annotations

import math
from typing import NamedTuple

import mujoco
import numpy as np

from asperity.compiled import Table, compiled, inlined
from asperity.plant.detection.geom_types import BOX, CAPSULE, CYLINDER, ELLIPSOID, MESH

__all__ = [
    "Hulls",
    "covers",
    "find_hulls",
    "has_shells",
    "hull_triangles",
    "hull_vertices",
    "nearest_face",
    "reach",
]

# Faces of hulls that are looked at: rounder ones do not lie beside each other.
_MOST_FACES = 200
# To how many digits normals and distances of triangles of one face agree: vertices have single
# precision.
_DIGITS = 5

Direction = tuple[float, float, float]


class Hulls(NamedTuple):
    """Convex hulls of meshes, and which geoms may lie beside each other.

    Attributes
    ----------
    mesh : numpy.ndarray
        A geom's mesh, −1 of other geoms, shape (ngeom,).
    corner_first : numpy.ndarray
        Number of each mesh's first corner, shape (nmesh + 1,).
    corners : numpy.ndarray
        In the mesh's frame [m], shape (n, 3).
    face_first : numpy.ndarray
        Number of each mesh's first face, shape (nmesh + 1,); it has none if it is in no shell and
        there are no cylinders that might stand on it.
    faces : numpy.ndarray
        Outward normals in the mesh's frame, and distances from its origin [m], shape (m, 4).
    shell : numpy.ndarray
        Number of the shell that a geom is part of, −1 of others, shape (ngeom,).
    thickness : numpy.ndarray
        Smallest half side of the geom's bounding box [m], shape (ngeom,).
    """

    mesh: np.ndarray
    corner_first: np.ndarray
    corners: np.ndarray
    face_first: np.ndarray
    faces: np.ndarray
    shell: np.ndarray
    thickness: np.ndarray


def hull_vertices(model: mujoco.MjModel, mesh: int) -> np.ndarray:
    """Vertices of a mesh's convex hull, shape (n, 3)."""
    start = model.mesh_vertadr[mesh]
    vertices = model.mesh_vert[start : start + model.mesh_vertnum[mesh]].astype(np.float64)
    graph = model.mesh_graphadr[mesh]
    if graph < 0:
        return vertices
    # MuJoCo's graph: how many vertices and faces, where the vertices' edges are, their numbers.
    count = model.mesh_graph[graph]
    return vertices[model.mesh_graph[graph + 2 + count : graph + 2 + 2 * count]]


def hull_triangles(model: mujoco.MjModel, mesh: int) -> tuple[np.ndarray, np.ndarray]:
    """Corners of the triangles of a mesh's hull, counterclockwise from outside, and their normals.

    Shapes (n, 3, 3) and (n, 3); those without area are left out.
    """
    start, graph = model.mesh_vertadr[mesh], model.mesh_graphadr[mesh]
    vertices = model.mesh_vert[start : start + model.mesh_vertnum[mesh]].astype(np.float64)
    # MuJoCo's graph: how many vertices and faces, two numbers of each vertex, its edges, faces.
    points, triangles = (int(n) for n in model.mesh_graph[graph : graph + 2])
    begin = graph + 2 + 3 * points + 3 * triangles
    corners = vertices[model.mesh_graph[begin : begin + 3 * triangles].reshape(-1, 3)]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = np.linalg.norm(normal, axis=1)
    corners, normal = corners[length > 0.0], normal[length > 0.0] / length[length > 0.0, None]
    inwards = np.sum(normal * (corners[:, 0] - corners.mean(axis=(0, 1))), axis=1) < 0.0
    corners[inwards] = corners[inwards, ::-1]
    normal[inwards] *= -1.0
    return corners, normal


def _faces_of_mesh(model: mujoco.MjModel, mesh: int) -> np.ndarray:
    """Planes of the faces of a mesh's hull, as in `Hulls`."""
    corners, normal = hull_triangles(model, mesh)
    faces = np.column_stack([normal, np.sum(normal * corners[:, 0], axis=1)])
    scale = np.array([1.0, 1.0, 1.0, 1.0 / max(np.abs(corners).max(initial=0.0), 1e-300)])
    _, kept = np.unique(np.round(faces * scale, _DIGITS), axis=0, return_index=True)
    return faces[kept]


def has_shells(model: mujoco.MjModel) -> bool:
    """Whether geoms lie beside each other that collide, or may once their masks have changed."""
    return bool((_group(model, np.ones(model.ngeom, bool)) >= 0).any())


def _group(model: mujoco.MjModel, collides: np.ndarray) -> np.ndarray:
    """Number of the shell that a geom is part of, −1 of others: int64, shape (ngeom,).

    Boxes and hulls of one body, and of bodies without joints between them, are a shell, if they
    collide.
    """
    hulls = np.isin(model.geom_type, (BOX, MESH)) & collides
    shell = np.where(hulls, model.body_weldid[model.geom_bodyid], -1).astype(np.int64)
    several = np.bincount(shell + 1, minlength=model.nbody + 1)[shell + 1] > 1
    return np.where(several, shell, -1)


def find_hulls(model: mujoco.MjModel) -> Hulls:
    """Find the hulls of meshes that collide, and what may lie beside each other."""
    collides = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
    shell = _group(model, collides)
    mesh = np.where(model.geom_type == MESH, model.geom_dataid, -1).astype(np.int64)
    none = (np.empty((0, 3)), np.empty((0, 4)))
    corners, faces = [[one] * model.nmesh for one in none]
    for number in np.unique(mesh[(mesh >= 0) & collides]):
        corners[number] = hull_vertices(model, int(number))
    cylinders = bool(np.any(collides[model.geom_type == CYLINDER]))
    for number in np.unique(mesh[(mesh >= 0) & ((shell >= 0) | (collides & cylinders))]):
        found = _faces_of_mesh(model, int(number)) if model.mesh_graphadr[number] >= 0 else none[1]
        if 0 < len(found) <= _MOST_FACES:
            faces[number] = found
        else:
            shell[mesh == number] = -1
    first = [np.cumsum([0, *map(len, parts)]).astype(np.int64) for parts in (corners, faces)]
    return Hulls(
        mesh,
        first[0],
        np.concatenate([none[0], *corners]),
        first[1],
        np.concatenate([none[1], *faces]),
        shell,
        model.geom_aabb[:, 3:].min(axis=1).astype(np.float64),
    )


@inlined
def _into_frame(turn: np.ndarray, x: float, y: float, z: float) -> Direction:
    return (
        x * turn[0] + y * turn[3] + z * turn[6],
        x * turn[1] + y * turn[4] + z * turn[7],
        x * turn[2] + y * turn[5] + z * turn[8],
    )


@inlined
def _out_of_frame(turn: np.ndarray, u: float, v: float, w: float) -> Direction:
    return (
        turn[0] * u + turn[1] * v + turn[2] * w,
        turn[3] * u + turn[4] * v + turn[5] * w,
        turn[6] * u + turn[7] * v + turn[8] * w,
    )


@inlined
def _signed(size: float, along: float) -> float:
    """A half side towards a direction; its middle where this is across."""
    return size if along > 0.0 else -size if along < 0.0 else 0.0


@compiled
def farthest(
    plant: Table, state: Table, geom: int, x: float, y: float, z: float
) -> tuple[float, float, float]:
    """The point of a convex geom that is the farthest along a direction, which has length 1."""
    kind, size, hulls = plant.geoms.kind[geom], plant.geoms.size[geom], plant.hulls
    turn, place = state.mj_geom_xmat[geom], state.mj_geom_xpos[geom]
    u, v, w = _into_frame(turn, x, y, z)
    if kind == BOX:
        u, v, w = _signed(size[0], u), _signed(size[1], v), _signed(size[2], w)
    elif kind == MESH:
        mesh = hulls.mesh[geom]
        best = -math.inf
        at = hulls.corner_first[mesh]
        for i in range(at, hulls.corner_first[mesh + 1]):
            corner = hulls.corners[i]
            own = u * corner[0] + v * corner[1] + w * corner[2]
            if own > best:
                best = own
                at = i
        corner = hulls.corners[at]
        u, v, w = corner[0], corner[1], corner[2]
    elif kind == CYLINDER:
        radial = math.sqrt(u * u + v * v)
        scale = size[0] / radial if radial > 0.0 else 0.0
        u, v, w = scale * u, scale * v, _signed(size[1], w)
    elif kind == CAPSULE:
        u, v, w = size[0] * u, size[0] * v, size[0] * w + _signed(size[1], w)
    elif kind == ELLIPSOID:
        u, v, w = size[0] * u, size[1] * v, size[2] * w
        scale = math.sqrt(u * u + v * v + w * w)
        u, v, w = size[0] * u / scale, size[1] * v / scale, size[2] * w / scale
    else:
        u, v, w = size[0] * u, size[0] * v, size[0] * w
    x, y, z = _out_of_frame(turn, u, v, w)
    return place[0] + x, place[1] + y, place[2] + z


@compiled
def reach(plant: Table, state: Table, geom: int, x: float, y: float, z: float) -> float:
    """How far a convex geom comes along a direction from the world's origin [m]."""
    u, v, w = farthest(plant, state, geom, x, y, z)
    return u * x + v * y + w * z


@compiled
def covers(plant: Table, state: Table, geom: int, gap: float, x: float, y: float, z: float) -> bool:
    """Whether a point lies in a box or a hull, or before a face of it by no more than a gap."""
    size, hulls = plant.geoms.size[geom], plant.hulls
    place = state.mj_geom_xpos[geom]
    u, v, w = _into_frame(state.mj_geom_xmat[geom], x - place[0], y - place[1], z - place[2])
    mesh = hulls.mesh[geom]
    if mesh < 0:
        return abs(u) <= size[0] + gap and abs(v) <= size[1] + gap and abs(w) <= size[2] + gap
    for i in range(hulls.face_first[mesh], hulls.face_first[mesh + 1]):
        face = hulls.faces[i]
        if u * face[0] + v * face[1] + w * face[2] > face[3] + gap:
            return False
    return True


@compiled
def nearest_face(
    plant: Table, state: Table, geom: int, x: float, y: float, z: float
) -> tuple[float, Direction]:
    """The face of a box or a hull whose normal is nearest to a direction.

    Returns the cosine of the angle between them, and that normal.
    """
    hulls = plant.hulls
    turn = state.mj_geom_xmat[geom]
    u, v, w = _into_frame(turn, x, y, z)
    mesh = hulls.mesh[geom]
    if mesh < 0:
        best = max(max(abs(u), abs(v)), abs(w))
        u = math.copysign(1.0, u) if abs(u) == best else 0.0
        v = math.copysign(1.0, v) if abs(v) == best and u == 0.0 else 0.0
        w = math.copysign(1.0, w) if u == 0.0 and v == 0.0 else 0.0
    else:
        best = -1.0
        nearest = hulls.face_first[mesh]
        for i in range(nearest, hulls.face_first[mesh + 1]):
            face = hulls.faces[i]
            along = u * face[0] + v * face[1] + w * face[2]
            if along > best:
                best = along
                nearest = i
        face = hulls.faces[nearest]
        u, v, w = face[0], face[1], face[2]
    return best, _out_of_frame(turn, u, v, w)
