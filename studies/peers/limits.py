"""How long a run may take."""

from __future__ import annotations

import time

__all__ = ["Deadline", "OutOfTime", "Stopped"]


class OutOfTime(Exception):
    """A run has taken longer than it may."""


class Stopped(Exception):
    """A method has given up before the end, for the reason given."""


class Deadline:
    """Begins when it is made."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.perf_counter() + seconds

    def check(self) -> None:
        """Raise `OutOfTime` if it has passed."""
        if time.perf_counter() > self._end:
            raise OutOfTime
