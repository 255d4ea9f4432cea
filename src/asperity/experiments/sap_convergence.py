"""Figure 10 of the SAP paper: how the cost converges within a step (VI-C)."""

from __future__ import annotations

import numpy as np

from asperity.experiments.clutter_runs import TIME_STEP, clutter_simulator, cost_history
from asperity.experiments.outcome import Curve, Finding, Outcome, Panel
from asperity.experiments.registry import Experiment, Progress
from asperity.experiments.runs import advance, tracked

__all__ = ["EXPERIMENTS", "relative_costs"]

STEPS = {60: "21 iterations", 520: "5 iterations"}


def relative_costs(costs: np.ndarray) -> np.ndarray:
    """(ℓ − ℓ*)/(ℓ_0 − ℓ*), with ℓ* the least cost, without the values that round-off made."""
    excess = costs - costs.min()
    return excess[: np.argmin(excess)] / excess[0]


def _figure_10(full: bool, progress: Progress) -> Outcome:
    simulator = clutter_simulator()
    findings = []
    curves = []
    for (step, paper), track in tracked(STEPS.items(), progress):
        # The step that ends at this multiple of the time step.
        advance(simulator, (step - 1) * TIME_STEP, track)
        costs = cost_history(simulator)
        iterations = len(costs) - 1
        relative = relative_costs(costs)
        findings.append(Finding(f"step {step}, iterations", str(iterations), paper))
        last = relative[-4:]
        findings.append(
            Finding(
                f"step {step}, last values of (ℓ − ℓ*)/(ℓ₀ − ℓ*)",
                ", ".join(f"{value:.0e}" for value in last),
                "quadratic end" if step == 60 else "linear",
            )
        )
        curves.append(Curve(f"step {step}", np.arange(len(relative)), relative, "o-"))
    panel = Panel("iteration", "(ℓ − ℓ*)/(ℓ₀ − ℓ*)", tuple(curves), log_y=True)
    return Outcome(tuple(findings), (panel,))


EXPERIMENTS = (
    Experiment(
        "sap-figure-10",
        "SAP, figure 10",
        "convergence of the cost in an early and in a late step of the clutter",
        _figure_10,
    ),
)
