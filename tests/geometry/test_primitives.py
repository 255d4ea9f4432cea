"""Primitives with every option: closed, outward, inscribed, and the same number of segments."""

from __future__ import annotations

import numpy as np
import pytest

from asperity.geometry import primitives
from asperity.geometry.surfaces import Surface, is_closed, volume_integrals

RNG = np.random.default_rng(0)
SOLIDS = {
    "box": lambda n: primitives.box(np.array([0.1, 0.2, 0.3]), n // 8),
    "ellipsoid": lambda n: primitives.ellipsoid(np.array([0.1, 0.2, 0.3]), n),
    "capsule": lambda n: primitives.capsule(0.1, 0.2, n),
    "cylinder": lambda n: primitives.cylinder(0.1, 0.2, n),
    "hull": lambda n: primitives.convex_hull(RNG.normal(size=(n, 3))),
    "height field": lambda n: primitives.height_field(
        RNG.uniform(0.1, 0.5, (n, n + 3)), np.array([1.0, 2.0]), 0.2, closed=True
    ),
}


@pytest.mark.parametrize("name", SOLIDS)
@pytest.mark.parametrize("segments", [8, 16, 32])
def test_solids_are_closed_and_face_outwards(name, segments):
    surface = SOLIDS[name](segments)
    assert is_closed(surface)
    assert volume_integrals(surface)[0] > 0.0
    assert len(np.unique(surface.vertices, axis=0)) == len(surface.vertices)
    assert np.array_equal(np.unique(surface.faces), np.arange(len(surface.vertices)))


def test_vertices_of_round_shapes_lie_on_the_shape():
    points = primitives.ellipsoid(np.array([0.1, 0.2, 0.3]), 16).vertices
    np.testing.assert_allclose(np.sum((points / [0.1, 0.2, 0.3]) ** 2, axis=1), 1.0, rtol=1e-14)
    x, y, z = primitives.capsule(0.1, 0.2, 16).vertices.T
    beyond = np.maximum(np.abs(z) - 0.2, 0.0)
    np.testing.assert_allclose(np.hypot(np.hypot(x, y), beyond), 0.1, rtol=1e-13)
    x, y, _ = primitives.cylinder(0.1, 0.2, 16).vertices[1:-1].T
    np.testing.assert_allclose(np.hypot(x, y), 0.1, rtol=1e-14)


@pytest.mark.parametrize("segments", [8, 32])
def test_round_shapes_have_as_many_segments_as_asked_for(segments):
    for surface in (
        primitives.capsule(0.1, 0.2, segments),
        primitives.cylinder(0.1, 0.2, segments),
    ):
        x, y, _ = surface.vertices.T
        on_rim = np.isclose(np.hypot(x, y), 0.1)
        assert on_rim.sum() == 2 * segments
    sphere = primitives.ellipsoid(np.full(3, 0.1), segments)
    assert np.isclose(sphere.vertices[:, 2], 0.0).sum() == segments


def test_an_open_height_field_is_the_closed_one_s_upper_surface():
    heights = RNG.uniform(0.1, 0.5, (4, 6))
    half = np.array([1.0, 2.0])
    top = primitives.height_field(heights, half, 0.2, closed=False)
    solid = primitives.height_field(heights, half, 0.2, closed=True)
    np.testing.assert_array_equal(top.vertices, solid.vertices[: heights.size])
    np.testing.assert_array_equal(top.faces, solid.faces[: len(top.faces)])
    assert not is_closed(top)
    x, y, z = top.vertices.T
    assert np.all(z.reshape(4, 6) == heights)
    assert (np.ptp(x), np.ptp(y)) == (2.0, 4.0)


def test_a_rectangle_faces_up():
    surface: Surface = primitives.rectangle(np.array([1.0, 2.0]), (3, 5))
    a, b, c = (surface.vertices[surface.faces[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    assert len(surface.faces) == 30
    assert np.all(normal[:, 2] > 0.0)
    assert 0.5 * normal[:, 2].sum() == pytest.approx(8.0)
