"""Field meshes from files, and what is wrong with some of them."""

import sys
from pathlib import Path

import numpy as np
import pytest
from contact_shells import mug

from asperity.contact.hydroelastic.distance_field import distance_field
from asperity.contact.hydroelastic.import_mesh import read_field_mesh, write_field_mesh
from asperity.contact.hydroelastic.shapes import capsule_mesh, ellipsoid_mesh
from asperity.errors import MissingExtra, ModelError


def test_what_was_written_is_read_to_the_last_bit(tmp_path: Path) -> None:
    for mesh in (capsule_mesh(0.03, 0.1, 0.005), distance_field(*mug())):
        path = tmp_path / "mesh.npz"
        write_field_mesh(path, mesh)
        for one, other in zip(mesh, read_field_mesh(path), strict=True):
            np.testing.assert_array_equal(one, other)


def test_tetrahedra_alone_get_the_field_of_the_distance(tmp_path: Path) -> None:
    vertices, tetrahedra = mug()
    path = tmp_path / "mug.npz"
    np.savez(path, vertices=vertices, tetrahedra=tetrahedra)
    for one, other in zip(distance_field(vertices, tetrahedra), read_field_mesh(path), strict=True):
        np.testing.assert_array_equal(one, other)
    assert read_field_mesh(path, depth=0.01).depth == 0.01
    # A depth replaces the one that a file has.
    write_field_mesh(path, read_field_mesh(path))
    assert read_field_mesh(path, depth=0.002).depth == 0.002


@pytest.mark.parametrize("suffix", [".vtk", ".vtu", ".msh"])
def test_tetrahedra_of_other_programs(tmp_path: Path, suffix: str) -> None:
    meshio = pytest.importorskip("meshio")
    vertices, tetrahedra = mug()
    path = tmp_path / f"mug{suffix}"
    # With an orientation that is not ours, and triangles of the surface beside the tetrahedra.
    cells = [("triangle", tetrahedra[:5, :3]), ("tetra", tetrahedra[:, [1, 0, 2, 3]])]
    meshio.write(path, meshio.Mesh(vertices, cells))
    expected, read = distance_field(vertices, tetrahedra), read_field_mesh(path)
    assert len(read.tetrahedra) == len(expected.tetrahedra)
    assert read.depth == pytest.approx(expected.depth, rel=1e-6)

    meshio.write(path, meshio.Mesh(vertices, [("triangle", tetrahedra[:5, :3])]))
    with pytest.raises(ModelError, match=r"a surface, no tetrahedra.*rigid"):
        read_field_mesh(path)
    path.write_text("no mesh at all")
    with pytest.raises(ModelError, match=f"mug{suffix}' cannot be read"):
        read_field_mesh(path)


def test_files_that_are_no_field_meshes_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ModelError, match=r"nowhere.npz' does not exist"):
        read_field_mesh(tmp_path / "nowhere.npz")
    path = tmp_path / "mesh.npz"
    path.write_bytes(b"PK nonsense")
    with pytest.raises(ModelError, match="cannot be read"):
        read_field_mesh(path)
    ball = ellipsoid_mesh((1.0, 1.0, 1.0), 0.5)
    np.savez(path, vertices=ball.vertices, extent=ball.extent, depth=1.0)
    with pytest.raises(ModelError, match="it needs vertices and tetrahedra"):
        read_field_mesh(path)
    np.savez(path, vertices=ball.vertices, tetrahedra=ball.tetrahedra, extent=ball.extent)
    with pytest.raises(ModelError, match="both extent and depth or neither"):
        read_field_mesh(path)
    np.savez(path, vertices=ball.vertices, tetrahedra=ball.tetrahedra.astype(float))
    with pytest.raises(ModelError, match="wrong kind or shape"):
        read_field_mesh(path)
    np.savez(path, vertices=ball.vertices, tetrahedra=ball.tetrahedra + 1)
    with pytest.raises(ModelError, match="do not exist"):
        read_field_mesh(path)
    np.savez(path, vertices=ball.vertices * np.nan, tetrahedra=ball.tetrahedra)
    with pytest.raises(ModelError, match="not finite"):
        read_field_mesh(path)
    np.savez(path, **ball._replace(extent=0.0 * ball.extent)._asdict())
    with pytest.raises(ModelError, match="no pressure"):
        read_field_mesh(path)
    np.savez(path, **ball._replace(tetrahedra=ball.tetrahedra[1:])._asdict())
    with pytest.raises(ModelError, match="on the surface"):
        read_field_mesh(path)
    obj = tmp_path / "ball.obj"
    obj.write_text("v 0 0 0\n")
    with pytest.raises(ModelError, match="asperity tetrahedralize"):
        read_field_mesh(obj)
    vtk = tmp_path / "ball.vtk"
    vtk.write_text("")
    monkeypatch.setitem(sys.modules, "meshio", None)
    with pytest.raises(MissingExtra, match=r"meshio.*asperity\[hydroelastic\]"):
        read_field_mesh(vtk)
