"""Loading from files, texts and specs: sources, options, messages."""

from __future__ import annotations

import warnings
from pathlib import Path

import mujoco
import numpy as np
import pytest
from loading_texts import (
    BALL,
    has,
    joint,
    link,
    refused,
    urdf,
    write_stl,
)

from asperity.errors import ArgumentError, AsperityWarning
from asperity.loading import LoadReport, load_model, load_spec
from asperity.simulator import Simulator, simulate

# --- sources ---------------------------------------------------------------------------------


def test_every_kind_of_source(tmp_path: Path) -> None:
    file = tmp_path / "ball.xml"
    file.write_text(BALL)
    spec = mujoco.MjSpec.from_string(BALL)
    compiled = mujoco.MjModel.from_xml_string(BALL)
    for source, name in (
        (file, str(file)),
        (str(file), str(file)),
        ("\ufeff  " + BALL, "XML string"),
        (spec, "MjSpec"),
        (compiled, "MjModel"),
    ):
        model, report = load_model(source)
        assert model.nv == 6
        assert report == LoadReport(name, ())
    assert load_model(compiled)[0] is compiled


def test_mjcf_with_another_ending_finds_its_includes_and_meshes(tmp_path: Path) -> None:
    write_stl(tmp_path / "mesh" / "part.stl")
    (tmp_path / "part.xml").write_text(
        "<mujocoinclude><body><freejoint/><geom type='mesh' mesh='part'/></body></mujocoinclude>"
    )
    file = tmp_path / "scene.mjcf"
    file.write_text(
        "<mujoco><compiler meshdir='mesh'/><asset><mesh file='part.stl'/></asset><worldbody>"
        "<geom type='plane' size='1 1 1'/><include file='part.xml'/></worldbody></mujoco>"
    )
    assert load_model(file)[0].nmesh == 1


def test_urdf_in_a_file_named_xml(tmp_path: Path) -> None:
    file = tmp_path / "robot.xml"
    file.write_text(urdf(link("a"), link("b"), joint("j", "a", "b")))
    assert load_model(file)[0].nv == 1


def test_bad_sources(tmp_path: Path) -> None:
    refused(tmp_path / "none.xml", "none.xml", "does not exist")
    refused("", "empty", error=ArgumentError)
    (tmp_path / "scene.xml").write_text(BALL)
    refused(tmp_path, str(tmp_path), "folder", "scene.xml")
    (tmp_path / "empty.xml").write_text(" \n")
    refused(tmp_path / "empty.xml", "empty.xml", "is empty")
    (tmp_path / "noise.xml").write_bytes(bytes(range(128, 256)))
    refused(tmp_path / "noise.xml", "noise.xml", "not XML")
    refused("<sdf version='1.6'/>", "<sdf>", "URDF or MJCF")
    refused("<mujocoinclude/>", "<mujocoinclude>", "includes it")
    refused("<html/>", "<html>", "<mujoco>", "<robot>")
    refused(3, "int", "MjSpec", error=ArgumentError)


def test_options_that_do_not_apply() -> None:
    refused(BALL, "floating_base", "MJCF", error=ArgumentError, floating_base=True)
    refused(BALL, "package_paths", error=ArgumentError, package_paths=["a"])
    refused(BALL, "exclude_overlaps", error=ArgumentError, exclude_overlaps=True)
    model = mujoco.MjModel.from_xml_string(BALL)
    refused(model, "discard_visual", "MjModel", error=ArgumentError, discard_visual=True)


# --- MuJoCo's complaints ---------------------------------------------------------------------


def test_mujoco_errors_become_sentences(tmp_path: Path) -> None:
    file = tmp_path / "bad.xml"
    file.write_text("<mujoco>\n<worldbody>\n<body><geom sise='1'/></body></worldbody></mujoco>")
    refused(file, "bad.xml", "sise", "'geom'", "line 3", "remove or correct")
    file.write_text("<mujoco>\n<worldbody>\n<body>")
    refused(file, "bad.xml", "not well formed", "line", "correct the XML")
    file.write_text("<mujoco><asset><mesh name='m' file='gone.stl'/></asset></mujoco>")
    refused(file, "bad.xml", "gone.stl", "file name")
    refused("<mujoco><worldbody><body name='b'><joint/></body></worldbody></mujoco>", "'b'", "mass")
    refused(
        "<mujoco><worldbody><body name='b'><joint/><inertial pos='0 0 0' mass='1' "
        "diaginertia='1 1 3'/></body></worldbody></mujoco>",
        "'b'",
        "balanceinertia",
    )


# --- after loading ---------------------------------------------------------------------------


def test_warns_when_nothing_moves_or_collides() -> None:
    with pytest.warns(AsperityWarning, match="Nothing can move"):
        _, report = load_model("<mujoco><worldbody><geom size='1'/></worldbody></mujoco>")
    assert has(report, "Nothing can move")
    assert has(report, "Nothing can collide")
    ghost = BALL.replace("size='0.1'", "size='0.1' contype='0' conaffinity='0'")
    with pytest.warns(AsperityWarning, match="Nothing can collide"):
        _, report = load_model(ghost)
    assert not has(report, "Nothing can move")


def test_warnings_name_the_users_line() -> None:
    ghost = BALL.replace("size='0.1'", "size='0.1' contype='0' conaffinity='0'")
    for call in (load_model, Simulator, lambda source: simulate(source, (0.0, 0.01))):
        with pytest.warns(AsperityWarning, match="Nothing can collide") as caught:
            call(ghost)
        assert {warning.filename for warning in caught} == {__file__}


def test_does_not_warn_when_something_can_collide() -> None:
    one_way = BALL.replace("size='0.1'", "size='0.1' contype='2' conaffinity='1'")
    ghosts = BALL.replace("size='0.1'", "name='g' size='0.1' contype='0' conaffinity='0'")
    pair = ghosts.replace("size='1 1 1'", "name='p' size='1 1 1' contype='0'").replace(
        "</worldbody>", "</worldbody><contact><pair geom1='g' geom2='p'/></contact>"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_model(BALL)
        load_model(one_way)
        load_model(pair)
        off = BALL.replace("<worldbody>", "<option><flag contact='disable'/></option><worldbody>")
        assert has(load_model(off)[1], "contacts off")


def test_choices_for_mjcf_and_specs() -> None:
    text = (
        "<mujoco><worldbody><geom type='plane' size='1 1 1'/><body><freejoint/><geom size='0.1'/>"
        "<geom size='0.2' contype='0' conaffinity='0' mass='0'/><body><geom size='0.1'/></body>"
        "</body></worldbody></mujoco>"
    )
    model, report = load_model(text)
    assert (model.ngeom, model.nbody, report.notes) == (4, 3, ())
    model, report = load_model(text, discard_visual=True, fuse_static=True)
    assert (model.ngeom, model.nbody) == (3, 2)
    assert has(report, "1 visual")
    assert has(report, "1 static")
    spec = mujoco.MjSpec.from_string(text)
    assert load_model(spec, fuse_static=True)[0].nbody == 2
    assert len(spec.bodies) == 3  # the user's own is left alone


FLOATER = """
<robot name="box">
  <link name="base">
    <inertial><mass value="1"/>
      <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision>
  </link>
</robot>
"""


def test_a_spec_is_the_model_before_compilation(tmp_path: Path) -> None:
    path = tmp_path / "box.urdf"
    path.write_text(FLOATER)
    for source in (path, FLOATER):
        spec, report = load_spec(source, floating_base=True)
        assert report.source == (str(path) if source is path else "XML string")
        model = load_model(spec)[0]
        direct = load_model(source, floating_base=True)[0]
        assert model.nv == direct.nv == 6
        np.testing.assert_array_equal(model.body_inertia, direct.body_inertia)
        np.testing.assert_array_equal(model.geom_size, direct.geom_size)


def test_a_floor_can_be_put_under_a_urdf() -> None:
    spec, _ = load_spec(FLOATER, floating_base=True)
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], pos=[0, 0, -0.2])
    sim = Simulator(spec)
    assert sim.advance_to(2.0).success
    # It stands on four contacts of 1e5 N/m.
    assert sim.data.qpos[2] == pytest.approx(-0.1, abs=1e-4)
    assert sim.contacts.normal_force.sum() == pytest.approx(9.81, rel=1e-3)


def test_specs_of_other_sources() -> None:
    given = mujoco.MjSpec.from_string(BALL)
    assert load_spec(given)[0] is given
    copy, _ = load_spec(given, fuse_static=True)
    assert copy is not given
    assert copy.compiler.fusestatic
    assert load_spec(BALL)[0].compile().ngeom == load_model(BALL)[0].ngeom
    with pytest.raises(ArgumentError, match="floating_base"):
        load_spec(BALL, floating_base=True)
    with pytest.raises(ArgumentError, match="MjModel"):
        load_spec(given.compile())  # type: ignore[arg-type]
