"""What an experiment finds: numbers beside the paper's, and the curves of its figure."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from asperity.errors import AsperityError
from asperity.plant.contact_parameters import ContactParameters

__all__ = ["Curve", "Film", "Finding", "Outcome", "Panel", "PlotError", "draw", "write_csv"]


class PlotError(AsperityError, ValueError):
    """A plot cannot be drawn: the message names the missing library."""


@dataclass(frozen=True)
class Finding:
    """One line of the table that sets our result beside the paper's.

    Parameters
    ----------
    quantity, ours, paper : str
        What was measured, the value found, and what the paper says.
    """

    quantity: str
    ours: str
    paper: str


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


@dataclass(frozen=True)
class Film:
    """A recorded motion, of which a video can be made.

    Parameters
    ----------
    model : mujoco.MjModel
    time : ndarray, shape (n,)
        [s].
    qpos : ndarray, shape (n, nq)
    camera : str, optional
        A camera of the model; by default one that frames everything that moves.
    contact : ContactParameters, optional
        With pressure fields that are drawn.
    """

    model: mujoco.MjModel
    time: np.ndarray
    qpos: np.ndarray
    camera: str | None = None
    contact: ContactParameters | None = None


@dataclass(frozen=True)
class Outcome:
    """Result of an experiment.

    Parameters
    ----------
    findings : tuple of Finding
    panels : tuple of Panel
        The figure; its curves are also what the CSV file holds.
    files : tuple of Path
        What was written.
    plot_failure : str
        Why the plot could not be drawn, or the video not be made, if so.
    film : Film, optional
        What a video shows, of the experiments that have one.
    attachments : mapping
        Further files, such as pictures, by the ends of their names.
    """

    findings: tuple[Finding, ...]
    panels: tuple[Panel, ...]
    files: tuple[Path, ...] = field(default=())
    plot_failure: str = ""
    film: Film | None = None
    attachments: Mapping[str, bytes] = field(default_factory=dict)


def write_csv(path: Path, panels: Sequence[Panel]) -> None:
    """Write every point of a figure, one per line, with its panel and curve."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["panel", "x quantity", "y quantity", "curve", "x", "y"])
        for number, panel in enumerate(panels, start=1):
            for curve in panel.curves:
                for x, y in zip(curve.x, curve.y, strict=True):
                    line = [number, panel.x_label, panel.y_label, curve.label, float(x), float(y)]
                    writer.writerow(line)


def draw(path: Path, panels: Sequence[Panel], title: str) -> None:
    """Draw a figure as PNG.

    Raises
    ------
    PlotError
        If Matplotlib is missing.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise PlotError(
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
