"""``asperity tetrahedralize``: surfaces in, field meshes out."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from asperity.cli import main
from asperity.contact.hydroelastic.field_mesh import volumes
from asperity.contact.hydroelastic.import_mesh import read_field_mesh
from asperity.errors import ModelError
from asperity.geometry.primitives import box
from asperity.geometry.surfaces import volume_integrals
from asperity.loading.surface_files import read_surface, write_obj

needs_tetwild = pytest.mark.skipif(
    importlib.util.find_spec("pytetwild") is None, reason="needs the extra [hydroelastic]"
)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def shifted_brick() -> tuple[np.ndarray, np.ndarray]:
    surface = box(np.array([30.0, 20.0, 10.0]))
    return surface.vertices + np.array([100.0, 0.0, 7.0]), surface.faces


def test_a_surface_is_read_in_the_frame_of_its_file(tmp_path: Path) -> None:
    vertices, faces = shifted_brick()
    path = tmp_path / "brick.obj"
    write_obj(path, box(np.ones(3))._replace(vertices=vertices, faces=faces))
    surface = read_surface(path, scale=1e-3)
    assert len(surface.vertices) == 8
    np.testing.assert_allclose(surface.vertices.min(axis=0), (0.07, -0.02, -0.003), atol=1e-8)
    np.testing.assert_allclose(surface.vertices.max(axis=0), (0.13, 0.02, 0.017), atol=1e-8)
    assert volume_integrals(surface)[0] == pytest.approx(4.8e-5, rel=1e-5)


@needs_tetwild
def test_a_field_mesh_is_written_and_described(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    vertices, faces = shifted_brick()
    path = tmp_path / "brick.obj"
    write_obj(path, box(np.ones(3))._replace(vertices=vertices, faces=faces))
    given = ["tetrahedralize", str(path), "--scale", "1e-3", "--depth", "0.01"]
    assert main([*given, "--resolution", "0.03"]) == 0
    printed = capsys.readouterr().out
    mesh = read_field_mesh(tmp_path / "brick.npz")
    assert mesh.depth == 0.01
    assert volumes(mesh.vertices, mesh.tetrahedra).sum() == pytest.approx(4.8e-5, rel=0.01)
    np.testing.assert_allclose(mesh.vertices.mean(axis=0), (0.1, 0.0, 0.007), atol=3e-3)
    assert f"{len(mesh.tetrahedra)} tetrahedra" in printed
    assert "1e+09 Pa/m" in printed
    other = tmp_path / "other.npz"
    assert main([*given, "--resolution", "0.03", "--out", str(other)]) == 0
    assert other.read_bytes() == (tmp_path / "brick.npz").read_bytes()


def test_what_cannot_be_used_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "brick.obj"

    def complaint(*options: str) -> str:
        assert main(["tetrahedralize", str(path), *options]) == 2
        return capsys.readouterr().err

    assert "does not exist" in complaint()
    vertices, faces = shifted_brick()
    write_obj(path, box(np.ones(3))._replace(vertices=vertices, faces=faces))
    assert "does not end in .npz" in complaint("--out", "brick.vtk")
    assert "folder" in complaint("--out", str(tmp_path / "no" / "brick.npz"))
    assert "scale" in complaint("--scale", "0")
    assert "resolution" in complaint("--resolution", "-1")
    assert "coarser" in complaint("--resolution", "0.01")
    write_obj(path, box(np.ones(3))._replace(vertices=vertices, faces=faces[1:]))
    assert "brick.obj' is not closed" in complaint()
    path.write_text("nonsense")
    assert "cannot be read" in complaint()
    assert not list(tmp_path.glob("*.npz"))
    with pytest.raises(ModelError, match=r"none of .stl"):
        read_surface(Path(__file__))
