"""What a world keeps for islands at rest (`asperity.integrators.steppings.resting`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import mujoco
import numpy as np

from asperity.compiled import HoldsAddresses, Table
from asperity.integrators.steppings.resting import (
    RESTING_STEP_KERNELS,
    fall_asleep,
    keep_contacts,
)
from asperity.integrators.steppings.resting_inputs import remember, wake_changed
from asperity.plant.model.sleep import may_rest
from asperity.plant.plant import Plant
from asperity.plant.resting import RESTING_KERNELS, RestingPositions, wake_touched
from asperity.plant.resting_layout import RESTING
from asperity.plant.state import State

__all__ = ["SLEEP_KERNELS", "Resting"]

SLEEP_KERNELS = (*RESTING_KERNELS, *RESTING_STEP_KERNELS)
"""What worlds in which islands may rest need compiled."""

_ARRAYS = ("at_rest", "group", "quiet", "horizon", "until", "qpos", "qvel", "applied")
_FURTHER = ("body_applied", "poses", "active", "first_quiet")
_NUMBERS = ("count", "kept", "outdated", "due", "time")


class Resting(HoldsAddresses):
    """Which trees of a world are at rest, and for how long that is known to be right.

    Parameters
    ----------
    plant : Plant
    data : mujoco.MjData
        Where the current state is evaluated, which must outlive this.
    room : int
        For contacts that are delivered.
    """

    def __init__(self, plant: Plant, data: mujoco.MjData, room: int) -> None:
        model, trees = plant.model, plant.table.trees
        start, size = _positions_of_trees(plant)
        self.table = Table(
            RESTING,
            trees=len(trees.size),
            nq=model.nq,
            nv=model.nv,
            bodies=model.nbody,
            largest=int(trees.size.max(initial=1)),
            square=int(trees.size.max(initial=1)) ** 2,
            room=room,
            wake_touched=wake_touched.address,
            wake_changed=wake_changed.address,
            fall_asleep=fall_asleep.address,
            keep_contacts=keep_contacts.address,
            remember=remember.address,
            body_awake=np.zeros(model.nbody + 1, np.int32),
            body_awake_ind=np.zeros(model.nbody + 1, np.int32),
            parent_awake_ind=np.zeros(model.nbody + 1, np.int32),
            dof_awake_ind=np.zeros(model.nv + 1, np.int32),
            tree_awake=np.ones(model.ntree + 1, np.int32),
            may_rest=_trees_that_may(plant),
            velocity_tolerance=float(model.opt.sleep_tolerance),
            length=np.array(model.dof_length, dtype=np.float64),
            qpos_start=start,
            qpos_size=size,
            due=np.inf,
            positions=np.zeros(0, np.int64),
            time=np.nan,
            poses=np.zeros(7 * model.nmocap),
            active=np.zeros(model.neq, np.uint8),
            mocap_pos=data.mocap_pos.reshape(-1, 3),
            mocap_quat=data.mocap_quat.reshape(-1, 4),
            eq_active=data.eq_active.view(np.uint8),
        )
        self._plant = plant
        self.falls_asleep = True
        self._positions: dict[int, RestingPositions] = {}

    def install(self, states: Sequence[State]) -> None:
        """Let evaluations of states leave out what rests; steps begin from the first."""
        for number, state in enumerate(states):
            address, model = state.table.address, self._plant.model
            if address not in self._positions:
                self._positions[address] = RestingPositions(
                    model, state.data, self.table, within_step=number > 0
                )
            self._positions[address].install(state.table, self.table)
        addresses = [positions.table.address for positions in self._positions.values()]
        self.table.positions = np.array(addresses, np.int64)

    def remove(self, states: Sequence[State]) -> None:
        """Wake everything, and let evaluations of states leave out nothing any more."""
        self.read_model()
        for state in states:
            state.table.resting = state.table.find_positions = state.table.shared_positions = 0
            state.table.work.left_out[:] = 0
            state.table.valid = 0

    def read_model(self) -> None:
        """Wake everything, because the model is another one."""
        table = self.table
        for name in ("at_rest", "quiet", "horizon"):
            getattr(table, name)[:] = 0
        table.count = table.kept = table.outdated = table.listed = table.starts = 0
        table.due = np.inf
        table.may_rest[:] = _trees_that_may(self._plant) if self.falls_asleep else 0
        table.velocity_tolerance = float(self._plant.model.opt.sleep_tolerance)
        table.length[:] = self._plant.model.dof_length
        for positions in self._positions.values():
            positions.table.known = 0

    def start_asleep(self, islands: np.ndarray) -> None:
        """Let trees rest before the next step: `asperity.plant.model.sleep.starts_asleep`."""
        place, table = _places_of_trees(self._plant), self.table
        known = np.flatnonzero((islands >= 0) & (place >= 0))
        table.starts_in[:] = -1
        table.starts_in[place[known]] = place[islands[known]]
        table.starts = int(known.size > 0)

    def state(self) -> dict[str, Any]:
        """What goes on from one call to the next."""
        table = self.table
        found = {name: getattr(table, name).copy() for name in (*_ARRAYS, *_FURTHER)}
        return found | {name: getattr(table, name) for name in _NUMBERS}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Put back what `state` has returned."""
        table = self.table
        for name in (*_ARRAYS, *_FURTHER):
            getattr(table, name)[:] = state[name]
        for name in _NUMBERS:
            setattr(table, name, state[name])
        table.listed = 0
        for positions in self._positions.values():
            positions.table.known = 0


def _trees_that_may(plant: Plant) -> np.ndarray:
    """Which of the solvers' trees may ever be at rest: int64, shape (ntree,)."""
    model, trees = plant.model, plant.table.dofs.tree
    may = np.ones(len(plant.table.trees.size), np.int64)
    may[trees[~may_rest(model)[model.dof_treeid]]] = 0
    return may


def _places_of_trees(plant: Plant) -> np.ndarray:
    """Which of the solvers' trees each of the model's is: int64, shape (ntree,)."""
    place = np.full(plant.model.ntree, -1, np.int64)
    place[plant.model.dof_treeid] = plant.table.dofs.tree
    return place


def _positions_of_trees(plant: Plant) -> tuple[np.ndarray, np.ndarray]:
    """Where the positions of trees are in ``qpos``, and how many."""
    model, trees = plant.model, plant.table.trees
    start = np.zeros(len(trees.size), np.int64)
    size = np.zeros(len(trees.size), np.int64)
    ends = np.append(model.jnt_qposadr, model.nq)
    for tree, (first, count) in enumerate(zip(trees.start, trees.size, strict=True)):
        joints = model.dof_jntid[first], model.dof_jntid[first + count - 1]
        start[tree] = ends[joints[0]]
        size[tree] = ends[joints[1] + 1] - start[tree]
    return start, size
