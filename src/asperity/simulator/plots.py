"""Figures of histories and trajectories."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from asperity.errors import ArgumentError, MissingExtra

__all__ = ["plot_history", "plot_series"]

_LABELS = {
    "step": "step [s]",
    "error": "estimated error",
    "iterations": "Newton iterations",
    "contacts": "contacts",
    "energy": "energy [J]",
}
_LOGARITHMIC = ("step", "error")


def _panels(count: int) -> tuple[Any, Any]:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("matplotlib is not installed; pip install matplotlib.") from None
    if count == 0:
        raise ArgumentError(
            "there is nothing to plot: no step was taken, or the model cannot move."
        )
    figure = Figure(figsize=(8.0, 1.7 * count + 0.6), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(count, sharex=True, squeeze=False)[:, 0]


def plot_history(history: Mapping[str, np.ndarray]) -> Any:
    """Draw what steps were, over time; refused ones are marked by their reason.

    Returns
    -------
    matplotlib.figure.Figure
        Not of any window: ``figure.savefig("run.png")`` writes it, and notebooks show it.

    Raises
    ------
    ArgumentError
        If there is no step.
    MissingExtra
        If matplotlib is not installed.
    """
    shown = [name for name in _LABELS if not np.isnan(history[name]).all()]
    figure, axes = _panels(len(shown))
    accepted, time = history["accepted"], history["time"]
    for axis, name in zip(axes, shown, strict=True):
        values = history[name]
        axis.plot(time[accepted], values[accepted], linewidth=0.8)
        if name == "step":
            for reason in sorted(set(history["reason"][~accepted])):
                refused = history["reason"] == reason
                axis.plot(time[refused], values[refused], ".", markersize=3, label=reason)
            if not accepted.all():
                axis.legend(title="refused", fontsize="small")
        if name in _LOGARITHMIC and np.any(values > 0.0):
            axis.set_yscale("log")
        axis.set_ylabel(_LABELS[name])
    axes[-1].set_xlabel("time [s]")
    return figure


def plot_series(time: np.ndarray, groups: Mapping[str, Mapping[str, np.ndarray]]) -> Any:
    """Draw groups of time series, a panel each, as `plot_history` does."""
    figure, axes = _panels(len(groups))
    for axis, (title, series) in zip(axes, groups.items(), strict=True):
        for label, values in series.items():
            axis.plot(time, values, linewidth=0.8, label=label)
        axis.set_ylabel(title)
        if len(series) <= 10:
            axis.legend(fontsize="small", loc="upper right")
    axes[-1].set_xlabel("time [s]")
    return figure
