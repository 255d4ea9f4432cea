"""Trajectories: states of a simulation over time."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from asperity.arguments import as_array
from asperity.errors import ArgumentError, Status
from asperity.shown import Shown
from asperity.simulator.current_contacts import Contacts
from asperity.simulator.interpolation import interpolate
from asperity.simulator.report import Statistics
from asperity.simulator.trajectory_file import read_fields, write_fields

__all__ = ["Trajectory"]


@dataclass
class Trajectory(Shown):
    """States of a simulation over time.

    Parameters
    ----------
    model : mujoco.MjModel
    time : ndarray, shape (n,)
        [s], increasing.
    qpos, qvel : ndarray, shapes (n, nq) and (n, nv)
    status : Status
        How the simulation ended; `message` says it in a sentence.
    stats : Statistics
    contacts : list of Contacts
        Contacts with forces at every time, if they were asked for.
    message : str
    ctrl : ndarray, shape (n, nu)
        Controls from each time on; those of the last time are those that led there.
    t_events : list of ndarray
        Times [s] at which each event occurred, if events were asked for.
    """

    model: mujoco.MjModel
    time: np.ndarray
    qpos: np.ndarray
    qvel: np.ndarray
    status: Status
    stats: Statistics
    contacts: list[Contacts] = field(default_factory=list)
    message: str = ""
    ctrl: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    t_events: list[np.ndarray] = field(default_factory=list)

    @property
    def success(self) -> bool:
        """`Status.success` of its status: whether it ended as was asked."""
        return self.status.success

    def at(self, times: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Interpolate between samples (dense output).

        Positions follow a cubic Hermite curve in the tangent space, limited so that no coordinate
        overshoots between two samples: an impact inside a step stays inside it.

        Parameters
        ----------
        times : array_like, shape (m,)
            [s], within the trajectory.

        Returns
        -------
        qpos, qvel : ndarray, shapes (m, nq) and (m, nv)
        """
        times = np.atleast_1d(as_array("times", times))
        slack = 1e-9 * max(1.0, abs(self.time[-1]))
        if not np.all((times >= self.time[0] - slack) & (times <= self.time[-1] + slack)):
            raise ArgumentError(
                f"times must lie within the trajectory, {self.time[0]} to {self.time[-1]} s."
            )
        return interpolate(self.model, self.time, self.qpos, self.qvel, times)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write everything, the model included, to an ``.npz`` file, which `load` reads.

        Its arrays have the names of the fields; those of contacts, which follow one another, begin
        with ``contact_``, and ``contact_start[i]`` is the first of time i. A file that is there is
        replaced only once the new one is complete.

        Raises
        ------
        ArgumentError
            If the name does not end in ``.npz``.
        OSError
            If the file cannot be written; one that was there has not changed.
        """
        path = Path(path)
        if path.suffix != ".npz":
            raise ArgumentError(f"{path}: trajectories are saved as .npz files.")
        write_fields(**{**vars(self), "path": path})
        return path

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, model: mujoco.MjModel | None = None
    ) -> Trajectory:
        """Read what `save` has written.

        Parameters
        ----------
        path : path
            The ``.npz`` file.
        model : mujoco.MjModel, optional
            Instead of the one in the file, which only the version of MuJoCo that wrote it reads.

        Raises
        ------
        ArgumentError
            If the file is not one of a trajectory, or its model cannot be read here.
        """
        return cls(**read_fields(path, model))
