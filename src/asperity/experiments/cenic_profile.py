"""Figure 18 of the CENIC paper: what the time of every example is spent on (VII-E)."""

from __future__ import annotations

import time
from collections.abc import Callable

import mujoco
import numpy as np

from asperity.experiments.cenic_cases import CASES
from asperity.experiments.dish_rack_runs import fields
from asperity.experiments.outcome import Curve, Finding, Outcome, Panel
from asperity.experiments.paper import paper_cenic
from asperity.experiments.registry import Experiment, Progress
from asperity.experiments.runs import advance, tracked
from asperity.experiments.stopwatches import Shares, stopwatches
from asperity.integrators import Integrator
from asperity.scenes.dish_rack import CONTROL_PERIOD, KEYFRAME, DishRack, dish_rack
from asperity.simulator import Simulator

__all__ = ["EXPERIMENTS", "profile"]

ACCURACY = 1e-3
_WARM_UP = 0.01  # [s]
_CASES = ("cylinder", "gripper", "panda", "soft clutter", "hard clutter")
_LABELS = {
    "geometry": "geometry",
    "hessian": "Hessians",
    "line_search": "line searches",
    "external": "external systems",
    "dynamics": "dynamics",
    "other": "rest",
}


def _dish_rack(model: mujoco.MjModel, integrator: Integrator) -> Simulator:
    simulator = Simulator(
        model,
        integrator=integrator,
        contact=fields(),
        control=DishRack(model),
        control_period=CONTROL_PERIOD,
    )
    simulator.reset(KEYFRAME)
    return simulator


def profile(
    make: Callable[[], Simulator], duration: float, progress: Progress = lambda share: None
) -> tuple[Shares, float]:
    """What a simulation of a duration [s] from the start is spent on, and its CPU time [s]."""
    advance(make(), _WARM_UP, lambda share: None)
    simulator = make()
    # Memory grows, and what is left is compiled, before the watches are there.
    advance(simulator, _WARM_UP, lambda share: None)
    with stopwatches(simulator) as watches:
        begin, cpu = time.perf_counter(), time.process_time()
        advance(simulator, duration, progress)
        total, cpu = time.perf_counter() - begin, time.process_time() - cpu
    return watches.shares(total), cpu


def _figure_18(full: bool, progress: Progress) -> Outcome:
    integrator = paper_cenic(accuracy=ACCURACY)
    makes: dict[str, tuple[Callable[[], Simulator], float]] = {
        case: (
            lambda case=case: CASES[case].make(integrator),  # type: ignore[misc]
            CASES[case].duration if full else CASES[case].short,
        )
        for case in _CASES
    }
    rack = dish_rack()
    makes["dish rack"] = (lambda: _dish_rack(rack, integrator), DishRack(rack).duration)
    findings, heights = [], []
    for (case, (make, duration)), own in tracked(makes.items(), progress):
        shares, cpu = profile(make, duration, own)
        percent = [100.0 * share / shares.total for share in shares]
        heights.append(percent)
        parts = ", ".join(
            f"{label} {value:.0f} %" for label, value in zip(_LABELS.values(), percent, strict=True)
        )
        findings.append(
            Finding(f"{case}: {1e3 * cpu / duration:.2g} ms per s", parts, _paper(case))
        )
    number = np.arange(len(makes), dtype=float)
    curves = tuple(
        Curve(label, number, np.array([height[k] for height in heights]), "o-")
        for k, label in enumerate(_LABELS.values())
    )
    axis = ", ".join(f"{i}: {case}" for i, case in enumerate(makes))
    return Outcome(tuple(findings), (Panel(axis, "share of the time [%]", curves),))


def _paper(case: str) -> str:
    if case in ("cylinder", "gripper", "panda", "dish rack"):
        return "geometry often a major part (pressure fields)"
    return "no single part dominates"


EXPERIMENTS = (
    Experiment(
        "cenic-figure-18",
        "CENIC, figure 18",
        "what the time of five examples and of the dish rack is spent on",
        _figure_18,
    ),
)
