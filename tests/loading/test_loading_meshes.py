"""Meshes of URDF files: where they are found, and what happens without them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from loading_texts import (
    BOX,
    has,
    joint,
    link,
    refused,
    urdf,
    with_mesh,
    write_stl,
)

from asperity.errors import AsperityWarning
from asperity.geometry.surfaces import volume_integrals
from asperity.loading import load_model
from asperity.loading.collada import read_collada


@pytest.mark.parametrize(
    ("mesh", "uri"),
    [
        ("robot/urdf/part.stl", "part.stl"),
        ("robot/meshes/part.stl", "../meshes/part.stl"),
        ("robot/meshes/part.STL", "package://robot/meshes/part.stl"),
        ("meshes/part.stl", "package://manifest/meshes/part.stl"),
        ("other/part.stl", "package://other/part.stl"),
        ("other/part.stl", "package:///other/part.stl"),
        ("robot/my parts/part.stl", "package://robot/my%20parts/part.stl"),
    ],
)
def test_finds_meshes_near_the_file(tmp_path: Path, mesh: str, uri: str) -> None:
    (tmp_path / "package.xml").write_text("<package><name> manifest </name></package>")
    write_stl(tmp_path / mesh)
    model, report = load_model(with_mesh(tmp_path / "robot" / "urdf", uri))
    assert model.nmesh == 1
    assert not has(report, "Meshes")


def test_finds_meshes_by_absolute_uri(tmp_path: Path) -> None:
    mesh = write_stl(tmp_path / "far" / "part.stl")
    assert load_model(with_mesh(tmp_path / "near", f"file://{mesh}"))[0].nmesh == 1


def test_finds_packages_where_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_stl(tmp_path / "far" / "parts" / "part.stl")
    file = with_mesh(tmp_path / "near", "package://parts/part.stl")
    refused(file, "package://parts/part.stl", "'b'", "package_paths")
    for folder in (tmp_path / "far", tmp_path / "far" / "parts"):
        assert load_model(file, package_paths=[folder])[0].nmesh == 1
    monkeypatch.setenv("ROS_PACKAGE_PATH", f"{tmp_path / 'nothing'}:{tmp_path / 'far'}")
    assert load_model(file)[0].nmesh == 1


def test_takes_a_renamed_folder_for_the_package_and_says_so(tmp_path: Path) -> None:
    write_stl(tmp_path / "renamed" / "meshes" / "part.stl")
    file = with_mesh(tmp_path / "renamed" / "urdf", "package://original/meshes/part.stl")
    model, report = load_model(file)
    assert model.nmesh == 1
    assert has(report, "original", "renamed")


@pytest.mark.parametrize("place", ["visual/part.stl", "collision/part.stl"])
def test_unreadable_mesh_is_replaced_by_a_readable_one(tmp_path: Path, place: str) -> None:
    (tmp_path / "visual").mkdir()
    (tmp_path / "visual" / "part.dae").write_text("<COLLADA/>")
    write_stl(tmp_path / place)
    model, report = load_model(with_mesh(tmp_path, "visual/part.dae"))
    assert model.nmesh == 1
    assert has(report, "part.dae", "part.stl")


def test_unreadable_collision_mesh_is_dropped_with_a_warning(tmp_path: Path) -> None:
    (tmp_path / "part.dae").write_text("<COLLADA/>")
    with pytest.warns(AsperityWarning, match=r"'b' \(part.dae\)"):
        model, report = load_model(with_mesh(tmp_path, "part.dae"))
    assert model.ngeom == 1
    assert has(report, "Dropped collision", "'b'", "part.dae")


def test_missing_visual_mesh_is_only_a_note(tmp_path: Path) -> None:
    visual = "<visual><geometry><mesh filename='gone.stl'/></geometry></visual>"
    text = urdf(link("a"), link("b", visual=visual), joint("j", "a", "b"))
    model, report = load_model(text, discard_visual=False)
    assert model.ngeom == 2
    assert has(report, "Dropped visual", "gone.stl")
    assert has(load_model(text)[1], "Discarded 1 visual")


def test_meshes_with_the_same_file_name_stay_apart(tmp_path: Path) -> None:
    write_stl(tmp_path / "one" / "part.stl", 0.1)
    write_stl(tmp_path / "two" / "part.stl", 0.3)
    text = urdf(
        link("a", mesh="one/part.stl"), link("b", mesh="two/part.stl"), joint("j", "a", "b")
    )
    (tmp_path / "robot.urdf").write_text(text)
    model, _ = load_model(tmp_path / "robot.urdf")
    assert model.geom_rbound[1] == pytest.approx(3 * model.geom_rbound[0], rel=1e-5)


def test_respects_what_the_file_says_to_mujoco(tmp_path: Path) -> None:
    write_stl(tmp_path / "assets" / "part.stl")
    visual = f"<visual>{BOX}</visual>"
    text = urdf(
        "<mujoco><compiler meshdir='assets' strippath='true' discardvisual='false' "
        "fusestatic='false'/></mujoco>",
        link("a"),
        link("b", mesh="package://nowhere/deep/part.stl", visual=visual),
        link("tool"),
        joint("j", "a", "b"),
        joint("f", "b", "tool", "fixed"),
    )
    (tmp_path / "robot.urdf").write_text(text)
    model, _ = load_model(tmp_path / "robot.urdf")
    assert (model.nmesh, model.ngeom, model.nbody) == (1, 4, 4)
    assert load_model(tmp_path / "robot.urdf", fuse_static=True)[0].nbody == 3


def test_a_mesh_without_volume_weighs_what_a_sheet_does(tmp_path: Path) -> None:
    """MuJoCo refuses it for want of a mass, though nobody may ask for one."""
    write_stl(tmp_path / "part.stl", size=1e-5)
    model, report = load_model(with_mesh(tmp_path, "part.stl"))
    assert model.ngeom == 2
    assert model.body("b").mass[0] == 1.0, "the file's <inertial>"
    assert has(report, "Meshes without volume", "sheets of 1 mm", "'part'")
    write_stl(tmp_path / "part.stl", size=0.1)
    assert not has(load_model(with_mesh(tmp_path, "part.stl"))[1], "without volume")


def test_a_visual_sheet_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "sheet.obj").write_text("v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3\nf 1 3 4\n")
    visual = "<visual><geometry><mesh filename='sheet.obj'/></geometry></visual>"
    file = tmp_path / "robot.urdf"
    file.write_text(urdf(link("a"), link("b", visual=visual), joint("j", "a", "b")))
    model, report = load_model(file, discard_visual=False)
    assert model.nmesh == 1
    assert has(report, "'sheet'")
    assert model.body("b").mass[0] == 1.0


DAE = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
  <asset><unit name="millimeter" meter="0.001"/><up_axis>Y_UP</up_axis></asset>
  <library_geometries><geometry id="tent"><mesh>
    <source id="points"><float_array id="numbers" count="15">
      0 0 0  200 0 0  200 100 0  0 100 0  100 50 300</float_array>
      <technique_common><accessor source="#numbers" count="5" stride="3"/></technique_common>
    </source>
    <vertices id="corners"><input semantic="POSITION" source="#points"/></vertices>
    <polylist count="1"><input semantic="VERTEX" source="#corners" offset="0"/>
      <input semantic="NORMAL" source="#none" offset="1"/>
      <vcount>4</vcount><p>0 7 3 7 2 7 1 7</p></polylist>
    <triangles count="4"><input semantic="VERTEX" source="#corners" offset="0"/>
      <p>0 1 4 1 2 4 2 3 4 3 0 4</p></triangles>
  </mesh></geometry>
  <geometry id="hidden"><mesh/></geometry></library_geometries>
  <library_visual_scenes><visual_scene id="all"><node>
    <translate>10 0 0</translate><rotate>0 0 1 90</rotate>
    <node><scale>SCALE 1 1</scale><instance_geometry url="#tent"/></node>
  </node></visual_scene></library_visual_scenes>
  <scene><instance_visual_scene url="#all"/></scene>
</COLLADA>"""


@pytest.mark.parametrize("scale", ["2", "-2"])
def test_collada_meshes_are_placed_scaled_and_closed(tmp_path: Path, scale: str) -> None:
    """A pyramid of 0.4 by 0.1 by 0.3 m, turned by 90°, outside out also when mirrored."""
    (tmp_path / "part.dae").write_text(DAE.replace("SCALE", scale))
    surface = read_collada(tmp_path / "part.dae")
    x = sorted((0.0, float(scale) * 0.2))
    np.testing.assert_allclose(surface.vertices.min(axis=0), [-0.09, x[0], 0.0], atol=1e-12)
    np.testing.assert_allclose(surface.vertices.max(axis=0), [0.01, x[1], 0.3], atol=1e-12)
    assert volume_integrals(surface)[0] == pytest.approx(0.4 * 0.1 * 0.3 / 3.0)
    model, report = load_model(with_mesh(tmp_path, "part.dae"))
    assert model.nmesh == 1
    assert model.mesh_facenum[0] == 6
    assert not has(report, "Dropped")


@pytest.mark.parametrize(
    ("right", "wrong"), [("#points", "#nothing"), ("</COLLADA>", ""), ("3 0 4", "3 0 9")]
)
def test_broken_collada_meshes_are_named(tmp_path: Path, right: str, wrong: str) -> None:
    (tmp_path / "part.dae").write_text(DAE.replace(right, wrong))
    with pytest.warns(AsperityWarning, match=r"'b' \(part.dae\)"):
        report = load_model(with_mesh(tmp_path, "part.dae"))[1]
    assert has(report, "part.dae is no COLLADA file that can be read")
