"""Simplified meshes against the surfaces that they stand for."""

from __future__ import annotations

import numpy as np
import pytest

from asperity.geometry import primitives
from asperity.geometry.simplification import can_simplify, is_within, simplified
from asperity.geometry.surfaces import Surface, is_closed, open_edges, volume_integrals

RADII = np.array([0.1, 0.1, 0.2])


def test_distances_from_a_box_are_exact():
    box = primitives.box(np.array([0.1, 0.2, 0.3]), 1)
    rng = np.random.default_rng(0)
    points = rng.uniform(-0.5, 0.5, (200, 3))
    outside = np.maximum(np.abs(points) - [0.1, 0.2, 0.3], 0.0)
    inside = np.min([0.1, 0.2, 0.3] - np.abs(points), axis=1)
    distance = np.where(inside > 0.0, inside, np.linalg.norm(outside, axis=1))
    for point, exact in zip(points, distance, strict=True):
        assert is_within(point[None], box, exact * (1 + 1e-9) + 1e-12)
        assert not is_within(point[None], box, exact * (1 - 1e-6))


@pytest.mark.skipif(not can_simplify(), reason="needs fast-simplification")
@pytest.mark.parametrize("tolerance", [2e-3, 5e-4])
def test_an_ellipsoid_stays_within_the_tolerance(tolerance):
    fine = primitives.ellipsoid(RADII, 128)
    coarse = simplified(fine, tolerance, 500)
    assert is_closed(coarse)
    assert len(coarse.faces) < 0.7 * len(fine.faces)
    # The implicit function's value over its slope is the distance to first order.
    x = coarse.vertices
    value = np.sum((x / RADII) ** 2, axis=1) - 1.0
    slope = np.linalg.norm(2.0 * x / RADII**2, axis=1)
    assert np.abs(value / slope).max() < 1.1 * tolerance
    exact = 4.0 / 3.0 * np.pi * RADII.prod()
    assert volume_integrals(coarse)[0] == pytest.approx(exact, rel=0.02)


@pytest.mark.skipif(not can_simplify(), reason="needs fast-simplification")
def test_a_smaller_tolerance_keeps_more_triangles():
    fine = primitives.ellipsoid(RADII, 128)
    counts = [len(simplified(fine, t, 200).faces) for t in (1e-3, 4e-4, 1e-9)]
    assert counts[0] < counts[1] < counts[2] == len(fine.faces)


def test_open_edges_are_those_of_a_missing_triangle():
    box = primitives.box(np.ones(3), 1)
    assert len(open_edges(box)) == 0
    assert len(open_edges(Surface(box.vertices, box.faces[1:]))) == 3
