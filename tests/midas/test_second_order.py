"""BDF2 where motion is smooth, implicit Euler through impacts."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import asperity as asp

BALL = """<mujoco><worldbody><geom type="plane" size="5 5 1"/>
<body pos="0 0 {height}"><freejoint/><geom type="sphere" size=".1" mass="1"/></body>
</worldbody></mujoco>"""

PAIR = """<mujoco><option gravity="0 0 0"/><worldbody>
<body pos="0 0 0"><freejoint/><geom type="sphere" size=".1" mass="1"/></body>
<body pos=".35 .05 0"><freejoint/><geom type="box" size=".1 .1 .1" mass="3"/></body>
</worldbody></mujoco>"""


@pytest.mark.parametrize("height", [0.13, 0.2, 0.4, 1.0])
def test_nothing_rebounds_from_what_the_history_knows(height):
    """Plain BDF2 would leave a falling ball with up to half of its speed upwards."""
    sim = asp.Simulator(BALL.format(height=height), integrator=asp.Midas())
    impact = np.sqrt(2.0 * 9.81 * (height - 0.1))
    fastest, landed = -np.inf, False
    for _ in range(80):
        assert sim.step().success
        landed = landed or sim.contacts.normal_force.sum() > 0.0
        if landed:
            fastest = max(fastest, sim.data.qvel[2])
    assert landed
    assert fastest < 0.02 * impact
    assert abs(sim.data.qvel[2]) < 1e-4


def test_collisions_keep_momentum():
    sim = asp.Simulator(PAIR, integrator=asp.Midas(tolerance=1e-9))
    sim.data.qvel[:3] = (2.0, 0.1, 0.0)
    for _ in range(60):
        assert sim.step().success
        momentum = sim.data.qvel[:3] + 3.0 * sim.data.qvel[6:9]
        np.testing.assert_allclose(momentum, (2.0, 0.1, 0.0), atol=2e-5)
    assert sim.data.qvel[6] > 0.3, "they have met"


def test_a_ball_that_slips_rolls_with_five_sevenths_of_its_speed():
    """Implicit Euler takes a third of that."""
    sim = asp.Simulator(BALL.format(height=0.101), integrator=asp.Midas())
    sim.advance_to(0.2)
    sim.data.qvel[:3] = (2.0, 0.0, 0.0)
    sim.advance_to(1.2)
    assert sim.data.qvel[0] == pytest.approx(2.0 * 5.0 / 7.0, rel=0.04)


def test_flight_is_one_of_bdf2_and_impact_one_of_implicit_euler():
    """Whose forces act over two thirds of a step, or less in flight, and over all of it."""
    sim = asp.Simulator(BALL.format(height=0.5), integrator=asp.Midas())
    table = sim.session.method.engine.table
    steps = []
    while sim.contacts.normal_force.sum() == 0.0:
        assert sim.step().success
        steps.append(table.time.step)
    assert steps[0] == pytest.approx(0.02 / 3.0), "the past is invented"
    assert steps[1:-1] == pytest.approx([0.01 / 1.66] * (len(steps) - 2))
    assert steps[-1] == pytest.approx(0.01)
    sim.advance_to(1.0)
    assert table.time.step == pytest.approx(0.02 / 3.0), "at rest it is smooth again"


def whip(count: int) -> str:
    """Rods hanging on one another; options are for MuJoCo, which makes a reference."""
    rod = (
        '<geom type="capsule" size=".01" fromto="0 0 0 .3 0 0" mass="1" contype="0" '
        'conaffinity="0"/>'
    )
    bodies = "".join(
        f'<body pos="{0.3 if i else 0} 0 0"><joint axis="0 1 0"/>{rod}' for i in range(count)
    )
    return (
        f'<mujoco><option integrator="RK4" timestep="1e-4"/><worldbody>{bodies}'
        f"{'</body>' * count}</worldbody></mujoco>"
    )


def test_what_whips_without_touching_is_of_second_order():
    """Accelerations change at once there, but nothing is met: no step may be one of Euler's."""
    xml = whip(3)
    reference = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(reference)
    data.qvel[:] = 5.0, -9.0, 4.0
    mujoco.mj_step(reference, data, nstep=5000)
    errors = []
    for time_step in (0.01, 0.005, 0.0025):
        with pytest.warns(asp.AsperityWarning, match="Nothing can collide"):
            sim = asp.Simulator(xml, integrator=asp.Midas(time_step=time_step))
        sim.data.qvel[:] = 5.0, -9.0, 4.0
        assert sim.advance_to(0.5).success
        errors.append(float(np.max(np.abs(sim.data.qpos - data.qpos))))
    assert errors[0] < 0.1
    assert errors[1] < 0.4 * errors[0]
    assert errors[2] < 0.3 * errors[1]


GIVEN = """<mujoco><option gravity="0 0 0"/><worldbody>
<body><freejoint/><geom size=".1" mass="2"/></body>
<body pos="1 0 0"><joint name="slide" type="slide" axis="1 0 0"/><geom size=".1" mass="2"/></body>
</worldbody><actuator><motor joint="slide" ctrlrange="-5 5"/></actuator></mujoco>"""


def test_a_force_that_is_switched_on_gives_all_its_momentum():
    """BDF2 alone lacks half a step of it from then on, in speed and in place."""
    sim = asp.Simulator(GIVEN, integrator=asp.Midas(time_step=0.01))
    sim.data.qvel[[0, 6]] = 0.3
    sim.advance_to(0.1)
    for force in (3.0, -1.0):
        start = np.concatenate([sim.data.qpos[[0, 7]], sim.data.qvel[[0, 6]]])
        sim.data.xfrc_applied[1, 0] = sim.data.ctrl[0] = force
        begin = sim.time
        for _ in range(10):
            assert sim.step().success
            t = sim.time - begin
            np.testing.assert_allclose(sim.data.qvel[[0, 6]], start[2:] + force * t / 2, rtol=1e-9)
            way = start[2:] * t + force * t**2 / 4
            np.testing.assert_allclose(sim.data.qpos[[0, 7]], start[:2] + way, atol=1e-10)


def test_what_a_weld_lets_go_falls_from_then_on():
    sim = asp.Simulator(
        """<mujoco><worldbody><body name="held"><freejoint/><geom size=".1" mass="2"/></body>
        </worldbody><equality><weld body1="held"/></equality></mujoco>""",
        integrator=asp.Midas(time_step=0.01),
    )
    sim.advance_to(0.1)
    sim.data.eq_active[0] = 0
    for k in range(1, 11):
        assert sim.step().success
        assert sim.data.qvel[2] == pytest.approx(-9.81 * 0.01 * k, rel=1e-6)
        assert sim.data.qpos[2] == pytest.approx(-9.81 * (0.01 * k) ** 2 / 2, abs=1e-7)


def test_a_force_that_changes_smoothly_has_one_past():
    """Every step still is one of BDF2 blended with BDF3, which is by the force at its end."""

    def swing(model, data):
        data.ctrl[0] = np.cos(3.0 * data.time)

    sim = asp.Simulator(
        GIVEN, integrator=asp.Midas(time_step=0.01), control=swing, control_period=0.01
    )
    sim.advance_to(0.05)
    solves = sim.stats.solves
    sim.advance_to(1.05)
    assert sim.stats.solves - solves == 100
