"""Figure 1 of the TAMSI paper, the simulation: an arm shakes a bottle and puts it down (VI-C)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from asperity.integrators import Integrator
from asperity.simulator import Simulator
from asperity.systems import InverseDynamicsController
from studies.experiments.form import Measured, Paper, Runs, at_most, finding, product, says
from studies.experiments.outcome import Panel
from studies.experiments.paper import paper_tamsi
from studies.experiments.registry import Experiment, Progress
from studies.experiments.runs import Samples, watch
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
TIME_STEPS = {"1 ms": 1e-3, "3 ms": 3e-3}
SAMPLE = 0.02  # [s]


def shake_and_place(integrator: Integrator, progress: Progress = lambda share: None) -> Task:
    """Do the task, and note what the looks see.

    ``bottle`` is the position of the bottle's middle [m], and ``held`` the same as the hand sees
    it; ``tilt`` is that of the bottle's axis from the vertical [degrees], and ``force`` the mean of
    the fingers [N].

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
        model, integrator=integrator, control=task, control_period=CONTROL_PERIOD, systems=[control]
    )
    simulator.reset("start")
    simulator.data.qpos[: len(JOINTS)] = task.start
    time = SAMPLE * np.arange(1, round(task.duration / SAMPLE) + 1)
    looks = {"bottle": _bottle, "held": _held, "tilt": _tilt, "force": _force}
    return Task(watch(simulator, time, looks, progress), task.placed)


def _bottle(simulator: Simulator) -> np.ndarray:
    return simulator.data.body("bottle").xpos.copy()


def _held(simulator: Simulator) -> np.ndarray:
    grip = simulator.data.site("grip")
    return np.asarray(grip.xmat.reshape(3, 3).T @ (_bottle(simulator) - grip.xpos))


def _tilt(simulator: Simulator) -> float:
    return float(np.degrees(np.arccos(min(simulator.data.body("bottle").xmat[8], 1.0))))


def _force(simulator: Simulator) -> float:
    left, right = (simulator.data.sensor(side).data[0] for side in ("left", "right"))
    return float(0.5 * (left + right))


class Task(NamedTuple):
    """What happened."""

    seen: Samples
    placed: float | None
    """When the bottle was felt to stand [s]."""

    def while_shaken(self, look: str) -> np.ndarray:
        """What was seen in that time."""
        shaken = (self.seen.time >= SHAKING) & (self.seen.time <= SHAKEN)
        return np.asarray(self.seen[look][shaken])


def _measure(runs: Runs) -> Measured:
    for key, found in runs:
        name, seen = key["name"], found.seen
        held = found.while_shaken("held")
        moved = 1e3 * np.linalg.norm(held - held[0], axis=1).max()
        error = np.abs(found.while_shaken("force") - GRASP_FORCE).max()
        felt = "no" if found.placed is None else f"yes, at {found.placed:.2f} s"
        away = 1e3 * np.linalg.norm(seen["bottle"][-1, :2] - PLACE - ASIDE)
        rate = seen.time[-1] / seen.cpu[-1]
        yield finding(f"{name}: times faster than real time", rate, "{:.1f}")
        quantity = f"{name}: largest motion of the bottle in the grip while it is shaken"
        yield finding(quantity, moved, "{:.1f} mm", at_most("held", 10.0))
        quantity = f"{name}: largest error of the regulated grasp force, then"
        yield finding(quantity, error, "{:.2g} N")
        by_force, there = says("judged by force"), found.placed is not None
        yield finding(f"{name}: placement felt", felt, paper=by_force, judged=there)
        quantity = f"{name}: bottle at the end, from its place; its tilt"
        stands = Paper("stands", high=(10.0, 1.0))
        yield finding(quantity, (away, seen["tilt"][-1]), "{:.1f} mm; {:.2f}°", stands)
    heights = runs.curves("{name}", lambda found: (found.seen.time, found.seen["bottle"][:, 2]))
    yield Panel("time [s]", "height of the bottle's middle [m]", heights)
    forces = runs.curves("{name}", lambda found: (found.seen.time, found.seen["force"]))
    yield Panel("time [s]", "force of a finger [N]", forces)


EXPERIMENTS = (
    Experiment(
        "tamsi-figure-1",
        "TAMSI, figure 1",
        "an arm shakes a bottle and puts it down",
        lambda name, progress: shake_and_place(paper_tamsi(TIME_STEPS[name]), progress),
        lambda full: product(name=TIME_STEPS),
        _measure,
    ),
)
