"""A fluid around the links, against the terminal velocity of MuJoCo's drag."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import asperity as asp

pytestmark = pytest.mark.filterwarnings("ignore::asperity.AsperityWarning")

FALLING = """<mujoco><option {fluid}/><worldbody><body pos="0 0 1"><freejoint/>
  <geom type="box" size=".1 .1 .1" mass=".5"/></body></worldbody></mujoco>"""


def test_a_box_falls_as_fast_as_drag_lets_it():
    """mg = ½ ρ v² A with MuJoCo's drag of a box, density 50 kg/m³ and 0.04 m²."""
    sim = asp.Simulator(FALLING.format(fluid='density="50"'), integrator=asp.Midas())
    assert sim.advance_to(3.0).success
    assert sim.data.qvel[2] == pytest.approx(-np.sqrt(2 * 0.5 * 9.81 / (50 * 0.04)), rel=1e-3)


def test_a_swimmer_swims_as_in_mujoco():
    xml = """<mujoco><option density="1000" viscosity=".01" gravity="0 0 0"/><default>
      <geom density="1000" contype="0" conaffinity="0"/></default><worldbody><body>
      <joint name="x" type="slide" axis="1 0 0"/><joint name="y" type="slide" axis="0 1 0"/>
      <joint name="turn" axis="0 0 1"/><geom type="capsule" fromto="0 0 0 .5 0 0" size=".05"/>
      <body pos=".5 0 0"><joint name="tail" axis="0 0 1" damping=".1"/>
       <geom type="capsule" fromto="0 0 0 .5 0 0" size=".05"/></body></body></worldbody>
      <actuator><motor joint="tail" gear="20"/></actuator></mujoco>"""
    sim = asp.Simulator(xml, integrator=asp.Midas(time_step=2e-3, time_scheme="bdf2"))
    model = mujoco.MjModel.from_xml_string(xml)
    model.opt.timestep = 1e-3
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    data = mujoco.MjData(model)
    for k in range(20):
        sim.data.ctrl[0] = data.ctrl[0] = np.sin(1.5 * k)
        assert sim.advance_to(0.1 * (k + 1)).success
        while data.time < sim.time - 1e-9:
            mujoco.mj_step(model, data)
    assert np.abs(data.qpos[:2]).max() > 0.05
    np.testing.assert_allclose(sim.data.qpos, data.qpos, atol=0.02)


def test_a_leaf_falls_as_fast_as_drag_lets_it():
    """Drag that would stop a leaf of 3 mg in a twentieth of a step does not throw it about."""
    leaf = FALLING.replace('size=".1 .1 .1" mass=".5"', 'size=".05 .05 .001" mass="3e-6"')
    sim = asp.Simulator(leaf.format(fluid='density="1.2"'), integrator=asp.Midas())
    final = -np.sqrt(2 * 3e-6 * 9.81 / (1.2 * 0.01))
    rate = 1.2 * 0.01 * abs(final) / 3e-6
    assert rate * sim.integrator.time_step > 2.0
    for k in range(30):
        assert sim.advance_to(0.01 * (k + 1)).success
        # At rest there is no drag yet, so that the first step is free fall, from which the next
        # concludes to a faster one.
        assert sim.data.qvel[2] == pytest.approx(final, rel=0.7 if k < 5 else 0.01)
    assert sim.data.qvel[2] == pytest.approx(final, rel=1e-3)


def test_forces_of_drag_resist_what_they_say():
    """Slopes of forces on the two bodies of an arm, against those of MuJoCo's generalized forces."""
    xml = """<mujoco><option density="1000" viscosity="2"/><worldbody><body><joint axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 .5 0 0" size=".05"/><body pos=".5 0 0"><joint axis="0 0 1"/>
      <geom type="box" pos=".2 0 0" size=".2 .02 .05"/></body></body></worldbody></mujoco>"""
    model = mujoco.MjModel.from_xml_string(xml)
    sim = asp.Simulator(model, integrator=asp.Midas())
    fluid = sim.session.method.engine.inputs.fluid
    qpos, qvel = np.array([0.3, -0.5]), np.array([2.0, -3.0])

    _, drag, _, _ = fluid.at(qpos, qvel)
    change = 1e-5 * np.eye(2)
    slope = np.array(
        [fluid.at(qpos, qvel + step)[0] - fluid.at(qpos, qvel - step)[0] for step in change]
    ) / (2e-5)
    # Links' coordinates by generalized velocities, which are linear in them.
    ways = np.array([fluid.at(qpos, one)[2].reshape(2, 12) for one in np.eye(2)])
    found = np.einsum("ila,lab,jlb->ij", ways, drag, ways)
    np.testing.assert_allclose(found, -0.5 * (slope + slope.T), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("joint", ["ball", "free"])
def test_wind_on_what_turns_has_an_error_of_second_order(joint):
    """Against MuJoCo in steps of 20 µs: a drag is a torque about axes that turn with the body."""
    shape = 'type="box" size=".1 .02 .01"'
    if joint == "free":
        shape = 'type="ellipsoid" size=".1 .05 .01" fluidshape="ellipsoid"'
    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><option density="20" viscosity=".01" wind="1 2 .5" integrator="RK4"
        timestep="2e-5"/><worldbody><body><joint type="{joint}"/>
        <geom {shape} pos=".1 0 0" mass=".05"/></body></worldbody></mujoco>"""
    )
    data = mujoco.MjData(model)
    data.qvel[-3:] = 1.0, 2.0, 3.0
    start = data.qvel.copy()
    mujoco.mj_step(model, data, nstep=10_000)
    errors = []
    for step in (2e-3, 5e-4):
        sim = asp.Simulator(model, integrator=asp.Midas(time_step=step))
        sim.data.qvel[:] = start
        sim.advance_to(0.2)
        errors.append(np.abs(sim.data.qpos - data.qpos).max())
    assert errors[0] < 0.01
    assert errors[1] < errors[0] / 8.0
