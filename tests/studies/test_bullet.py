"""Models in Bullet are the same as in MuJoCo."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from asperity.errors import ModelError
from asperity.scenes.gripper_tasks import cup_placing
from studies.experiments.engines import peer_model
from studies.peers.bullet import BulletWorld

pytest.importorskip("pybullet")

# Frames, inertial frames and geoms are all turned against one another.
TREE = """
<mujoco><worldbody>
<body pos='1 2 3' euler='10 20 30'><freejoint/>
  <inertial pos='.1 .2 .3' euler='30 5 70' mass='1' diaginertia='.01 .012 .015'/>
  <geom type='box' pos='.5 0 0' euler='0 0 40' size='.1 .2 .3'/></body>
<body pos='-1 0 0' euler='0 30 0'><joint type='slide' axis='0 0 1'/>
  <inertial pos='.1 .2 .3' euler='30 5 70' mass='1' diaginertia='.01 .012 .015'/>
  <body pos='-1 .5 0' euler='10 30 0'><joint type='hinge' axis='0 1 0'/>
    <inertial pos='.1 .2 .3' euler='30 5 70' mass='1' diaginertia='.01 .012 .015'/></body></body>
</worldbody></mujoco>"""


def moved(model: mujoco.MjModel, time: float) -> mujoco.MjData:
    data = mujoco.MjData(model)
    model.opt.timestep = 1e-4
    while data.time < time - 5e-5:
        mujoco.mj_step(model, data)
    mujoco.mj_kinematics(model, data)
    return data


@pytest.mark.parametrize("hulls", [False, True])
def test_bodies_start_and_fall_as_in_mujoco(hulls: bool) -> None:
    model = mujoco.MjModel.from_xml_string(TREE)
    start = mujoco.MjData(model)
    mujoco.mj_kinematics(model, start)
    with BulletWorld(model, hulls=hulls, time_step=1e-4) as world:
        position, rotation = world.poses()
        np.testing.assert_allclose(position, start.xpos, atol=1e-6)
        np.testing.assert_allclose(rotation.reshape(-1, 9), start.xmat, atol=1e-6)
        for _ in range(3000):
            world.step(np.zeros(0))
        position, rotation = world.poses()
    end = moved(model, 0.3)
    np.testing.assert_allclose(position, end.xpos, atol=2e-4)
    np.testing.assert_allclose(rotation.reshape(-1, 9), end.xmat, atol=1e-3)


def test_motor_and_friction() -> None:
    """A box of 1 kg on the floor, pushed with 6 N at a friction of 0.5, slides at 1.1 m/s²."""
    xml = """
    <mujoco><option gravity='0 0 -9.81'/><default><geom friction='.5'/></default><worldbody>
    <geom type='plane' size='1 1 1'/>
    <body name='push' pos='0 0 .1'><joint name='x' type='slide' axis='1 0 0'/>
      <inertial pos='0 0 0' mass='1e-3' diaginertia='1e-6 1e-6 1e-6'/>
      <body name='box'><joint type='slide' axis='0 0 1'/>
        <geom type='box' size='.1 .1 .1' mass='1'/></body></body>
    </worldbody><actuator><motor joint='x'/></actuator></mujoco>"""
    model = mujoco.MjModel.from_xml_string(xml)
    with BulletWorld(model, time_step=1e-3) as world:
        for _ in range(500):
            world.step(np.array([6.0]))
        position, _ = world.poses()
    assert position[2, 0] == pytest.approx(0.5 * (6.0 - 0.5 * 9.81) * 0.5**2, rel=2e-2)


def test_what_is_not_translated_is_refused() -> None:
    ball = "<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>"
    with pytest.raises(ModelError, match="neither box nor mesh"):
        BulletWorld(mujoco.MjModel.from_xml_string(ball))


def test_too_many_pieces_are_refused() -> None:
    boxes = "".join(f"<geom type='box' size='.1 .1 .1' pos='{i} 0 0'/>" for i in range(17))
    xml = f"<mujoco><worldbody><body name='long'><freejoint/>{boxes}</body></worldbody></mujoco>"
    with pytest.raises(ModelError, match="'long' has more than 16 pieces"):
        BulletWorld(mujoco.MjModel.from_xml_string(xml))


@pytest.mark.parametrize("hulls", [False, True])
def test_every_piece_of_the_cup_is_there(hulls: bool) -> None:
    """Rays from the side, above and below meet the cup where it is, to Bullet's margins."""
    model = peer_model(cup_placing(5.0))
    flat = 0.035 * np.cos(np.pi / 12)
    with BulletWorld(model, hulls=hulls) as world:
        client, start = world._client, np.array(model.body("cup").pos)
        above, below = (start + np.array([0.0, 0.0, z]) for z in (0.05, -0.01))
        middle = start + np.array([0.0, 0.0, 0.03])
        for k in range(12):
            way = np.array([np.cos(k * np.pi / 6), np.sin(k * np.pi / 6), 0.0])
            ((_, _, _, hit, _),) = client.rayTest(middle + 0.05 * way, middle)
            assert np.linalg.norm(hit - middle) == pytest.approx(flat, abs=1.1e-3)
        ((_, _, _, hit, _),) = client.rayTest(above, below)
        assert hit[2] == pytest.approx(start[2] + 1e-3, abs=1.1e-3)
