"""Figures 7 to 9 of the Midas paper, and its harder task: a policy learns to insert a peg.

What computes them needs Gymnasium and PyTorch (extra ``train``), which their names do not.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from studies.experiments.outcome import Outcome
from studies.experiments.registry import Experiment, Progress

__all__ = ["EXPERIMENTS"]


_SETTINGS = ("seeds", "iterations", "engine", "policies")


def _computed_by(name: str, module: str = "peg_figures") -> Callable[..., Outcome]:
    def compute(full: bool, progress: Progress, **settings: Any) -> Outcome:
        found = importlib.import_module(f"studies.experiments.{module}")
        outcome: Outcome = getattr(found, name)(full, progress, **settings)
        return outcome

    return compute


EXPERIMENTS = (
    Experiment(
        "midas-figure-7",
        "Midas, figure 7",
        "a policy learns to insert a peg",
        _computed_by("figure_7"),
        _SETTINGS,
    ),
    Experiment(
        "midas-figure-8",
        "Midas, figure 8",
        "final states of the learned policy",
        _computed_by("figure_8"),
        _SETTINGS,
    ),
    Experiment(
        "midas-figure-9",
        "Midas, figure 9",
        "places of inserted pegs",
        _computed_by("figure_9"),
        _SETTINGS,
    ),
    Experiment(
        "midas-harder-task",
        "Midas, section V-E",
        "learned insertion with a margin of 0.1 mm",
        _computed_by("harder_task"),
        _SETTINGS,
    ),
    Experiment(
        "midas-transfer",
        "beyond Midas",
        "policies of each engine tried in all engines",
        _computed_by("transfer", "peg_transfer"),
        _SETTINGS,
    ),
    Experiment(
        "midas-other-pegs",
        "beyond Midas",
        "policies with pegs askew, rougher and wider",
        _computed_by("other_pegs", "peg_transfer"),
        _SETTINGS,
    ),
)
