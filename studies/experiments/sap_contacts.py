"""Figure 11 of the SAP paper: contacts of settled clutter of many sizes (VI-C1)."""

from __future__ import annotations

import numpy as np

from studies.experiments.clutter_runs import DURATION, clutter_simulator
from studies.experiments.form import FIGURE_ONLY, Measured, Runs, at_least, finding, product
from studies.experiments.outcome import Curve, Panel
from studies.experiments.registry import Experiment, Progress
from studies.experiments.runs import advance

__all__ = ["EXPERIMENTS", "count_contacts"]

SHORT = (1, 2, 3, 5, 10)
FULL = (*SHORT, 15, 20, 25, 30, 40, 55)


def count_contacts(
    bodies_per_column: int, walls: bool, progress: Progress, *, duration: float = DURATION
) -> int:
    """Number of contacts after the clutter has fallen for a duration [s]."""
    simulator = clutter_simulator(walls=walls, bodies_per_column=bodies_per_column)
    advance(simulator, duration, progress)
    return len(simulator.contacts.geom)


def _count(where: str, size: int, progress: Progress) -> int:
    return count_contacts(size, where == "walls", progress)


def _measure(runs: Runs) -> Measured:
    counts = {where: own.values() for where, own in runs.by("where").items()}
    bodies = 4 * runs.where(where="walls").axis("size")
    for where, found in counts.items():
        yield finding(f"contacts of {bodies[-1]} bodies, {where}", found[-1], paper=FIGURE_ONLY)
    more = int(np.sum(counts["no walls"] > counts["walls"]))
    quantity = "sizes with more contacts without walls"
    every = at_least("all", len(bodies))
    yield finding(quantity, (more, len(bodies)), "{} of {}", every, judged=more)
    curves = [Curve(where, bodies, found, "o-") for where, found in counts.items()]
    yield Panel("bodies", "contacts at the end", curves)


EXPERIMENTS = (
    Experiment(
        "sap-figure-11",
        "SAP, figure 11",
        "contacts of settled clutter",
        _count,
        lambda full: product(where=("walls", "no walls"), size=FULL if full else SHORT),
        _measure,
    ),
)
