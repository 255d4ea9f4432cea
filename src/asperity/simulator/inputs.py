"""What a user may change in MjData between two advances."""

from __future__ import annotations

from typing import NoReturn

import mujoco
import numpy as np

from asperity.compiled import HoldsAddresses
from asperity.errors import ArgumentError
from asperity.integrators.world import World
from asperity.plant.data_reference import DataReference
from asperity.plant.model.names import control_names
from asperity.plant.model.sleep import SLEEP, wake
from asperity.simulator.state_vector import exchanged_bits, new_exchange, parts_of, vector_size

__all__ = ["Inputs", "present_vector"]


def present_vector(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    """State and inputs that an MjData holds, as `asperity.simulator.state_vector` has them."""
    vector = np.empty(vector_size(model))
    mujoco.mj_getState(model, data, vector, exchanged_bits(model))
    return vector


class Inputs(HoldsAddresses):
    """State, controls, applied forces, mocap poses and active equalities of an MjData.

    Compiled code compares them with what is known, and hands them to a world
    (`asperity.simulator.compiled_call`).

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
        self._others = list(others.values())
        self.table = new_exchange(model, states, self._others)

    def forget(self) -> None:
        """Take everything for changed."""
        self.table.known[:] = np.nan

    def remember(self) -> None:
        """Take what the data holds now for known."""
        mujoco.mj_getState(self._model, self._reference(), self.table.known, int(self.table.bits))

    def wake(self) -> None:
        """Let MuJoCo see nothing asleep; what it has put to sleep at first is so to the world."""
        if not self._model.opt.enableflags & SLEEP:
            return
        islands = wake(self._model, self._reference())
        for data in self._others:
            wake(self._model, data)
        if islands is not None and self._world.resting is not None:
            self._world.resting.start_asleep(islands)

    def state(self) -> np.ndarray:
        """What is known, as one vector."""
        return self.table.known.copy()

    def set_state(self, vector: np.ndarray) -> None:
        """Take a vector for known."""
        self.table.known[:] = vector

    def present(self) -> np.ndarray:
        """What the data holds, as `state`."""
        return present_vector(self._model, self._reference())

    def write(self, vector: np.ndarray) -> None:
        """Write what `state` or `present` has returned into the data."""
        mujoco.mj_setState(self._model, self._reference(), vector, int(self.table.bits))

    def refuse(self) -> NoReturn:
        """Name the first number that is not acceptable.

        Raises
        ------
        ArgumentError
        """
        model, data, vector = self._model, self._reference(), self.present()
        for name, part in parts_of(model).items():
            limit = mujoco.mjMAXVAL if name == "ctrl" else np.inf
            bad = np.flatnonzero(~(np.isfinite(vector[part]) & (np.abs(vector[part]) <= limit)))
            if len(bad) == 0 or name == "time":
                continue
            place = np.unravel_index(bad[0], getattr(data, name).shape)
            index = ", ".join(str(int(i)) for i in place)
            owner = ""
            if name == "ctrl":
                label = control_names(model)[int(bad[0])]
                owner = f" (actuator {label!r})" if label else ""
            raise ArgumentError(
                f"data.{name}[{index}]{owner} is {vector[part][bad[0]]}; it must be finite"
                + (f" and at most {mujoco.mjMAXVAL:g}." if name == "ctrl" else ".")
            )
        raise ArgumentError(f"data.time is {data.time}; it must be finite.")
