"""Flat parts of height fields are as smooth as planes, whatever prisms they are made of."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import asperity as asp
from asperity.derivatives import linearize

G = 9.81
SLOPE, HEADING = 0.2, 0.7
BOX, CAPSULE = "type='box' size='.15 .1 .05'", "type='capsule' size='.05 .2'"
LYING = " euler='0 1.5707963 0'"
MAKERS = {
    "icf": lambda: asp.Icf(time_step=2e-3),
    "cenic": lambda: asp.Cenic(accuracy=1e-4),
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


GLIDERS = {"cylinder": ("type='cylinder' size='.1 .05'", 0.17), "box": (BOX, 0.12)}


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("glider", GLIDERS)
def test_nothing_stops_what_glides_along_a_ditch(glider: str, maker: str) -> None:
    """The ground falls off under its side, at whose edge MuJoCo's normals lean along the ditch.

    How often a box would meet one depends on where it starts.
    """
    geom, beside = GLIDERS[glider]
    for start in -3.0 + 1e-3 * np.arange(9):
        model = _model(geom, 41, 0.0)
        heights = np.full((41, 41), 0.25)
        heights[22:] = 0.2
        model.hfield_data[:] = heights.ravel()
        sim = asp.Simulator(model, integrator=MAKERS[maker]())
        sim.data.qpos[:3] = [start, beside, 0.55]
        sim.data.qvel[0] = 2.0
        sim.advance_to(2.0)
        assert sim.data.qvel[0] == pytest.approx(2.0, abs=1e-3)


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


def test_normals_of_rough_ground_are_mujoco_s_but_those_of_prisms_sides() -> None:
    model = _model("type='box' size='.15 .1 .05'", 41, 0.5)
    random = np.random.default_rng(0)
    model.hfield_data[:] = 0.25 + 0.01 * random.uniform(size=41 * 41)
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=2e-3))
    found = sides = 0
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
        normals = reference.contact.frame[:, :3]
        found += len(normals)
        upright = normals[:, 2] > 1e-3
        sides += np.count_nonzero(~upright)
        assert {tuple(n) for n in sim.contacts.normal} == {tuple(n) for n in normals[upright]}
    assert found > 20
    assert sides > 0


def _on_a_plane(model: mujoco.MjModel, geom: str) -> mujoco.MjModel:
    """The same body on a plane that is as high as the field."""
    friction = float(model.geom_friction[1, 0])
    return mujoco.MjModel.from_xml_string(
        "<mujoco><compiler angle='radian'/>"
        f"<default><geom friction='{friction} 0 0'/></default><worldbody>"
        "<geom type='plane' size='4 4 1' pos='0 0 .5'/>"
        f"<body><freejoint/><geom {geom} mass='1'/></body></worldbody></mujoco>"
    )


@pytest.mark.parametrize("geom", [BOX, CAPSULE])
@pytest.mark.parametrize("points", [5, 61])
def test_a_flat_field_is_a_plane(geom: str, points: int) -> None:
    model = _model(geom, points, 0.4, HEADING)
    model.hfield_data[:] = 0.25
    start = np.array([0.3, -0.4, 0.8, 0.9, 0.3, -0.2, 0.1])
    ends = []
    for one in (model, _on_a_plane(model, geom)):
        sim = asp.Simulator(one, integrator=asp.Icf(time_step=2e-3))
        sim.data.qpos[:] = start
        sim.data.qvel[:] = [0.5, 0.2, 0.0, 1.0, -2.0, 3.0]
        sim.advance_to(1.0)
        ends.append(sim.data.qpos.copy())
    np.testing.assert_allclose(*ends, atol=1e-4)


@pytest.mark.parametrize(
    ("geom", "height"),
    [(BOX, 0.05), (CAPSULE + LYING, 0.05), ("type='cylinder' size='.1 .05'" + LYING, 0.1)],
)
def test_derivatives_are_those_on_a_plane(geom: str, height: float) -> None:
    model = _model(geom, 5, 0.4)
    model.hfield_data[:] = 0.25
    derivatives = []
    for one in (model, _on_a_plane(model, geom)):
        data = mujoco.MjData(one)
        data.qpos[:3] = [0.3, -0.4, 0.5 + height - 1e-4]
        derivatives.append(linearize(one, data, integrator=asp.Icf(time_step=5e-3)).A)
    np.testing.assert_allclose(*derivatives, rtol=1e-5, atol=1e-6)


HULL = "type='mesh' mesh='hull'"
SHAPES = {
    "box": BOX,
    "hull": HULL,
    "cylinder": "type='cylinder' size='.1 .05'",
}


def _stands(geom: str, heights: np.ndarray, place: tuple[float, float], maker: str) -> None:
    """A body that lies on ground, which may slope along x, stays where it is."""
    points = len(heights)
    corners = " ".join(f"{x} {y} {z}" for x in (-0.1, 0.1) for y in (-0.06, 0.06) for z in (0, 0.1))
    model = mujoco.MjModel.from_xml_string(
        f"<mujoco><compiler angle='radian'/><asset><mesh name='hull' vertex='{corners}'/>"
        f"<hfield name='ground' nrow='{points}' ncol='{points}' size='4 4 2 .2'/></asset>"
        "<worldbody><geom type='hfield' hfield='ground' friction='.8'/>"
        f"<body><freejoint/><geom {geom} mass='1' friction='.8'/></body></worldbody></mujoco>"
    )
    model.hfield_data[:] = heights.ravel()
    sim = asp.Simulator(model, integrator=MAKERS[maker]())
    slope = math.atan(2.0 * (heights[0, 1] - heights[0, 0]) / (8.0 / (points - 1)))
    sim.data.qpos[:2] = place
    ground = 2.0 * heights[0, 0] + (place[0] + 4.0) * math.tan(slope)
    sim.data.qpos[2] = ground + (0.051 if geom is not HULL else 0.061) / math.cos(slope)
    sim.data.qpos[3:] = Rotation.from_euler("y", -slope).as_quat(scalar_first=True)
    sim.advance_to(0.5)
    before = sim.data.qpos.copy()
    fastest = 0.0
    for time in np.linspace(0.5, 1.5, 21)[1:]:
        sim.advance_to(time)
        fastest = max(fastest, float(np.abs(sim.data.qvel[3:]).max()))
    assert np.abs(sim.data.qpos[:3] - before[:3]).max() < 1e-5
    assert fastest < 1e-3


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("shape", SHAPES)
def test_what_lies_on_a_coarse_slope_stays(shape: str, maker: str) -> None:
    heights = np.tile(0.5 * (1.0 + np.linspace(-1.0, 1.0, 5) * math.tan(SLOPE)), (5, 1))
    _stands(SHAPES[shape], heights, (0.3, 0.4), maker)


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("shape", SHAPES)
def test_what_lies_beside_an_edge_stays(shape: str, maker: str) -> None:
    """The ground is flat where the body lies, and falls off in the cells at its side."""
    heights = np.full((17, 17), 0.25)
    heights[:, 9:] = 0.2
    _stands(SHAPES[shape], heights, (-0.16, 0.4), maker)


@pytest.mark.parametrize("geom", [BOX, CAPSULE, "type='ellipsoid' size='.2 .1 .08'", "size='.1'"])
@pytest.mark.parametrize("points", [5, 121])
@pytest.mark.parametrize("method", [asp.Icf, asp.Tamsi, asp.Sap])
def test_what_falls_fast_stops_at_the_ground(
    geom: str, points: int, method: type[asp.Integrator]
) -> None:
    """Steps take it farther than it is thick; MuJoCo looks at fifty prisms at most."""
    model = _model(geom, points, 0.4)
    model.hfield_data[:] = 0.25
    sim = asp.Simulator(model, integrator=method(time_step=1e-2))
    sim.data.qpos[:3] = [0.3, -0.4, 1.5]
    sim.data.qpos[3:] = Rotation.from_euler("xyz", [0.3, 0.2, 0.4]).as_quat(scalar_first=True)
    sim.data.qvel[2] = -20.0
    for time in np.linspace(0.0, 1.0, 51)[1:]:
        sim.advance_to(time)
        assert sim.data.qpos[2] > 0.45
        assert sim.data.qvel[2] < (10.0 if method is asp.Sap else 2.0)


def test_two_threads_find_the_same() -> None:
    """Contacts that are added stay in the order of one thread's."""
    bodies = "".join(
        f"<body pos='{-3 + 0.4 * (i % 16)} {-3 + 0.9 * (i // 16)} .6'><freejoint/>"
        f"<geom {(BOX, CAPSULE)[i % 2]} mass='1'/></body>"
        for i in range(80)
    )
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><asset><hfield name='ground' nrow='9' ncol='9' size='4 4 2 .2'/></asset>"
        f"<worldbody><geom type='hfield' hfield='ground'/>{bodies}</worldbody></mujoco>"
    )
    model.hfield_data[:] = 0.2 + 0.02 * np.random.default_rng(3).uniform(size=81)
    ends = []
    for threads in (1, 2):
        sim = asp.Simulator(model, integrator=asp.Icf(time_step=5e-3), threads=threads)
        sim.advance_to(0.5)
        ends.append(sim.data.qpos.copy())
    np.testing.assert_array_equal(*ends)
