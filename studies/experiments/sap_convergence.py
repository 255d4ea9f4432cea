"""Figure 10 of the SAP paper: how the cost converges within a step (VI-C)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from asperity.simulator import Simulator
from studies.experiments.clutter_runs import TIME_STEP, clutter_simulator, cost_history
from studies.experiments.form import Measured, Paper, Runs, finding, says, twofold
from studies.experiments.outcome import Curve, Panel
from studies.experiments.registry import Experiment, Progress

__all__ = ["EXPERIMENTS", "convergence"]

EARLY, LATE = 60, 520
"""Steps of the paper."""

TRANSIENT = 200
"""Steps within which objects fall and collide."""

SETTLED = 100
"""Last steps, in which most objects rest."""

_TIGHT = 1e-13
_FEW = 10
"""Iterations."""


def convergence(simulator: Simulator) -> tuple[int, np.ndarray]:
    """How the next step's problem converges.

    Returns
    -------
    iterations : int
        Those that meet the integrator's tolerance.
    costs : ndarray, shape (n,)
        (ℓ − ℓ*)/(ℓ_0 − ℓ*) at the initial guess and after every iteration until only round-off is
        left; ℓ* is the least cost met by going on as far as that.
    """
    iterations = len(cost_history(simulator)) - 1
    before = float(simulator.session.world.problem.options.tolerance)
    try:
        simulator.session.world.problem.options.tolerance = _TIGHT
        costs = cost_history(simulator)
    finally:
        simulator.session.world.problem.options.tolerance = before
    excess = costs - costs.min()
    # What is left of a difference of large numbers.
    floor = 100.0 * np.finfo(float).eps * np.abs(costs).max()
    last = int(np.argmax(excess <= floor))
    return iterations, excess[:last] / excess[0] if excess[0] > 0.0 else excess[:0]


class Falling(NamedTuple):
    """What became of the clutter's problems."""

    counts: list[int]
    """Iterations of every step."""
    steps: tuple[int, int, int, int]
    """Those that are shown."""
    shown: list[tuple[int, np.ndarray]]
    """Their iterations and relative excess of the cost."""


def _fall(progress: Progress) -> Falling:
    simulator = clutter_simulator()
    starts, counts = [], []
    for step in range(LATE):
        starts.append((simulator.data.qpos.copy(), simulator.data.qvel.copy()))
        before = simulator.stats.longest_iterations
        simulator.advance_to((step + 1) * TIME_STEP)
        counts.append(simulator.stats.longest_iterations - before)
        progress(0.9 * step / LATE)
    hardest = int(np.argmax(counts[:TRANSIENT])) + 1
    late = int(np.argmax(counts[LATE - SETTLED :])) + LATE - SETTLED + 1
    steps = EARLY, hardest, LATE, late
    shown = []
    for step in steps:
        simulator.data.qpos[:], simulator.data.qvel[:] = starts[step - 1]
        # A call without a way to go takes over the state.
        simulator.advance_to(simulator.time)
        shown.append(convergence(simulator))
    return Falling(counts, steps, shown)


def _measure(runs: Runs) -> Measured:
    counts, steps, shown = runs.one
    said = ("", ", hardest of the fall", "", f", hardest of the last {SETTLED}")
    names = [f"step {step}{words}" for step, words in zip(steps, said, strict=True)]
    papers: tuple[str | Paper, ...] = (twofold("21", 21.0), "–", twofold("5", 5.0), "–")
    for name, (iterations, _), paper in zip(names, shown, papers, strict=True):
        yield finding(f"{name}, iterations", iterations, paper=paper)
    # Digits that the last iterations add: doubling means quadratic convergence.
    digits = list(-np.diff(np.log10(shown[1][1][-4:])))
    quantity = f"step {steps[1]}, digits gained by the last iterations"
    quadratic = Paper("quadratic after a linear transient", 1.5)
    gains = tuple(np.divide(digits[1:], digits[:-1]))
    yield finding(quantity, digits, "{:.1f}", quadratic, join=", ", judged=gains)
    quantity = f"mean iterations, steps 1–{TRANSIENT} and {TRANSIENT + 1}–{LATE}"
    means = np.mean(counts[:TRANSIENT]), np.mean(counts[TRANSIENT:])
    few = says("larger and a few (numbers lost)")
    less = bool(means[1] < min(means[0], _FEW))
    yield finding(quantity, means, "{:.1f} and {:.1f}", few, judged=less)
    curves = [
        Curve(name, np.arange(len(relative)), relative, "o-")
        for name, (_, relative) in zip(names, shown, strict=True)
    ]
    yield Panel("iteration", "(ℓ − ℓ*)/(ℓ₀ − ℓ*)", curves, log_y=True)


EXPERIMENTS = (
    Experiment(
        "sap-figure-10",
        "SAP, figure 10",
        "convergence in early and late steps",
        _fall,
        lambda full: [{}],
        _measure,
    ),
)
