"""Adhesion of actuators and geoms: what it lifts, what it lets go, and how friction sees it."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from physics_models import GRAVITY

import asperity as asp

INTEGRATORS = {
    "Icf": asp.Icf(time_step=2e-3),
    "Cenic": asp.Cenic(accuracy=1e-3),
    "Cenic, trapezoid": asp.Cenic(accuracy=1e-3, error_estimate="trapezoid"),
    "Sap": asp.Sap(time_step=2e-3),
    "Sap, midpoint": asp.Sap(time_step=2e-3, theta_scheme="midpoint"),
    "Tamsi": asp.Tamsi(time_step=2e-3),
    "Icf, similar": asp.Icf(time_step=2e-3, friction_bound="similar"),
    "Midas": asp.Midas(time_step=2e-3),
}
every_integrator = pytest.mark.parametrize("name", INTEGRATORS)

GAIN, CONTROL, MASS = 20.0, 0.6, 0.5  # N, -, kg

# A cup on a lift presses a box from above; the box stands on a floor.
LIFT = """
<mujoco>
  <option cone="elliptic"/>
  <worldbody>
    <geom type="plane" size="1 1 0.1"/>
    <body name="cup" pos="0 0 0.15">
      <joint name="lift" type="slide" axis="0 0 1"/>
      <geom type="box" size="0.05 0.05 0.05" mass="0.3" gap="0.002"/>
    </body>
    <body name="box" pos="0 0 0.05"><freejoint/>
      <geom type="box" size="0.05 0.05 0.05" mass="{mass}"/></body>
  </worldbody>
  <actuator>
    <adhesion name="cup" body="cup" ctrlrange="0 1" gain="{gain}"/>
    <position name="lift" joint="lift" kp="4000" kv="120"/>
  </actuator>
</mujoco>"""


def _lifted(name: str, mass: float) -> float:
    sim = asp.Simulator(LIFT.format(mass=mass, gain=GAIN), integrator=INTEGRATORS[name])
    sim.data.ctrl[:] = CONTROL, 0.0
    assert sim.advance_to(0.3).success
    # So slowly that accelerations do not matter: 20 mm in half a second.
    for i in range(1, 51):
        sim.data.ctrl[1] = 4e-4 * i
        assert sim.advance_to(0.3 + 0.01 * i).success
    assert sim.advance_to(1.0).success
    return float(sim.data.body("box").xpos[2] - 0.05)


@every_integrator
def test_a_cup_lifts_what_is_lighter_than_its_pull_and_no_more(name: str) -> None:
    limit = GAIN * CONTROL / GRAVITY
    mass = 0.8 * limit
    sag = (mass + 0.3) * GRAVITY / 4000.0
    # Midas keeps surfaces apart, by up to an activation distance.
    apart = 1e-3 if name == "Midas" else 1e-4
    assert _lifted(name, mass) == pytest.approx(0.02 - sag, abs=apart)
    assert _lifted(name, 1.1 * limit) == pytest.approx(0.0, abs=apart)


@every_integrator
def test_what_is_held_falls_when_the_control_is_too_small(name: str) -> None:
    # A box under a fixed cup.
    model = mujoco.MjModel.from_xml_string(f"""<mujoco><worldbody>
      <body name="cup" pos="0 0 1.1"><geom type="box" size="0.1 0.1 0.1" gap="1e-4"/></body>
      <body pos="0 0 0.95"><freejoint/><geom type="box" size="0.05 0.05 0.05" mass="{MASS}"/></body>
      </worldbody><actuator><adhesion body="cup" ctrlrange="0 1" gain="{GAIN}"/></actuator></mujoco>""")
    sim = asp.Simulator(model, integrator=INTEGRATORS[name])
    weight = MASS * GRAVITY
    for control, held in ((1.1 * weight / GAIN, True), (0.5 * weight / GAIN, False)):
        sim.data.ctrl[0] = control
        begin, height = sim.time, float(sim.data.qpos[2])
        assert sim.advance_to(begin + 0.5).success
        fall = height - float(sim.data.qpos[2])
        if held:
            assert fall == pytest.approx(0.0, abs=1e-3)
            force = sum(contact.force[2] for contact in sim.contacts)
            # The contact bears what the pull exceeds the weight by.
            assert abs(force) == pytest.approx(control * GAIN - weight, rel=0.02)
        else:
            # Pulled along the gap alone.
            assert fall == pytest.approx(0.5 * GRAVITY * 0.5**2, rel=0.05)


@every_integrator
def test_friction_sees_the_pressure_of_adhesive_geoms(name: str) -> None:
    # A box on a wall: four corners pull with A each, and friction holds up to μ 4 A.
    friction, pull = 0.5, 4.0

    def speed(mass: float) -> float:
        model = mujoco.MjModel.from_xml_string(
            f"""<mujoco><option cone="elliptic" gravity="0 0 0"/><worldbody>
            <geom type="box" size="0.01 1 1" pos="-0.01 0 0" friction="{friction}" adhesion="1.5"
              gap="1e-4"/>
            <body pos="0.01 0 0"><freejoint/><geom type="box" size="0.01 0.1 0.1" mass="{mass}"
              friction="{friction}" adhesion="{pull - 1.5}"/></body></worldbody></mujoco>"""
        )
        sim = asp.Simulator(model, integrator=INTEGRATORS[name])
        assert sim.advance_to(0.5).success
        model.opt.gravity[2] = -GRAVITY
        assert sim.advance_to(0.7).success
        return -float(sim.data.qvel[2])

    limit = friction * 4 * pull / GRAVITY
    assert speed(0.8 * limit) == pytest.approx(0.0, abs=2e-3)
    # Laws that let sliding bodies glide lift them out of adhesion's reach.
    if name in ("Icf", "Cenic", "Cenic, trapezoid", "Midas"):
        assert speed(1.25 * limit) == pytest.approx(0.2 * GRAVITY * 0.2, rel=0.02)


def test_bodies_that_touch_nothing_are_not_pulled() -> None:
    text = LIFT.format(mass=MASS, gain=GAIN).replace('pos="0 0 0.15"', 'pos="0 0 0.2"')
    sim = asp.Simulator(text, integrator=INTEGRATORS["Icf"])
    sim.data.ctrl[0] = 1.0
    assert sim.advance_to(0.2).success
    assert sim.data.actuator_force[0] == pytest.approx(GAIN)
    assert np.allclose(sim.data.qfrc_actuator[1:], 0.0)
