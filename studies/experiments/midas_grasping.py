"""Figures 3 and 4 of the Midas paper: a thin cup is placed; the least force that lifts a cube."""

from __future__ import annotations

import math
from collections.abc import Callable

import mujoco
import numpy as np

from asperity.errors import SimulationError
from asperity.scenes.gripper_tasks import (
    CUBE_SIDE,
    CUP_ASIDE,
    GRAVITY,
    LIFT_ACCELERATION,
    Task,
    cube_grasp,
    cup_placing,
)
from studies.experiments.engines import (
    MIDAS,
    Make,
    Run,
    has_bullet,
    run_bullet,
    run_midas,
    run_mujoco,
)
from studies.experiments.form import Key, Measured, Runs, about, finding, product
from studies.experiments.gripper_runs import (
    Ending,
    Trial,
    checked,
    engines,
    no_bullet,
    overlaps,
    summaries,
    trial,
)
from studies.experiments.outcome import Curve, Panel
from studies.experiments.registry import Experiment, Progress

__all__ = ["EXPERIMENTS", "expected_force", "is_placed", "least_force"]

FORCES = (5.0, 500.0)  # [N]
CUP_ACTIVATION = 9e-4  # [m]
CUBE_ACTIVATION = 9e-4  # [m]

DENSITIES = (500.0, 1000.0, 2000.0, 4000.0)  # [kg/m³]
FRICTIONS = (0.1, 0.2, 0.4, 0.8)
DENSITY, FRICTION = 1000.0, 0.5
_DEEP = 1e-3
"""Overlap of a cup that a jaw penetrates [m]."""


def is_placed(trial: Trial) -> bool:
    """Whether the cup was lifted and stands, to 5 mm, where the gripper carried it."""
    moved = trial.path[-1] - trial.path[0]
    lifted = float(trial.path[:, 2].max() - trial.path[0, 2]) > 0.1
    there = abs(float(moved[0]) - CUP_ASIDE) < 5e-3 and abs(float(moved[2])) < 5e-3
    return lifted and there and trial.upright > 0.999


_PAPER_CUP = {
    MIDAS: Ending(
        "placed, no overlap",
        lambda trials: all(is_placed(one) and one.deepest <= 0.0 for one in trials),
    ),
    "Bullet, convex meshes": Ending(
        "a jaw penetrates the cup, which sticks to the gripper",
        lambda trials: any(one.deepest > _DEEP and not is_placed(one) for one in trials),
    ),
}


def _end(trial: Trial) -> str:
    if is_placed(trial):
        return "placed"
    moved = trial.path[-1] - trial.path[0]
    away = math.hypot(moved[0] - CUP_ASIDE, moved[1])
    return f"not placed (off by {1e3 * away:.0f} mm)" if away < 1.0 else "thrown away"


def _place(case: str, engine: str, every: int, progress: Progress) -> Trial:
    return trial(
        engine,
        lambda standoff: cup_placing(_CUPS[case], standoff=standoff),
        CUP_ACTIVATION,
        _end,
        every=every,
        progress=progress,
    )


_CUPS = {f"{force:g} N": force for force in FORCES}


def expected_force(friction: float, density: float) -> float:
    """Force per finger at which Coulomb friction just lifts the cube [N]."""
    return density * CUBE_SIDE**3 * (GRAVITY + LIFT_ACCELERATION) / (2.0 * friction)


def _holds(run: Run, task: Task) -> bool:
    """Whether the cube was lifted at least half as far as the hand."""
    model = mujoco.MjModel.from_xml_string(task.surfaces)
    cube, hand = (run.path(model, body)[:, 2] for body in (task.object, "hand"))
    return bool(cube[-1] - cube[0] > 0.5 * (hand[-1] - hand[0]))


def least_force(
    do: Callable[[Make], Run], friction: float, density: float, resolution: float = 0.01
) -> float:
    """Smallest force per finger that lifts the cube [N], by bisection; NaN if none does.

    Parameters
    ----------
    do : callable
        Runs a task with an engine.
    friction, density : float
    resolution : float
        Relative.
    """
    expected = expected_force(friction, density)

    def holds(force: float) -> bool:
        def make(standoff: float) -> Task:
            return cube_grasp(friction, density, force, standoff=standoff)

        return _holds(do(make), make(0.0))

    low, high = 0.5 * expected, 1.03 * expected
    while not holds(high):
        low, high = high, 2.0 * high
        if high > 20.0 * expected:
            return math.nan
    while high > (1.0 + resolution) * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _with_midas(make: Make) -> Run:
    run = run_midas(make(0.0), CUBE_ACTIVATION)
    if run.failure:
        raise SimulationError(run.failure)
    return run


def _engines(full: bool) -> dict[str, Callable[[Make], Run]]:
    found: dict[str, Callable[[Make], Run]] = {MIDAS: _with_midas}
    if has_bullet():
        found["Bullet, boxes"] = lambda make: run_bullet(make(0.0), hulls=False)
        if full:
            found["Bullet, boxes, 1 ms"] = lambda make: run_bullet(
                make(0.0), hulls=False, fine=True
            )
    found["MuJoCo"] = lambda make: run_mujoco(make(0.0))
    if full:
        found["MuJoCo, 0.2 ms"] = lambda make: run_mujoco(make(0.0), stiff=True)
    return found


def _least_force(
    engine: str, over: str, friction: float, density: float, full: bool, progress: Progress
) -> float:
    return least_force(_engines(full)[engine], friction, density)


def _loads(full: bool) -> list[Key]:
    densities = product(over=["density"], friction=[FRICTION], density=DENSITIES)
    frictions = product(over=["1/μ"], friction=FRICTIONS, density=[DENSITY])
    return [
        {"engine": engine, **key, "full": full}
        for engine in _engines(full)
        for key in densities + frictions
    ]


def _figure_3(runs: Runs) -> Measured:
    yield from summaries(runs, _PAPER_CUP)
    for case, own in runs.by("case").items():
        yield Panel("time [s]", "deepest overlap [mm]", overlaps(own), case)


def _figure_4(runs: Runs) -> Measured:
    cases = runs.where(engine=MIDAS)
    exact = {
        over: np.array([expected_force(key["friction"], key["density"]) for key, _ in own])
        for over, own in cases.by("over").items()
    }
    axes = np.array(DENSITIES), 1.0 / np.array(FRICTIONS)
    curves = {
        over: [Curve("m (g + a) / 2μ", x, exact[over], "k:")]
        for over, x in zip(exact, axes, strict=True)
    }
    for engine, own in runs.by("engine").items():
        for (over, found), x in zip(own.by("over").items(), axes, strict=True):
            forces = found.values()
            ratio = forces / exact[over]
            curves[over].append(Curve(engine, x, forces, "o-"))
            missed = np.isnan(ratio).sum()
            note = f", {missed} of {len(ratio)} not lifted at all" if missed else ""
            yield finding(
                f"{engine}: least force (to 1 %) over m(g + a)/2μ, by {over}",
                (np.nanmin(ratio), np.nanmax(ratio), note),
                "{:.3f} to {:.3f}{}",
                about("proportional", 1.0, 0.01) if engine == MIDAS else "–",
            )
    yield checked("Midas: every step checked by ipctk")
    yield from no_bullet()
    for label, over in (("density [kg/m³]", "density"), ("1/μ", "1/μ")):
        yield Panel(label, "least force of a finger [N]", curves[over])


EXPERIMENTS = (
    Experiment(
        "midas-figure-3",
        "Midas, figure 3",
        "a gripper places a thin cup",
        _place,
        lambda full: product(case=_CUPS, engine=engines(), every=[1 if full else 5]),
        _figure_3,
    ),
    Experiment(
        "midas-figure-4",
        "Midas, figure 4",
        "least force that lifts a cube",
        _least_force,
        _loads,
        _figure_4,
    ),
)
