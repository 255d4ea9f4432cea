"""A simulation with a progress bar, and what is worth telling about it afterwards."""

from __future__ import annotations

import math
import time as clock
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from asperity.cli.contact_quality import MOST_STATES, ContactQuality, measure_contacts
from asperity.cli.interrupts import deferred_interrupt
from asperity.cli.progress import progress_lines
from asperity.errors import Status
from asperity.simulator import Recorder, Simulator, Trajectory

__all__ = ["Run", "format_step", "run"]


_QUICKLY = 50


@dataclass(frozen=True)
class Run:
    """A finished, failed or interrupted simulation.

    Parameters
    ----------
    trajectory : Trajectory
        Every accepted step, or those of the last part if it was saved in parts.
    begin : float
        Time at the beginning [s].
    contacts : ContactQuality
    energy_begin, energy_end : float
        Kinetic and potential energy [J].
    """

    trajectory: Trajectory
    begin: float
    contacts: ContactQuality
    energy_begin: float
    energy_end: float

    @property
    def step_sizes(self) -> np.ndarray:
        """Sizes of the accepted steps [s], shape (n − 1,)."""
        return np.diff(self.trajectory.time)

    @property
    def rate(self) -> float:
        """Simulated time over wall time."""
        elapsed = float(self.trajectory.time[-1]) - self.begin
        return elapsed / max(self.trajectory.stats.wall_time, 1e-9)


def format_step(step: float) -> str:
    """A step size with a unit that suits it."""
    if step < 1e-3:
        return f"{1e6 * step:.3g} µs"
    return f"{1e3 * step:.3g} ms"


def run(
    simulator: Recorder,
    duration: float,
    console: Console,
    *,
    every: float | None = None,
    save: Callable[[Trajectory], None] | None = None,
    most_bytes: float = math.inf,
) -> Run:
    """Advance a simulator by a duration [s].

    With ``every`` and ``save``, parts of about so much simulated time [s] are saved and forgotten
    on the way, so that memory does not grow. Each begins with the state that ended the one before.
    Parts of ``most_bytes`` are forgotten, too, and saved if there is ``save``.

    Ctrl-C or SIGTERM ends it early, and what was computed is kept.

    The bar is redrawn at the simulator's own returns to Python, so error control never shortens a
    step for it.
    """
    begin = simulator.time
    energy_begin = sum(simulator.energy())
    simulator.start_record()
    saved = begin
    status, message = Status.SUCCESS, Status.SUCCESS.message
    bar = Progress(
        TextColumn("Simulating"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.completed:.2f} of {task.total:.4g} s · {task.fields[detail]}"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    line = progress_lines("Simulating", console)
    with deferred_interrupt() as interrupt, bar:
        task = bar.add_task("", total=duration, detail="")
        started = clock.perf_counter()

        def progress(current: Simulator) -> None:
            done = current.time - begin
            rate = done / max(clock.perf_counter() - started, 1e-9)
            detail = f"{rate:.2g} × real time · step {format_step(current.step_size)}"
            bar.update(task, completed=done, detail=detail)
            if not console.is_terminal:
                line(done / duration)
            nonlocal saved
            due = every is not None and current.time - saved >= every
            if due or simulator.kept_bytes > most_bytes:
                saved = current.time
                if save is not None:
                    save(_trajectory(simulator, Status.SUCCESS, "The next file goes on."))
                simulator.forget_record()
            interrupt.check()

        try:
            report = simulator.advance_to(begin + duration, progress=progress, on_failure="return")
            status, message = report.status, report.message
        except KeyboardInterrupt:
            status, message = Status.INTERRUPTED, Status.INTERRUPTED.message
    energy_end = sum(simulator.energy())
    trajectory = _trajectory(simulator, status, message)
    if simulator.session.history is not None:
        trajectory.history = simulator.history
    # Who interrupts does not want to wait.
    most = _QUICKLY if status == Status.INTERRUPTED else MOST_STATES
    with console.status("Looking at the contacts …"):
        contacts = measure_contacts(simulator, trajectory, most)
    return Run(trajectory, begin, contacts, energy_begin, energy_end)


def _trajectory(simulator: Recorder, status: Status, message: str) -> Trajectory:
    """What was recorded."""
    steps = simulator.record()
    trajectory = Trajectory(simulator.model, *steps, status, simulator.stats, [], message)
    trajectory.ctrl = simulator.controls_at(trajectory.time)
    trajectory.act, trajectory.plastic = simulator.activations(), simulator.plasticity()
    return trajectory
