"""What a benchmark asks of an engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, dataclass
from typing import Protocol

import numpy as np

from studies.benchmarks.scene import Scene


@dataclass(frozen=True)
class Setting:
    """How to integrate.

    Attributes
    ----------
    method
        The engine's name of the method; see each engine's module.
    time_step
        Of fixed-step methods [s].
    accuracy
        Of error-controlled methods (dimensionless; local error in positions).
    max_step
        Largest step of error-controlled methods [s].
    """

    method: str
    time_step: float | None = None
    accuracy: float | None = None
    max_step: float = 0.1

    def fixed(self) -> float:
        """The time step [s], or an error that says it is missing."""
        if self.time_step is None:
            raise ValueError(f"{self.method} needs a time step")
        return self.time_step

    def controlled(self) -> float:
        """The accuracy, or an error that says it is missing."""
        if self.accuracy is None:
            raise ValueError(f"{self.method} needs an accuracy")
        return self.accuracy


@dataclass(frozen=True)
class Counters:
    """Work done since the start; None where the engine does not tell."""

    steps: int | None = None
    rejections: int | None = None
    iterations: int | None = None
    factorizations: int | None = None
    line_search_evaluations: int | None = None

    def since(self, start: Counters) -> Counters:
        """Work done after ``start`` was read."""
        pairs = zip(astuple(self), astuple(start), strict=True)
        return Counters(*(None if a is None or b is None else a - b for a, b in pairs))


@dataclass(frozen=True)
class BodyStates:
    """State of the free bodies in the order of the description, in world axes.

    ``position`` [m], (n, 3); ``quaternion`` (w, x, y, z), (n, 4); ``linear_velocity`` of the
    centres [m/s], (n, 3); ``angular_velocity`` [rad/s], (n, 3).
    """

    position: np.ndarray
    quaternion: np.ndarray
    linear_velocity: np.ndarray
    angular_velocity: np.ndarray


class Run(Protocol):
    """One simulation, ready to go."""

    def advance(self, time: float) -> None:
        """Simulate up to ``time`` [s]. This, and nothing else, is what gets timed."""

    def counters(self) -> Counters:
        """Work done so far."""

    def states(self) -> BodyStates:
        """Where the bodies are now."""

    def own_penetration(self) -> float | None:
        """Deepest overlap that the engine itself sees now [m]; None if it does not tell."""


Prepare = Callable[[Scene, Setting], Run]
