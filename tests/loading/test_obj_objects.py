"""OBJ files of several objects: every solid collides as a geom of its own."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import asperity as asp
from asperity.geometry import primitives
from asperity.loading.obj_objects import read_objects

XML = """<mujoco><asset><mesh name="m" file="{file}" scale="1 1 1"/></asset><worldbody>
<geom name="floor" type="plane" size="1 1 1"/><body name="b" pos="0 0 .06"><freejoint/>
<geom name="g" type="mesh" mesh="m" friction=".3" {mass}/></body></worldbody></mujoco>"""


def obj_of(*boxes: tuple[float, float], hole: bool = False) -> str:
    """Cubes of half an edge at places along x."""
    text, first = "", 1
    for i, (x, half) in enumerate(boxes):
        surface = primitives.box(np.full(3, half), 1)
        text += f"o piece_{i}\n"
        for vertex in surface.vertices + np.array([x, 0.0, 0.0]):
            text += "v {} {} {}\n".format(*vertex)
        for face in surface.faces[1 if hole and i == 0 else 0 :] + first:
            text += "f {}//1 {}//1 {}//1\n".format(*face)
        first += len(surface.vertices)
    return text


@pytest.fixture
def two(tmp_path):
    (tmp_path / "two.obj").write_text(obj_of((-0.1, 0.05), (0.1, 0.025)))
    return tmp_path


def model_of(folder, mass: str = "", file: str = "two.obj"):
    (folder / "scene.xml").write_text(XML.format(file=file, mass=mass))
    return asp.load_model(folder / "scene.xml")


def test_every_object_is_a_geom_with_its_mass(two):
    model, report = model_of(two)
    assert any("'two.obj' (2)" in note for note in report.notes)
    assert model.ngeom == 3
    assert model.body("b").mass[0] == pytest.approx(1000 * (0.1**3 + 0.05**3), rel=1e-5)
    centre = (-0.1 * 0.1**3 + 0.1 * 0.05**3) / (0.1**3 + 0.05**3)
    assert model.body("b").ipos[0] == pytest.approx(centre, rel=1e-5)
    np.testing.assert_allclose(model.geom_friction[1:, 0], 0.3)
    assert mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_GEOM, 1) == "g"
    # Where they are, whatever MuJoCo does to the frames of meshes.
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    np.testing.assert_allclose(data.geom_xpos[1:, 0], [-0.1, 0.1], atol=1e-6)


def test_a_mass_is_shared_by_volume(two):
    model, _ = model_of(two, 'mass="3"')
    assert model.body("b").mass[0] == pytest.approx(3.0)
    centre = (-0.1 * 0.1**3 + 0.1 * 0.05**3) / (0.1**3 + 0.05**3)
    assert model.body("b").ipos[0] == pytest.approx(centre, rel=1e-5)


@pytest.mark.parametrize("integrator", [asp.Icf(time_step=2e-3), asp.Midas(verify=True)])
def test_between_the_objects_there_is_room(two, integrator):
    """A ball falls between two cubes, in whose common hull it would not."""
    (two / "scene.xml").write_text(
        XML.format(file="two.obj", mass="").replace(
            "</worldbody>",
            '<body pos="0.01 0 .2"><freejoint/><geom size=".02"/></body></worldbody>',
        )
    )
    sim = asp.Simulator(two / "scene.xml", integrator=integrator)
    assert sim.advance_to(1.0).success
    ball = sim.data.qpos[7:10]
    assert 0.015 < ball[2] < 0.025


def test_what_is_not_closed_stays_together():
    objects = read_objects(obj_of((0.0, 0.05), (0.2, 0.05), (0.4, 0.05), hole=True))
    assert sorted(len(piece.faces) for piece in objects) == [11, 12, 12]
    one = read_objects(obj_of((0.0, 0.05)))
    assert len(one) == 1


def test_visual_meshes_are_left_alone(two):
    (two / "scene.xml").write_text(XML.format(file="two.obj", mass='contype="0" conaffinity="0"'))
    with pytest.warns(asp.AsperityWarning):
        model, report = asp.load_model(two / "scene.xml")
    assert model.ngeom == 2
    assert not any("OBJ" in note for note in report.notes)


def test_a_urdf_gets_them_too(two):
    (two / "r.urdf").write_text(
        '<robot name="r"><link name="base"><inertial><mass value="1"/><inertia ixx=".1" iyy=".1" '
        'izz=".1" ixy="0" ixz="0" iyz="0"/></inertial><collision><geometry><mesh '
        'filename="two.obj"/></geometry></collision></link></robot>'
    )
    with pytest.warns(asp.AsperityWarning):
        model, report = asp.load_model(two / "r.urdf", floating_base=True)
    assert model.ngeom == 2
    assert any("'two.obj' (2)" in note for note in report.notes)
