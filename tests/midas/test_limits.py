"""Limits of joints: what meets one stays there, whatever the step; dry friction stops in time."""

from __future__ import annotations

import numpy as np
import pytest

import asperity as asp
from asperity.midas.energy.potentials import (
    barrier_secant,
    barrier_slopes,
    dissipation_factor,
    expected_ratio,
)

pytestmark = pytest.mark.filterwarnings("ignore::asperity.AsperityWarning")

STEPS = [0.01, 0.002, 0.0002]
ROD = '<geom type="box" size=".2 .02 .02" pos=".2 0 0" mass="1" contype="0" conaffinity="0"/>'
INERTIA = 0.2**2 + (0.4**2 + 0.04**2) / 12.0
"""Of the rod about its end [kg m²]."""


def simulator(joint: str, step: float, body: str = ROD, *, gravity: float = 0.0) -> asp.Simulator:
    xml = f"""<mujoco><compiler angle="radian"/><option gravity="0 0 {-gravity}"/>
      <worldbody><body>{joint}{body}</body></worldbody></mujoco>"""
    return asp.Simulator(xml, integrator=asp.Midas(time_step=step))


def rebound(sim: asp.Simulator, dof: int, duration: float) -> float:
    """Largest speed back, over that at the beginning."""
    begin = sim.data.qvel[dof]
    back = 0.0
    while sim.time < duration:
        assert sim.step().success
        back = max(back, -sim.data.qvel[dof] / begin)
    return float(back)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("speed", [3.0, 30.0])
@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_a_hinge_that_meets_its_limit_stays_there(step, speed, side):
    sim = simulator('<joint axis="0 1 0" range="-.3 .3" limited="true"/>', step)
    sim.data.qvel[0] = side * speed
    assert rebound(sim, 0, 0.35 / speed + 0.05) <= 0.05
    assert 0.28 < side * sim.data.qpos[0] < 0.3


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(
    ("joint", "dof"),
    [
        ('<joint type="slide" axis="1 0 0" range="-1 .1" limited="true"/>', 0),
        ('<joint type="ball" range="0 .3" limited="true"/>', 1),
    ],
)
def test_slides_and_ball_joints_do_as_hinges(step, joint, dof):
    sim = simulator(joint, step)
    sim.data.qvel[dof] = 3.0
    assert rebound(sim, dof, 0.2) <= 0.05


@pytest.mark.parametrize("step", STEPS)
def test_a_tendon_that_becomes_taut_does_not_snap_back(step):
    xml = f"""<mujoco><compiler angle="radian"/><option gravity="0 0 0"/><worldbody>
      <body><joint name="one" axis="0 1 0"/>{ROD}</body></worldbody>
      <tendon><fixed range="-1 .4" limited="true"><joint joint="one" coef="2"/></fixed></tendon>
      </mujoco>"""
    sim = asp.Simulator(xml, integrator=asp.Midas(time_step=step))
    sim.data.qvel[0] = 3.0
    assert rebound(sim, 0, 0.15) <= 0.05


@pytest.mark.parametrize("step", STEPS)
def test_a_chain_against_its_limits_loses_energy_for_good(step):
    """A double pendulum falls against a limit of its elbow; both hang still in the end."""
    lower = (
        '<body pos=".4 0 0"><joint axis="0 1 0" range="-.5 .5" limited="true"/>' + ROD + "</body>"
    )
    sim = simulator(
        '<joint axis="0 1 0" range="-.1 1" limited="true"/>', step, ROD + lower, gravity=9.81
    )
    assert sim.advance_to(1.2).success
    energy = 0.5 * INERTIA * sim.data.qvel @ sim.data.qvel
    # Of some 6 J that it falls by.
    assert energy < 0.05
    assert 0.98 < sim.data.qpos[0] < 1.0


def test_where_a_limit_stops_a_hinge_converges():
    """At rest the barrier bears what presses against it, at any step."""
    ends = []
    for step in STEPS:
        sim = simulator('<joint axis="0 1 0" range="-.3 .3" limited="true"/>', step)
        sim.data.qfrc_applied[0] = 2.0
        assert sim.advance_to(0.8).success
        assert abs(sim.data.qvel[0]) < 2e-3
        ends.append(sim.data.qpos[0])
    assert np.ptp(ends) < 1e-3


@pytest.mark.parametrize("step", STEPS)
def test_dry_friction_stops_a_hinge_where_its_work_does(step):
    """I ω² / 2 = τ θ, after the time I ω / τ."""
    torque, speed = 0.4, 3.0
    sim = simulator(f'<joint axis="0 1 0" frictionloss="{torque}"/>', step)
    sim.data.qvel[0] = speed
    assert sim.advance_to(1.0).success
    assert abs(sim.data.qvel[0]) < 1e-4
    angle = 0.5 * INERTIA * speed**2 / torque
    assert sim.data.qpos[0] == pytest.approx(
        angle, abs=0.6 * speed * step * step * torque / INERTIA + 3e-4
    )


def test_what_closes_meets_more_than_what_opens():
    """1 + d u, and its inverse on the way back; never more while it lasts."""
    assert dissipation_factor(np.inf, 0.0, 7.0) == 1.0
    assert dissipation_factor(np.inf, 3.0, 7.0) == pytest.approx(22.0)
    assert dissipation_factor(5.0, 3.0, 7.0) == 5.0
    assert dissipation_factor(5.0, -1.0, 7.0) == pytest.approx(0.125)


@pytest.mark.parametrize("before", [0.2, 0.9, 0.999, 1.3])
@pytest.mark.parametrize("final", [0.05, 0.7, 0.995])
def test_a_secant_leads_to_the_force_that_it_was_drawn_to(before, final):
    """With the force of ``final`` as the load, one step of Newton's method ends there."""
    wanted, _ = barrier_slopes(final * final, 1.0)
    slope, curvature = barrier_secant(before * before, 1.0, final)
    after = before + (wanted - slope) / curvature
    assert after == pytest.approx(final, abs=1e-12)
    assert expected_ratio(final, before, after) == pytest.approx(final, abs=1e-4 * (1.0 - final))


@pytest.mark.parametrize("load", [1e-7, 1e-3, 10.0])
@pytest.mark.parametrize("ratio", [0.3, 0.9, 1.2])
def test_what_presses_a_barrier_is_found_in_few_iterations(load, ratio):
    """From 0.3 to a load of 1e-7 the tangent takes 15 iterations, half of the way in each."""
    inertia = 1e-6
    start = ratio
    final = min(ratio, 1.0)
    for _ in range(7):
        slope, curvature = barrier_secant(ratio * ratio, 1.0, final)
        force = slope + load + inertia * (ratio - start)
        after = ratio - force / (curvature + inertia)
        final = expected_ratio(final, ratio, after)
        # A line search takes what stays in front of the barrier.
        ratio = max(after, 0.1 * ratio)
    slope, _ = barrier_slopes(ratio * ratio, 1.0)
    assert slope + load + inertia * (ratio - start) == pytest.approx(0.0, abs=1e-6 * load)


MARGINS = """
  <mujoco><compiler angle="radian"/><worldbody>
    <body><joint axis="0 1 0" range="-.3 .3" limited="true" margin=".1" damping=".1"/>{rod}</body>
    <body pos="0 1 0"><joint type="ball" range="0 .3" limited="true" margin=".1" damping=".1"/>
      {rod}</body>
    <body pos="0 2 0"><joint name="slide" type="slide" axis="0 0 1" damping=".1"/>{rod}</body>
    <body pos="0 3 0"><joint type="slide" axis="0 0 1" damping=".1"/>{rod}<site name="a"/></body>
    <site name="b" pos="0 3 1"/></worldbody>
  <tendon><fixed range="-.3 .3" limited="true" margin=".1"><joint joint="slide" coef="1"/></fixed>
    <spatial range=".7 1.3" limited="true" margin=".1"><site site="a"/><site site="b"/></spatial>
  </tendon></mujoco>"""


@pytest.mark.parametrize(
    "integrator", [asp.Midas(time_step=0.005), asp.Icf(time_step=0.005), asp.Cenic()]
)
def test_a_limit_holds_by_its_margin_inside_the_range(integrator):
    sim = asp.Simulator(MARGINS.format(rod=ROD), integrator=integrator)
    sim.advance_to(2.0)
    hinge, slides, quaternion = sim.data.qpos[0], sim.data.qpos[5:], sim.data.qpos[1:5]
    turn = 2.0 * np.arctan2(np.linalg.norm(quaternion[1:]), abs(quaternion[0]))
    np.testing.assert_allclose([hinge, turn, *-slides], 0.2, atol=6e-3)


def test_a_joint_that_starts_in_its_margin_is_brought_inside():
    joint = '<joint axis="0 1 0" range="-.3 .3" limited="true" margin=".1"/>'
    sim = simulator(joint, 0.01, gravity=9.81)
    sim.data.qpos[0] = 0.29
    sim.advance_to(0.5)
    assert 0.19 < sim.data.qpos[0] < 0.2
