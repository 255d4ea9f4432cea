"""MuJoCo's solref and solimp as N/m and s/m: what rests and what rebounds does so alike."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import asperity as asp
from asperity.plant.model.mujoco_contact import hunt_crossley_dissipation, impedance

_SOLREFS = ["0.02 1", "0.1 0.5", "-3000 -100"]
_SOLIMPS = ["0.9 0.95 0.001 0.5 2", "0.97 0.97 0.001 0.5 2", "0.2 0.95 0.01 0.5 2"]


def _ball(solref: str, solimp: str, mass: float = 1.0, height: float = 0.1, option: str = ""):
    return mujoco.MjModel.from_xml_string(f"""
    <mujoco><option timestep="0.0002" {option}/>
      <default><geom solref="{solref}" solimp="{solimp}"/></default>
      <worldbody><geom name="floor" type="plane" size="1 1 1"/>
        <body name="ball" pos="0 0 {height}"><freejoint/>
          <geom name="ball" size="0.1" mass="{mass}"/></body></worldbody></mujoco>""")


def _mujoco_until(model: mujoco.MjModel, time: float, velocity: float = 0.0) -> mujoco.MjData:
    data = mujoco.MjData(model)
    if velocity:
        data.qvel[2] = velocity
    while data.time < time:
        mujoco.mj_step(model, data)
    return data


@pytest.mark.parametrize("mass", [0.1, 10.0])
@pytest.mark.parametrize("solref", _SOLREFS)
@pytest.mark.parametrize("solimp", _SOLIMPS)
def test_a_ball_rests_as_deep_as_in_mujoco(mass: float, solref: str, solimp: str) -> None:
    model = _ball(solref, solimp, mass)
    there = 0.1 - _mujoco_until(model, 2.0).qpos[2]
    sim = asp.Simulator(model, contact=asp.ContactParameters.from_mujoco(model))
    sim.advance_to(2.0)
    assert there > 1e-6
    assert 0.1 - sim.data.qpos[2] == pytest.approx(there, rel=1e-3)


@pytest.mark.parametrize("flags", ["", '<flag refsafe="disable"/>'])
def test_time_constants_are_at_least_two_time_steps_as_in_mujoco(flags: str) -> None:
    model = mujoco.MjModel.from_xml_string(f"""
    <mujoco><option timestep="0.01">{flags}</option>
      <default><geom solref="0.016 1" solimp="0.9 0.9 0.001 0.5 2"/></default><worldbody>
      <geom type="plane" size="1 1 1"/><body name="ball" pos="0 0 0.1"><freejoint/>
        <geom size="0.1" mass="1"/></body></worldbody></mujoco>""")
    there = 0.1 - _mujoco_until(model, 2.0).qpos[2]
    contact = asp.ContactParameters.from_mujoco(model)
    assert 9.81 / contact.bodies["ball"].stiffness == pytest.approx(there, rel=1e-3)


def test_a_box_on_four_points_rests_as_deep_where_the_impedance_is_constant() -> None:
    model = mujoco.MjModel.from_xml_string("""
    <mujoco><default><geom solimp="0.97 0.97 0.001 0.5 2"/></default>
      <worldbody><geom type="plane" size="1 1 1"/><body name="box" pos="0 0 0.1"><freejoint/>
        <geom type="box" size="0.1 0.1 0.1" mass="2"/></body></worldbody></mujoco>""")
    there = 0.1 - _mujoco_until(model, 2.0).qpos[2]
    sim = asp.Simulator(model, contact=asp.ContactParameters.from_mujoco(model))
    sim.advance_to(2.0)
    assert 0.1 - sim.data.qpos[2] == pytest.approx(there, rel=1e-3)


def test_bodies_on_each_other_are_springs_in_series() -> None:
    model = mujoco.MjModel.from_xml_string("""
    <mujoco><default><geom solimp="0.97 0.97 0.001 0.5 2" contype="0"/></default><worldbody>
      <geom name="floor" type="plane" size="1 1 1" contype="1" conaffinity="0"/>
      <body name="slab" pos="0 0 0.05"><joint type="slide" axis="0 0 1"/>
        <geom name="slab" type="box" size="0.3 0.3 0.05" mass="5" contype="2"/></body>
      <body name="ball" pos="0 0 0.2"><joint type="slide" axis="0 0 1"/>
        <geom name="ball" size="0.1" mass="1" conaffinity="2"/></body></worldbody></mujoco>""")
    data = _mujoco_until(model, 3.0)
    sim = asp.Simulator(model, contact=asp.ContactParameters.from_mujoco(model))
    sim.advance_to(3.0)
    there, here = (-(d.qpos[1] - d.qpos[0]) for d in (data, sim.data))
    assert there > 1e-6
    assert here == pytest.approx(there, rel=1e-3)


@pytest.mark.parametrize("ratio", [0.05, 0.3, 0.8])
def test_a_ball_rebounds_as_fast_as_in_mujoco(ratio: float) -> None:
    speed = 0.7
    model = _ball(
        f"0.05 {ratio}", "0.95 0.95 0.001 0.5 2", height=0.10001, option="gravity='0 0 0'"
    )
    there = _mujoco_until(model, 0.5, -speed).qvel[2]
    contact = asp.ContactParameters.from_mujoco(model, impact_speed=speed)
    sim = asp.Simulator(model, contact=contact, integrator=asp.RungeKutta3(time_step=2e-5))
    sim.data.qvel[2] = -speed
    sim.advance_to(0.5)
    assert 0.05 < there < speed
    assert sim.data.qvel[2] == pytest.approx(there, rel=0.02)


@pytest.mark.parametrize("ratio", [0.01, 0.5, 1.0, 1.5])
def test_rebounds_of_both_laws_agree_when_integrated(ratio: float) -> None:
    """Mass one, natural frequency one; the linear law does not pull."""
    speed = 2.0
    dissipation = hunt_crossley_dissipation(ratio, speed)

    def fall(force):
        def ends(t, y):
            return force(y) + 1e-9 if t > 1e-3 else 1.0

        ends.terminal, ends.direction = True, -1
        solution = solve_ivp(
            lambda t, y: (y[1], -force(y)),
            (0, 50),
            (1e-9, speed),
            events=ends,
            rtol=1e-9,
            atol=1e-12,
        )
        return -solution.y[1, -1]

    linear = fall(lambda y: y[0] + 2.0 * ratio * y[1])
    hunt_crossley = fall(lambda y: y[0] * (1.0 + dissipation * y[1]))
    assert hunt_crossley == pytest.approx(linear, rel=2e-3, abs=2e-3 * speed)


def test_no_damping_is_no_dissipation_and_the_known_rebound_is_found() -> None:
    assert hunt_crossley_dissipation(0.0, 1.0) == 0.0
    # docs/verification.md, restitution: 0.789 m/s from 1 m/s at 0.4 s/m.
    u, r = 0.4, 0.4 * 0.789
    assert u - math.log1p(u) == pytest.approx(-r - math.log(1.0 - r), rel=1e-2)


def test_impedance_is_mujocos() -> None:
    # MuJoCo's efc_KBIP has the impedance of each row.
    model = _ball("0.02 1", "0.3 0.9 0.002 0.4 3")
    data = mujoco.MjData(model)
    for depth in (1e-5, 5e-4, 1.2e-3, 5e-3):
        data.qpos[2] = 0.1 - depth
        mujoco.mj_forward(model, data)
        assert impedance(model.geom_solimp[1], depth) == pytest.approx(
            data.efc_KBIP.reshape(-1, 4)[0, 2], rel=1e-6
        )


def test_pairs_names_and_what_has_none() -> None:
    model = mujoco.MjModel.from_xml_string("""
    <mujoco><default><geom solimp="0.9 0.9 0.001 0.5 2"/><pair solimp="0.9 0.9 0.001 0.5 2"/>
      </default><worldbody><geom name="floor" type="plane" size="1 1 1"/>
      <body name="hand[1]" pos="0 0 1"><freejoint/>
        <geom size="0.1"/><geom name="tip*" size="0.1" pos="0.1 0 0" solref="0.005 1"/>
        <geom size="0.1" pos="0.2 0 0" solref="0.3 1"/></body></worldbody>
      <contact><pair geom1="floor" geom2="tip*" solref="0.1 1"/></contact></mujoco>""")
    contact = asp.ContactParameters.from_mujoco(model)
    assert len(contact.bodies) == len(contact.geoms) == len(contact.pairs) == 1
    (body,), (tip,), (pair,) = (
        tuple(m.values()) for m in (contact.bodies, contact.geoms, contact.pairs)
    )
    # A spring of four times the time is softer by its square.
    assert tip.stiffness / body.stiffness == pytest.approx(16.0, rel=1e-6)
    assert body.stiffness / pair.stiffness == pytest.approx(25.0, rel=1e-6)
    sim = asp.Simulator(model, contact=contact)
    text = " ".join(sim.load_report.notes)
    assert "geom 3 of body 'hand[1]' has no name" in text
    assert "springs in series" in text
    assert "rebound from 1 m/s" in text


@pytest.mark.parametrize("speed", [0.0, -1.0, np.nan, np.inf])
def test_speeds_that_are_none_are_refused(speed: float) -> None:
    with pytest.raises(asp.ArgumentError, match="impact_speed must be positive"):
        asp.ContactParameters.from_mujoco(_ball("0.02 1", _SOLIMPS[0]), impact_speed=speed)


def test_what_is_no_model_is_refused() -> None:
    with pytest.raises(asp.ArgumentError, match=r"must be a mujoco\.MjModel, got str"):
        asp.ContactParameters.from_mujoco("scene.xml")  # type: ignore[arg-type]
