"""Figure 10 of the CENIC paper, the clutter: CENIC and classical error-controlled integrators."""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from asperity.errors import Status
from asperity.experiments.outcome import Curve, Finding, Outcome, Panel
from asperity.experiments.registry import Experiment, Progress
from asperity.experiments.runs import tracked
from asperity.integrators import (
    Cenic,
    ImplicitEuler,
    Integrator,
    Rosenbrock2,
    RungeKutta3,
    Sdirk2,
)
from asperity.scenes.cenic_clutter import cenic_clutter
from asperity.simulator import Simulator

__all__ = ["EXPERIMENTS", "METHODS", "Cost", "cost_of"]

DURATION = 2.0  # [s]
FULL_DURATION = 10.0
TIMEOUT = 2.0
"""CPU time per simulated second after which a run is given up [s]."""
FULL_TIMEOUT = 10.0
"""The paper's, 100 s for 10 s."""

ACCURACIES = (1e-1, 1e-2)
FULL_ACCURACIES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)

_NORMS = {"state": "full state", "position": "positions"}

_CLASSICAL: dict[str, Callable[..., Integrator]] = {
    "RK3": RungeKutta3,
    "implicit Euler": ImplicitEuler,
    "SDIRK2": Sdirk2,
    "ROS2": Rosenbrock2,
}
METHODS = ("CENIC", *_CLASSICAL)


class Cost(NamedTuple):
    """How a run ended, and what it cost."""

    end: str
    """``"finished"``, ``"timeout"``, ``"gained energy"`` or the status of a failure."""
    time: float
    """Simulated time reached [s]."""
    cpu: float
    """CPU time per simulated second [s]."""
    steps: int


class _OutOfTime(Exception):
    """A run takes too long."""


def cost_of(
    kind: str, method: str, accuracy: float, norm: str, *, duration: float, timeout: float
) -> Cost:
    """Simulate a clutter.

    Parameters
    ----------
    kind : str
        See `cenic_clutter`.
    method : str
        Of `METHODS`.
    accuracy : float
    norm : {"position", "state"}
        What the accuracy bounds; CENIC bounds positions always.
    duration : float
        [s]
    timeout : float
        CPU time per simulated second after which the run ends [s].
    """
    if method == "CENIC":
        integrator: Integrator = Cenic(accuracy=accuracy)
    else:
        integrator = _CLASSICAL[method](accuracy=accuracy, error_norm=norm)
    simulator = Simulator(cenic_clutter(kind), integrator=integrator)
    energy = sum(simulator.energy())
    started = clock.process_time()

    def check(_simulator: Simulator) -> None:
        if clock.process_time() - started > timeout * duration:
            raise _OutOfTime

    try:
        status = simulator.advance_to(duration, progress=check).status
        end = "finished" if status == Status.SUCCESS else status.name
    except _OutOfTime:
        end = "timeout"
    cpu = clock.process_time() - started
    # What falls, slides and collides can only lose it.
    if end == "finished" and not sum(simulator.energy()) < 1.01 * energy:
        end = "gained energy"
    reached = simulator.time
    return Cost(end, reached, cpu / reached if reached > 0 else np.inf, simulator.stats.steps)


def _figure_10(kinds: tuple[str, ...], full: bool, progress: Progress) -> Outcome:
    accuracies = FULL_ACCURACIES if full else ACCURACIES
    limits = {
        "duration": FULL_DURATION if full else DURATION,
        "timeout": FULL_TIMEOUT if full else TIMEOUT,
    }
    runs = [
        (kind, norm, method, accuracy)
        for kind in kinds
        for norm in _NORMS
        for method in METHODS
        for accuracy in accuracies
    ]
    costs: dict[tuple[str, str, str, float], Cost] = {}
    for run, _ in tracked(runs, progress):
        kind, norm, method, accuracy = run
        if method == "CENIC" and norm != "state":
            # It knows one norm, and need not run twice.
            costs[run] = costs[kind, "state", method, accuracy]
        else:
            costs[run] = cost_of(kind, method, accuracy, norm, **limits)
    findings, panels = [], []
    for kind in kinds:
        for norm, label in _NORMS.items():
            curves = []
            for method in METHODS:
                found = [costs[kind, norm, method, accuracy] for accuracy in accuracies]
                done = [cost.end == "finished" for cost in found]
                x = np.array(accuracies)[done]
                y = np.array([cost.cpu for cost in found])[done]
                curves.append(Curve(method, x, y, "o-"))
                if method == "CENIC":
                    continue
                ours = []
                for accuracy, cost in zip(accuracies, found, strict=True):
                    ratio = cost.cpu / costs[kind, norm, "CENIC", accuracy].cpu
                    ending = "" if cost.end == "finished" else f" ({cost.end})"
                    more = "> " if cost.end == "timeout" else ""
                    ours.append(f"{accuracy:g}: {more}{ratio:.2g}{ending}")
                findings.append(
                    Finding(
                        f"{kind} clutter, {label}: time of {method} over CENIC's",
                        "; ".join(ours),
                        "over 10 at loose accuracy" if kind == "hard" else "in the figure only",
                    )
                )
            title = f"{kind} clutter, error of {label}"
            axes = "accuracy", "CPU time per simulated second [s]"
            panels.append(Panel(*axes, tuple(curves), title, log_x=True, log_y=True))
    return Outcome(tuple(findings), tuple(panels))


def _clutter(full: bool, progress: Progress) -> Outcome:
    return _figure_10(("soft", "hard") if full else ("hard",), full, progress)


EXPERIMENTS = (
    Experiment(
        "cenic-figure-10",
        "CENIC, figure 10",
        "cost of CENIC and of classical integrators against the accuracy, in clutter",
        _clutter,
    ),
)
