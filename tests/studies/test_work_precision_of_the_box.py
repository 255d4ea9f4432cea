"""Figure 5 of the TAMSI paper: the box in the simulator, its reference and its errors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from asperity.integrators import ImplicitEuler
from studies.experiments.tamsi_box import (
    AMPLITUDE,
    FREQUENCY,
    MASS,
    STICTION_TOLERANCE,
    WEIGHT,
    simulate_box,
)
from studies.experiments.tamsi_work_precision import (
    Windows,
    errors_of,
    first_order_range,
    reference_velocities,
    simulate,
    windows,
)

LINEAR = {"friction_law": "linear"}


def test_box_of_the_simulator_is_the_scalar_equation() -> None:
    found = simulate(ImplicitEuler(time_step=0.01, newton="full", **LINEAR), 1.0)
    assert found is not None
    time, velocity, _ = found
    expected_time, expected = simulate_box()
    np.testing.assert_allclose(time, expected_time, rtol=0, atol=1e-12)
    # The slide's steps that fail are done in parts, so not all are equal; with TALS none fails.
    cut = simulate(
        ImplicitEuler(time_step=0.01, newton="full", transition_aware=True, **LINEAR), 1.0
    )
    assert cut is not None
    np.testing.assert_allclose(cut[1], expected, rtol=0, atol=1e-9)
    assert np.abs(velocity - expected).max() < 0.01


def test_reference_is_the_solution_of_the_differential_equation() -> None:
    begin = np.array([0.02, 0.16, 0.4, 0.5])
    before = np.array([0.05, 0.03, 1e-5, -0.02])
    length = np.array([0.025, 0.03, 0.025, 0.026])
    found = reference_velocities(Windows(begin, length, before, before), 2e-6)

    def rate(t: float, v: np.ndarray) -> np.ndarray:
        force = AMPLITUDE * np.cos(2 * np.pi * FREQUENCY * t)
        return (force - WEIGHT * np.clip(v / STICTION_TOLERANCE, -1, 1)) / MASS

    for i in range(4):
        end = begin[i] + length[i]
        exact = solve_ivp(
            rate, (begin[i], end), before[i : i + 1], "Radau", rtol=1e-10, atol=1e-13, max_step=1e-4
        )
        assert found[i] == pytest.approx(exact.y[0, -1], abs=1e-9)


def test_errors_are_of_first_order_and_tals_saves_evaluations() -> None:
    runs, evaluations = [], []
    for accuracy, aware in ((1e-4, True), (1e-6, True), (3e-2, True), (3e-2, False)):
        integrator = ImplicitEuler(
            accuracy=accuracy,
            error_norm="state",
            newton="full",
            transition_aware=aware,
            **LINEAR,
        )
        found = simulate(integrator, 1.0)
        assert found is not None
        runs.append(windows(*found[:2]))
        evaluations.append(found[2])
    coarse, fine, loose, plain = errors_of(runs, 4e-6)
    product = evaluations[0] * coarse / (evaluations[1] * fine)
    assert coarse / fine > 5.0
    assert product == pytest.approx(1.0, abs=0.4)
    assert plain == pytest.approx(loose, rel=0.5)
    assert evaluations[3] > 2.0 * evaluations[2]


def test_range_of_first_order() -> None:
    errors = np.array([1e-4, 2e-4, 4e-4, 1e-3, 2e-3, 4e-3])
    exact = 5.0 / errors
    assert first_order_range(errors, exact) == pytest.approx(4e-3)
    late = exact * np.array([1, 1, 1, 1, 4, 16])
    # Halfway, in logarithms, between a factor of one and of four.
    assert first_order_range(errors, late) == pytest.approx(np.sqrt(2) * 1e-3)
