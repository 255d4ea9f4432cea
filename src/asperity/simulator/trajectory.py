"""Trajectories: states of a simulation over time."""

from __future__ import annotations

import copy
import itertools
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from asperity.arguments import as_array
from asperity.errors import ArgumentError, Status
from asperity.plant.model.names import described
from asperity.shown import Shown
from asperity.simulator.columns import data_frame
from asperity.simulator.current_contacts import Contacts
from asperity.simulator.history import History
from asperity.simulator.interpolation import interpolate
from asperity.simulator.plots import plot_series
from asperity.simulator.report import Statistics
from asperity.simulator.trajectory_columns import columns_of
from asperity.simulator.trajectory_file import read_fields, write_fields

__all__ = ["Trajectory"]

# What has a row for each time, and what has lists.
_ROWS = ("time", "qpos", "qvel", "ctrl", "act", "plastic", "sensordata")
_LISTS = ("contacts", "system_outputs", "t_events")


@dataclass(repr=False)
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
    act : ndarray, shape (n, na)
        Activations of actuators; between accepted steps they are those of the step before.
    plastic : ndarray, shape (n, nplastic)
        What flexes have yielded, as in ``MjData``; between accepted steps as activations. Of shape
        (n, 0) where none yields.
    sensordata : ndarray, shape (n, nsensordata)
        Readings of sensors at every time, if they were asked for; otherwise of shape (0, 0).
    system_outputs : list of ndarray
        What each external system exerts at every time [N, Nm], shape (n, outputs), with the
        sensors.
    history : History or None
        What attempted steps were, if it was asked for.
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
    act: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    plastic: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    sensordata: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    system_outputs: list[np.ndarray] = field(default_factory=list)
    history: History | None = None

    def __repr__(self) -> str:
        span = f" from {self.time[0]:.6g} to {self.time[-1]:.6g} s" if len(self.time) else ""
        states = f"{len(self.time)} states of {described(self.model)}{span}"
        return f"<Trajectory of {states}, {self.status.name}>"

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

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` of times, states, controls and sensors, by the model's names.

        Columns of one name are numbered: the joints of a flex's vertex are ``cloth_0.0`` to
        ``cloth_0.2``.

        Raises
        ------
        MissingExtra
            If pandas is not installed.
        """
        groups = columns_of(self.model, self)
        series = {name: values for group in groups.values() for name, values in group.items()}
        return data_frame({"time": self.time, **series})

    def plot(self) -> Any:
        """A ``matplotlib`` figure of positions, velocities, controls and sensors over time.

        ``trajectory.history.plot()`` draws what steps were.

        Raises
        ------
        MissingExtra
            If matplotlib is not installed.
        """
        return plot_series(self.time, columns_of(self.model, self))

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        model: Literal["inside", "beside", "omitted"] = "inside",
    ) -> Path:
        """Write everything to an ``.npz`` file, which `load` reads.

        Parameters
        ----------
        path : path
        model : {"inside", "beside", "omitted"}
            Where the model goes: into the file, beside it or nowhere. The file beside it is named
            after its content and serves all trajectories of a model. An omitted model must be given
            to `load`.

        Its arrays have the names of the fields; those of contacts, which follow one another, begin
        with ``contact_``, and ``contact_start[i]`` is the first of time i. A file that is there is
        replaced only once the new one is complete.

        Raises
        ------
        ArgumentError
            If the name does not end in ``.npz``, or the place of the model is another one.
        OSError
            If the file cannot be written; one that was there has not changed.
        """
        path = Path(path)
        if path.suffix != ".npz":
            raise ArgumentError(f"{path} does not end in .npz; name it '{path.stem}.npz'.")
        if model not in ("inside", "beside", "omitted"):
            raise ArgumentError(f"model must be 'inside', 'beside' or 'omitted', got {model!r}.")
        write_fields(**{**vars(self), "path": path, "place": model})
        return path

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, model: mujoco.MjModel | None = None
    ) -> Trajectory:
        """Read what `save` has written.

        Parameters
        ----------
        path : path
            The ``.npz`` file. A name with a star, such as ``"run.*.npz"``, means all parts of a
            run, one after the other. Each begins with the state that ended the one before.
        model : mujoco.MjModel, optional
            Instead of the one in the file, which only the version of MuJoCo that wrote it reads.

        Raises
        ------
        ArgumentError
            If the file is not one of a trajectory, its model cannot be read here, or files with a
            star are not the parts of one run.
        """
        path = Path(path)
        if "*" not in path.name:
            return cls(**read_fields(path, model))
        files = [file for file in path.parent.glob(path.name) if file.name[:6] != "model-"]
        if not files:
            raise ArgumentError(f"there is no file {path}; the parts of a run are NAME.*.npz.")
        parts: list[tuple[Path, Trajectory]] = []
        for file in files:
            parts.append((file, cls(**read_fields(file, model))))
            model = parts[0][1].model
        parts.sort(key=lambda part: (part[1].time[0], part[1].time[-1]))
        _check_parts(parts)
        return _joined([part for _, part in parts])


def _check_parts(parts: list[tuple[Path, Trajectory]]) -> None:
    """Refuse parts that do not begin where the one before ends, or that have other arrays."""
    for (before, one), (after, other) in itertools.pairwise(parts):
        if one.time[-1] != other.time[0] or not np.array_equal(one.qpos[-1], other.qpos[0]):
            raise ArgumentError(
                f"{after} does not begin with the state that ends {before}; load all parts of one "
                "run, and no others."
            )
        for name in (*_ROWS, *_LISTS):
            if (len(getattr(one, name)) == 0) != (len(getattr(other, name)) == 0):
                raise ArgumentError(
                    f"only one of {before} and {after} has {name}; load all parts of one run, and "
                    "no others."
                )


def _joined(parts: list[Trajectory]) -> Trajectory:
    """Parts of a run as one trajectory; the state between two of them is there once."""
    whole, last = copy.copy(parts[-1]), parts[-1]
    for name in _ROWS:
        rows = [getattr(part, name)[:-1] for part in parts[:-1]]
        setattr(whole, name, np.concatenate([*rows, getattr(last, name)]))
    whole.contacts = [one for part in parts[:-1] for one in part.contacts[:-1]] + last.contacts
    whole.system_outputs = [
        np.concatenate([*(rows[:-1] for rows in system[:-1]), system[-1]])
        for system in zip(*(part.system_outputs for part in parts), strict=True)
    ]
    whole.t_events = [
        np.concatenate(times) for times in zip(*(part.t_events for part in parts), strict=True)
    ]
    kept = [part.history for part in parts if part.history is not None]
    if kept:
        columns = {name: np.concatenate([one[name] for one in kept]) for name in kept[0]}
        whole.history = History(columns)
    return whole
