"""A whole simulation as one call."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from asperity.arguments import as_array
from asperity.errors import ArgumentError, OnFailure, Status, check_on_failure, failure
from asperity.integrators import Integrator
from asperity.plant.model.contact_parameters import ContactParameters
from asperity.simulator.current_contacts import Contacts
from asperity.simulator.events import Event, EventFinder, EventReached, check_events
from asperity.simulator.progress import shown
from asperity.simulator.recorder import Recorder
from asperity.simulator.session import Control
from asperity.simulator.simulator import Progress, Simulator
from asperity.simulator.trajectory import Trajectory
from asperity.systems import ExternalSystem

__all__ = ["simulate"]


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
    data: mujoco.MjData | None = None,
    save_at: Sequence[float] | np.ndarray | None = None,
    contact_forces: bool = False,
    events: Event | Sequence[Event] = (),
    joint_stiction_tolerance: float | None = None,
    systems: Sequence[ExternalSystem] = (),
    publish: Literal["eager", "lazy"] = "eager",
    threads: int | None = 1,
    history: int | bool = False,
    sensors: bool = False,
    progress: Progress = None,
    on_failure: OnFailure = "raise",
) -> Trajectory:
    """Simulate a model over a time span.

    Parameters
    ----------
    model, integrator, contact, control, control_period, keyframe, qpos, qvel, ctrl, data,
    joint_stiction_tolerance, systems, publish, threads, history
        As for `Simulator`.
    t_span : tuple of float
        Begin and end [s].
    save_at : sequence of float, optional
        Times to return; the steps do not stop there, the states are interpolated. By default every
        accepted step is returned.
    contact_forces : bool
        Record contacts and their forces at every time of ``save_at``, which makes the steps end
        there.
    sensors : bool
        Record sensors, and what external systems exert, at every time of ``save_at``, which makes
        the steps end there.
    events : function or sequence of functions, optional
        As those of `scipy.integrate.solve_ivp`, but of a simulator: ``event(sim) -> float`` is zero
        at the event. With ``event.terminal = True``, or a number of times, it ends the simulation;
        with ``event.direction`` positive or negative only zeros count at which it increases or
        decreases. They are checked after every accepted step and located in the interpolated states
        within it, to round-off of the time; ``t_events`` has their times. ``sim`` is a copy in that
        state, and changing it has no effect. Its muscles and external systems have the states of
        the step's end.
    progress : bool or callable, optional
        See `Simulator.advance_to`.
    on_failure : str
        ``"return"`` returns a trajectory up to a failure, whose status says what it was.

    Returns
    -------
    Trajectory
        Up to the end, a terminal event (``Status.EVENT``) or an interrupt
        (``Status.INTERRUPTED``).

    Raises
    ------
    ArgumentError, ModelError
        If the model or an argument cannot be used.
    SimulationError
        If the simulation stops before the end, with ``on_failure="raise"``. Its ``trajectory`` is
        the one until then.
    """
    check_on_failure(on_failure)
    span = as_array("t_span", t_span)
    if span.shape != (2,):
        raise ArgumentError(f"t_span must be (begin, end) [s], got {t_span!r}.")
    begin, end = float(span[0]), float(span[1])
    if not (np.isfinite(begin) and np.isfinite(end) and end >= begin):
        raise ArgumentError(f"t_span {t_span} must be finite and not decreasing.")
    times = None if save_at is None else as_array("save_at", save_at).ravel()
    if times is not None and (
        len(times) == 0
        or not np.all(np.isfinite(times))
        or np.any(np.diff(times) < 0)
        or times[0] < begin
        or times[-1] > end
    ):
        raise ArgumentError("save_at must be finite, increasing and within t_span.")
    for name, wanted in (("contact_forces", contact_forces), ("sensors", sensors)):
        if wanted and times is None:
            raise ArgumentError(f"{name} needs save_at, the times at which to record them.")
    looked_for = check_events(events)
    simulator = Recorder(
        model,
        integrator=integrator,
        contact=contact,
        control=control,
        control_period=control_period,
        keyframe=keyframe,
        qpos=qpos,
        qvel=qvel,
        ctrl=ctrl,
        data=data,
        joint_stiction_tolerance=joint_stiction_tolerance,
        systems=systems,
        publish=publish,
        threads=threads,
        history=history,
    )
    simulator.data.time = begin
    simulator.session.start_clocks(begin)
    simulator.start_record()
    if looked_for:
        simulator.advance_to(begin, on_failure="return")
        simulator.events = EventFinder(simulator, looked_for)
    samples = _Samples(contact_forces, sensors)
    stops = [end] if times is None or not samples.wanted else [float(time) for time in times]
    with shown(progress, end) as each:
        status, message = _advance(simulator, stops, end, samples, each)
    steps, act = simulator.record(), simulator.activations()
    accepted = steps[0]
    if simulator.events is not None and simulator.events.end is not None:
        steps = _ended(steps, *simulator.events.end)
    trajectory = Trajectory(
        simulator.model, *steps, status, simulator.stats, samples.contacts, message
    )
    trajectory.sensordata = np.array(samples.sensordata).reshape(
        len(samples.sensordata), simulator.model.nsensordata if sensors else 0
    )
    trajectory.system_outputs = [np.array(every) for every in zip(*samples.outputs, strict=True)]
    if history:
        trajectory.history = simulator.history
    if simulator.events is not None:
        trajectory.t_events = [np.array(found) for found in simulator.events.times]
    if times is not None:
        reached = times[times <= trajectory.time[-1] * (1 + 1e-12) + 1e-12]
        trajectory.qpos, trajectory.qvel = trajectory.at(reached)
        trajectory.time = reached
    trajectory.ctrl = simulator.controls_at(trajectory.time)
    # What was reached last; round-off of a sum is none of a step.
    last = np.searchsorted(accepted, trajectory.time * (1 + 1e-12) + 1e-12, side="right") - 1
    last = np.clip(last, 0, len(act) - 1)
    trajectory.act, trajectory.plastic = act[last], simulator.plasticity()[last]
    if on_failure == "raise" and not status.success and status != Status.INTERRUPTED:
        error = failure(status, simulator.time, message)
        error.trajectory = trajectory
        raise error
    return trajectory


_Steps = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass
class _Samples:
    """What is recorded at times at which steps end."""

    contact_forces: bool
    sensors: bool
    contacts: list[Contacts] = field(default_factory=list)
    sensordata: list[np.ndarray] = field(default_factory=list)
    outputs: list[list[np.ndarray]] = field(default_factory=list)

    @property
    def wanted(self) -> bool:
        return self.contact_forces or self.sensors

    def take(self, simulator: Simulator) -> None:
        """Record the present state's."""
        if self.contact_forces:
            self.contacts.append(simulator.contacts)
        if self.sensors:
            self.sensordata.append(simulator.data.sensordata.copy())
            self.outputs.append([simulator.system_output(one) for one in simulator.systems])


def _advance(
    simulator: Recorder,
    stops: list[float],
    end: float,
    samples: _Samples,
    progress: Callable[[Simulator], None] | None,
) -> tuple[Status, str]:
    """Advance to the end, and on the way to times at which something is recorded."""
    try:
        for stop in stops:
            report = simulator.advance_to(stop, progress=progress, on_failure="return")
            if not report.success:
                break
            if samples.wanted:
                samples.take(simulator)
        if report.success and simulator.time < end:
            report = simulator.advance_to(end, progress=progress, on_failure="return")
        return report.status, report.message
    except KeyboardInterrupt:
        return Status.INTERRUPTED, Status.INTERRUPTED.message
    except EventReached:
        return Status.EVENT, Status.EVENT.message


def _ended(steps: _Steps, time: float, qpos: np.ndarray, qvel: np.ndarray) -> _Steps:
    """Steps up to an event, with the state in which it occurred as the last."""
    count = int(np.searchsorted(steps[0], time))
    kept = (part[:count] for part in steps)
    times, all_qpos, all_qvel = kept
    return (
        np.append(times, time),
        np.concatenate([all_qpos, qpos[None]]),
        np.concatenate([all_qvel, qvel[None]]),
    )
