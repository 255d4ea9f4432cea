"""Positions found by several threads.

MuJoCo's functions leave out bodies of trees that sleep. Each part of the job has a copy of the
struct ``MjData`` with the original's arrays, but lists of its own of what is awake: some children
of the world with all that hangs on them; and a copy of ``MjModel`` in which sleeping is enabled. So
every body's numbers are computed by MuJoCo's own code, from the same numbers, with the same bits as
in one call for all. The world's own geoms and sites come first. Only the centre of mass of the
world as a whole is not found, which nobody needs in a step: publication finds it.
"""

from __future__ import annotations

import mujoco
import numpy as np
from numba import types

from asperity.compiled import HoldsAddresses, Layout, Table, entry_point
from asperity.compiled.calls import call_pp, call_pppn_status, load_address
from asperity.compiled.team import TEAM, Team
from asperity.plant import native
from asperity.plant.plant_layouts import PLANT, STATE

__all__ = ["SHARED_POSITIONS_KERNELS", "SharedPositions", "can_share_positions"]

_WORD = 8
# Parts per thread: trees differ.
_PARTS = 2
# Bodies from which it is worth it: below, they take less than some microseconds.
_FEWEST_BODIES = 128

# What MuJoCo writes for bodies that take part, and for others.
_AWAKE, _STATIC = 1, -1
# What it gives trees that stay awake.
_STAYS_AWAKE = -11

SHARED_POSITIONS = Layout(
    "positions of several threads",
    team=TEAM,
    find_part="i8",  # compiled entry point
    kinematics="i8",  # MuJoCo's functions
    com_pos="i8",
    model="i8[words]",  # MuJoCo's structs
    datas="i8[:,:]",  # the world's is the last
    flags="i8",  # word of the model in which flags are,
    sleep="i8",  # and the bit
)


@entry_point(types.int64(SHARED_POSITIONS.type, types.int64, types.int64, types.int64))
def find_positions_of_part(shared: Table, part: int, _member: int, _unused: int) -> int:
    """Find the positions of the bodies of a part."""
    data = shared.datas[part].ctypes.data
    call_pp(shared.kinematics, shared.model.ctypes.data, data)
    call_pp(shared.com_pos, shared.model.ctypes.data, data)
    return 0


@entry_point(types.int64(PLANT.type, STATE.type))
def find_positions(plant: Table, state: Table) -> int:
    """Find where everything is, in a state's MjData."""
    shared = SHARED_POSITIONS.at(state.shared_positions)
    for word in range(shared.model.size):
        shared.model[word] = load_address(plant.model + _WORD * word)
    shared.model[shared.flags] |= shared.sleep
    parts = shared.datas.shape[0] - 1
    call_pppn_status(shared.find_part, shared, parts, 0, 0)
    team = shared.team
    return call_pppn_status(team.share, team, shared.find_part, shared, parts)


SHARED_POSITIONS_KERNELS = (find_positions_of_part, find_positions)
"""What shared positions need compiled."""


def can_share_positions(model: mujoco.MjModel) -> bool:
    """Whether positions of a model can be found part by part, and there is enough to find."""
    sleeps = bool(model.opt.enableflags & mujoco.mjtEnableBit.mjENBL_SLEEP)
    children = np.count_nonzero(model.body_parentid[1:] == 0)
    return bool(model.nbody >= _FEWEST_BODIES and children > 1 and not sleeps)


def _divide(model: mujoco.MjModel, parts: int) -> list[tuple[int, int]]:
    """First and last bodies of parts, which children of the world begin."""
    begins = np.append(np.flatnonzero(model.body_parentid[1:] == 0) + 1, model.nbody)
    wanted = 1 + (model.nbody - 1) * np.arange(parts + 1) / parts
    cuts = np.unique(begins[np.searchsorted(begins, wanted)])
    return list(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True))


class SharedPositions(HoldsAddresses):
    """The memory in which a team finds the positions of the states of one MjData.

    Parameters
    ----------
    model : mujoco.MjModel
        One that `can_share_positions`.
    data : mujoco.MjData
        Which must outlive this.
    team : Team
    """

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData, team: Team) -> None:
        ranges = [*_divide(model, _PARTS * team.threads), (0, 1)]
        words = native.struct_size("mjData") // _WORD
        self._datas = np.tile(native.memory(data._address, words), (len(ranges), 1))
        self._arrays: list[np.ndarray] = []
        for words_of_part, (first, last) in zip(self._datas, ranges, strict=True):
            self._write_lists(model, words_of_part, first, last)
        flags = native.offset("mjModel", "opt") + native.offset("mjOption", "enableflags")
        word, place = divmod(flags, _WORD)
        self.table = Table(
            SHARED_POSITIONS,
            team=team.table,
            find_part=find_positions_of_part.address,
            kinematics=native.function_address("mj_kinematics"),
            com_pos=native.function_address("mj_comPos"),
            words=native.struct_size("mjModel") // _WORD,
            datas=self._datas,
            flags=word,
            sleep=int(mujoco.mjtEnableBit.mjENBL_SLEEP) << (8 * place),
        )

    def _write_lists(self, model: mujoco.MjModel, words: np.ndarray, first: int, last: int) -> None:
        """Write into a copy of the struct ``MjData`` which bodies take part."""
        bodies = np.arange(first, last, dtype=np.int32)
        inner = bodies[model.body_parentid[bodies] > 0]
        awake = np.full(model.nbody, _STATIC, np.int32)
        awake[bodies] = _AWAKE
        lists = {
            "body_awake": awake,
            # MuJoCo leaves out the first, the world, which is always there.
            "body_awake_ind": np.append(np.int32(0), bodies[bodies > 0]).astype(np.int32),
            "parent_awake_ind": inner,
            "dof_awake_ind": np.zeros(model.nv, np.int32),
            "tree_asleep": np.full(model.ntree, _STAYS_AWAKE, np.int32),
            "tree_awake": np.ones(model.ntree, np.int32),
        }
        counts = {
            "nbody_awake": lists["body_awake_ind"].size,
            "nparent_awake": inner.size,
            "nv_awake": 0,
            "ntree_awake": model.ntree,
        }
        for name, array in lists.items():
            kept = np.append(array, np.int32(0))  # an address even if it is empty
            self._arrays.append(kept)
            words[native.offset("mjData", name) // _WORD] = kept.ctypes.data
        for name, count in counts.items():
            words.view(np.int32)[native.offset("mjData", name) // 4] = count

    def install(self, state: Table) -> None:
        """Let evaluations of a state find positions here."""
        state.find_positions = find_positions.address
        state.shared_positions = self.table.address
