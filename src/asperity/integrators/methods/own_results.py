"""Results of a method's last step, as publication reads them."""

from __future__ import annotations

import abc
import contextlib
from contextlib import AbstractContextManager

import mujoco

from asperity.compiled import HoldsAddresses, Table

__all__ = ["OwnResults"]


class OwnResults(HoldsAddresses, abc.ABC):
    """Results of the last step, as `asperity.simulator` publishes them.

    Parameters
    ----------
    model : mujoco.MjModel
    """

    margin: float = 0.0
    """Distance below which contacts push [m]."""

    def __init__(self, model: mujoco.MjModel) -> None:
        self.model = model

    @property
    @abc.abstractmethod
    def delivered(self) -> Table:
        """What the step has delivered (`asperity.contact.delivered`)."""

    def options(self) -> AbstractContextManager[mujoco.MjModel]:
        """The model with the options with which MuJoCo shall derive quantities."""
        return contextlib.nullcontext(self.model)

    @abc.abstractmethod
    def evaluate(self, model: mujoco.MjModel, data: mujoco.MjData) -> int:
        """Everything that follows from positions, but contacts and rows; returns a code."""

    @abc.abstractmethod
    def write_actuation(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        """Forces of actuators."""

    @abc.abstractmethod
    def write_accelerations(self, data: mujoco.MjData) -> None:
        """Fill ``qacc`` and ``qacc_warmstart``.

        ``qfrc_constraint`` is the generalized force of ``efc_force``.
        """

    def further_forces(self, data: mujoco.MjData) -> AbstractContextManager[None]:
        """Let forces that have no rows act on bodies, for sensors of force and torque."""
        return contextlib.nullcontext()
