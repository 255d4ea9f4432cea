"""The ground of height fields, and what their contacts with it should be.

MuJoCo divides each cell of a field into two triangles, and lets what lies on the field touch the
prism beneath each triangle by itself, in one point. On flat ground a body that slides from one
prism to the next meets the next one's edge, whose normal leans, or its side, which stops the body.
So where the ground is flat, a round body's contacts with other normals than the ground's do not
count: one with that normal is always there. Boxes and hulls may have none, when they are tilted by
little. Their contacts get the ground's normal, and their overlap is how deep the body's point lies.
At a corner of a prism the normal may also lean along the edge of a ditch, and would stop what
glides along it. Where the ground is level in one direction, contacts have normals between those of
the triangles around them. Contacts of rougher ground stay as they are: there any normal may be that
of a peak or of a body's face.
"""

from __future__ import annotations

import math

from asperity.compiled import Table, compiled
from asperity.compiled.calls import load_double, load_single
from asperity.plant.detection.geom_types import ROUND
from asperity.plant.detection.mujoco_contacts import place_contact

__all__ = ["is_flat", "level_contact", "triangle_below", "write_contact"]

# Overlap up to which contacts are looked at, over a cell's size.
_SHALLOW = 0.3
# Difference of slopes that is none: heights have single precision.
_SAME = 1e-5
# Upward part of a normal from which it may be the ground's, and not that of a prism's side.
_UPRIGHT = 1e-3
# Cosine of the angle from which a normal leans: a tenth of a degree.
_LEVEL = 1.0 - 1.5e-6


@compiled
def _height(plant: Table, field: int, row: int, column: int) -> float:
    fields = plant.height_fields
    at = fields.data[field] + 4 * (row * fields.columns[field] + column)
    return fields.size[field, 2] * load_single(at)


@compiled
def triangle_below(plant: Table, field: int, x: float, y: float) -> tuple[int, float, float, float]:
    """The triangle above or below a point, in the field's axes.

    Returns its number, −1 beside the field, the height of its plane at the point, and its slopes.
    """
    fields = plant.height_fields
    wide = fields.columns[field] - 1
    long = fields.rows[field] - 1
    size = fields.size[field]
    u = 0.5 * (x / size[0] + 1.0) * wide
    v = 0.5 * (y / size[1] + 1.0) * long
    if not (0.0 <= u < wide and 0.0 <= v < long):
        return -1, 0.0, 0.0, 0.0
    column = int(u)
    row = int(v)
    u -= column
    v -= row
    low = _height(plant, field, row, column)
    high = _height(plant, field, row + 1, column + 1)
    # MuJoCo's diagonal goes from the cell's first corner to its last one.
    upper = 1 if v > u else 0
    if upper == 1:
        middle = _height(plant, field, row + 1, column)
        along, across = high - middle, middle - low
    else:
        middle = _height(plant, field, row, column + 1)
        along, across = middle - low, high - middle
    height = low + u * along + v * across
    number = 2 * (row * wide + column) + upper
    return number, height, 0.5 * along * wide / size[0], 0.5 * across * long / size[1]


@compiled
def is_flat(
    plant: Table, field: int, first: tuple[int, int], last: tuple[int, int]
) -> tuple[bool, float, float, float]:
    """Whether cells from a first to a last (row, column) are in a plane.

    Also the height of the first one's first corner, and the slopes along x and y.
    """
    fields = plant.height_fields
    size = fields.size[field]
    row, column = first
    dx = 2.0 * size[0] / (fields.columns[field] - 1)
    dy = 2.0 * size[1] / (fields.rows[field] - 1)
    height = _height(plant, field, row, column)
    slope_x = (_height(plant, field, row, column + 1) - height) / dx
    slope_y = (_height(plant, field, row + 1, column) - height) / dy
    for i in range(last[0] - row + 2):
        for j in range(last[1] - column + 2):
            level = height + j * dx * slope_x + i * dy * slope_y
            off = _height(plant, field, row + i, column + j) - level
            if abs(off) > _SAME * min(dx, dy):
                return False, height, slope_x, slope_y
    return True, height, slope_x, slope_y


@compiled
def _slope_of_ridge(
    plant: Table, field: int, cell: tuple[int, int], x: float, y: float
) -> tuple[bool, float, float]:
    """The nearest slope to (x, y) between those around a cell (row, column), if they are in a line.

    These are the slopes of the triangles of the cell and of the eight beside it. They are in a line
    if the ground is level in one direction; the first result is False if it is level in none.
    """
    fields = plant.height_fields
    dx = 2.0 * fields.size[field, 0] / (fields.columns[field] - 1)
    dy = 2.0 * fields.size[field, 1] / (fields.rows[field] - 1)
    first_x = first_y = math.nan
    # From the first slope to the others, and how far they are along that direction.
    way_x = way_y = least = most = 0.0
    for row in range(max(cell[0] - 1, 0), min(cell[0] + 2, fields.rows[field] - 1)):
        for column in range(max(cell[1] - 1, 0), min(cell[1] + 2, fields.columns[field] - 1)):
            low = _height(plant, field, row, column)
            high = _height(plant, field, row + 1, column + 1)
            for upper in range(2):
                if upper == 1:
                    middle = _height(plant, field, row + 1, column)
                    along, across = (high - middle) / dx, (middle - low) / dy
                else:
                    middle = _height(plant, field, row, column + 1)
                    along, across = (middle - low) / dx, (high - middle) / dy
                if math.isnan(first_x):
                    first_x, first_y = along, across
                along -= first_x
                across -= first_y
                far = math.hypot(along, across)
                if way_x == 0.0 and way_y == 0.0 and far > _SAME:
                    way_x, way_y = along / far, across / far
                if abs(along * way_y - across * way_x) > _SAME:
                    return False, x, y
                least = min(least, along * way_x + across * way_y)
                most = max(most, along * way_x + across * way_y)
    way = min(max((x - first_x) * way_x + (y - first_y) * way_y, least), most)
    return True, first_x + way * way_x, first_y + way * way_y


@compiled
def _turn_to_ridge(
    plant: Table,
    state: Table,
    geom: int,
    address: int,
    cell: tuple[int, int],
    point: tuple[float, float, float],
) -> None:
    """Give a contact a normal that ground around a cell (row, column) has, if it is like a ridge.

    ``point`` is the body's point, in the field's axes.
    """
    frame = address + plant.offsets.contact_frame
    turn = state.mj_geom_xmat[geom]
    x = y = z = 0.0
    for k in range(3):
        normal = load_double(frame + 8 * k)
        x += turn[3 * k] * normal
        y += turn[3 * k + 1] * normal
        z += turn[3 * k + 2] * normal
    field = plant.geoms.height_field[geom]
    found, along, across = _slope_of_ridge(plant, field, cell, -x / z, -y / z)
    cosine = (z - along * x - across * y) / math.sqrt(1.0 + along * along + across * across)
    if found and cosine < _LEVEL:
        distance = cosine * load_double(address + plant.offsets.contact_dist)
        write_contact(plant, state, geom, address, point, distance, (along, across))


@compiled
def level_contact(plant: Table, state: Table, geom: int, other: int, address: int) -> bool:
    """Give a contact of a height field a normal that flat ground, or a ridge, has.

    Returns False if it does not count: its point does not lie in the ground, or the other geom is
    round.
    """
    fields = plant.height_fields
    field = plant.geoms.height_field[geom]
    size = fields.size[field]
    wide = fields.columns[field] - 1
    long = fields.rows[field] - 1
    cell = 2.0 * min(size[0] / wide, size[1] / long)
    distance = load_double(address + plant.offsets.contact_dist)
    if not -_SHALLOW * cell < distance <= 0.0:
        return True
    point = address + plant.offsets.contact_pos
    frame = address + plant.offsets.contact_frame
    turn = state.mj_geom_xmat[geom]
    # The body's point: the contact's is midway through the overlap.
    x = y = z = 0.0
    for k in range(3):
        own = load_double(point + 8 * k) + 0.5 * distance * load_double(frame + 8 * k)
        own -= state.mj_geom_xpos[geom, k]
        x += turn[3 * k] * own
        y += turn[3 * k + 1] * own
        z += turn[3 * k + 2] * own
    u = 0.5 * (x / size[0] + 1.0) * wide
    v = 0.5 * (y / size[1] + 1.0) * long
    # The field's own sides have other normals.
    if not (_SHALLOW < u < wide - _SHALLOW and _SHALLOW < v < long - _SHALLOW):
        return True
    up = 0.0
    for k in range(3):
        up += turn[3 * k + 2] * load_double(frame + 8 * k)
    if up < _UPRIGHT:
        return False
    row = int(v)
    column = int(u)
    flat, _, slope_x, slope_y = is_flat(
        plant,
        field,
        (max(row - 1, 0), max(column - 1, 0)),
        (min(row + 1, long - 1), min(column + 1, wide - 1)),
    )
    if not flat:
        _turn_to_ridge(plant, state, geom, address, (row, column), (x, y, z))
        return True
    _, height, slope_x, slope_y = triangle_below(plant, field, x, y)
    steepness = math.sqrt(1.0 + slope_x * slope_x + slope_y * slope_y)
    distance = (z - height) / steepness
    # What is deeper is in the field's base or beneath it.
    if distance < -_SHALLOW * cell:
        return True
    if distance > 0.0:
        return False
    if plant.geoms.kind[other] in ROUND:
        cosine = 0.0
        for k in range(3):
            up = turn[3 * k + 2] - slope_x * turn[3 * k] - slope_y * turn[3 * k + 1]
            cosine += up / steepness * load_double(frame + 8 * k)
        return cosine > _LEVEL
    write_contact(plant, state, geom, address, (x, y, z), distance, (slope_x, slope_y))
    return True


@compiled
def write_contact(
    plant: Table,
    state: Table,
    geom: int,
    address: int,
    point: tuple[float, float, float],
    distance: float,
    slopes: tuple[float, float],
) -> None:
    """Make one of a field's contacts that of a body's point, in the field's axes, and a plane."""
    turn = state.mj_geom_xmat[geom]
    steepness = math.sqrt(1.0 + slopes[0] * slopes[0] + slopes[1] * slopes[1])
    x = (turn[2] - slopes[0] * turn[0] - slopes[1] * turn[1]) / steepness
    y = (turn[5] - slopes[0] * turn[3] - slopes[1] * turn[4]) / steepness
    z = (turn[8] - slopes[0] * turn[6] - slopes[1] * turn[7]) / steepness
    place = state.mj_geom_xpos[geom]
    half = -0.5 * distance
    u = place[0] + turn[0] * point[0] + turn[1] * point[1] + turn[2] * point[2] + half * x
    v = place[1] + turn[3] * point[0] + turn[4] * point[1] + turn[5] * point[2] + half * y
    w = place[2] + turn[6] * point[0] + turn[7] * point[1] + turn[8] * point[2] + half * z
    place_contact(plant, address, (u, v, w), (x, y, z), distance)
