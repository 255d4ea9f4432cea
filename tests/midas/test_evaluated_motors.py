"""PID controllers, DC motors and orientation servos, whose forces MuJoCo is asked for."""

from __future__ import annotations

import copy

import mujoco
import numpy as np
import pytest
from test_transmissions import compare

import asperity as asp

pytestmark = pytest.mark.filterwarnings("ignore::asperity.AsperityWarning")

HINGE = """<mujoco><option gravity="0 0 -3"><flag contact="disable"/></option><worldbody>
  <body><joint name="j" axis="0 1 0" damping=".05"/>
   <geom type="box" size=".05 .05 .15" pos="0 0 -.15" mass=".5"/></body></worldbody>
  <actuator>{motor}</actuator></mujoco>"""
BALL = """<mujoco><option gravity="0 0 -3"><flag contact="disable"/></option><worldbody>
  <site name="w" pos="0 0 1"/><body><joint name="j" type="ball"/>
   <geom type="box" size=".05 .1 .15" pos="0 .02 -.15" mass=".5"/><site name="s"/></body>
  </worldbody><actuator>{motor}</actuator></mujoco>"""
ONES = {
    "PD": ('<pid joint="j" kp="4" kv=".3"/>', (0.8, 0.1)),
    "PID": ('<pid joint="j" kp="4" kv=".3" ki="6" imax=".05" input="pos vel ff"/>', (0.8, 0, 0.2)),
    "slow": ('<pid joint="j" kp="8" kv=".5" slewmax="2"/>', (1.5, 0)),
    "geared": ('<pid joint="j" gear="-3" kp="1" kv=".1" ki="2"/>', (-2.0, 0)),
    "limited": ('<pid joint="j" kp="40" kv="1" forcerange="-1.5 1.5"/>', (1.0, 0)),
    "motor": ('<dcmotor joint="j" resistance="2" motorconst=".3"/>', (3.0,)),
    "current": ('<dcmotor joint="j" resistance="2" motorconst=".3" inductance=".1 0"/>', (3.0,)),
    "warm": (
        '<dcmotor joint="j" resistance="2" motorconst=".3" thermal="1 .5 0 .01 25 40"/>',
        (3.0,),
    ),
    "cogging": ('<dcmotor joint="j" resistance="2" motorconst=".3" cogging=".1 6 .2"/>', (3.0,)),
    "bristles": (
        '<dcmotor joint="j" resistance="2" motorconst=".3" lugre="20 .1 .1 .15 .1"/>',
        (3.0,),
    ),
    "controlled": (
        '<dcmotor joint="j" resistance="2" motorconst=".3" inductance=".02 0" saturation="1.2 0 0"'
        ' controller="3 2 .2 3 .1 8" input="pos vel"/>',
        (1.0, 0.1),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ONES)
def test_a_motor_turns_a_hinge_as_in_mujoco(name):
    motor, ctrl = ONES[name]
    compare(HINGE.format(motor=motor), ctrl, duration=0.4, tolerance=4e-3)


SERVOS = {
    "joint": ('<orientation joint="j" kp="1.5" kv=".05"/>', (0.9, 0.3, -0.4)),
    "quaternion": ('<orientation joint="j" kp="1.5" kv=".05" input="quat"/>', (1.8, 1.0, 0.3, -0.4)),
    "site": ('<orientation site="s" refsite="w" kp="1.5" kv=".05"/>', (0.9, 0.3, -0.4)),
    "integrator": (
        '<general joint="j" dyntype="integrator" gaintype="so3" biastype="so3" gainprm="1.5"'
        ' biasprm="0 -1.5 -.05"/>',
        (2.0, 1.0, -1.0),
    ),
    "limited": ('<orientation joint="j" kp="9" kv=".1" forcerange="0 .5"/>', (0.9, 0.3, -0.4)),
}  # fmt: skip


@pytest.mark.parametrize("name", SERVOS)
def test_an_orientation_servo_turns_a_ball_joint_as_in_mujoco(name):
    motor, ctrl = SERVOS[name]
    compare(BALL.format(motor=motor), ctrl, duration=0.25, tolerance=4e-3)


AROUND = {
    "joint": '<position joint="j" gear="0 1 0" kp="3" kv=".1"/>',
    "site": '<position site="s" refsite="w" gear="0 0 0 0 1 0" kp="3" kv=".1"/>',
    "filter": '<position joint="j" gear="0 1 0" kp="3" kv=".1" timeconst=".1"/>',
}


@pytest.mark.parametrize("name", AROUND)
def test_a_servo_on_a_circle_takes_the_nearest_turn(name):
    """More than half a turn away, it does not go the long way round."""
    xml = BALL.format(motor=AROUND[name])
    compare(xml, (2.0 * np.pi + 0.6,), duration=0.2, tolerance=4e-3)


def test_stiff_motors_are_stable_in_long_steps():
    """Gains far beyond what an explicit force of a step of 10 ms would stand."""
    motor = '<pid joint="j" kp="4e3" kv="40" ki="100"/>'
    sim = asp.Simulator(HINGE.format(motor=motor), integrator=asp.Midas())
    sim.data.ctrl[:] = [1.0, 0.0]
    assert sim.advance_to(1.0).success
    assert sim.data.qpos[0] == pytest.approx(1.0, abs=1e-3)
    motor = '<dcmotor joint="j" resistance=".01" motorconst="1" inductance="1e-5 0"/>'
    sim = asp.Simulator(HINGE.format(motor=motor), integrator=asp.Midas())
    sim.data.ctrl[:] = 2.0
    assert sim.advance_to(1.0).success
    assert sim.data.qvel[0] == pytest.approx(2.0, rel=0.02)  # V/K: all but all of it


def test_a_motor_without_controls_brakes():
    motor = '<dcmotor joint="j" resistance="2" motorconst=".5" input="none"/>'
    xml = HINGE.format(motor=motor)
    assert mujoco.MjModel.from_xml_string(xml).nu == 0
    compare(xml, [], duration=0.3, qvel=[5.0])


def test_actuators_of_all_kinds_stand_side_by_side():
    """Controls, forces and activations have numbers of their own."""
    more = '<pid joint="j" kp="1" ki="2"/><motor joint="j"/>' + ONES["current"][0]
    more += '<general joint="j" dyntype="filter" dynprm=".1" gainprm=".5"/>'
    compare(HINGE.format(motor=more), (0.8, 0.1, 0.3, 2.0, 0.4), duration=0.3)


def test_the_other_integrators_refuse_inner_states():
    with pytest.raises(asp.ModelError, match="Cenic, Icf, Sap, Tamsi and Midas integrate"):
        asp.Simulator(HINGE.format(motor=ONES["current"][0]), integrator=asp.ImplicitEuler())


def test_copies_go_on_alike():
    sim = asp.Simulator(HINGE.format(motor=ONES["controlled"][0]), integrator=asp.Midas())
    sim.data.ctrl[:] = [1.0, 0.1]
    sim.advance_to(0.1)
    other = copy.deepcopy(sim)
    sim.advance_to(0.2)
    other.advance_to(0.2)
    assert np.array_equal(sim.data.qpos, other.data.qpos)
    assert np.array_equal(sim.data.act, other.data.act)
