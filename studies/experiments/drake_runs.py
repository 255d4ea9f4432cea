"""A MuJoCo model simulated by Drake, from its initial pose at rest (extra ``peers``)."""

from __future__ import annotations

import time
from typing import NamedTuple

import mujoco
import numpy as np
from pydrake.systems.analysis import Simulator

from studies.peers.drake import Coordinates, counts, integrate_by_cenic, overlap
from studies.peers.drake_model import Contact, DrakeModel

__all__ = ["DrakeRun", "run_drake"]


class DrakeRun(NamedTuple):
    """What a run took."""

    cpu_time: float
    """[s]."""
    steps: int
    iterations: int | None
    """Of the solver, if Drake counts them."""
    overlap: float
    """The deepest at the samples [m]."""


def run_drake(
    model: mujoco.MjModel,
    contact: Contact,
    duration: float,
    *,
    accuracy: float | None = None,
    time_step: float | None = None,
    sample: float = 0.02,
) -> DrakeRun:
    """Simulate free bodies, hinges and slides with ``cenic``, or in fixed steps of ``sap``.

    Overlaps are looked at in a second run, since samples cut steps.
    """
    whole = _run(model, contact, duration, accuracy, time_step, duration)
    sampled = _run(model, contact, duration, accuracy, time_step, sample)
    return whole._replace(overlap=sampled.overlap)


def _run(
    model: mujoco.MjModel,
    contact: Contact,
    duration: float,
    accuracy: float | None,
    time_step: float | None,
    sample: float,
) -> DrakeRun:
    made = DrakeModel(
        model,
        contact,
        time_step=time_step or 0.0,
        approximation="" if time_step is None else "sap",
        corners=False,
    )
    simulator = Simulator(made.diagram)
    if time_step is None:
        integrate_by_cenic(simulator, accuracy)
    context = made.plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    Coordinates(made, context).write(model.qpos0, np.zeros(model.nv))
    simulator.Initialize()
    deepest, cpu = 0.0, 0.0
    for stop in np.linspace(0.0, duration, max(2, round(duration / sample) + 1))[1:]:
        before = time.process_time()
        simulator.AdvanceTo(float(stop))
        cpu += time.process_time() - before
        deepest = max(deepest, overlap(made, context))
    if time_step is not None:
        return DrakeRun(cpu, simulator.get_num_discrete_updates(), None, deepest)
    work = counts(simulator)
    return DrakeRun(cpu, work["steps"] or 0, work["iterations"], deepest)
