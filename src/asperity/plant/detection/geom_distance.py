"""Signed distance of a point from a geom, and the direction in which it grows."""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.plant.detection.geom_types import BOX, CAPSULE, CYLINDER, HEIGHT_FIELD, MESH, SPHERE
from asperity.plant.detection.height_fields import triangle_below

__all__ = ["SHAPES", "point_distance"]

SHAPES = (HEIGHT_FIELD, SPHERE, CAPSULE, CYLINDER, BOX)
"""Types of geoms whose distance is known, besides hulls with outlines."""

# Over a hull's half diagonal, how far before a side a point is on another one: vertices have single
# precision.
_ON_SIDE = 1e-6


@compiled
def _away(x: float, y: float, z: float, out: np.ndarray) -> float:
    """Fill the direction of a vector, along z if it has none; returns its length."""
    length = np.sqrt(x * x + y * y + z * z)
    if length > 0.0:
        out[0] = x / length
        out[1] = y / length
        out[2] = z / length
    else:
        out[0] = 0.0
        out[1] = 0.0
        out[2] = 1.0
    return length


@compiled
def _box(size: np.ndarray, local: np.ndarray, out: np.ndarray) -> float:
    nearest = 0
    excess = local[3:6]
    outside = False
    for a in range(3):
        beyond = abs(local[a]) - size[a]
        excess[a] = beyond
        outside = outside or beyond > 0.0
        if beyond > excess[nearest]:
            nearest = a
    if outside:
        for a in range(3):
            excess[a] = max(excess[a], 0.0) * (1.0 if local[a] > 0.0 else -1.0)
        return _away(excess[0], excess[1], excess[2], out)
    for a in range(3):
        out[a] = 0.0
    out[nearest] = 1.0 if local[nearest] > 0.0 else -1.0
    return excess[nearest]


@compiled
def _cylinder(size: np.ndarray, local: np.ndarray, out: np.ndarray) -> float:
    radial = np.sqrt(local[0] * local[0] + local[1] * local[1])
    side = radial - size[0]
    end = abs(local[2]) - size[1]
    up = 1.0 if local[2] > 0.0 else -1.0
    scale = 1.0 / radial if radial > 0.0 else 0.0
    if side > 0.0 and end > 0.0:
        reach = side * scale
        return _away(reach * local[0], reach * local[1], up * end, out)
    if side > end:
        _away(local[0], local[1], 0.0, out)
        return side
    out[0] = 0.0
    out[1] = 0.0
    out[2] = up
    return end


@compiled
def _hull(plant: Table, geom: int, local: np.ndarray, out: np.ndarray) -> float:
    """Of the hull of a mesh: before its edges the nearest of them counts, elsewhere a side."""
    elastic = plant.elastic
    first, last = elastic.geom_side_first[geom], elastic.geom_side_first[geom + 1]
    distance = -np.inf
    nearest = first
    for i in range(first, last):
        side = elastic.geom_side[i]
        height = side[0] * local[0] + side[1] * local[1] + side[2] * local[2] - side[3]
        if height > distance:
            distance = height
            nearest = i
    side = elastic.geom_side[nearest]
    for a in range(3):
        out[a] = side[a]
    if distance <= 0.0:
        return distance
    box = plant.geoms.box[geom]
    gap = _ON_SIDE * np.sqrt(box[3] * box[3] + box[4] * box[4] + box[5] * box[5])
    x = local[0] - distance * out[0]
    y = local[1] - distance * out[1]
    z = local[2] - distance * out[2]
    covered = True
    for i in range(first, last):
        side = elastic.geom_side[i]
        covered = covered and side[0] * x + side[1] * y + side[2] * z <= side[3] + gap
    if covered:
        return distance
    square = np.inf
    for i in range(elastic.geom_edge_first[geom], elastic.geom_edge_first[geom + 1]):
        edge = elastic.geom_edge[i]
        along = 0.0
        for a in range(3):
            along += edge[3 + a] * (local[a] - edge[a])
        along = min(max(along, -edge[6]), edge[6])
        x = local[0] - edge[0] - along * edge[3]
        y = local[1] - edge[1] - along * edge[4]
        z = local[2] - edge[2] - along * edge[5]
        if x * x + y * y + z * z < square:
            square = x * x + y * y + z * z
            out[0], out[1], out[2] = x, y, z
    return _away(out[0], out[1], out[2], out)


@compiled
def _ground(plant: Table, geom: int, local: np.ndarray, out: np.ndarray) -> float:
    """Of the plane of the triangle above or below; infinite beside a height field."""
    field = plant.geoms.height_field[geom]
    number, height, slope_x, slope_y = triangle_below(plant, field, local[0], local[1])
    steepness = _away(-slope_x, -slope_y, 1.0, out)
    return np.inf if number < 0 else (local[2] - height) / steepness


@compiled
def point_distance(
    plant: Table, state: Table, geom: int, point: np.ndarray, local: np.ndarray, out: np.ndarray
) -> float:
    """Distance of a point from a geom, negative inside [m].

    Parameters
    ----------
    plant, state : Table
    geom : int
        Of one of `SHAPES`, or a mesh with an outline (`asperity.plant.model.flex_outlines`).
    point : array, shape (3,)
        In world axes, as all of this [m].
    local : array, shape (6,)
        Scratch.
    out : array, shape (3,)
        The direction in which the distance grows.
    """
    rotation = state.mj_geom_xmat[geom]
    size = plant.geoms.size[geom]
    kind = plant.elastic.geom_shape[geom]
    for a in range(3):
        local[a] = 0.0
        for k in range(3):
            local[a] += rotation[3 * k + a] * (point[k] - state.mj_geom_xpos[geom, k])
    if kind == BOX:
        distance = _box(size, local, out)
    elif kind == MESH:
        distance = _hull(plant, geom, local, out)
    elif kind == HEIGHT_FIELD:
        distance = _ground(plant, geom, local, out)
    elif kind == CYLINDER:
        distance = _cylinder(size, local, out)
    else:
        along = min(max(local[2], -size[1]), size[1]) if kind == CAPSULE else 0.0
        distance = _away(local[0], local[1], local[2] - along, out) - size[0]
    x, y, z = out[0], out[1], out[2]
    for a in range(3):
        out[a] = rotation[3 * a] * x + rotation[3 * a + 1] * y + rotation[3 * a + 2] * z
    return distance
