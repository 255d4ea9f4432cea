"""What a user may change in MjData between two advances."""

from __future__ import annotations

from collections.abc import Mapping

import mujoco
import numpy as np

from asperity.compiled import HoldsAddresses, Table
from asperity.contact.delivered import OUTDATED, SOLVED
from asperity.errors import ModelError
from asperity.integrators.world import World
from asperity.plant import native
from asperity.plant.data_reference import DataReference
from asperity.plant.plant_layouts import OTHER_FORCES, VALID
from asperity.plant.sleep import wake
from asperity.simulator.input_kernels import (
    INPUT_KERNELS,
    INPUTS,
    NEW_FORCES,
    NEW_STATE,
    NEW_TIME,
    REFUSED,
    TARGETS,
    hand_over,
    look,
    remember,
    write_state,
)

__all__ = ["INPUT_KERNELS", "SLEEP", "Inputs"]

_STATE = ("qpos", "qvel", "act")
_NAMES = (
    *_STATE,
    *("ctrl", "qfrc_applied", "xfrc_applied", "mocap_pos", "mocap_quat", "eq_active"),
)

SLEEP = int(mujoco.mjtEnableBit.mjENBL_SLEEP)


class Inputs(HoldsAddresses):
    """State, controls, applied forces, mocap poses and active equalities of an MjData.

    Knows whether they have been changed since `remember`, and hands them to a world.

    Parameters
    ----------
    model, data : mujoco.MjModel, mujoco.MjData
        The published data, which others keep alive, and its model.

    Attributes
    ----------
    new_state, new_time : bool
        Whether the state, or the time, is another one than was known at the last change.
    """

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        self._model = model
        self._reference = DataReference(data, keep=False)
        self._views = {name: getattr(data, name).reshape(-1) for name in _NAMES}
        self._known = np.full(sum(map(len, self._views.values())) + 1, np.nan)
        self._table = self.table_of(data, self._known)
        self._found = NEW_STATE | NEW_TIME
        # The world to which inputs were handed last, and where they went.
        self._world: World | None = None
        self._memories = 0
        self._targets = Table(TARGETS, states=np.zeros(0, np.int64), inputs=np.zeros(0, np.int64))
        self._tables: list[Table] = []
        self._handed: list[mujoco.MjData] = []

    @staticmethod
    def table_of(data: mujoco.MjData, known: np.ndarray) -> Table:
        """A table of the inputs in an MjData."""
        arrays = {name: getattr(data, name).reshape(-1) for name in _NAMES}
        arrays["eq_active"] = arrays["eq_active"].view(np.uint8)
        return Table(
            INPUTS,
            time=data._address + native.offset("mjData", "time"),
            known=known,
            # MuJoCo silently replaces controls beyond this by zero.
            largest_control=float(mujoco.mjMAXVAL),
            **arrays,
        )

    @property
    def _data(self) -> mujoco.MjData:
        return self._reference()

    def tables(self, world: World) -> tuple[Table, Table]:
        """The inputs, and where those of a world are handed to, for compiled code."""
        self._find_targets(world)
        return self._table, self._targets

    @property
    def new_time(self) -> bool:
        """Whether the time was another one at the last change."""
        return self._found & NEW_TIME != 0

    @property
    def new_state(self) -> bool:
        """Whether the state was another one at the last change."""
        return self._found & (NEW_STATE | NEW_TIME) != 0

    def forget(self) -> None:
        """Take everything for changed."""
        self._known[:] = np.nan

    def remember(self) -> None:
        """Take what ``data`` holds now for known."""
        remember.call(self._table.address)

    def write_state(self, state: Table) -> None:
        """Write a state's time, positions, velocities and activations into ``data``."""
        write_state.call(self._table.address, state.address)

    def changed(self) -> bool:
        """Whether anything has changed; then it is checked, and remembered.

        Raises
        ------
        ModelError
            If a number is not finite, or a control too large.
        """
        found = look.call(self._table.address)
        if found & REFUSED:
            self._refuse()
        if found != 0:
            self._found = found
        return bool(found)

    def hand_over(self, world: World) -> None:
        """Copy the inputs into a world's current state, and into the data that it works with."""
        current = world.current.table
        delivered = world.delivered
        if delivered.origin == SOLVED:
            delivered.origin = OUTDATED
        only_forces = self._found == NEW_FORCES and current.valid == VALID
        # What couples is known by the state's evaluation, and may be other rows now.
        world.table.graph_state = 0
        self._find_targets(world)
        hand_over.call(
            self._table.address,
            current.address,
            self._targets.address,
            OTHER_FORCES if only_forces else 0,
        )
        if self._model.opt.enableflags & SLEEP:
            for data in (self._data, *self._handed):
                wake(self._model, data)

    def _find_targets(self, world: World) -> None:
        """Find a world's further states, and the data in which they are evaluated."""
        if self._world is world and self._memories == len(world.memories):
            return
        states = world.evaluated_states[1:]
        own = self._data
        self._handed = []
        for state in states:
            if state.data is not own and not any(state.data is one for one in self._handed):
                self._handed.append(state.data)
        self._tables = [self.table_of(data, self._known[:0]) for data in self._handed]
        self._world = world
        self._memories = len(world.memories)
        self._targets = Table(
            TARGETS,
            states=np.array([state.table.address for state in states], np.int64),
            inputs=np.array([table.address for table in self._tables], np.int64),
        )

    def known(self) -> dict[str, np.ndarray]:
        """What is known: arrays by name, and the time."""
        return self._split(self._known)

    def present(self) -> dict[str, np.ndarray]:
        """What ``data`` holds, as `known`."""
        return self._split(self._gather())

    def state(self) -> dict[str, dict[str, np.ndarray]]:
        """What was published, and what ``data`` holds, which a user may have changed since."""
        return {"known": self.known(), "present": self.present()}

    def write(self, values: Mapping[str, np.ndarray]) -> None:
        """Write what `known` or `present` has returned into ``data``."""
        self.put(self._data, values)

    @staticmethod
    def put(data: mujoco.MjData, values: Mapping[str, np.ndarray]) -> None:
        """Write what `known` or `present` has returned into an MjData."""
        for name in _NAMES:
            target = getattr(data, name)
            target[:] = values[name].reshape(target.shape)
        data.time = float(values["time"][0])

    def _split(self, flat: np.ndarray) -> dict[str, np.ndarray]:
        ends = np.cumsum([len(view) for view in self._views.values()])
        parts = np.split(flat, ends)
        return {name: part.copy() for name, part in zip((*_NAMES, "time"), parts, strict=True)}

    def _gather(self) -> np.ndarray:
        """All numbers in one array."""
        flat = np.empty(len(self._known))
        np.concatenate(list(self._views.values()), out=flat[:-1], casting="unsafe")
        flat[-1] = self._data.time
        return flat

    def _refuse(self) -> None:
        """Name the first number that is not acceptable."""
        model = self._model
        for name in _NAMES:
            values = np.asarray(getattr(self._data, name), dtype=np.float64)
            limit = mujoco.mjMAXVAL if name == "ctrl" else np.inf
            bad = np.argwhere(~(np.isfinite(values) & (np.abs(values) <= limit)))
            if len(bad):
                index = ", ".join(str(int(i)) for i in bad[0])
                owner = ""
                if name == "ctrl" and model.nu == len(model.actuator_gaintype):
                    label = model.actuator(int(bad[0][0])).name
                    owner = f" (actuator {label!r})" if label else ""
                raise ModelError(
                    f"data.{name}[{index}]{owner} is {values[tuple(bad[0])]}; it must be finite"
                    + (f" and at most {mujoco.mjMAXVAL:g}." if name == "ctrl" else ".")
                )
        raise ModelError(f"data.time is {self._data.time}; it must be finite.")
