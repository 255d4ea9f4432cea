"""Policies of one engine tried in the others, and with pegs that they were not trained with."""

from __future__ import annotations

from typing import Any

import numpy as np

from asperity.experiments.engines import MIDAS
from asperity.experiments.outcome import Curve, Finding, Outcome, Panel
from asperity.experiments.peg_runs import (
    ENGINES,
    FULL_ITERATIONS,
    ITERATIONS,
    MARGIN,
    missing,
    test_policy,
    trained,
    usable,
)
from asperity.experiments.peg_training import load
from asperity.experiments.registry import Progress
from asperity.experiments.runs import part, tracked

__all__ = ["transfer"]

_MESH = "Bullet, triangle mesh"
_OTHERS: dict[str, dict[str, Any]] = {
    "gripped askew by 1°": {"tilt": np.radians(1.0).item()},
    "friction 0.2 instead of 0.1": {"friction": 0.2},
    "margin 0.1 mm": {"margin": 1e-4},
}
"""What a policy was not trained with."""


def transfer(full: bool, progress: Progress) -> Outcome:
    """Success and final positions of policies from Midas and from Bullet, everywhere.

    A policy is worth what it does in the engines that it was not trained in: what it owes to
    intersections it does not find there.
    """
    count = 100 if full else 40
    iterations = FULL_ITERATIONS if full else ITERATIONS
    findings, curves = list(missing()), []
    sources = usable([MIDAS, _MESH])
    for source, own in tracked(sources, progress):
        training = trained(source, MARGIN, 0, iterations, part(own, 0.0, 0.7))
        agent = load(training.policy)
        shares = []
        targets = usable(list(ENGINES))
        for target, mine in tracked(targets, part(own, 0.7, 0.9)):
            tests = test_policy(agent, target, MARGIN, count, mine)
            aside = np.hypot(tests.position[:, 0], tests.position[:, 1])[tests.success]
            within = float(np.sum(aside <= MARGIN)) / count
            shares.append(100.0 * within)
            ours = f"{100.0 * tests.success.mean():.3g} %, {100.0 * within:.3g} % within the margin"
            findings.append(Finding(f"trained in {source}, tried in {target}", ours, "not tried"))
        curves.append(Curve(f"from {source}", np.arange(1.0, len(shares) + 1.0), np.array(shares)))
        for name, options in _OTHERS.items():
            margin = {"margin": MARGIN, **options}
            tests = test_policy(agent, MIDAS, count=count, progress=lambda share: None, **margin)
            ours = f"{100.0 * tests.success.mean():.3g} %"
            findings.append(Finding(f"trained in {source}, in Midas: {name}", ours, "not tried"))
    label = "inserted within the margin [%]"
    number = f"engine: {', '.join(f'{i}: {e}' for i, e in enumerate(usable(list(ENGINES)), 1))}"
    return Outcome(tuple(findings), (Panel(number, label, tuple(curves)),))
