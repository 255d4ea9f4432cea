"""Figure 11 of the SAP paper: contacts of settled clutter of many sizes (VI-C1)."""

from __future__ import annotations

import numpy as np

from studies.experiments.clutter_runs import DURATION, clutter_simulator
from studies.experiments.outcome import Curve, Finding, Outcome, Panel
from studies.experiments.registry import Experiment, Progress
from studies.experiments.runs import advance, tracked

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


def _figure_11(full: bool, progress: Progress) -> Outcome:
    sizes = FULL if full else SHORT
    curves = []
    findings = []
    for (walls, label), outer in tracked([(True, "walls"), (False, "no walls")], progress):
        counts = [count_contacts(size, walls, inner) for size, inner in tracked(sizes, outer)]
        bodies = 4 * np.array(sizes)
        curves.append(Curve(label, bodies, np.array(counts), "o-"))
        findings.append(
            Finding(
                f"contacts of {bodies[-1]} bodies, {label}", str(counts[-1]), "in the figure only"
            )
        )
    more = curves[1].y > curves[0].y
    findings.append(
        Finding("sizes with more contacts without walls", f"{sum(more)} of {len(more)}", "all")
    )
    panel = Panel("bodies", "contacts at the end", tuple(curves))
    return Outcome(tuple(findings), (panel,))


EXPERIMENTS = (
    Experiment(
        "sap-figure-11",
        "SAP, figure 11",
        "contacts of settled clutter",
        _figure_11,
    ),
)
