"""Figure 18 of the CENIC paper: what the time of every example is spent on (VII-E)."""

from __future__ import annotations

import time
from typing import NamedTuple

import mujoco
import numpy as np

from asperity.integrators import Integrator
from asperity.simulator import Simulator
from studies.experiments.cenic_cases import CASES
from studies.experiments.dish_rack_runs import fields
from studies.experiments.entry_times import EntryTimes
from studies.experiments.form import Measured, Runs, finding, product, says
from studies.experiments.outcome import Curve, Panel
from studies.experiments.paper import paper_cenic
from studies.experiments.registry import Experiment, Progress
from studies.experiments.runs import advance
from studies.scenes.dish_rack import CONTROL_PERIOD, KEYFRAME, DishRack, dish_rack

__all__ = ["EXPERIMENTS", "Profile", "profile"]

ACCURACY = 1e-3
_WARM_UP = 0.01  # [s]
_ENOUGH = 0.3  # CPU time [s]
_RUNS = 30
_SHORT = ("cylinder", "gripper")  # they begin at a keyframe of this name: "start"
_RACK = "dish rack"
_CASES = ("cylinder", "gripper", "panda", "soft clutter", "hard clutter", _RACK)
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
# Share of the time from which a part dominates [%].
_DOMINATES = 50.0
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


def _profile(case: str, full: bool, progress: Progress) -> tuple[Profile, float]:
    """What a case took, and its duration [s]."""
    integrator = paper_cenic(accuracy=ACCURACY)
    if case == _RACK:
        rack = dish_rack()
        simulator, duration = _dish_rack(rack, integrator), DishRack(rack).duration
    else:
        simulator = CASES[case].make(integrator)
        duration = CASES[case].duration if full else CASES[case].short
    keyframe = "start" if case in _SHORT else None
    return profile(simulator, duration, progress, keyframe=keyframe), duration


def _measure(runs: Runs) -> Measured:
    heights = []
    for key, (spent, duration) in runs:
        total = sum(spent.parts.values())
        heights.append({part: 100.0 * value / total for part, value in spent.parts.items()})
        points = "clutter" in key["case"]
        largest = max(heights[-1], key=heights[-1].__getitem__)
        yield finding(
            f"{key['case']}: {1e3 * spent.cpu / duration:.2g} ms per s",
            list(heights[-1].items()),
            "{} {:.0f} %",
            says("no single part dominates")
            if points
            else says("geometry often a major part (pressure fields)"),
            join=", ",
            judged=heights[-1][largest] <= _DOMINATES if points else largest == "geometry",
        )
    number = np.arange(len(heights), dtype=float)
    axis = ", ".join(f"{i}: {key['case']}" for i, (key, _) in enumerate(runs))
    curves = [Curve(p, number, np.array([height[p] for height in heights]), "o-") for p in _ALL]
    yield Panel(axis, "share of the time [%]", curves)


EXPERIMENTS = (
    Experiment(
        "cenic-figure-18",
        "CENIC, figure 18",
        "what time is spent on",
        _profile,
        lambda full: product(case=_CASES, full=[full]),
        _measure,
    ),
)
