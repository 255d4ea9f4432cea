"""Contacts found by several threads.

Where the pairs of geoms that are near are listed (`asperity.plant.detection.near_pairs`), each of a
job's parts gets a share of the list. Else space is cut into slabs along the axis in which bodies
are spread farthest, and a part is a slab: MuJoCo finds the contacts of the bodies that reach into
it, in a model in which the others collide with nothing. Bodies may reach into several slabs; a
contact counts in that where the second of its two bodies begins, which both of them reach. Every
part has a copy of the struct ``MjData``, which has an arena for its contacts but otherwise the
arrays of the original. In the end contacts are listed in the order in which MuJoCo would have found
them, by pair of bodies. The MjData itself has none: publication puts those there that a step has
delivered.

What does not depend on contacts (masses, velocities, forces, constraints) is another part of it,
and to make the list or the slabs one more, for which the others wait.
"""

from __future__ import annotations

import mujoco
import numpy as np
from numba import types

from asperity.compiled import HoldsAddresses, Table, compiled, entry_point
from asperity.compiled.atomics import atomic_load, atomic_store
from asperity.compiled.calls import (
    call_p_status,
    call_pp,
    call_pp_status,
    call_ppp_status,
    call_pppn_status,
    load_address,
    load_int,
    store_address,
)
from asperity.compiled.team import Team
from asperity.contact.combination import PARAMETERS
from asperity.plant import native
from asperity.plant.detection.collision import read_contacts
from asperity.plant.detection.field_completion import complete_field_contacts
from asperity.plant.detection.near_pair_lists import point_to_pairs
from asperity.plant.detection.shared_detection_layout import MODEL_WORDS, SHARED_DETECTION
from asperity.plant.detection.shared_reading import (
    list_contacts,
    merge_contacts,
    read_merged,
    read_part,
)
from asperity.plant.detection.slabs import cut_slabs
from asperity.plant.plant_layouts import PLANT, STATE

__all__ = ["SHARED_DETECTION_KERNELS", "SharedDetection", "can_share_detection"]

_WORD = 8
# Geoms from which it is worth it: below, detection takes less than some tens of microseconds.
_FEWEST_GEOMS = 64
# Looks at whether parts are there before a thread gives way to others.
_LOOKS = 200


@compiled
def _cut_list(near: Table, shared: Table) -> None:
    """Give every part as many pairs, and all of the same two bodies to one part."""
    first = shared.pair_first
    for part in range(shared.slabs + 1):
        at = part * near.count // shared.slabs
        while 0 < at < near.count and near.ordered[at] >> 32 == near.ordered[at - 1] >> 32:
            at += 1
        first[part] = at


@compiled
def _prepare(plant: Table, state: Table, shared: Table) -> None:
    """Divide what may touch among the parts, and let the others know."""
    shared.listed = 0
    if plant.list_pairs != 0 and state.widened == 0:
        near = state.near_pairs
        if call_pp_status(plant.list_pairs, plant, state) == near.struct.ctypes.data:
            shared.listed = 1
            _cut_list(near, shared)
    if shared.listed == 0:
        cut_slabs(plant, state, shared)
    atomic_store(shared.prepared.ctypes.data, 1)


@compiled
def _wait(shared: Table) -> None:
    """Wait until the parts are there, which a thread that runs is making."""
    looks = 0
    while atomic_load(shared.prepared.ctypes.data) == 0:
        looks += 1
        if looks > _LOOKS:
            call_p_status(shared.team.give_way, 0)
            looks = 0


@compiled
def _copy_slab(shared: Table, part: int, begin: float, end: float) -> None:
    """Copy a model in which only what reaches into a slab collides."""
    model = shared.models[part].ctypes.data
    for word in range(shared.models.shape[1]):
        store_address(model + _WORD * word, load_address(shared.model + _WORD * word))
    contype = load_address(shared.model + shared.at_body_contype)
    conaffinity = load_address(shared.model + shared.at_body_conaffinity)
    for body in range(shared.lower.size):
        inside = shared.upper[body] >= begin and shared.lower[body] < end
        shared.contype[part, body] = load_int(contype + 4 * body) if inside else 0
        shared.conaffinity[part, body] = load_int(conaffinity + 4 * body) if inside else 0
    store_address(model + shared.at_body_contype, shared.contype[part].ctypes.data)
    store_address(model + shared.at_body_conaffinity, shared.conaffinity[part].ctypes.data)


@compiled
def _copy_listed(near: Table, shared: Table, part: int) -> None:
    """Copy the model of the listed pairs, with those of a part."""
    model = shared.models[part].ctypes.data
    for word in range(shared.models.shape[1]):
        store_address(model + _WORD * word, near.struct[word])
    first = shared.pair_first[part]
    point_to_pairs(near, model, first, shared.pair_first[part + 1] - first)


@entry_point(types.int64(SHARED_DETECTION.type, types.int64, types.int64, types.int64))
def find_part(shared: Table, part: int, _member: int, _unused: int) -> int:
    """Find the contacts of a part; after the last one comes all that is not contact."""
    plant = PLANT.at(shared.plant)
    state = STATE.at(shared.state)
    if part > shared.slabs:
        _prepare(plant, state, shared)
        return 0
    if part == shared.slabs:
        call_pp_status(plant.evaluate_motion, plant, state)
        state.rows_status = call_pp_status(plant.read_constraints, plant, state)
        return 0
    _wait(shared)
    begin = shared.cut[part - 1] if part > 0 else -np.inf
    end = shared.cut[part]
    if shared.listed == 1:
        _copy_listed(state.near_pairs, shared, part)
    else:
        _copy_slab(shared, part, begin, end)
    data = shared.datas[part].ctypes.data
    for word in range(shared.first_number, shared.last_number):
        store_address(data + _WORD * word, load_address(state.data + _WORD * word))
    call_pp(plant.mujoco.collision, shared.models[part].ctypes.data, data)
    if plant.has_fields:
        complete_field_contacts(plant, state, data)
    if plant.mend_normals != 0:
        call_ppp_status(plant.mend_normals, plant, state, data)
    list_contacts(plant, shared, part, begin, end)
    return 0


@entry_point(types.int64(PLANT.type, STATE.type, types.int64, types.int64))
def detect_shared(plant: Table, state: Table, model: int, _unused: int) -> int:
    """Find contacts in a model, and the motion, of a state whose positions have been found."""
    shared = SHARED_DETECTION.at(state.shared_detection)
    shared.plant = plant.address
    shared.state = state.address
    shared.model = model
    # Whether what is at a distance counts depends on what has been read, and so do seams.
    plain = state.widened == 0 and plant.leave_out_seams == 0
    shared.reads = 1 if plain and plant.read_contacts == shared.plain_reader else 0
    call_pp(plant.mujoco.collision, shared.empty_model, state.data)
    atomic_store(shared.prepared.ctypes.data, 0)
    team = shared.team
    # Before all else, which is then not waited for in vain.
    team.own = shared.slabs + 1
    call_pppn_status(team.share, team, shared.find_part, shared, shared.slabs + 1)
    if shared.reads == 1:
        state.contacts_status = read_merged(plant, state, shared)
        return 0
    state.contacts_status = -1
    state.found = merge_contacts(plant, state, shared)
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
        and not (sleeps or acts_on_bodies or model.flg_adhesion)
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
            **{"at_" + name: native.offset("mjModel", name) for name in MODEL_WORDS},
            at_margin=option + native.offset("mjOption", "o_margin"),
            at_flags=option + native.offset("mjOption", "enableflags"),
            override=int(mujoco.mjtEnableBit.mjENBL_OVERRIDE),
            first_number=native.offset("mjData", "ntree_awake") // _WORD,
            last_number=native.offset("mjData", "buffer") // _WORD,
            words=size,
            bodies=model.nbody,
            datas=datas,
            pair=np.empty((slabs, most), np.int64),
            contact=np.empty((slabs, most), np.int64),
            found=np.empty(slabs * most, np.int64),
            plain_reader=read_contacts.address,
            read_part=read_part.address,
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
