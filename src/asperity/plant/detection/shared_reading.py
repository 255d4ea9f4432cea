"""Contacts that several threads have found, read by several threads.

Each part lists those of its contacts that count, and notes their materials. The lists are merged in
the order in which MuJoCo would have found them, and bodies get links; then contacts are filled in,
by the lines that `asperity.plant.detection.collision.read_contacts` runs, each rounded as it is
written.
"""

from __future__ import annotations

from numba import types

from asperity.compiled import Table, compiled, entry_point
from asperity.compiled.calls import load_address, load_double, load_int
from asperity.compiled.team import over_ranges
from asperity.contact.combination import STIFFNESS, combine
from asperity.plant.detection.collision import (
    counts_as_contact,
    empty_contacts,
    fill_mujoco_contact,
    make_links,
)
from asperity.plant.detection.shared_detection_layout import SHARED_DETECTION
from asperity.plant.plant_layouts import CONTACTS_FULL, EVALUATED, PLANT, STATE

__all__ = ["list_contacts", "merge_contacts", "read_merged", "read_part"]

# Contacts that are worth a thread's while, where they take about twenty nanoseconds each.
_FEWEST_CONTACTS = 100


@compiled
def _note_material(plant: Table, shared: Table, slab: int, count: int, address: int) -> None:
    """Note a contact's geoms and the material of its pair, which may be that of the one before."""
    materials = plant.materials
    offsets = plant.offsets
    a = load_int(address + offsets.contact_geom)
    b = load_int(address + offsets.contact_geom + 4)
    geoms = (a << 32) + b
    friction = load_double(address + offsets.contact_friction)
    shared.geoms[slab, count] = geoms
    number = 0
    if count > 0:
        number = shared.number[slab, count - 1]
        before = shared.contact[slab, count - 1]
        if (
            shared.geoms[slab, count - 1] != geoms
            or load_double(before + offsets.contact_friction) != friction
        ):
            number += 1
    if count == 0 or number != shared.number[slab, count - 1]:
        shared.share[slab, number] = combine(
            materials.of_geom,
            materials.pairs,
            materials.pair_keys,
            materials.default,
            a,
            b,
            friction,
            shared.material[slab, number],
        )
    shared.number[slab, count] = number


@compiled
def list_contacts(plant: Table, shared: Table, slab: int, begin: float, end: float) -> None:
    """List the contacts of a slab that belong there, with their pairs of bodies."""
    offsets = plant.offsets
    data = shared.datas[slab].ctypes.data
    base = load_address(data + offsets.contact_offset)
    count = 0
    total = 0
    for index in range(load_int(data + offsets.ncon_offset)):
        address = base + index * offsets.contact_size
        a = plant.geoms.body[load_int(address + offsets.contact_geom)]
        b = plant.geoms.body[load_int(address + offsets.contact_geom + 4)]
        # Where the second one begins; the first slab has what is everywhere.
        place = max(shared.lower[a], shared.lower[b])
        if shared.listed == 1 or (place >= begin and place < end):
            total += 1
            if shared.reads == 1 and not counts_as_contact(plant, address):
                continue
            shared.pair[slab, count] = (min(a, b) << 32) + max(a, b)
            shared.contact[slab, count] = address
            if shared.reads == 1:
                _note_material(plant, shared, slab, count, address)
            count += 1
    shared.count[slab] = count
    shared.total[slab] = total


@compiled
def _list_pair(plant: Table, state: Table, shared: Table, slab: int, at: int, found: int) -> int:
    """List a contact if it counts, whose bodies get links; how many there are, or −1 without room.

    Contacts of two bodies follow each other, and only the first makes links.
    """
    if shared.reads == 1:
        number = shared.number[slab, at]
        if at == 0 or number != shared.number[slab, at - 1]:
            geoms = shared.geoms[slab, at]
            shared.moving = make_links(plant, state, geoms >> 32, geoms & 0xFFFFFFFF)
            if shared.moving == 1 and shared.material[slab, number, STIFFNESS] <= 0.0:
                shared.moving = 0
        if shared.moving < 0:
            return -1
        if shared.moving == 0:
            return found
        shared.place[found] = (slab << 32) + at
    shared.found[found] = shared.contact[slab, at]
    return found + 1


@compiled
def merge_contacts(plant: Table, state: Table, shared: Table) -> int:
    """List the contacts of all slabs in MuJoCo's order, by pair of bodies.

    Returns their number, or −1 if there is no room for their links.
    """
    found = 0
    for slab in range(shared.slabs):
        shared.following[slab] = 0
    while True:
        best = -1
        pair = 0
        for slab in range(shared.slabs):
            at = shared.following[slab]
            if at < shared.count[slab] and (best < 0 or shared.pair[slab, at] < pair):
                best = slab
                pair = shared.pair[slab, at]
        if best < 0:
            return found
        # All contacts of two bodies are of one slab.
        at = shared.following[best]
        while at < shared.count[best] and shared.pair[best, at] == pair:
            found = _list_pair(plant, state, shared, best, at, found)
            if found < 0:
                return -1
            at += 1
        shared.following[best] = at


@entry_point(types.int64(SHARED_DETECTION.type, types.int64, types.int64, types.int64))
def read_part(shared: Table, first: int, last: int, _unused: int) -> int:
    """Fill some contacts of the set."""
    plant = PLANT.at(shared.plant)
    state = STATE.at(shared.state)
    for c in range(first, last):
        slab = shared.place[c] >> 32
        at = shared.place[c] & 0xFFFFFFFF
        number = shared.number[slab, at]
        geoms = shared.geoms[slab, at]
        fill_mujoco_contact(
            plant,
            state,
            c,
            c,
            shared.found[c],
            (geoms >> 32, geoms & 0xFFFFFFFF),
            shared.share[slab, number],
            shared.material[slab, number],
        )
    return 0


@compiled
def read_merged(plant: Table, state: Table, shared: Table) -> int:
    """Fill the contact set with what the slabs have found, as `read_contacts` does."""
    empty_contacts(state)
    total = 0
    for slab in range(shared.slabs):
        total += shared.total[slab]
    if total > state.contacts.link.shape[0]:
        return CONTACTS_FULL
    found = merge_contacts(plant, state, shared)
    if found < 0:
        return CONTACTS_FULL
    team = shared.team.address
    over_ranges(team, shared.read_part, shared.address, found, _FEWEST_CONTACTS, False)
    state.contacts.count = found
    return EVALUATED
