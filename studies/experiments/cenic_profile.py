"""Figure 18 of the CENIC paper: what the time of every example is spent on (VII-E)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import mujoco
import numpy as np

from asperity.integrators import Integrator
from asperity.simulator import Simulator
from studies.experiments.cenic_cases import CASES
from studies.experiments.dish_rack_runs import fields
from studies.experiments.entry_times import EntryTimes
from studies.experiments.outcome import Curve, Finding, Outcome, Panel
from studies.experiments.paper import paper_cenic
from studies.experiments.registry import Experiment, Progress
from studies.experiments.runs import advance, tracked
from studies.scenes.dish_rack import CONTROL_PERIOD, KEYFRAME, DishRack, dish_rack

__all__ = ["EXPERIMENTS", "Profile", "profile"]

ACCURACY = 1e-3
_WARM_UP = 0.01  # [s]
_ENOUGH = 0.3  # CPU time [s]
_RUNS = 30
_SHORT = ("cylinder", "gripper")  # they begin at a keyframe of this name: "start"
_CASES = ("cylinder", "gripper", "panda", "soft clutter", "hard clutter")
# The paper's parts, of what entry points are called.
_PARTS = {
    "geometry": ("MuJoCo, collision", "Jacobians"),
    "Hessians": ("assembly", "factorization", "solves"),
    "line searches": ("line search",),
    "external systems": ("external systems",),
    "contact laws": ("contact law",),
    "dynamics": ("MuJoCo, position", "MuJoCo, velocity", "MuJoCo, constraints", "snapshot"),
}
_REST = "rest"
_ALL = (*_PARTS, _REST)


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


class Profile(NamedTuple):
    """What a run took."""

    parts: dict[str, float]
    """[s], by what it was spent on."""
    cpu: float
    """[s]"""


def profile(
    simulator: Simulator,
    duration: float,
    progress: Progress = lambda share: None,
    *,
    keyframe: str | None = None,
) -> Profile:
    """Simulate a duration [s], and say what the time was spent on.

    With a keyframe to begin with, a short run is repeated; medians then leave out what else the
    machine does.
    """
    # Memory grows, and what is left is compiled, before anything is timed.
    advance(simulator, simulator.time + _WARM_UP, lambda share: None)
    times = EntryTimes(simulator)
    runs: list[Profile] = []
    while not runs or (
        keyframe is not None and len(runs) < _RUNS and sum(run.cpu for run in runs) < _ENOUGH
    ):
        if keyframe is not None:
            simulator.reset(keyframe)
        times.install()
        cpu = time.process_time()
        advance(simulator, duration, progress)
        cpu = time.process_time() - cpu
        found = times.read()
        parts = {
            part: sum(found.pop(name, 0.0) for name in names) for part, names in _PARTS.items()
        }
        runs.append(Profile(parts | {_REST: sum(found.values())}, cpu))
    times.remove()
    return Profile(
        {part: float(np.median([run.parts[part] for run in runs])) for part in _ALL},
        float(np.median([run.cpu for run in runs])),
    )


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
        keyframe = "start" if case in _SHORT else None
        spent, cpu = profile(make(), duration, own, keyframe=keyframe)
        total = sum(spent.values())
        percent = {part: 100.0 * value / total for part, value in spent.items()}
        heights.append(percent)
        findings.append(
            Finding(
                f"{case}: {1e3 * cpu / duration:.2g} ms per s",
                ", ".join(f"{part} {value:.0f} %" for part, value in percent.items()),
                _paper(case),
            )
        )
    number = np.arange(len(makes), dtype=float)
    curves = tuple(
        Curve(part, number, np.array([height[part] for height in heights]), "o-") for part in _ALL
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
        "what time is spent on",
        _figure_18,
    ),
)
