"""Signed distance of a point from a geom of a simple shape, and the direction in which it grows."""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled

__all__ = ["BOX", "CAPSULE", "CYLINDER", "SHAPES", "SPHERE", "point_distance"]

# MuJoCo's mjtGeom.
SPHERE = 2
CAPSULE = 3
CYLINDER = 5
BOX = 6

SHAPES = (SPHERE, CAPSULE, CYLINDER, BOX)
"""Types of geoms whose distance is known."""


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
def point_distance(
    plant: Table, state: Table, geom: int, point: np.ndarray, local: np.ndarray, out: np.ndarray
) -> float:
    """Distance of a point from a geom, negative inside [m].

    Parameters
    ----------
    plant, state : Table
    geom : int
        Of one of `SHAPES`.
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
    elif kind == CYLINDER:
        distance = _cylinder(size, local, out)
    else:
        along = min(max(local[2], -size[1]), size[1]) if kind == CAPSULE else 0.0
        distance = _away(local[0], local[1], local[2] - along, out) - size[0]
    x, y, z = out[0], out[1], out[2]
    for a in range(3):
        out[a] = rotation[3 * a] * x + rotation[3 * a + 1] * y + rotation[3 * a + 2] * z
    return distance
