"""Contacts of cylinders that stand on a flat face.

MuJoCo takes the end of a cylinder for a polygon, and keeps four of its corners. With a load beside
the axis these are others in every step, so that a mug on a table rocks for ever. If it leans by
more than a degree there is one contact, however deep it is, and in long steps a coin that wobbles
sinks into its table. On a face that lies below the whole end, points of the rims replace them, as
on flat ground: the lowest one, which turns with the tilt, those to its sides, the one opposite, and
the lowest one of the other rim.
"""

from __future__ import annotations

import math

from asperity.compiled import Table, compiled
from asperity.compiled.calls import load_address, load_double, load_int, store_int
from asperity.plant.detection.field_corners import EXCLUDED, find_corner
from asperity.plant.detection.geom_types import CYLINDER
from asperity.plant.detection.hulls import covers, nearest_face, reach
from asperity.plant.detection.mujoco_contacts import insert_copy, place_contact
from asperity.plant.rotations import Vector

__all__ = ["stand_on_rim"]

# Points of the rims, and how many there are around an end that a face must lie below.
_POINTS = 5
_AROUND = 8
# Cosines of the angles of a face's normal to a contact's, and to the axis of what stands on it.
# What leans more lies on its side.
_UPRIGHT = 0.9999
_STANDS = 0.7
# MuJoCo's mark of a contact at a distance that is not below its margin.
_IN_GAP = 1


@compiled
def _lies_below(
    plant: Table, state: Table, face_geom: int, geom: int, normal: Vector, height: float
) -> bool:
    """Whether a face of a geom lies below the whole end of a cylinder."""
    x, y, z = normal
    down = (-x, -y, -z)
    place = find_corner(plant, state, geom, 0, down)
    other = find_corner(plant, state, geom, 3, down)
    side = find_corner(plant, state, geom, 1, down)
    middle = (
        0.5 * (place[0] + other[0]),
        0.5 * (place[1] + other[1]),
        0.5 * (place[2] + other[2]),
    )
    for i in range(_AROUND):
        c = math.cos(2.0 * math.pi * i / _AROUND)
        s = math.sin(2.0 * math.pi * i / _AROUND)
        u = middle[0] + c * (place[0] - middle[0]) + s * (side[0] - middle[0])
        v = middle[1] + c * (place[1] - middle[1]) + s * (side[1] - middle[1])
        w = middle[2] + c * (place[2] - middle[2]) + s * (side[2] - middle[2])
        above = u * x + v * y + w * z - height
        if not covers(
            plant,
            state,
            face_geom,
            plant.hulls.tolerance,
            u - above * x,
            v - above * y,
            w - above * z,
        ):
            return False
    return True


@compiled
def stand_on_rim(plant: Table, state: Table, data: int, begin: int, count: int) -> int:
    """Let a cylinder stand on its rim; returns how many contacts are inserted, −1 if it does not.

    Parameters
    ----------
    plant, state : Table
    data : int
        Address of the ``MjData`` with the contacts.
    begin, count : int
        Those of one pair of geoms, of which one is a cylinder, and the other a box or a mesh. Those
        with wrong normals are excluded.
    """
    offsets = plant.offsets
    size = offsets.contact_size
    first = load_address(data + offsets.contact_offset) + begin * size
    face_geom = load_int(first + offsets.contact_geom)
    geom = load_int(first + offsets.contact_geom + 4)
    sign = 1.0
    if plant.geoms.kind[geom] != CYLINDER:
        face_geom, geom = geom, face_geom
        sign = -1.0
    mesh = plant.hulls.mesh[face_geom]
    if mesh >= 0 and plant.hulls.face_first[mesh] == plant.hulls.face_first[mesh + 1]:
        return -1
    right = 0
    while load_int(first + right * size + offsets.contact_exclude) == EXCLUDED:
        right += 1
        if right == count:
            return -1
    frame = first + right * size + offsets.contact_frame
    turn = state.mj_geom_xmat[geom]
    upright, normal = nearest_face(
        plant,
        state,
        face_geom,
        sign * load_double(frame),
        sign * load_double(frame + 8),
        sign * load_double(frame + 16),
    )
    x, y, z = normal
    if upright < _UPRIGHT or abs(x * turn[2] + y * turn[5] + z * turn[8]) < _STANDS:
        return -1
    height = reach(plant, state, face_geom, x, y, z)
    if not _lies_below(plant, state, face_geom, geom, normal, height):
        return -1
    margin = max(load_double(first + offsets.contact_margin), 0.0)
    inserted = 0
    written = 0
    for number in range(_POINTS):
        u, v, w = find_corner(plant, state, geom, number, (-x, -y, -z))
        distance = u * x + v * y + w * z - height
        if distance > margin:
            continue
        if written == count + inserted:
            if not insert_copy(plant, data, begin + written - 1):
                break
            inserted += 1
        # Inserting may have moved the contacts.
        address = load_address(data + offsets.contact_offset) + (begin + written) * size
        half = 0.5 * distance
        place_contact(
            plant,
            address,
            (u - half * x, v - half * y, w - half * z),
            (sign * x, sign * y, sign * z),
            distance,
        )
        store_int(address + offsets.contact_exclude, 0 if distance < margin else _IN_GAP)
        written += 1
    for i in range(written, count):
        address = load_address(data + offsets.contact_offset) + (begin + i) * size
        store_int(address + offsets.contact_exclude, EXCLUDED)
    return inserted
