"""Simulations that must succeed, what is seen of them, and shares of progress."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from asperity.errors import SimulationError, Status
from asperity.simulator import Simulator, Trajectory

__all__ = ["Look", "Notes", "Progress", "Samples", "advance", "part", "require", "tracked", "watch"]

T = TypeVar("T")

Progress = Callable[[float], None]
"""Called with the share of the work that is done, in [0, 1]; it may raise KeyboardInterrupt."""


def part(progress: Progress, begin: float, end: float) -> Progress:
    """Progress of a part of the work, which lies between two shares of the whole."""
    return lambda share: progress(begin + (end - begin) * share)


def tracked(items: Iterable[T], progress: Progress) -> Iterator[tuple[T, Progress]]:
    """Every item with its equal part of the progress."""
    listed = list(items)
    for i, item in enumerate(listed):
        progress(i / len(listed))
        yield item, part(progress, i / len(listed), (i + 1) / len(listed))
    progress(1.0)


def advance(simulator: Simulator, time: float, progress: Progress) -> None:
    """Advance to a time [s].

    Raises
    ------
    SimulationError
        If the simulation ends earlier.
    """
    begin = simulator.time

    def report(current: Simulator) -> None:
        progress((current.time - begin) / max(time - begin, 1e-12))

    simulator.advance_to(time, progress=report)


Look = Callable[[Simulator], Any]
"""What is noted of a simulator."""


@dataclass(frozen=True)
class Samples:
    """What was seen of a simulation.

    Parameters
    ----------
    simulator : Simulator
        At the end.
    time : ndarray, shape (n,)
        [s].
    cpu : ndarray, shape (n,)
        CPU time spent in the simulator until then [s].
    seen : mapping of str to ndarray, shape (n, ...)
        By the names of the looks, as ``samples["name"]`` has it, too.
    failure : str
        When and why the simulation ended early, if so.
    """

    simulator: Simulator
    time: np.ndarray
    cpu: np.ndarray
    seen: Mapping[str, np.ndarray]
    failure: str = ""

    def __getitem__(self, name: str) -> np.ndarray:
        return self.seen[name]


class Notes:
    """Notes what looks see, whenever it is called with a simulator."""

    def __init__(self, looks: Mapping[str, Look]) -> None:
        self._looks = looks
        self._rows: list[tuple[Any, ...]] = []

    def __call__(self, simulator: Simulator, cpu: float = 0.0) -> None:
        seen = (look(simulator) for look in self._looks.values())
        self._rows.append((simulator.time, cpu, *seen))

    def samples(self, simulator: Simulator, failure: str = "") -> Samples:
        """All of it."""
        columns = zip(*self._rows, strict=True) if self._rows else [()] * (2 + len(self._looks))
        time, cpu, *seen = map(np.array, columns)
        return Samples(simulator, time, cpu, dict(zip(self._looks, seen, strict=True)), failure)


def watch(
    simulator: Simulator,
    times: Sequence[float] | np.ndarray,
    looks: Mapping[str, Look],
    progress: Progress = lambda share: None,
    *,
    may_fail: bool = False,
) -> Samples:
    """Advance from one time to the next, and look at the simulator there.

    Parameters
    ----------
    simulator : Simulator
    times : sequence of float
        [s]; the present one gives the state as it is.
    looks : mapping of str to callable
        What is noted of the simulator, by name.
    progress : callable, optional
    may_fail : bool
        Whether a simulation that fails ends the samples.

    Raises
    ------
    SimulationError
        If it fails and may not.
    """
    notes = Notes(looks)
    spent, failure = 0.0, ""
    for i, time in enumerate(map(float, times)):
        started = clock.process_time()
        report = simulator.advance_to(time, on_failure="return" if may_fail else "raise")
        spent += clock.process_time() - started
        if not report.success:
            failure = f"{report.status.name} at {report.time:.2f} s"
            break
        notes(simulator, spent)
        progress((i + 1) / len(times))
    return notes.samples(simulator, failure)


def require(trajectory: Trajectory) -> Trajectory:
    """The trajectory, unless it was interrupted or failed.

    Raises
    ------
    KeyboardInterrupt, SimulationError
    """
    if trajectory.status == Status.INTERRUPTED:
        raise KeyboardInterrupt
    if not trajectory.success:
        raise SimulationError(trajectory.message)
    return trajectory
