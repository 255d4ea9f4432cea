"""What an experiment finds: numbers beside the paper's, and the curves of its figure."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from asperity.plant.model.contact_parameters import ContactParameters
from asperity.study.figures import Curve, Panel, draw

__all__ = ["Curve", "Film", "Finding", "Outcome", "Panel", "draw", "write_csv"]


@dataclass(frozen=True)
class Finding:
    """One line of the table that sets our result beside the paper's.

    Parameters
    ----------
    quantity, ours, paper : str
        What was measured, the value found, and what the paper says.
    values : tuple
        The numbers, and words among them, that ``ours`` shows.
    agrees : bool, optional
        Whether they are within the tolerance of the paper's value, if it is a number.
    """

    quantity: str
    ours: str
    paper: str
    values: tuple[Any, ...] = ()
    agrees: bool | None = None

    @property
    def verdict(self) -> str:
        """``yes`` or ``no``, or nothing where the paper has no number."""
        return {None: "", True: "yes", False: "no"}[self.agrees]


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
    cpu_time : float
        What it took, in all processes [s].
    """

    findings: tuple[Finding, ...]
    panels: tuple[Panel, ...]
    files: tuple[Path, ...] = field(default=())
    plot_failure: str = ""
    film: Film | None = None
    attachments: Mapping[str, bytes] = field(default_factory=dict)
    cpu_time: float = 0.0


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
