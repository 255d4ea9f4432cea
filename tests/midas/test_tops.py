"""What spins and rolls on a floor: the tippe top, the rattleback, and how they begin."""

from __future__ import annotations

import math

import numpy as np
import pytest

import asperity as asp

pytestmark = pytest.mark.filterwarnings("ignore::asperity.AsperityWarning")

# A ball of 2 cm and 20 g whose centre of mass is 6 mm below its own.
TIPPE_TOP = """<mujoco><worldbody><geom type="plane" size="9 9 1" friction=".3"/>
  <body pos="0 0 .02"><freejoint/>
    <inertial pos="0 0 -.006" mass=".02" diaginertia="3.2e-6 3.2e-6 3.2e-6"/>
    <geom size=".02" friction=".3"/></body></worldbody></mujoco>"""


def tippe_top(time_step: float, speed: float, tilt: float) -> asp.Simulator:
    sim = asp.Simulator(TIPPE_TOP, integrator=asp.Midas(time_step=time_step))
    sim.data.qpos[:] = 0, 0, 0.02, math.cos(tilt / 2), math.sin(tilt / 2), 0, 0
    sim.data.qvel[3:] = 0, speed * math.sin(tilt), speed * math.cos(tilt)
    return sim


def test_what_touches_is_not_thrown_up():
    """A state that is given later: taken apart, a ball starts to fall, and does not leap."""
    xml = """<mujoco><worldbody><geom type="plane" size="9 9 1"/>
      <body pos="0 0 .1"><freejoint/><geom size=".1"/></body></worldbody></mujoco>"""
    sim = asp.Simulator(xml, integrator=asp.Midas(time_step=2.5e-4))
    sim.data.qpos[2] = 0.1
    highest = 0.0
    for _ in range(400):
        assert sim.step().success
        highest = max(highest, sim.data.qpos[2])
    assert highest < 0.1 + 1.2e-3
    # A millimetre's fall at most.
    assert abs(sim.data.qvel[2]) < math.sqrt(2 * 9.81 * 1.2e-3)


def test_a_slow_tippe_top_stays_upright_in_short_steps():
    """At 80 rad/s, tilted by 0.1 rad; what throws it up in the beginning turns it over."""
    sim = tippe_top(2.5e-4, 80.0, 0.1)
    cosines = []
    while sim.data.time < 2.0:
        assert sim.advance_to(sim.data.time + 0.02).success
        cosines.append(1.0 - 2.0 * (sim.data.qpos[4] ** 2 + sim.data.qpos[5] ** 2))
    assert math.degrees(math.acos(min(cosines))) < 9.0


def test_a_fast_top_is_predicted_where_it_turns_to():
    """Two radians a step and less: of Newton's method from where it was, a hundred iterations."""
    sim = tippe_top(0.01, 200.0, 0.5)
    assert sim.advance_to(4.0).success
    assert sim.stats.iterations / sim.stats.steps < 50
    assert np.linalg.norm(sim.data.qvel[3:]) < 201.0
