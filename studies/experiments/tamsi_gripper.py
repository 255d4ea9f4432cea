"""Figures 7 and 8 of the TAMSI paper: a gripper that shakes a mug (VI-A)."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from asperity.integrators import ImplicitEuler, Integrator
from asperity.scenes.shaken_mug import (
    AMPLITUDE,
    ANGULAR_FREQUENCY,
    GRIP,
    MASS,
    PERIOD,
    shaken_mug,
)
from asperity.simulator import Simulator
from studies.experiments.outcome import Curve, Finding, Outcome, Panel
from studies.experiments.paper import paper_tamsi
from studies.experiments.registry import Experiment, Progress
from studies.experiments.runs import sampled, tracked

__all__ = ["EXPERIMENTS", "sampled_velocities", "shake", "velocity_errors"]

TIME_STEP = 3e-3  # [s]
DURATION = 5.0  # [s]

STEPS = (3e-3, 1e-3, 3e-4, 1e-4, 3e-5)
REFERENCE_STEP = 1e-6
LONGEST = 0.25 * PERIOD
"""Simulated time of figure 8 [s]: from the middle, where the load is nil, to the turn."""
SAMPLES = 25
OFFSET = 0.002  # [m]

_METHODS: dict[str, Integrator] = {
    "TAMSI": paper_tamsi(TIME_STEP),
    "implicit Euler, full Newton, TALS": ImplicitEuler(
        time_step=TIME_STEP, newton="full", transition_aware=True, friction_law="linear"
    ),
    "implicit Euler, full Newton": ImplicitEuler(
        time_step=TIME_STEP, newton="full", friction_law="linear"
    ),
    "implicit Euler, TALS, analytic Jacobian": ImplicitEuler(
        time_step=TIME_STEP,
        newton="full",
        transition_aware=True,
        friction_law="linear",
        jacobian="analytic",
    ),
    "implicit Euler, analytic Jacobian": ImplicitEuler(
        time_step=TIME_STEP, newton="full", friction_law="linear", jacobian="analytic"
    ),
}


def shake(integrator: Integrator) -> Simulator:
    """A simulator whose motor shakes the gripper, its force held over steps of 3 ms."""

    def control(model: mujoco.MjModel, data: mujoco.MjData) -> None:
        middle = data.time + 0.5 * TIME_STEP
        force = MASS * ANGULAR_FREQUENCY**2 * AMPLITUDE * np.sin(ANGULAR_FREQUENCY * middle)
        data.ctrl[:] = force, -GRIP

    simulator = Simulator(
        shaken_mug(), integrator=integrator, control=control, control_period=TIME_STEP
    )
    simulator.reset("start")
    return simulator


_REPEATS = 5
"""The fastest of so many runs counts: others were disturbed."""


def _figure_7(full: bool, progress: Progress) -> Outcome:
    duration = DURATION if full else 1.0
    curves, wall, slips, evaluations = [], {}, {}, {}
    for (name, integrator), own in tracked(_METHODS.items(), progress):
        marks = np.linspace(0.0, duration, 51)
        runs = []
        for _, part in tracked(range(_REPEATS), own):
            simulator = shake(integrator)
            times = [simulator.stats.wall_time for _ in sampled(simulator, marks[1:], part)]
            runs.append([0.0, *times])
        spent = min(runs, key=lambda run: run[-1])
        curves.append(Curve(name, np.array(spent), marks))
        wall[name] = spent[-1] / duration
        evaluations[name] = simulator.stats.evaluations / simulator.stats.steps
        slips[name] = simulator.data.qpos[4] - simulator.data.qpos[0]
    first, *others = _METHODS
    papers = {others[0]: "25", others[1]: "55"}
    findings = [Finding(f"{first}, times faster than real time", f"{1 / wall[first]:.0f}", "40")]
    findings += [
        Finding(
            f"{name}, times slower than {first}",
            f"{wall[name] / wall[first]:.2g}",
            papers.get(name, "finite differences"),
        )
        for name in others
    ]
    findings += [
        Finding(f"{name}, evaluations of the model per step", f"{count:.1f}", "–")
        for name, count in evaluations.items()
    ]
    findings += [
        Finding(f"{name}, slip of the mug after {duration:g} s", f"{slip * 1e6:.1f} µm", "holds")
        for name, slip in slips.items()
    ]
    panel = Panel("wall time inside the stepping loops [s]", "simulated time [s]", tuple(curves))
    return Outcome(tuple(findings), (panel,))


def sampled_velocities(
    time_step: float, times: Sequence[float] | np.ndarray, progress: Progress = lambda share: None
) -> np.ndarray:
    """Velocities of gripper, finger and mug on the spring at some times, shape (n, 8)."""
    simulator = Simulator(shaken_mug(sprung=True, offset=OFFSET), integrator=paper_tamsi(time_step))
    simulator.reset("start")
    return np.array([simulator.data.qvel.copy() for _ in sampled(simulator, times, progress)])


def velocity_errors(found: np.ndarray, exact: np.ndarray) -> tuple[float, float]:
    """Translational and rotational errors, root mean squares over the times.

    In units of the amplitude over the period, and of one over the period.
    """
    square = (found - exact) ** 2
    translation = np.sqrt(np.mean(np.sum(square[:, :5], axis=1))) * PERIOD / AMPLITUDE
    rotation = np.sqrt(np.mean(np.sum(square[:, 5:], axis=1))) * PERIOD
    return float(translation), float(rotation)


def _figure_8(full: bool, progress: Progress) -> Outcome:
    times = np.linspace(0.0, LONGEST, SAMPLES + 1)[1:]
    steps = (*STEPS, 1e-5) if full else STEPS
    reference = REFERENCE_STEP if full else 0.1 * STEPS[-1]
    exact = sampled_velocities(reference, times, lambda share: progress(0.5 * share))
    errors = []
    for step, own in tracked(steps, lambda share: progress(0.5 + 0.5 * share)):
        errors.append(velocity_errors(sampled_velocities(step, times, own), exact))
    translation, rotation = np.array(errors).T
    slopes = [np.polyfit(np.log(steps), np.log(e), 1)[0] for e in (translation, rotation)]
    findings = (
        Finding("order of translational velocities", f"{slopes[0]:.2f}", "1"),
        Finding("order of rotational velocities", f"{slopes[1]:.2f}", "1"),
        Finding("translational error at 3 ms", f"{translation[0]:.2g}", "in the figure only"),
    )
    x = np.array(steps)
    curves = (
        Curve("translation", x, translation, "o-"),
        Curve("rotation", x, rotation, "s-"),
    )
    panel = Panel("time step [s]", "velocity error, no units", curves, log_x=True, log_y=True)
    return Outcome(findings, (panel,))


EXPERIMENTS = (
    Experiment(
        "tamsi-figure-7",
        "TAMSI, figure 7",
        "times of a shaken grasp",
        _figure_7,
    ),
    Experiment(
        "tamsi-figure-8",
        "TAMSI, figure 8",
        "order of TAMSI in a shaken grasp",
        _figure_8,
    ),
)
