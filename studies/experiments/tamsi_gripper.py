"""Figures 7 and 8 of the TAMSI paper: a gripper that shakes a mug (VI-A)."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from asperity.integrators import ImplicitEuler, Integrator
from asperity.scenes.shaken_mug import AMPLITUDE, ANGULAR_FREQUENCY, GRIP, MASS, PERIOD, shaken_mug
from asperity.simulator import Simulator
from studies.experiments.form import (
    FIGURE_ONLY,
    Key,
    Measured,
    Runs,
    about,
    at_least,
    at_most,
    finding,
    product,
    slope,
    twofold,
)
from studies.experiments.outcome import Curve, Panel
from studies.experiments.paper import paper_tamsi
from studies.experiments.registry import Experiment, Progress
from studies.experiments.runs import Samples, tracked, watch

__all__ = ["EXPERIMENTS", "sampled_velocities", "shake", "velocity_errors"]

TIME_STEP = 3e-3  # [s]
DURATION = 5.0  # [s]

STEPS = (3e-3, 1e-3, 3e-4, 1e-4, 3e-5)
REFERENCE_STEP = 1e-6
LONGEST = 0.25 * PERIOD
"""Simulated time of figure 8 [s]: from the middle, where the load is nil, to the turn."""
SAMPLES = 25
OFFSET = 0.002  # [m]

_TAMSI = "TAMSI"
_METHODS: dict[str, Integrator] = {
    _TAMSI: paper_tamsi(TIME_STEP),
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


_SLOWER = {
    "implicit Euler, full Newton, TALS": twofold("25", 25.0),
    "implicit Euler, full Newton": twofold("55", 55.0),
}
_REPEATS = 5
"""The fastest of so many runs counts: others were disturbed."""


def _race(name: str, duration: float, progress: Progress) -> Samples:
    """The fastest run."""
    marks = np.linspace(0.0, duration, 51)[1:]
    runs = [
        watch(shake(_METHODS[name]), marks, {"wall": _wall_time}, own)
        for _, own in tracked(range(_REPEATS), progress)
    ]
    return min(runs, key=lambda seen: seen["wall"][-1])


def _wall_time(simulator: Simulator) -> float:
    return simulator.stats.wall_time


def _velocities(simulator: Simulator) -> np.ndarray:
    return simulator.data.qvel.copy()


def _figure_7(runs: Runs) -> Measured:
    found = {key["name"]: seen for key, seen in runs}
    rate = {name: seen["wall"][-1] / seen.time[-1] for name, seen in found.items()}
    first, *others = found
    quantity = f"{first}, times faster than real time"
    yield finding(quantity, 1 / rate[first], "{:.0f}", at_least("40", 40.0))
    for name in others:
        # Others take finite differences in the paper.
        said = _SLOWER.get(name, "–")
        quantity = f"{name}, times slower than {first}"
        yield finding(quantity, rate[name] / rate[first], "{:.2g}", said)
    for name, seen in found.items():
        stats = seen.simulator.stats
        quantity = f"{name}, evaluations of the model per step"
        yield finding(quantity, stats.evaluations / stats.steps, "{:.1f}")
    for name, seen in found.items():
        qpos = seen.simulator.data.qpos
        quantity = f"{name}, slip of the mug after {seen.time[-1]:g} s"
        slip = (qpos[4] - qpos[0]) * 1e6
        yield finding(quantity, slip, "{:.1f} µm", at_most("holds", 100.0), judged=abs(slip))
    curves = [
        Curve(name, np.append(0.0, seen["wall"]), np.append(0.0, seen.time))
        for name, seen in found.items()
    ]
    yield Panel("wall time inside the stepping loops [s]", "simulated time [s]", curves)


def sampled_velocities(
    time_step: float, times: Sequence[float] | np.ndarray, progress: Progress = lambda share: None
) -> np.ndarray:
    """Velocities of gripper, finger and mug on the spring at some times, shape (n, 8)."""
    simulator = Simulator(shaken_mug(sprung=True, offset=OFFSET), integrator=paper_tamsi(time_step))
    simulator.reset("start")
    return watch(simulator, times, {"qvel": _velocities}, progress)["qvel"]


def velocity_errors(found: np.ndarray, exact: np.ndarray) -> tuple[float, float]:
    """Translational and rotational errors, root mean squares over the times.

    In units of the amplitude over the period, and of one over the period.
    """
    square = (found - exact) ** 2
    translation = np.sqrt(np.mean(np.sum(square[:, :5], axis=1))) * PERIOD / AMPLITUDE
    rotation = np.sqrt(np.mean(np.sum(square[:, 5:], axis=1))) * PERIOD
    return float(translation), float(rotation)


def _orders(full: bool) -> list[Key]:
    """Finest first, which is the reference."""
    steps = (*STEPS, 1e-5) if full else STEPS
    return product(step=(REFERENCE_STEP if full else 0.1 * STEPS[-1], *steps))


def _shaken(step: float, progress: Progress) -> np.ndarray:
    return sampled_velocities(step, np.linspace(0.0, LONGEST, SAMPLES + 1)[1:], progress)


def _figure_8(runs: Runs) -> Measured:
    exact, *found = runs.results
    steps = runs.axis("step")[1:]
    translation, rotation = np.array([velocity_errors(one, exact) for one in found]).T
    for kind, errors in (("translational", translation), ("rotational", rotation)):
        order, said = slope(steps, errors), about("1", 1.0, 0.1)
        yield finding(f"order of {kind} velocities", order, "{:.2f}", said)
    yield finding("translational error at 3 ms", translation[0], "{:.2g}", FIGURE_ONLY)
    curves = (
        Curve("translation", steps, translation, "o-"),
        Curve("rotation", steps, rotation, "s-"),
    )
    yield Panel("time step [s]", "velocity error, no units", curves, log_x=True, log_y=True)


EXPERIMENTS = (
    Experiment(
        "tamsi-figure-7",
        "TAMSI, figure 7",
        "times of a shaken grasp",
        _race,
        lambda full: product(name=_METHODS, duration=[DURATION if full else 1.0]),
        _figure_7,
    ),
    Experiment(
        "tamsi-figure-8",
        "TAMSI, figure 8",
        "order of TAMSI in a shaken grasp",
        _shaken,
        _orders,
        _figure_8,
    ),
)
