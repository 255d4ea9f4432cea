"""MuJoCo's positions and velocities at the engine's state, without contacts and constraints."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.plant.model.own_options import OwnOptions
from asperity.plant.model.sleep import awake_data

__all__ = ["ReducedEvaluation"]

_OFF = int(mujoco.mjtDisableBit.mjDSBL_CONTACT) | int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)


class ReducedEvaluation:
    """Evaluations of a model in data of its own.

    Parameters
    ----------
    model : mujoco.MjModel
    options : OwnOptions
        The model's.
    """

    def __init__(self, model: mujoco.MjModel, options: OwnOptions) -> None:
        self._model, self._options = model, options
        self._data: mujoco.MjData | None = None

    def at(self, qpos: NDArray[np.float64], qvel: NDArray[np.float64]) -> mujoco.MjData:
        """All that follows from positions and velocities of a state."""
        if self._data is None:
            self._data = awake_data(self._model)
        data = self._data
        data.qpos[:], data.qvel[:] = qpos, qvel
        with self._options as lent:
            lent.opt.disableflags |= _OFF
            mujoco.mj_fwdPosition(lent, data)
            mujoco.mj_fwdVelocity(lent, data)
        return data
