"""A gripper's task with every engine: poses, overlaps and a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.errors import SimulationError
from studies.experiments.engines import MIDAS, Make, Run, has_bullet, has_ipctk, peers, run_midas
from studies.experiments.outcome import Curve, Finding
from studies.experiments.overlap import OverlapMeter
from studies.experiments.registry import Progress
from studies.experiments.runs import part

__all__ = ["Trial", "notes", "overlap_curve", "trials"]

Floats = NDArray[np.float64]


class Trial(NamedTuple):
    """One engine's run of a task."""

    engine: str
    run: Run
    path: Floats
    """Of the object [m], shape (n, 3)."""
    upright: float
    """z component of the object's z axis at the end."""
    overlap_time: Floats
    """When overlaps were measured [s]."""
    overlap: Floats
    """Deepest overlap then [m]."""

    @property
    def deepest(self) -> float:
        """Deepest overlap at any time that was looked at [m]."""
        return float(self.overlap.max())


def trials(
    make: Make,
    activation_distance: float,
    *,
    spacing: float = 2.5e-3,
    every: int = 5,
    progress: Progress = lambda share: None,
) -> list[Trial]:
    """Do a task with Midas and the others, and measure all of them in the same way.

    Parameters
    ----------
    make : callable
        See `studies.experiments.engines.Make`.
    activation_distance : float
        Of Midas [m].
    spacing : float
        Of the points at which overlap is measured [m].
    every : int
        Overlap is measured at every so many samples of 20 ms, and at the end.
    progress : callable, optional

    Raises
    ------
    SimulationError
        If Midas fails; others may.
    """
    task = make(0.0)
    others = peers()
    run = run_midas(task, activation_distance, part(progress, 0.0, 0.3))
    if run.failure:
        raise SimulationError(run.failure)
    runs = {MIDAS: run}
    for i, (name, do) in enumerate(others.items()):
        runs[name] = do(make)
        progress(0.3 + 0.3 * (i + 1) / len(others))
    model = mujoco.MjModel.from_xml_string(task.surfaces)
    meter = OverlapMeter(model, spacing)
    found = []
    for i, (name, run) in enumerate(runs.items()):
        marks = sorted({*range(0, len(run.time), every), len(run.time) - 1})
        depths = [meter.measure(run.position[k], run.rotation[k]).depth for k in marks]
        upright = float(run.rotation[-1, model.body(task.object).id, 2, 2])
        path = run.path(model, task.object)
        found.append(Trial(name, run, path, upright, run.time[marks], np.array(depths)))
        progress(0.6 + 0.4 * (i + 1) / len(runs))
    return found


def overlap_curve(trial: Trial) -> Curve:
    """Deepest overlap over time [mm]."""
    return Curve(trial.engine, trial.overlap_time, 1e3 * trial.overlap)


def summaries(
    cases: Sequence[str], done: Sequence[Sequence[tuple[Trial, str]]], paper: Mapping[str, str]
) -> list[Finding]:
    """A finding for every engine: how each case ended, the deepest overlap, and the CPU time.

    Parameters
    ----------
    cases : sequence of str
        Names of the cases.
    done : sequence of sequences
        For every case, the trial of each engine and how it ended.
    paper : mapping
        What the paper says, by engine.
    """
    found = []
    for own in zip(*done, strict=True):
        runs = [trial for trial, _ in own]
        deepest, cpu = max(one.deepest for one in runs), sum(one.run.cpu_time for one in runs)
        ends = ", ".join(end for _, end in own)
        found.append(
            Finding(
                f"{runs[0].engine}: {', '.join(cases)}",
                f"{ends}; overlap {1e3 * deepest:.2g} mm, CPU {cpu:.2g} s",
                paper.get(runs[0].engine, "–"),
            )
        )
    return found


def notes() -> tuple[Finding, ...]:
    """Lines that say who checked Midas, and whether Bullet is missing."""
    checked = "no intersection" if has_ipctk() else "not checked, not installed (extra 'midas')"
    found = [Finding("Midas: every step checked by ipctk", checked, "no intersection")]
    if not has_bullet():
        found.append(Finding("Bullet", "not installed (extra 'peers')", "–"))
    return tuple(found)
