"""Figure 8 of the CENIC paper: the energy that a bouncing ball loses to its integrator (VII-A)."""

from __future__ import annotations

import numpy as np

from asperity.integrators import Integrator
from studies.benchmarks.verification.case import GRAVITY, Contact, World
from studies.experiments.outcome import Curve, Finding, Outcome, Panel
from studies.experiments.paper import paper_cenic, paper_icf
from studies.experiments.registry import Experiment, Progress
from studies.experiments.runs import tracked
from studies.peers.asperity import AsperitySimulate

__all__ = ["EXPERIMENTS", "energy_error", "fixed_steps"]

MASS = 0.1  # [kg], of the caption and the authors' script; the text says 1 kg
RADIUS = 0.05  # [m]
HEIGHT = 1.0  # of the centre at the start [m]
STIFFNESS = 500.0  # of ball and ground in series [N/m]
DURATION = 10.0  # [s], eleven bounces

STEPS = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5)
SMALLEST_STEPS = (1e-5,)

SCHEMES = ("trapezoid", "step-doubling", "icf")

# The ground lies so that the ball rests at z = 0, where energy is counted from.
_SUNK = MASS * GRAVITY / STIFFNESS
_WORLD = World(
    f"<geom type='plane' size='1 1 0.1' pos='0 0 {_SUNK - RADIUS!r}'/>"
    f"<body pos='0 0 {HEIGHT}'><freejoint/>"
    f"<geom type='sphere' size='{RADIUS}' mass='{MASS}'/></body>",
    Contact(STIFFNESS, dissipation=0.0),
)


def fixed_steps(scheme: str, step: float) -> Integrator:
    """A scheme in fixed steps: under error control with an accuracy that every step meets.

    Parameters
    ----------
    scheme : str
        Of `SCHEMES`.
    step : float
        Step size [s]; with step doubling that of the two halves together.
    """
    if scheme == "icf":
        return paper_icf(step)
    # The solver's tolerance is then its smallest, 1e-8.
    return paper_cenic(accuracy=1e3, max_step=step, error_estimate=scheme, tolerance_ratio=1e-13)


def energy_error(
    integrator: Integrator, duration: float = DURATION, progress: Progress = lambda share: None
) -> float:
    """Error of the energy, relative to that of the beginning.

    As in the authors' script the energy of the end is the largest of four samples 10 ms apart.
    """
    record = AsperitySimulate(integrator, progress=progress)(_WORLD, duration)
    looks = duration - np.array([0.03, 0.02, 0.01, 0.0])
    at = np.searchsorted(record.time, looks - 1e-9)
    height, speed = record.qpos[at, 2], record.qvel[at, 2]
    depth = np.maximum(_SUNK - height, 0.0)
    # Below the static penetration gravity's potential energy is negative, and the spring's not.
    rest = 0.5 * STIFFNESS * _SUNK**2
    energy = 0.5 * MASS * speed**2 + MASS * GRAVITY * height + 0.5 * STIFFNESS * depth**2 - rest
    # Counted from rest, which is where the ball neither falls nor rises.
    start = MASS * GRAVITY * HEIGHT - rest
    return float(abs(start - energy.max()) / start)


def _figure_8(full: bool, progress: Progress) -> Outcome:
    steps = (*STEPS, *SMALLEST_STEPS) if full else STEPS
    errors: dict[str, list[float]] = {scheme: [] for scheme in SCHEMES}
    runs = [(scheme, step) for scheme in SCHEMES for step in steps]
    for (scheme, step), own in tracked(runs, progress):
        errors[scheme].append(100.0 * energy_error(fixed_steps(scheme, step), progress=own))
    papers = {"trapezoid": "2", "step-doubling": "1", "icf": "–"}
    findings = []
    curves = []
    for scheme in SCHEMES:
        found = np.array(errors[scheme])
        curves.append(Curve(scheme, np.array(steps), found, "o-"))
        # A ball that has lost much of its energy says nothing of the order.
        fitted = found < 40.0
        logarithms = np.log(np.array(steps)[fitted]), np.log(found[fitted])
        slope = f"{np.polyfit(*logarithms, 1)[0]:.2f}"
        findings.append(Finding(f"{scheme}, order in the step size", slope, papers[scheme]))
    for step in (1e-2, 1e-3, 1e-4):
        at = steps.index(step)
        ours = ", ".join(f"{errors[scheme][at]:.2g} %" for scheme in SCHEMES)
        findings.append(Finding(f"{', '.join(SCHEMES)} at {step:g} s", ours, "in the figure only"))
    panel = Panel("step size [s]", "energy error [%]", tuple(curves), log_x=True, log_y=True)
    return Outcome(tuple(findings), (panel,))


EXPERIMENTS = (
    Experiment(
        "cenic-figure-8",
        "CENIC, figure 8",
        "energy error of a bouncing ball after 10 s",
        _figure_8,
    ),
)
