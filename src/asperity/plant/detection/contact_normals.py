"""Contacts whose normals are not those of their geoms.

MuJoCo searches for the direction in which two convex geoms overlap least, and then for several
points of contact between features of both. Where the side of a cylinder or a capsule touches an
edge, it often takes the normal of a face beside that, which may be 40° off: in 9 % of a cylinder's
and a box's random poses, and in half of those over an edge. Of boxes and meshes among each other
normals are off by a few degrees at most, which is what gives them several points. And where geoms
just touch, the search may end anywhere, since within its tolerance of 10⁻⁶ m all directions are as
good.

The geoms overlap along a normal by the sum of what they reach along it. If that is more than the
overlap of the contact, the normal is wrong. Of a pair whose normals are all wrong MuJoCo is asked
for the least overlap alone, which is one contact; lines that touch along a length, as a roller and
an edge, get one at either end. If the direction of the least overlap is wrong, too, the geoms just
touch, and have no contact until more is known.
"""

from __future__ import annotations

import mujoco
import numpy as np
from numba import types

from asperity.compiled import Table, compiled, entry_point
from asperity.compiled.calls import (
    call_distance,
    load_address,
    load_double,
    load_int,
    store_int,
)
from asperity.plant.detection.field_corners import EXCLUDED
from asperity.plant.detection.geom_types import BOX, CAPSULE, CYLINDER, MESH, SPHERE
from asperity.plant.detection.hulls import farthest, reach
from asperity.plant.detection.mujoco_contacts import insert_copy, place_contact
from asperity.plant.detection.standing_cylinders import stand_on_rim
from asperity.plant.plant_layouts import EVALUATED, PLANT, STATE
from asperity.plant.rotations import Vector

__all__ = ["mend_normals", "mends_normals"]

_RODS = (CAPSULE, CYLINDER)
_FLAT = (BOX, MESH)
# MuJoCo's mark of a contact at a distance that is not below its margin.
_IN_GAP = 1
# Numbers in the scratch: points of least overlap, normal, both ends of a line, their overlaps.
_WORK = 33
# Parts of an overlap, and of MuJoCo's tolerance, that do not make a normal wrong.
_MORE = 0.5
_TOLERANCES = 3.0
# Farther apart than any overlap [m].
_FAR = 1e3
# Of a normal, to find where a line of contact ends: lines that are closer to parallel are so.
_TILT = 1e-3
# Over the overlap: lines that are shorter have one contact.
_SHORT = 10.0


def mends_normals(model: mujoco.MjModel) -> bool:
    """Whether there are geoms whose normals may be wrong."""
    return bool(np.any((model.geom_type > SPHERE) & (model.geom_type < BOX)))


@compiled
def _may_be_wrong(one: int, other: int) -> bool:
    """Whether two types of geoms are of those whose normals may be far off."""
    if min(one, other) <= SPHERE or max(one, other) > MESH:
        return False
    return not (one in _FLAT and other in _FLAT) and not (one == CAPSULE and other == CAPSULE)


@compiled
def _is_wrong(
    plant: Table,
    state: Table,
    geoms: tuple[int, int],
    normal: tuple[float, float, float],
    overlap: float,
) -> bool:
    """Whether two geoms overlap along a normal by more than they do."""
    x, y, z = normal
    more = reach(plant, state, geoms[0], x, y, z) + reach(plant, state, geoms[1], -x, -y, -z)
    return more > overlap + _MORE * abs(overlap) + _TOLERANCES * plant.hulls.tolerance


@compiled
def _to_axis(state: Table, geom: int, x: float, y: float, z: float) -> float:
    """Distance of a point from a geom's axis."""
    place, turn = state.mj_geom_xpos[geom], state.mj_geom_xmat[geom]
    x, y, z = x - place[0], y - place[1], z - place[2]
    along = x * turn[2] + y * turn[5] + z * turn[8]
    return np.sqrt(max(x * x + y * y + z * z - along * along, 0.0))


@compiled
def _end_of_line(
    plant: Table,
    state: Table,
    geoms: tuple[int, int],
    rod: int,
    ends: np.ndarray,
    t: Vector,
    end: np.ndarray,
) -> float:
    """Overlap at the end of a line of contact in a direction; fills that end.

    ``ends`` are the points of the least overlap on both geoms, and the normal, and ``rod`` says
    which of them has an axis. The lines of both end where they come the farthest along normals that
    are tilted by little; the first end counts.
    """
    n = ends[6:9]
    line = end[3:9].reshape(2, 3)
    shares = end[9:11]
    for side in range(2):
        sign = 1.0 - 2.0 * side
        x, y, z = farthest(
            plant,
            state,
            geoms[side],
            sign * n[0] + _TILT * t[0],
            sign * n[1] + _TILT * t[1],
            sign * n[2] + _TILT * t[2],
        )
        start = ends[3 * side : 3 * side + 3]
        line[side, 0], line[side, 1], line[side, 2] = x - start[0], y - start[1], z - start[2]
        shares[side] = t[0] * line[side, 0] + t[1] * line[side, 1] + t[2] * line[side, 2]
    length = max(min(shares[0], shares[1]), 0.0)
    for side in range(2):
        share = length / shares[side] if length > 0.0 else 0.0
        for k in range(3):
            line[side, k] = ends[3 * side + k] + share * line[side, k]
    for k in range(3):
        end[k] = 0.5 * (line[0, k] + line[1, k])
    other = line[1 - rod]
    return plant.geoms.size[geoms[rod], 0] - _to_axis(
        state, geoms[rod], other[0], other[1], other[2]
    )


@compiled
def _find_least(
    plant: Table, state: Table, data: int, geoms: tuple[int, int], work: np.ndarray
) -> float:
    """Find the direction of the least overlap; returns that, or −∞ if it is unknown."""
    ends = work[:9]
    distance = call_distance(
        plant.mujoco.geom_distance,
        plant.model,
        data,
        geoms[0],
        geoms[1],
        _FAR,
        ends.ctypes.data,
    )
    if distance == 0.0:
        return -np.inf
    # From the first geom's surface to the second's.
    length = 0.0
    for k in range(3):
        ends[6 + k] = (ends[3 + k] - ends[k]) / distance
        length += ends[6 + k] * ends[6 + k]
    if not 0.25 < length < 4.0:
        return -np.inf
    for k in range(3):
        ends[6 + k] /= np.sqrt(length)
    if _is_wrong(plant, state, geoms, (ends[6], ends[7], ends[8]), -distance):
        return -np.inf
    return -distance


@compiled
def _normal(plant: Table, address: int) -> Vector:
    frame = address + plant.offsets.contact_frame
    return load_double(frame), load_double(frame + 8), load_double(frame + 16)


@compiled
def _mend_pair(
    plant: Table, state: Table, data: int, first: int, count: int, work: np.ndarray
) -> None:
    """Leave out the wrong ones of a pair's contacts, or replace all by that of the least overlap.

    The contacts of a pair of geoms follow each other.
    """
    offsets = plant.offsets
    geoms = (load_int(first + offsets.contact_geom), load_int(first + offsets.contact_geom + 4))
    overlap = -np.inf
    for i in range(count):
        address = first + i * offsets.contact_size
        overlap = max(overlap, -load_double(address + offsets.contact_dist))
    right = 0
    for i in range(count):
        address = first + i * offsets.contact_size
        if _is_wrong(plant, state, geoms, _normal(plant, address), overlap):
            store_int(address + offsets.contact_exclude, EXCLUDED)
        else:
            right += 1
    if right > 0:
        return
    least = _find_least(plant, state, data, geoms, work)
    if least == -np.inf:
        return
    middle = (0.5 * (work[0] + work[3]), 0.5 * (work[1] + work[4]), 0.5 * (work[2] + work[5]))
    place_contact(plant, first, middle, (work[6], work[7], work[8]), -least)
    store_int(first + offsets.contact_exclude, 0)


@compiled
def _has_line(
    plant: Table, state: Table, geoms: tuple[int, int], rod: int, work: np.ndarray
) -> bool:
    """Whether geoms touch along a line, beside the axis of one; finds its ends and overlaps."""
    n = work[6:9]
    turn = state.mj_geom_xmat[geoms[rod]]
    x, y, z = turn[2], turn[5], turn[8]
    along = x * n[0] + y * n[1] + z * n[2]
    x, y, z = x - along * n[0], y - along * n[1], z - along * n[2]
    length = np.sqrt(x * x + y * y + z * z)
    if not length > 0.0:
        return False
    x, y, z = x / length, y / length, z / length
    one, other = work[9:20], work[20:31]
    work[31] = _end_of_line(plant, state, geoms, rod, work[:9], (x, y, z), one)
    if work[31] <= 0.0:
        return False
    work[32] = _end_of_line(plant, state, geoms, rod, work[:9], (-x, -y, -z), other)
    if work[32] <= 0.0:
        return False
    square = 0.0
    for k in range(3):
        square += (one[k] - other[k]) ** 2
    return square > _SHORT * _SHORT * (work[31] + work[32]) ** 2


@compiled
def _complete_line(
    plant: Table, state: Table, data: int, begin: int, count: int, work: np.ndarray
) -> int:
    """Give a rod that touches along a line, with one contact, another one; how many are inserted.

    The one may be anywhere on the line, and elsewhere in the next step: the rod would rock on it.
    """
    offsets = plant.offsets
    size = offsets.contact_size
    first = load_address(data + offsets.contact_offset) + begin * size
    geoms = (load_int(first + offsets.contact_geom), load_int(first + offsets.contact_geom + 4))
    rod = 0 if plant.geoms.kind[geoms[0]] in _RODS else 1
    at = -1
    for i in range(count):
        if load_int(first + i * size + offsets.contact_exclude) != EXCLUDED:
            if at >= 0:
                return 0
            at = i
    if at < 0 or plant.geoms.kind[geoms[rod]] not in _RODS:
        return 0
    address = first + at * size
    overlap = -load_double(address + offsets.contact_dist)
    if not overlap > 0.0 or load_int(address + offsets.contact_exclude) != 0:
        return 0
    for k in range(3):
        point = load_double(address + offsets.contact_pos + 8 * k)
        work[6 + k] = load_double(address + offsets.contact_frame + 8 * k)
        work[k] = point + 0.5 * overlap * work[6 + k]
        work[3 + k] = point - 0.5 * overlap * work[6 + k]
    if not _has_line(plant, state, geoms, rod, work):
        return 0
    # One that has been left out has room for it.
    if count == 1 and not insert_copy(plant, data, begin):
        return 0
    second = first + (at + 1) % max(count, 2) * size
    normal = (work[6], work[7], work[8])
    place_contact(plant, address, (work[9], work[10], work[11]), normal, -work[31])
    place_contact(plant, second, (work[20], work[21], work[22]), normal, -work[32])
    store_int(second + offsets.contact_exclude, 0)
    return 1 if count == 1 else 0


@entry_point(types.int64(PLANT.type, STATE.type, types.int64))
def mend_normals(plant: Table, state: Table, data: int) -> int:
    """Mend the normals of the contacts that MuJoCo has found in an ``MjData``."""
    offsets = plant.offsets
    kind = plant.geoms.kind
    base = load_address(data + offsets.contact_offset)
    found = load_int(data + offsets.ncon_offset)
    work = np.empty(_WORK)
    last = 0
    while last < found:
        first = base + last * offsets.contact_size
        one = load_int(first + offsets.contact_geom)
        other = load_int(first + offsets.contact_geom + 4)
        begin = last
        last += 1
        if one < 0 or other < 0 or not _may_be_wrong(kind[one], kind[other]):
            continue
        while last < found:
            geom = base + last * offsets.contact_size + offsets.contact_geom
            if load_int(geom) != one or load_int(geom + 4) != other:
                break
            last += 1
        if load_int(first + offsets.contact_exclude) > _IN_GAP:
            continue
        _mend_pair(plant, state, data, first, last - begin, work)
        inserted = -1
        if min(kind[one], kind[other]) == CYLINDER and max(kind[one], kind[other]) in _FLAT:
            inserted = stand_on_rim(plant, state, data, begin, last - begin)
        if inserted < 0:
            inserted = _complete_line(plant, state, data, begin, last - begin, work)
        found += inserted
        last += inserted
    return EVALUATED
