"""Contacts of height fields with corners, among those that MuJoCo has found.

Contacts of two geoms follow one another, and so do those of two bodies: several threads find the
same contacts in the same order as one.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.compiled.calls import (
    call_ppp_status,
    load_address,
    load_double,
    load_int,
    store_int,
)
from asperity.plant.detection.field_corners import (
    DISTANCE,
    EXCLUDED,
    PARTS,
    SLOPE_X,
    SLOPE_Y,
    X,
    Y,
    Z,
    count_corners,
    find_corners,
)
from asperity.plant.detection.height_fields import level_contact, write_contact
from asperity.plant.detection.mujoco_contacts import copy_contact, move_contacts

__all__ = ["complete_field_contacts"]

_IN_GAP = 1
# What is known of the contacts of two geoms: their numbers, the geoms, how many are of corners, and
# for how many of those there is no place among MuJoCo's.
_FIRST, _LAST, _FIELD, _GEOM, _CORNERS, _MORE = range(6)


@compiled
def _write_corners(
    plant: Table, state: Table, base: int, pair: np.ndarray, points: np.ndarray
) -> None:
    """Write corners over the contacts that they replace, and into copies of the pair's first."""
    offsets = plant.offsets
    first = base + pair[_FIRST] * offsets.contact_size
    written = 0
    for i in range(pair[_FIRST], pair[_LAST] + pair[_MORE]):
        if written == pair[_CORNERS]:
            return
        address = base + i * offsets.contact_size
        if i >= pair[_LAST]:
            copy_contact(plant, first, address)
        elif load_int(address + offsets.contact_exclude) != EXCLUDED:
            continue
        point = points[written]
        place = (point[X], point[Y], point[Z])
        slopes = (point[SLOPE_X], point[SLOPE_Y])
        write_contact(plant, state, pair[_FIELD], address, place, point[DISTANCE], slopes)
        pushes = point[DISTANCE] < load_double(address + offsets.contact_margin)
        store_int(address + offsets.contact_exclude, 0 if pushes else _IN_GAP)
        written += 1


@compiled
def _list_pairs(plant: Table, state: Table, data: int, pairs: np.ndarray) -> int:
    """Level contacts with height fields, and list the pairs of which one has corners; how many."""
    offsets = plant.offsets
    base = load_address(data + offsets.contact_offset)
    found = 0
    for i in range(pairs.shape[0]):
        address = base + i * offsets.contact_size
        geom = load_int(address + offsets.contact_geom)
        other = load_int(address + offsets.contact_geom + 4)
        if geom < 0 or other < 0 or plant.geoms.height_field[geom] < 0:
            continue
        if not level_contact(plant, state, geom, other, address):
            store_int(address + offsets.contact_exclude, EXCLUDED)
        if count_corners(plant, other) == 0:
            continue
        before = found - 1
        if found > 0 and pairs[before, _FIELD] == geom and pairs[before, _GEOM] == other:
            pairs[before, _LAST] = i + 1
            continue
        pairs[found, _FIRST] = i
        pairs[found, _LAST] = i + 1
        pairs[found, _FIELD] = geom
        pairs[found, _GEOM] = other
        found += 1
    return found


@compiled
def _find_all(plant: Table, state: Table, data: int, pairs: np.ndarray, points: np.ndarray) -> int:
    """Find the corners of all pairs, one after the other; returns how many contacts are too few."""
    offsets = plant.offsets
    base = load_address(data + offsets.contact_offset)
    total = 0
    at = 0
    for p in range(pairs.shape[0]):
        pair = pairs[p]
        geom = pair[_GEOM]
        group = (base + pair[_FIRST] * offsets.contact_size, pair[_LAST] - pair[_FIRST])
        room = points[at : at + count_corners(plant, geom)]
        corners = find_corners(plant, state, (pair[_FIELD], geom), group, room)
        free = 0
        for i in range(group[1]):
            exclude = group[0] + i * offsets.contact_size + offsets.contact_exclude
            free += 1 if load_int(exclude) == EXCLUDED else 0
        pair[_CORNERS] = corners
        pair[_MORE] = max(corners - free, 0)
        total += pair[_MORE]
        at += corners
    return total


@compiled
def complete_field_contacts(plant: Table, state: Table, data: int) -> None:
    """Give corners on height fields contacts among those that MuJoCo has found in an ``MjData``."""
    offsets = plant.offsets
    count = load_int(data + offsets.ncon_offset)
    pairs = np.empty((count, 6), np.int64)
    found = _list_pairs(plant, state, data, pairs)
    if found == 0:
        return
    pairs = pairs[:found]
    room = 0
    for p in range(found):
        room += count_corners(plant, pairs[p, _GEOM])
    points = np.empty((room, PARTS))
    total = _find_all(plant, state, data, pairs, points)
    base = load_address(data + offsets.contact_offset)
    for _ in range(total):
        if call_ppp_status(plant.mujoco.add_contact, plant.model, data, base) & 1 == 1:
            # Without memory, of which MuJoCo warns, those are written for which there is room.
            total = 0
            store_int(data + offsets.ncon_offset, count)
            break
    at = 0
    for p in range(found):
        at += pairs[p, _CORNERS]
    shift = total
    end = count
    for p in range(found - 1, -1, -1):
        pair = pairs[p]
        if total == 0:
            pair[_MORE] = 0
        at -= pair[_CORNERS]
        move_contacts(plant, base, pair[_LAST], end, shift)
        shift -= pair[_MORE]
        move_contacts(plant, base, pair[_FIRST], pair[_LAST], shift)
        end = pair[_FIRST]
        pair[_FIRST] += shift
        pair[_LAST] += shift
        _write_corners(plant, state, base, pair, points[at:])
