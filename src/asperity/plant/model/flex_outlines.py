"""Corners, edges and sides of geoms that flexes may touch, in the frames of the geoms."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np

from asperity.compiled import Table
from asperity.plant.detection.geom_distance import SHAPES
from asperity.plant.detection.geom_types import BOX, CYLINDER, HEIGHT_FIELD, MESH, SPHERE
from asperity.plant.detection.hulls import hull_triangles
from asperity.plant.model.joints import integers

__all__ = ["has_outline", "set_outlines"]

# Points of a cylinder's rim that touch faces on which it stands.
_RIM = 6
# Sine of the angle between faces of a hull up to which there is no edge between them.
_FLAT = 1e-4

_SIGNS = np.array([[x, y, z] for z in (-1.0, 1.0) for y in (-1.0, 1.0) for x in (-1.0, 1.0)])
_AXES = np.array([[s if a == b else 0.0 for b in range(3)] for a in range(3) for s in (1.0, -1.0)])


class _Outline(NamedTuple):
    """What a geom has.

    Attributes
    ----------
    corner : numpy.ndarray
        Corners of boxes and hulls, centres of balls, ends of axes and points of rims, shape (n, 3)
        [m]. Height fields have none, and no edges.
    edge : numpy.ndarray
        Middle, direction, half length, and along both faces beside it the directions away from it,
        zero of axes, shape (m, 13).
    side : numpy.ndarray
        Outward normals of sides of its box, or of its hull, and their distances from the origin,
        shape (k, 4).
    """

    corner: np.ndarray
    edge: np.ndarray
    side: np.ndarray


def has_outline(model: mujoco.MjModel) -> np.ndarray:
    """Whether geoms are of shapes that flexes can touch by their outlines, shape (ngeom,)."""
    hulls = np.zeros(model.ngeom, bool)
    meshes = np.flatnonzero(model.geom_type == MESH)
    hulls[meshes] = model.mesh_graphadr[model.geom_dataid[meshes]] >= 0
    return np.isin(model.geom_type, SHAPES) | hulls


def _edges_of_box(size: np.ndarray) -> np.ndarray:
    edges = []
    for axis in range(3):
        u, v = np.eye(3)[[(axis + 1) % 3, (axis + 2) % 3]]
        for p in (-1.0, 1.0):
            for q in (-1.0, 1.0):
                middle = size * (p * u + q * v)
                edges.append([*middle, *np.eye(3)[axis], size[axis], *(-q * v), *(-p * u)])
    return np.array(edges)


def _hull(model: mujoco.MjModel, mesh: int) -> _Outline:
    """Of a mesh's hull."""
    corners, normal = hull_triangles(model, mesh)
    points, number = np.unique(corners.reshape(-1, 3), axis=0, return_inverse=True)
    start = number.ravel()
    end = np.roll(start.reshape(-1, 3), -1, axis=1).ravel()
    # Both faces beside an edge have it, one each way.
    ends = np.sort(np.column_stack([start, end]), axis=1)
    _, one, where = np.unique(ends, axis=0, return_index=True, return_inverse=True)
    other = np.empty_like(one)
    other[where.ravel()] = np.arange(len(ends))
    a, b = normal[one // 3], normal[other // 3]
    bend = np.linalg.norm(np.cross(a, b), axis=1)
    bent = (bend > _FLAT) | (np.sum(a * b, axis=1) < 0.0)
    one, a, b = one[bent], a[bent], b[bent]
    along = points[end[one]] - points[start[one]]
    size = np.linalg.norm(along, axis=1, keepdims=True)
    along /= size
    middle = 0.5 * (points[start[one]] + points[end[one]])
    edges = np.hstack([middle, along, 0.5 * size, np.cross(a, along), np.cross(along, b)])
    sides = np.column_stack([normal, np.sum(normal * corners[:, 0], axis=1)])
    # The first sides, which are asked first, are to be on all sides.
    sides = np.random.default_rng(0).permutation(np.unique(sides, axis=0))
    return _Outline(points, edges, sides)


def _outline(model: mujoco.MjModel, geom: int) -> _Outline:
    kind, size = model.geom_type[geom], model.geom_size[geom]
    if kind == MESH:
        return _hull(model, int(model.geom_dataid[geom]))
    middle, half = model.geom_aabb[geom].reshape(2, 3)
    sides = np.column_stack([_AXES, _AXES @ middle + np.repeat(half, 2)])
    if kind == BOX:
        return _Outline(_SIGNS * size, _edges_of_box(size), sides)
    if kind == SPHERE:
        return _Outline(np.zeros((1, 3)), np.zeros((0, 13)), sides)
    if kind == HEIGHT_FIELD:
        return _Outline(np.zeros((0, 3)), np.zeros((0, 13)), sides)
    corners = [[0.0, 0.0, -size[1]], [0.0, 0.0, size[1]]]
    axis = np.array([[*[0.0] * 5, 1.0, size[1], *[0.0] * 6]])
    if kind == CYLINDER:
        for angle in 2.0 * np.pi / _RIM * np.arange(_RIM):
            x, y = size[0] * np.cos(angle), size[0] * np.sin(angle)
            corners += [[x, y, -size[1]], [x, y, size[1]]]
    return _Outline(np.array(corners), axis, sides)


def set_outlines(elastic: Table, model: mujoco.MjModel, geoms: np.ndarray) -> None:
    """Fill the shapes of all geoms, and the outlines of some."""
    known = np.isin(np.arange(model.ngeom), geoms)
    shape = np.where(np.isin(model.geom_type, SHAPES) | known, model.geom_type, -1)
    elastic.geom_shape = integers(shape)
    nothing = _Outline(np.zeros((0, 3)), np.zeros((0, 13)), np.zeros((0, 4)))
    outlines = [_outline(model, geom) if known[geom] else nothing for geom in range(model.ngeom)]
    for field in _Outline._fields:
        parts = [getattr(nothing, field), *(getattr(one, field) for one in outlines)]
        setattr(elastic, f"geom_{field}_first", np.cumsum([0, *map(len, parts[1:])]))
        setattr(elastic, f"geom_{field}", np.concatenate(parts).astype(np.float64))
