"""Figures: curves, the panels that they share, and their picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from asperity.errors import MissingExtra

__all__ = ["Curve", "Panel", "draw"]


@dataclass(frozen=True)
class Curve:
    """One curve of a plot.

    Parameters
    ----------
    label : str
        For the legend and the CSV file.
    x, y : ndarray, shape (n,)
    style : str
        As in Matplotlib, such as ``"o-"``.
    """

    label: str
    x: np.ndarray
    y: np.ndarray
    style: str = "-"

    def __post_init__(self) -> None:
        if np.shape(self.x) != np.shape(self.y) or np.ndim(self.x) != 1:
            raise ValueError(f"curve {self.label!r}: x and y must be vectors of equal length.")


@dataclass(frozen=True)
class Panel:
    """Curves that share their axes.

    Parameters
    ----------
    x_label, y_label : str
        With units.
    curves : sequence of Curve
    title : str
    log_x, log_y : bool
        Whether an axis is logarithmic.
    equal : bool
        Whether units of both axes are equally long.
    """

    x_label: str
    y_label: str
    curves: Sequence[Curve]
    title: str = ""
    log_x: bool = False
    log_y: bool = False
    equal: bool = False


def draw(path: Path, panels: Sequence[Panel], title: str) -> None:
    """Draw a figure as PNG.

    Raises
    ------
    MissingExtra
        If Matplotlib is missing.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra(
            "Drawing plots needs the Python package matplotlib; install it with "
            "'pip install \"asperity[reproduce]\"'."
        ) from None
    figure: Any = Figure(figsize=(6.4 * len(panels), 4.4), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title)
    for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        for curve in panel.curves:
            axes.plot(curve.x, curve.y, curve.style, label=curve.label, markersize=4)
        axes.set(xlabel=panel.x_label, ylabel=panel.y_label, title=panel.title)
        if panel.log_x:
            axes.set_xscale("log")
        if panel.log_y:
            axes.set_yscale("log")
        if panel.equal:
            axes.set_aspect("equal")
        axes.grid(alpha=0.3)
        axes.legend()
    figure.savefig(path, dpi=110)
