"""The transition-aware line search: every corner, and properties that hold for all updates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from asperity.integrators.methods.tamsi.transition import LARGEST_TURN, transition_step

TOLERANCE = 1e-4
RELATIVE = 1e-2

logarithm = st.floats(-9.0, 3.0)
angle = st.floats(-np.pi, np.pi)


def share(v: np.ndarray, change: np.ndarray) -> float:
    return float(transition_step(v[0], v[1], change[0], change[1], TOLERANCE, RELATIVE))


def vector(size: float, direction: float) -> np.ndarray:
    return 10.0**size * np.array([np.cos(direction), np.sin(direction)])


def turn(a: np.ndarray, b: np.ndarray) -> float:
    """Angle between two vectors."""
    return float(abs(np.arctan2(a[0] * b[1] - a[1] * b[0], a @ b)))


def distance_from_rest(v: np.ndarray, change: np.ndarray) -> float:
    """Of the path from v to v + change."""
    along = np.clip(-(v @ change) / (change @ change), 0.0, 1.0)
    return float(np.linalg.norm(v + along * change))


@settings(deadline=None, max_examples=300)
@given(logarithm, angle, logarithm, angle)
def test_any_update(size: float, direction: float, length: float, heading: float) -> None:
    v, change = vector(size, direction), vector(length, heading)
    alpha = share(v, change)
    assert 0.0 < alpha <= 1.0
    before, after = np.linalg.norm(v), np.linalg.norm(v + change)
    stopped = v + alpha * change
    tiny = 1e-9 * (before + np.linalg.norm(change))
    if alpha == 1.0:
        # Whatever is taken whole neither jumps the region nor turns far.
        if before > TOLERANCE and after > TOLERANCE and 10.0**length >= RELATIVE * TOLERANCE:
            assert distance_from_rest(v, change) > TOLERANCE - tiny
            assert turn(v, v + change) < LARGEST_TURN + 1e-6
        return
    crossed = before > TOLERANCE and distance_from_rest(v, change) < TOLERANCE
    if before < RELATIVE * TOLERANCE or crossed:
        assert np.linalg.norm(stopped) <= TOLERANCE + tiny
    else:
        # Sines lose digits where the path nearly points at rest.
        assert turn(v, stopped) == pytest.approx(LARGEST_TURN, abs=1e-5)
        assert before > TOLERANCE
        assert after > TOLERANCE


@settings(deadline=None, max_examples=300)
@given(logarithm, angle, logarithm, angle, angle)
def test_rotations_and_reflections_change_nothing(
    size: float, direction: float, length: float, heading: float, by: float
) -> None:
    v, change = vector(size, direction), vector(length, heading)
    # Not at a border between two cases.
    for value in (np.linalg.norm(v), np.linalg.norm(v + change), np.linalg.norm(change)):
        for border in (TOLERANCE, RELATIVE * TOLERANCE):
            assume(abs(value - border) > 1e-6 * border)
    distance = distance_from_rest(v, change)
    for border in (TOLERANCE, RELATIVE * TOLERANCE):
        assume(abs(distance - border) > 1e-6 * border + 1e-12 * np.linalg.norm(v))
    assume(abs(turn(v, v + change) - LARGEST_TURN) > 1e-6)
    alpha = share(v, change)
    rotation = np.array([[np.cos(by), -np.sin(by)], [np.sin(by), np.cos(by)]])
    assert share(rotation @ v, rotation @ change) == pytest.approx(alpha, rel=1e-5)
    flip = np.array([1.0, -1.0])
    assert share(flip * v, flip * change) == pytest.approx(alpha, rel=1e-12)


@settings(deadline=None, max_examples=300)
@given(st.floats(3.0, 6.0), angle, st.floats(LARGEST_TURN + 1e-3, 2.9), st.floats(-1.0, 1.0))
def test_turns_solve_the_quadratic_equation(
    size: float, direction: float, by: float, ratio: float
) -> None:
    """The law of sines gives the smallest positive root of the equation that Drake solves."""
    v = TOLERANCE * vector(size, direction)
    change = TOLERANCE * vector(size + ratio, direction + by) - v
    assert distance_from_rest(v, change) > TOLERANCE
    vv, vd, dd = v @ v, v @ change, change @ change
    square = np.cos(LARGEST_TURN) ** 2
    a = vv * dd * square - vd**2
    b = 2 * vv * vd * (square - 1)
    c = vv**2 * (square - 1)
    roots = np.roots([a, b, c])
    positive = roots[(np.abs(roots.imag) < 1e-9 * np.abs(roots)) & (roots.real > 0)].real
    assert share(v, change) == pytest.approx(positive.min(), rel=1e-6)


@pytest.mark.parametrize(
    ("v", "change", "alpha"),
    [
        # 1: next to nothing
        ([1.0, 0.0], [-0.9e-6, 0.0], 1.0),
        # 2: out of rest
        ([0.0, 0.0], [1.0, 0.0], 0.5 * TOLERANCE),
        ([1e-7, 0.0], [0.0, 2e-4], 0.25),
        # 3: onto rest
        ([2e-4, 0.0], [-2e-4, 0.0], 0.75),
        # 4: within the region, out of it, into it
        ([5e-5, 0.0], [-1e-4, 0.0], 1.0),
        ([5e-5, 0.0], [1.0, 0.0], 1.0),
        ([1.0, 0.0], [-0.99995, 0.0], 1.0),
        # 5: across, off centre and through rest itself
        ([1.0, 5e-5], [-4.0, 0.0], 0.25),
        ([1.0, 0.0], [-4.0, 0.0], 0.25 - 0.5 * TOLERANCE / 4.0),
        # 6: no turn, and one of a right angle that is cut to 60 degrees
        ([1.0, 0.0], [1.0, 0.0], 1.0),
        ([1.0, 0.0], [-1.0, 1.0], np.sqrt(3.0) / (1.0 + np.sqrt(3.0))),
    ],
)
def test_corners(v: list[float], change: list[float], alpha: float) -> None:
    assert share(np.array(v), np.array(change)) == pytest.approx(alpha, rel=1e-9)


def test_without_an_update_all_of_it_is_taken() -> None:
    assert share(np.zeros(2), np.zeros(2)) == 1.0
    assert share(np.ones(2), np.zeros(2)) == 1.0
