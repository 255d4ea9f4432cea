"""Contacts on flat parts of height fields get the normal of the ground.

MuJoCo lets what lies on a height field touch every prism beneath it by itself. On flat ground a
body that slides from one prism to the next meets the next one's edge, whose normal leans, or its
side, which stops the body. So where the ground is flat, a round body's contacts with other normals
than the ground's do not count: one with that normal is always there. Boxes and hulls may have none,
when they are tilted by little. Their contacts get the ground's normal, and their overlap is how
deep the body's point lies. Contacts of rough ground stay as they are: there any normal may
be that of a peak or of a body's face.
"""

from __future__ import annotations

import math

from asperity.compiled import Table, compiled
from asperity.compiled.calls import load_double, load_single, store_double

__all__ = ["level_contact"]

# Overlap up to which contacts are looked at, over a cell's size.
_SHALLOW = 0.3
# Difference of slopes that is none: heights have single precision.
_SAME = 1e-5
# Cosine of the angle from which a normal leans: a tenth of a degree.
_LEVEL = 1.0 - 1.5e-6


@compiled
def _flat_ground(
    plant: Table, field: int, row: int, column: int
) -> tuple[bool, float, float, float]:
    """Whether cells around one are in a plane, its slopes along x and y, and a corner's height."""
    fields = plant.height_fields
    size = fields.size[field]
    columns = fields.columns[field]
    dx = 2.0 * size[0] / (columns - 1)
    dy = 2.0 * size[1] / (fields.rows[field] - 1)
    corner = fields.data[field] + 4 * (row * columns + column)
    height = size[2] * load_single(corner)
    slope_x = (size[2] * load_single(corner + 4) - height) / dx
    slope_y = (size[2] * load_single(corner + 4 * columns) - height) / dy
    for i in range(max(-1, -row), min(3, fields.rows[field] - row)):
        for j in range(max(-1, -column), min(3, columns - column)):
            level = height + j * dx * slope_x + i * dy * slope_y
            off = size[2] * load_single(corner + 4 * (i * columns + j)) - level
            if abs(off) > _SAME * min(dx, dy):
                return False, slope_x, slope_y, height
    return True, slope_x, slope_y, height


@compiled
def level_contact(
    plant: Table, state: Table, geom: int, other: int, address: int, side: float
) -> bool:
    """Give a contact of a height field with a box or a hull the normal of flat ground.

    ``side`` is 1 if the normal points away from the field, and -1 if it points to it. Returns False
    if it does not count: its point does not lie in the ground, or the other geom is round.
    """
    fields = plant.height_fields
    field = plant.geoms.height_field[geom]
    size = fields.size[field]
    wide = fields.columns[field] - 1
    long = fields.rows[field] - 1
    cell = 2.0 * min(size[0] / wide, size[1] / long)
    at_distance = address + plant.offsets.contact_dist
    distance = load_double(at_distance)
    if not -_SHALLOW * cell < distance <= 0.0:
        return True
    point = address + plant.offsets.contact_pos
    frame = address + plant.offsets.contact_frame
    turn = state.mj_geom_xmat[geom]
    # The body's point: the contact's is midway through the overlap.
    x = y = z = 0.0
    for k in range(3):
        own = load_double(point + 8 * k) + 0.5 * side * distance * load_double(frame + 8 * k)
        own -= state.mj_geom_xpos[geom, k]
        x += turn[3 * k] * own
        y += turn[3 * k + 1] * own
        z += turn[3 * k + 2] * own
    u = 0.5 * (x / size[0] + 1.0) * wide
    v = 0.5 * (y / size[1] + 1.0) * long
    # The field's own sides have other normals.
    if not (_SHALLOW < u < wide - _SHALLOW and _SHALLOW < v < long - _SHALLOW):
        return True
    row = int(v)
    column = int(u)
    flat, slope_x, slope_y, height = _flat_ground(plant, field, row, column)
    if not flat:
        return True
    steepness = math.sqrt(1.0 + slope_x * slope_x + slope_y * slope_y)
    height += (u - column) * 2.0 * size[0] / wide * slope_x
    height += (v - row) * 2.0 * size[1] / long * slope_y
    distance = (z - height) / steepness
    # What is deeper is in the field's base or beneath it.
    if distance < -_SHALLOW * cell:
        return True
    if distance > 0.0:
        return False
    cosine = 0.0
    normal = (0.0, 0.0, 0.0)
    for k in range(3):
        up = turn[3 * k + 2] - slope_x * turn[3 * k] - slope_y * turn[3 * k + 1]
        up *= side / steepness
        cosine += up * load_double(frame + 8 * k)
        normal = (normal[1], normal[2], up)
    if plant.geoms.has_corners[other] == 0:
        return cosine > _LEVEL
    _turn_to(frame, normal)
    for k in range(3):
        own = turn[3 * k] * x + turn[3 * k + 1] * y + turn[3 * k + 2] * z
        own += state.mj_geom_xpos[geom, k]
        store_double(point + 8 * k, own - 0.5 * side * distance * load_double(frame + 8 * k))
    store_double(at_distance, distance)
    return True


@compiled
def _turn_to(frame: int, normal: tuple[float, float, float]) -> None:
    """Give a contact's frame a normal; a tangent that is not along it turns as little as it can."""
    along = 0.0
    other = 0.0
    for k in range(3):
        store_double(frame + 8 * k, normal[k])
        along += normal[k] * load_double(frame + 24 + 8 * k)
        other += normal[k] * load_double(frame + 48 + 8 * k)
    tangent = frame + 24
    if abs(other) < abs(along):
        tangent = frame + 48
        along = other
    square = 0.0
    for k in range(3):
        value = load_double(tangent + 8 * k) - along * normal[k]
        store_double(frame + 24 + 8 * k, value)
        square += value * value
    for k in range(3):
        store_double(frame + 24 + 8 * k, load_double(frame + 24 + 8 * k) / math.sqrt(square))
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        across = normal[i] * load_double(frame + 24 + 8 * j)
        across -= normal[j] * load_double(frame + 24 + 8 * i)
        store_double(frame + 48 + 8 * k, across)
