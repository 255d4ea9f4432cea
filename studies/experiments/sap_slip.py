"""Figures 14 and 15 of the SAP paper: what the slip parameter σ does to settled clutter (VI-C2)."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from studies.experiments.clutter_runs import (
    BODIES_PER_COLUMN,
    DURATION,
    TIME_STEP,
    clutter_simulator,
    hessian,
)
from studies.experiments.form import (
    FIGURE_ONLY,
    Key,
    Measured,
    Paper,
    Runs,
    about,
    at_most,
    finding,
    product,
    slope,
)
from studies.experiments.outcome import Curve, Panel
from studies.experiments.registry import Experiment, Progress
from studies.experiments.runs import advance
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


def _settle(
    where: str, sigma: float, seed: int, tolerance: float, progress: Progress
) -> SettledClutter:
    return settle(sigma, where == "walls", seed, progress, tolerance=tolerance)


def _sweep(tolerance: float, full: bool) -> list[Key]:
    seeds = FULL_SEEDS if full else SEEDS
    where = ("walls", "no walls")
    return product(where=where, sigma=SIGMAS, seed=seeds, tolerance=[tolerance])


def _rows(quantity: str, runs: Runs) -> np.ndarray:
    """One of the numbers for every σ and seed, shape (σ, seeds)."""
    numbers = [getattr(run, quantity) for run in runs.results]
    return np.array(numbers).reshape(len(SIGMAS), -1)


_DEFAULT = SIGMAS.index(DEFAULT_SIGMA)


def _figure_14(runs: Runs) -> Measured:
    sigmas = np.array(SIGMAS)
    bounds = np.array([slip_bound(sigma) for sigma in SIGMAS])
    curves = []
    for where, own in runs.by("where").items():
        slips = _rows("slip", own)
        median = np.median(slips, axis=1)
        curves.append(Curve(f"{where}, median of {slips.shape[1]} runs", sigmas, median, "o-"))
        repeated = np.repeat(sigmas, slips.shape[1])
        curves.append(Curve(f"{where}, single runs", repeated, slips.ravel(), "."))
        quantity = f"{where}, σ = {DEFAULT_SIGMA:g}: mean slip over bound"
        ratio = median[_DEFAULT] / bounds[_DEFAULT]
        yield finding(quantity, ratio, "{:.2g}", at_most("below 1", 1.0))
        below = [
            f"{np.sum(slip < bound)} of {len(slip)} at {sigma:.0e}"
            for sigma, slip, bound in zip(SIGMAS, slips, bounds, strict=True)
            if np.any(slip >= bound)
        ]
        quantity = f"{where}, runs below the bound"
        every = at_most("all (one run each)", 0)
        yield finding(quantity, ", ".join(below) or "all", paper=every, judged=len(below))
    walls = np.median(_rows("slip", runs.where(where="walls")), axis=1)
    quantity = "walls, slope of slip over σ, up to 0.1"
    follows = about("follows that of the bound, 1", 1.0, 0.2)
    yield finding(quantity, slope(sigmas[:-1], walls[:-1]), "{:.2f}", follows)
    curves.append(Curve("bound μσgδt", sigmas, bounds, "k--"))
    yield Panel("σ", "mean slip [m/s]", curves, log_x=True, log_y=True)


_STUDIED = (
    ("condition", "condition number", "{:.1e}", about("exponent lost; −1 by R_t ∝ σ", -1.0, 0.1)),
    (
        "iterations",
        "mean Newton iterations",
        "{:.1f}",
        Paper("exponent lost; weakly falling with σ", -0.5, 0.0),
    ),
)


def _figure_15(runs: Runs) -> Measured:
    sigmas = np.array(SIGMAS)
    small = sigmas <= DEFAULT_SIGMA
    curves: dict[str, list[Curve]] = {"condition": [], "iterations": []}
    for where, own in runs.by("where").items():
        for quantity, name, form, said in _STUDIED:
            median = np.median(_rows(quantity, own), axis=1)
            curves[quantity].append(Curve(where, sigmas, median, "o-"))
            exponent = slope(sigmas[small], median[small])
            of = f"{where}, slope of the {name}, σ ≤ {DEFAULT_SIGMA:g}"
            yield finding(of, exponent, "{:.2f}", said)
            of = f"{where}, {name} at σ = {DEFAULT_SIGMA:g}"
            yield finding(of, median[_DEFAULT], form, FIGURE_ONLY)
    yield Panel("σ", "condition number", curves["condition"], log_x=True, log_y=True)
    yield Panel("σ", "Newton iterations per step", curves["iterations"], log_x=True, log_y=True)


EXPERIMENTS = (
    Experiment(
        "sap-figure-14",
        "SAP, figure 14",
        "slip over the slip parameter",
        _settle,
        partial(_sweep, SLIP_TOLERANCE),
        _figure_14,
    ),
    Experiment(
        "sap-figure-15",
        "SAP, figure 15",
        "condition of the Hessian over the slip parameter",
        _settle,
        partial(_sweep, 1e-5),
        _figure_15,
    ),
)
