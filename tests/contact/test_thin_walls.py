"""Fields in thin walls, whose tetrahedra have all corners on the surface before they are split."""

import numpy as np
import pytest
from contact_shells import WALL, mug, plate

from asperity.contact.hydroelastic.distance_field import distance_field, project_into_hull
from asperity.contact.hydroelastic.distances import distances
from asperity.contact.hydroelastic.field_mesh import (
    boundary_faces,
    gradients,
    verify,
    volumes,
)
from asperity.contact.hydroelastic.shapes import box_mesh, ellipsoid_mesh
from asperity.contact.hydroelastic.splitting import split_thin_walls
from asperity.errors import ArgumentError, ModelError
from asperity.geometry.primitives import box, ellipsoid
from asperity.geometry.surfaces import Surface

SHELLS = {"mug": mug, "plate": plate}


def test_distances_from_a_box_and_a_sphere() -> None:
    points = np.random.default_rng(1).uniform(-2.0, 2.0, (500, 3))
    half = np.array([1.0, 0.5, 0.2])
    beyond = np.abs(points) - half
    outside = np.linalg.norm(np.maximum(beyond, 0.0), axis=1)
    inside = np.minimum(beyond.max(axis=1), 0.0)
    np.testing.assert_allclose(distances(points, box(half)), outside - inside, atol=1e-13)
    np.testing.assert_allclose(
        distances(points, ellipsoid(np.ones(3), 256)),
        np.abs(np.linalg.norm(points, axis=1) - 1.0),
        atol=2.0 / 256**2 * np.pi**2,
    )


@pytest.mark.parametrize("seed", range(5))
def test_distance_from_a_triangle_is_the_least_of_many_of_its_points(seed: int) -> None:
    generator = np.random.default_rng(seed)
    corners = generator.normal(size=(3, 3))
    points = 2.0 * generator.normal(size=(50, 3))
    grid = np.array([(i, j, 200 - i - j) for i in range(201) for j in range(201 - i)]) / 200.0
    sampled = np.linalg.norm(points[:, None] - grid @ corners, axis=2).min(axis=1)
    found = distances(points, Surface(corners, np.array([[0, 1, 2]])))
    assert (found <= sampled + 1e-12).all()
    np.testing.assert_allclose(found, sampled, atol=0.02)


@pytest.mark.parametrize("name", SHELLS)
def test_thin_walls_get_a_vertex_inside_of_every_tetrahedron(name: str) -> None:
    vertices, tetrahedra = SHELLS[name]()
    surface = boundary_faces(tetrahedra)
    assert np.isin(tetrahedra, surface).all()
    points, cells = split_thin_walls(vertices, tetrahedra)
    np.testing.assert_array_equal(points[: len(vertices)], vertices)
    inside = ~np.isin(cells, surface)
    assert inside.any(axis=1).all()
    assert volumes(points, cells).min() > 0.0
    assert volumes(points, cells).sum() == pytest.approx(
        volumes(vertices, tetrahedra).sum(), rel=1e-12
    )
    # The surface is the same, triangle for triangle.
    assert {frozenset(f) for f in boundary_faces(cells).tolist()} == {
        frozenset(f) for f in surface.tolist()
    }


@pytest.mark.parametrize("name", SHELLS)
def test_the_field_in_a_thin_wall_is_the_distance_from_its_surface(name: str) -> None:
    mesh = distance_field(*SHELLS[name]())
    verify(mesh, name)
    assert mesh.depth == pytest.approx(0.5 * WALL, rel=1e-3)
    slope = np.linalg.norm(gradients(mesh), axis=1) * mesh.depth
    # A distance has the gradient one; what is linear between its values has less at edges.
    assert slope.max() < 1.0 + 1e-9
    assert np.quantile(slope, 0.05) > 0.9
    middle = mesh.vertices[mesh.tetrahedra].mean(axis=1)
    true = distances(middle, Surface(mesh.vertices, boundary_faces(mesh.tetrahedra)))
    linear = mesh.extent[mesh.tetrahedra].mean(axis=1) * mesh.depth
    # But for the rim, where edges along the surface lead from one side of the wall to the other.
    volume = volumes(mesh.vertices, mesh.tetrahedra)
    wrong = np.abs(linear - true) > 0.25 * mesh.depth
    assert volume[wrong].sum() < 0.1 * volume.sum()
    assert np.hypot(*middle[wrong, :2].T).min() > 0.9 * np.hypot(*middle[:, :2].T).max()


def test_a_chosen_depth_scales_the_field_and_cuts_it_off_at_one() -> None:
    vertices, tetrahedra = plate()
    whole = distance_field(vertices, tetrahedra)
    deep = distance_field(vertices, tetrahedra, depth=0.01)
    np.testing.assert_allclose(deep.extent * 0.01, whole.extent * whole.depth, rtol=1e-12)
    shallow = distance_field(vertices, tetrahedra, depth=0.001)
    assert shallow.depth == 0.001
    assert shallow.extent.max() == 1.0
    with pytest.raises(ArgumentError, match="depth"):
        distance_field(vertices, tetrahedra, depth=0.0)


def test_tetrahedra_with_a_corner_inside_stay_as_they_are() -> None:
    ball = ellipsoid_mesh((1.0, 1.0, 1.0), 0.5)
    points, cells = split_thin_walls(ball.vertices, ball.tetrahedra)
    np.testing.assert_array_equal(points, ball.vertices)
    np.testing.assert_array_equal(cells, ball.tetrahedra)


def test_a_single_tetrahedron_is_split_at_its_centre() -> None:
    vertices = np.concatenate([np.zeros((1, 3)), np.eye(3)])
    mesh = distance_field(vertices, np.array([[0, 2, 1, 3]]))
    assert len(mesh.tetrahedra) == 4
    np.testing.assert_allclose(mesh.vertices[4], 0.25)
    # From the slanted face; the three others are 1/4 away.
    assert mesh.depth == pytest.approx(0.25 / np.sqrt(3.0))


def test_flat_tetrahedra_and_gaps_are_named() -> None:
    vertices, tetrahedra = mug()
    squashed = np.concatenate([vertices, vertices[tetrahedra[0, :1]]])
    flat = np.concatenate([tetrahedra, [[*tetrahedra[0, :3], len(vertices)]]])
    with pytest.raises(ModelError, match=r"'mug'.*flat"):
        distance_field(squashed, flat, name="mesh 'mug'")


def test_what_pokes_out_of_the_hull_is_moved_into_it() -> None:
    ball = ellipsoid_mesh((1.0, 1.0, 1.0), 0.2)
    hull = ball.vertices[np.random.default_rng(0).permutation(len(ball.vertices) - 1)]
    out = ball.vertices * (1.0 + 0.004 * np.sin(20.0 * ball.vertices[:, :1]))
    moved = project_into_hull(out, ball.tetrahedra, hull, "ball")
    # The support of the hull in many directions bounds what is inside.
    directions = np.random.default_rng(2).normal(size=(2000, 3))
    support = (hull @ directions.T).max(axis=0)
    reach = (moved @ directions.T).max(axis=0)
    assert ((reach - support) / np.linalg.norm(directions, axis=1)).max() < 1e-9
    assert np.abs(moved - out).max() < 0.005
    within = np.abs(moved - out).max(axis=1) == 0.0
    assert 0 < np.count_nonzero(within) < len(out)
    assert volumes(moved, ball.tetrahedra).min() > 0.0


def test_a_mesh_that_projection_would_fold_is_shrunk() -> None:
    """Its lid is so thin that flattening would leave nothing of it."""
    mesh = box_mesh((1.0, 1.0, 1.0))
    top = np.flatnonzero((mesh.vertices == (0.0, 0.0, 1.0)).all(axis=1))[0]
    lid = len(mesh.vertices)
    vertices = np.concatenate([mesh.vertices, [[0.0, 0.0, 1.01]]])
    around = [f for f in boundary_faces(mesh.tetrahedra).tolist() if top in f]
    assert around
    tetrahedra = np.concatenate([mesh.tetrahedra, [[*f, lid] for f in around]])
    hull = mesh.vertices[:8]
    moved = project_into_hull(vertices, tetrahedra, hull, "box")
    assert np.abs(moved).max() <= 1.0 + 1e-12
    np.testing.assert_allclose(moved * 1.01, vertices, atol=1e-12)


def test_a_mesh_in_other_units_than_its_hull_is_refused() -> None:
    mesh = box_mesh((1.0, 1.0, 1.0))
    with pytest.raises(ModelError, match=r"'crate'.*units"):
        project_into_hull(1000.0 * mesh.vertices, mesh.tetrahedra, mesh.vertices, "geom 'crate'")
