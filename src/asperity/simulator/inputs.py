"""What a user may change in MjData between two advances."""

from __future__ import annotations

import mujoco
import numpy as np

from asperity.contact.delivered import NOTHING, OUTDATED, SOLVED
from asperity.errors import ModelError
from asperity.integrators.world import World
from asperity.plant.sleep import wake

__all__ = ["Inputs"]

_NAMES = (
    "qpos",
    "qvel",
    "act",
    "ctrl",
    "qfrc_applied",
    "xfrc_applied",
    "mocap_pos",
    "mocap_quat",
)


class Inputs:
    """State, controls, applied forces, mocap poses and active equalities of an MjData.

    Knows whether they have been changed since `remember`, and hands them to a world.

    Parameters
    ----------
    model, data : mujoco.MjModel, mujoco.MjData
        The published data, and its model.
    """

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        self._model = model
        self._data = data
        # Views, gathered into one array: comparing one is several times faster than nine.
        self._views = [getattr(data, name).reshape(-1) for name in _NAMES]
        self._views.append(data.eq_active)
        self._known = np.empty(0)

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
        flat = self._gather()
        if len(flat) == len(self._known) and np.array_equal(flat, self._known):
            return False
        # MuJoCo silently replaces controls beyond mjMAXVAL by zero.
        if not np.all(np.isfinite(flat)) or np.any(np.abs(self._data.ctrl) > mujoco.mjMAXVAL):
            self._refuse()
        self._known = flat
        return True

    def hand_over(self, world: World) -> None:
        """Copy the inputs into a world's current state, and into the data that it works with."""
        data = self._data
        current = world.current.table
        delivered = world.delivered
        if not (
            np.array_equal(current.qpos, data.qpos) and np.array_equal(current.qvel, data.qvel)
        ):
            # No step has led to this state.
            delivered.origin = NOTHING
        elif delivered.origin == SOLVED:
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
            scratch.ctrl[:] = data.ctrl
            scratch.qfrc_applied[:] = data.qfrc_applied
            scratch.xfrc_applied[:] = data.xfrc_applied
            scratch.mocap_pos[:] = data.mocap_pos
            scratch.mocap_quat[:] = data.mocap_quat
            scratch.eq_active[:] = data.eq_active
            wake(self._model, scratch)

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
            values = getattr(self._data, name)
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
