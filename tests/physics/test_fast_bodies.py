"""Fixed steps look ahead: what would pass through something meets it, and what passes by does not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

import asperity as asp

WALL, RADIUS = 0.005, 0.02
BULLET = f"""
<mujoco>
  <option gravity="0 0 0"/>
  <worldbody>
    <geom type="box" size="{WALL} 0.5 0.5"/>
    <body pos="-1 {{side}} 0"><freejoint/><geom size="{RADIUS}" mass="0.1"/></body>
  </worldbody>
</mujoco>"""

METHODS = {"Icf": asp.Icf, "Sap": asp.Sap, "Tamsi": asp.Tamsi}
every_method = pytest.mark.parametrize("method", METHODS)


def _shoot(method: str, step: float, speed: float, side: float = 0.0) -> asp.Simulator:
    contact = asp.ContactParameters(stiffness=1e5, dissipation=10.0)
    sim = asp.Simulator(
        BULLET.format(side=side), integrator=METHODS[method](time_step=step), contact=contact
    )
    sim.data.qvel[:2] = speed, 0.0
    return sim


@pytest.mark.parametrize("step", [1e-3, 1e-2])
@every_method
def test_nothing_passes_through_a_thin_wall(method: str, step: float) -> None:
    for speed in (1.0, 5.0, 10.0, 100.0, 500.0):
        sim = _shoot(method, step, speed)
        assert sim.advance_to(max(2.5 / speed, 10 * step)).success
        assert sim.data.qpos[0] < -WALL


@every_method
def test_a_step_ends_where_it_touches(method: str) -> None:
    sim = _shoot(method, 1e-2, 100.0)
    assert sim.advance_to(1e-2).success
    assert sim.data.qpos[0] <= -WALL - RADIUS + 1e-3
    # No push comes from the side, and none turns it.
    np.testing.assert_allclose(sim.data.qvel[1:], 0.0, atol=1e-9)


@pytest.mark.parametrize("dissipation", [0.0, 0.05, 0.2, 1.0])
@pytest.mark.parametrize("method", ["Icf", "Tamsi"])
def test_it_parts_as_fast_as_from_a_thick_wall(method: str, dissipation: float) -> None:
    """By Hunt and Crossley's law, d u − ln(1 + d u) = −d r − ln(1 − d r) for speeds u and r."""
    contact = asp.ContactParameters(dissipation=dissipation)
    speed = 20.0
    sim = asp.Simulator(
        BULLET.format(side=0.0), integrator=METHODS[method](time_step=1e-2), contact=contact
    )
    sim.data.qvel[0] = speed
    assert sim.advance_to(0.1).success
    rebound = speed
    if dissipation > 0.0:
        lost = dissipation * speed - np.log1p(dissipation * speed)
        rebound = brentq(lambda x: -x - np.log1p(-x) - lost, 0.0, 1.0 - 1e-12) / dissipation
    assert sim.data.qvel[0] == pytest.approx(-rebound, abs=0.02 * speed)


@every_method
def test_an_oblique_hit_makes_it_roll(method: str) -> None:
    """Friction of the impact stops the slip, which leaves 5/7 of the speed along the wall."""
    sim = _shoot(method, 1e-2, 20.0, side=-0.2)
    sim.data.qvel[1] = 5.0
    assert sim.advance_to(0.1).success
    assert sim.data.qpos[0] < -WALL
    assert sim.data.qvel[1] == pytest.approx(5.0 / 7.0 * 5.0, rel=0.01)
    assert sim.data.qvel[5] == pytest.approx(-sim.data.qvel[1] / RADIUS, rel=0.02)


@every_method
def test_mujoco_s_own_speculation_changes_nothing(method: str) -> None:
    ends = []
    for flag in ("disable", "enable"):
        text = BULLET.format(side=0.0).replace(
            '<option gravity="0 0 0"/>',
            f'<option gravity="0 0 0"><flag speculative="{flag}"/></option>',
        )
        sim = asp.Simulator(text, integrator=METHODS[method](time_step=1e-3))
        sim.data.qvel[0] = 7.0
        assert sim.advance_to(0.2).success
        ends.append(sim.data.qpos.copy())
    np.testing.assert_array_equal(*ends)


@every_method
def test_what_flies_past_is_not_touched(method: str) -> None:
    # Its nearest point of the wall is the wall's edge.
    sim = _shoot(method, 1e-2, 100.0, side=0.5 + 2.0 * RADIUS)
    assert sim.advance_to(0.03).success
    np.testing.assert_allclose(sim.data.qvel[:3], [100.0, 0.0, 0.0], atol=1e-12)


@every_method
def test_two_that_meet_in_flight_do_not_pass(method: str) -> None:
    text = """<mujoco><option gravity="0 0 0"/><worldbody>
      <body pos="-1 0 0"><freejoint/><geom size="0.02" mass="0.1"/></body>
      <body pos="1 0 0"><freejoint/><geom size="0.02" mass="0.3"/></body></worldbody></mujoco>"""
    sim = asp.Simulator(text, integrator=METHODS[method](time_step=5e-3))
    sim.data.qvel[[0, 6]] = 150.0, -50.0
    assert sim.advance_to(0.1).success
    assert sim.data.qpos[0] < sim.data.qpos[7]
    # Momentum is conserved, and they do not approach each other any more.
    momentum = 0.1 * sim.data.qvel[0] + 0.3 * sim.data.qvel[6]
    assert momentum == pytest.approx(0.1 * 150.0 - 0.3 * 50.0, abs=1e-6)
    assert sim.data.qvel[0] <= sim.data.qvel[6]


LONG = {
    "capsule": "type='capsule' size='.03 .1'",
    "cylinder": "type='cylinder' size='.07 .01'",
    "box": "type='box' size='.1 .07 .05'",
    "hull": "type='mesh' mesh='hull'",
}
PLATES = {"box": "type='box' size='.6 .6 .005'", "disc": "type='cylinder' size='.6 .005'"}


@pytest.mark.parametrize("accuracy", [1e-2, 1e-3])
@pytest.mark.parametrize("plate", PLATES)
@pytest.mark.parametrize("shape", LONG)
def test_error_control_lets_no_end_through_a_thin_plate(
    shape: str, plate: str, accuracy: float
) -> None:
    """The ends of a body that falls aslant get there long before its middle."""
    sim = asp.Simulator(
        "<mujoco><option gravity='0 0 0'/><asset><mesh name='hull' vertex="
        "'0 0 .1 .1 0 -.05 -.05 .08 -.05 -.05 -.08 -.05'/></asset><worldbody>"
        f"<geom {PLATES[plate]}/>"
        f"<body pos='0 0 .7'><freejoint/><geom {LONG[shape]} mass='1'/></body>"
        "</worldbody></mujoco>",
        integrator=asp.Cenic(accuracy=accuracy),
    )
    for turn in Rotation.random(8, random_state=0):
        for speed in (1.0, 2.0, 4.0, 8.0):
            sim.reset()
            sim.data.qpos[3:] = turn.as_quat(scalar_first=True)
            sim.data.qvel[:] = [0.1 * speed, 0.0, -speed, 2.0, 1.0, 3.0]
            assert sim.advance_to(0.7 / speed + 0.2).success
            assert sim.data.qpos[2] > 0.0


CUBE, FALLS = 0.25, 0.5
CURB = f"""
<mujoco>
  <worldbody>
    <geom type="plane" size="9 9 1"/>
    <geom type="box" size=".1 .4 .002" pos="{CUBE + 0.11} 0 .002"/>
    <body pos="0 0 {CUBE}"><freejoint/><geom type="box" size="{CUBE} {CUBE} {CUBE}" mass="1"/></body>
  </worldbody>
</mujoco>"""


@pytest.mark.parametrize("accuracy", [3e-2, 1e-2, 3e-3])
def test_a_curb_lower_than_the_accuracy_trips_a_cube(accuracy: float) -> None:
    """It falls over if it was faster than v² = 16/3 g a (√2 − 1), by angular momentum and energy.

    In a step the cube would come in so far that up is the shortest way out of the curb.
    """
    contact = asp.ContactParameters(stiffness=1e6, dissipation=50.0, friction=0.0)
    sim = asp.Simulator(CURB, integrator=asp.Cenic(accuracy=accuracy), contact=contact)
    limit = np.sqrt(16 / 3 * 9.81 * CUBE * (np.sqrt(2) - 1))
    for start in (0.0, 0.003, 0.006):
        for share in (0.93, 1.07, 1.3):
            sim.reset()
            sim.data.qpos[0] = -start
            sim.data.qvel[0] = share * limit
            upright = 1.0
            while sim.time < 1.2:
                sim.advance_to(sim.time + 0.05)
                x, y = sim.data.qpos[4:6]
                upright = min(upright, 1.0 - 2.0 * (x * x + y * y))
            assert (upright < FALLS) == (share > 1.0), (start, share)
