"""Plate, mug and spoon: closed surfaces, and the field meshes of them that come along."""

import importlib.util
from pathlib import Path

import mujoco
import numpy as np
import pytest
from scipy.spatial import ConvexHull

from asperity.contact.hydroelastic.distances import distances
from asperity.contact.hydroelastic.field_mesh import (
    boundary_faces,
    gradients,
    volumes,
)
from asperity.contact.hydroelastic.import_mesh import in_frame, read_field_mesh
from asperity.errors import ModelError
from asperity.geometry.surfaces import Surface, is_closed, volume_integrals
from studies.scenes import tableware

SURFACES = {name: getattr(tableware, name)() for name in tableware.FIELD_MESHES}
MESHES = {name: read_field_mesh(path) for name, path in tableware.FIELD_MESHES.items()}


needs_tetwild = pytest.mark.skipif(
    importlib.util.find_spec("pytetwild") is None, reason="needs the extra [hydroelastic]"
)


@pytest.mark.parametrize("name", SURFACES)
def test_surfaces_are_closed_and_face_outwards(name: str) -> None:
    surface = SURFACES[name]
    assert is_closed(surface)
    assert np.array_equal(np.unique(surface.faces), np.arange(len(surface.vertices)))
    assert volume_integrals(surface)[0] > 0.0
    assert volume_integrals(surface)[0] < 0.5 * ConvexHull(surface.vertices).volume


def test_a_mug_has_one_handle() -> None:
    """Euler's number V − E + F is 2 for a ball, a plate and a spoon, and 0 for a ring."""
    for name, surface in SURFACES.items():
        edges = 3 * len(surface.faces) // 2
        euler = len(surface.vertices) - edges + len(surface.faces)
        assert euler == (0 if name == "mug" else 2)


def test_the_handle_is_open_and_the_mug_hollow() -> None:
    mug = SURFACES["mug"]
    solid = {"handle": (0.0598, 0.0, 0.042), "wall": (-0.0315, 0.0, 0.05)}
    void = {"hole": (0.045, 0.0, 0.042), "inside": (0.0, 0.0, 0.05), "above": (0.0, 0.0, 0.1)}
    for name, point in {**solid, **void}.items():
        # The solid angle of the surface around a point inside is 4π (Van Oosterom & Strackee).
        a, b, c = (mug.vertices[mug.faces[:, k]] - point for k in range(3))
        x, y, z = (np.linalg.norm(k, axis=1) for k in (a, b, c))
        above = np.einsum("ij,ij->i", a, np.cross(b, c))
        below = x * y * z + z * (a * b).sum(1) + y * (a * c).sum(1) + x * (b * c).sum(1)
        winding = 2.0 * np.arctan2(above, below).sum() / (4.0 * np.pi)
        assert winding == pytest.approx(1.0 if name in solid else 0.0, abs=1e-9), name


@pytest.mark.parametrize("name", MESHES)
def test_shipped_field_meshes_fill_their_surfaces(name: str) -> None:
    mesh, surface = MESHES[name], SURFACES[name]
    path = tableware.FIELD_MESHES[name]
    assert path.stat().st_size < 100_000
    volume = volumes(mesh.vertices, mesh.tetrahedra).sum()
    assert volume == pytest.approx(volume_integrals(surface)[0], rel=1e-3)
    boundary = boundary_faces(mesh.tetrahedra)
    corners = mesh.vertices[np.unique(boundary)]
    diagonal = np.linalg.norm(np.ptp(surface.vertices, axis=0))
    # TetWild's envelope.
    assert distances(corners, surface).max() < 1.1e-3 * diagonal
    assert distances(surface.vertices, Surface(mesh.vertices, boundary)).max() < 2e-3 * diagonal
    planes = ConvexHull(surface.vertices).equations
    assert (mesh.vertices @ planes[:, :3].T + planes[:, 3]).max() < 1e-9


@pytest.mark.parametrize("name", MESHES)
def test_shipped_fields_rise_by_the_modulus_over_their_depth(name: str) -> None:
    mesh = MESHES[name]
    assert mesh.depth == {"plate": 0.002, "mug": 0.0045, "spoon": 0.00125}[name]
    slope = np.linalg.norm(gradients(mesh), axis=1) * mesh.depth
    assert np.quantile(slope, 0.25) > 0.9
    assert np.quantile(slope, 0.95) < 1.05


@pytest.mark.parametrize("name", MESHES)
def test_field_meshes_fit_into_the_meshes_that_a_model_has_of_the_surfaces(name: str) -> None:
    surface, mesh = SURFACES[name], MESHES[name]
    spec = mujoco.MjSpec()
    asset = spec.add_mesh(name=name)
    asset.uservert, asset.userface = surface.vertices.ravel(), surface.faces.ravel()
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname=name)
    model = spec.compile()
    rotation = np.empty(9)
    mujoco.mju_quat2Mat(rotation, model.mesh_quat[0])
    rotation = rotation.reshape(3, 3)
    hull = model.mesh_vert.astype(np.float64)
    placed = in_frame(mesh, model.mesh_pos[0], rotation, hull, name)
    planes = ConvexHull(hull).equations
    assert (placed.vertices @ planes[:, :3].T + planes[:, 3]).max() < 1e-9
    # No farther moved than single precision takes.
    back = placed.vertices @ rotation.T + model.mesh_pos[0]
    assert np.abs(back - mesh.vertices).max() < 1e-7
    with pytest.raises(ModelError, match="same frame and units"):
        in_frame(mesh, model.mesh_pos[0] + 0.05, rotation, hull, name)


@needs_tetwild
def test_field_meshes_can_be_made_again(tmp_path: Path) -> None:
    tableware.write_field_meshes(tmp_path)
    for name, mesh in MESHES.items():
        again = read_field_mesh(tmp_path / f"{name}.npz")
        assert again.depth == mesh.depth
        assert volumes(again.vertices, again.tetrahedra).sum() == pytest.approx(
            volumes(mesh.vertices, mesh.tetrahedra).sum(), rel=1e-2
        )
