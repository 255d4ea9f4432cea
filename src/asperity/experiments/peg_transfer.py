"""Policies of one engine tried in the others, and with pegs that they were not trained with."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from asperity.experiments.engines import MIDAS
from asperity.experiments.outcome import Curve, Finding, Outcome, Panel
from asperity.experiments.peg_figures import outside, spread
from asperity.experiments.peg_policies import make_plan, trained
from asperity.experiments.peg_runs import (
    BULLET,
    ENGINES,
    MARGIN,
    RANDOMIZED,
    missing,
    test_policy,
    usable,
)
from asperity.experiments.peg_training import load
from asperity.experiments.registry import Progress
from asperity.experiments.runs import part, tracked

__all__ = ["transfer"]


_EACH = 20, 100  # tests of a policy; the second where all is wanted


class _Trial(NamedTuple):
    """What policies are tried in."""

    engine: str
    said: str = ""
    options: dict[str, Any] = {}  # noqa: RUF012 (nobody writes into it)

    @property
    def name(self) -> str:
        return f"{self.engine}{self.said and ', '}{self.said}"


_TILT = {"tilt": np.radians(1.0).item()}
_OTHERS = (
    *(_Trial(engine, "gripped askew by 1°", _TILT) for engine in ENGINES if "pieces" not in engine),
    _Trial(MIDAS, "friction 0.2 instead of 0.1", {"friction": 0.2}),
    _Trial(MIDAS, "margin 0.1 mm instead of 0.5 mm", {"margin": 1e-4}),
)
"""With what a policy was not trained, unless it was trained with many pegs."""


def transfer(full: bool, progress: Progress, **settings: Any) -> Outcome:
    """Success and final positions of policies from Midas and from Bullet, everywhere.

    A policy is worth what it does in the engines that it was not trained in: what it owes to
    intersections it does not find there.
    """
    plan = make_plan(full, usual=(MIDAS, RANDOMIZED, BULLET), **settings)
    count = _EACH[full]
    usual = [_Trial(name) for name in usable(list(ENGINES))]
    trials = [*usual, *(trial for trial in _OTHERS if trial.engine in usable([trial.engine]))]
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
            findings.append(Finding(f"from {source} in {trial.name}", ours, "not tried"))
        numbers = np.arange(1.0, len(medians) + 1.0)
        curves.append(Curve(f"from {source}", numbers, np.array(medians), "o-"))
    label = "inserted within the margin, median [%]"
    key = "\n".join(f"{i}: {trial.name}" for i, trial in enumerate(trials, 1))
    return Outcome(tuple(findings), (Panel(key, label, tuple(curves)),))
