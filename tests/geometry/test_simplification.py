"""Simplified meshes against the surfaces that they stand for."""

from __future__ import annotations

import numpy as np
import pytest

from asperity.geometry import primitives, simplification
from asperity.geometry.simplification import can_simplify, is_within, simplified
from asperity.geometry.simplification_worker import simplify_side_by_side
from asperity.geometry.surfaces import Surface, is_closed, volume_integrals

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


@pytest.mark.skipif(not can_simplify(), reason="needs fast-simplification and manifold3d")
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


@pytest.mark.skipif(not can_simplify(), reason="needs fast-simplification and manifold3d")
def test_a_smaller_tolerance_keeps_more_triangles():
    fine = primitives.ellipsoid(RADII, 128)
    counts = [len(simplified(fine, t, 200).faces) for t in (1e-3, 4e-4, 1e-9)]
    assert counts[0] < counts[1] < counts[2] == len(fine.faces)


@pytest.mark.skipif(not can_simplify(), reason="needs fast-simplification and manifold3d")
def test_flat_faces_of_a_solid_cost_nothing():
    """A box keeps its shape to round-off, with the fewest triangles that a box can have."""
    fine = primitives.box(np.array([0.1, 0.2, 0.3]), 24)
    coarse = simplified(fine, 1e-4, 2000)
    assert len(fine.faces) > 3000
    assert len(coarse.faces) == 12
    assert is_within(coarse.vertices, fine, 1e-9)
    assert volume_integrals(coarse)[0] == pytest.approx(8 * 0.1 * 0.2 * 0.3, rel=1e-9)


def _with_needle(surface: Surface, width: float, height: float) -> Surface:
    """A closed surface, one of whose triangles has a needle in its middle."""
    face = surface.faces[0]
    corners = surface.vertices[face]
    middle = corners.mean(axis=0)
    normal = np.cross(corners[1] - corners[0], corners[2] - corners[0])
    ring = middle + width * (corners - middle) / np.linalg.norm(corners - middle, axis=1).max()
    tip = middle + height * normal / np.linalg.norm(normal)
    a, b, c = face
    n = len(surface.vertices)
    more = [(a, b, n), (b, n + 1, n), (b, c, n + 1), (c, n + 2, n + 1), (c, a, n + 2)]
    more += [(a, n, n + 2), (n, n + 1, n + 3), (n + 1, n + 2, n + 3), (n + 2, n, n + 3)]
    vertices = np.concatenate([surface.vertices, ring, tip[None]])
    return Surface(vertices, np.concatenate([surface.faces[1:], np.array(more)]))


@pytest.mark.skipif(not can_simplify(), reason="needs fast-simplification and manifold3d")
def test_a_needle_that_is_thinner_than_the_tolerance_is_kept():
    tolerance = 1e-3
    fine = _with_needle(primitives.ellipsoid(RADII, 128), 1e-4, 1e-2)
    assert is_closed(fine)
    coarse = simplified(fine, tolerance, 500)
    assert len(coarse.faces) < 0.2 * len(fine.faces)
    assert is_within(fine.vertices, coarse, tolerance)
    assert is_within(coarse.vertices, fine, tolerance)


@pytest.mark.skipif(not can_simplify(), reason="needs fast-simplification and manifold3d")
def test_what_cannot_be_simplified_keeps_nothing_else_from_it():
    """Loose triangles beside an ellipsoid stay as they are."""
    fine = primitives.ellipsoid(RADII, 128)
    loose = np.random.default_rng(0).uniform(1.0, 2.0, (900, 3))
    faces = np.arange(900).reshape(-1, 3)
    both = Surface(
        np.concatenate([fine.vertices, loose]),
        np.concatenate([fine.faces, faces + len(fine.vertices)]),
    )
    coarse = simplified(both, 1e-3, 500)
    assert len(coarse.faces) - 300 == len(simplified(fine, 1e-3, 482).faces) < 1500
    triangles = coarse.vertices[coarse.faces]
    np.testing.assert_array_equal(triangles[triangles.min(axis=(1, 2)) > 0.9], loose[faces])


# A plate of some robot: ``manifold3d`` 3.5 ends the process on it.
PLATE = """
    23 30 22 30 21 22 3 5 4 5 6 4 6 5 7 5 9 7 5 8 9 8 10 9 8 11 10 11 8 13 8 14 13 8 12 14 1 5 0
    5 2 0 5 3 2 16 21 28 21 29 28 21 30 29 25 16 26 16 27 26 16 28 27 14 12 15 12 17 15 12 18 17
    18 12 19 12 20 19 12 16 20 16 24 20 16 25 24
"""


@pytest.mark.skipif(not can_simplify(), reason="needs fast-simplification and manifold3d")
def test_parts_that_are_smaller_than_the_tolerance_are_cheap(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Engraved letters, say: a triangle is in a few cells of the grid, not in all of them."""
    most = []
    fill = simplification._fill

    def counted(first, last, shape, at, listed) -> None:
        most.append(int(np.prod(last - first + 1, axis=1).max()))
        fill(first, last, shape, at, listed)

    monkeypatch.setattr(simplification, "_fill", counted)
    ball = primitives.ellipsoid(np.full(3, 2e-5), 16)
    found = simplification._simplified_part(ball, 5e-4, 0.01)
    assert len(found.faces) < 20
    assert max(most) <= 4**3


def test_open_parts_are_not_taken_for_solids():
    faces = np.array(PLATE.split(), np.int64).reshape(-1, 3)
    vertices = np.random.default_rng(0).normal(size=(31, 3))
    found = simplified(Surface(vertices, faces), 1e-3, 4)
    np.testing.assert_array_equal(found.vertices[found.faces], vertices[faces])


@pytest.mark.skipif(not can_simplify(), reason="needs fast-simplification and manifold3d")
def test_results_are_kept_on_disk_by_content(tmp_path, monkeypatch):
    pytest.importorskip("platformdirs")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    simplification._simplified.cache_clear()
    surface = primitives.ellipsoid(np.array([0.1, 0.2, 0.3]), 40)
    first = simplified(surface, 1e-3, 100)
    [file] = tmp_path.rglob("*.npz")

    def never(*_):
        raise AssertionError("it is on the disk")

    part = simplification._simplified_part
    monkeypatch.setattr(simplification, "_simplified_part", never)
    simplification._simplified.cache_clear()
    again = simplified(surface, 1e-3, 100)
    np.testing.assert_array_equal(again.vertices, first.vertices)
    np.testing.assert_array_equal(again.faces, first.faces)
    with pytest.raises(AssertionError, match="on the disk"):
        simplified(surface, 2e-3, 100)
    # A file that cannot be read is written anew.
    monkeypatch.setattr(simplification, "_simplified_part", part)
    file.write_bytes(b"nothing")
    simplification._simplified.cache_clear()
    np.testing.assert_array_equal(simplified(surface, 1e-3, 100).vertices, first.vertices)
    assert file.stat().st_size > 100


@pytest.mark.skipif(not can_simplify(), reason="needs fast-simplification and manifold3d")
def test_processes_leave_what_this_one_would_have_found(tmp_path, monkeypatch):
    pytest.importorskip("platformdirs")
    meshes = [primitives.ellipsoid(np.array([0.1, 0.2, size]), 60) for size in (0.2, 0.3, 0.4)]
    expected = [
        simplification._simplified.__wrapped__(*simplification._contents(mesh, 4e-3, 100))
        for mesh in meshes
    ]
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    simplify_side_by_side([(mesh, 4e-3) for mesh in meshes], 100, 2)
    assert len(list(tmp_path.rglob("*.npz"))) == 3
    simplification._simplified.cache_clear()
    monkeypatch.setattr(simplification, "_simplified_part", None)
    for mesh, surface in zip(meshes, expected, strict=True):
        found = simplified(mesh, 4e-3, 100)
        assert len(found.faces) < 0.9 * len(mesh.faces)
        np.testing.assert_array_equal(found.vertices, surface.vertices)
        np.testing.assert_array_equal(found.faces, surface.faces)
