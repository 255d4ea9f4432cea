"""Figure 11 of the CENIC paper: times of simulators, in fixed steps and with error control."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import partial
from typing import Any

import mujoco
import numpy as np

from asperity.integrators import Cenic, Integrator
from asperity.plant.model.contact_parameters import ContactParameters
from studies.benchmarks.verification.case import Contact
from studies.experiments.form import (
    FIGURE_ONLY,
    Measured,
    Paper,
    Runs,
    at_most,
    finding,
    product,
    says,
    twofold,
)
from studies.experiments.outcome import Curve, Panel
from studies.experiments.paper import paper_icf
from studies.experiments.registry import Experiment, Progress
from studies.peers.engine import Effort, effort
from studies.scenes.cenic_speed import bunnies, bunny_points, quadruped

__all__ = ["EXPERIMENTS", "run_asperity", "run_drake", "run_mujoco"]

TIME_STEPS = (1e-2, 1e-3)
ACCURACIES = (1e-1, 1e-3, 1e-5)
SAMPLE = 0.02  # [s]

Method = Callable[[mujoco.MjModel, Progress], Effort]

_SCENES: dict[str, tuple[Callable[[], mujoco.MjModel], float]] = {
    "bunnies": (bunnies, 10.0),
    "quadruped": (quadruped, 3.0),
}
# Of another quadruped, so that overlaps alone are compared.
_SAID: dict[tuple[str, str], Paper] = {
    ("quadruped", "MuJoCo, 1 ms"): at_most("7613 iterations, up to 31 mm (Spot)", 31.0),
    ("quadruped", "ICF, 1 ms"): twofold("9056 iterations, 6.4 mm (Spot)", 6.4),
}


_CONTACT = Contact(stiction_tolerance=1e-4)
"""Asperity's defaults, which Drake gets too: the paper compares engines with defaults."""


def run_asperity(
    integrator: Integrator,
    duration: float,
    model: mujoco.MjModel,
    progress: Progress = lambda share: None,
) -> Effort:
    """Simulate from the initial pose, with default contact parameters."""
    from studies.peers.asperity import AsperityEngine

    contact = ContactParameters(
        stiffness=_CONTACT.stiffness,
        dissipation=_CONTACT.dissipation,
        stiction_tolerance=_CONTACT.stiction_tolerance,
    )
    return effort(
        lambda: AsperityEngine(model, integrator, contact=contact), duration, SAMPLE, progress
    )


def run_mujoco(
    time_step: float,
    duration: float,
    model: mujoco.MjModel,
    progress: Progress = lambda share: None,
) -> Effort:
    """Simulate with MuJoCo's defaults but for the step; overlaps are looked at in every step."""
    from studies.peers.mujoco import MujocoEngine

    model.opt.timestep = time_step
    return effort(lambda: MujocoEngine(model), duration, time_step, progress)


def run_drake(
    accuracy: float | None,
    time_step: float | None,
    duration: float,
    model: mujoco.MjModel,
    progress: Progress = lambda share: None,
) -> Effort:
    """Simulate with ``cenic``, or in fixed steps with ``sap``."""
    from studies.peers.drake import DrakeEngine

    settings: dict[str, Any] = {"accuracy": accuracy, "time_step": time_step, "corners": False}
    return effort(lambda: DrakeEngine(model, _CONTACT, **settings), duration, SAMPLE, progress)


_HAS_DRAKE = importlib.util.find_spec("pydrake") is not None


def _methods(duration: float) -> dict[str, Method]:
    """Every simulator with every setting."""
    methods: dict[str, Method] = {}
    for step in TIME_STEPS:
        name = f"{1e3 * step:g} ms"
        icf = paper_icf(step, friction_bound="delivered")
        methods[f"ICF, {name}"] = partial(run_asperity, icf, duration)
        methods[f"MuJoCo, {name}"] = partial(run_mujoco, step, duration)
        methods[f"Drake SAP, {name}"] = partial(run_drake, None, step, duration)
    for accuracy in ACCURACIES:
        name = f"{accuracy:.0e}"
        methods[f"CENIC, {name}"] = partial(run_asperity, Cenic(accuracy=accuracy), duration)
        methods[f"Drake CENIC, {name}"] = partial(run_drake, accuracy, None, duration)
    return {n: do for n, do in methods.items() if _HAS_DRAKE or not n.startswith("Drake")}


def _run(scene: str, method: str, progress: Progress) -> Effort:
    make, duration = _SCENES[scene]
    return _methods(duration)[method](make(), progress)


def _measure(runs: Runs) -> Measured:
    for key, one in runs:
        where = key["scene"], key["method"]
        iterations = "" if one.iterations is None else f"; {one.iterations} iterations"
        yield finding(
            ", ".join(where),
            (1e3 * one.cpu_time, one.steps, iterations, 1e3 * one.overlap),
            "{:.3g} ms CPU; {} steps{}; overlap {:.2g} mm",
            _SAID.get(where, FIGURE_ONLY),
            judged=1e3 * one.overlap,
        )
    real = bool(bunny_points()[1])
    bunny = "Stanford's, of the package pybullet" if real else "hull of four ellipsoids"
    yield finding("the bunny", bunny, paper=says("Stanford's"), judged=real)
    if not _HAS_DRAKE:
        yield finding("Drake", "not installed (extra 'peers')", paper="fixed steps")
    for scene, own in runs.by("scene").items():
        curves = tuple(
            Curve(key["method"], np.array([float(i)]), np.array([one.cpu_time]), "o")
            for i, (key, one) in enumerate(own)
        )
        yield Panel("simulator", "CPU time [s]", curves, scene, log_y=True)


EXPERIMENTS = (
    Experiment(
        "cenic-figure-11",
        "CENIC, figure 11",
        "times of three engines for falling bunnies and a robot",
        _run,
        lambda full: product(scene=_SCENES, method=_methods(0.0)),
        _measure,
    ),
)
