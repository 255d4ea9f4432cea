"""Distances, mollifier, barrier, friction and times of impact, against independent evaluations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from asperity.compiled import Table
from asperity.midas.energy.potentials import barrier, barrier_slopes, friction, friction_slope
from asperity.midas.engine_layout import WORK
from asperity.midas.geometry.collision_time import KEPT, collision_free_time
from asperity.midas.geometry.distances import mollifier, separation
from asperity.midas.geometry.stencil import EDGE_EDGE, VERTEX_FACE, VERTEX_PLANE, Stencil
from asperity.midas.model.model_layout import SHAPES as SHAPES_LAYOUT

ipctk = pytest.importorskip("ipctk", reason="ipctk, the oracle of distances, is not installed")

PLANES = np.array([[0.0, 0.6, 0.8, 0.3]])
SHAPES = Table(SHAPES_LAYOUT, plane=PLANES, plane_corner=np.full((1, 3), -1, dtype=np.int64))
WORK_SPACE = Table(WORK)
KINDS = (VERTEX_FACE, EDGE_EDGE)


def distance(kind, x):
    c, t = np.empty(4), np.empty(3)
    square = separation(_stencil(kind), x, SHAPES, 0.0, c, t)
    return square, c, t


def _stencil(kind):
    return Stencil(kind, 0, 1, 2, 0 if kind == VERTEX_PLANE else 3)


def scenes(seed, count=400):
    """Random stencils, among them touching, degenerate and nearly parallel ones."""
    rng = np.random.default_rng(seed)
    for i in range(count):
        x = rng.normal(size=(4, 3))
        if i % 4 == 1:
            x[3] = x[2] + (x[1] - x[0]) + 10.0 ** -rng.uniform(1, 9) * rng.normal(size=3)
        if i % 4 == 2:
            x[0] = rng.dirichlet(np.ones(3)) @ x[1:] + 10.0 ** -rng.uniform(1, 6) * x[0]
        if i % 4 == 3:
            x *= 1e-3
        yield x


@pytest.mark.parametrize("kind", KINDS)
def test_distances_are_those_of_ipctk(kind):
    theirs = (ipctk.point_triangle_distance, ipctk.edge_edge_distance)[kind]
    for x in scenes(kind):
        square, _, _ = distance(kind, x)
        size = np.abs(x).max()
        # Edges that are parallel to 1e-7 are taken for parallel.
        assert np.sqrt(square) <= np.sqrt(theirs(*x)) + 5e-7 * size
        assert np.sqrt(square) >= np.sqrt(theirs(*x)) - 2e-6 * size


@pytest.mark.parametrize("kind", KINDS)
def test_coefficients_belong_to_points_of_the_primitives(kind):
    first = 1 if kind == VERTEX_FACE else 2
    for x in scenes(10 + kind):
        square, c, t = distance(kind, x)
        assert c[:first].sum() == pytest.approx(1.0, abs=1e-12)
        assert c[first:].sum() == pytest.approx(-1.0, abs=1e-12)
        assert np.all(c[:first] >= -1e-12)
        assert np.all(c[first:] <= 1e-12)
        np.testing.assert_allclose(t, c @ x, atol=1e-13)
        assert square == pytest.approx(t @ t)


@pytest.mark.parametrize("kind", KINDS)
def test_gradient_of_the_squared_distance(kind):
    rng = np.random.default_rng(5)
    for _ in range(100):
        x = rng.normal(size=(4, 3))
        _, c, t = distance(kind, x)
        direction = rng.normal(size=(4, 3))
        step = 1e-6
        rise = distance(kind, x + step * direction)[0] - distance(kind, x - step * direction)[0]
        expected = 2 * np.sum(np.outer(c, t) * direction)
        assert rise / (2 * step) == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_half_space_has_a_signed_distance():
    x = np.array([[0.0, 0.0, 1.0]] * 4)
    square, c, t = distance(VERTEX_PLANE, x)
    assert square == pytest.approx(0.25)
    np.testing.assert_allclose(t, 0.5 * PLANES[0, :3])
    np.testing.assert_array_equal(c, [1, 0, 0, 0])
    assert distance(VERTEX_PLANE, np.zeros((4, 3)))[0] == pytest.approx(-0.09)


def test_mollifier_is_that_of_ipctk_with_its_slope():
    rng = np.random.default_rng(0)
    slope, unused = np.empty((2, 3)), np.empty((2, 3))
    below = 0
    for _ in range(200):
        x = rng.normal(size=(4, 3))
        x[3] = x[2] + (x[1] - x[0]) * rng.uniform(0.5, 2) + 0.03 * rng.normal(size=3)
        threshold = ipctk.edge_edge_mollifier_threshold(*x)
        value = mollifier(_stencil(EDGE_EDGE), x, threshold, slope)
        assert value == pytest.approx(ipctk.edge_edge_mollifier(*x, threshold), rel=1e-9)
        below += value < 1
        theirs = ipctk.edge_edge_mollifier_gradient(*x, threshold).reshape(4, 3)
        ours = np.array([-slope[0], slope[0], -slope[1], slope[1]])
        np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-9 * np.abs(theirs).max())
        # The derivative is continuous where the mollifier ends.
        end = mollifier(_stencil(EDGE_EDGE), x, value and threshold * 1e-9, unused)
        assert end == 1.0
    assert below > 50


def test_barrier_is_that_of_ipctk_with_its_derivatives():
    activation = 1e-3
    theirs = ipctk.ClampedLogBarrier()
    for distance_ in np.geomspace(1e-9, 0.999e-3, 60):
        square = distance_**2
        value = barrier(square, activation)
        expected = theirs(square, activation**2) / activation**4 * activation
        assert value == pytest.approx(expected, rel=1e-12)
        slope, curvature = barrier_slopes(square, activation)
        step = 1e-4 * min(distance_, activation - distance_)
        low, high = ((distance_ + s) ** 2 for s in (-step, step))
        assert slope == pytest.approx(
            (barrier(high, activation) - barrier(low, activation)) / (2 * step), rel=1e-5, abs=1e-12
        )
        difference = barrier_slopes(high, activation)[0] - barrier_slopes(low, activation)[0]
        assert curvature == pytest.approx(difference / (2 * step), rel=1e-5, abs=1e-9)
        assert slope < 0 < curvature
    assert barrier(activation**2, activation) == 0
    assert barrier(0.0, activation) == np.inf
    assert barrier(-1e-9, activation) == np.inf


@pytest.mark.parametrize("slip", [1e-9, 3e-6, 0.9999e-5, 1e-5, 1.0001e-5, 0.3])
def test_friction_rises_to_its_full_value_within_its_width(slip):
    width = 1e-5
    per_slip, bend = friction_slope(slip, width)
    step = 1e-4 * slip
    rise = (friction(slip + step, width) - friction(slip - step, width)) / (2 * step)
    assert per_slip * slip == pytest.approx(rise, rel=1e-4)
    assert per_slip * slip == pytest.approx(
        min(slip / width * (2 - slip / width), 1), abs=1e-7
    ) or (slip > width)
    assert (slip < width) or per_slip * slip == pytest.approx(1.0)
    # Curvatures across and along the slip, of which none is negative.
    assert per_slip > 0
    assert per_slip + bend * slip**2 >= -1e-12 * per_slip


def closest_approach(kind, x, p, end):
    """Smallest distance along a path, by dense sampling and refinement."""
    f = lambda s: distance(kind, x + s * p)[0]  # noqa: E731
    grid = np.linspace(0, end, 2001)
    best = grid[np.argmin([f(s) for s in grid])]
    found = minimize(lambda s: f(s[0]), [best], bounds=[(0, end)], method="Nelder-Mead")
    return np.sqrt(min(found.fun, f(best)))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_tenth_of_the_distance_is_kept_all_along_the_path(kind):
    rng = np.random.default_rng(kind)
    stopped = 0
    for x in scenes(20 + kind, 120):
        square, _, _ = distance(kind, x)
        p = rng.normal(size=(4, 3)) * 3 * np.abs(x).max()
        time = collision_free_time(_stencil(kind), x, p, SHAPES, 0.0, square, 1.0, WORK_SPACE)
        assert 0 < time <= 1
        stopped += time < 1
        assert closest_approach(kind, x, p, time) >= KEPT * np.sqrt(square) * (1 - 1e-6)
        if time < 1:  # and it stops because it must
            assert closest_approach(kind, x, p, min(1.0, time * 1.2)) < 0.2 * np.sqrt(square) or (
                np.sqrt(distance(kind, x + time * p)[0]) < 0.11 * np.sqrt(square)
            )
    assert stopped > 5


def test_parallel_edges_are_no_special_case():
    x = np.array([[0.0, 0, 0], [1, 0, 0], [0.2, 0, 1e-3], [1.2, 0, 1e-3]])
    p = np.zeros((4, 3))
    p[2:, 2] = -1.0
    square, _, _ = distance(EDGE_EDGE, x)
    time = collision_free_time(_stencil(EDGE_EDGE), x, p, SHAPES, 0.0, square, 1.0, WORK_SPACE)
    assert time == pytest.approx((1 - KEPT) * 1e-3, rel=0.01)


def test_half_space_is_reached_in_closed_form():
    x = np.array([[0.0, 0.0, 1.0]] * 4)
    p = np.array([[0.0, -1.0, 0.0]] * 4)
    square, _, _ = distance(VERTEX_PLANE, x)
    time = collision_free_time(_stencil(VERTEX_PLANE), x, p, SHAPES, 0.0, square, 1.0, WORK_SPACE)
    assert time == pytest.approx((1 - KEPT) * 0.5 / 0.6)
