"""Figures 9 and 10 of the CENIC paper: what accuracy costs by several error-controlled methods."""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from asperity.errors import Status
from asperity.integrators import ImplicitEuler, Integrator, Rosenbrock2, RungeKutta3, Sdirk2
from asperity.simulator import Simulator
from studies.experiments.cenic_cases import CASES
from studies.experiments.form import FIGURE_ONLY, Key, Measured, Paper, Runs, finding, product, says
from studies.experiments.outcome import Curve, Panel
from studies.experiments.paper import paper_cenic
from studies.experiments.registry import Experiment, Progress

__all__ = ["EXPERIMENTS", "METHODS", "Cost", "cost_of"]

BUDGET = 4.0
"""CPU time after which a run is given up [s]."""
FULL_BUDGET = 100.0
"""The paper's."""

ACCURACIES = (1e-1, 1e-2)
FULL_ACCURACIES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
SCHEME_ACCURACIES = (1e-1, 1e-2, 1e-3)

_NORMS = {"full state": "state", "positions": "position"}

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


def _ending(cost: Cost) -> str:
    if cost.end == "finished":
        return ""
    return f" ({cost.end} at {cost.time:.2g} s)" if cost.end == "timeout" else f" ({cost.end})"


def _classical_cost(
    case: str, accuracy: float, norm: str, method: str, progress: Progress, **limits: float
) -> Cost:
    return cost_of(case, METHODS[method](accuracy=accuracy, error_norm=_NORMS[norm]), **limits)


def _panel(runs: Runs, title: str = "") -> Panel:
    """Costs of the runs that finished."""
    curves = []
    for method, own in runs.by("method").items():
        done = own.values(lambda cost: cost.end == "finished")
        cpu = own.values(lambda cost: cost.cpu)
        curves.append(Curve(method, own.axis("accuracy")[done], cpu[done], "o-"))
    axes = "accuracy", "CPU time per simulated second [s]"
    return Panel(*axes, curves, title, log_x=True, log_y=True)


def _more(cost: Cost) -> str:
    return ">" if cost.end == "timeout" else ""


def _over(costs: Runs, ours: Runs) -> str:
    """Ratios of times, such as “17, >100, failed”."""
    return ", ".join(
        f"{_more(cost)}{cost.cpu / own.cpu:.2g}"
        if cost.end in ("finished", "timeout")
        else cost.end
        for cost, own in zip(costs.results, ours.results, strict=True)
    )


def _figure_9_sweep(full: bool) -> list[Key]:
    accuracies = FULL_ACCURACIES if full else SCHEME_ACCURACIES
    duration = CASES["hard clutter"].duration if full else CASES["hard clutter"].short
    return product(accuracy=accuracies, method=_SCHEMES, duration=[duration])


def _figure_9(runs: Runs) -> Measured:
    ours, other = runs.by("method").values()
    ratios = [
        (f"{accuracy:g}", _more(b) and "> ", b.cpu / a.cpu, _ending(b))
        for accuracy, a, b in zip(ours.axis("accuracy"), ours.results, other.results, strict=True)
    ]
    quantity = "time of the trapezoid over step doubling"
    yield finding(quantity, ratios, "{}: {}{:.2g}{}", Paper("5–20", 5.0, 20.0), join="; ")
    for scheme, own in runs.by("method").items():
        steps = [(f"{key['accuracy']:g}", cost.steps) for key, cost in own]
        paper = says("more with the trapezoid") if scheme == "trapezoid" else FIGURE_ONLY
        quantity = f"steps in {own.axis('duration')[0]:g} s, {scheme}"
        more = all(b.steps > a.steps for a, b in zip(ours.results, own.results, strict=True))
        yield finding(quantity, steps, "{}: {}", paper, join="; ", judged=more)
    yield _panel(runs)


def _figure_10_sweep(case: str, full: bool) -> list[Key]:
    return product(
        accuracy=FULL_ACCURACIES if full else ACCURACIES,
        norm=_NORMS,
        method=METHODS,
        duration=[CASES[case].duration if full else CASES[case].short],
        budget=[FULL_BUDGET if full else BUDGET],
    )


def _figure_10(case: str, runs: Runs) -> Measured:
    for norm, own in runs.by("norm").items():
        costs = own.by("method")
        ours = costs.pop("CENIC")
        at = " and ".join(f"{accuracy:g}" for accuracy in ours.axis("accuracy"))
        quantity = f"time over CENIC's at {at}, error of {norm}"
        ratios = [(method, _over(others, ours)) for method, others in costs.items()]
        # What fails costs more than any time.
        least = tuple(
            cost.cpu / own.cpu if cost.end in ("finished", "timeout") else np.inf
            for others in costs.values()
            for (key, cost), own in zip(others, ours.results, strict=True)
            if key["accuracy"] in ACCURACIES
        )
        yield finding(quantity, ratios, "{} {}", CASES[case].paper, join="; ", judged=least)
        quantity = f"error of {norm}: CENIC, CPU time per simulated second"
        found = [(f"{key['accuracy']:g}", cost.cpu, _ending(cost)) for key, cost in ours]
        yield finding(quantity, found, "{}: {:.2g} s{}", FIGURE_ONLY, join="; ")
    states, positions = (own.where(method="CENIC") for own in runs.by("norm").values())
    gains = [
        (f"{key['accuracy']:g}", cost.cpu / other.cpu)
        for (key, cost), other in zip(states, positions.results, strict=True)
    ]
    quantity = "CENIC: time with the full state over that with positions"
    magnitude = Paper("an order of magnitude", 5.0, 50.0)
    yield finding(quantity, gains, "{}: {:.2g}", magnitude, join="; ")
    for norm, own in runs.by("norm").items():
        yield _panel(own, f"error of {norm}")


EXPERIMENTS = (
    Experiment(
        "cenic-figure-9",
        "CENIC, figure 9",
        "trapezoid and step doubling in hard clutter",
        lambda method, accuracy, duration, progress: cost_of(
            "hard clutter",
            _SCHEMES[method](accuracy=accuracy),
            duration=duration,
            budget=FULL_BUDGET,
        ),
        _figure_9_sweep,
        _figure_9,
    ),
    *(
        Experiment(
            f"cenic-figure-10-{case.replace(' ', '-')}",
            "CENIC, figure 10",
            f"classical integrators: {case}",
            partial(_classical_cost, case),
            partial(_figure_10_sweep, case),
            partial(_figure_10, case),
        )
        for case in CASES
    ),
)
