"""Running plots of the step size and of the real-time rate."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np

from asperity.viewer.session import Session

__all__ = ["RunningPlots"]

# Samples that are shown, and wall time between two of them and between two drawings [s].
_SAMPLES = 240
_SAMPLE_PERIOD = 0.05
_DRAW_PERIOD = 0.25


class RunningPlots:
    """Step size and real-time rate over simulated time, since the last reset.

    Parameters
    ----------
    server : viser.ViserServer
        The plots are added where its panel is open.
    """

    def __init__(self, server: Any) -> None:
        self.samples: collections.deque[tuple[float, float, float, float]]
        self.samples = collections.deque(maxlen=_SAMPLES)
        """Time [s], mean size of the steps since the sample before, next size [s] and rate."""
        self._resets = 0
        self._before = (0.0, 0)
        self._sampled = self._drawn = -np.inf
        colors = {"taken": "#2b6cb0", "next attempt": "#a0c4e8"}
        self._step = _add(server, "Step size [ms]", colors, logarithmic=True)
        self._rate = _add(server, "Simulated / wall time", {"rate": "#c05621"})

    def update(self, session: Session, now: float) -> None:
        """Take a sample, and draw, if their times have come; ``now`` is a wall time [s]."""
        simulator = session.simulator
        present = (simulator.time, simulator.stats.steps)
        if session.resets != self._resets:
            self.samples.clear()
            self._resets, self._before = session.resets, present
        if not session.playing:
            return
        if now - self._sampled >= _SAMPLE_PERIOD:
            time, steps = (b - a for a, b in zip(self._before, present, strict=True))
            if steps > 0:
                row = (simulator.time, time / steps, simulator.step_size, session.rate)
                self.samples.append(row)
            self._before, self._sampled = present, now
        if len(self.samples) > 1 and now - self._drawn >= _DRAW_PERIOD:
            times, taken, following, rate = np.array(self.samples).T
            self._step.data = (times, 1e3 * taken, 1e3 * following)
            known = np.isfinite(rate)
            if np.count_nonzero(known) > 1:
                self._rate.data = (times[known], rate[known])
            self._drawn = now


def _add(server: Any, title: str, colors: dict[str, str], *, logarithmic: bool = False) -> Any:
    nothing = np.array([0.0, 1.0])
    lines = ({"label": label, "stroke": color, "width": 2} for label, color in colors.items())
    return server.gui.add_uplot(
        (nothing, *(np.array([1.0, 1.0]) for _ in colors)),
        ({"label": "t [s]"}, *lines),
        title=title,
        scales={
            "x": {"time": False, "auto": True},
            "y": {"distr": 3 if logarithmic else 1, "auto": True},
        },
        axes=({"size": 30}, {"size": 50}),
        height=150,
    )
