"""Forces of a surrounding fluid, as MuJoCo has them, on links in the engine's state.

They are those of a step's beginning. That is stable as long as a step changes velocities through
them by less than their own size, as it must be in MuJoCo's explicit integrators.
"""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.midas.reduced_evaluation import ReducedEvaluation
from asperity.plant.own_options import OwnOptions

__all__ = ["Fluid"]


class Fluid:
    """The fluid of a model.

    Parameters
    ----------
    model : mujoco.MjModel
    options : OwnOptions
        The model's.
    """

    def __init__(self, model: mujoco.MjModel, options: OwnOptions) -> None:
        self._model = model
        self._evaluation = ReducedEvaluation(model, options)

    @property
    def is_there(self) -> bool:
        """Whether the model has a fluid, and something that moves in it."""
        option = self._model.opt
        return bool(self._model.nv) and (option.density > 0.0 or option.viscosity > 0.0)

    def forces(self, qpos: NDArray[np.float64], qvel: NDArray[np.float64]) -> NDArray[np.float64]:
        """Generalized forces at a state, shape (nv,)."""
        return np.array(self._evaluation.at(qpos, qvel).qfrc_fluid)
