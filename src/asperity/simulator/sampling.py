"""When a control callback is due."""

from __future__ import annotations

import math

from asperity.errors import ArgumentError

__all__ = ["SamplingClock"]

# A thousandth of the shortest steps that anyone takes; with it a second takes half an hour.
_SHORTEST = 1e-9


class SamplingClock:
    """Sampling times ``start + k period``.

    Parameters
    ----------
    period : float
        Time between two samples [s].

    Raises
    ------
    ArgumentError
        If the period is not finite or shorter than a nanosecond.
    """

    def __init__(self, period: float) -> None:
        if 0 < period < _SHORTEST:
            raise ArgumentError(
                f"control_period must be at least {_SHORTEST} s, got {period}: between two calls "
                "there must be time to simulate."
            )
        if not (math.isfinite(period) and period > 0):
            raise ArgumentError(f"control_period must be positive, got {period}.")
        self.period = period
        self.start(0.0)

    def start(self, time: float) -> None:
        """Let the first sample be at ``time`` [s]."""
        self._start = time
        self._samples = 0

    def state(self) -> tuple[float, int]:
        """Start [s] and number of samples taken."""
        return self._start, self._samples

    def set_state(self, state: tuple[float, int]) -> None:
        """Put back what `state` has returned."""
        self._start, self._samples = state

    @property
    def next(self) -> float:
        """Time of the next sample [s]."""
        # A product, not a sum: sampling times must not drift by round-off.
        return self._start + self._samples * self.period

    def due(self, time: float) -> bool:
        """Whether the next sample is to be taken at ``time`` [s]."""
        return time >= self.next - 1e-9 * self.period

    def sampled(self, time: float) -> None:
        """A sample was taken at ``time`` [s]; those that it missed are left out."""
        elapsed = (time - self._start) / self.period
        self._samples = max(self._samples, int(elapsed + 0.5)) + 1
