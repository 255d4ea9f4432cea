"""Actuators on sites, bodies, balls and free joints, muscles, and what else acts along lengths."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import asperity as asp

pytestmark = pytest.mark.filterwarnings("ignore::asperity.AsperityWarning")

NO_CONTACT = '<compiler autolimits="true"/><option {option}><flag contact="disable"/></option>'
BRICK = '<geom type="box" size=".1 .05 .02" pos=".1 .02 0" mass="{mass}"/>'
FREE = f"""<mujoco>{NO_CONTACT}<worldbody><site name="w" pos=".2 0 .9" euler="20 0 40"/>
  <body pos="0 0 1" euler="10 20 30"><joint name="j" type="free" {{joint}}/>
   {BRICK.format(mass=1)}<site name="s" pos=".2 .1 0" euler="0 30 0"/></body></worldbody>
  {{more}}</mujoco>"""
ARM = f"""<mujoco>{NO_CONTACT}<worldbody><site name="w" pos=".2 0 .9"/>
  <body pos="0 0 1"><joint name="j" type="ball" {{joint}}/>{BRICK.format(mass=1)}
   <body pos=".2 0 0" euler="0 0 20"><joint name="e" axis="0 1 .3" {{elbow}}/>
    {BRICK.format(mass=0.5)}<site name="s" pos=".2 .1 0"/>
    <body pos=".2 .05 0"><joint name="l" type="slide" axis="1 0 .2" stiffness="50" damping="2"/>
     {BRICK.format(mass=0.2)}<site name="t" pos=".1 0 .05"/></body></body></body></worldbody>
  {{more}}</mujoco>"""


def converged(xml: str, ctrl, duration: float, qvel=None) -> mujoco.MjData:
    """MuJoCo's motion in short steps."""
    model = mujoco.MjModel.from_xml_string(xml)
    model.opt.timestep = 1e-4
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    data = mujoco.MjData(model)
    if qvel is not None:
        data.qvel[:] = qvel
    data.ctrl[:] = ctrl
    while data.time < duration - 1e-9:
        mujoco.mj_step(model, data)
    return data


def compare(xml: str, ctrl, duration: float = 0.3, qvel=None, tolerance: float = 2e-3) -> None:
    """Bodies are where MuJoCo has them."""
    sim = asp.Simulator(xml, integrator=asp.Midas(time_step=2.5e-4, time_scheme="bdf2"))
    if qvel is not None:
        sim.data.qvel[:] = qvel
    sim.data.ctrl[:] = ctrl
    start = sim.data.qpos.copy()
    assert sim.advance_to(duration).success
    expected = converged(xml, ctrl, duration, qvel)
    moved = np.abs(expected.qpos - start).max()
    assert moved > 20 * tolerance, "nothing moves"
    np.testing.assert_allclose(sim.data.qpos, expected.qpos, atol=tolerance)
    if sim.model.na:
        np.testing.assert_allclose(sim.data.act, expected.act, atol=tolerance)
    if sim.model.nu:
        scale = np.abs(expected.actuator_force).max()
        np.testing.assert_allclose(
            sim.data.actuator_force, expected.actuator_force, atol=0.02 * scale + 1e-9
        )
        scale = np.abs(expected.qfrc_actuator).max()
        np.testing.assert_allclose(
            sim.data.qfrc_actuator, expected.qfrc_actuator, atol=0.02 * scale + 1e-9
        )


FREE_CASES = {
    "thruster": '<actuator><motor site="s" gear="0 0 1 .1 0 -.05"/></actuator>',
    "free joint": '<actuator><motor joint="j" gear="1 0 .5 .03 .04 .05"/></actuator>',
    "in parent": '<actuator><motor jointinparent="j" gear="1 0 .5 .03 .04 .05"/></actuator>',
    "lazy": '<actuator><general site="s" gear="0 0 1 0 0 0" dyntype="filter" dynprm=".1"/></actuator>',
    "rope": '<tendon><spatial name="t" stiffness="40" damping=".5" springlength=".05" armature=".3"'
    ' frictionloss=".2"><site site="s"/><site site="w"/></spatial></tendon>'
    '<actuator><motor tendon="t" gear="-3" armature=".1" damping=".2"/></actuator>',
}


@pytest.mark.parametrize("name", FREE_CASES)
def test_a_free_body_moves_as_in_mujoco(name):
    xml = FREE.format(option='gravity="0 0 -2"', joint="", more=FREE_CASES[name])
    count = mujoco.MjModel.from_xml_string(xml).nu
    compare(xml, np.linspace(0.8, 0.5, count))


SERVO = """<actuator>
  <general site="s" refsite="w" gear="1 0 0 0 0 0" biastype="affine" gainprm="8" biasprm="0 -8 -1"/>
  <general site="s" refsite="w" gear="0 0 0 0 .5 0" biastype="affine" gainprm=".1"
   biasprm="0 -.1 -.01"/></actuator>"""


def test_servos_to_a_site_tend_to_mujocos_motion_at_first_order():
    """What they act along turns with the body, and is that of a step's beginning."""
    xml, ctrl = FREE.format(option='gravity="0 0 -2"', joint="", more=SERVO), (0.8, 0.5)
    expected = converged(xml, ctrl, 0.2).qpos
    found = []
    for step in (1e-3, 5e-4):
        sim = asp.Simulator(xml, integrator=asp.Midas(time_step=step, time_scheme="bdf2"))
        sim.data.ctrl[:] = ctrl
        assert sim.advance_to(0.2).success
        found.append(sim.data.qpos.copy())
    assert np.abs(found[1] - expected).max() < 0.02
    np.testing.assert_allclose(2.0 * found[1] - found[0], expected, atol=1e-3)


@pytest.mark.parametrize(
    "joint", ['armature=".02"', 'frictionloss=".05"', 'armature=".3" frictionloss=".1"']
)
def test_armature_and_dry_friction_of_a_free_joint(joint):
    xml = FREE.format(option='gravity="1 0 -2"', joint=joint, more="")
    compare(xml, [], qvel=[0.3, 0.1, 0, 1.0, -2.0, 1.5])


MUSCLE = '<muscle {to} lengthrange="{low} {high}" force="{force}" timeconst=".02 .05"/>'
ARM_CASES = {
    "ball": '<actuator><motor joint="j" gear=".5 .8 .2"/></actuator>',
    "ball servo": '<actuator><general joint="j" gear="0 1 0" biastype="affine" gainprm="3"'
    ' biasprm="0 -3 -.1"/></actuator>',
    "muscle": "<actuator>"
    + MUSCLE.format(to='joint="e" gear=".1"', low=-0.2, high=0.2, force=30)
    + "</actuator>",
    "muscle on a rope": '<tendon><spatial name="t"><site site="w"/><site site="s"/><site site="t"/>'
    "</spatial></tendon><actuator>"
    + MUSCLE.format(to='tendon="t"', low=0.1, high=0.9, force=10)
    + "</actuator>",
    "changing gain": '<actuator><general joint="e" gaintype="affine" gainprm="1 .5 -.3"/></actuator>',
    "crank": '<actuator><motor cranksite="t" slidersite="w" cranklength=".6" gear="-2"/></actuator>',
    "wheel in the motor": '<actuator><motor joint="e" gear="2" armature=".05" damping=".02"/>'
    "</actuator>",
}


@pytest.mark.parametrize("name", ARM_CASES)
def test_an_arm_moves_as_in_mujoco(name):
    xml = ARM.format(
        option='gravity="0 0 -2"', joint='damping=".02"', elbow="", more=ARM_CASES[name]
    )
    compare(xml, [0.7])


# MuJoCo's friction creeps; so stiff, it hardly does.
STIFF = ' solreffriction=".002 1" solimpfriction=".999 .9999 .001"'


@pytest.mark.parametrize("joint", ['armature=".02"', 'frictionloss=".03"' + STIFF])
def test_armature_and_dry_friction_of_a_ball_joint(joint):
    xml = ARM.format(option='gravity="0 0 -2"', joint=joint, elbow="", more="")
    compare(xml, [], qvel=[1.0, -2.0, 1.5, 1.0, 0.0])


def test_a_stiff_servo_between_two_bodies_is_stable():
    """At 10 ms an explicit one would blow up: its frequency is 1,000 rad/s."""
    xml = """<mujoco><option gravity="0 0 0"/><worldbody><body><freejoint/><geom size=".1" mass="1"/>
      <site name="a"/></body><body pos="1 0 0"><freejoint/><geom size=".1" mass="1"/><site name="b"/>
      </body></worldbody><actuator><general site="a" refsite="b" gear="1 0 0 0 0 0" gainprm="5e5"
      biastype="affine" biasprm="0 -5e5 -100"/></actuator></mujoco>"""
    sim = asp.Simulator(xml, integrator=asp.Midas())
    sim.data.ctrl[0] = -0.5
    assert sim.advance_to(1.0).success
    # The centre of mass stays.
    np.testing.assert_allclose(sim.data.qpos[[0, 7]], [0.25, 0.75], atol=1e-6)


def test_friction_of_a_ball_holds_what_is_lighter():
    """1 kg at 0.1 m is 0.98 N m."""
    xml = """<mujoco><worldbody><body><joint type="ball" frictionloss="{}"/>
      <geom size=".02" pos=".1 0 0" mass="1"/></body></worldbody></mujoco>"""
    for friction, falls in ((1.0, False), (0.9, True)):
        sim = asp.Simulator(xml.format(friction), integrator=asp.Midas())
        assert sim.advance_to(0.5).success
        angle = 2 * np.arccos(min(abs(sim.data.qpos[0]), 1.0))
        assert (angle > 0.1) if falls else (angle < 1e-3)


CUP = """<mujoco><worldbody><geom type="box" size="1 1 .1" pos="0 0 1.1"/>
  <body name="cup" pos="0 0 {z}"><freejoint/><geom type="box" size=".05 .05 .02" mass="1"/></body>
  </worldbody><actuator><adhesion name="a" body="cup" ctrlrange="0 1" gain="20"/></actuator></mujoco>"""


@pytest.mark.parametrize(("ctrl", "held"), [(0.55, True), (0.45, False), (0.0, False)])
def test_adhesion_holds_a_body_to_the_ceiling(ctrl, held):
    """20 N at full control, 9.81 N of weight."""
    sim = asp.Simulator(CUP.format(z=0.9795), integrator=asp.Midas())
    sim.data.ctrl[0] = ctrl
    assert sim.advance_to(0.5).success
    assert (abs(sim.data.qpos[2] - 0.9795) < 1e-3) == held
    assert sim.data.actuator_force[0] == pytest.approx(20 * ctrl)
    if held:
        pressed = sim.contacts.force[:, 2].sum()
        assert abs(pressed) == pytest.approx(20 * ctrl - 9.81, rel=1e-3)


def test_adhesion_does_nothing_to_what_it_does_not_touch():
    sim = asp.Simulator(CUP.format(z=0.9), integrator=asp.Midas(time_step=1e-3))
    sim.data.ctrl[0] = 1.0
    assert sim.advance_to(0.1).success
    assert sim.data.qvel[2] == pytest.approx(-0.981, rel=1e-6)


def test_adhesion_of_two_bodies_moves_neither():
    xml = """<mujoco><option gravity="0 0 0"/><worldbody>
      <body name="cup"><freejoint/><geom type="box" size=".05 .05 .02"/></body>
      <body pos="0 .02 .0405"><freejoint/><geom type="box" size=".03 .05 .02"/></body></worldbody>
      <actuator><adhesion body="cup" ctrlrange="0 1" gain="5"/></actuator></mujoco>"""
    sim = asp.Simulator(xml, integrator=asp.Midas(verify=True))
    sim.data.ctrl[0] = 1.0
    assert sim.advance_to(0.3).success
    mass = sim.model.body_mass[1:]
    np.testing.assert_allclose(mass @ sim.data.qvel.reshape(2, 6)[:, :3], 0.0, atol=1e-9)
    assert np.abs(sim.data.qvel).max() < 1e-3


def test_what_stays_unsupported_is_named():
    with pytest.raises(asp.ModelError, match="only Cenic, Icf, Sap, Tamsi and Midas know"):
        asp.Simulator(CUP.format(z=0.9), integrator=asp.ImplicitEuler())
