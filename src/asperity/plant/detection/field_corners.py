"""Contacts of height fields with the corners of what lies on them.

MuJoCo finds one contact with each prism of a field. What lies on fewer prisms than it has corners
to stand on rocks: a cylinder on a slope creeps down, and a box on coarse ground never comes to
rest. So faces and corners that meet get a contact for each corner, as on a plane:

- If all ground below a body is flat, its corners below the surface are all the contacts there are.
- Else a corner that is below a triangle counts if MuJoCo has a contact with the triangle's own
  normal. It replaces MuJoCo's contact with that triangle.

Corners of balls and capsules are their centres and ends, with a radius. Those of cylinders are four
points of the lower rim, beginning with the lowest, and the lowest of the other one, and that of
ellipsoids is their lowest point.
"""

from __future__ import annotations

import math

import mujoco
import numpy as np

from asperity.compiled import Table, compiled
from asperity.compiled.calls import load_double, load_int, store_int
from asperity.plant.detection.height_fields import is_flat, triangle_below
from asperity.plant.detection.hulls import hull_vertices

__all__ = [
    "DISTANCE",
    "EXCLUDED",
    "PARTS",
    "SLOPE_X",
    "SLOPE_Y",
    "X",
    "Y",
    "Z",
    "corners_of_geoms",
    "count_corners",
    "find_corner",
    "find_corners",
]

# Corners of which some are enough, and the directions in which those are the outermost.
_MANY = 8
_DIRECTIONS = 8
_CYLINDER = int(mujoco.mjtGeom.mjGEOM_CYLINDER)
_ELLIPSOID = int(mujoco.mjtGeom.mjGEOM_ELLIPSOID)
# Points of a cylinder.
_RIM = 5
# Distance of points, or of a point from a plane, that are the same [m].
_APART = 1e-5
# Cosine of the angle between a contact's normal and that of a triangle that it is of.
_OWN = 1.0 - 1e-6

EXCLUDED = 2
"""Mark of contacts that do not count, as MuJoCo's of bodies that are fused."""
X, Y, Z, DISTANCE, SLOPE_X, SLOPE_Y, TRIANGLE, PARTS = range(8)
"""Parts of a point: where it is in the field's axes, how far from its plane, the plane's slopes,
and its triangle; how many there are."""


def corners_of_geoms(model: mujoco.MjModel) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Corners of geoms that may lie on height fields.

    Returns
    -------
    first : array of int64, shape (ngeom + 1,)
        Number of each geom's first corner.
    corners : array, shape (n, 3)
        In the geom's frame [m].
    radius : array, shape (ngeom,)
        Of the balls around them [m].
    """
    none = np.empty((0, 3))
    radius = np.zeros(model.ngeom)
    kinds = mujoco.mjtGeom
    corners = [none] * model.ngeom
    if model.nhfield > 0:
        signs = np.array([[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)], float)
        for geom in range(model.ngeom):
            size = model.geom_size[geom]
            if model.geom_type[geom] == kinds.mjGEOM_BOX:
                corners[geom] = signs * size
            elif model.geom_type[geom] == kinds.mjGEOM_SPHERE:
                corners[geom] = np.zeros((1, 3))
                radius[geom] = size[0]
            elif model.geom_type[geom] == kinds.mjGEOM_CAPSULE:
                corners[geom] = np.array([[0.0, 0.0, -size[1]], [0.0, 0.0, size[1]]])
                radius[geom] = size[0]
            elif model.geom_type[geom] == kinds.mjGEOM_MESH:
                corners[geom] = hull_vertices(model, int(model.geom_dataid[geom]))
    first = np.cumsum([0, *(len(one) for one in corners)]).astype(np.int64)
    return first, np.concatenate([none, *corners]), radius


@compiled
def count_corners(plant: Table, geom: int) -> int:
    """How many corners a geom has."""
    kind = plant.geoms.kind[geom]
    if kind == _CYLINDER:
        return _RIM
    if kind == _ELLIPSOID:
        return 1
    return plant.geoms.corner_first[geom + 1] - plant.geoms.corner_first[geom]


@compiled
def _in_world(
    state: Table, geom: int, point: tuple[float, float, float]
) -> tuple[float, float, float]:
    """A point in a geom's axes, in those of the world."""
    place = state.mj_geom_xpos[geom]
    turn = state.mj_geom_xmat[geom]
    x, y, z = point
    return (
        place[0] + turn[0] * x + turn[1] * y + turn[2] * z,
        place[1] + turn[3] * x + turn[4] * y + turn[5] * z,
        place[2] + turn[6] * x + turn[7] * y + turn[8] * z,
    )


@compiled
def _rim_point(
    size: np.ndarray, number: int, down: tuple[float, float, float]
) -> tuple[float, float, float]:
    """One of a cylinder's points in its axes: four of its lower rim, and one of the other."""
    x, y, z = down
    out = math.hypot(x, y)
    x, y = (x / out, y / out) if out > 1e-12 else (1.0, 0.0)
    if number == 1:
        x, y = -y, x
    elif number == 2:
        x, y = y, -x
    elif number == 3:
        x, y = -x, -y
    height = size[1] if (z > 0.0) == (number < 4) else -size[1]
    return size[0] * x, size[0] * y, height


@compiled
def find_corner(
    plant: Table, state: Table, geom: int, number: int, down: tuple[float, float, float]
) -> tuple[float, float, float]:
    """One of a geom's corners; of a cylinder and an ellipsoid, by the direction into the ground."""
    kind = plant.geoms.kind[geom]
    if kind not in (_CYLINDER, _ELLIPSOID):
        corner = plant.geoms.corners[plant.geoms.corner_first[geom] + number]
        return _in_world(state, geom, (corner[0], corner[1], corner[2]))
    turn = state.mj_geom_xmat[geom]
    size = plant.geoms.size[geom]
    x = turn[0] * down[0] + turn[3] * down[1] + turn[6] * down[2]
    y = turn[1] * down[0] + turn[4] * down[1] + turn[7] * down[2]
    z = turn[2] * down[0] + turn[5] * down[1] + turn[8] * down[2]
    if kind == _CYLINDER:
        return _in_world(state, geom, _rim_point(size, number, (x, y, z)))
    reach = math.sqrt((size[0] * x) ** 2 + (size[1] * y) ** 2 + (size[2] * z) ** 2)
    scale = 1.0 / reach if reach > 0.0 else 0.0
    return _in_world(
        state, geom, (scale * size[0] ** 2 * x, scale * size[1] ** 2 * y, scale * size[2] ** 2 * z)
    )


@compiled
def _in_field(
    state: Table, field_geom: int, point: tuple[float, float, float]
) -> tuple[float, float, float]:
    """A point in world axes, in those of a field."""
    turn = state.mj_geom_xmat[field_geom]
    x = point[0] - state.mj_geom_xpos[field_geom, 0]
    y = point[1] - state.mj_geom_xpos[field_geom, 1]
    z = point[2] - state.mj_geom_xpos[field_geom, 2]
    return (
        turn[0] * x + turn[3] * y + turn[6] * z,
        turn[1] * x + turn[4] * y + turn[7] * z,
        turn[2] * x + turn[5] * y + turn[8] * z,
    )


@compiled
def _reach(state: Table, field_geom: int, geom: int, box: np.ndarray, axis: int) -> float:
    """How far a geom's box comes from its middle along an axis of a field."""
    turn = state.mj_geom_xmat[geom]
    reach = 0.0
    for side in range(3):
        along = 0.0
        for k in range(3):
            along += state.mj_geom_xmat[field_geom, 3 * k + axis] * turn[3 * k + side]
        reach += abs(along) * box[3 + side]
    return reach


@compiled
def _flat_below(
    plant: Table, state: Table, field_geom: int, geom: int
) -> tuple[bool, float, float, float]:
    """Whether all ground below a geom is flat, its height at the field's origin, and its slopes."""
    fields = plant.height_fields
    field = plant.geoms.height_field[field_geom]
    box = plant.geoms.box[geom]
    x, y, z = _in_field(state, field_geom, _in_world(state, geom, (box[0], box[1], box[2])))
    wide = fields.columns[field] - 1
    long = fields.rows[field] - 1
    size = fields.size[field]
    out_x = _reach(state, field_geom, geom, box, 0)
    out_y = _reach(state, field_geom, geom, box, 1)
    inside = max(abs(x) + out_x - size[0], abs(y) + out_y - size[1]) < 0.0
    # What comes out below the field's base is not on its ground.
    if not inside or z - _reach(state, field_geom, geom, box, 2) < -size[3]:
        return False, 0.0, 0.0, 0.0
    row = int(0.5 * ((y - out_y) / size[1] + 1.0) * long)
    column = int(0.5 * ((x - out_x) / size[0] + 1.0) * wide)
    last_row = min(int(0.5 * ((y + out_y) / size[1] + 1.0) * long), long - 1)
    last_column = min(int(0.5 * ((x + out_x) / size[0] + 1.0) * wide), wide - 1)
    flat, height, slope_x, slope_y = is_flat(plant, field, (row, column), (last_row, last_column))
    height -= slope_x * size[0] * (2.0 * column / wide - 1.0)
    height -= slope_y * size[1] * (2.0 * row / long - 1.0)
    return flat, height, slope_x, slope_y


@compiled
def _down(
    state: Table, field_geom: int, slope_x: float, slope_y: float
) -> tuple[float, float, float]:
    """Into the ground of a slope, in world axes."""
    turn = state.mj_geom_xmat[field_geom]
    return (
        slope_x * turn[0] + slope_y * turn[1] - turn[2],
        slope_x * turn[3] + slope_y * turn[4] - turn[5],
        slope_x * turn[6] + slope_y * turn[7] - turn[8],
    )


@compiled
def _set_point(
    out: np.ndarray,
    centre: tuple[float, float, float],
    radius: float,
    height: float,
    slopes: tuple[float, float],
    triangle: int,
) -> None:
    """Note the point of a corner's ball that is deepest below a plane of a height at its centre."""
    steepness = math.sqrt(1.0 + slopes[0] * slopes[0] + slopes[1] * slopes[1])
    out[X] = centre[0] + radius * slopes[0] / steepness
    out[Y] = centre[1] + radius * slopes[1] / steepness
    out[Z] = centre[2] - radius / steepness
    out[DISTANCE] = (centre[2] - height) / steepness - radius
    out[SLOPE_X], out[SLOPE_Y] = slopes
    out[TRIANGLE] = triangle


@compiled
def _outermost(points: np.ndarray, count: int) -> int:
    """Leave of many points of a plane the deepest one and the outermost ones; how many."""
    order = np.zeros(count, np.int64)
    deepest = 0
    for i in range(count):
        if points[i, DISTANCE] < points[deepest, DISTANCE]:
            deepest = i
    order[deepest] = 1
    for i in range(_DIRECTIONS):
        x = math.cos(2.0 * math.pi * i / _DIRECTIONS)
        y = math.sin(2.0 * math.pi * i / _DIRECTIONS)
        best = 0
        for j in range(count):
            ahead = x * (points[j, X] - points[best, X]) + y * (points[j, Y] - points[best, Y])
            if ahead > 0.0:
                best = j
        order[best] = 1
    kept = 0
    for i in range(count):
        if order[i] == 1:
            for part in range(points.shape[1]):
                points[kept, part] = points[i, part]
            kept += 1
    return kept


@compiled
def _corners_on_flat(
    plant: Table,
    state: Table,
    pair: tuple[int, int],
    plane: tuple[float, float, float],
    margin: float,
    points: np.ndarray,
) -> int:
    """Find the corners of a geom that are below flat ground; returns how many."""
    field_geom, geom = pair
    height, slope_x, slope_y = plane
    down = _down(state, field_geom, slope_x, slope_y)
    count = 0
    for number in range(count_corners(plant, geom)):
        centre = _in_field(state, field_geom, find_corner(plant, state, geom, number, down))
        below = height + slope_x * centre[0] + slope_y * centre[1]
        radius = plant.geoms.corner_radius[geom]
        _set_point(points[count], centre, radius, below, (slope_x, slope_y), -1)
        if points[count, DISTANCE] <= margin:
            count += 1
    return _outermost(points, count) if count > _MANY else count


@compiled
def _has_plane(
    plant: Table, state: Table, pair: tuple[int, int], address: int, point: np.ndarray
) -> bool:
    """Whether one of MuJoCo's contacts is of the plane that a corner is below."""
    frame = address + plant.offsets.contact_frame
    place = address + plant.offsets.contact_pos
    distance = load_double(address + plant.offsets.contact_dist)
    down = _down(state, pair[0], point[SLOPE_X], point[SLOPE_Y])
    steepness = math.sqrt(1.0 + point[SLOPE_X] ** 2 + point[SLOPE_Y] ** 2)
    normal = (
        load_double(frame),
        load_double(frame + 8),
        load_double(frame + 16),
    )
    along = -(normal[0] * down[0] + normal[1] * down[1] + normal[2] * down[2])
    if along < _OWN * steepness:
        return False
    x, y, z = _in_field(
        state,
        pair[0],
        (
            load_double(place) - 0.5 * distance * normal[0],
            load_double(place + 8) - 0.5 * distance * normal[1],
            load_double(place + 16) - 0.5 * distance * normal[2],
        ),
    )
    off = (z - point[Z]) - point[SLOPE_X] * (x - point[X]) - point[SLOPE_Y] * (y - point[Y])
    return abs(off / steepness + point[DISTANCE]) < _APART


@compiled
def _triangle_of(plant: Table, state: Table, field_geom: int, address: int) -> int:
    """The triangle that a contact's point lies below."""
    place = address + plant.offsets.contact_pos
    point = (load_double(place), load_double(place + 8), load_double(place + 16))
    x, y, _ = _in_field(state, field_geom, point)
    return triangle_below(plant, plant.geoms.height_field[field_geom], x, y)[0]


@compiled
def _is_known(points: np.ndarray, count: int) -> bool:
    """Whether a point is one of those before."""
    for i in range(count):
        if (
            abs(points[i, X] - points[count, X])
            + abs(points[i, Y] - points[count, Y])
            + abs(points[i, Z] - points[count, Z])
            < _APART
        ):
            return True
    return False


@compiled
def _touches(
    plant: Table, state: Table, pair: tuple[int, int], group: tuple[int, int], point: np.ndarray
) -> bool:
    """Whether any of MuJoCo's contacts is of the plane that a corner is below."""
    for i in range(group[1]):
        address = group[0] + i * plant.offsets.contact_size
        if _has_plane(plant, state, pair, address, point):
            return True
    return False


@compiled
def _corners_along(
    plant: Table,
    state: Table,
    pair: tuple[int, int],
    group: tuple[int, int],
    contact: int,
    margin: float,
    points: np.ndarray,
    count: int,
) -> int:
    """Append a geom's corners by the normal of a contact, or by the vertical for −1; how many."""
    field_geom, geom = pair
    field = plant.geoms.height_field[field_geom]
    radius = plant.geoms.corner_radius[geom]
    down = _down(state, field_geom, 0.0, 0.0)
    if contact >= 0:
        normal = group[0] + contact * plant.offsets.contact_size + plant.offsets.contact_frame
        down = (-load_double(normal), -load_double(normal + 8), -load_double(normal + 16))
    for number in range(count_corners(plant, geom)):
        if count == points.shape[0]:
            break
        centre = _in_field(state, field_geom, find_corner(plant, state, geom, number, down))
        triangle, height, slope_x, slope_y = triangle_below(plant, field, centre[0], centre[1])
        if triangle < 0:
            continue
        point = points[count]
        _set_point(point, centre, radius, height, (slope_x, slope_y), triangle)
        if point[DISTANCE] > margin or _is_known(points, count):
            continue
        # At a distance, MuJoCo may have contacts with other triangles only: fifty at most.
        if point[DISTANCE] <= 0.0 and not _touches(plant, state, pair, group, point):
            continue
        if radius == 0.0 or triangle_below(plant, field, point[X], point[Y])[0] == triangle:
            count += 1
    return count


@compiled
def _corners_on_rough(
    plant: Table,
    state: Table,
    pair: tuple[int, int],
    group: tuple[int, int],
    margin: float,
    points: np.ndarray,
) -> int:
    """Find the corners of a geom below triangles that it touches; returns how many.

    ``group`` is the address of the pair's first contact, and how many there are. Those that a
    corner replaces are marked.
    """
    size = plant.offsets.contact_size
    count = _corners_along(plant, state, pair, group, -1, margin, points, 0)
    if plant.geoms.kind[pair[1]] in (_CYLINDER, _ELLIPSOID):
        for i in range(group[1]):
            if load_int(group[0] + i * size + plant.offsets.contact_exclude) != EXCLUDED:
                count = _corners_along(plant, state, pair, group, i, margin, points, count)
    for i in range(group[1]):
        address = group[0] + i * size
        triangle = _triangle_of(plant, state, pair[0], address)
        for j in range(count):
            if points[j, TRIANGLE] == triangle and _has_plane(
                plant, state, pair, address, points[j]
            ):
                store_int(address + plant.offsets.contact_exclude, EXCLUDED)
    return count


@compiled
def find_corners(
    plant: Table, state: Table, pair: tuple[int, int], group: tuple[int, int], points: np.ndarray
) -> int:
    """Find a pair's contacts with corners, and mark those that they replace; how many there are."""
    offsets = plant.offsets
    margin = max(load_double(group[0] + offsets.contact_margin), 0.0)
    flat, height, slope_x, slope_y = _flat_below(plant, state, *pair)
    if not flat:
        return _corners_on_rough(plant, state, pair, group, margin, points)
    plane = (height, slope_x, slope_y)
    count = _corners_on_flat(plant, state, pair, plane, margin, points)
    for i in range(group[1]):
        address = group[0] + i * offsets.contact_size
        if count > 0 or load_double(address + offsets.contact_dist) <= 0.0:
            store_int(address + offsets.contact_exclude, EXCLUDED)
    return count
