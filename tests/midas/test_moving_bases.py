"""Mocap bodies that move while the simulation runs, and gravity that changes."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import asperity as asp

G = 9.81
STEP = 0.01


def midas(xml: str, **options) -> asp.Simulator:
    return asp.Simulator(xml, integrator=asp.Midas(**{"time_step": STEP, **options}))


def pose_error(sim: asp.Simulator) -> float:
    """How far the first mocap body's points may be from where they were told to be [m]."""
    engine = sim.session.method.engine
    body = int(np.flatnonzero(sim.model.body_mocapid == 0)[0])
    q = engine.table.poses.q[engine.links.body_link[body]]
    data = sim.data
    radius = float(sim.model.geom_rbound[sim.model.geom_bodyid == body].max())
    turn = q[1:].T - data.xmat[body].reshape(3, 3)
    return float(max(np.abs(q[0] - data.mocap_pos[0]).max(), radius * np.abs(turn).max()))


TRAY = """<mujoco><worldbody><geom type="plane" size="5 5 1"/>
<body name="tray" mocap="true" pos="0 0 .3"><geom name="tray" type="box" size=".2 .2 .01" friction="{friction}"/></body>
<body name="block" pos="0 0 .3609"><freejoint/><geom type="box" size=".05 .05 .05" mass="2" friction="{friction}"/></body>
</worldbody></mujoco>"""


def test_tray_lifts_what_lies_on_it():
    """The contact force is m(g + a) of the tray's acceleration, whatever the tray weighs."""
    sim = midas(TRAY.format(friction=0.5), verify=True)
    acceleration = 2.0
    for step in range(1, 51):
        t = step * STEP
        sim.data.mocap_pos[0, 2] = 0.3 + 0.5 * acceleration * t * t
        assert sim.step().success
        assert pose_error(sim) < 1e-10
    contacts = sim.contacts
    assert contacts.normal_force.sum() == pytest.approx(2 * (G + acceleration), rel=1e-3)
    assert sim.data.qvel[2] == pytest.approx(acceleration * t, rel=1e-3)
    assert sim.data.qpos[2] - sim.data.mocap_pos[0, 2] == pytest.approx(0.061, abs=2e-4)


@pytest.mark.parametrize(("friction", "slides"), [(0.22, False), (0.18, True)])
def test_tray_that_is_pulled_away_carries_its_load_by_friction(friction, slides):
    """At 0.2 g: what friction can carry along stays, the rest is left behind."""
    # The first step of the tray knows its mean velocity only: what is left behind begins a ha/2 late.
    h = 0.2 * STEP
    sim = midas(TRAY.format(friction=friction), time_step=h)
    assert sim.advance_to(0.2).success
    for step in range(1, 501):
        t = step * h
        sim.data.mocap_pos[0, 0] = 0.5 * 0.2 * G * t * t
        assert sim.step().success
    behind = sim.data.mocap_pos[0, 0] - sim.data.qpos[0]
    expected = 0.5 * (0.2 - friction) * G if slides else 0.0
    assert behind == pytest.approx(expected, abs=3e-3)


def test_turntable_takes_its_load_round():
    sim = midas(TRAY.format(friction=0.8), verify=True)
    sim.data.qpos[:2] = (0.1, 0.0)
    rate = 2.0  # centripetal acceleration 0.4 m/s², far below friction's
    for step in range(1, 158):
        angle = rate * step * STEP
        sim.data.mocap_quat[0] = (np.cos(angle / 2), 0, 0, np.sin(angle / 2))
        assert sim.step().success
        assert pose_error(sim) < 1e-10
    heading = np.arctan2(sim.data.qpos[1], sim.data.qpos[0])
    # From rest it first slips: 0.2 m/s at 0.8 g take 25 ms.
    assert np.angle(np.exp(1j * (angle - heading))) == pytest.approx(0.0, abs=0.06)
    assert np.hypot(*sim.data.qpos[:2]) == pytest.approx(0.1, abs=0.01)


@pytest.mark.parametrize("move", [0.01, 0.3, 3.0])
def test_paddle_pushes_and_never_passes_through(move):
    """Even if it jumps by ten times its own thickness, or far beyond the ball, within one step."""
    sim = midas(
        """<mujoco><option gravity="0 0 0"/><worldbody>
        <body name="paddle" mocap="true"><geom type="box" size=".01 .2 .2"/></body>
        <body pos=".1 .02 .01"><freejoint/><geom type="sphere" size=".05" mass=".1"/></body>
        </worldbody></mujoco>""",
        verify=True,
    )
    for _ in range(round(0.6 / move) if move < 0.5 else 2):
        sim.data.mocap_pos[0, 0] += move
        assert sim.step().success
        assert pose_error(sim) < 1e-10
        # The sphere is a polyhedron.
        assert sim.data.qpos[0] - sim.data.mocap_pos[0, 0] > 0.01 + 0.96 * 0.05
    assert sim.data.qvel[0] > 0.9 * move / STEP


def test_body_that_cannot_give_way_stops_the_simulation_and_not_the_guarantee():
    # From under a small press a box that is nearly flat may escape to the side.
    sim = midas(
        """<mujoco><worldbody><geom type="plane" size="1 1 1"/>
        <body name="press" mocap="true" pos="0 0 .2"><geom type="box" size="1 1 .01"/></body>
        <body pos="0 0 .051"><freejoint/><geom type="box" size=".05 .05 .05" mass="1"/></body>
        </worldbody></mujoco>""",
        verify=True,
        max_iterations=200,
    )
    for _ in range(20):
        before = sim.data.qpos.copy()
        sim.data.mocap_pos[0, 2] -= 0.01
        report = sim.step(on_failure="return")
        if not report.success:
            break
    assert report.status == asp.Status.NOT_CONVERGED
    assert "1024th" in report.message
    assert re.search(r"are the nearest, \d\.\de-\d\d m apart", report.message)
    np.testing.assert_array_equal(sim.data.qpos, before)
    assert sim.data.mocap_pos[0, 2] < 0.115
    # Back where there is room, it goes on.
    sim.data.mocap_pos[0, 2] = 0.15
    assert sim.step().success


@pytest.mark.filterwarnings("ignore::asperity.AsperityWarning")
def test_pendulum_on_a_shaken_base_obeys_its_equation_of_motion():
    """θ̈ = (g cos θ + ẍ sin θ) m l / I for a rod at an angle θ below the horizontal."""
    xml = """<mujoco><option><flag contact="disable"/></option><worldbody>
    <body name="base" mocap="true" pos="0 0 1"><geom type="box" size=".02 .02 .02"/>
    <body><joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .5 0 0" size=".02" mass="1"/></body></body>
    </worldbody></mujoco>"""
    shake, rate = 0.1, 6.0
    errors = []
    for step in (0.004, 0.002):
        sim = midas(xml, time_scheme="bdf2", time_step=step, tolerance=1e-8)
        arm = sim.model.body_ipos[2, 0]
        inertia = sim.model.body_inertia[2].max() + arm**2

        def bend(t, y, arm=arm, inertia=inertia):
            pull = -shake * rate**2 * np.cos(rate * t)
            return [y[1], arm / inertia * (G * np.cos(y[0]) - -pull * np.sin(y[0]))]

        exact = solve_ivp(bend, (0, 1), [0, 0], rtol=1e-10, atol=1e-12).y[0, -1]
        for i in range(round(1 / step)):
            sim.data.mocap_pos[0, 0] = shake * (np.cos(rate * (i + 1) * step) - 1)
            assert sim.step().success
        errors.append(abs(sim.data.qpos[0] - exact))
    assert errors[0] < 0.02
    assert errors[1] < 0.5 * errors[0]


def test_weld_to_a_mocap_body_drags_along():
    sim = midas(
        """<mujoco><worldbody><body name="target" mocap="true" pos="0 0 .5"/>
        <body name="hand" pos="0 0 .5"><freejoint/><geom type="box" size=".05 .05 .05" mass="1"/></body>
        </worldbody><equality><weld body1="target" body2="hand"/></equality></mujoco>"""
    )
    for step in range(1, 101):
        t = step * STEP
        sim.data.mocap_pos[0] = (0.2 * np.sin(3 * t), 0.1 * t, 0.5)
        sim.data.mocap_quat[0] = (np.cos(t), np.sin(t), 0, 0)
        assert sim.step().success
    np.testing.assert_allclose(sim.data.qpos[:3], sim.data.mocap_pos[0], atol=1e-9)
    np.testing.assert_allclose(sim.data.qpos[3:], sim.data.mocap_quat[0], atol=1e-5)


def test_changed_gravity_is_seen():
    sim = midas(
        '<mujoco><worldbody><body><freejoint/><geom size=".1"/></body></worldbody></mujoco>'
    )
    assert sim.step().success
    np.testing.assert_allclose(sim.data.qvel[:3], [0, 0, -G * STEP], atol=1e-9)
    sim.model.opt.gravity[:] = (1.0, 2.0, 0.0)
    assert sim.step().success
    np.testing.assert_allclose(sim.data.qvel[:3], [STEP, 2 * STEP, -G * STEP], atol=1e-9)
