"""Evaluation of a state without the trees that are at rest.

MuJoCo's functions leave out bodies that sleep. They get a copy of the struct ``MjData`` with the
original's arrays, but lists of its own of what is awake, as in `asperity.plant.shared_positions`.
All that is known of trees at rest stays where the last evaluation of everything has left it. Pairs
of geoms of which none is awake are no contacts. A contact of one that is with a tree at rest wakes
its island, and the state is evaluated again.
"""

from __future__ import annotations

import mujoco
import numpy as np
from numba import types

from asperity.compiled import HoldsAddresses, Table, compiled, entry_point
from asperity.compiled.calls import call_pp, load_address, store_int
from asperity.plant import native
from asperity.plant.plant_layouts import CONTACTS_FULL, EVALUATED, PLANT, STATE, WOKEN
from asperity.plant.resting_layout import RESTING, RESTING_POSITIONS

__all__ = [
    "RESTING_KERNELS",
    "RestingPositions",
    "find_awake_positions",
    "forget_positions",
    "wake_all",
    "wake_group",
    "wake_touched",
]

_WORD = 8
# What MuJoCo writes for bodies that take part, and for others.
_AWAKE, _STATIC = 1, -1
# What it gives trees that stay awake.
_STAYS_AWAKE = -11


@compiled
def wake_group(resting: Table, tree: int) -> None:
    """Wake the island of a tree at rest."""
    group = resting.group[tree]
    for other in range(resting.at_rest.size):
        if resting.at_rest[other] == 1 and resting.group[other] == group:
            resting.at_rest[other] = 0
            resting.quiet[other] = 0
            resting.count -= 1
    resting.listed = 0
    resting.outdated = 1


@compiled
def wake_all(resting: Table) -> None:
    """Wake everything, and forget how it came to rest."""
    for tree in range(resting.at_rest.size):
        resting.at_rest[tree] = 0
        resting.quiet[tree] = 0
        resting.horizon[tree] = 0.0
    resting.count = 0
    resting.listed = 0
    resting.outdated = 1


@compiled
def forget_positions(resting: Table) -> None:
    """Let the next evaluation of every state find all there is to know of what rests."""
    for i in range(resting.positions.size):
        RESTING_POSITIONS.at(resting.positions[i]).known = 0


@compiled
def _list_awake(plant: Table, resting: Table) -> None:
    """Fill MuJoCo's lists of what is awake."""
    bodies = 1
    parents = 0
    resting.body_awake_ind[0] = 0
    for body in range(1, plant.nbody):
        tree = plant.bodies.tree[body]
        awake = tree >= 0 and resting.at_rest[tree] == 0
        resting.body_awake[body] = _AWAKE if awake else _STATIC
        if awake:
            resting.body_awake_ind[bodies] = body
            bodies += 1
            if plant.bodies.parent[body] > 0:
                resting.parent_awake_ind[parents] = body
                parents += 1
    for tree in range(plant.ntree):
        resting.tree_awake[tree] = 1 - resting.at_rest[tree]
    dofs = 0
    for dof in range(plant.nv):
        if resting.at_rest[plant.dofs.tree[dof]] == 0:
            resting.dof_awake_ind[dofs] = dof
            dofs += 1
    resting.dofs_awake = dofs
    resting.bodies_awake = bodies
    resting.parents_awake = parents
    resting.listed = 1


@entry_point(types.int64(PLANT.type, STATE.type))
def find_awake_positions(plant: Table, state: Table) -> int:
    """Find where everything is that is awake, or all there is if nothing is known of the rest."""
    resting = RESTING.at(state.resting)
    positions = RESTING_POSITIONS.at(state.shared_positions)
    everything = positions.known == 0 or resting.count == 0
    for tree in range(plant.ntree):
        state.work.left_out[tree] = 0 if everything else resting.at_rest[tree]
    positions.known = 1
    positions.everything = 1 if everything else 0
    if everything:
        call_pp(plant.mujoco.kinematics, plant.model, state.data)
        call_pp(plant.mujoco.com_pos, plant.model, state.data)
        return EVALUATED
    if resting.listed == 0:
        _list_awake(plant, resting)
    for word in range(positions.model.size):
        positions.model[word] = load_address(plant.model + _WORD * word)
    positions.model[positions.flags] |= positions.sleep
    model = positions.model.ctypes.data
    data = positions.data.ctypes.data
    store_int(data + positions.at_bodies, resting.bodies_awake)
    store_int(data + positions.at_parents, resting.parents_awake)
    store_int(data + positions.at_dofs, resting.dofs_awake)
    store_int(data + positions.at_trees, plant.ntree - resting.count)
    store_int(data + positions.at_rows, 0)
    call_pp(plant.mujoco.kinematics, model, data)
    call_pp(plant.mujoco.com_pos, model, data)
    return EVALUATED


@entry_point(types.int64(PLANT.type, STATE.type))
def wake_touched(plant: Table, state: Table) -> int:
    """Wake what contacts join with what is awake.

    Returns `WOKEN` if that is anything, ``EVALUATED``, or ``CONTACTS_FULL`` if there is no room to
    deliver all contacts.
    """
    resting = RESTING.at(state.resting)
    if resting.count == 0:
        return EVALUATED
    contacts = state.contacts
    woken = EVALUATED
    for c in range(contacts.count):
        for side in range(2):
            link = contacts.link[c, side]
            if link >= 0 and resting.at_rest[contacts.link_tree[link]] == 1:
                wake_group(resting, contacts.link_tree[link])
                woken = WOKEN
    if woken == EVALUATED and contacts.count + resting.kept > resting.room:
        return CONTACTS_FULL
    return woken


RESTING_KERNELS = (find_awake_positions, wake_touched)
"""What evaluations of worlds in which something may rest need compiled."""


class RestingPositions(HoldsAddresses):
    """The memory in which positions of what is awake are found, for one state.

    Parameters
    ----------
    model : mujoco.MjModel
    data : mujoco.MjData
        Where the state is evaluated, which must outlive this.
    resting : Table
        The world's `RESTING`, which must, too.
    within_step : bool
        Whether no step begins from the state.
    """

    def __init__(
        self, model: mujoco.MjModel, data: mujoco.MjData, resting: Table, *, within_step: bool
    ) -> None:
        size = native.struct_size("mjData") // _WORD
        words = native.memory(data._address, size).copy()
        self._asleep = np.full(model.ntree + 1, _STAYS_AWAKE, np.int32)
        shared = {name: getattr(resting, name) for name in _LISTS}
        for name, array in ({"tree_asleep": self._asleep} | shared).items():
            words[native.offset("mjData", name) // _WORD] = array.ctypes.data
        flags = native.offset("mjModel", "opt") + native.offset("mjOption", "enableflags")
        word, place = divmod(flags, _WORD)
        self.table = Table(
            RESTING_POSITIONS,
            within_step=int(within_step),
            words=native.struct_size("mjModel") // _WORD,
            words_of_data=size,
            data=words,
            flags=word,
            sleep=int(mujoco.mjtEnableBit.mjENBL_SLEEP) << (8 * place),
            at_bodies=native.offset("mjData", "nbody_awake"),
            at_parents=native.offset("mjData", "nparent_awake"),
            at_dofs=native.offset("mjData", "nv_awake"),
            at_trees=native.offset("mjData", "ntree_awake"),
            at_rows=native.offset("mjData", "nefc"),
        )

    def install(self, state: Table, resting: Table) -> None:
        """Let evaluations of a state leave out what rests."""
        state.find_positions = find_awake_positions.address
        state.shared_positions = self.table.address
        state.resting = resting.address


_LISTS = ("body_awake", "body_awake_ind", "parent_awake_ind", "dof_awake_ind", "tree_awake")
