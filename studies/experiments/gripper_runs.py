"""A gripper's task with every engine: poses, overlaps and a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.errors import SimulationError
from studies.experiments.engines import MIDAS, Make, Run, has_bullet, has_ipctk, peers, run_midas
from studies.experiments.form import Runs, finding, says
from studies.experiments.outcome import Curve, Finding
from studies.experiments.overlap import OverlapMeter
from studies.experiments.runs import Progress, part

__all__ = ["Trial", "checked", "engines", "no_bullet", "overlaps", "summaries", "trial"]

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
    end: str = ""
    """How the task ended."""

    @property
    def deepest(self) -> float:
        """Deepest overlap at any time that was looked at [m]."""
        return float(self.overlap.max())


def trial(
    engine: str,
    make: Make,
    activation_distance: float,
    end: Callable[[Trial], str],
    *,
    spacing: float = 2.5e-3,
    every: int = 5,
    progress: Progress = lambda share: None,
) -> Trial:
    """Do a task with an engine; all are measured in the same way.

    Parameters
    ----------
    engine : str
        Midas, or a name of `studies.experiments.engines.peers`.
    make : callable
        See `studies.experiments.engines.Make`.
    activation_distance : float
        Of Midas [m].
    end : callable
        Says how the task ended.
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
    if engine == MIDAS:
        run = run_midas(task, activation_distance, part(progress, 0.0, 0.6))
        if run.failure:
            raise SimulationError(run.failure)
    else:
        run = peers()[engine](make)
    progress(0.6)
    model = mujoco.MjModel.from_xml_string(task.surfaces)
    meter = OverlapMeter(model, spacing)
    marks = sorted({*range(0, len(run.time), every), len(run.time) - 1})
    depths = [meter.measure(run.position[k], run.rotation[k]).depth for k in marks]
    upright = float(run.rotation[-1, model.body(task.object).id, 2, 2])
    path = run.path(model, task.object)
    found = Trial(engine, run, path, upright, run.time[marks], np.array(depths))
    return found._replace(end=end(found))


class Ending(NamedTuple):
    """How the trials of an engine end in the paper."""

    text: str
    so: Callable[[Sequence[Trial]], bool]
    """Whether ours end like that."""


def engines() -> list[str]:
    """Midas, and the others that are installed."""
    return [MIDAS, *peers()]


def overlaps(runs: Runs) -> tuple[Curve, ...]:
    """Deepest overlaps over time [mm]."""
    return runs.curves("{engine}", lambda one: (one.overlap_time, 1e3 * one.overlap))


def summaries(runs: Runs, paper: Mapping[str, Ending]) -> Iterator[Finding]:
    """How each case ended with each engine, the deepest overlap, and the CPU time.

    Parameters
    ----------
    runs : Runs
        Trials, of a ``case`` with an ``engine``.
    paper : mapping
        How they end in the paper, by engine.
    """
    for engine, own in runs.by("engine").items():
        ends = ", ".join(one.end for one in own.results)
        deepest = max(one.deepest for one in own.results)
        cpu = sum(one.run.cpu_time for one in own.results)
        quantity = f"{engine}: {', '.join(own.axis('case'))}"
        values, form = (ends, 1e3 * deepest, cpu), "{}; overlap {:.2g} mm, CPU {:.2g} s"
        if engine in paper:
            text, so = paper[engine]
            yield finding(quantity, values, form, says(text), judged=so(own.results))
        else:
            yield finding(quantity, values, form)
    yield checked("Midas: every step checked by ipctk")
    yield from no_bullet()


def checked(quantity: str) -> Finding:
    """A line that says who checked Midas."""
    checks = has_ipctk()
    said = "no intersection" if checks else "not checked, not installed (extra 'midas')"
    return finding(quantity, said, paper=says("no intersection"), judged=checks)


def no_bullet() -> Iterator[Finding]:
    """A line if Bullet is not installed."""
    if not has_bullet():
        yield finding("Bullet", "not installed (extra 'peers')")
