"""Figure 8 of the CENIC paper: the energy that a bouncing ball loses to its integrator (VII-A)."""

from __future__ import annotations

import numpy as np

from asperity.integrators import Integrator
from studies.benchmarks.verification.case import GRAVITY, Contact, World
from studies.experiments.form import FIGURE_ONLY, Measured, Runs, about, finding, product, slope
from studies.experiments.outcome import Curve, Panel
from studies.experiments.paper import paper_cenic, paper_icf
from studies.experiments.registry import Experiment, Progress
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


def _error(scheme: str, step: float, progress: Progress) -> float:
    return 100.0 * energy_error(fixed_steps(scheme, step), progress=progress)


def _measure(runs: Runs) -> Measured:
    papers = {"trapezoid": about("2", 2.0, 0.2), "step-doubling": about("1", 1.0, 0.1)}
    curves = []
    for scheme, own in runs.by("scheme").items():
        steps, errors = own.axis("step"), own.values()
        curves.append(Curve(scheme, steps, errors, "o-"))
        # A ball that has lost much of its energy says nothing of the order.
        fitted = errors < 40.0
        order = slope(steps[fitted], errors[fitted])
        yield finding(f"{scheme}, order in the step size", order, "{:.2f}", papers.get(scheme, "–"))
    for step in (1e-2, 1e-3, 1e-4):
        found = tuple(runs.where(step=step).results)
        form = ", ".join(["{:.2g} %"] * len(SCHEMES))
        yield finding(f"{', '.join(SCHEMES)} at {step:g} s", found, form, FIGURE_ONLY)
    yield Panel("step size [s]", "energy error [%]", curves, log_x=True, log_y=True)


EXPERIMENTS = (
    Experiment(
        "cenic-figure-8",
        "CENIC, figure 8",
        "energy error of a bouncing ball after 10 s",
        _error,
        lambda full: product(scheme=SCHEMES, step=(*STEPS, *SMALLEST_STEPS) if full else STEPS),
        _measure,
    ),
)
