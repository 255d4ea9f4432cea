"""What a user may change in MjData between two advances."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from asperity.compiled import HoldsAddresses
from asperity.contact.delivered import OUTDATED, SOLVED
from asperity.errors import ArgumentError
from asperity.integrators.world import World
from asperity.plant.data_reference import DataReference
from asperity.plant.model.sleep import wake
from asperity.plant.plant_layouts import OTHER_FORCES, VALID
from asperity.simulator.state_vector import (
    EXCHANGE_KERNELS,
    EXCHANGED,
    NEW_FORCES,
    NEW_STATE,
    NEW_TIME,
    REFUSED,
    hand_over_data,
    look,
    new_exchange,
    parts_of,
    write_data,
)

__all__ = ["INPUT_KERNELS", "SLEEP", "Inputs", "present_vector"]

SLEEP = int(mujoco.mjtEnableBit.mjENBL_SLEEP)

INPUT_KERNELS = EXCHANGE_KERNELS
"""What `Inputs` needs compiled."""


def present_vector(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    """State and inputs that an MjData holds, as `asperity.simulator.state_vector` has them."""
    vector = np.empty(mujoco.mj_stateSize(model, EXCHANGED))
    mujoco.mj_getState(model, data, vector, EXCHANGED)
    return vector


class Inputs(HoldsAddresses):
    """State, controls, applied forces, mocap poses and active equalities of an MjData.

    Knows whether they have been changed since `remember`, and hands them to a world.

    Parameters
    ----------
    model : mujoco.MjModel
    world : World
        Prepared by its method; its current state is evaluated in the published data, which others
        keep alive.

    Attributes
    ----------
    table : Table
        The exchange (`asperity.simulator.state_vector`).
    """

    def __init__(self, model: mujoco.MjModel, world: World) -> None:
        states = world.evaluated_states
        own = states[0].data
        self._model, self._world = model, world
        self._reference = DataReference(own, keep=False)
        others = {id(state.data): state.data for state in states if state.data is not own}
        self._others: Sequence[mujoco.MjData] = list(others.values())
        self.table = new_exchange(model, states, self._others)
        self._found = NEW_STATE | NEW_TIME

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
        self.table.known[:] = np.nan

    def remember(self) -> None:
        """Take what the data holds now for known."""
        mujoco.mj_getState(self._model, self._reference(), self.table.known, EXCHANGED)

    def write_state(self) -> None:
        """Write the world's state into the data."""
        write_data.call(self.table.address)

    def changed(self) -> bool:
        """Whether anything has changed; then it is checked, and remembered.

        Raises
        ------
        ArgumentError
            If a number is not finite, or a control too large.
        """
        found = look.call(self.table.address)
        if found & REFUSED:
            self._refuse()
        if found != 0:
            self._found = found
        return bool(found)

    def hand_over(self) -> None:
        """Copy what the data holds into the world's state, and into what it works with."""
        world = self._world
        current, delivered = world.current.table, world.delivered
        if delivered.origin == SOLVED:
            delivered.origin = OUTDATED
        only_forces = self._found == NEW_FORCES and current.valid == VALID
        # What couples is known by the state's evaluation, and may be other rows now.
        world.table.graph_state = 0
        hand_over_data.call(self.table.address, OTHER_FORCES if only_forces else 0)
        if self._model.opt.enableflags & SLEEP:
            for data in (self._reference(), *self._others):
                wake(self._model, data)

    def known(self) -> np.ndarray:
        """What is known, as one vector."""
        return self.table.known.copy()

    def set_known(self, vector: np.ndarray) -> None:
        """Take a vector for known."""
        self.table.known[:] = vector

    def present(self) -> np.ndarray:
        """What the data holds, as `known`."""
        return present_vector(self._model, self._reference())

    def write(self, vector: np.ndarray) -> None:
        """Write what `known` or `present` has returned into the data."""
        mujoco.mj_setState(self._model, self._reference(), vector, EXCHANGED)

    def _refuse(self) -> None:
        """Name the first number that is not acceptable."""
        model, data, vector = self._model, self._reference(), self.present()
        for name, part in parts_of(model).items():
            limit = mujoco.mjMAXVAL if name == "ctrl" else np.inf
            bad = np.flatnonzero(~(np.isfinite(vector[part]) & (np.abs(vector[part]) <= limit)))
            if len(bad) == 0 or name == "time":
                continue
            place = np.unravel_index(bad[0], getattr(data, name).shape)
            index = ", ".join(str(int(i)) for i in place)
            owner = ""
            if name == "ctrl" and model.nu == len(model.actuator_gaintype):
                label = model.actuator(int(bad[0])).name
                owner = f" (actuator {label!r})" if label else ""
            raise ArgumentError(
                f"data.{name}[{index}]{owner} is {vector[part][bad[0]]}; it must be finite"
                + (f" and at most {mujoco.mjMAXVAL:g}." if name == "ctrl" else ".")
            )
        raise ArgumentError(f"data.time is {data.time}; it must be finite.")
