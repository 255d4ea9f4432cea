"""Figures 14 and 15 of the SAP paper: what the slip parameter σ does to settled clutter (VI-C2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from studies.experiments.clutter_runs import (
    BODIES_PER_COLUMN,
    DURATION,
    TIME_STEP,
    clutter_simulator,
    hessian,
)
from studies.experiments.outcome import Curve, Finding, Outcome, Panel
from studies.experiments.registry import Experiment, Progress
from studies.experiments.runs import advance, tracked
from studies.scenes.sap_clutter import FRICTION

__all__ = ["EXPERIMENTS", "SettledClutter", "settle", "slip_bound", "slope"]

SIGMAS = tuple(10.0**power for power in range(-6, 1))
SEEDS = tuple(range(41, 46))
FULL_SEEDS = tuple(range(41, 61))
DEFAULT_SIGMA = 1e-3

SLIP_TOLERANCE = 1e-8
"""Of the solver: at that of the other figures, its own error exceeds the slip of small σ."""


class SettledClutter(NamedTuple):
    """Clutter after its fall.

    Parameters
    ----------
    slip : float
        Mean slip speed of the contacts that carry force [m/s].
    condition : float
        Condition number of the Hessian.
    iterations : float
        Newton iterations per step, those of the island that took most.
    """

    slip: float
    condition: float
    iterations: float


def slip_bound(sigma: float) -> float:
    """The paper's estimate of the slip of what sticks, μ σ g δt [m/s] (equation 31)."""
    return FRICTION * sigma * 9.81 * TIME_STEP


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """Exponent of the power law through some points."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def settle(
    sigma: float,
    walls: bool,
    seed: int,
    progress: Progress,
    *,
    bodies_per_column: int = BODIES_PER_COLUMN,
    duration: float = DURATION,
    tolerance: float = SLIP_TOLERANCE,
) -> SettledClutter:
    """Let clutter fall for a duration [s] and look at what has become of it."""
    simulator = clutter_simulator(
        walls=walls,
        bodies_per_column=bodies_per_column,
        seed=seed,
        slip_regularization=sigma,
        tolerance=tolerance,
    )
    advance(simulator, duration, progress)
    contacts, stats = simulator.contacts, simulator.stats
    slip = contacts.slip_speed[contacts.normal_force > 0.0]
    return SettledClutter(
        float(np.mean(slip)) if len(slip) else 0.0,
        float(np.linalg.cond(hessian(simulator))),
        stats.longest_iterations / stats.steps,
    )


def _study(
    full: bool, tolerance: float, progress: Progress
) -> dict[bool, list[list[SettledClutter]]]:
    """Settled clutter with and without walls, for every σ and seed."""
    seeds = FULL_SEEDS if full else SEEDS
    cases = [(walls, sigma, seed) for walls in (True, False) for sigma in SIGMAS for seed in seeds]
    found: dict[bool, list[list[SettledClutter]]] = {True: [], False: []}
    for (walls, sigma, seed), track in tracked(cases, progress):
        if seed == seeds[0]:
            found[walls].append([])
        found[walls][-1].append(settle(sigma, walls, seed, track, tolerance=tolerance))
    return found


_LABELS = {True: "walls", False: "no walls"}


def _figure_14(full: bool, progress: Progress) -> Outcome:
    found = _study(full, SLIP_TOLERANCE, progress)
    bounds = np.array([slip_bound(sigma) for sigma in SIGMAS])
    sigmas = np.array(SIGMAS)
    curves = []
    findings = []
    for walls, label in _LABELS.items():
        slips = np.array([[run.slip for run in runs] for runs in found[walls]])
        median = np.median(slips, axis=1)
        curves.append(Curve(f"{label}, median of {slips.shape[1]} runs", sigmas, median, "o-"))
        runs = np.repeat(sigmas, slips.shape[1])
        curves.append(Curve(f"{label}, single runs", runs, slips.ravel(), "."))
        default = SIGMAS.index(DEFAULT_SIGMA)
        findings += [
            Finding(
                f"{label}, σ = {DEFAULT_SIGMA:g}: mean slip over bound",
                f"{median[default] / bounds[default]:.2g}",
                "below 1",
            ),
            Finding(
                f"{label}, runs below the bound",
                ", ".join(
                    f"{np.sum(slip < bound)} of {len(slip)} at {sigma:.0e}"
                    for sigma, slip, bound in zip(SIGMAS, slips, bounds, strict=True)
                    if np.any(slip >= bound)
                )
                or "all",
                "all (one run each)",
            ),
        ]
    with_walls = [np.median([run.slip for run in runs]) for runs in found[True]]
    findings.append(
        Finding(
            "walls, slope of slip over σ, up to 0.1",
            f"{slope(SIGMAS[:-1], with_walls[:-1]):.2f}",
            "follows that of the bound, 1",
        )
    )
    curves.append(Curve("bound μσgδt", sigmas, bounds, "k--"))
    panel = Panel("σ", "mean slip [m/s]", tuple(curves), log_x=True, log_y=True)
    return Outcome(tuple(findings), (panel,))


def _figure_15(full: bool, progress: Progress) -> Outcome:
    found = _study(full, 1e-5, progress)
    sigmas = np.array(SIGMAS)
    conditions, iterations, findings = [], [], []
    for walls, label in _LABELS.items():
        condition = np.median([[run.condition for run in runs] for runs in found[walls]], axis=1)
        count = np.median([[run.iterations for run in runs] for runs in found[walls]], axis=1)
        conditions.append(Curve(label, sigmas, condition, "o-"))
        iterations.append(Curve(label, sigmas, count, "o-"))
        small = [i for i, sigma in enumerate(SIGMAS) if sigma <= DEFAULT_SIGMA]
        chosen = [SIGMAS[i] for i in small]
        default = SIGMAS.index(DEFAULT_SIGMA)
        findings += [
            Finding(
                f"{label}, slope of the condition number, σ ≤ {DEFAULT_SIGMA:g}",
                f"{slope(chosen, [condition[i] for i in small]):.2f}",
                "exponent lost; −1 by R_t ∝ σ",
            ),
            Finding(
                f"{label}, condition number at σ = {DEFAULT_SIGMA:g}",
                f"{condition[default]:.1e}",
                "in the figure only",
            ),
            Finding(
                f"{label}, slope of the mean Newton iterations, σ ≤ {DEFAULT_SIGMA:g}",
                f"{slope(chosen, [count[i] for i in small]):.2f}",
                "exponent lost; weakly falling with σ",
            ),
            Finding(
                f"{label}, mean Newton iterations at σ = {DEFAULT_SIGMA:g}",
                f"{count[default]:.1f}",
                "in the figure only",
            ),
        ]
    panels = (
        Panel("σ", "condition number", tuple(conditions), log_x=True, log_y=True),
        Panel("σ", "Newton iterations per step", tuple(iterations), log_x=True, log_y=True),
    )
    return Outcome(tuple(findings), panels)


EXPERIMENTS = (
    Experiment(
        "sap-figure-14",
        "SAP, figure 14",
        "slip over the slip parameter",
        _figure_14,
    ),
    Experiment(
        "sap-figure-15",
        "SAP, figure 15",
        "condition of the Hessian over the slip parameter",
        _figure_15,
    ),
)
