"""Whole simulations as one call, and the trajectories they return."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from asperity.arguments import as_array
from asperity.errors import ModelError, Status
from asperity.integrators import Integrator
from asperity.plant.contact_parameters import ContactParameters
from asperity.simulator.checks import find_keyframe
from asperity.simulator.current_contacts import Contacts
from asperity.simulator.report import Statistics
from asperity.simulator.simulator import Control, Simulator
from asperity.simulator.trajectory_file import read_fields, write_fields
from asperity.systems import ExternalSystem

__all__ = ["Recorder", "Trajectory", "simulate"]


@dataclass
class Trajectory:
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

    @property
    def success(self) -> bool:
        """Whether the end of the time span was reached."""
        return self.status == Status.SUCCESS

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
            raise ModelError(
                f"times must lie within the trajectory, {self.time[0]} to {self.time[-1]} s."
            )
        qpos = np.empty((len(times), self.model.nq))
        qvel = np.empty((len(times), self.model.nv))
        delta = np.empty(self.model.nv)
        last = max(len(self.time) - 2, 0)
        for k, t in enumerate(times):
            i = min(max(int(np.searchsorted(self.time, t, side="right")) - 1, 0), last)
            j = min(i + 1, len(self.time) - 1)
            h = self.time[j] - self.time[i]
            qpos[k] = self.qpos[i]
            if h <= 0:
                qvel[k] = self.qvel[i]
                continue
            s = min(max((t - self.time[i]) / h, 0.0), 1.0)
            mujoco.mj_differentiatePos(self.model, delta, 1.0, self.qpos[i], self.qpos[j])
            low = np.minimum(0.0, 3.0 * delta)
            high = np.maximum(0.0, 3.0 * delta)
            start = np.clip(h * self.qvel[i], low, high)
            end = np.clip(h * self.qvel[j], low, high)
            move = s * s * (3 - 2 * s) * delta + s * (1 - s) ** 2 * start - s * s * (1 - s) * end
            mujoco.mj_integratePos(self.model, qpos[k], move, 1.0)
            qvel[k] = (1 - s) * self.qvel[i] + s * self.qvel[j]
        return qpos, qvel

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write everything, the model included, to an ``.npz`` file, which `load` reads.

        Its arrays have the names of the fields; those of contacts, which follow one another, begin
        with ``contact_``, and ``contact_start[i]`` is the first of time i. A file that is there is
        replaced only once the new one is complete.

        Raises
        ------
        ModelError
            If the name does not end in ``.npz``.
        OSError
            If the file cannot be written; one that was there has not changed.
        """
        path = Path(path)
        if path.suffix != ".npz":
            raise ModelError(f"{path}: trajectories are saved as .npz files.")
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
        ModelError
            If the file is not one of a trajectory, or its model cannot be read here.
        """
        return cls(**read_fields(path, model))


class Recorder(Simulator):
    """A simulator that keeps every accepted step, without making any step shorter.

    Takes what `Simulator` takes. Call `start_record` once, advance, and then `record`.
    """

    def start_record(self) -> None:
        """Forget what was kept, and keep the present state and every accepted step from here."""
        self._held = [(float(self.data.time), self.data.ctrl.copy())]
        self._parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        table = self.world.table
        table.records = 1
        table.record_time[0] = self.data.time
        table.record_qpos[0] = self.data.qpos
        table.record_qvel[0] = self.data.qvel

    def _flush(self) -> None:
        table = self.world.table
        n = int(table.records)
        self._parts.append(
            (
                table.record_time[:n].copy(),
                table.record_qpos[:n].copy(),
                table.record_qvel[:n].copy(),
            )
        )
        table.records = 0

    def _take_steps(self, end: float, budget: int) -> int:
        held = getattr(self, "_held", None)
        # Controls change in Python only, between calls of the loops.
        if held is not None and not np.array_equal(held[-1][1], self.data.ctrl):
            held.append((float(self.data.time), self.data.ctrl.copy()))
        return super()._take_steps(end, budget)

    def controls_at(self, times: np.ndarray) -> np.ndarray:
        """Controls from each time on, shape (n, nu); those of the last are what led there."""
        begins = [time for time, _ in self._held]
        # A step ends within round-off of the time at which the next control begins.
        slack = 1e-12 * np.maximum(1.0, np.abs(times))
        index = np.searchsorted(begins, times + slack, side="right") - 1
        return np.array([ctrl for _, ctrl in self._held])[np.maximum(index, 0)]

    def record(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Times, positions and velocities so far, shapes (n,), (n, nq) and (n, nv)."""
        self._flush()
        times, qpos, qvel = (np.concatenate(part) for part in zip(*self._parts, strict=True))
        return times, qpos, qvel


def simulate(
    model: str | os.PathLike[str] | mujoco.MjSpec | mujoco.MjModel,
    t_span: tuple[float, float],
    *,
    integrator: Integrator | None = None,
    contact: ContactParameters | None = None,
    control: Control | None = None,
    control_period: float | None = None,
    keyframe: int | str | None = None,
    qpos: ArrayLike | None = None,
    qvel: ArrayLike | None = None,
    ctrl: ArrayLike | None = None,
    save_at: Sequence[float] | np.ndarray | None = None,
    contact_forces: bool = False,
    joint_stiction_tolerance: float = 1e-3,
    systems: Sequence[ExternalSystem] = (),
    progress: Callable[[Simulator], None] | None = None,
) -> Trajectory:
    """Simulate a model over a time span.

    Parameters
    ----------
    model, integrator, contact, control, control_period, joint_stiction_tolerance, systems
        As for `Simulator`.
    t_span : tuple of float
        Begin and end [s].
    keyframe : int or str, optional
        Initial state from the model.
    qpos, qvel, ctrl : array_like, optional
        Initial state and controls, over those of model and keyframe.
    save_at : sequence of float, optional
        Times to return; the steps do not stop there, the states are interpolated. By default every
        accepted step is returned.
    contact_forces : bool
        Record contacts and their forces at every time of ``save_at``, which makes the steps end
        there.
    progress : callable, optional
        See `Simulator.advance_to`.

    Returns
    -------
    Trajectory
        Up to the end, a failure (see its status) or an interrupt (``Status.INTERRUPTED``).

    Raises
    ------
    ModelError
        If the model or an argument cannot be used.
    """
    span = as_array("t_span", t_span)
    if span.shape != (2,):
        raise ModelError(f"t_span must be (begin, end) [s], got {t_span!r}.")
    begin, end = float(span[0]), float(span[1])
    if not (np.isfinite(begin) and np.isfinite(end) and end >= begin):
        raise ModelError(f"t_span {t_span} must be finite and not decreasing.")
    times = None if save_at is None else as_array("save_at", save_at).ravel()
    if times is not None and (
        len(times) == 0
        or not np.all(np.isfinite(times))
        or np.any(np.diff(times) < 0)
        or times[0] < begin
        or times[-1] > end
    ):
        raise ModelError("save_at must be finite, increasing and within t_span.")
    if contact_forces and times is None:
        raise ModelError("contact_forces needs save_at, the times at which to record them.")
    simulator = Recorder(
        model,
        integrator=integrator,
        contact=contact,
        control=control,
        control_period=control_period,
        joint_stiction_tolerance=joint_stiction_tolerance,
        systems=systems,
    )
    data = simulator.data
    if keyframe is not None:
        simulator.reset(find_keyframe(simulator.model, keyframe))
    for name, values in (("qpos", qpos), ("qvel", qvel), ("ctrl", ctrl)):
        if values is not None:
            target = getattr(data, name)
            array = as_array(name, values)
            if array.shape != target.shape:
                raise ModelError(f"{name} must have shape {target.shape}, got {array.shape}.")
            target[:] = array
    data.time = begin
    simulator._start_control(begin)
    simulator.start_record()
    status = Status.SUCCESS
    message = status.message
    contacts: list[Contacts] = []
    try:
        stops = times if contact_forces and times is not None else np.array([end])
        for stop in stops:
            report = simulator.advance_to(float(stop), progress=progress)
            status, message = report.status, report.message
            if not report.success:
                break
            if contact_forces:
                contacts.append(simulator.contacts)
        if contact_forces and status == Status.SUCCESS and simulator.time < end:
            report = simulator.advance_to(end, progress=progress)
            status, message = report.status, report.message
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
        message = status.message
    steps = simulator.record()
    trajectory = Trajectory(simulator.model, *steps, status, simulator.stats, contacts, message)
    if times is not None:
        reached = times[times <= trajectory.time[-1] * (1 + 1e-12) + 1e-12]
        trajectory.qpos, trajectory.qvel = trajectory.at(reached)
        trajectory.time = reached
    trajectory.ctrl = simulator.controls_at(trajectory.time)
    return trajectory
