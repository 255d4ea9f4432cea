"""Cables of MJCF before MuJoCo 4."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

import asperity as asp

ELASTIC = (
    "<plugin plugin='mujoco.elasticity.cable'><config key='twist' value='2e6'/>"
    "<config key='bend' value='3e6'/></plugin>"
)
GEOM = "<geom type='capsule' size='.01' rgba='1 0 0 1'/>"
EXTENSION = "<extension><plugin plugin='mujoco.elasticity.cable'/></extension>"


def _text(inner: str, attributes: str = "", *, more: str = "") -> str:
    return (
        f"<mujoco>{EXTENSION}<worldbody><composite type='cable' curve='s' count='5 1 1' size='.4'"
        f" prefix='c' offset='0 0 1' {attributes}>{inner}</composite></worldbody>{more}</mujoco>"
    )


def _name(model: mujoco.MjModel, kind: mujoco.mjtObj, count: int) -> list[str]:
    return [mujoco.mj_id2name(model, kind, index) for index in range(count)]


def test_names_and_stiffness() -> None:
    joint = "<joint kind='main' damping='.02' armature='.001'/>"
    model, report = asp.load_model(_text(ELASTIC + joint + GEOM, "initial='none'"))
    kinds = mujoco.mjtObj
    bodies = ["world", "cB_first", "cB_1", "cB_2", "cB_last"]
    assert _name(model, kinds.mjOBJ_BODY, model.nbody) == bodies
    assert _name(model, kinds.mjOBJ_GEOM, model.ngeom) == ["cG0", "cG1", "cG2", "cG3"]
    assert _name(model, kinds.mjOBJ_SITE, model.nsite) == ["cS_first", "cS_last"]
    assert model.njnt == 9
    assert model.nexclude == 3
    assert "became bodies" in report.notes[0]
    inertia = np.pi * 0.01**4 / 4.0
    for letter, expected in (
        ("x", 2e6 * 2.0 * inertia),
        ("y", 3e6 * inertia),
        ("z", 3e6 * inertia),
    ):
        for joint in ("cJ_1", "cJ_2", "cJ_last"):
            stiffness = model.joint(f"{joint}_{letter}").stiffness[0]
            assert stiffness == pytest.approx(expected / 0.1, rel=1e-12)
    assert model.dof_damping == pytest.approx(0.02)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    assert data.site("cS_last").xpos == pytest.approx([0.4, 0.0, 1.0])


@pytest.mark.parametrize(
    ("initial", "first"),
    [("free", mujoco.mjtJoint.mjJNT_FREE), ("ball", mujoco.mjtJoint.mjJNT_BALL)],
)
def test_the_first_body_is_held_as_the_text_says(initial: str, first: mujoco.mjtJoint) -> None:
    model, _ = asp.load_model(_text(GEOM, f"initial='{initial}'"))
    assert int(model.jnt_type[0]) == int(first)
    assert np.all(model.jnt_type[1:] == int(mujoco.mjtJoint.mjJNT_BALL))
    assert model.joint("cJ_first").id == 0


def test_curves_turn_with_their_quaternion() -> None:
    text = _text(ELASTIC + GEOM, "initial='none' quat='0.7071067811865476 0 0 0.7071067811865476'")
    text = text.replace("curve='s'", "curve='cos(s) sin(s) s'").replace("'.4'", "'.3 .1 2'")
    model, _ = asp.load_model(text)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    s = np.linspace(0.0, 1.0, 5)
    turn = 2.0 * np.pi * s
    points = np.stack([-0.1 * np.sin(turn), 0.1 * np.cos(turn), 1.0 + 0.3 * s], axis=1)
    assert data.xpos[1:] == pytest.approx(points[:-1], abs=1e-12)
    assert data.site("cS_last").xpos == pytest.approx(points[-1], abs=1e-12)


def test_a_file_with_instances_and_an_include(tmp_path: Path) -> None:
    (tmp_path / "floor.xml").write_text(
        "<mujoco><worldbody><geom name='floor' type='plane' size='1 1 1'/></worldbody></mujoco>"
    )
    instance = (
        "<include file='floor.xml'/><extension><plugin plugin='mujoco.elasticity.cable'>"
        "<instance name='soft'><config key='bend' value='3e6'/></instance></plugin></extension>"
    )
    text = _text("<plugin instance='soft'/>" + GEOM).replace(EXTENSION, instance)
    (tmp_path / "cable.xml").write_text(text)
    model, _ = asp.load_model(tmp_path / "cable.xml")
    assert model.geom("floor").id >= 0
    assert model.joint("cJ_1_y").stiffness[0] == pytest.approx(3e7 * np.pi * 0.01**4 / 4.0)
    assert model.joint("cJ_1_x").stiffness[0] == 0.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (_text("<geom type='sphere' size='.1'/>"), "no geom of type capsule, cylinder or box"),
        (_text(GEOM).replace("5 1 1", "2 1 1"), "less than three points"),
        (_text(GEOM, "vertex='0 0 0 0 0 0 1 0 0'"), "an edge without length"),
        (_text(GEOM, "vertex='0 0 0 1 0 0 2 x 0'"), "has the vertex '0 0 0 1 0 0 2 x 0'"),
        (_text("<plugin instance='soft'/>" + GEOM), "has the plugin instance 'soft', which no"),
        (_text("<plugin plugin='my.own'/>" + GEOM), "has the plugin 'my.own'; only"),
    ],
)
def test_cables_that_are_not_understood(text: str, message: str) -> None:
    with pytest.raises(asp.ModelError, match=f"XML string: the cable in line 1 .*{message}"):
        asp.load_model(text)
