"""Field meshes of primitive shapes and hulls: closed, inside their shapes, of the right gradient."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from asperity.contact.hydroelastic.field_mesh import (
    FieldMesh,
    boundary_faces,
    gradients,
    verify,
    volumes,
)
from asperity.contact.hydroelastic.shapes import (
    box_mesh,
    capsule_mesh,
    convex_mesh,
    cylinder_mesh,
    default_resolution,
    ellipsoid_mesh,
)
from asperity.errors import ArgumentError, ModelError
from asperity.geometry.primitives import convex_hull
from asperity.geometry.surfaces import Surface, is_closed

BOXES = {
    "cube": (0.05, 0.05, 0.05),
    "almost a cube": (0.05, 0.05, 0.05 * (1.0 + 1e-13)),
    "long": (0.02, 0.02, 0.3),
    "plate": (0.1, 0.1, 0.005),
    "brick": (0.1, 0.05, 0.02),
}
CYLINDERS = {
    "long": (0.02, 0.2),
    "short": (0.1, 0.01),
    "equal": (0.05, 0.05),
    "almost equal": (0.05, 0.05 * (1.0 - 1e-13)),
}


def points_of_a_hull(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(40, 3)) * (0.05, 0.03, 0.02) + 0.1


def hull_of(points: np.ndarray) -> FieldMesh:
    surface = convex_hull(points)
    return convex_mesh(surface.vertices, surface.faces)


MESHES = {
    **{f"box, {name}": box_mesh(half) for name, half in BOXES.items()},
    **{f"cylinder, {name}": cylinder_mesh(*size, 0.01) for name, size in CYLINDERS.items()},
    "coarsest cylinder": cylinder_mesh(0.05, 0.1, 10.0),
    "capsule": capsule_mesh(0.03, 0.1, 0.01),
    "coarsest capsule": capsule_mesh(0.03, 0.1, 10.0),
    "coarsest sphere": ellipsoid_mesh((0.05, 0.05, 0.05), 10.0),
    "sphere": ellipsoid_mesh((0.05, 0.05, 0.05), 0.01),
    "ellipsoid": ellipsoid_mesh((0.05, 0.03, 0.02), 0.01),
    "hull": hull_of(points_of_a_hull(3)),
}


@pytest.mark.parametrize("name", MESHES)
def test_tetrahedra_meet_face_to_face_inside_a_closed_surface(name: str) -> None:
    mesh = MESHES[name]
    verify(mesh, name)
    faces = Counter(
        tuple(sorted(face))
        for a, b, c, d in mesh.tetrahedra.tolist()
        for face in ((a, b, c), (a, b, d), (a, c, d), (b, c, d))
    )
    assert set(faces.values()) == {1, 2}
    boundary = boundary_faces(mesh.tetrahedra)
    assert len(boundary) == list(faces.values()).count(1)
    assert is_closed(Surface(mesh.vertices, boundary))
    assert volumes(mesh.vertices, mesh.tetrahedra).min() > 0.0
    # Every vertex is used, and none is there twice.
    assert np.array_equal(np.unique(mesh.tetrahedra), np.arange(len(mesh.vertices)))
    size = np.ptp(mesh.vertices, axis=0).max()
    assert len(np.unique(np.round(mesh.vertices / size, 7), axis=0)) == len(mesh.vertices)


@pytest.mark.parametrize("name", MESHES)
def test_the_field_is_zero_on_the_surface_and_one_inside(name: str) -> None:
    mesh = MESHES[name]
    surface = np.unique(boundary_faces(mesh.tetrahedra))
    assert (mesh.extent[surface] == 0.0).all()
    inner = np.setdiff1d(np.arange(len(mesh.vertices)), surface)
    assert (mesh.extent[inner] == 1.0).all()
    assert mesh.extent[mesh.tetrahedra].max(axis=1).min() == 1.0


@pytest.mark.parametrize("half", BOXES.values(), ids=BOXES)
def test_the_gradient_in_a_box_is_that_of_the_distance(half: tuple[float, ...]) -> None:
    mesh = box_mesh(half)
    assert mesh.depth == min(half)
    slope = gradients(mesh) * mesh.depth
    np.testing.assert_allclose(np.abs(slope).max(axis=1), 1.0, rtol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(slope, axis=1), 1.0, rtol=1e-9)


@pytest.mark.parametrize("half", BOXES.values(), ids=BOXES)
def test_the_extent_in_a_box_is_the_distance_to_the_nearest_face(half: tuple[float, ...]) -> None:
    mesh = box_mesh(half)
    middle = mesh.vertices[mesh.tetrahedra].mean(axis=1)
    distance = (np.array(half) - np.abs(middle)).min(axis=1)
    np.testing.assert_allclose(mesh.extent[mesh.tetrahedra].mean(axis=1) * mesh.depth, distance)


@pytest.mark.parametrize("name", ["sphere", "capsule", *(f"cylinder, {k}" for k in CYLINDERS)])
def test_gradients_in_round_shapes_are_a_little_steeper_than_the_distance(name: str) -> None:
    mesh = MESHES[name]
    slope = np.linalg.norm(gradients(mesh), axis=1) * mesh.depth
    assert slope.min() > 1.0 - 1e-9
    assert slope.max() < 1.06


def test_gradients_in_an_ellipsoid_lie_between_those_of_its_axes() -> None:
    axes = (0.05, 0.03, 0.02)
    mesh = ellipsoid_mesh(axes, 0.002)
    assert mesh.depth == 0.02
    slope = np.linalg.norm(gradients(mesh), axis=1)
    assert 1.0 / 0.05 - 1e-9 < slope.min() < 1.02 / 0.05
    assert 1.0 / 0.02 - 1e-9 < slope.max() < 1.02 / 0.02


def test_the_depth_of_a_hull_is_the_distance_from_its_centroid_to_the_nearest_face() -> None:
    mesh = MESHES["hull"]
    assert 1.0 / np.linalg.norm(gradients(mesh), axis=1).max() == pytest.approx(mesh.depth)
    volume = volumes(mesh.vertices, mesh.tetrahedra)
    centroid = volume @ mesh.vertices[mesh.tetrahedra].mean(axis=1) / volume.sum()
    np.testing.assert_allclose(mesh.vertices[mesh.extent == 1.0], centroid[None], rtol=1e-12)


def test_round_meshes_lie_inside_their_shapes() -> None:
    tolerance = 1e-9
    for axes in ((0.05, 0.05, 0.05), (0.2, 0.03, 0.01)):
        v = ellipsoid_mesh(axes, 0.01).vertices
        outside = (np.linalg.norm(v / axes, axis=1) - 1.0) * max(axes)
        assert outside.max() < tolerance
    for radius, half in CYLINDERS.values():
        v = cylinder_mesh(radius, half, 0.007).vertices
        assert np.hypot(v[:, 0], v[:, 1]).max() < radius + tolerance
        assert np.abs(v[:, 2]).max() < half + tolerance
    v = capsule_mesh(0.03, 0.1, 0.007).vertices
    along = np.clip(v[:, 2], -0.1, 0.1)
    assert np.linalg.norm(v - np.outer(along, (0, 0, 1)), axis=1).max() < 0.03 + tolerance


def relative_errors(make, exact: float, resolutions: tuple[float, ...]) -> list[float]:
    meshes = [make(h) for h in resolutions]
    return [1.0 - volumes(m.vertices, m.tetrahedra).sum() / exact for m in meshes]


ROUND = {
    "sphere": (lambda h: ellipsoid_mesh((1.0, 1.0, 1.0), h), 4.0 / 3.0 * np.pi),
    "ellipsoid": (lambda h: ellipsoid_mesh((1.0, 0.5, 0.2), h), 4.0 / 3.0 * np.pi * 0.1),
    "long cylinder": (lambda h: cylinder_mesh(1.0, 2.0, h), 4.0 * np.pi),
    "short cylinder": (lambda h: cylinder_mesh(1.0, 0.25, h), 0.5 * np.pi),
    "capsule": (lambda h: capsule_mesh(1.0, 0.5, h), np.pi * (1.0 + 4.0 / 3.0)),
}


@pytest.mark.parametrize("name", ROUND)
def test_the_volume_of_round_meshes_converges_with_the_square_of_the_resolution(name: str) -> None:
    errors = relative_errors(*ROUND[name], (0.4, 0.2, 0.1))
    for coarse, fine in pairwise(errors):
        assert 3.2 < coarse / fine < 5.0
    assert 0.0 < errors[-1] < 0.01


def test_boxes_and_hulls_have_the_exact_volume() -> None:
    for half in BOXES.values():
        mesh = box_mesh(half)
        volume = volumes(mesh.vertices, mesh.tetrahedra).sum()
        assert volume == pytest.approx(8.0 * np.prod(half), rel=1e-12)
    cube = np.array(list(np.ndindex(2, 2, 2)), dtype=np.float64)
    mesh = hull_of(cube)
    assert volumes(mesh.vertices, mesh.tetrahedra).sum() == pytest.approx(1.0, rel=1e-12)


def test_published_numbers_of_tetrahedra() -> None:
    """Of cubes, bricks and spheres of the published resolutions."""
    assert len(box_mesh((1.0, 1.0, 1.0)).tetrahedra) == 24
    assert len(box_mesh((1.0, 1.0, 2.0)).tetrahedra) == 32
    assert len(box_mesh((1.0, 2.0, 3.0)).tetrahedra) == 44
    assert len(ellipsoid_mesh((0.05, 0.05, 0.05), 0.02).tetrahedra) == 128
    assert len(cylinder_mesh(0.1, 0.1, 0.02).tetrahedra) == 128
    fine = default_resolution(0.05)
    assert len(ellipsoid_mesh((0.05, 0.05, 0.05), fine).tetrahedra) == 2048


def test_a_hull_with_points_on_its_edges_stays_closed() -> None:
    """Its triangles may have no area; the same polyhedron is made of others."""
    cube = np.array(list(np.ndindex(2, 2, 2)), dtype=np.float64)
    vertices = np.concatenate([cube, [[0.5, 0.0, 0.0]]])
    quads = [(0, 1, 3, 2), (4, 5, 7, 6), (0, 1, 5, 4), (2, 3, 7, 6), (0, 2, 6, 4), (1, 3, 7, 5)]
    faces = [(q[0], q[k], q[k + 1]) for q in quads for k in (1, 2)]
    faces.append((0, 8, 4))
    # The sliver lies between one of the faces at the edge 0–4 and two halves of the other.
    target = next(f for f in faces if 0 in f and 4 in f and 5 in f)
    faces.remove(target)
    third = next(v for v in target if v not in (0, 4))
    faces += [(0, 8, third), (8, 4, third)]
    mesh = convex_mesh(vertices, np.array(faces))
    verify(mesh, "cube with a point on an edge")
    assert volumes(mesh.vertices, mesh.tetrahedra).sum() == pytest.approx(1.0, rel=1e-12)
    assert mesh.depth == pytest.approx(0.5)
    assert is_closed(Surface(mesh.vertices, boundary_faces(mesh.tetrahedra)))


def test_flat_hulls_and_bad_sizes_are_refused() -> None:
    square = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], dtype=np.float64)
    with pytest.raises(ModelError, match="flat"):
        convex_mesh(square, np.array([[0, 1, 2], [0, 2, 3], [0, 2, 1], [0, 3, 2]]))
    with pytest.raises(ArgumentError, match="half lengths"):
        box_mesh((0.1, 0.0, 0.1))
    with pytest.raises(ArgumentError, match="semi-axes"):
        ellipsoid_mesh((0.1, np.nan, 0.1), 0.01)
    with pytest.raises(ArgumentError, match="resolution"):
        capsule_mesh(0.1, 0.1, -0.01)
    with pytest.raises(ArgumentError, match="coarser"):
        capsule_mesh(0.1, 0.1, 1e-5)
    with pytest.raises(ArgumentError, match="coarser"):
        ellipsoid_mesh((0.1, 0.1, 0.1), 1e-6)


def test_meshes_that_carry_no_field_are_refused() -> None:
    mesh = MESHES["sphere"]
    with pytest.raises(ModelError, match=r"'ball'.*positive"):
        verify(mesh._replace(tetrahedra=mesh.tetrahedra[:, [1, 0, 2, 3]]), "geom 'ball'")
    with pytest.raises(ModelError, match="overlap"):
        verify(mesh._replace(tetrahedra=np.repeat(mesh.tetrahedra, 2, axis=0)), "ball")
    with pytest.raises(ModelError, match="surface"):
        verify(mesh._replace(tetrahedra=mesh.tetrahedra[1:]), "ball")
    with pytest.raises(ModelError, match="no pressure"):
        verify(mesh._replace(extent=np.zeros_like(mesh.extent)), "ball")
    with pytest.raises(ModelError, match="finite"):
        verify(mesh._replace(vertices=mesh.vertices * np.nan), "ball")
    with pytest.raises(ModelError, match="within 0 and 1"):
        verify(mesh._replace(extent=2.0 * mesh.extent), "ball")
    with pytest.raises(ModelError, match="depth"):
        verify(mesh._replace(depth=0.0), "ball")
