"""Springs, dampers and limits of ball and free joints."""

from __future__ import annotations

import engines
import mujoco
import numpy as np
import pytest
from engines import engine_of, hessian, move_to, potential
from scipy.integrate import solve_ivp

import asperity as asp
from asperity.midas.time.step_start import prepare_step

pytestmark = pytest.mark.filterwarnings("ignore::asperity.AsperityWarning")

G = 9.81
ROD = '<geom type="capsule" fromto="0 0 0 .5 0 0" size=".02" mass="1"/>'
BALL = """<mujoco><compiler autolimits="true"/><option {option}><flag contact="disable"/></option><worldbody>
<body pos="0 0 1"><joint name="j" type="ball" {joint}/>{rod}</body></worldbody></mujoco>"""


def ball(joint: str, option: str = "", **options) -> asp.Simulator:
    xml = BALL.format(joint=joint, option=option, rod=ROD)
    return asp.Simulator(xml, integrator=asp.Midas(**options))


def angle_of(quaternion: np.ndarray) -> float:
    return 2 * np.arctan2(np.linalg.norm(quaternion[1:]), abs(quaternion[0]))


CHAIN = """<mujoco><compiler autolimits="true"/><option gravity="0 0 -2"/><worldbody>
<body name="base" pos="0 0 1"><joint type="free" stiffness="30" damping=".4"/>
 <geom type="box" size=".05 .05 .03" mass="2"/>
 <body pos=".1 0 .06" euler="10 20 30"><joint type="slide" axis="1 .2 .3" stiffness="50"/><geom size=".03" mass=".3"/>
  <body pos=".1 .02 0" euler="5 -20 10"><joint name="ball" type="ball" stiffness="2" damping=".1" range="0 40"/>
   <geom type="capsule" fromto="0 0 0 .2 0 0" size=".01" mass=".2"/>
   <body pos=".2 0 0"><joint type="ball" damping=".05" stiffness=".7"/>
    <geom type="box" size=".02 .03 .01" pos=".03 0 0" mass=".2"/></body></body></body></body>
</worldbody></mujoco>"""


def disturbed(size: float):
    """A chain within a step, its first ball joint within the reach of its limit."""
    engine = engine_of(CHAIN)
    rng = np.random.default_rng(3)
    data = engine.data
    data.qpos[8:12] = (np.cos(0.3461), *(np.sin(0.3461) * np.array([0.6, 0.0, 0.8])))
    data.qpos[:3] += (0.1, 0.05, -0.02)
    data.qpos[12:16] = (0.9, 0.1, -0.3, 0.2)
    mujoco.mj_normalizeQuat(engine.model, data.qpos)
    engine.set_state(data.qpos, rng.normal(size=engine.model.nv))
    engine.read_inputs()
    table = engine.table
    # As if it had come there by itself.
    table.turns.width[:] = table.turns.activation
    assert prepare_step(table, 0.01, False) == 0
    assert table.turns.bound.max() - np.sin(0.3461) ** 2 < table.turns.width[table.turns.kind == 2]
    return engine, table.poses.z + size * rng.normal(size=table.poses.z.shape), rng


@pytest.mark.parametrize("size", [0.0, 1e-5])
def test_gradient_is_the_slope_of_the_potential(size):
    engine, z, rng = disturbed(size)
    move_to(engine, z)
    engines.assemble(engine)
    slope = engine.table.newton.gradient.copy()
    step = 1e-7
    for _ in range(20):
        direction = rng.normal(size=z.shape)
        ends = [potential(engine, z + s * step * direction) for s in (-2, -1, 1, 2)]
        expected = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / (12 * step)
        assert slope @ direction == pytest.approx(
            expected, rel=1e-5, abs=1e-6 * np.linalg.norm(slope)
        )


def test_hessian_has_all_that_these_terms_do_to_rigid_links():
    engine, z, rng = disturbed(0.0)

    def gradient(at):
        move_to(engine, at)
        engines.assemble(engine, curved=True)
        return engine.table.newton.gradient.copy()

    gradient(z)
    matrix = hessian(engine)
    for _ in range(20):
        direction = rng.normal(size=z.shape)
        ends = [gradient(z + s * 1e-7 * direction) for s in (-2, -1, 1, 2)]
        expected = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / (12e-7)
        np.testing.assert_allclose(
            matrix @ direction, expected, atol=1e-6 * np.linalg.norm(expected)
        )


@pytest.mark.parametrize("start", [0.5, 2.5])
def test_ball_spring_swings_as_its_differential_equation_says(start):
    """About the rod's main axis across: I α̈ = −k α − d α̇."""
    sim = ball(
        'stiffness="2" damping=".05"',
        'gravity="0 0 0"',
        time_step=1e-3,
        time_scheme="bdf2",
        tolerance=1e-8,
    )
    sim.data.qpos[:] = (np.cos(start / 2), 0, 0, np.sin(start / 2))
    inertia = sim.model.body_inertia[1].max() + sim.model.body_ipos[1, 0] ** 2
    times = np.arange(0.1, 1.01, 0.1)
    exact = solve_ivp(
        lambda t, y: [y[1], -(2 * y[0] + 0.05 * y[1]) / inertia],
        (0, 1),
        [start, 0],
        rtol=1e-9,
        atol=1e-11,
        t_eval=times,
    ).y[0]
    for time, angle in zip(times, exact, strict=True):
        assert sim.advance_to(time).success
        quaternion = sim.data.qpos * np.sign(sim.data.qpos[0])
        assert 2 * np.arcsin(quaternion[3]) == pytest.approx(angle, abs=4e-3 * start)


def test_ball_spring_holds_the_weight_it_must():
    """At rest k α is the moment of the weight, α the bend from the spring's rest."""
    sim = ball('stiffness="20" damping="2"')
    assert sim.advance_to(5.0).success
    angle = angle_of(sim.data.qpos)
    arm = sim.model.body_ipos[1, 0]
    assert 20 * angle == pytest.approx(G * arm * np.cos(angle), rel=1e-5)


@pytest.mark.parametrize("spin", [0.0, 30.0, -300.0])
def test_ball_limits_are_never_passed(spin):
    sim = ball('range="0 50"')
    limit = sim.model.jnt_range[0, 1]
    sim.data.qvel[:] = (spin, 0.5 * spin, -0.7 * spin)
    for _ in range(300):
        assert sim.step().success
        assert angle_of(sim.data.qpos) < limit
    if spin == 0.0:
        # It falls on the limit and rests there, a hair away, carried by it.
        assert limit - angle_of(sim.data.qpos) < 0.01
        assert np.abs(sim.data.qvel).max() < 1e-5


def test_states_beyond_a_ball_limit_are_refused_or_brought_back():
    turned = (np.cos(0.5), 0, np.sin(0.5), 0)
    sim = ball('range="0 50"')
    sim.data.qpos[:] = turned
    with pytest.raises(asp.ModelError, match=r"'j' is turned by 1 rad, and its range ends at 0.87"):
        sim.step()
    sim = ball('range="0 50"', overlaps="separate")
    sim.data.qpos[:] = turned
    assert sim.step().success
    assert 0.85 < angle_of(sim.data.qpos) < sim.model.jnt_range[0, 1]
    sim = ball('range="0 50"')
    sim.data.qpos[:] = (np.cos(np.deg2rad(25)), 0, np.sin(np.deg2rad(25)), 0)
    assert sim.step().success


def test_free_joint_on_its_spring_swings_and_settles():
    xml = """<mujoco><option><flag contact="disable"/></option><worldbody>
    <body pos="0 0 1"><joint type="free" stiffness="50" damping="{damping}"/>
    <geom type="box" size=".1 .1 .1" mass="2"/></body></worldbody></mujoco>"""
    sim = asp.Simulator(
        xml.format(damping=0),
        integrator=asp.Midas(time_step=1e-3, time_scheme="bdf2", tolerance=1e-8),
    )
    for time in (0.2, 0.5, 1.0):
        assert sim.advance_to(time).success
        fall = 2 * G / 50 * (1 - np.cos(5 * time))
        assert sim.data.qpos[2] == pytest.approx(1 - fall, abs=5e-4)
    sim = asp.Simulator(xml.format(damping=20), integrator=asp.Midas())
    sim.data.qvel[:] = (1, 2, 0, 1, -2, 3)
    assert sim.advance_to(8.0).success
    np.testing.assert_allclose(sim.data.qpos, [0, 0, 1 - 2 * G / 50, 1, 0, 0, 0], atol=1e-4)


def test_free_damper_slows_down_as_implicit_euler_does():
    xml = """<mujoco><option gravity="0 0 0"/><worldbody>
    <body><joint type="free" damping=".3"/><geom type="sphere" size=".1" mass="2"/></body></worldbody></mujoco>"""
    sim = asp.Simulator(xml, integrator=asp.Midas(time_scheme="implicit-euler", tolerance=1e-9))
    sim.data.qvel[:] = (1, 0, 0, 0, 0.02, 0)
    assert sim.advance_to(0.5).success
    inertia = sim.model.body_inertia[1, 0]
    assert sim.data.qvel[0] == pytest.approx((1 + 0.01 * 0.3 / 2) ** -50, rel=1e-6)
    assert sim.data.qvel[4] == pytest.approx(0.02 * (1 + 0.01 * 0.3 / inertia) ** -50, rel=1e-3)


def test_springs_that_are_not_linear_are_named():
    with pytest.raises(asp.ModelError, match="'j' has a spring or damper that is not linear"):
        ball('stiffness="1 2"')


def test_a_ball_joint_without_any_range_is_held() -> None:
    """MuJoCo loads it, as `limited` without a range, and holds it at its reference."""
    xml = """<mujoco><worldbody><body><joint name="neck" type="ball" limited="true" damping="5"/>
      <geom size=".1" pos=".3 0 0" mass="4"/></body></worldbody></mujoco>"""
    sim = asp.Simulator(xml, integrator=asp.Midas())
    sim.data.qvel[:] = (1.0, 2.0, -3.0)
    assert sim.advance_to(1.0).success
    # The weight at 1 m would bend it by a ten thousandth.
    assert angle_of(sim.data.qpos) == pytest.approx(0.3e-4, rel=2e-2)
    free = xml.replace("<worldbody>", '<option><flag limit="disable"/></option><worldbody>')
    sim = asp.Simulator(free, integrator=asp.Midas())
    assert sim.advance_to(0.1).success
    assert angle_of(sim.data.qpos) > 0.01
