"""What a user may change in MjData between two advances."""

from __future__ import annotations

from collections.abc import Mapping

import mujoco
import numpy as np

from asperity.compiled import HoldsAddresses
from asperity.contact.delivered import OUTDATED, SOLVED
from asperity.errors import ModelError
from asperity.integrators.world import World
from asperity.plant.data_reference import DataReference
from asperity.plant.sleep import wake

__all__ = ["Inputs"]

_STATE = ("qpos", "qvel", "act")
_OTHERS = ("ctrl", "qfrc_applied", "xfrc_applied", "mocap_pos", "mocap_quat", "eq_active")
_NAMES = _STATE + _OTHERS


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
        # Views, gathered into one array: comparing one is several times faster than nine.
        self._views = [getattr(data, name).reshape(-1) for name in _NAMES]
        self._state_size = sum(len(getattr(data, name)) for name in _STATE)
        self._known = np.empty(0)
        self.new_state = self.new_time = True

    @property
    def _data(self) -> mujoco.MjData:
        return self._reference()

    def forget(self) -> None:
        """Take everything for changed."""
        self._known = np.empty(0)

    def remember(self) -> None:
        """Take what ``data`` holds now for known."""
        self._known = self._gather()

    def changed(self) -> bool:
        """Whether anything has changed; then it is checked, and remembered.

        Raises
        ------
        ModelError
            If a number is not finite, or a control too large.
        """
        flat, known = self._gather(), self._known
        if len(flat) == len(known) and np.array_equal(flat, known):
            return False
        # MuJoCo silently replaces controls beyond mjMAXVAL by zero.
        if not np.all(np.isfinite(flat)) or np.any(np.abs(self._data.ctrl) > mujoco.mjMAXVAL):
            self._refuse()
        n = self._state_size
        self.new_time = len(known) == 0 or flat[-1] != known[-1]
        self.new_state = self.new_time or not np.array_equal(flat[:n], known[:n])
        self._known = flat
        return True

    def hand_over(self, world: World) -> None:
        """Copy the inputs into a world's current state, and into the data that it works with."""
        data = self._data
        current = world.current.table
        delivered = world.delivered
        if delivered.origin == SOLVED:
            delivered.origin = OUTDATED
        current.qpos[:] = data.qpos
        current.qvel[:] = data.qvel
        current.act[:] = data.act
        current.time = data.time
        current.valid = 0
        wake(self._model, data)
        handed: list[mujoco.MjData] = [data]
        for state in world.evaluated_states[1:]:
            state.table.valid = 0
            scratch = state.data
            if any(scratch is one for one in handed):
                continue
            handed.append(scratch)
            for name in _OTHERS:
                getattr(scratch, name)[:] = getattr(data, name)
            wake(self._model, scratch)

    def known(self) -> dict[str, np.ndarray]:
        """What is known: arrays by name, and the time."""
        return self._split(self._known)

    def present(self) -> dict[str, np.ndarray]:
        """What ``data`` holds, as `known`."""
        return self._split(self._gather())

    def write(self, values: Mapping[str, np.ndarray]) -> None:
        """Write what `known` or `present` has returned into ``data``."""
        data = self._data
        for name in _NAMES:
            target = getattr(data, name)
            target[:] = values[name].reshape(target.shape)
        data.time = float(values["time"][0])

    def _split(self, flat: np.ndarray) -> dict[str, np.ndarray]:
        ends = np.cumsum([len(view) for view in self._views])
        parts = np.split(flat, ends)
        return {name: part.copy() for name, part in zip((*_NAMES, "time"), parts, strict=True)}

    def _gather(self) -> np.ndarray:
        """All numbers in one array."""
        flat = np.empty(sum(map(len, self._views)) + 1)
        np.concatenate(self._views, out=flat[:-1], casting="unsafe")
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
