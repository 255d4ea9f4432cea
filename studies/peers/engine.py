"""An engine with one model in it, ready to go: the same few questions for every engine.

``studies/peers/NAME.py`` has the class of an engine, and what simulates verification's worlds.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from dataclasses import astuple, dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Control", "Counters", "Effort", "Engine", "effort"]

Floats = NDArray[np.float64]
Control = Callable[[float], Floats]
"""Controls of the actuators at a time [s], held for a step."""


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


class Engine(Protocol):
    """One simulation."""

    def advance(self, time: float) -> None:
        """Simulate up to ``time`` [s]. This, and nothing else, is what gets timed."""

    def counters(self) -> Counters:
        """Work done so far."""

    def state(self) -> tuple[Floats, Floats]:
        """``qpos`` and ``qvel`` of the model."""

    def overlap(self) -> float:
        """Deepest overlap that the engine itself sees now [m]."""


class Effort(NamedTuple):
    """What a simulation took."""

    cpu_time: float
    """[s]."""
    steps: int | None
    iterations: int | None
    overlap: float
    """The deepest at the samples [m]."""


def effort(
    make: Callable[[], Engine],
    duration: float,
    sample: float,
    progress: Callable[[float], None] = lambda share: None,
) -> Effort:
    """Simulate twice: at once, which is timed, and in samples [s], which cut steps.

    What has to be compiled is compiled before.
    """
    make().advance(1e-3)
    engine = make()
    before = clock.process_time()
    engine.advance(duration)
    spent = clock.process_time() - before
    progress(0.5)
    looked = make()
    deepest = 0.0
    stops = sample * np.arange(1, round(duration / sample) + 1)
    for i, stop in enumerate(map(float, stops)):
        looked.advance(stop)
        deepest = max(deepest, looked.overlap())
        progress(0.5 + 0.5 * (i + 1) / len(stops))
    work = engine.counters()
    iterations = work.iterations
    if iterations is None and looked.counters().steps == work.steps:
        iterations = looked.counters().iterations
    return Effort(spent, work.steps, iterations, deepest)
