"""The task of the dual-arm robot with SAP: what happened, and whether it succeeded."""

from __future__ import annotations

import time as clock
from collections.abc import Mapping
from typing import NamedTuple

import mujoco
import numpy as np

from asperity.errors import SimulationError
from asperity.simulator import Simulator
from asperity.systems import InverseDynamicsController, PdController
from studies.experiments.paper import paper_sap
from studies.experiments.registry import Progress
from studies.experiments.sap_solvers import Case, compare_along
from studies.scenes.dual_arm import (
    BOWL_RADIUS,
    HOLD_HEIGHT,
    JAR_HEIGHT,
    JAR_PLACE,
    MARBLES,
    dual_arm,
    dual_arm_robots,
)
from studies.scenes.dual_arm_task import JarTask, arm_joints, hand_joints

__all__ = ["TIME_STEP", "TOLERANCE", "DualArm", "DualArmState", "open_and_pour"]

TIME_STEP = 5e-3
TOLERANCE = 1e-5
FREQUENCY = 25.0  # of the controlled arms, critically damped [rad/s]
HAND_GAINS = 2.0, 0.1  # [Nm/rad], [Nm s/rad]: fingers press with some newtons
DURATION = 20.5
"""The task, which takes 20 s at most, and a moment after it [s]."""
SAMPLE = 4  # steps per sample

_LEAST_MARBLES = 14
_SEATED = 2e-3  # height of the lid above its seat [m]
_UPRIGHT = 2.0  # [degrees]
_NEAR = 0.02  # of the jar from its place [m]
_OFF = 0.05  # of the lid from the jar [m]
_HELD = 0.015  # motion of the jar in the hand [m]


class DualArmState(NamedTuple):
    """What can be seen of jar, lid, marbles and hands."""

    lid_gap: float
    """Height of the lid above its seat, along the jar's axis [m]."""
    lid_tilt: float
    """Between the axes of lid and jar [degrees]."""
    lid_distance: float
    """From the middle of the lid to that of the jar's rim [m]."""
    jar_tilt: float
    """Of the jar from the vertical [degrees]."""
    jar_place: tuple[float, float, float]
    """Of the middle of its bottom [m]."""
    in_hand: tuple[float, float, float]
    """Where the jar is held, in the axes of the right hand's site [m]."""
    poured: int
    """Marbles in the bowl."""
    left: int
    """Marbles in the jar."""


class DualArm(NamedTuple):
    """A run of the task, with n samples of k steps."""

    model: mujoco.MjModel
    """The scene."""
    time: np.ndarray
    """[s], shape (n,)."""
    qpos: np.ndarray
    """Configurations, shape (n, nq)."""
    states: list[DualArmState]
    """As many."""
    step_time: np.ndarray
    """Ends of the steps [s], shape (k,)."""
    contacts: np.ndarray
    """Contacts of each step, shape (k,)."""
    events: list[tuple[float, str]]
    """Keyframes and what was felt."""
    slip: float
    """Largest motion of the jar in the hand that holds it [m]; infinite if it was never lifted."""
    iterations: float
    """Newton iterations per step, those of the island that took most."""
    cpu: float
    """CPU time [s], with control, and without the comparison of solvers only if there was none."""
    ending: str
    """Why the simulation ended early, or nothing."""
    checks: dict[str, bool]
    """What must be true of a success."""
    compared: dict[str, np.ndarray]
    """See `compare_along`."""

    @property
    def succeeded(self) -> bool:
        """Whether the jar was opened, poured out, closed and put down."""
        return all(self.checks.values())


def _look(data: mujoco.MjData) -> DualArmState:
    jar, lid, bowl = (data.body(name) for name in ("jar", "lid", "bowl"))
    axes = jar.xmat.reshape(3, 3)
    offset = axes.T @ (lid.xpos - jar.xpos) - (0.0, 0.0, JAR_HEIGHT)
    cosine = (axes.T @ lid.xmat.reshape(3, 3))[2, 2]
    grasp = data.site("right_hand_grasp")
    held = grasp.xmat.reshape(3, 3).T @ (jar.xpos + HOLD_HEIGHT * axes[:, 2] - grasp.xpos)
    poured = left = 0
    for i in range(MARBLES):
        place = data.body(f"marble{i}").xpos
        from_bowl = place - bowl.xpos
        poured += bool(np.hypot(*from_bowl[:2]) < BOWL_RADIUS and 0.0 < from_bowl[2] < 0.1)
        from_jar = axes.T @ (place - jar.xpos)
        left += bool(np.hypot(*from_jar[:2]) < 0.04 and 0.0 < from_jar[2] < JAR_HEIGHT)
    return DualArmState(
        float(offset[2]),
        float(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0)))),
        float(np.linalg.norm(offset)),
        float(np.degrees(np.arccos(np.clip(axes[2, 2], -1.0, 1.0)))),
        tuple(jar.xpos),
        tuple(held),
        poured,
        left,
    )


def _slip(states: list[DualArmState], time: list[float], task: JarTask) -> float:
    """Largest motion of the jar in the hand that has lifted it [m]; infinite if none has."""
    begins = {name: begin for begin, name in task.events}
    lifted, released = begins.get("lift", np.inf), begins.get("let go of the jar", np.inf)
    held = [one.in_hand for one, t in zip(states, time, strict=True) if lifted <= t < released]
    if not held:
        return np.inf
    return float(np.linalg.norm(np.array(held) - held[0], axis=1).max())


def _checks(
    states: list[DualArmState], time: list[float], task: JarTask, ending: str
) -> dict[str, bool]:
    """What must be true of a success."""
    felt = [name for _, name in task.events]
    last = states[-1]
    apart = max((state.lid_distance for state in states), default=0.0)
    return {
        "all keyframes reached": task.finished and not ending,
        "lid taken off": apart > _OFF,
        f"at least {_LEAST_MARBLES} marbles poured": last.poured >= _LEAST_MARBLES,
        "jar held while it was lifted": _slip(states, time, task) < _HELD,
        "lid back in its seat": abs(last.lid_gap) < _SEATED and last.lid_tilt < _UPRIGHT,
        "jar felt to stand": "the jar stands" in felt,
        "jar upright at its place": last.jar_tilt < _UPRIGHT
        and float(np.linalg.norm(np.array(last.jar_place) - (*JAR_PLACE, 0.0))) < _NEAR,
    }


def open_and_pour(
    tolerance: float = TOLERANCE,
    cases: Mapping[str, Case] | None = None,
    every: int = 1,
    *,
    duration: float = DURATION,
    progress: Progress = lambda share: None,
) -> DualArm:
    """Do the task with SAP, and let solvers solve the problems of some of its steps.

    Parameters
    ----------
    tolerance : float
        Of SAP in the simulation.
    cases : mapping of str to Case, optional
        Solvers to compare.
    every : int
        At every so many-th step.
    duration : float
        Simulated time [s].
    progress : callable, optional

    Notes
    -----
    A simulation that fails ends; ``ending`` says why.
    """
    model = dual_arm()
    arms = InverseDynamicsController(
        arm_joints(), kp=FREQUENCY**2, kd=2.0 * FREQUENCY, model=dual_arm_robots()
    )
    hands = PdController(hand_joints(), kp=HAND_GAINS[0], kd=HAND_GAINS[1])
    task = JarTask(model, arms, hands)
    simulator = Simulator(
        model,
        integrator=paper_sap(TIME_STEP, tolerance=tolerance, max_iterations=500),
        systems=[arms, hands],
    )
    for name, angle in task.start.items():
        simulator.data.joint(name).qpos[0] = angle
    steps: list[tuple[float, int]] = []
    path: list[np.ndarray] = []
    time: list[float] = []
    states: list[DualArmState] = []

    def drive(current: Simulator) -> None:
        task(current.time, current.contacts)

    def observe(current: Simulator) -> None:
        steps.append((current.time, len(current.contacts.normal_force)))
        if len(steps) % SAMPLE == 0:
            time.append(current.time)
            path.append(current.data.qpos.copy())
            states.append(_look(current.data))

    ending = ""
    compared: dict[str, np.ndarray] = {}
    started = clock.process_time()
    try:
        compared = compare_along(
            simulator,
            duration,
            cases or {},
            every,
            drive=drive,
            observe=observe,
            progress=progress,
        )
    except SimulationError as error:
        ending = str(error)
    cpu = clock.process_time() - started
    stats = simulator.stats
    step_time, contacts = np.array(steps).reshape(-1, 2).T
    return DualArm(
        model,
        np.array(time),
        np.array(path),
        states,
        step_time,
        contacts,
        task.events,
        _slip(states, time, task),
        stats.longest_iterations / max(stats.steps, 1),
        cpu,
        ending,
        _checks(states, time, task, ending),
        compared,
    )
