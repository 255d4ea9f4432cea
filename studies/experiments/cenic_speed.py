"""Figure 11 of the CENIC paper: times of simulators, in fixed steps and with error control."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import mujoco
import numpy as np

from asperity.integrators import Cenic, Integrator
from asperity.plant.model.contact_parameters import ContactParameters
from asperity.simulator import Simulator
from studies.experiments.outcome import Curve, Finding, Outcome, Panel
from studies.experiments.paper import paper_icf
from studies.experiments.registry import Experiment, Progress
from studies.experiments.runs import advance, part, sampled, tracked
from studies.scenes.cenic_speed import bunnies, bunny_points, quadruped

__all__ = ["EXPERIMENTS", "Run", "run_asperity", "run_mujoco"]

TIME_STEPS = (1e-2, 1e-3)
ACCURACIES = (1e-1, 1e-3, 1e-5)
SAMPLE = 0.02  # [s]

Method = Callable[[mujoco.MjModel, Progress], "Run"]

_SCENES: dict[str, tuple[Callable[[], mujoco.MjModel], float]] = {
    "bunnies": (bunnies, 10.0),
    "quadruped": (quadruped, 3.0),
}
_SAID = {
    ("quadruped", "MuJoCo, 1 ms"): "7613 iterations, up to 31 mm (Spot)",
    ("quadruped", "ICF, 1 ms"): "9056 iterations, 6.4 mm (Spot)",
}


class Run(NamedTuple):
    """What a simulation took."""

    cpu_time: float
    """[s]."""
    steps: int
    iterations: int | None
    overlap: float
    """The deepest of two geoms at the samples [m]."""


class _Contact(NamedTuple):
    """Asperity's defaults, which Drake gets too: the paper compares engines with defaults."""

    stiffness: float = 1e5  # [N/m]
    dissipation: float = 10.0  # [s/m]
    stiction_tolerance: float = 1e-4  # [m/s]
    dynamic_friction: float | None = None


def run_asperity(
    integrator: Integrator,
    duration: float,
    model: mujoco.MjModel,
    progress: Progress = lambda share: None,
) -> Run:
    """Simulate from the initial pose, with default contact parameters.

    Overlaps are looked at in a second run, since samples cut steps.
    """
    contact = ContactParameters(**{k: v for k, v in _Contact()._asdict().items() if v is not None})
    simulator = Simulator(model, integrator=integrator, contact=contact)
    simulator.advance_to(1e-3)  # compiles
    simulator.reset()
    before = time.process_time()
    advance(simulator, duration, part(progress, 0.0, 0.5))
    cpu_time = time.process_time() - before
    statistics = simulator.stats
    steps, iterations = statistics.steps, statistics.iterations
    simulator.reset()
    overlap = 0.0
    stops = np.arange(1, round(duration / SAMPLE) + 1) * SAMPLE
    for _ in sampled(simulator, stops, part(progress, 0.5, 1.0)):
        overlap = max(overlap, *-simulator.contacts.signed_distance, 0.0)
    return Run(cpu_time, steps, iterations, overlap)


def run_mujoco(
    time_step: float,
    duration: float,
    model: mujoco.MjModel,
    progress: Progress = lambda share: None,
) -> Run:
    """Simulate with MuJoCo's defaults but for the step."""
    model.opt.timestep = time_step
    data = mujoco.MjData(model)
    overlap, iterations, cpu_time = 0.0, 0, 0.0
    for look in (False, True):
        mujoco.mj_resetData(model, data)
        before = time.process_time()
        for _ in range(round(duration / time_step)):
            mujoco.mj_step(model, data)
            if look:
                overlap = max(overlap, -data.contact.dist.min(initial=0.0))
                iterations += int(data.solver_niter.sum())
        if not look:
            cpu_time = time.process_time() - before
            progress(0.5)
    return Run(cpu_time, round(duration / time_step), iterations, overlap)


def _run_drake(
    accuracy: float | None,
    time_step: float | None,
    duration: float,
    model: mujoco.MjModel,
    progress: Progress,
) -> Run:
    from studies.experiments.drake_runs import run_drake

    return Run(*run_drake(model, _Contact(), duration, accuracy=accuracy, time_step=time_step))


def _methods(duration: float) -> dict[str, Method]:
    """Every simulator with every setting."""
    drake = importlib.util.find_spec("pydrake") is not None
    methods: dict[str, Method] = {}
    for step in TIME_STEPS:
        name = f"{1e3 * step:g} ms"
        icf = paper_icf(step, friction_bound="delivered")
        methods[f"ICF, {name}"] = partial(run_asperity, icf, duration)
        methods[f"MuJoCo, {name}"] = partial(run_mujoco, step, duration)
        if drake:
            methods[f"Drake SAP, {name}"] = partial(_run_drake, None, step, duration)
    for accuracy in ACCURACIES:
        name = f"{accuracy:.0e}"
        methods[f"CENIC, {name}"] = partial(run_asperity, Cenic(accuracy=accuracy), duration)
        if drake:
            methods[f"Drake CENIC, {name}"] = partial(_run_drake, accuracy, None, duration)
    return methods


def _figure_11(_full: bool, progress: Progress) -> Outcome:
    findings, panels = [], []
    items = [(scene, name) for scene, (_, t) in _SCENES.items() for name in _methods(t)]
    times: dict[str, dict[str, float]] = {scene: {} for scene in _SCENES}
    for (scene, name), own in tracked(items, progress):
        make, duration = _SCENES[scene]
        found = _methods(duration)[name](make(), own)
        times[scene][name] = found.cpu_time
        iterations = "" if found.iterations is None else f"; {found.iterations} iterations"
        findings.append(
            Finding(
                f"{scene}, {name}",
                f"{1e3 * found.cpu_time:.3g} ms CPU; {found.steps} steps{iterations}; "
                f"overlap {1e3 * found.overlap:.2g} mm",
                _SAID.get((scene, name), "in the figure only"),
            )
        )
    for scene, own_times in times.items():
        curves = tuple(
            Curve(name, np.array([float(i)]), np.array([value]), "o")
            for i, (name, value) in enumerate(own_times.items())
        )
        panels.append(Panel("simulator", "CPU time [s]", curves, scene, log_y=True))
    _, real = bunny_points()
    findings.append(
        Finding(
            "the bunny",
            "Stanford's, of the package pybullet" if real else "hull of four ellipsoids",
            "Stanford's",
        )
    )
    if importlib.util.find_spec("pydrake") is None:
        findings.append(Finding("Drake", "not installed (extra 'peers')", "fixed steps"))
    return Outcome(tuple(findings), tuple(panels))


EXPERIMENTS = (
    Experiment(
        "cenic-figure-11",
        "CENIC, figure 11",
        "times of three engines for falling bunnies and a robot",
        _figure_11,
    ),
)
