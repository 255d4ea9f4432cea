"""The cylinder on a spring: energy, order of accuracy, and the slow loss by regularised friction."""

from __future__ import annotations

import numpy as np
import pytest

from studies.experiments.sap_spring_cylinder import (
    energies,
    order,
    oscillate,
    position_error,
    time_to_lose,
)
from studies.scenes import spring_cylinder as scene

STEP = scene.TIME_STEP


def test_energy_without_friction() -> None:
    phase = scene.angular_frequency(0.0) * STEP
    midpoint = energies(oscillate("midpoint", 0.0))
    assert midpoint[0] == pytest.approx(0.5 * scene.SPRING_STIFFNESS * scene.START**2, rel=1e-12)
    # A unit of round-off or two in every step.
    np.testing.assert_allclose(midpoint, midpoint[0], rtol=2 * len(midpoint) * np.finfo(float).eps)
    symplectic = energies(oscillate("symplectic-euler", 0.0))
    assert np.ptp(symplectic) / np.mean(symplectic) == pytest.approx(0.283, rel=0.02)
    assert phase == pytest.approx(0.283, rel=2e-3)
    implicit = energies(oscillate("implicit-euler", 0.0, duration=1.0))
    np.testing.assert_allclose(implicit[1:] / implicit[:-1], 1.0 / (1.0 + phase**2), rtol=1e-9)


def test_energy_with_friction() -> None:
    midpoint = energies(oscillate("midpoint", 1.0))
    assert 1e-4 < np.ptp(midpoint) / midpoint[0] < 3e-3
    symplectic = energies(oscillate("symplectic-euler", 1.0))
    band = scene.angular_frequency(1.0) * STEP
    assert np.ptp(symplectic) / np.mean(symplectic) == pytest.approx(band, rel=0.05)


@pytest.mark.parametrize("scheme", ["midpoint", "symplectic-euler"])
def test_energy_is_lost_as_fast_as_regularised_friction_slips(scheme: str) -> None:
    # The slip R_t γ_t = σ w γ_t times the friction force; w by the compliances of the contact.
    lever, inertia = scene.RADIUS, 0.5 * scene.MASS * scene.RADIUS**2
    along = 1.0 / scene.MASS + lever**2 / inertia
    w = np.hypot(along, 1.0 / scene.MASS) / 3.0
    # Rolling takes a third of the spring's force.
    force = scene.SPRING_STIFFNESS * scene.START / 3.0
    step = 0.5 * STEP
    power = 1e-3 * w * step * 0.5 * force**2
    rate = power / (0.5 * scene.SPRING_STIFFNESS * scene.START**2)
    run = oscillate(scheme, 1.0, time_step=step, duration=60.0)
    assert time_to_lose(run, 0.01) == pytest.approx(-np.log(0.99) / rate, rel=0.03)
    assert np.isnan(time_to_lose(run, 0.5))


def test_midpoint_errs_by_its_own_frequency_only() -> None:
    run = oscillate("midpoint", 1.0, time_step=1e-2)
    exact = scene.angular_frequency(1.0)
    own = 2.0 / 1e-2 * np.arctan(0.5e-2 * exact)
    difference = scene.START * (np.cos(own * run.time) - np.cos(exact * run.time))
    expected = np.sqrt(np.mean(difference**2))
    assert position_error(run, 1.0) == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize(
    ("scheme", "steps", "expected"),
    [
        ("midpoint", (1e-2, 5e-3, 2.5e-3, 1e-3), 2.0),
        ("symplectic-euler", (2.5e-3, 1e-3, 5e-4), 1.0),
        ("implicit-euler", (1e-2, 5e-4, 2.5e-4), 1.0),
    ],
)
def test_order(scheme: str, steps: tuple[float, ...], expected: float) -> None:
    errors = [position_error(oscillate(scheme, 1.0, time_step=h), 1.0) for h in steps]
    slope, largest = order(steps, errors)
    assert slope == pytest.approx(expected, abs=0.07)
    # At 10 ms implicit Euler has lost the oscillation: no slope is fitted to that.
    assert largest == pytest.approx(steps[1] if scheme == "implicit-euler" else steps[0])
