"""Meshes in text files: STL in words is read, and a line that is wrong is named."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

import asperity as asp
from asperity.loading.surface_files import read_surface

VERTICES = 0.1 * np.array([[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]], float)
FACES = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]


def stl_in_words() -> str:
    lines = ["solid tetrahedron"]
    for face in FACES:
        lines += ["facet normal 0 0 0", " outer loop"]
        lines += ["  vertex {:.9g} {:.9g} {:.9g}".format(*VERTICES[i]) for i in face]
        lines += [" endloop", "endfacet"]
    return "\n".join([*lines, "endsolid tetrahedron\n"])


def stl_in_bytes() -> bytes:
    # Some programs write a header that begins as a text does.
    parts = [b"solid binary".ljust(80), len(FACES).to_bytes(4, "little")]
    for face in FACES:
        numbers = np.concatenate([np.zeros(3), VERTICES[list(face)].ravel()]).astype("<f4")
        parts.append(numbers.tobytes() + b"\0\0")
    return b"".join(parts)


def obj() -> str:
    lines = ["v {:.9g} {:.9g} {:.9g}".format(*v) for v in VERTICES]
    return "\n".join([*lines, *("f {} {} {}".format(*(np.array(f) + 1)) for f in FACES), ""])


def mjcf(folder: Path, file: str) -> Path:
    path = folder / "model.xml"
    path.write_text(
        f'<mujoco><asset><mesh name="m" file="{file}" scale="1 1 0.5"/></asset><worldbody>'
        '<geom type="plane" size="1 1 1"/>'
        '<body><freejoint/><geom type="mesh" mesh="m"/></body></worldbody></mujoco>'
    )
    return path


def urdf(folder: Path, file: str) -> Path:
    path = folder / "model.urdf"
    path.write_text(
        f'<robot name="r"><link name="l"><collision><geometry><mesh filename="{file}" '
        'scale="1 1 0.5"/></geometry></collision></link></robot>'
    )
    return path


@pytest.mark.filterwarnings("ignore::asperity.AsperityWarning")
@pytest.mark.parametrize("model", [mjcf, urdf])
def test_stl_in_words_is_the_same_body_as_in_bytes(model, tmp_path: Path) -> None:
    (tmp_path / "words.stl").write_text(stl_in_words())
    (tmp_path / "bytes.stl").write_bytes(stl_in_bytes())
    options = {"floating_base": True} if model is urdf else {}
    words, report = asp.load_model(model(tmp_path, "words.stl"), **options)
    bytes_, _ = asp.load_model(model(tmp_path, "bytes.stl"), **options)
    assert "STL files in text form were converted: 'words.stl'." in report.notes
    np.testing.assert_allclose(words.body_mass, bytes_.body_mass, rtol=1e-6)
    np.testing.assert_allclose(words.body_inertia, bytes_.body_inertia, rtol=1e-5)
    volume = 1e-3 * 1 * 2 * 3 / 6 * 0.5
    assert words.body_mass[1] == pytest.approx(1000 * volume, rel=1e-5)


def test_surfaces_are_read_from_words_too(tmp_path: Path) -> None:
    path = tmp_path / "words.stl"
    path.write_text(stl_in_words())
    surface = read_surface(path, 2.0)
    order = np.lexsort(VERTICES.T[::-1])
    np.testing.assert_allclose(surface.vertices, 2.0 * VERTICES[order])
    assert len(surface.faces) == 4


WRONG = {
    "vertex.stl": (stl_in_words().replace("0.1 0 0", "0.1 zero 0", 1), "line 6: 'vertex 0.1 zero"),
    "three.stl": (stl_in_words().replace("  vertex 0 0 0\n", "", 1), "line 7: a facet has 2"),
    "end.stl": (stl_in_words().partition("vertex 0.1")[0], "ends within a triangle"),
    "short.obj": (obj().replace("v 0.1 0 0", "v 0.1 0"), "line 2: 'v 0.1 0' is no vertex"),
    "word.obj": (obj().replace("v 0.1 0 0", "v 0.1 x 0"), "line 2: 'v 0.1 x 0' is no vertex"),
    "nan.obj": (obj().replace("v 0.1 0 0", "v nan 0 0"), "line 2: 'v nan 0 0' is no vertex"),
    "face.obj": (obj().replace("f 1 3 2", "f 1 three 2"), "line 5: 'f 1 three 2' is no face"),
    "far.obj": (obj().replace("f 1 3 2", "f 1 99 2"), "a face has vertex 99, and there are 4"),
}


@pytest.mark.parametrize("model", [mjcf, urdf])
@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named_with_file_and_line(name: str, model, tmp_path: Path) -> None:
    text, said = WRONG[name]
    (tmp_path / name).write_text(text)
    with pytest.raises(asp.ModelError) as caught:
        asp.load_model(model(tmp_path, name))
    assert name in str(caught.value)
    assert said in str(caught.value)


def test_models_in_strings_with_meshes_of_their_own_are_as_before() -> None:
    spec = mujoco.MjSpec()
    spec.add_mesh(name="m", uservert=VERTICES.ravel(), userface=np.array(FACES).ravel())
    body = spec.worldbody.add_body()
    body.add_freejoint()
    body.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname="m")
    assert asp.load_model(spec)[0].nmesh == 1
