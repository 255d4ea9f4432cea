"""Policies of one engine tried in the others, and with pegs that they were not trained with."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from studies.experiments.engines import MIDAS
from studies.experiments.outcome import Curve, Finding, Outcome, Panel
from studies.experiments.peg_figures import outside, spread
from studies.experiments.peg_policies import make_plan, trained
from studies.experiments.peg_runs import (
    BULLET,
    BULLET_AT_ITS_BEST,
    ENGINES,
    MARGIN,
    MUJOCO,
    RANDOMIZED,
    missing,
    test_policy,
    usable,
)
from studies.experiments.peg_training import load
from studies.experiments.registry import Progress
from studies.experiments.runs import part, tracked

__all__ = ["other_pegs", "transfer"]


_EACH = 20, 100  # tests of a policy; the second where all is wanted


class _Trial(NamedTuple):
    """What policies are tried in."""

    engine: str
    said: str = ""
    options: dict[str, Any] = {}  # noqa: RUF012 (nobody writes into it)

    @property
    def name(self) -> str:
        return f"{self.engine}{self.said and ', '}{self.said}"


_USUAL = (MIDAS, BULLET, BULLET_AT_ITS_BEST, MUJOCO)
"""Engines in which policies are tried; all of them if all is wanted."""

_TILT = {"tilt": np.radians(1.0).item()}
_PEGS = (
    _Trial(MIDAS),
    *(_Trial(engine, "gripped askew by 1°", _TILT) for engine in _USUAL),
    _Trial(MIDAS, "friction 0.2 instead of 0.1", {"friction": 0.2}),
    _Trial(MIDAS, "margin 0.1 mm instead of 0.5 mm", {"margin": 1e-4}),
)
"""With what a policy was not trained, unless it was trained with many pegs."""


def transfer(full: bool, progress: Progress, **settings: Any) -> Outcome:
    """Success and final positions of policies from every engine, in every engine.

    A policy is worth what it does in the engines that it was not trained in: what it owes to
    intersections it does not find there.
    """
    engines = tuple(ENGINES) if full else _USUAL
    usual = (MIDAS, BULLET, BULLET_AT_ITS_BEST)
    return _tried([_Trial(name) for name in engines], full, progress, usual, settings)


def other_pegs(full: bool, progress: Progress, **settings: Any) -> Outcome:
    """Success of policies with pegs that they were not trained with."""
    return _tried(list(_PEGS), full, progress, (MIDAS, RANDOMIZED, BULLET), settings)


def _tried(
    trials: list[_Trial],
    full: bool,
    progress: Progress,
    sources: tuple[str, ...],
    settings: dict[str, Any],
) -> Outcome:
    """Try the policies of a plan."""
    plan = make_plan(full, usual=sources, **settings)
    count = _EACH[full]
    trials = [trial for trial in trials if trial.engine in usable([trial.engine])]
    findings, curves = list(missing()), []
    for source, own in tracked(plan.engines, progress):
        agents = [
            load(trained(source, MARGIN, seed, plan, mine).policy)
            for seed, mine in tracked(range(plan.seeds), part(own, 0.0, 0.7))
        ]
        medians = []
        for trial, mine in tracked(trials, part(own, 0.7, 1.0)):
            options = {"margin": MARGIN, **trial.options}
            inserted, within = [], []
            for agent, one in tracked(agents, mine):
                tests = test_policy(agent, trial.engine, count=count, progress=one, **options)
                inserted.append(100.0 * float(tests.success.mean()))
                places = tests.position[tests.success]
                beyond = outside(places, options["margin"]) if len(places) else 0.0
                within.append(inserted[-1] * (1.0 - beyond))
            medians.append(float(np.median(within)))
            ours = f"{spread(np.array(inserted))}; within the margin {spread(np.array(within))}"
            findings.append(Finding(f"from {source} in {trial.name}", ours, "–"))
        numbers = np.arange(1.0, len(medians) + 1.0)
        curves.append(Curve(f"from {source}", numbers, np.array(medians), "o-"))
    label = "inserted within the margin, median [%]"
    key = "\n".join(f"{i}: {trial.name}" for i, trial in enumerate(trials, 1))
    return Outcome(tuple(findings), (Panel(key, label, tuple(curves)),))
