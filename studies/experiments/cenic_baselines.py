"""Figures 9 and 10 of the CENIC paper: what accuracy costs by several error-controlled methods."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from asperity.errors import Status
from asperity.integrators import (
    ImplicitEuler,
    Integrator,
    Rosenbrock2,
    RungeKutta3,
    Sdirk2,
)
from asperity.simulator import Simulator
from studies.experiments.cenic_cases import CASES
from studies.experiments.outcome import Curve, Finding, Outcome, Panel
from studies.experiments.paper import paper_cenic
from studies.experiments.registry import Experiment, Progress
from studies.experiments.runs import tracked

__all__ = ["EXPERIMENTS", "METHODS", "Cost", "cost_of"]

BUDGET = 4.0
"""CPU time after which a run is given up [s]."""
FULL_BUDGET = 100.0
"""The paper's."""

ACCURACIES = (1e-1, 1e-2)
FULL_ACCURACIES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
SCHEME_ACCURACIES = (1e-1, 1e-2, 1e-3)

_NORMS = {"state": "full state", "position": "positions"}

# The first is what the others are compared with.
METHODS: dict[str, Callable[..., Integrator]] = {
    "CENIC": paper_cenic,
    "RK3": RungeKutta3,
    "implicit Euler": ImplicitEuler,
    "SDIRK2": Sdirk2,
    "ROS2": Rosenbrock2,
}
_SCHEMES: dict[str, Callable[..., Integrator]] = {
    "step doubling": paper_cenic,
    "trapezoid": partial(paper_cenic, error_estimate="trapezoid"),
}


class Cost(NamedTuple):
    """How a run ended, and what it cost."""

    end: str
    """``"finished"``, ``"timeout"``, the status of a failure, or what is wrong with the result."""
    time: float
    """Simulated time reached [s]."""
    cpu: float
    """CPU time per simulated second [s]; of a timeout the least that it can be."""
    steps: int


class _OutOfTime(Exception):
    """A run takes too long."""


def cost_of(case: str, integrator: Integrator, *, duration: float, budget: float) -> Cost:
    """Simulate a case.

    Parameters
    ----------
    case : str
        Of `studies.experiments.cenic_cases.CASES`.
    integrator : Integrator
    duration : float
        [s]
    budget : float
        CPU time after which the run ends [s].
    """
    simulator = CASES[case].make(integrator)
    judge = CASES[case].judge(simulator)
    started = clock.process_time()

    def check(_simulator: Simulator) -> None:
        if clock.process_time() - started > budget:
            raise _OutOfTime

    try:
        status = simulator.advance_to(duration, progress=check, on_failure="return").status
        end = "finished" if status == Status.SUCCESS else status.name
    except _OutOfTime:
        end = "timeout"
    cpu = clock.process_time() - started
    if end == "finished":
        end = judge(simulator) or end
    reached = duration if end == "timeout" else simulator.time
    rate = cpu / reached if reached > 0 else np.inf
    return Cost(end, simulator.time, rate, simulator.stats.steps)


def _curve(label: str, accuracies: Sequence[float], costs: Sequence[Cost]) -> Curve:
    """Costs of the runs that finished."""
    done = np.array([cost.end == "finished" for cost in costs])
    x, y = np.array(accuracies), np.array([cost.cpu for cost in costs])
    return Curve(label, x[done], y[done], "o-")


def _ending(cost: Cost) -> str:
    if cost.end == "finished":
        return ""
    return f" ({cost.end} at {cost.time:.2g} s)" if cost.end == "timeout" else f" ({cost.end})"


def _ratios(accuracies: Sequence[float], costs: Sequence[Cost], ours: Sequence[Cost]) -> str:
    found = []
    for accuracy, cost, own in zip(accuracies, costs, ours, strict=True):
        more = "> " if cost.end == "timeout" else ""
        found.append(f"{accuracy:g}: {more}{cost.cpu / own.cpu:.2g}{_ending(cost)}")
    return "; ".join(found)


def _over(costs: Sequence[Cost], ours: Sequence[Cost]) -> str:
    """Ratios of times, such as “17, >100, failed”."""
    found = []
    for cost, own in zip(costs, ours, strict=True):
        more = ">" if cost.end == "timeout" else ""
        ratio = f"{more}{cost.cpu / own.cpu:.2g}"
        found.append(ratio if cost.end in ("finished", "timeout") else cost.end)
    return ", ".join(found)


def _endings(accuracies: Sequence[float], costs: Sequence[Cost]) -> str:
    return "; ".join(
        f"{accuracy:g}: {cost.cpu:.2g} s{_ending(cost)}"
        for accuracy, cost in zip(accuracies, costs, strict=True)
    )


def _figure_9(full: bool, progress: Progress) -> Outcome:
    accuracies = FULL_ACCURACIES if full else SCHEME_ACCURACIES
    duration = CASES["hard clutter"].duration if full else CASES["hard clutter"].short
    runs = [(scheme, accuracy) for accuracy in accuracies for scheme in _SCHEMES]
    costs: dict[str, list[Cost]] = {scheme: [] for scheme in _SCHEMES}
    for (scheme, accuracy), _ in tracked(runs, progress):
        integrator = _SCHEMES[scheme](accuracy=accuracy)
        cost = cost_of("hard clutter", integrator, duration=duration, budget=FULL_BUDGET)
        costs[scheme].append(cost)
    ours, other = costs["step doubling"], costs["trapezoid"]
    findings = [
        Finding(
            "time of the trapezoid over step doubling", _ratios(accuracies, other, ours), "5–20"
        )
    ]
    findings += [
        Finding(
            f"steps in {duration:g} s, {scheme}",
            "; ".join(f"{a:g}: {c.steps}" for a, c in zip(accuracies, costs[scheme], strict=True)),
            "more with the trapezoid" if scheme == "trapezoid" else "in the figure only",
        )
        for scheme in _SCHEMES
    ]
    curves = tuple(_curve(scheme, accuracies, costs[scheme]) for scheme in _SCHEMES)
    axes = "accuracy", "CPU time per simulated second [s]"
    return Outcome(tuple(findings), (Panel(*axes, curves, log_x=True, log_y=True),))


def _figure_10(case: str, full: bool, progress: Progress) -> Outcome:
    accuracies = FULL_ACCURACIES if full else ACCURACIES
    duration = CASES[case].duration if full else CASES[case].short
    budget = FULL_BUDGET if full else BUDGET
    runs = [
        (norm, method, accuracy) for accuracy in accuracies for norm in _NORMS for method in METHODS
    ]
    costs: dict[tuple[str, str], list[Cost]] = {
        (norm, method): [] for norm in _NORMS for method in METHODS
    }
    for (norm, method, accuracy), _ in tracked(runs, progress):
        integrator = METHODS[method](accuracy=accuracy, error_norm=norm)
        costs[norm, method].append(cost_of(case, integrator, duration=duration, budget=budget))
    findings, panels = [], []
    paper = CASES[case].paper
    for norm, label in _NORMS.items():
        ours = costs[norm, "CENIC"]
        ratios = (
            f"{method} {_over(costs[norm, method], ours)}"
            for method in METHODS
            if method != "CENIC"
        )
        at = " and ".join(f"{accuracy:g}" for accuracy in accuracies)
        findings += [
            Finding(f"time over CENIC's at {at}, error of {label}", "; ".join(ratios), paper),
            Finding(
                f"error of {label}: CENIC, CPU time per simulated second",
                _endings(accuracies, ours),
                "in the figure only",
            ),
        ]
        curves = tuple(_curve(m, accuracies, costs[norm, m]) for m in METHODS)
        axes = "accuracy", "CPU time per simulated second [s]"
        panels.append(Panel(*axes, curves, f"error of {label}", log_x=True, log_y=True))
    gains = [
        f"{accuracy:g}: {a.cpu / b.cpu:.2g}"
        for accuracy, a, b in zip(
            accuracies, costs["state", "CENIC"], costs["position", "CENIC"], strict=True
        )
    ]
    findings.append(
        Finding(
            "CENIC: time with the full state over that with positions",
            "; ".join(gains),
            "an order of magnitude",
        )
    )
    return Outcome(tuple(findings), tuple(panels))


EXPERIMENTS = (
    Experiment(
        "cenic-figure-9",
        "CENIC, figure 9",
        "trapezoid and step doubling in hard clutter",
        _figure_9,
    ),
    *(
        Experiment(
            f"cenic-figure-10-{case.replace(' ', '-')}",
            "CENIC, figure 10",
            f"classical integrators: {case}",
            partial(_figure_10, case),
        )
        for case in CASES
    ),
)
