"""Figure 12 of the CENIC paper: steps against the gain of a stiff controller (VII-D1)."""

from __future__ import annotations

import mujoco
import numpy as np

from asperity.simulator import Simulator
from asperity.systems import InverseDynamicsController
from studies.experiments.form import Key, Measured, Runs, at_least, at_most, finding
from studies.experiments.outcome import Curve, Panel
from studies.experiments.paper import paper_cenic
from studies.experiments.registry import Experiment, Progress
from studies.experiments.runs import advance
from studies.scenes.franka_box import JOINTS, NOMINAL, START, franka, franka_and_box

__all__ = ["EXPERIMENTS", "simulate_gain"]

ACCURACY = 1e-2
DURATION = 10.0  # [s]
PERIOD = 2.5
"""Time [s] after which the setpoint changes: around the box, lifted, down again and lifted."""

ARM = 7
"""Joints of the arm; the fingers are always closing."""

GAINS = (1e1, 1e2, 1e3, 1e4, 1e5, 1e6)
# Explicit steps grow in proportion to the gain, up to some millions.
SHORT_GAINS = (1e1, 1e2, 1e3, 1e4)

IMPLICIT, DIAGONAL, EXPLICIT = "implicit", "implicit, diagonal", "explicit"


def simulate_gain(
    gain: float,
    treatment: str,
    progress: Progress,
    *,
    contact: str = "fields",
    effort_limits: bool = False,
    duration: float = DURATION,
) -> Simulator:
    """Simulate the task with K_p = K_d = ``gain`` and return the simulator at its end.

    Contact is of pressure fields, or in ``"points"``.
    """
    model = franka_and_box(contact, effort_limits=effort_limits)
    control = InverseDynamicsController(
        JOINTS, kp=gain, kd=gain, target=NOMINAL, model=franka(), implicit=treatment != EXPLICIT
    )
    control.coupled = treatment == IMPLICIT

    def setpoint(model: mujoco.MjModel, data: mujoco.MjData) -> None:
        lifted = round(data.time / PERIOD) % 2 == 1
        control.target[:ARM] = (NOMINAL if lifted else START)[:ARM]

    simulator = Simulator(
        model,
        integrator=paper_cenic(accuracy=ACCURACY),
        control=setpoint,
        control_period=PERIOD,
        systems=[control],
    )
    simulator.reset("start")
    advance(simulator, duration, progress)
    return simulator


LIMITED, POINTS = "implicit, with effort limits", "implicit, contact in points"
_STYLES = {IMPLICIT: "o-", DIAGONAL: "o-", EXPLICIT: "o-", LIMITED: "s--", POINTS: "^:"}


def _simulate(curve: str, gain: float, progress: Progress) -> tuple[int, float]:
    """Steps, and how high the box is at the end [m]."""
    simulator = simulate_gain(
        gain,
        curve if curve in (DIAGONAL, EXPLICIT) else IMPLICIT,
        progress,
        contact="points" if curve == POINTS else "fields",
        effort_limits=curve == LIMITED,
    )
    return simulator.stats.steps, float(simulator.data.body("box").xpos[2])


def _sweep(full: bool) -> list[Key]:
    return [
        {"curve": curve, "gain": gain}
        for curve in _STYLES
        for gain in (SHORT_GAINS if curve in (DIAGONAL, EXPLICIT) and not full else GAINS)
    ]


def _measure(runs: Runs) -> Measured:
    papers = {
        DIAGONAL: at_most("does not grow", 2.0),
        EXPLICIT: at_least("grows with the gain", 2.0),
    }
    curves = []
    for curve, own in runs.by("curve").items():
        gains, steps = own.axis("gain"), own.values(lambda run: run[0])
        curves.append(Curve(curve, gains, steps, _STYLES[curve]))
        said = curve.removeprefix("implicit, ") if curve in (LIMITED, POINTS) else curve
        quantity = f"steps at gains {_span(gains)}, {said}"
        said_of = papers.get(curve, "–")
        yield finding(quantity, _span(steps), paper=said_of, judged=steps[-1] / steps[0])
        if curve == IMPLICIT:
            lifted = gains[own.values(lambda run: run[1]) > 0.5]
            least = f"{lifted[0]:.0e} and more" if len(lifted) else "none"
            yield finding("gains at which the box is lifted", least)
    yield Panel("K_p [1/s²] = K_d [1/s]", "steps in 10 s", curves, log_x=True, log_y=True)


def _span(values: np.ndarray) -> str:
    if len(values) > 1 and np.all(np.diff(np.log(values)) > 1):
        return " to ".join(f"{value:.4g}" for value in (values[0], values[-1]))
    return f"{min(values):.4g} to {max(values):.4g}"


EXPERIMENTS = (
    Experiment(
        "cenic-figure-12",
        "CENIC, figure 12",
        "steps over a controller's gain",
        _simulate,
        _sweep,
        _measure,
    ),
)
