"""Writing contacts among those that MuJoCo has found."""

from __future__ import annotations

import math

from asperity.compiled import Table, compiled
from asperity.compiled.calls import (
    call_ppp_status,
    load_address,
    load_double,
    load_int,
    store_address,
    store_double,
    store_int,
)

__all__ = ["copy_contact", "insert_copy", "move_contacts", "place_contact"]

_WORD = 8


@compiled
def copy_contact(plant: Table, source: int, target: int) -> None:
    """Write one contact over another one."""
    for word in range(plant.offsets.contact_size // _WORD):
        store_address(target + _WORD * word, load_address(source + _WORD * word))


@compiled
def move_contacts(plant: Table, base: int, first: int, last: int, shift: int) -> None:
    """Move the contacts ``first .. last`` up by some places."""
    size = plant.offsets.contact_size
    if shift > 0:
        for i in range(last - 1, first - 1, -1):
            copy_contact(plant, base + i * size, base + (i + shift) * size)


@compiled
def insert_copy(plant: Table, data: int, index: int) -> bool:
    """Insert a copy of a contact of an ``MjData`` behind it; False if there is no memory."""
    count = load_int(data + plant.offsets.ncon_offset)
    base = load_address(data + plant.offsets.contact_offset)
    if call_ppp_status(plant.mujoco.add_contact, plant.model, data, base) & 1 == 1:
        store_int(data + plant.offsets.ncon_offset, count)
        return False
    move_contacts(plant, base, index, count, 1)
    copy_contact(
        plant,
        base + (index + 1) * plant.offsets.contact_size,
        base + index * plant.offsets.contact_size,
    )
    return True


@compiled
def place_contact(
    plant: Table,
    address: int,
    point: tuple[float, float, float],
    normal: tuple[float, float, float],
    distance: float,
) -> None:
    """Give one of MuJoCo's contacts another point, normal and distance.

    A tangent that is not along the new normal turns as little as it can.
    """
    frame = address + plant.offsets.contact_frame
    place = address + plant.offsets.contact_pos
    along = 0.0
    other = 0.0
    for k in range(3):
        store_double(place + 8 * k, point[k])
        store_double(frame + 8 * k, normal[k])
        along += normal[k] * load_double(frame + 24 + 8 * k)
        other += normal[k] * load_double(frame + 48 + 8 * k)
    store_double(address + plant.offsets.contact_dist, distance)
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
