"""Simulations that must succeed, and shares of progress."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

import numpy as np

from asperity.errors import SimulationError, Status
from asperity.simulator import Simulator, Trajectory
from studies.experiments.registry import Progress

__all__ = ["advance", "part", "require", "sampled", "tracked"]

T = TypeVar("T")


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


def sampled(
    simulator: Simulator, times: Sequence[float] | np.ndarray, progress: Progress
) -> Iterator[float]:
    """Advance from one time to the next [s], and yield each of them when it is reached.

    Raises
    ------
    SimulationError
        If the simulation ends earlier.
    """
    for i, time in enumerate(map(float, times)):
        advance(simulator, time, lambda share: None)
        yield time
        progress((i + 1) / len(times))


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
