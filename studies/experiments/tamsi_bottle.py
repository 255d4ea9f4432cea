"""Figure 1 of the TAMSI paper, the simulation: an arm shakes a bottle and puts it down (VI-C)."""

from __future__ import annotations

import time as clock
from typing import NamedTuple

import numpy as np

from asperity.integrators import Integrator
from asperity.simulator import Simulator
from asperity.systems import InverseDynamicsController
from studies.experiments.outcome import Curve, Finding, Outcome, Panel
from studies.experiments.paper import paper_tamsi
from studies.experiments.registry import Experiment, Progress
from studies.experiments.runs import sampled, tracked
from studies.scenes.iiwa_bottle import (
    ASIDE,
    CONTROL_PERIOD,
    GRASP_FORCE,
    JOINTS,
    PLACE,
    SHAKEN,
    SHAKING,
    ShakeAndPlace,
    iiwa,
    iiwa_and_bottle,
)

__all__ = ["EXPERIMENTS", "Task", "shake_and_place"]

FREQUENCY, DAMPING_RATIO = 20.0, 1.0  # of the controlled joints [rad/s]
TIME_STEPS = (1e-3, 3e-3)
SAMPLE = 0.02  # [s]


class Task(NamedTuple):
    """What happened, sampled."""

    time: np.ndarray
    """[s], shape (n,)."""
    bottle: np.ndarray
    """Position of the bottle's middle [m], shape (n, 3)."""
    held: np.ndarray
    """The same as the hand sees it [m], shape (n, 3)."""
    tilt: np.ndarray
    """Of the bottle's axis from the vertical [degrees], shape (n,)."""
    force: np.ndarray
    """Mean force of the fingers [N], shape (n,)."""
    placed: float | None
    """When the bottle was felt to stand [s]."""
    cpu: float
    """CPU time [s], of controller and planning of the retreat too."""


def shake_and_place(integrator: Integrator, progress: Progress = lambda share: None) -> Task:
    """Do the task.

    Raises
    ------
    SimulationError
        If the simulation fails.
    """
    model = iiwa_and_bottle()
    control = InverseDynamicsController(
        JOINTS, kp=FREQUENCY**2, kd=2.0 * DAMPING_RATIO * FREQUENCY, model=iiwa()
    )
    task = ShakeAndPlace(model, control)
    simulator = Simulator(
        model,
        integrator=integrator,
        control=task,
        control_period=CONTROL_PERIOD,
        systems=[control],
    )
    simulator.reset("start")
    data = simulator.data
    data.qpos[: len(JOINTS)] = task.start
    bottle, held, tilt, force = [], [], [], []
    time = SAMPLE * np.arange(1, round(task.duration / SAMPLE) + 1)
    started = clock.process_time()
    for _ in sampled(simulator, time, progress):
        place = data.body("bottle").xpos.copy()
        grip = data.site("grip")
        bottle.append(place)
        held.append(grip.xmat.reshape(3, 3).T @ (place - grip.xpos))
        tilt.append(np.degrees(np.arccos(min(data.body("bottle").xmat[8], 1.0))))
        force.append(0.5 * (data.sensor("left").data[0] + data.sensor("right").data[0]))
    cpu = clock.process_time() - started
    return Task(
        time, np.array(bottle), np.array(held), np.array(tilt), np.array(force), task.placed, cpu
    )


def _figure_1(_full: bool, progress: Progress) -> Outcome:
    findings, heights, forces = [], [], []
    for step, own in tracked(TIME_STEPS, progress):
        found = shake_and_place(paper_tamsi(step), own)
        name = f"{1e3 * step:g} ms"
        shaking = (found.time >= SHAKING) & (found.time <= SHAKEN)
        moved = np.linalg.norm(found.held[shaking] - found.held[shaking][0], axis=1).max()
        error = np.abs(found.force[shaking] - GRASP_FORCE).max()
        away = np.linalg.norm(found.bottle[-1, :2] - PLACE - ASIDE)
        felt = "no" if found.placed is None else f"yes, at {found.placed:.2f} s"
        findings += [
            Finding(
                f"{name}: times faster than real time", f"{found.time[-1] / found.cpu:.1f}", "–"
            ),
            Finding(
                f"{name}: largest motion of the bottle in the grip while it is shaken",
                f"{1e3 * moved:.1f} mm",
                "held",
            ),
            Finding(
                f"{name}: largest error of the regulated grasp force, then", f"{error:.2g} N", "–"
            ),
            Finding(f"{name}: placement felt", felt, "judged by force"),
            Finding(
                f"{name}: bottle at the end, from its place; its tilt",
                f"{1e3 * away:.1f} mm; {found.tilt[-1]:.2f}°",
                "stands",
            ),
        ]
        heights.append(Curve(name, found.time, found.bottle[:, 2]))
        forces.append(Curve(name, found.time, found.force))
    panels = (
        Panel("time [s]", "height of the bottle's middle [m]", tuple(heights)),
        Panel("time [s]", "force of a finger [N]", tuple(forces)),
    )
    return Outcome(tuple(findings), panels)


EXPERIMENTS = (
    Experiment(
        "tamsi-figure-1",
        "TAMSI, figure 1",
        "an arm shakes a bottle and puts it down",
        _figure_1,
    ),
)
