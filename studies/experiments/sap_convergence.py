"""Figure 10 of the SAP paper: how the cost converges within a step (VI-C)."""

from __future__ import annotations

import numpy as np

from asperity.simulator import Simulator
from studies.experiments.clutter_runs import TIME_STEP, clutter_simulator, cost_history
from studies.experiments.outcome import Curve, Finding, Outcome, Panel
from studies.experiments.registry import Experiment, Progress
from studies.experiments.runs import advance

__all__ = ["EXPERIMENTS", "convergence"]

EARLY, LATE = 60, 520
"""Steps of the paper."""

TRANSIENT = 200
"""Steps within which objects fall and collide."""

SETTLED = 100
"""Last steps, in which most objects rest."""

_TIGHT = 1e-13


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


def _figure_10(full: bool, progress: Progress) -> Outcome:
    simulator = clutter_simulator()
    starts = []
    counts = []
    for step in range(LATE):
        starts.append((simulator.data.qpos.copy(), simulator.data.qvel.copy()))
        before = simulator.stats.longest_iterations
        advance(simulator, (step + 1) * TIME_STEP, lambda share: None)
        counts.append(simulator.stats.longest_iterations - before)
        progress(0.9 * step / LATE)
    hardest = int(np.argmax(counts[:TRANSIENT])) + 1
    late = int(np.argmax(counts[LATE - SETTLED :])) + LATE - SETTLED + 1
    findings = []
    curves = []
    shown = (
        (EARLY, f"step {EARLY}", "21"),
        (hardest, f"step {hardest}, hardest of the fall", "–"),
        (LATE, f"step {LATE}", "5"),
        (late, f"step {late}, hardest of the last {SETTLED}", "–"),
    )
    for step, name, paper in shown:
        simulator.data.qpos[:], simulator.data.qvel[:] = starts[step - 1]
        # A call without a way to go takes over the state.
        advance(simulator, simulator.time, progress)
        iterations, relative = convergence(simulator)
        findings.append(Finding(f"{name}, iterations", str(iterations), paper))
        curves.append(Curve(name, np.arange(len(relative)), relative, "o-"))
    # Digits that the last iterations add: doubling means quadratic convergence.
    digits = -np.diff(np.log10(curves[1].y[-4:]))
    findings.append(
        Finding(
            f"step {hardest}, digits gained by the last iterations",
            ", ".join(f"{gain:.1f}" for gain in digits),
            "quadratic after a linear transient",
        )
    )
    findings.append(
        Finding(
            f"mean iterations, steps 1–{TRANSIENT} and {TRANSIENT + 1}–{LATE}",
            f"{np.mean(counts[:TRANSIENT]):.1f} and {np.mean(counts[TRANSIENT:]):.1f}",
            "larger and a few (numbers lost)",
        )
    )
    panel = Panel("iteration", "(ℓ − ℓ*)/(ℓ₀ − ℓ*)", tuple(curves), log_y=True)
    return Outcome(tuple(findings), (panel,))


EXPERIMENTS = (
    Experiment(
        "sap-figure-10",
        "SAP, figure 10",
        "convergence in early and late steps",
        _figure_10,
    ),
)
