"""Policies of one engine tried in the others, and with pegs that they were not trained with."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from studies.experiments.engines import BULLET, BULLETS, MIDAS, MUJOCO, RANDOMIZED
from studies.experiments.form import Key, Measured, Runs, finding, product
from studies.experiments.gripper_runs import no_bullet
from studies.experiments.outcome import Curve, Panel
from studies.experiments.peg_figures import MARGIN, SETTINGS, outside, spread
from studies.experiments.registry import Experiment, Progress
from studies.experiments.runs import part

if TYPE_CHECKING:
    from studies.experiments.peg_policies import Plan

__all__ = ["EXPERIMENTS"]

_EACH = 20, 100  # tests of a policy; the second where all is wanted


class _Trial(NamedTuple):
    """What policies are tried in."""

    engine: str
    said: str = ""
    options: dict[str, Any] = {}  # noqa: RUF012 (nobody writes into it)

    @property
    def name(self) -> str:
        return f"{self.engine}{self.said and ', '}{self.said}"


_ALL = (MIDAS, BULLET, *BULLETS, MUJOCO)
_USUAL = (MIDAS, BULLET, BULLETS[-1], MUJOCO)
"""Engines in which policies are tried; all of them if all is wanted."""

_TILT = {"tilt": np.radians(1.0).item()}
_PEGS = (
    _Trial(MIDAS),
    *(_Trial(engine, "gripped askew by 1°", _TILT) for engine in _USUAL),
    _Trial(MIDAS, "friction 0.2 instead of 0.1", {"friction": 0.2}),
    _Trial(MIDAS, "margin 0.1 mm instead of 0.5 mm", {"margin": 1e-4}),
)
"""With what a policy was not trained, unless it was trained with many pegs."""


def _sweep(
    trials: Callable[[bool], list[_Trial]], usual: tuple[str, ...], full: bool, **settings: Any
) -> list[Key]:
    """Policies of a plan, each in all trials."""
    from studies.experiments.peg_policies import make_plan
    from studies.experiments.peg_runs import usable

    plan = make_plan(full, usual=usual, **settings)
    known = {one.name: one for one in trials(full) if usable([one.engine])}
    return [
        key | {"name": name, "trial": one, "plan": plan, "count": _EACH[full]}
        for key in product(source=plan.engines, seed=range(plan.seeds))
        for name, one in known.items()
    ]


def _try(
    source: str, seed: int, trial: _Trial, plan: Plan, count: int, progress: Progress, name: str
) -> tuple[float, float]:
    """How many pegs a policy inserts, and how many of these within the margin [%]."""
    from studies.experiments.peg_policies import trained
    from studies.experiments.peg_runs import test_policy
    from studies.experiments.peg_training import load

    agent = load(trained(source, MARGIN, seed, plan, part(progress, 0.0, 0.7)).policy)
    options = {"margin": MARGIN, **trial.options}
    own = part(progress, 0.7, 1.0)
    tests = test_policy(agent, trial.engine, count=count, progress=own, **options)
    inserted = 100.0 * float(tests.success.mean())
    places = tests.position[tests.success]
    beyond = outside(places, options["margin"]) if len(places) else 0.0
    return inserted, inserted * (1.0 - beyond)


def _measure(runs: Runs) -> Measured:
    """Success and final positions of policies from every engine.

    A policy is worth what it does in the engines that it was not trained in: what it owes to
    intersections it does not find there.
    """
    yield from no_bullet()
    curves, names = [], list(runs.by("name"))
    for source, own in runs.by("source").items():
        medians = []
        for name, one in own.by("name").items():
            inserted, within = np.array(one.results).T
            medians.append(float(np.median(within)))
            values = spread(inserted), spread(within)
            yield finding(f"from {source} in {name}", values, "{}; within the margin {}")
        numbers = np.arange(1.0, len(medians) + 1.0)
        curves.append(Curve(f"from {source}", numbers, np.array(medians), "o-"))
    key = "\n".join(f"{i}: {name}" for i, name in enumerate(names, 1))
    yield Panel(key, "inserted within the margin, median [%]", curves)


EXPERIMENTS = (
    Experiment(
        "midas-transfer",
        "beyond Midas",
        "policies of each engine tried in all engines",
        _try,
        partial(
            _sweep,
            lambda full: [_Trial(name) for name in (_ALL if full else _USUAL)],
            (MIDAS, BULLET, BULLETS[-1]),
        ),
        _measure,
        settings=SETTINGS,
    ),
    Experiment(
        "midas-other-pegs",
        "beyond Midas",
        "policies with pegs askew, rougher and wider",
        _try,
        partial(_sweep, lambda full: list(_PEGS), (MIDAS, RANDOMIZED, BULLET)),
        _measure,
        settings=SETTINGS,
    ),
)
