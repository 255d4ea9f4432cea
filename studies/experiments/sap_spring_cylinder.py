"""Figures 5, 6 and 7 of the SAP paper: energy and accuracy of a cylinder on a spring (VI-B)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from studies.benchmarks.verification.case import Record
from studies.experiments.form import (
    FIGURE_ONLY,
    Key,
    Measured,
    Paper,
    Runs,
    about,
    at_most,
    finding,
    product,
    slope,
)
from studies.experiments.outcome import Curve, Panel
from studies.experiments.paper import paper_sap
from studies.experiments.registry import Experiment, Progress
from studies.peers.asperity import AsperitySimulate
from studies.scenes import spring_cylinder as scene

__all__ = [
    "EXPERIMENTS",
    "SCHEMES",
    "energies",
    "order",
    "oscillate",
    "position_error",
    "time_to_lose",
]

SCHEMES = ("symplectic-euler", "midpoint", "implicit-euler")

DURATION = 5.0
"""[s]; "about 10 periods of oscillation" with friction, 9.2."""

LONG = 300.0
"""[s]; long enough to lose `LOST` of the energy."""

LOST = 0.1

# Divisors of `DURATION`.
STEPS = (2.5e-2, 2e-2, 1e-2, 5e-3, 2.5e-3, 1e-3, 5e-4, 2.5e-4, 1e-4)
LARGEST_FITTED = 0.1 * scene.START
"""Largest error [m] that slopes are fitted to: beyond it the oscillation is lost."""


def oscillate(
    scheme: str,
    friction: float,
    *,
    time_step: float = scene.TIME_STEP,
    duration: float = DURATION,
    progress: Progress = lambda share: None,
) -> Record:
    """Let the cylinder go and simulate it.

    Parameters
    ----------
    scheme : str
        Of `Sap`.
    friction : float
        Coefficient of friction.
    time_step, duration : float
        [s]
    progress : callable
        See `Progress`.
    """
    integrator = paper_sap(time_step, theta_scheme=scheme, tolerance=1e-10)
    simulate = AsperitySimulate(integrator, progress=progress)
    return simulate(scene.spring_cylinder(friction), duration, qpos=scene.LET_GO)


def energies(record: Record) -> np.ndarray:
    """Energy above that of the cylinder at rest [J], shape (n,).

    Kinetic energy, that of the spring, of gravity and of the compressed contact.
    """
    (x, z), (u, w, spin) = record.qpos.T[:2], record.qvel.T
    inertia = 0.5 * scene.MASS * scene.RADIUS**2
    kinetic = 0.5 * scene.MASS * (u**2 + w**2) + 0.5 * inertia * spin**2
    height = z + scene.static_penetration()
    # Gravity and contact together are a spring about the static penetration.
    return kinetic + 0.5 * scene.SPRING_STIFFNESS * x**2 + 0.5 * scene.STIFFNESS * height**2


def time_to_lose(record: Record, share: float) -> float:
    """Time [s] at which a share of the energy is lost, in the mean over two oscillations.

    NaN if that does not happen.
    """
    energy, time = energies(record), record.time
    window = round(4.0 * np.pi / scene.angular_frequency(1.0) / (time[1] - time[0]))
    mean = np.convolve(energy, np.full(window, 1.0 / window), mode="valid")
    lost = np.flatnonzero(mean < (1.0 - share) * mean[0])
    return float(time[lost[0]]) if len(lost) else float("nan")


def position_error(record: Record, friction: float) -> float:
    """The paper's e_q [m], √(1/T ∫ (x − x_e)² dt), against the exact oscillation x_e."""
    time = record.time
    exact = scene.START * np.cos(scene.angular_frequency(friction) * time)
    square = np.trapezoid((record.qpos[:, 0] - exact) ** 2, time)
    return float(np.sqrt(square / (time[-1] - time[0])))


def order(steps: Sequence[float], errors: ArrayLike) -> tuple[float, float]:
    """Slope of the errors over the steps, in logarithms, and the largest step it was fitted to.

    Errors above `LARGEST_FITTED` are left out.
    """
    fitted = np.asarray(errors) < LARGEST_FITTED
    x, y = np.asarray(steps)[fitted], np.asarray(errors)[fitted]
    return slope(x, y), float(x.max())


def _band(energy: np.ndarray) -> float:
    """Peak to peak over the mean."""
    return float(np.ptp(energy) / np.mean(energy))


def _period(friction: float) -> float:
    return float(2.0 * np.pi / scene.angular_frequency(friction))


def _curves(runs: Runs, every: int = 1) -> tuple[Curve, ...]:
    """Energies over those of the beginning."""

    def points(record: Record) -> tuple[np.ndarray, np.ndarray]:
        energy = energies(record)
        return record.time[::every], energy[::every] / energy[0]

    return runs.curves("{scheme}", points)


_AXES = "time [s]", "energy over initial energy"


def _figure_5(runs: Runs) -> Measured:
    energy = {key["scheme"]: energies(run) for key, run in runs}
    implicit = energy["implicit-euler"]
    lost = float(np.argmax(implicit < (1.0 - 0.9) * implicit[0])) * scene.TIME_STEP / _period(0.0)
    few = Paper('"dissipates the initial energy in just a few periods"', 1.0, 10.0)
    yield finding("steps per period", _period(0.0) / scene.TIME_STEP, "{:.1f}")
    band = _band(energy["symplectic-euler"])
    said = about("28 %", 0.28, 0.01)
    yield finding("symplectic Euler, peak to peak over mean", band, "{:.1%}", said)
    band = _band(energy["midpoint"])
    yield finding("midpoint, peak to peak", band, "{:.1e}", about("0 (exact)", 0.0, 1e-12))
    yield finding("implicit Euler, periods until 90 % are lost", lost, "{:.1f}", few)
    yield Panel(*_AXES, _curves(runs), "without friction")


def _figure_6(runs: Runs) -> Measured:
    short, long = runs.by("duration").values()
    energy = {key["scheme"]: energies(run) for key, run in short}
    steps = _period(1.0) / scene.TIME_STEP
    yield finding("steps per period", steps, "{:.1f}", about("about 27", 27.0, 0.5))
    band = np.ptp(energy["midpoint"]) / energy["midpoint"][0]
    # It grows with the time, so that a time that is not stated says nothing of agreement.
    said = "0.16 % (time not stated)"
    yield finding(f"midpoint, peak to peak in {DURATION:g} s", band, "{:.2%}", said)
    band, said_again = _band(energy["symplectic-euler"]), at_most("28 %, as without friction", 0.29)
    yield finding("symplectic Euler, peak to peak over mean", band, "{:.1%}", said_again)
    for key, run in long:
        time = time_to_lose(run, LOST)
        yield finding(
            f"{key['scheme']}, until 10 % are lost",
            (time / 60.0, time / _period(1.0)),
            "{:.1f} min, {:.0f} oscillations",
            Paper("minutes, many oscillations (numbers lost)", (1.0, 100.0)),
        )
    yield Panel(*_AXES, _curves(short), "with friction")
    yield Panel(*_AXES, _curves(long, 10), "long run")


def _rolling(full: bool) -> list[Key]:
    """Short runs, and long ones of what loses little."""
    long = [2.0 * LONG if full else LONG]
    return [
        *product(scheme=SCHEMES, friction=[1.0], duration=[DURATION]),
        *product(scheme=SCHEMES[:2], friction=[1.0], duration=long),
    ]


def _error(scheme: str, time_step: float, progress: Progress) -> float:
    run = oscillate(scheme, 1.0, time_step=time_step, progress=progress)
    return position_error(run, 1.0)


def _figure_7(runs: Runs) -> Measured:
    curves = []
    for scheme, own in runs.by("scheme").items():
        errors = own.values()
        exponent, largest = order(STEPS, errors)
        said = about("2", 2.0, 0.1) if scheme == "midpoint" else about("1", 1.0, 0.1)
        quantity = f"{scheme}, slope below {1e3 * largest:g} ms"
        yield finding(quantity, exponent, "{:.2f}", said)
        quantity = f"{scheme}, error at {1e3 * STEPS[2]:g} ms"
        yield finding(quantity, errors[2], "{:.2g} m", FIGURE_ONLY)
        curves.append(Curve(scheme, np.array(STEPS), errors, "o-"))
    yield Panel("time step [s]", "position error e_q [m]", curves, log_x=True, log_y=True)


EXPERIMENTS = (
    Experiment(
        "sap-figure-5",
        "SAP, figure 5",
        "energy of a spring–cylinder without friction",
        oscillate,
        lambda full: product(scheme=SCHEMES, friction=[0.0]),
        _figure_5,
    ),
    Experiment(
        "sap-figure-6",
        "SAP, figure 6",
        "energy of a rolling spring–cylinder",
        oscillate,
        _rolling,
        _figure_6,
    ),
    Experiment(
        "sap-figure-7",
        "SAP, figure 7",
        "order of accuracy of a rolling spring–cylinder",
        _error,
        lambda full: product(scheme=SCHEMES, time_step=STEPS),
        _figure_7,
    ),
)
