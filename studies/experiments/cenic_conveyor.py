"""Figure 14 of the CENIC paper: a box on an oscillating belt sticks, breaks loose and is caught."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from asperity.integrators import Integrator
from studies.benchmarks.verification.case import GRAVITY, Contact, World
from studies.experiments.form import FIGURE_ONLY, Measured, Runs, about, finding, product
from studies.experiments.outcome import Panel
from studies.experiments.paper import paper_cenic
from studies.experiments.registry import Experiment, Progress
from studies.peers.asperity import AsperitySimulate

__all__ = ["EXPERIMENTS", "Ride", "ride"]

MASS = 1.0  # [kg]
STATIC_FRICTION, DYNAMIC_FRICTION = 1.0, 0.5
FORCE = 10.0  # [N], of the belt's motion in its own frame
FREQUENCY = 0.5  # [Hz]
DURATION = 4.0  # [s]
STICTION_TOLERANCE = 1e-4  # [m/s]
STIFFNESS = 1e6  # [N/m]
ACCURACIES = (1e-5, 1e-8)

SAMPLE = 1e-3
"""Time over which the force is held, with its value at the middle [s]."""

_WORLD = World(
    "<geom type='plane' size='1 1 0.1'/>"
    f"<body pos='0 0 {0.05 - MASS * GRAVITY / (4.0 * STIFFNESS)!r}'>"
    "<joint name='along' type='slide' axis='1 0 0'/><joint type='slide' axis='0 0 1'/>"
    f"<geom type='box' size='0.1 0.1 0.05' mass='{MASS}'/></body>",
    Contact(
        STIFFNESS,
        dissipation=500.0,
        friction=STATIC_FRICTION,
        dynamic_friction=DYNAMIC_FRICTION,
        stiction_tolerance=STICTION_TOLERANCE,
    ),
    sections="<actuator><motor joint='along'/></actuator>",
)


class Ride(NamedTuple):
    """What happened to the box, sampled."""

    time: np.ndarray
    """[s], shape (n,)."""
    velocity: np.ndarray
    """Relative to the belt [m/s], shape (n,)."""
    friction: np.ndarray
    """m a − f, the force of friction on the box [N], shape (n,)."""


def ride(
    integrator: Integrator, duration: float = DURATION, progress: Progress = lambda share: None
) -> Ride:
    """Simulate the box in the frame of the belt.

    Friction is the mean over a sample, from the change of velocity.
    """

    def force(time: float | np.ndarray) -> np.ndarray:
        return np.asarray(FORCE * np.sin(2.0 * np.pi * FREQUENCY * (time + 0.5 * SAMPLE)))

    simulate = AsperitySimulate(integrator, progress=progress)
    record = simulate(_WORLD, duration, drive=lambda time: [float(force(time))], period=SAMPLE)
    time = SAMPLE * np.arange(round(duration / SAMPLE) + 1)
    velocity = record.at(time, 0, speed=True)
    friction = MASS * np.diff(velocity) / SAMPLE - force(time[:-1])
    return Ride(time[1:], velocity[1:], friction)


def _measure(runs: Runs) -> Measured:
    weight = MASS * GRAVITY
    for key, found in runs:
        label = f"accuracy {key['accuracy']:g}"
        slides = np.abs(found.velocity) > 100.0 * STICTION_TOLERANCE
        loose = float(found.time[np.argmax(slides)])
        peak = np.abs(found.friction[found.time < loose]).max() / weight
        sliding = np.median(np.abs(found.friction[slides])) / weight
        static = about(f"{STATIC_FRICTION:g}", STATIC_FRICTION, 0.03)
        dynamic = about(f"{DYNAMIC_FRICTION:g}", DYNAMIC_FRICTION, 0.01)
        yield finding(f"{label}: breaks loose at", loose, "{:.3f} s", FIGURE_ONLY)
        quantity = f"{label}: largest friction before, over the weight"
        yield finding(quantity, peak, "{:.3f}", static)
        quantity = f"{label}: median friction while it slides, over the weight"
        yield finding(quantity, sliding, "{:.3f}", dynamic)
        yield finding(f"{label}: largest speed", np.abs(found.velocity).max(), "{:.3f} m/s")
    curves = runs.curves("accuracy {accuracy:g}", lambda found: (found.time, found.velocity))
    yield Panel("time [s]", "velocity on the belt [m/s]", curves)
    curves = runs.curves("accuracy {accuracy:g}", lambda found: (found.time, found.friction))
    yield Panel("time [s]", "friction [N]", curves)


EXPERIMENTS = (
    Experiment(
        "cenic-figure-14",
        "CENIC, figure 14",
        "a box on an oscillating belt",
        lambda accuracy, progress: ride(paper_cenic(accuracy=accuracy), progress=progress),
        lambda full: product(accuracy=ACCURACIES),
        _measure,
    ),
)
