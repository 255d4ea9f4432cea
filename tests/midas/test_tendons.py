"""Fixed tendons: springs, limits, couplings and motors on sums of joint coordinates; and strings."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import asperity as asp

pytestmark = pytest.mark.filterwarnings("ignore::asperity.AsperityWarning")

TWO = """<mujoco><option gravity="0 0 0"/><worldbody>
  <body><joint name="a" type="slide" axis="1 0 0" {a}/><geom size=".1" mass="2"/></body>
  <body pos="0 1 0"><joint name="b" type="slide" axis="1 0 0"/><geom size=".1" mass="3"/></body>
</worldbody><tendon><fixed name="t" {tendon}><joint joint="a" coef="2"/><joint joint="b" coef="-1"/>
</fixed></tendon>{more}</mujoco>"""


def midas(xml: str, **options) -> asp.Simulator:
    return asp.Simulator(xml, integrator=asp.Midas(**options))


def two(tendon: str = "", more: str = "", a: str = "", **options) -> asp.Simulator:
    return midas(TWO.format(tendon=tendon, more=more, a=a), **options)


def test_a_spring_swings_at_its_frequency():
    """L = 2a − b with 1/m = 4/2 + 1/3: L(t) = L₀ cos ωt, ω² = k (4/2 + 1/3)."""
    sim = two('stiffness="30" springlength="0"', time_step=1e-3, time_scheme="bdf2")
    sim.data.qpos[:] = (0.1, 0.05)
    assert sim.advance_to(0.5).success
    length = 2.0 * sim.data.qpos[0] - sim.data.qpos[1]
    assert length == pytest.approx(0.15 * np.cos(np.sqrt(70.0) * 0.5), abs=1e-4)
    # Its pull is as 2 to −1, so that 2·2a/2 … keeps m_a a/2 + m_b b.
    assert sim.data.qvel[0] * 2.0 / 2.0 + sim.data.qvel[1] * 3.0 == pytest.approx(0.0, abs=1e-9)


def test_damping_lets_lengths_decay():
    sim = two('damping="3"', time_step=1e-3, time_scheme="bdf2")
    sim.data.qvel[:] = (0.5, 0.0)
    assert sim.advance_to(0.2).success
    rate = 2.0 * sim.data.qvel[0] - sim.data.qvel[1]
    assert rate == pytest.approx(np.exp(-3.0 * 7.0 / 3.0 * 0.2), rel=1e-3)


def test_a_spring_is_slack_within_its_range():
    sim = two('stiffness="30" springlength="-.1 .2"')
    sim.data.qpos[:] = (0.05, 0.05)
    assert sim.advance_to(0.1).success
    np.testing.assert_array_equal(sim.data.qvel, 0.0)


def test_a_limit_is_never_passed():
    sim = two('limited="true" range="-.1 .2"', verify=True)
    sim.data.qfrc_applied[:] = (5.0, 0.0)
    for _ in range(50):
        assert sim.step().success
        assert -0.1 < 2.0 * sim.data.qpos[0] - sim.data.qpos[1] < 0.2 + 1e-9
    # The limit moves both now.
    assert sim.data.qvel[1] > 0.05


def test_a_length_beyond_the_limit_is_refused():
    sim = two('limited="true" range="-.1 .2"')
    sim.data.qpos[0] = 0.2
    with pytest.raises(asp.ModelError, match="Tendon 't' is longer or shorter"):
        sim.step()


def test_dry_friction_holds_up_to_its_force():
    # It sticks while the force that it takes, F/(2 + 1/3), is below 1 N.
    for force, moves in ((2.2, False), (3.0, True)):
        sim = two('frictionloss="1"')
        sim.data.qfrc_applied[0] = force
        assert sim.advance_to(0.5).success
        # The other end is dragged along: 2a − b rests, or slips.
        slip = abs(2.0 * sim.data.qpos[0] - sim.data.qpos[1])
        assert (slip > 0.01) == moves


def test_armature_is_inertia_of_the_length():
    sim = two('armature="1.5"', time_step=1e-3)
    sim.data.qfrc_applied[0] = 1.0
    assert sim.advance_to(0.1).success
    inertia = np.diag([2.0, 3.0]) + 1.5 * np.outer([2.0, -1.0], [2.0, -1.0])
    expected = 0.1 * np.linalg.solve(inertia, [1.0, 0.0])
    np.testing.assert_allclose(sim.data.qvel, expected, rtol=1e-6)


def test_a_motor_pulls_both_joints():
    sim = two(more='<actuator><motor name="m" tendon="t" gear="3"/></actuator>')
    sim.data.ctrl[0] = 2.0
    assert sim.advance_to(0.1).success
    np.testing.assert_allclose(sim.data.qvel, [0.1 * 12.0 / 2.0, -0.1 * 6.0 / 3.0], rtol=1e-9)
    np.testing.assert_allclose(sim.data.qfrc_actuator, [12.0, -6.0])
    assert sim.data.actuator_force[0] == pytest.approx(2.0)


def test_a_servo_holds_a_length():
    sim = two(more='<actuator><position tendon="t" kp="200" kv="30"/></actuator>', a='damping="5"')
    sim.data.ctrl[0] = 0.3
    assert sim.advance_to(3.0).success
    assert 2.0 * sim.data.qpos[0] - sim.data.qpos[1] == pytest.approx(0.3, abs=5e-4)


def test_lengths_are_coupled_as_in_a_differential():
    """A finger's tip bends as much as its middle: held to rounding, and as fast as MuJoCo's."""
    xml = """<mujoco><worldbody><body pos="0 0 1"><joint name="p" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 .1 0 0" size=".01" mass=".1"/>
      <body pos=".12 0 0"><joint name="m" axis="0 1 0"/>
       <geom type="capsule" fromto="0 0 0 .1 0 0" size=".01" mass=".1"/></body></body>
      <body pos="0 1 1"><joint name="q" axis="0 1 0"/>
       <geom type="capsule" fromto="0 0 0 .1 0 0" size=".01" mass=".2"/></body></worldbody>
      <tendon><fixed name="s"><joint joint="p" coef="1"/><joint joint="m" coef="2"/></fixed>
       <fixed name="u"><joint joint="q" coef="1"/></fixed></tendon>
      <equality><tendon tendon1="s" tendon2="u" polycoef="0 -1 .3 0 0"/></equality></mujoco>"""
    sim = midas(xml, time_step=2e-3, time_scheme="bdf2")
    for _ in range(50):
        assert sim.step().success
        p, m, q = sim.data.qpos
        assert p + 2.0 * m == pytest.approx(-q + 0.3 * q * q, abs=1e-9)
    model = mujoco.MjModel.from_xml_string(xml)
    model.opt.timestep = 1e-4
    model.eq_solref[0] = (2e-3, 1.0)
    data = mujoco.MjData(model)
    while data.time < 0.1:
        mujoco.mj_step(model, data)
    assert np.abs(data.qpos).max() > 0.02
    np.testing.assert_allclose(sim.data.qpos, data.qpos, atol=2e-3)


def test_a_length_that_ranges_do_not_allow_is_held_all_the_same():
    """As in a gripper whose reference pose is outside of its joints' ranges."""
    xml = """<mujoco><compiler angle="radian"/><option gravity="0 0 0"/><worldbody>
      <body><joint name="a" axis="0 1 0" ref="1.1" range="0 1.5" limited="true"/>
       <geom size=".02" pos=".1 0 0"/>
      <body pos="0 1 0"><joint name="b" axis="0 1 0" ref="-.5" range="0 2" limited="true"/>
       <geom size=".03" pos=".1 0 0"/></body></body></worldbody>
      <tendon><fixed name="t" limited="true" range=".64 5"><joint joint="a" coef=".4"/>
       <joint joint="b" coef="-.4"/></fixed></tendon>
      <equality><tendon tendon1="t"/></equality></mujoco>"""
    sim = midas(xml)
    assert any("'a'" in note and "contradicts" in note for note in sim.load_report.notes)
    sim.data.qfrc_applied[0] = 0.1
    assert sim.advance_to(0.1).success
    assert 0.4 * sim.data.qpos[0] - 0.4 * sim.data.qpos[1] == pytest.approx(0.64, abs=1e-9)


STRING = """<mujoco><worldbody><site name="nail" pos="0 0 1"/>
<body pos="{x} 0 1"><freejoint/><geom size=".02" mass=".2"/><site name="ball"/></body></worldbody>
<tendon><spatial name="string" limited="true" range="0 .3"><site site="nail"/><site site="ball"/>
</spatial></tendon></mujoco>"""


def test_a_ball_on_a_string_falls_freely_and_then_swings():
    sim = asp.Simulator(STRING.format(x=0.15), integrator=asp.Midas(time_step=0.005))
    for i in range(30):
        assert sim.advance_to(0.005 * (i + 1)).success
        assert np.hypot(0.15, 0.5 * 9.81 * sim.time**2) < 0.3
        assert sim.data.qpos[2] == pytest.approx(1 - 0.5 * 9.81 * sim.time**2, abs=0.005)
    lengths = []
    for i in range(30, 400):
        assert sim.advance_to(0.005 * (i + 1)).success
        lengths.append(float(np.linalg.norm(sim.data.qpos[:3] - [0, 0, 1])))
    assert max(lengths) < 0.3 + 1e-5
    # The jerk that ended its fall took the speed along the string; it swings, and stays taut.
    assert min(lengths[100:]) > 0.3 - 1e-5


def test_a_swing_on_a_string_is_a_pendulum():
    sim = asp.Simulator(STRING.format(x=0.3), integrator=asp.Midas(time_step=0.005))
    exact = solve_ivp(
        lambda _, y: [y[1], -9.81 / 0.3 * np.sin(y[0])],
        (0, 1),
        [np.pi / 2, 0.0],
        rtol=1e-9,
        atol=1e-9,
        t_eval=[0.25, 0.5, 0.75, 1.0],
    )
    for time, angle in zip(exact.t, exact.y[0], strict=True):
        assert sim.advance_to(time).success
        x, _, z = sim.data.qpos[:3]
        assert np.arctan2(x, 1 - z) == pytest.approx(angle, abs=0.02)


def test_what_starts_beyond_a_limit_comes_back_gently():
    """No faster than what is beyond it, over the 0.1 s in which a limit is restored."""
    free = '<option gravity="0 0 0"/><worldbody>'
    xml = STRING.format(x=0.35).replace("<worldbody>", free)
    sim = asp.Simulator(xml, integrator=asp.Midas(time_step=0.005))
    for i in range(40):
        assert sim.advance_to(0.005 * (i + 1)).success
        assert -0.5 - 1e-3 < sim.data.qvel[0] < 1e-9
    assert 0.2 < sim.data.qpos[0] < 0.3


def test_a_string_without_limits_does_not_hold():
    off = '<option><flag limit="disable"/></option><worldbody>'
    xml = STRING.format(x=0.15).replace("<worldbody>", off)
    sim = asp.Simulator(xml, integrator=asp.Midas(time_step=0.005))
    assert sim.advance_to(0.5).success
    assert np.linalg.norm(sim.data.qpos[:3] - [0, 0, 1]) > 1.0


def test_a_tendon_through_space_is_held_at_its_length():
    """A ball that turns over its nail, where a string would go slack; of second order."""
    xml = STRING.format(x=0.3).replace('limited="true" range="0 .3"', "")
    xml = xml.replace("</mujoco>", '<equality><tendon tendon1="string"/></equality></mujoco>')
    exact = solve_ivp(
        lambda _, y: [y[1], -9.81 / 0.3 * np.sin(y[0])],
        (0, 1),
        [np.pi / 2, 5.0 / 0.3],
        rtol=1e-9,
        atol=1e-9,
        t_eval=[0.25, 0.5, 0.75, 1.0],
    )
    errors = []
    for step in (0.0025, 0.00125):
        sim = asp.Simulator(xml, integrator=asp.Midas(time_step=step))
        sim.data.qvel[2] = 5.0
        for time in exact.t:
            assert sim.advance_to(time).success
            x, _, z = sim.data.qpos[:3]
            assert np.hypot(x, 1 - z) == pytest.approx(0.3, abs=1e-6)
        errors.append(abs((np.arctan2(x, 1 - z) - exact.y[0, -1] + np.pi) % (2 * np.pi) - np.pi))
    assert errors[1] < 0.02
    assert 3 < errors[0] / errors[1] < 5


HOIST = """<mujoco><worldbody><site name="top" pos="0 0 2"/><site name="too" pos="1 0 2"/>
<body pos="0 0 1"><joint type="slide" axis="0 0 1"/><geom size=".05" mass="{m}" {free}/>
 <site name="load"/></body>
<body pos="1 0 1"><joint type="slide" axis="0 0 1"/><geom size=".05" mass="1" {free}/>
 <site name="hand"/></body></worldbody>
<tendon><spatial name="one"><site site="top"/><site site="load"/></spatial>
 <spatial name="other"><site site="too"/><site site="hand"/></spatial></tendon>
<equality><tendon name="e" tendon1="one" tendon2="other" polycoef="0 -.5 0 0 0"/></equality>
</mujoco>"""


def hoist(mass: float) -> asp.Simulator:
    free = 'contype="0" conaffinity="0"'
    return asp.Simulator(HOIST.format(m=mass, free=free), integrator=asp.Midas(time_step=0.005))


@pytest.mark.filterwarnings("ignore::asperity.AsperityWarning")
def test_two_tendons_through_space_are_a_hoist():
    """The load goes half as far as the hand: a = g (2 − m)/(m + 4) upwards."""
    sim = hoist(3.0)
    assert sim.advance_to(0.3).success
    acceleration = 9.81 * (2.0 - 3.0) / (3.0 + 4.0)
    assert sim.data.qvel[0] == pytest.approx(0.3 * acceleration, rel=1e-6)
    assert sim.data.qpos[1] == pytest.approx(-2 * sim.data.qpos[0], abs=1e-9)
    sim.data.eq_active[0] = 0
    # Steps that look back take some until the change is behind them.
    assert sim.advance_to(0.35).success
    before = sim.data.qvel.copy()
    assert sim.advance_to(0.45).success
    np.testing.assert_allclose(sim.data.qvel - before, -0.981, rtol=1e-3)


@pytest.mark.filterwarnings("ignore::asperity.AsperityWarning")
def test_a_gap_of_tendons_closes_without_a_jerk():
    sim = hoist(3.0)
    sim.model.opt.gravity[:] = 0.0
    sim.data.qpos[0] = 0.01
    gaps = []
    for i in range(30):
        assert sim.advance_to(0.005 * (i + 1)).success
        gaps.append(sim.data.qpos[0] + 0.5 * sim.data.qpos[1])
    assert gaps[1] > 0.003
    assert np.all(np.diff(gaps) < 1e-9)
    assert 0.0 <= gaps[-1] < 1e-4
