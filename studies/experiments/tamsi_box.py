"""Figure 4 of the TAMSI paper: Newton's method at a transition from slip to stick (IV-A)."""

from __future__ import annotations

import numpy as np

from asperity.integrators.methods.tamsi.transition import transition_step
from studies.experiments.form import Measured, Runs, about, at_least, at_most, finding, product
from studies.experiments.outcome import Curve, Panel
from studies.experiments.registry import Experiment, Progress

__all__ = ["EXPERIMENTS", "box_residual", "newton_history", "simulate_box"]

MASS = 0.33  # [kg]
WEIGHT = 9.8 * MASS  # [N]; the coefficient of friction is one
AMPLITUDE = 4.0  # [N]
FREQUENCY = 1.0  # [Hz]
STICTION_TOLERANCE = 1e-4  # [m/s]
TIME_STEP = 0.01  # [s]
DURATION = 1.0  # [s]

_TOLERANCE = 1e-12
_ITERATIONS = 20
_FEW = 10


def box_residual(velocity: float, before: float, force: float, step: float) -> tuple[float, float]:
    """Residual of an implicit Euler step [kg m/s], and its derivative.

    m (v − v_0) − h (f − μ̃(v) W sgn v), μ̃ being TAMSI's ramp (equation 7).
    """
    ratio = velocity / STICTION_TOLERANCE
    friction = WEIGHT * float(np.clip(ratio, -1.0, 1.0))
    slope = WEIGHT / STICTION_TOLERANCE if abs(ratio) < 1.0 else 0.0
    return MASS * (velocity - before) - step * (force - friction), MASS + step * slope


def newton_history(
    before: float, force: float, step: float, *, transition_aware: bool
) -> tuple[float, np.ndarray]:
    """Solve a step by Newton's method from the velocity of its beginning.

    Parameters
    ----------
    before : float
        Velocity at the beginning [m/s].
    force : float
        Force at the end [N].
    step : float
        Step size [s].
    transition_aware : bool
        Whether TALS cuts the updates.

    Returns
    -------
    velocity : float
        The last iterate [m/s].
    residuals : ndarray, shape (n,)
        |r| over the impulse of sliding friction, before every iteration and after the last.
    """
    velocity = before
    residuals: list[float] = []
    for _ in range(_ITERATIONS + 1):
        residual, slope = box_residual(velocity, before, force, step)
        residuals.append(abs(residual) / (step * WEIGHT))
        if residuals[-1] < _TOLERANCE:
            break
        update = -residual / slope
        if transition_aware:
            update *= transition_step(velocity, 0.0, update, 0.0, STICTION_TOLERANCE, 1e-2)
        velocity += update
    return velocity, np.array(residuals)


def _force(time: float) -> float:
    return AMPLITUDE * float(np.cos(2.0 * np.pi * FREQUENCY * time))


def simulate_box(step: float = TIME_STEP) -> tuple[np.ndarray, np.ndarray]:
    """Times [s] and velocities [m/s] of implicit Euler with TALS from rest, shape (n + 1,)."""
    count = round(DURATION / step)
    time = step * np.arange(count + 1)
    velocity = np.zeros(count + 1)
    for i in range(count):
        velocity[i + 1], residuals = newton_history(
            velocity[i], _force(time[i + 1]), step, transition_aware=True
        )
        assert residuals[-1] < _TOLERANCE, "TALS solves every step of a single contact"
    return time, velocity


def _solve(aware: bool, progress: Progress) -> tuple[float, list[np.ndarray], int]:
    """Where the first step from sliding to sticking begins [s], residuals of all, its number."""
    time, velocity = simulate_box()
    sticks = np.abs(velocity) <= STICTION_TOLERANCE
    first = int(np.flatnonzero(~sticks[:-1] & sticks[1:])[0])
    solved = [
        newton_history(v, _force(t + TIME_STEP), TIME_STEP, transition_aware=aware)[1]
        for t, v in zip(time[:-1], velocity[:-1], strict=True)
    ]
    return time[first], solved, first


def _measure(runs: Runs) -> Measured:
    (begin, solved, first), (_, with_tals, _) = runs.results
    plain, cut = solved[first], with_tals[first]
    failures = [sum(one[-1] >= _TOLERANCE for one in every) for every in (solved, with_tals)]
    quantity = "first step from sliding to sticking begins at"
    yield finding(quantity, begin, "{:.3f} s", about("0.160 s", 0.16, 5e-4))
    left = plain[-1], len(plain) - 1
    cycles = at_least("cycles", _TOLERANCE)
    yield finding("residual without TALS", left, "{:.2g} after {}", cycles, judged=plain[-1])
    few = at_most("a few, the last quadratic", _FEW)
    yield finding("iterations with TALS", len(cut) - 1, paper=few)
    yield finding("steps of 100 that fail without TALS", failures[0])
    yield finding("steps of 100 that fail with TALS", failures[1])
    curves = (
        Curve("Newton", np.arange(float(len(plain))), plain, "o-"),
        # A residual of zero has no place on a logarithmic axis.
        Curve("Newton with TALS", np.arange(float(len(cut))), np.maximum(cut, 1e-17), "s-"),
    )
    yield Panel("iteration", "residual over friction impulse", curves, log_y=True)


EXPERIMENTS = (
    Experiment(
        "tamsi-figure-4",
        "TAMSI, figure 4",
        "a transition from slip to stick",
        _solve,
        lambda full: product(aware=(False, True)),
        _measure,
    ),
)
