"""Steppings as integrators choose them: fixed steps, or error control.

This module imports no compiled code, so that presets can be looked at quickly.
"""

from __future__ import annotations

import abc
import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from asperity.compiled import EntryPoint, Kernel, Loop
    from asperity.integrators.methods.method import Method
    from asperity.integrators.world import World

__all__ = ["ErrorControl", "ErrorNorm", "Fixed", "Stepping"]

ErrorNorm = Literal["position", "state"]
"""What an accuracy bounds: positions, or velocities as well."""

_VELOCITY_TIMES = {"position": 0.0, "state": 1.0}
"""Time [s] by which an error of velocity counts as one of position."""

# The first attempt, as a part of the largest step (CENIC V-F).
_FIRST_STEP = 0.1
# It is at most the time in which this acceleration [m/s²] moves what is at rest by half the
# accuracy.
# An error estimate does not see a motion that dry friction ends within the first half step.
_FIRST_ACCELERATION = 10.0
# A limit counts as reached within this part of the accuracy, so that what steps leave of a joint or
# tendon that rests on it is no gap, which the next step would close by an impact.
_LIMIT_GAP = 0.3


@functools.cache
def _run() -> Loop:
    from asperity.integrators.steppings.run_stepping import run_stepping

    return run_stepping


@functools.cache
def _impacts() -> tuple[EntryPoint, EntryPoint]:
    from asperity.integrators.steppings.impacts import beginning_impacts, known_impacts

    return known_impacts, beginning_impacts


@functools.cache
def _rebounds() -> tuple[EntryPoint, EntryPoint]:
    from asperity.integrators.steppings.rebounds import add_rebounds, find_rebounds

    return add_rebounds, find_rebounds


@functools.cache
def _fixed_entry() -> EntryPoint:
    from asperity.integrators.steppings.fixed_steps import fixed_steps

    return fixed_steps


@functools.cache
def _controlled_entry() -> EntryPoint:
    from asperity.integrators.steppings.controlled_steps import controlled_steps

    return controlled_steps


class Stepping(abc.ABC):
    """Who chooses the step size."""

    time_step: float | None
    """The fixed step [s], or None under error control."""

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """What must be compiled."""
        return (self.entry, _run())

    @property
    @abc.abstractmethod
    def entry(self) -> EntryPoint:
        """The compiled stepping (`asperity.integrators.world_layout`)."""

    @abc.abstractmethod
    def prepare(self, world: World) -> None:
        """Write the options into a world, and forget steps that were taken."""

    def advance(self, world: World, method: Method, end: float, budget: int) -> int:
        """Advance a world's current state to time ``end`` [s] in at most so many attempts.

        Returns a code of the method, or a reason of `asperity.integrators.steppings.accepted`.
        """
        step = 0.0 if self.time_step is None else self.time_step
        address, kernel = world.table.address, method.kernel.address
        return int(_run().call(self.entry.address, address, kernel, step, end, budget))


@dataclass(frozen=True)
class Fixed(Stepping):
    """Steps of one size.

    Parameters
    ----------
    time_step : float
        Step size [s].
    resolve_impacts : bool
        Whether bodies part after impacts that such steps damp
        (`asperity.integrators.steppings.rebounds`): of methods that keep impulses of contacts.
    """

    time_step: float
    resolve_impacts: bool = False

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        return (*super().kernels, *(_rebounds() if self.resolve_impacts else ()))

    @property
    def entry(self) -> EntryPoint:
        return _fixed_entry()

    def prepare(self, world: World) -> None:
        world.table.last_step = self.time_step
        world.table.add_rebounds = 0
        if self.resolve_impacts:
            whole, part = _rebounds()
            world.table.add_rebounds = whole.address
            world.table.find_rebounds = part.address


@dataclass(frozen=True)
class ErrorControl(Stepping):
    """Steps whose estimated error is within the accuracy.

    Parameters
    ----------
    accuracy : float
        Largest estimated error of a step in any coordinate: metres, radians.
    max_step, min_step : float
        Largest and smallest step [s].
    error_norm : {"position", "state"}
        What the accuracy bounds.
    velocity_weight : float
        With w > 0, errors of velocity count as w·δt times their size.
    resolve_impacts : bool
        Whether steps are shorter than impacts whose rebound would matter
        (`asperity.integrators.steppings.impacts`).
    """

    accuracy: float
    max_step: float
    min_step: float
    error_norm: ErrorNorm = "position"
    velocity_weight: float = 0.0
    resolve_impacts: bool = False

    time_step = None

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        return (*super().kernels, *(_impacts() if self.resolve_impacts else ()))

    @property
    def entry(self) -> EntryPoint:
        return _controlled_entry()

    def prepare(self, world: World) -> None:
        table = world.table
        table.accuracy = self.accuracy
        table.add_rebounds = 0
        world.problem.options.limit_gap = _LIMIT_GAP * self.accuracy
        table.largest_step = self.max_step
        table.smallest_step = self.min_step
        shortened = max(math.sqrt(self.accuracy / _FIRST_ACCELERATION), self.min_step)
        table.next_step = min(_FIRST_STEP * self.max_step, shortened)
        table.last_step = table.next_step
        table.velocity_weight = self.velocity_weight
        table.velocity_time = _VELOCITY_TIMES[self.error_norm]
        entries = [kernel.address for kernel in _impacts()] if self.resolve_impacts else [0, 0]
        table.known_impacts, table.beginning_impacts = entries
