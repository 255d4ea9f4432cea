"""Flat parts of height fields are as smooth as planes, whatever prisms they are made of."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import asperity as asp

G = 9.81
SLOPE, HEADING = 0.2, 0.7
MAKERS = {
    "icf": lambda: asp.Icf(time_step=2e-3),
    "cenic": lambda: asp.Cenic(accuracy=1e-3),
    "tamsi": lambda: asp.Tamsi(time_step=2e-3),
}


def _model(geom: str, points: int, friction: float, turn: float = 0.0) -> mujoco.MjModel:
    """A body over a field of 8 by 8 m that is 2 m high at most."""
    return mujoco.MjModel.from_xml_string(
        f"<mujoco><compiler angle='radian'/><asset><hfield name='ground' nrow='{points}' "
        f"ncol='{points}' size='4 4 2 .2'/></asset>"
        f"<default><geom friction='{friction} 0 0'/></default><worldbody>"
        f"<geom type='hfield' hfield='ground' euler='0 0 {turn}'/>"
        f"<body><freejoint/><geom {geom} mass='1'/></body></worldbody></mujoco>"
    )


def _downhill(geom: str, height: float, friction: float, maker: str, points: int) -> float:
    """Speed of a body after a second on a slope, whose geom is so high over its lowest point."""
    model = _model(geom, points, friction, HEADING)
    x = np.linspace(-4.0, 4.0, points)
    model.hfield_data[:] = np.tile(0.5 * (1.0 + x * math.tan(SLOPE)), (points, 1)).ravel()
    turn = Rotation.from_euler("z", HEADING)
    normal = turn.apply([-math.sin(SLOPE), 0.0, math.cos(SLOPE)])
    down = turn.apply([-math.cos(SLOPE), 0.0, -math.sin(SLOPE)])
    axes = Rotation.from_matrix(np.stack([-down, np.cross(normal, -down), normal], axis=1))
    sim = asp.Simulator(model, integrator=MAKERS[maker]())
    start = turn.apply([2.0, 0.1, 0.0])
    start[2] += 1.0 + 2.0 * math.tan(SLOPE)
    sim.data.qpos[:3] = start + (height - 1e-5) * normal
    sim.data.qpos[3:] = axes.as_quat(scalar_first=True)
    sim.advance_to(1.0)
    velocity = sim.data.qvel[:3]
    speed = float(velocity @ down)
    assert np.linalg.norm(velocity - speed * down) < 2e-3
    return speed


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("points", [41, 121])
def test_a_ball_rolls_downhill(maker: str, points: int) -> None:
    speed = _downhill("size='.1'", 0.1, 0.8, maker, points)
    assert speed == pytest.approx(5.0 / 7.0 * G * math.sin(SLOPE), rel=5e-4)


@pytest.mark.parametrize("maker", MAKERS)
def test_a_box_slides_downhill(maker: str) -> None:
    speed = _downhill("type='box' size='.15 .1 .05'", 0.05, 0.1, maker, 121)
    assert speed == pytest.approx(G * (math.sin(SLOPE) - 0.1 * math.cos(SLOPE)), rel=5e-4)


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize(
    ("geom", "height"),
    [
        ("size='.1'", 0.1),
        ("type='box' size='.15 .1 .05'", 0.05),
        ("type='capsule' size='.05 .2' euler='0 1.5707963 0'", 0.05),
        ("type='cylinder' size='.1 .05'", 0.05),
        ("type='ellipsoid' size='.2 .1 .08'", 0.08),
    ],
)
@pytest.mark.parametrize("axis", [0, 1])
def test_nothing_stops_what_glides_without_friction(
    geom: str, height: float, maker: str, axis: int
) -> None:
    model = _model(geom, 41, 0.0)
    model.hfield_data[:] = 0.25
    sim = asp.Simulator(model, integrator=MAKERS[maker]())
    sim.data.qpos[:3] = [0.013, 0.013, 0.5 + height]
    sim.data.qpos[axis] = -3.0
    sim.data.qvel[axis] = 2.0
    sim.advance_to(2.0)
    np.testing.assert_allclose(sim.data.qvel[:2], 2.0 * np.eye(2)[axis], atol=1e-3)


def test_the_side_of_a_field_stops_a_box() -> None:
    """Just below its upper edge, where the ground is flat, too."""
    model = _model("type='box' size='.15 .1 .05'", 41, 0.0)
    model.hfield_data[:] = 0.25
    model.opt.gravity[:] = 0.0
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=2e-3))
    sim.data.qpos[:3] = [-4.16, 0.013, 0.44]
    sim.data.qvel[0] = 0.5
    sim.advance_to(0.3)
    assert sim.data.qvel[0] < 0.05
    assert sim.data.qpos[0] < -4.14
    assert abs(sim.data.qpos[2] - 0.44) < 3e-3


def test_ground_that_a_user_changes_counts() -> None:
    """A ball at rest on level ground rolls when that becomes a slope."""
    model = _model("size='.1'", 41, 0.8)
    model.hfield_data[:] = 0.5
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=2e-3))
    sim.data.qpos[2] = 1.1
    sim.advance_to(0.5)
    assert abs(sim.data.qvel[0]) < 1e-6
    sim.model.hfield_data[:] = np.tile(0.5 - 0.05 * np.linspace(-4.0, 4.0, 41), (41, 1)).ravel()
    sim.data.qpos[2] = 1.1 * math.hypot(1.0, 0.1)
    sim.data.qvel[:] = 0.0
    sim.advance_to(1.5)
    assert sim.data.qvel[0] == pytest.approx(5 / 7 * G * 0.1 / 1.01, rel=0.01)


def test_contacts_of_rough_ground_are_mujoco_s() -> None:
    model = _model("type='box' size='.15 .1 .05'", 41, 0.5)
    random = np.random.default_rng(0)
    model.hfield_data[:] = 0.25 + 0.01 * random.uniform(size=41 * 41)
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=2e-3))
    found = 0
    for turn in Rotation.random(20, random_state=1):
        sim.data.qpos[:2] = random.uniform(-2.0, 2.0, 2)
        sim.data.qpos[2] = 0.6
        sim.data.qpos[3:] = turn.as_quat(scalar_first=True)
        reference = mujoco.MjData(model)
        while True:
            reference.qpos[:] = sim.data.qpos
            mujoco.mj_forward(model, reference)
            if reference.ncon > 0 and reference.contact.dist.min() < 0.0:
                break
            sim.data.qpos[2] -= 0.002
        sim.advance_to(sim.time)
        found += reference.ncon
        normals = reference.contact.frame[:, :3]
        assert {tuple(n) for n in sim.contacts.normal} == {tuple(n) for n in normals}
    assert found > 20
