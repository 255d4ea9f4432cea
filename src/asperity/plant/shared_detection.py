"""Contacts found by several threads.

Space is cut into slabs along the axis in which bodies are spread farthest. Each slab is a job's
part: MuJoCo finds the contacts of the bodies that reach into it, in a model in which the others
collide with nothing, and in a copy of the struct ``MjData``, which has an arena for its contacts
but otherwise the arrays of the original. Bodies may reach into several slabs; a contact counts in
that where the second of its two bodies begins, which both of them reach. In the end contacts are
listed in the order in which MuJoCo would have found them, by pair of bodies. The MjData itself has
none: publication puts those there that a step has delivered.

What does not depend on contacts (masses, velocities, forces, constraints) is another part of it.
"""

from __future__ import annotations

import mujoco
import numpy as np
from numba import types

from asperity.compiled import HoldsAddresses, Layout, Table, compiled, entry_point
from asperity.compiled.calls import (
    call_pp,
    call_pp_status,
    call_pppn_status,
    load_address,
    load_double,
    load_int,
    store_address,
)
from asperity.compiled.team import TEAM, Team, over_ranges
from asperity.contact.combination import PARAMETERS, STIFFNESS, combine
from asperity.plant import native
from asperity.plant.collision import (
    counts_as_contact,
    empty_contacts,
    fill_mujoco_contact,
    make_links,
    read_contacts,
)
from asperity.plant.plant_layouts import CONTACTS_FULL, EVALUATED, PLANT, STATE

__all__ = ["SHARED_DETECTION_KERNELS", "SharedDetection", "can_share_detection"]

_WORD = 8
_BINS = 256
# What a geom that a slab has more or less than others costs, in bodies that two slabs share.
_UNEVEN = 0.25
# What is not contact, in shares of the time that all contacts take, about: for free bodies, and
# with articulated ones.
_FREE_MOTION = 0.15
_MOTION = 0.4
# Geoms from which it is worth it: below, detection takes less than some tens of microseconds.
_FEWEST_GEOMS = 64
# Contacts that are worth a thread's while, where they take about twenty nanoseconds each.
_FEWEST_CONTACTS = 100
_FAR = 1e300

_MODEL_WORDS = (*("body_contype", "body_conaffinity", "geom_rbound", "geom_margin", "geom_gap"),)

SHARED_DETECTION = Layout(
    "detection of several threads",
    team=TEAM,
    find_part="i8",  # compiled entry point
    slabs="i8",
    plant="i8",  # addresses, of the job at hand
    state="i8",
    model="i8",
    empty_model="i8",  # without contacts
    # where numbers and addresses of arrays are in MuJoCo's structs [bytes]
    **{"at_" + name: "i8" for name in _MODEL_WORDS},
    at_margin="i8",  # that overrides all others, if flags have this bit
    at_flags="i8",
    override="i8",
    first_number="i8",  # of those in ``MjData`` that may change
    last_number="i8",
    # per slab: structs, and what bodies collide with
    models="i8[:,:]",
    datas="i8[:,:]",
    contype="i4[:,:]",
    conaffinity="i4[:,:]",
    # per body: where it begins and ends along the axis [m]
    lower="f8[:]",
    upper="f8[:]",
    cut="f8[:]",  # ends of slabs
    bins="i8[:]",
    across="i8[:]",
    # per slab: contacts that count there, their pairs of bodies and addresses
    count="i8[:]",
    pair="i8[:,:]",
    contact="i8[:,:]",
    following="i8[:]",  # the next one to be listed
    found="i8[:]",  # addresses of all contacts in MuJoCo's order
    # Where threads read the contacts, too, these are those that count, and further, per slab: how
    # many there are in all, geoms of a contact, and number, material and share of its pair
    reads="i8",
    plain_reader="i8",  # the entry point that reads contacts in the same way
    read_part="i8",
    total="i8[:]",
    geoms="i8[:,:]",
    number="i8[:,:]",
    material="f8[:,:,:]",
    share="f8[:,:]",
    moving="i8",  # whether the bodies that are being listed can move, and their contact counts
    place="i8[:]",  # slab and number there of those found
)


@compiled
def _widest_axis(plant: Table, state: Table) -> tuple[int, float, float]:
    """The axis along which geoms of bodies that move are spread farthest, and their range."""
    best = 0
    begin = 0.0
    end = 0.0
    for axis in range(3):
        low = _FAR
        high = -_FAR
        for g in range(plant.geom_body.size):
            if plant.body_tree[plant.geom_body[g]] >= 0:
                x = state.mj_geom_xpos[g, axis]
                low = min(low, x)
                high = max(high, x)
        if high - low > end - begin:
            best = axis
            begin = low
            end = high
    return best, begin, end


@compiled
def _bound_bodies(plant: Table, state: Table, shared: Table, axis: int) -> None:
    """Fill where bodies begin and end, with their margins; planes and the world are everywhere."""
    model = shared.model
    radius = load_address(model + shared.at_geom_rbound)
    margin = load_address(model + shared.at_geom_margin)
    gap = load_address(model + shared.at_geom_gap)
    overridden = load_int(model + shared.at_flags) & shared.override != 0
    of_all = load_double(model + shared.at_margin)
    for body in range(shared.lower.size):
        shared.lower[body] = _FAR
        shared.upper[body] = -_FAR
    shared.lower[0] = -_FAR
    shared.upper[0] = _FAR
    for g in range(plant.geom_body.size):
        body = plant.geom_body[g]
        r = load_double(radius + _WORD * g)
        if r <= 0.0:
            shared.lower[body] = -_FAR
            shared.upper[body] = _FAR
        own = of_all if overridden else load_double(margin + _WORD * g)
        # No less than round-off, in which MuJoCo's tests may differ from these.
        r = r * (1.0 + 1e-9) + own + load_double(gap + _WORD * g) + 1e-9
        x = state.mj_geom_xpos[g, axis]
        shared.lower[body] = min(shared.lower[body], x - r)
        shared.upper[body] = max(shared.upper[body], x + r)


@compiled
def _fill_bins(
    plant: Table, state: Table, shared: Table, axis: int, begin: float, scale: float
) -> int:
    """Count geoms between places along the axis, and bodies that reach across each of them."""
    bins = shared.bins
    across = shared.across
    for k in range(_BINS):
        bins[k] = 0
        across[k] = 0
    total = 0
    for g in range(plant.geom_body.size):
        if plant.body_tree[plant.geom_body[g]] >= 0:
            place = scale * (state.mj_geom_xpos[g, axis] - begin)
            # Positions that are not numbers are in none.
            if place >= 0.0 and place <= _BINS:
                bins[min(int(place), _BINS - 1)] += 1
                total += 1
    for body in range(plant.nbody):
        low = scale * (shared.lower[body] - begin)
        high = scale * (shared.upper[body] - begin)
        if plant.body_tree[body] >= 0 and low <= high and high - low < _BINS:
            first = max(int(np.ceil(low)), 1)
            last = min(int(high), _BINS - 1)
            if first <= last:
                across[first] += 1
                across[last + 1 if last < _BINS - 1 else 0] -= 1
    for k in range(2, _BINS):
        across[k] += across[k - 1]
    return total


@compiled
def _cut(plant: Table, state: Table, shared: Table) -> None:
    """Cut space into slabs with about as many geoms each, where few bodies reach across.

    What does has contacts that are found in both slabs, to be left out in one. The first slab is
    smaller: whoever begins with what is not contact does it last.
    """
    axis, begin, end = _widest_axis(plant, state)
    _bound_bodies(plant, state, shared, axis)
    scale = _BINS / (end - begin) if end > begin else 0.0
    total = _fill_bins(plant, state, shared, axis, begin, scale)
    after = 0
    lighter = _FREE_MOTION if plant.only_free_bodies else _MOTION
    for slab in range(shared.slabs - 1):
        wanted = total * (slab + 1 - lighter * (shared.slabs - slab - 1)) / shared.slabs
        best = np.inf
        before = after
        found = 0
        for k in range(1, _BINS):
            found += shared.bins[k - 1]
            cost = shared.across[k] + _UNEVEN * abs(found - wanted)
            if k > before and cost < best:
                best = cost
                after = k
        shared.cut[slab] = begin + (end - begin) * after / _BINS
    shared.cut[shared.slabs - 1] = np.inf


@compiled
def _note_material(plant: Table, shared: Table, slab: int, count: int, address: int) -> None:
    """Note a contact's geoms and the material of its pair, which may be that of the one before."""
    a = load_int(address + plant.contact_geom)
    b = load_int(address + plant.contact_geom + 4)
    geoms = (a << 32) + b
    friction = load_double(address + plant.contact_friction)
    shared.geoms[slab, count] = geoms
    number = 0
    if count > 0:
        number = shared.number[slab, count - 1]
        before = shared.contact[slab, count - 1]
        if (
            shared.geoms[slab, count - 1] != geoms
            or load_double(before + plant.contact_friction) != friction
        ):
            number += 1
    if count == 0 or number != shared.number[slab, count - 1]:
        shared.share[slab, number] = combine(
            plant.material,
            plant.material_pairs,
            plant.material_pair_keys,
            plant.material_default,
            a,
            b,
            friction,
            shared.material[slab, number],
        )
    shared.number[slab, count] = number


@compiled
def _list_contacts(plant: Table, shared: Table, slab: int, begin: float, end: float) -> None:
    """List the contacts of a slab that belong there, with their pairs of bodies."""
    data = shared.datas[slab].ctypes.data
    base = load_address(data + plant.contact_offset)
    count = 0
    total = 0
    for index in range(load_int(data + plant.ncon_offset)):
        address = base + index * plant.contact_size
        a = plant.geom_body[load_int(address + plant.contact_geom)]
        b = plant.geom_body[load_int(address + plant.contact_geom + 4)]
        # Where the second one begins; the first slab has what is everywhere.
        place = max(shared.lower[a], shared.lower[b])
        if place >= begin and place < end:
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


@entry_point(types.int64(SHARED_DETECTION.type, types.int64, types.int64, types.int64))
def find_part(shared: Table, part: int, _member: int, _unused: int) -> int:
    """Find the contacts of a slab, or, after the last one, all that is not contact."""
    plant = PLANT.at(shared.plant)
    state = STATE.at(shared.state)
    if part == shared.slabs:
        call_pp_status(plant.evaluate_motion, plant, state)
        state.rows_status = call_pp_status(plant.read_constraints, plant, state)
        return 0
    model = shared.models[part].ctypes.data
    for word in range(shared.models.shape[1]):
        store_address(model + _WORD * word, load_address(shared.model + _WORD * word))
    contype = load_address(shared.model + shared.at_body_contype)
    conaffinity = load_address(shared.model + shared.at_body_conaffinity)
    begin = shared.cut[part - 1] if part > 0 else -np.inf
    end = shared.cut[part]
    for body in range(shared.lower.size):
        inside = shared.upper[body] >= begin and shared.lower[body] < end
        shared.contype[part, body] = load_int(contype + 4 * body) if inside else 0
        shared.conaffinity[part, body] = load_int(conaffinity + 4 * body) if inside else 0
    store_address(model + shared.at_body_contype, shared.contype[part].ctypes.data)
    store_address(model + shared.at_body_conaffinity, shared.conaffinity[part].ctypes.data)
    data = shared.datas[part].ctypes.data
    for word in range(shared.first_number, shared.last_number):
        store_address(data + _WORD * word, load_address(state.data + _WORD * word))
    call_pp(plant.collision, model, data)
    _list_contacts(plant, shared, part, begin, end)
    return 0


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
def _merge(plant: Table, state: Table, shared: Table) -> int:
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
def _read(plant: Table, state: Table, shared: Table) -> int:
    """Fill the contact set with what the slabs have found, as `read_contacts` does."""
    empty_contacts(state)
    total = 0
    for slab in range(shared.slabs):
        total += shared.total[slab]
    if total > state.contacts.link.shape[0]:
        return CONTACTS_FULL
    found = _merge(plant, state, shared)
    if found < 0:
        return CONTACTS_FULL
    team = shared.team.address
    over_ranges(team, shared.read_part, shared.address, found, _FEWEST_CONTACTS, False)
    state.contacts.count = found
    return EVALUATED


@entry_point(types.int64(PLANT.type, STATE.type, types.int64, types.int64))
def detect_shared(plant: Table, state: Table, model: int, _unused: int) -> int:
    """Find contacts in a model, and the motion, of a state whose positions have been found."""
    shared = SHARED_DETECTION.at(state.shared_detection)
    shared.plant = plant.address
    shared.state = state.address
    shared.model = model
    # Whether what glides counts depends on what has been read.
    shared.reads = 1 if state.gliding == 0 and plant.read_contacts == shared.plain_reader else 0
    _cut(plant, state, shared)
    call_pp(plant.collision, shared.empty_model, state.data)
    team = shared.team
    call_pppn_status(team.share, team, shared.find_part, shared, shared.slabs + 1)
    if shared.reads == 1:
        state.contacts_status = _read(plant, state, shared)
        return 0
    state.contacts_status = -1
    state.found = _merge(plant, state, shared)
    state.found_address = shared.found.ctypes.data
    return 0


SHARED_DETECTION_KERNELS = (find_part, detect_shared, read_part)
"""What shared detection needs compiled."""


def can_share_detection(model: mujoco.MjModel) -> bool:
    """Whether contacts of a model can be found slab by slab, and it has enough geoms for that.

    MuJoCo looks at predefined pairs wherever they are, plugins may have memory of their own, and
    what acts on bodies that touch needs contacts first.
    """
    sleeps = bool(model.opt.enableflags & mujoco.mjtEnableBit.mjENBL_SLEEP)
    acts_on_bodies = bool(np.any(model.actuator_trntype == int(mujoco.mjtTrn.mjTRN_BODY)))
    return (
        model.ngeom >= _FEWEST_GEOMS
        and model.npair == model.nflex == model.nplugin == 0
        and not (sleeps or acts_on_bodies)
    )


class SharedDetection(HoldsAddresses):
    """The memory in which a team finds the contacts of the states of one MjData.

    Parameters
    ----------
    model : mujoco.MjModel
        One that `can_share_detection`.
    data : mujoco.MjData
        Which must outlive this.
    team : Team
    """

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData, team: Team) -> None:
        slabs = team.threads
        size = native.struct_size("mjModel") // _WORD
        struct = native.memory(model._address, size)
        self._empty = struct.copy()
        flags = native.offset("mjModel", "opt") + native.offset("mjOption", "disableflags")
        self._empty.view(np.int32)[flags // 4] |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
        words = native.struct_size("mjData") // _WORD
        original = native.memory(data._address, words)
        datas = np.tile(original, (slabs, 1))
        room = int(original[native.offset("mjData", "narena") // _WORD])
        most = room // native.struct_size("mjContact") + 1
        # Touched only where it is used, as are the lists.
        self._arenas = [np.empty(room // _WORD, np.int64) for _ in range(slabs)]
        for one, arena in zip(datas, self._arenas, strict=True):
            one[native.offset("mjData", "arena") // _WORD] = arena.ctypes.data
            for name in ("pstack", "pbase", "parena", "threadpool"):
                one[native.offset("mjData", name) // _WORD] = 0
        option = native.offset("mjModel", "opt")
        self.table = Table(
            SHARED_DETECTION,
            team=team.table,
            find_part=find_part.address,
            slabs=slabs,
            empty_model=self._empty.ctypes.data,
            **{"at_" + name: native.offset("mjModel", name) for name in _MODEL_WORDS},
            at_margin=option + native.offset("mjOption", "o_margin"),
            at_flags=option + native.offset("mjOption", "enableflags"),
            override=int(mujoco.mjtEnableBit.mjENBL_OVERRIDE),
            first_number=native.offset("mjData", "ntree_awake") // _WORD,
            last_number=native.offset("mjData", "buffer") // _WORD,
            models=np.zeros((slabs, size), np.int64),
            datas=datas,
            contype=np.zeros((slabs, model.nbody), np.int32),
            conaffinity=np.zeros((slabs, model.nbody), np.int32),
            lower=np.zeros(model.nbody),
            upper=np.zeros(model.nbody),
            cut=np.zeros(slabs),
            bins=np.zeros(_BINS, np.int64),
            across=np.zeros(_BINS, np.int64),
            count=np.zeros(slabs, np.int64),
            following=np.zeros(slabs, np.int64),
            pair=np.empty((slabs, most), np.int64),
            contact=np.empty((slabs, most), np.int64),
            found=np.empty(slabs * most, np.int64),
            plain_reader=read_contacts.address,
            read_part=read_part.address,
            total=np.zeros(slabs, np.int64),
            geoms=np.empty((slabs, most), np.int64),
            number=np.empty((slabs, most), np.int64),
            material=np.empty((slabs, most, PARAMETERS)),
            share=np.empty((slabs, most)),
            place=np.empty(slabs * most, np.int64),
        )

    def install(self, state: Table) -> None:
        """Let evaluations of a state find contacts here."""
        state.detect_shared = detect_shared.address
        state.shared_detection = self.table.address
