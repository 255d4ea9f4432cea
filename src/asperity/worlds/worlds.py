"""What all kinds of worlds have: a model that may change, and what is said about contacts."""

from __future__ import annotations

import abc

import mujoco
import numpy as np

from asperity.compiled import HoldsAddresses
from asperity.integrators import Integrator
from asperity.plant.model.contact_parameters import ContactParameters
from asperity.plant.model.model_watch import ModelWatch
from asperity.simulator.model_changes import accept_changes
from asperity.systems import ExternalSystem
from asperity.worlds.crew import Crew

__all__ = ["Worlds"]


class Worlds(HoldsAddresses, abc.ABC):
    """Worlds of one model.

    Parameters
    ----------
    model : mujoco.MjModel
    integrator : Integrator
    contact : ContactParameters
    joint_stiction_tolerance : float
    crew : Crew
    """

    have_models = False
    """Whether every world has a whole model of its own, once fields vary."""

    def __init__(
        self,
        model: mujoco.MjModel,
        integrator: Integrator,
        contact: ContactParameters,
        joint_stiction_tolerance: float,
        crew: Crew,
    ) -> None:
        self._model, self._crew = model, crew
        self._integrator, self._contact = integrator, contact
        self._tolerance = joint_stiction_tolerance
        # Of the shared model, unless simulators look at it themselves.
        self._watch: ModelWatch | None = None
        self._other_contact = False

    @property
    def contact(self) -> ContactParameters:
        """Contact parameters that all worlds share."""
        return self._contact

    @property
    @abc.abstractmethod
    def notes(self) -> tuple[str, ...]:
        """Sentences on what is ignored or unusual, once rows were adopted."""

    def follow_model(self) -> bool:
        """Take over what the user has changed in the model.

        Returns
        -------
        bool
            Whether rows are to be adopted again, and fields that vary to be written again.

        Raises
        ------
        ModelError
            If it is another mechanism now, or cannot be simulated; nothing has then changed.
        """
        if self._watch is None or not self._watch.changed():
            again, self._other_contact = self._other_contact, False
            return again
        accept_changes(self._watch, self._model, self._integrator, many=True)
        self._take_model()
        self._watch.remember()
        self._other_contact = False
        return True

    @property
    def systems(self) -> tuple[tuple[ExternalSystem, ...], ...]:
        """External systems by world."""
        return ()

    @property
    def system_states(self) -> list[np.ndarray]:
        """States of every external system, shape (n, number of states), which users write."""
        return []

    @abc.abstractmethod
    def _take_model(self) -> None:
        """Take over the model as it is."""
