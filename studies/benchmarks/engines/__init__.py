"""The engines that are compared, each behind the same small interface."""

from __future__ import annotations

import importlib

from studies.benchmarks.engines.base import Prepare

ENGINES = ("asperity", "drake", "mujoco")


def load(engine: str) -> Prepare:
    """The ``prepare`` function of an engine; imports it only now, for it may not be installed."""
    if engine not in ENGINES:
        raise ValueError(f"engine must be one of {', '.join(ENGINES)}, not {engine!r}")
    prepare: Prepare = importlib.import_module(
        f"studies.benchmarks.engines.{engine}_engine"
    ).prepare
    return prepare
