"""Exceptions and statuses that a user of Asperity meets."""

from __future__ import annotations

import enum
import sys
import warnings
from typing import Any, Literal

__all__ = [
    "ArgumentError",
    "AsperityError",
    "AsperityWarning",
    "MissingExtra",
    "ModelError",
    "OnFailure",
    "SimulationError",
    "Status",
    "check_on_failure",
    "failure",
    "warn_user",
]


class AsperityError(Exception):
    """Base class of every error that Asperity raises on purpose."""


class ArgumentError(AsperityError, ValueError):
    """An argument, an option or what was written into an array cannot be used; it is named."""


class ModelError(AsperityError, ValueError):
    """A model cannot be used as it is: its file, or an element, which the message names."""


class MissingExtra(AsperityError, ImportError):
    """An optional package is not installed; the message has the command that installs it."""


class SimulationError(AsperityError, RuntimeError):
    """A simulation cannot go on; the state is that of the last accepted step.

    Attributes
    ----------
    status : Status or None
        What has stopped it; None if it has not begun.
    time : float or None
        When [s].
    trajectory : Trajectory or None
        Of `asperity.simulate`, what was simulated until then.
    """

    def __init__(
        self, message: str, *, status: Status | None = None, time: float | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.time = status, time
        self.trajectory: Any = None


class AsperityWarning(UserWarning):
    """Something in a model is ignored or unusual, and the user should know."""


def warn_user(message: str) -> None:
    """Issue an `AsperityWarning` of the line outside of this package that has led to it."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == "asperity":
        level, frame = level + 1, frame.f_back
    warnings.warn(message, AsperityWarning, stacklevel=level)


class Status(enum.IntEnum):
    """How an advance ended.

    Anything but ``SUCCESS`` means that the simulation stopped early; the state is then that of the
    last accepted step.
    """

    SUCCESS = 0
    NOT_CONVERGED = 1
    STEP_TOO_SMALL = 2
    NON_FINITE = 3
    CAPACITY = 4
    INTERRUPTED = 5
    INVALID_INPUT = 6
    EVENT = 7

    @property
    def success(self) -> bool:
        """Whether it ended as was asked: at the requested time, or at a terminal event."""
        return self in (Status.SUCCESS, Status.EVENT)

    @property
    def message(self) -> str:
        """A sentence for the user."""
        return _MESSAGES[self]


_MESSAGES = {
    Status.SUCCESS: "The simulation reached the requested time.",
    Status.NOT_CONVERGED: "The contact solver did not reach its tolerance within the iteration "
    "limit; use a smaller time step or error control.",
    Status.STEP_TOO_SMALL: "Error control reached the smallest step without meeting the accuracy; "
    "look for a discontinuity in the model or an unstable controller, or loosen the accuracy.",
    Status.NON_FINITE: "The next state would have been NaN or infinite; the last finite state was "
    "kept. Look at controls, gains and forces, and use a smaller time step or error control.",
    Status.CAPACITY: "The model produced more contacts or constraints than MuJoCo's memory holds; "
    'enlarge it with <size memory="..."/>.',
    Status.INTERRUPTED: "The simulation was interrupted; its state is that of the last accepted "
    "step.",
    Status.INVALID_INPUT: "A given state, control, applied force or mocap pose is not finite, or a "
    "control is beyond 1e10; nothing has moved.",
    Status.EVENT: "A terminal event ended the simulation.",
}


OnFailure = Literal["raise", "return"]
"""What a call does if a simulation stops early: raise a `SimulationError`, or return its status."""


def check_on_failure(on_failure: str) -> None:
    """Refuse what is neither ``"raise"`` nor ``"return"``."""
    if on_failure not in ("raise", "return"):
        raise ArgumentError(f"on_failure must be 'raise' or 'return', got {on_failure!r}.")


def failure(status: Status, time: float, message: str) -> SimulationError:
    """The error of a simulation that has stopped at a time [s]."""
    return SimulationError(
        f"the simulation stopped at {time:.6g} s ({status.name}): {message} With "
        "on_failure='return' the call returns this status instead.",
        status=status,
        time=time,
    )
