"""Figures 5, 6 and 7 of the SAP paper: energy and accuracy of a cylinder on a spring (VI-B)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from studies.benchmarks.verification.case import Record
from studies.experiments.outcome import Curve, Finding, Outcome, Panel
from studies.experiments.paper import paper_sap
from studies.experiments.registry import Experiment, Progress
from studies.experiments.runs import part, tracked
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


def order(steps: Sequence[float], errors: Sequence[float]) -> tuple[float, float]:
    """Slope of the errors over the steps, in logarithms, and the largest step it was fitted to.

    Errors above `LARGEST_FITTED` are left out.
    """
    fitted = np.asarray(errors) < LARGEST_FITTED
    x, y = np.log(np.asarray(steps)[fitted]), np.log(np.asarray(errors)[fitted])
    return float(np.polyfit(x, y, 1)[0]), float(np.exp(x.max()))


def _energy_curves(
    friction: float, progress: Progress
) -> tuple[tuple[Curve, ...], dict[str, np.ndarray]]:
    values = {}
    curves = []
    for scheme, track in tracked(SCHEMES, progress):
        run = oscillate(scheme, friction, progress=track)
        values[scheme] = energies(run)
        curves.append(Curve(scheme, run.time, values[scheme] / values[scheme][0]))
    return tuple(curves), values


def _band(energy: np.ndarray) -> float:
    return float(np.ptp(energy) / np.mean(energy))


def _periods_to_lose(energy: np.ndarray, friction: float, share: float) -> float:
    period = 2.0 * np.pi / scene.angular_frequency(friction)
    return float(np.argmax(energy < (1.0 - share) * energy[0])) * scene.TIME_STEP / period


def _figure_5(full: bool, progress: Progress) -> Outcome:
    curves, values = _energy_curves(0.0, progress)
    left = _periods_to_lose(values["implicit-euler"], 0.0, 0.9)
    period = 2.0 * np.pi / scene.angular_frequency(0.0)
    findings = (
        Finding("steps per period", f"{period / scene.TIME_STEP:.1f}", "–"),
        Finding(
            "symplectic Euler, peak to peak over mean",
            f"{_band(values['symplectic-euler']):.1%}",
            "28 %",
        ),
        Finding("midpoint, peak to peak", f"{_band(values['midpoint']):.1e}", "0 (exact)"),
        Finding(
            "implicit Euler, periods until 90 % are lost",
            f"{left:.1f}",
            '"dissipates the initial energy in just a few periods"',
        ),
    )
    panel = Panel("time [s]", "energy over initial energy", curves, "without friction")
    return Outcome(findings, (panel,))


def _figure_6(full: bool, progress: Progress) -> Outcome:
    curves, values = _energy_curves(1.0, part(progress, 0.0, 0.2))
    midpoint = values["midpoint"]
    period = 2.0 * np.pi / scene.angular_frequency(1.0)
    findings = [
        Finding("steps per period", f"{period / scene.TIME_STEP:.1f}", "about 27"),
        Finding(
            f"midpoint, peak to peak in {DURATION:g} s",
            f"{np.ptp(midpoint) / midpoint[0]:.2%}",
            "0.16 % (time not stated)",
        ),
        Finding(
            "symplectic Euler, peak to peak over mean",
            f"{_band(values['symplectic-euler']):.1%}",
            "as without friction",
        ),
    ]
    long = []
    duration = 2.0 * LONG if full else LONG
    for scheme, track in tracked(("symplectic-euler", "midpoint"), part(progress, 0.2, 1.0)):
        run = oscillate(scheme, 1.0, duration=duration, progress=track)
        time = time_to_lose(run, LOST)
        findings.append(
            Finding(
                f"{scheme}, until 10 % are lost",
                f"{time / 60.0:.1f} min, {time / period:.0f} oscillations",
                "minutes, many oscillations (numbers lost)",
            )
        )
        long.append(Curve(scheme, run.time[::10], energies(run)[::10] / energies(run)[0]))
    panels = (
        Panel("time [s]", "energy over initial energy", curves, "with friction"),
        Panel("time [s]", "energy over initial energy", tuple(long), "long run"),
    )
    return Outcome(tuple(findings), panels)


def _figure_7(full: bool, progress: Progress) -> Outcome:
    curves = []
    findings = []
    for scheme, track in tracked(SCHEMES, progress):
        errors = []
        for step, inner in tracked(STEPS, track):
            errors.append(
                position_error(oscillate(scheme, 1.0, time_step=step, progress=inner), 1.0)
            )
        slope, largest = order(STEPS, errors)
        findings.append(
            Finding(
                f"{scheme}, slope below {1e3 * largest:g} ms",
                f"{slope:.2f}",
                "2" if scheme == "midpoint" else "1",
            )
        )
        findings.append(
            Finding(
                f"{scheme}, error at {1e3 * STEPS[2]:g} ms",
                f"{errors[2]:.2g} m",
                "in the figure only",
            )
        )
        curves.append(Curve(scheme, np.array(STEPS), np.array(errors), "o-"))
    panel = Panel("time step [s]", "position error e_q [m]", tuple(curves), log_x=True, log_y=True)
    return Outcome(tuple(findings), (panel,))


EXPERIMENTS = (
    Experiment(
        "sap-figure-5",
        "SAP, figure 5",
        "energy of a spring–cylinder without friction",
        _figure_5,
    ),
    Experiment(
        "sap-figure-6",
        "SAP, figure 6",
        "energy of a rolling spring–cylinder",
        _figure_6,
    ),
    Experiment(
        "sap-figure-7",
        "SAP, figure 7",
        "order of accuracy of a rolling spring–cylinder",
        _figure_7,
    ),
)
