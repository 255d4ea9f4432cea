"""Events: zeros of functions of the simulation, found between accepted steps."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import mujoco
import numpy as np

from asperity.arguments import as_number, is_count, is_flag, is_number
from asperity.errors import ArgumentError
from asperity.simulator.interpolation import interpolate
from asperity.simulator.simulator import Simulator
from asperity.simulator.state_vector import INPUT_BITS

__all__ = ["Event", "EventFinder", "EventReached", "check_events"]

Event = Callable[[Simulator], float]
"""A function of a simulator that is zero at the event; it may have attributes ``terminal`` (True,
or how often it occurs before it ends the simulation) and ``direction`` (positive: only where the
function increases, negative: only where it decreases), as in `scipy.integrate.solve_ivp`."""

# Of the time of an event, relative, as in SciPy.
_TOLERANCE = 4.0 * float(np.finfo(float).eps)


class EventReached(Exception):
    """An event has ended the simulation."""


def check_events(events: Any) -> tuple[Event, ...]:
    """The events as a tuple, of one or of several.

    Raises
    ------
    ArgumentError
        If one is no function, or has attributes that mean nothing.
    """
    found = (events,) if callable(events) else events
    if not isinstance(found, Sequence) or isinstance(found, str):
        raise ArgumentError(f"events must be functions of the simulator, got {events!r}.")
    for event in found:
        if not callable(event):
            raise ArgumentError(f"events must be functions of the simulator, got {event!r}.")
        terminal = getattr(event, "terminal", False)
        if not (is_flag(terminal) or (is_count(terminal) and terminal >= 0)):
            raise ArgumentError(
                f"terminal of event {_name(event)} must be True, False or a number of times, got "
                f"{terminal!r}."
            )
        direction = getattr(event, "direction", 0.0)
        if not (is_number(direction) and np.isfinite(direction)):
            raise ArgumentError(
                f"direction of event {_name(event)} must be a number, got {direction!r}."
            )
    return tuple(found)


class EventFinder:
    """Looks for events in every accepted step of a simulator.

    A function that changes its sign within a step has a zero there. Its time is found in the
    interpolated states of the step, as trajectories have them. The functions get a simulator of
    their own in such a state, with contacts and forces as those of a step from there.

    Parameters
    ----------
    simulator : Simulator
    events : sequence of Event

    Attributes
    ----------
    times : list of list of float
        When each event occurred [s].
    end : tuple, optional
        Time [s], positions and velocities at which a terminal event has ended the simulation.
    """

    def __init__(self, simulator: Simulator, events: Sequence[Event]) -> None:
        self._events = events
        self.times: list[list[float]] = [[] for _ in events]
        self.end: tuple[float, np.ndarray, np.ndarray] | None = None
        self._simulator = simulator
        self._probe = copy.copy(simulator)
        # The functions look, and do nothing.
        self._probe.control = None
        current = simulator.session.world.current.table
        self._last = self._state(current)
        self._values = self._evaluate(*self._last)

    def look(self, current: Any) -> None:
        """Look for events in the step that has led to a state.

        Raises
        ------
        EventReached
            If one of them ends the simulation; ``end`` tells where.
        ArgumentError
            If a function returns no finite number.
        """
        if current.time <= self._last[0]:
            return
        before, after = self._last, self._state(current)
        values = self._evaluate(*after)
        occurred = []
        for k, (event, old, new) in enumerate(zip(self._events, self._values, values, strict=True)):
            direction = getattr(event, "direction", 0.0)
            up, down = old <= 0.0 <= new, old >= 0.0 >= new
            if (up and direction >= 0.0) or (down and direction <= 0.0):
                occurred.append((self._zero(k, before, after, old, new), k))
        self._last, self._values = after, values
        for time, k in sorted(occurred):
            self.times[k].append(time)
            terminal = getattr(self._events[k], "terminal", False)
            if terminal and len(self.times[k]) >= int(terminal):
                self.end = (time, *self._between(before, after, time))
                raise EventReached

    def _zero(self, k: int, before: Any, after: Any, old: float, new: float) -> float:
        """When an event occurs in a step [s]."""
        # SciPy's optimizers take a fifth of a second that the others need not wait for.
        from scipy.optimize import brentq

        def value(time: float) -> float:
            if time == before[0]:
                return old
            if time == after[0]:
                return new
            return self._evaluate(time, *self._between(before, after, time))[k]

        return float(brentq(value, before[0], after[0], xtol=_TOLERANCE, rtol=_TOLERANCE))

    def _between(self, before: Any, after: Any, time: float) -> tuple[np.ndarray, np.ndarray]:
        times, qpos, qvel = (np.array(pair) for pair in zip(before, after, strict=True))
        qpos, qvel = interpolate(self._simulator.model, times, qpos, qvel, np.array([time]))
        return qpos[0], qvel[0]

    @staticmethod
    def _state(current: Any) -> tuple[float, np.ndarray, np.ndarray]:
        return float(current.time), current.qpos.copy(), current.qvel.copy()

    def _evaluate(self, time: float, qpos: np.ndarray, qvel: np.ndarray) -> list[float]:
        """Values of all functions in a state, with the present activations and inputs."""
        probe, source = self._probe, self._simulator.data
        data = probe.data
        mujoco.mj_copyState(probe.model, source, data, INPUT_BITS)
        data.time = time
        data.qpos[:], data.qvel[:] = qpos, qvel
        current = self._simulator.session.world.current.table
        data.act[:] = current.act
        data.plastic[: len(current.plastic)] = current.plastic
        for one, other in zip(self._simulator.systems, probe.systems, strict=True):
            probe.system_state(other)[:] = self._simulator.system_state(one)
        probe.advance_to(time)
        values = []
        for event in self._events:
            value = as_number(f"what event {_name(event)} returns at {time} s", event(probe))
            if not np.isfinite(value):
                raise ArgumentError(
                    f"event {_name(event)} is {value} at {time} s; it must be finite."
                )
            values.append(value)
        return values


def _name(event: Any) -> str:
    return repr(getattr(event, "__name__", event))
