"""Impacts: bodies part as the dissipation of their contact says, and nothing gains energy."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from scipy.optimize import brentq

import asperity as asp

pytestmark = pytest.mark.filterwarnings("ignore::asperity.AsperityWarning")

FLOOR = '<geom type="plane" size="9 9 1"/>'
ELASTIC = {"dissipation": 0.0, "friction": 0.0}


def simulator(bodies: str, contact: dict[str, float], *, gravity: float = 0.0, **options):
    xml = f"""<mujoco><compiler angle="radian"/><option gravity="0 0 {-gravity}"/><worldbody>
      {bodies}</worldbody></mujoco>"""
    return asp.Simulator(
        xml,
        integrator=asp.Midas(**options),
        contact=asp.ContactParameters(**contact),
    )


def free(pose: str, geom: str) -> str:
    return f"<body {pose}><freejoint/><geom {geom}/></body>"


def kinetic_energy(sim: asp.Simulator) -> float:
    matrix = np.zeros((sim.model.nv, sim.model.nv))
    mujoco.mj_forward(sim.model, sim.data)
    mujoco.mj_fullM(sim.model, sim.data, matrix)
    return float(0.5 * sim.data.qvel @ matrix @ sim.data.qvel)


def law(closing: float, dissipation: float) -> float:
    """Speed of departure by the integral of Hunt and Crossley's law, ∫ u/(1 + d u) du = 0."""

    def integral(u: float) -> float:
        return u / dissipation - np.log1p(dissipation * u) / dissipation**2

    bound = min(closing, (1.0 - 1e-12) / dissipation)
    return float(brentq(lambda e: integral(closing) - integral(-e), 1e-9, bound))


@pytest.mark.parametrize("time_step", [0.01, 0.004, 0.001])
@pytest.mark.parametrize("dissipation", [0.1, 0.5, 2.0])
@pytest.mark.parametrize("geom", ['size=".1" mass="1"', 'type="box" size=".1 .1 .1" mass="3"'])
def test_the_speed_of_departure_is_the_laws(time_step, dissipation, geom):
    sim = simulator(
        FLOOR + free('pos="0 0 .2"', geom), {"dissipation": dissipation}, time_step=time_step
    )
    for height in (0.2, 0.2037, 0.2071):
        sim.reset()
        sim.data.qpos[2] = height
        sim.data.qvel[2] = -1.5
        assert sim.advance_to(0.2).success
        assert sim.data.qvel[2] == pytest.approx(law(1.5, dissipation), rel=0.01)


def test_slow_departures_are_left_out():
    """With the usual dissipation none is faster than 0.1 m/s, which gravity undoes in two."""
    sim = simulator(FLOOR + free('pos="0 0 .3"', 'size=".1" mass="1"'), {}, gravity=9.81)
    assert sim.advance_to(0.21).success
    heights = []
    for _ in range(20):
        sim.step()
        heights.append(sim.data.qpos[2])
    assert max(heights) < 0.101


@pytest.mark.parametrize("time_step", [0.01, 0.002])
def test_an_elastic_ball_comes_back_to_its_height(time_step):
    sim = simulator(
        FLOOR + free('pos="0 0 .6"', 'size=".1" mass="1"'),
        ELASTIC,
        gravity=9.81,
        time_step=time_step,
    )
    heights = []
    while sim.data.time < 2.0:
        assert sim.step().success
        heights.append(sim.data.qpos[2])
    # Three bounces; a step's timing is worth the fall within it.
    assert max(heights[int(1.7 / time_step) // 2 :]) == pytest.approx(0.6, abs=0.02)


def test_balls_that_touch_hand_an_impact_on():
    """Newton's cradle, whose balls touch: the energy and the momentum stay, and the last leaves."""
    balls = "".join(
        f'<body pos="{x} 0 0"><joint type="slide" axis="1 0 0"/><geom size=".04" mass="1"/></body>'
        for x in (-0.2, 0.0, 0.0805, 0.161)
    )
    sim = simulator(balls, ELASTIC)
    sim.data.qvel[0] = 1.0
    assert sim.advance_to(0.6).success
    assert np.sum(sim.data.qvel) == pytest.approx(1.0, rel=1e-6)
    assert np.sum(sim.data.qvel**2) == pytest.approx(1.0, rel=0.02)
    assert sim.data.qvel[3] > 0.85


def test_a_tumbling_box_hits_a_free_one_and_keeps_what_is_conserved():
    box = 'type="box" size=".1 .06 .04" mass="1"'
    sim = simulator(free('pos="0 0 0"', box) + free('pos=".5 .02 .01"', box), ELASTIC)
    sim.data.qvel[:6] = 2.0, 0.0, 0.0, 3.0, 2.0, -1.0
    before = kinetic_energy(sim)
    hit = False
    for _ in range(60):
        assert sim.step().success
        hit = hit or sim.data.qvel[6] != 0.0
        assert sim.data.qvel[:3] + sim.data.qvel[6:9] == pytest.approx([2.0, 0.0, 0.0], abs=1e-6)
        assert kinetic_energy(sim) < before * (1.0 + 1e-3)
    assert hit
    assert kinetic_energy(sim) > 0.9 * before


def test_friction_acts_while_bodies_part():
    """A ball slides throughout an impact: it takes μ(1 + e) of the normal speed."""
    contact = {"dissipation": 0.0, "friction": 0.2}
    sim = simulator(FLOOR + free('pos="0 0 .2"', 'size=".1" mass="1"'), contact)
    sim.data.qvel[:3] = 6.0, 0.0, -1.0
    assert sim.advance_to(0.3).success
    assert sim.data.qvel[2] == pytest.approx(1.0, rel=1e-3)
    assert sim.data.qvel[0] == pytest.approx(6.0 - 0.2 * 2.0, rel=2e-3)


def test_friction_that_stops_a_slip_does_not_reverse_it():
    contact = {"dissipation": 0.0, "friction": 1.0}
    sim = simulator(FLOOR + free('pos="0 0 .2"', 'size=".1" mass="1"'), contact)
    sim.data.qvel[:3] = 1.0, 0.0, -1.0
    assert sim.advance_to(0.3).success
    assert sim.data.qvel[2] == pytest.approx(1.0, rel=1e-3)
    # Angular momentum about the point of contact: it leaves rolling.
    assert sim.data.qvel[0] == pytest.approx(5 / 7, rel=1e-3)
    assert sim.data.qvel[4] == pytest.approx(50 / 7, rel=1e-3)


def test_an_arm_swings_back_from_a_wall():
    """Two hinges, and a wall that the lower link's tip hits: the energy stays."""
    arm = """<geom type="box" size=".05 1 1" pos=".45 0 -.5"/>
      <body pos="0 0 0"><joint type="hinge" axis="0 1 0"/>
        <geom type="capsule" size=".02" fromto="0 0 0 0 0 -.4" mass="1" contype="0" conaffinity="0"/>
        <body pos="0 0 -.4"><joint type="hinge" axis="0 1 0"/>
          <geom type="capsule" size=".02" fromto="0 0 0 0 0 -.4" mass="1"/></body></body>"""
    sim = simulator(arm, ELASTIC, time_step=0.005)
    sim.data.qvel[:] = -3.0, 0.0
    before = kinetic_energy(sim)
    energies, speeds = [], []
    for _ in range(100):
        assert sim.step().success
        energies.append(kinetic_energy(sim))
        speeds.append(sim.data.qvel.copy())
    assert np.max(energies) < before * 1.01
    assert energies[-1] > 0.9 * before
    assert max(speed[0] for speed in speeds) > 1.0 or max(speed[1] for speed in speeds) > 1.0


def test_a_heap_of_elastic_boxes_gains_no_energy():
    rng = np.random.default_rng(2)
    boxes = "".join(
        free(
            f'pos="{0.25 * (i % 3)} {0.25 * (i // 3 % 2)} {0.2 + 0.25 * (i // 6)}"',
            'type="box" size=".1 .08 .06" mass="1"',
        )
        for i in range(12)
    )
    walls = FLOOR + "".join(
        f'<geom type="box" size="2 .1 2" pos="{x} {y} 0" euler="0 0 {turn}"/>'
        for x, y, turn in ((0, -0.4, 0), (0, 0.7, 0), (-0.4, 0, np.pi / 2), (0.9, 0, np.pi / 2))
    )
    contact = {"dissipation": 0.0, "friction": 0.3}
    sim = simulator(walls + boxes, contact, gravity=9.81, verify=True)
    sim.data.qvel[:] = rng.uniform(-1, 1, sim.model.nv)

    def energy() -> float:
        return kinetic_energy(sim) + 9.81 * float(np.sum(sim.data.qpos[2::7]))

    last = energy()
    # What falls in implicit Euler loses or gains at most m g h v / 2 a step.
    for _ in range(100):
        assert sim.step().success
        now = energy()
        assert now < last + 12 * 9.81 * 0.01 * 3.0
        last = min(last, now)
