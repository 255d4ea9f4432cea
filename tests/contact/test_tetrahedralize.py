"""Tetrahedra by TetWild: what is refused before, what is kept on disk, and the fields of results."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from asperity.contact.hydroelastic import tetrahedralize as module
from asperity.contact.hydroelastic.field_mesh import gradients, verify, volumes
from asperity.contact.hydroelastic.shapes import box_mesh
from asperity.contact.hydroelastic.tetrahedralize import tetrahedralize
from asperity.errors import ArgumentError, MissingExtra, ModelError
from asperity.geometry.primitives import box, revolve
from asperity.geometry.surfaces import Surface, volume_integrals

needs_tetwild = pytest.mark.skipif(
    importlib.util.find_spec("pytetwild") is None, reason="needs the extra [hydroelastic]"
)

WALL = 0.003
BOWL = revolve(
    np.array([0.0, 0.025, 0.04, 0.04 - WALL, 0.024, 0.0]),
    np.array([0.0, 0.0, 0.05, 0.05, WALL, WALL]),
    24,
)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


@needs_tetwild
def test_a_thin_bowl_has_a_field_in_its_wall_and_lies_in_its_hull(own_cache: Path) -> None:
    mesh = tetrahedralize(BOWL, name="bowl")
    verify(mesh, "bowl")
    volume = volume_integrals(BOWL)[0]
    assert volumes(mesh.vertices, mesh.tetrahedra).sum() == pytest.approx(volume, rel=0.02)
    assert 0.4 * WALL < mesh.depth < 0.7 * WALL
    slope = np.linalg.norm(gradients(mesh), axis=1) * mesh.depth
    # Of few tetrahedra at the rim, whose edges lead along the surface, it is less.
    assert np.quantile(slope, 0.25) > 0.85
    assert np.quantile(slope, 0.95) < 1.1
    size = volumes(mesh.vertices, mesh.tetrahedra)
    assert size[slope > 1.5].sum() < 0.005 * size.sum()
    # The hull is a cone between two polygons.
    assert mesh.vertices[:, 2].min() >= -1e-9
    assert mesh.vertices[:, 2].max() <= 0.05 + 1e-9
    radius = np.hypot(mesh.vertices[:, 0], mesh.vertices[:, 1])
    assert (radius <= 0.025 + 0.015 * mesh.vertices[:, 2] / 0.05 + 1e-9).all()

    # What was cut once is taken from disk, to the last bit; another depth needs no new tetrahedra.
    def none(*_: object) -> None:
        raise AssertionError("was cut again")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_cut", none)
        again = tetrahedralize(BOWL, name="bowl")
        for one, other in zip(mesh, again, strict=True):
            np.testing.assert_array_equal(one, other)
        assert tetrahedralize(BOWL, depth=0.001).depth == 0.001
        with pytest.raises(AssertionError, match="cut again"):
            tetrahedralize(BOWL, resolution=0.02)
        with pytest.raises(AssertionError, match="cut again"):
            tetrahedralize(BOWL._replace(vertices=1.01 * BOWL.vertices))
        (kept,) = own_cache.rglob("*.npz")
        kept.write_bytes(b"rubbish")
        with pytest.raises(AssertionError, match="cut again"):
            tetrahedralize(BOWL)


@needs_tetwild
def test_unmerged_and_inverted_surfaces_are_the_same_solid() -> None:
    soup = Surface(BOWL.vertices[BOWL.faces[:, ::-1]].reshape(-1, 3), np.arange(3 * len(BOWL.faces)).reshape(-1, 3))  # fmt: skip
    mesh = tetrahedralize(soup, keep=False)
    volume = volume_integrals(BOWL)[0]
    assert volumes(mesh.vertices, mesh.tetrahedra).sum() == pytest.approx(volume, rel=0.02)


@needs_tetwild
def test_tetwild_leaves_no_trace(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tetrahedralize(box(np.ones(3)), resolution=1.0, keep=False)
    assert capfd.readouterr() == ("", "")
    assert not list(tmp_path.iterdir())
    assert "pyvista" not in sys.modules or sys.modules["pyvista"].__spec__ is not None


@needs_tetwild
def test_what_tetwild_cannot_bear_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its process ends; this one goes on."""
    worse = "import os; os._exit(3)"
    monkeypatch.setattr(module, "_PROGRAM", ("-c", worse))
    with pytest.raises(ModelError, match=r"geom 'box': TetWild failed \(exit code 3\)"):
        tetrahedralize(box(np.ones(3)), resolution=1.0, keep=False, name="geom 'box'")


def test_open_and_empty_surfaces_are_named() -> None:
    with pytest.raises(ModelError, match=r"mesh 'bowl' is not closed.*3 of its"):
        tetrahedralize(BOWL._replace(faces=BOWL.faces[1:]), name="mesh 'bowl'")
    turned = BOWL.faces.copy()
    turned[0] = turned[0, ::-1]
    with pytest.raises(ModelError, match="disagree"):
        tetrahedralize(BOWL._replace(faces=turned))
    flat = box(np.ones(3))
    flat = flat._replace(vertices=flat.vertices * (1.0, 1.0, 0.0) + (0.0, 0.0, 1.0))
    with pytest.raises(ModelError, match=r"volume|closed"):
        tetrahedralize(flat)
    with pytest.raises(ModelError, match="no triangles"):
        tetrahedralize(BOWL._replace(faces=BOWL.faces[:0]))


def test_resolutions_that_make_a_million_tetrahedra_are_refused() -> None:
    with pytest.raises(ArgumentError, match="coarser"):
        tetrahedralize(BOWL, resolution=1e-4)
    with pytest.raises(ArgumentError, match="coarser"):
        tetrahedralize(box(np.ones(3)), resolution=0.01)
    with pytest.raises(ArgumentError, match="resolution must be positive"):
        tetrahedralize(BOWL, resolution=-0.01)


def test_without_the_extra_the_alternatives_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pytetwild", None)
    with pytest.raises(
        MissingExtra, match=r"asperity\[hydroelastic\].*tetrahedralize MESH.*hull.*rigid"
    ):
        tetrahedralize(BOWL, name="geom 'bowl'")


def test_the_estimate_bounds_what_a_box_of_such_edges_needs() -> None:
    """A box cut into cubes of the edge's length has five tetrahedra in each."""
    surface = box(np.array([1.0, 0.5, 0.25]))
    estimate = module._estimate(surface, 0.05)
    cubes = 1.0 * 8.0 * 0.125 / 0.05**3
    assert 5.0 * cubes < estimate < 10.0 * cubes
    assert len(box_mesh((1.0, 0.5, 0.25)).tetrahedra) < estimate
