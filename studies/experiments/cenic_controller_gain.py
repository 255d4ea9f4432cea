"""Figure 12 of the CENIC paper: steps against the gain of a stiff controller (VII-D1)."""

from __future__ import annotations

import mujoco
import numpy as np

from asperity.simulator import Simulator
from asperity.systems import InverseDynamicsController
from studies.experiments.outcome import Curve, Finding, Outcome, Panel
from studies.experiments.paper import paper_cenic
from studies.experiments.registry import Experiment, Progress
from studies.experiments.runs import advance, tracked
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
        JOINTS,
        kp=gain,
        kd=gain,
        target=NOMINAL,
        model=franka(),
        implicit=treatment != EXPLICIT,
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


def _figure_12(full: bool, progress: Progress) -> Outcome:
    curves = []
    findings = []
    runs = ((IMPLICIT, GAINS), (DIAGONAL, SHORT_GAINS), (EXPLICIT, SHORT_GAINS))
    for (treatment, short), outer in tracked(runs, progress):
        gains = GAINS if full else short
        simulators = [
            simulate_gain(gain, treatment, inner) for gain, inner in tracked(gains, outer)
        ]
        steps = np.array([simulator.stats.steps for simulator in simulators])
        curves.append(Curve(treatment, np.array(gains), steps, "o-"))
        paper = {
            IMPLICIT: "–",
            DIAGONAL: "does not grow",
            EXPLICIT: "grows with the gain",
        }
        findings.append(
            Finding(f"steps at gains {_span(gains)}, {treatment}", _span(steps), paper[treatment])
        )
        if treatment == IMPLICIT:
            lifted = [g for g, s in zip(gains, simulators, strict=True) if _height(s) > 0.5]
            least = f"{lifted[0]:.0e} and more" if lifted else "none"
            findings.append(Finding("gains at which the box is lifted", least, "–"))
    limited = [
        simulate_gain(gain, IMPLICIT, lambda share: None, effort_limits=True) for gain in GAINS
    ]
    steps = np.array([simulator.stats.steps for simulator in limited])
    curves.append(Curve("implicit, with effort limits", np.array(GAINS), steps, "s--"))
    findings.append(
        Finding(f"steps at gains {_span(GAINS)}, with effort limits", _span(steps), "–")
    )
    points = [simulate_gain(gain, IMPLICIT, lambda share: None, contact="points") for gain in GAINS]
    steps = np.array([simulator.stats.steps for simulator in points])
    curves.append(Curve("implicit, contact in points", np.array(GAINS), steps, "^:"))
    findings.append(Finding(f"steps at gains {_span(GAINS)}, contact in points", _span(steps), "–"))
    panel = Panel("K_p [1/s²] = K_d [1/s]", "steps in 10 s", tuple(curves), log_x=True, log_y=True)
    return Outcome(tuple(findings), (panel,))


def _height(simulator: Simulator) -> float:
    return float(simulator.data.body("box").xpos[2])


def _span(values: np.ndarray | tuple[float, ...]) -> str:
    if len(values) > 1 and np.all(np.diff(np.log(values)) > 1):
        return " to ".join(f"{value:.4g}" for value in (values[0], values[-1]))
    return f"{min(values):.4g} to {max(values):.4g}"


EXPERIMENTS = (
    Experiment(
        "cenic-figure-12",
        "CENIC, figure 12",
        "steps over a controller's gain",
        _figure_12,
    ),
)
