"""Policies of the peg's task: which are trained, and those that were trained before."""

from __future__ import annotations

import fnmatch
import hashlib
import io
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from asperity.envs import PegTask
from asperity.errors import ArgumentError, MissingExtra
from studies.experiments.engines import BULLET, MIDAS
from studies.experiments.peg_runs import SOURCES, usable, worlds
from studies.experiments.peg_training import SETTINGS, Training, train
from studies.experiments.runs import Progress

__all__ = ["Plan", "make_plan", "trained"]

_SEEDS = 5
_ITERATIONS, _FULL_ITERATIONS = 10, 20


@dataclass(frozen=True)
class Plan:
    """Which trainings an experiment does.

    Parameters
    ----------
    engines : tuple of str
        Of `SOURCES`.
    seeds : int
        Trainings in each engine, with the seeds 0, 1, …
    iterations : int
        Of a training.
    policies : Path, optional
        Folder that keeps policies.
    """

    engines: tuple[str, ...]
    seeds: int
    iterations: int
    policies: Path | None = None


def make_plan(
    full: bool,
    *,
    seeds: int | None = None,
    iterations: int | None = None,
    engine: Sequence[str] | None = None,
    policies: Path | None = None,
    usual: Sequence[str] | None = None,
) -> Plan:
    """Midas and Bullet as it comes; all settings of Bullet and more iterations if all is wanted.

    Parameters
    ----------
    full : bool
    seeds, iterations, policies
        As of `Plan`.
    engine : sequence of str, optional
        Names of `SOURCES`, or patterns such as ``bullet*``, instead of these engines.
    usual : sequence of str, optional
        The engines without ``engine``, where they are others.

    Raises
    ------
    ArgumentError
        If a pattern finds no engine, or what it finds is not installed.
    """
    bullets = [name for name in SOURCES if name.startswith("Bullet")] if full else [BULLET]
    chosen = usable(usual or [MIDAS, *bullets])
    if engine is not None:
        chosen = list(dict.fromkeys(name for pattern in engine for name in _found(pattern)))
    return Plan(
        tuple(chosen),
        seeds or _SEEDS,
        iterations or (_FULL_ITERATIONS if full else _ITERATIONS),
        policies,
    )


def _found(pattern: str) -> list[str]:
    found = [name for name in SOURCES if fnmatch.fnmatchcase(name.lower(), pattern.lower())]
    if not found:
        raise ArgumentError(f"no engine is called {pattern!r}; there are {'; '.join(SOURCES)}.")
    if not usable(found):
        raise MissingExtra(f"{found[0]} needs PyBullet; pip install 'asperity[peers]'.")
    return usable(found)


_TRAINED: dict[tuple[str, float, int, int], Training] = {}


def trained(engine: str, margin: float, seed: int, plan: Plan, progress: Progress) -> Training:
    """A training, which is done once in a process, and once for a folder that keeps policies.

    Raises
    ------
    ArgumentError
        If sb3-contrib is not installed, or a file of the folder is none of a training.
    """
    key = (engine, margin, seed, plan.iterations)
    if key not in _TRAINED:
        path = None if plan.policies is None else plan.policies / _file(*key)
        if path is not None and path.exists():
            _TRAINED[key] = _read(path)
        else:
            _TRAINED[key] = train(worlds(engine, margin), seed, plan.iterations, progress)
            if path is not None:
                _write(path, _TRAINED[key])
    progress(1.0)
    return _TRAINED[key]


def _file(engine: str, margin: float, seed: int, iterations: int) -> str:
    """The name of a training's file, which is another one if task or settings are others."""
    said = repr((PegTask(margin=margin), SOURCES[engine], SETTINGS))
    mark = hashlib.sha256(said.encode()).hexdigest()[:8]
    name = engine.lower().replace(",", "").replace(" ", "-")
    return f"{name}-{1e3 * margin:g}mm-{iterations}-iterations-seed-{seed}-{mark}.npz"


def _write(path: Path, training: Training) -> None:
    file = io.BytesIO()
    np.savez(
        file,
        reward=training.reward,
        success=training.success,
        policy=np.frombuffer(training.policy, np.uint8),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    # Whole or not at all.
    beginning = path.with_suffix(f".{os.getpid()}.part")
    beginning.write_bytes(file.getvalue())
    beginning.replace(path)


def _read(path: Path) -> Training:
    try:
        with np.load(path) as file:
            return Training(file["reward"], file["success"], file["policy"].tobytes())
    except (OSError, ValueError, KeyError) as error:
        raise ArgumentError(f"{path} holds no training ({error}); remove it.") from None
