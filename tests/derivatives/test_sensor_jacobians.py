"""Derivatives of sensors in closed form, against differences."""

from __future__ import annotations

import itertools

import mujoco
import numpy as np
import pytest

import asperity as asp
import asperity.derivatives.sensors as sensors_module
from asperity.derivatives.sensor_jacobians import closed_rows
from asperity.derivatives.step_differences import solved_tightly

MODEL = """<mujoco><option magnetic=".2 -.3 .5"/><worldbody>
  <body name="free" pos="-.5 0 .4"><freejoint/>
    <geom name="box" type="box" size=".1 .2 .1" pos=".05 0 0" euler="10 0 30"/>
    <site name="corner" pos=".1 .2 .1" euler="30 0 0"/>
    <body name="flap" pos=".2 0 0"><joint name="flap" axis="0 1 1"/><geom name="flap" size=".05" pos=".1 0 0"/>
    </body></body>
  <body name="arm" pos="0 0 1"><joint name="slide" type="slide" axis="1 0 1"/>
    <joint name="turn" axis="0 1 0" pos="0 .1 0"/><joint name="ball" type="ball" pos=".05 0 0"/>
    <geom size=".1" pos=".2 0 0"/><site name="s" pos=".3 0 0" euler="10 20 30"/>
    <camera name="fixed" pos="0 -1 0" xyaxes="1 0 0 0 0 1"/>
    <camera name="tracking" mode="track" pos="0 -1 0" xyaxes="1 0 0 0 0 1"/>
    <body name="fore" pos=".4 0 0"><joint name="b" axis="1 1 0" ref=".1"/>
      <geom size=".05" pos=".1 .1 0"/><site name="tip" pos=".1 .2 0"/></body></body>
  <body name="mocap" mocap="true"><site name="held" pos=".1 0 0"/></body></worldbody>
  <tendon><fixed name="sum"><joint joint="turn" coef="2"/><joint joint="b" coef="-1"/></fixed>
    <spatial name="string"><site site="held"/><site site="tip"/></spatial></tendon>
  <actuator><motor name="joint" joint="b" gear="3"/><motor name="sum" tendon="sum"/>
    <motor name="string" tendon="string"/><motor name="site" site="tip" refsite="s"/></actuator>
  <sensor>{sensors}</sensor></mujoco>"""

OBJECTS = (
    ("site", "tip"),
    ("body", "free"),
    ("xbody", "fore"),
    ("geom", "box"),
    ("camera", "fixed"),
)
REFERENCES = (None, ("site", "s"), ("body", "flap"), ("site", "held"))
FRAMES = ("pos", "quat", "xaxis", "yaxis", "zaxis", "linvel", "angvel")
OTHERS = """<jointpos joint="b"/><jointvel joint="b"/><jointpos joint="slide"/><ballquat joint="ball"/>
  <ballangvel joint="ball"/><tendonpos tendon="sum"/><tendonvel tendon="sum"/>
  <tendonpos tendon="string"/><actuatorpos actuator="joint"/><actuatorvel actuator="joint"/>
  <actuatorpos actuator="sum"/><actuatorvel actuator="sum"/><actuatorpos actuator="string"/>
  <gyro site="s"/><gyro site="corner"/><velocimeter site="tip"/><velocimeter site="corner"/>
  <magnetometer site="corner"/><subtreecom body="arm"/><subtreecom body="free"/><clock/>
  <subtreelinvel body="arm"/><subtreeangmom body="arm"/><subtreelinvel body="free"/>
  <subtreeangmom body="free"/><subtreeangmom body="fore"/>
  <jointvel joint="turn" cutoff=".01"/>"""


def frame_sensors() -> str:
    text = ""
    for kind, (own, name), reference in itertools.product(FRAMES, OBJECTS, REFERENCES):
        other = "" if reference is None else f'reftype="{reference[0]}" refname="{reference[1]}"'
        text += f'<frame{kind} objtype="{own}" objname="{name}" {other}/>'
    return text


def moving(sensors: str) -> tuple[mujoco.MjModel, mujoco.MjData]:
    model = mujoco.MjModel.from_xml_string(MODEL.format(sensors=sensors))
    data = mujoco.MjData(model)
    rng = np.random.default_rng(3)
    mujoco.mj_integratePos(model, data.qpos, rng.normal(size=model.nv), 0.5)
    data.qvel[:] = rng.normal(size=model.nv)
    data.mocap_pos[0] = 0.3, 0.2, 1.0
    return model, data


def differences(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    by_state = np.zeros((model.nsensordata, 2 * model.nv))
    mujoco.mjd_transitionFD(model, data, 1e-6, True, None, None, by_state, None)
    return by_state


@pytest.mark.parametrize("sensors", [frame_sensors(), OTHERS], ids=["frames", "others"])
def test_sensors_have_the_derivatives_of_mujoco_s_differences(sensors: str) -> None:
    model, data = moving(sensors)
    mujoco.mj_forward(model, data)
    rows, closed = closed_rows(model, data, accelerations=False)
    assert closed.all()
    np.testing.assert_allclose(rows[:, : 2 * model.nv], differences(model, data), atol=2e-8)
    assert not rows[:, 2 * model.nv :].any()


ACCELERATIONS = """<accelerometer site="tip"/><accelerometer site="corner"/><framelinacc
  objtype="geom" objname="flap"/><frameangacc objtype="xbody" objname="fore"/>
  <framelinacc objtype="body" objname="fore"/><frameangacc objtype="body" objname="free"/>"""


def test_accelerations_have_the_derivatives_of_differences() -> None:
    """By positions, velocities and joint accelerations, each by itself."""
    model, data = moving(ACCELERATIONS)
    nv = model.nv
    data.qacc[:] = acceleration = np.random.default_rng(4).normal(size=nv)
    start = data.qpos.copy(), data.qvel.copy()

    def sense(change: np.ndarray) -> np.ndarray:
        data.qpos[:], data.qvel[:] = start
        mujoco.mj_integratePos(model, data.qpos, change[:nv], 1.0)
        data.qvel += change[nv : 2 * nv]
        mujoco.mj_fwdPosition(model, data)
        mujoco.mj_fwdVelocity(model, data)
        data.ncon = data.nefc = 0
        data.qacc[:] = acceleration + change[2 * nv :]
        data.flg_rnepost = False
        mujoco.mj_sensorAcc(model, data)
        return data.sensordata.copy()

    size = 1e-6
    ends = [[sense(sign * size * row) for sign in (1, -1)] for row in np.eye(3 * nv)]
    sense(np.zeros(3 * nv))
    rows, closed = closed_rows(model, data, accelerations=True)
    assert closed.all()
    expected = np.array([one - other for one, other in ends]).T / (2.0 * size)
    np.testing.assert_allclose(rows, expected, atol=1e-7)


@pytest.mark.parametrize(
    "integrator",
    [asp.Icf(time_step=1e-3), asp.Sap(time_step=1e-3)],
    ids=["icf", "sap"],
)
def test_an_accelerometer_feels_the_published_step(integrator: asp.Integrator) -> None:
    """On a leg that stands and is driven, against differences of what is published.

    Derivatives are those of steps that are solved to round-off.
    """
    model = mujoco.MjModel.from_xml_string(
        """<mujoco><worldbody><geom type="plane" size="3 3 1"/><body pos="0 0 .4995">
        <joint name="z" type="slide" axis="0 0 1"/><joint axis="0 1 0" damping=".1"/>
        <geom type="capsule" size=".04" fromto="0 0 0 .2 0 -.2"/><site name="hip" pos=".05 0 0"/>
        <body pos=".2 0 -.2"><joint name="knee" axis="0 1 0"/>
        <geom type="capsule" size=".04" fromto="0 0 0 -.2 0 -.26"/></body></body></worldbody>
        <actuator><position joint="knee" kp="60" kv="3"/></actuator>
        <sensor><accelerometer site="hip"/><gyro site="hip"/></sensor></mujoco>"""
    )
    data = mujoco.MjData(model)
    data.qvel[:], data.ctrl[:] = (-0.01, 0.2, 0.02), 0.2
    linear = asp.derivatives.linearize(model, data, integrator=integrator)
    simulator = asp.Simulator(model, integrator=integrator)

    def publish(change: np.ndarray) -> np.ndarray:
        simulator.data.qpos[:] = data.qpos + change[:3]
        simulator.data.qvel[:] = data.qvel + change[3:6]
        simulator.data.ctrl[:] = data.ctrl + change[6:]
        with solved_tightly(simulator):
            simulator.advance_to(simulator.time)
        return simulator.data.sensordata.copy()

    size = 1e-8  # small beside the stiction tolerance
    sides = [[publish(sign * size * row) for sign in (1, -1)] for row in np.eye(7)]
    expected = np.array([one - other for one, other in sides]).T / (2.0 * size)
    assert np.abs(expected[:, 0]).max() > 1e3  # it stands
    scale = np.abs(expected).max(axis=0)
    assert np.all(np.abs(linear.C - expected[:, :6]) < 1e-5 * np.maximum(scale[:6], 1e-2))
    np.testing.assert_allclose(linear.D, expected[:, 6:], atol=1e-5)


def pushed_foot(push: float, *, uneven: bool = False) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """A box on a springy foot that creeps or slips, after a second of pushing [N].

    Friction of rolling, which it does not do, may be ``uneven``.
    """
    pair = '<pair geom1="floor" geom2="foot" condim="6" friction="1 1 .005 .0001 .0002"/>'
    contact = f"<contact>{pair}</contact>" if uneven else ""
    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><worldbody><geom name="floor" type="plane" size="3 3 1"/><body pos="0 0 .1">
        <joint name="x" type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/>
        <geom type="box" size=".05 .05 .05" mass="1"/><site name="box"/><body pos="0 0 -.05">
        <joint type="slide" axis="1 0 0" stiffness="2000" damping="2"/>
        <geom name="foot" size=".05" mass=".5"/><site name="foot" size=".1"/></body></body>
        </worldbody>{contact}<actuator><motor joint="x"/></actuator>
        <sensor><touch site="foot"/><force site="foot"/><accelerometer site="box"/></sensor></mujoco>"""
    )
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=1e-3))
    sim.data.ctrl[:] = push
    assert sim.advance_to(1.0).success
    return model, sim.data


@pytest.mark.parametrize(
    "integrator",
    [
        asp.Icf(time_step=1e-3),
        asp.Icf(time_step=1e-3, friction_bound="similar"),
        asp.Cenic(accuracy=1e-3),
        asp.Sap(time_step=1e-3),
        asp.Tamsi(time_step=1e-3),
    ],
    ids=["icf", "similar", "cenic", "sap", "tamsi"],
)
@pytest.mark.parametrize("push", [4.0, 7.0, 14.0])
def test_forces_have_the_derivatives_of_momentum(integrator: asp.Integrator, push: float) -> None:
    """Of a box on a springy foot: what its accelerations ask for.

    Those of forces come from contacts, but for SAP, which takes differences of published steps.
    """
    model, data = pushed_foot(push)
    linear = asp.derivatives.linearize(model, data, integrator=integrator)
    touch, along, _, up, box_along, _, box_up = np.hstack([linear.C, linear.D])
    scale = np.abs(along).max()
    assert scale > 1e3
    np.testing.assert_allclose(touch, 1.5 * box_up, atol=1e-4 * np.abs(box_up).max())
    np.testing.assert_allclose(up, -1.0 * box_up, atol=1e-4 * np.abs(box_up).max())
    box_along[-1] -= 1.0  # by the push itself
    np.testing.assert_allclose(along, -box_along, atol=1e-4 * scale)


HAND_ON_CUBE = """<mujoco><worldbody><geom type="plane" size="3 3 1"/>
<body name="base" pos="0 0 .31"><freejoint/><geom type="box" size=".1 .08 .05" mass="2"/>
 <site name="base" size=".4"/><body pos=".1 0 0"><joint name="a" axis="0 1 0"/>
 <geom type="capsule" size=".02" fromto="0 0 0 .2 0 -.1" mass=".5"/>
 <site name="shoulder" pos=".01 .02 .03" quat=".9 .1 .3 .2"/><body pos=".2 0 -.1">
 <joint name="b" axis="1 0 .3" damping=".1"/><geom pos=".1 .02 -.2" size=".03" mass=".3"/>
 <site name="elbow" quat=".8 .3 -.2 .1"/><site name="tip" pos=".1 .02 -.2" size=".05"/>
 </body></body></body><body pos=".3 .02 .05"><freejoint/>
 <geom type="box" size=".06 .06 .05" mass="1"/><site name="cube" type="box" size=".1 .1 .1"/></body>
</worldbody><actuator><motor joint="a"/><position joint="b" kp="40" kv="1"/></actuator>
<sensor><force site="shoulder"/><torque site="shoulder"/><force site="elbow"/>
 <torque site="elbow"/><touch site="tip"/><touch site="cube"/><touch site="base"/>
 <torque site="cube"/><force site="base"/></sensor></mujoco>"""


@pytest.mark.parametrize(
    "integrator",
    [asp.Icf(time_step=1e-3), asp.Tamsi(time_step=1e-3), asp.Cenic(accuracy=1e-3)],
    ids=["icf", "tamsi", "cenic"],
)
@pytest.mark.parametrize("time", [0.1, 0.4])
@pytest.mark.parametrize("friction", ["1", "1 .02 .005"], ids=["sliding", "every"])
def test_forces_have_the_derivatives_of_differences(
    integrator: asp.Integrator, time: float, friction: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a robot whose hand slips from a cube, and lies on the floor; no step is taken for them.

    What holds a free body is nothing, and so are its derivatives.
    """
    dimension = 3 if friction == "1" else 6
    defaults = f'<default><geom condim="{dimension}" friction="{friction}"/></default>'
    model = mujoco.MjModel.from_xml_string(
        HAND_ON_CUBE.replace("<worldbody>", defaults + "<worldbody>")
    )
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=1e-3))
    sim.data.ctrl[:] = 0.5, 0.1
    assert sim.advance_to(time).success
    sim.data.xfrc_applied[2] = 0.3, -0.2, 0.5, 0.02, 0.03, -0.01
    publish = sensors_module._publish
    monkeypatch.setattr(sensors_module, "_publish", None)
    found = asp.derivatives.linearize(model, sim.data, integrator=integrator)
    monkeypatch.setattr(sensors_module, "_publish", publish)
    monkeypatch.setattr(sensors_module, "force_rows", lambda *_: {})
    rows, errors = np.hstack([found.C, found.D]), []
    for size in (1e-6, 1e-8):
        # What sticks needs differences that are small beside its slip, all else large ones.
        monkeypatch.setattr(sensors_module, "_SIZE", size)
        expected = asp.derivatives.linearize(model, sim.data, integrator=integrator)
        wanted = np.hstack([expected.C, expected.D])
        errors.append(np.abs(rows - wanted))
    error = np.minimum(*errors)
    # All axes of a sensor count, as its site may be turned.
    largest = np.maximum.reduceat(np.abs(wanted).max(axis=1), model.sensor_adr)
    scale = np.repeat(largest, model.sensor_dim)[:, None]
    assert np.all(scale[[0, 3, 6, 9, 13]] > 1.0)
    assert np.all(error[:15] <= 1e-4 * scale[:15])
    assert np.abs(rows[15:]).max() < 1e-7 * scale.max()


DRIVEN = """<mujoco><option integrator="implicitfast"/><worldbody>
  <body pos="0 0 1"><joint name="a" axis="0 1 0" armature=".1" actuatorfrcrange="-3 3"/>
    <geom type="capsule" size=".03" fromto="0 0 0 .3 0 0"/><site name="hip" pos=".1 0 0"/>
    <body pos=".3 0 0"><joint name="b" axis="0 1 .2" ref=".2"/>
    <geom type="capsule" size=".03" fromto="0 0 0 .3 0 0"/><site name="tip" pos=".3 0 .1"/>
    <body pos=".3 0 0"><joint name="c" type="slide" axis="1 0 0" damping="3"/>
    <geom size=".05"/></body></body></body><site name="wall" pos=".4 .3 1.2"/></worldbody>
  <tendon><fixed name="sum"><joint joint="a" coef="2"/><joint joint="b" coef="-1"/></fixed>
    <spatial name="string"><site site="wall"/><site site="tip"/></spatial></tendon>
  <actuator><motor name="0" joint="a" gear="3"/><position name="1" joint="b" kp="40" kv="2"/>
    <velocity name="2" joint="c" kv="7" gear="2" ctrlrange="-1 1"/><motor name="3" tendon="sum"/>
    <position name="4" tendon="sum" kp="5" kv=".5" forcerange="-.1 .1"/>
    <general name="5" joint="c" gaintype="affine" gainprm="2 .3 .4" biastype="affine"
      biasprm=".1 -3 -.2" dyntype="filter" dynprm=".1"/>
    <intvelocity name="6" joint="b" kp="20" actrange="-1 1"/>
    <position name="7" tendon="string" kp="30" dampratio="0"/><motor name="8" site="tip"
    refsite="hip" gear="0 0 1 0 0 0"/></actuator>
  <sensor>{sensors}<jointactuatorfrc joint="c"/><tendonactuatorfrc tendon="sum"/></sensor>
</mujoco>"""


@pytest.mark.parametrize("integrator", [asp.Icf(time_step=1e-3), asp.Cenic(accuracy=1e-3)])
def test_forces_of_actuators_have_the_derivatives_of_differences(
    integrator: asp.Integrator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of motors, servos and filters; no step is taken for them."""
    text = "".join(f'<actuatorfrc actuator="{i}"/>' for i in range(9))
    model = mujoco.MjModel.from_xml_string(DRIVEN.format(sensors=text))
    data = mujoco.MjData(model)
    rng = np.random.default_rng(5)
    for values, size in ((data.qpos, 0.3), (data.qvel, 1.0), (data.act, 0.3), (data.ctrl, 0.5)):
        values[:] = size * rng.uniform(-1.0, 1.0, len(values))
    data.ctrl[2] = 1.5
    publish = sensors_module._publish
    monkeypatch.setattr(sensors_module, "_publish", None)
    found = asp.derivatives.linearize(model, data, integrator=integrator)
    monkeypatch.setattr(sensors_module, "_publish", publish)
    monkeypatch.setattr(sensors_module, "actuator_force_rows", lambda *_: {})
    expected = asp.derivatives.linearize(model, data, integrator=integrator)
    rows, wanted = (np.hstack([one.C, one.D]) for one in (found, expected))
    np.testing.assert_allclose(rows, wanted, atol=2e-6)
    # What is at a limit of its force does not change, or not by a control that is beyond its own.
    assert np.flatnonzero(~np.any(wanted, axis=1)).tolist() == [4]
    assert not wanted[:, 6 + 2 + 2].any()


def test_forces_of_other_actuators_are_differences() -> None:
    """On a joint that a string pulls, too, and beyond what a joint lets actuators exert."""
    model = mujoco.MjModel.from_xml_string(
        DRIVEN.format(sensors='<jointactuatorfrc joint="a"/><jointactuatorfrc joint="b"/>')
    )
    data = mujoco.MjData(model)
    data.ctrl[:3] = 5.0, 1.0, 0.0
    rows = asp.derivatives.linearize(model, data, integrator=asp.Icf(time_step=1e-3))
    assert not np.hstack([rows.C, rows.D])[0].any()
    np.testing.assert_allclose(rows.D[1, 1], 40.0, rtol=1e-6)


def test_what_holds_other_bodies_leaves_closed_forms(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a sensor on an arm beside bodies that are welded; one on these takes steps."""
    text = DRIVEN.format(sensors='<force site="hip"/><torque site="hip"/>').replace(
        "</worldbody>",
        """<body name="one" pos="0 2 0"><freejoint/><geom size=".1"/><site name="one"/></body>
        <body name="other" pos="0 2.3 0"><freejoint/><geom size=".1"/></body></worldbody>
        <equality><weld body1="one" body2="other"/></equality>""",
    )
    alone = mujoco.MjModel.from_xml_string(DRIVEN.format(sensors='<force site="hip"/>'))
    expected = asp.derivatives.linearize(
        alone, mujoco.MjData(alone), integrator=asp.Icf(time_step=1e-3)
    )
    model = mujoco.MjModel.from_xml_string(text)
    steps = []
    publish = sensors_module._publish
    monkeypatch.setattr(sensors_module, "_publish", lambda one: (steps.append(one), publish(one)))
    found = asp.derivatives.linearize(
        model, mujoco.MjData(model), integrator=asp.Icf(time_step=1e-3)
    )
    assert not steps
    scale = np.abs(expected.C).max()
    np.testing.assert_allclose(found.C[:3, :3], expected.C[:3, :3], atol=1e-7 * scale)
    model = mujoco.MjModel.from_xml_string(
        text.replace('<force site="hip"/>', '<force site="one"/>')
    )
    asp.derivatives.linearize(model, mujoco.MjData(model), integrator=asp.Icf(time_step=1e-3))
    assert steps


def test_a_sensor_feels_what_pushes_a_body_besides_contacts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of a ball on a hinge through its centre: R' (m g − P), which turns with the hinge."""
    model = mujoco.MjModel.from_xml_string(
        """<mujoco><worldbody><body><joint axis="0 1 0"/><geom size=".1" mass="2"/>
        <site name="s"/></body></worldbody><sensor><force site="s"/></sensor></mujoco>"""
    )
    data = mujoco.MjData(model)
    data.qpos[:], data.xfrc_applied[1, :3] = 0.3, (1.0, 2.0, 3.0)
    monkeypatch.setattr(sensors_module, "_publish", None)
    found = asp.derivatives.linearize(model, data, integrator=asp.Icf(time_step=1e-3)).C
    force = np.array([-1.0, -2.0, 2.0 * 9.81 - 3.0])
    sine, cosine = np.sin(0.3), np.cos(0.3)
    turned = np.array([[-sine, 0.0, -cosine], [0.0, 0.0, 0.0], [cosine, 0.0, -sine]])
    np.testing.assert_allclose(found[:, 0], turned @ force, atol=1e-6)
    np.testing.assert_allclose(found[:, 1], 0.0, atol=1e-6)


@pytest.mark.parametrize("integrator", [asp.Icf(time_step=1e-3), asp.Cenic(accuracy=1e-3)])
def test_differences_of_steps_are_what_is_solved_for(integrator: asp.Integrator) -> None:
    """Friction of rolling changes nothing but the way to the derivatives."""
    implicit, differences = (
        asp.derivatives.linearize(*pushed_foot(4.0, uneven=uneven), integrator=integrator)
        for uneven in (False, True)
    )
    assert (implicit.method, differences.method) == ("implicit", "differences")
    for name in ("A", "B", "C", "D"):
        expected, found = getattr(implicit, name), getattr(differences, name)
        scale = np.abs(np.hstack([implicit.A, implicit.B] if name in "AB" else [implicit.C]))
        error = np.abs(found - expected) / scale.max(axis=1, keepdims=True).clip(1e-9)
        assert np.all(error < 2e-3 if name in "CD" else error < 1e-6)


def test_what_has_no_closed_form_is_differences() -> None:
    """A camera that tracks, the speed of a string, of a site's actuator: beside others."""
    model, data = moving(
        '<framepos objtype="camera" objname="tracking"/><tendonvel tendon="string"/>'
        '<actuatorvel actuator="site"/><actuatorvel actuator="string"/>'
        '<framepos objtype="site" objname="tip" reftype="camera" refname="tracking"/>'
        '<gyro site="s"/><framelinvel objtype="camera" objname="tracking"/>'
    )
    mujoco.mj_forward(model, data)
    expected = differences(model, data)
    linear = asp.derivatives.linearize(model, data, integrator=asp.Icf(time_step=1e-3))
    assert closed_rows(model, data, accelerations=False)[1].tolist() == 5 * [False] + [True, False]
    np.testing.assert_allclose(linear.C, expected, atol=1e-6)


def test_accelerations_are_of_the_beginning_under_error_control() -> None:
    """Of a double pendulum, which has no forces but explicit ones, as MuJoCo's differences."""
    model = mujoco.MjModel.from_xml_string(
        """<mujoco><worldbody><body pos="0 0 1"><joint axis="0 1 0"/>
        <geom type="capsule" size=".04" fromto="0 0 0 .3 0 0"/><body pos=".3 0 0">
        <joint axis="0 1 0"/><geom type="capsule" size=".04" fromto="0 0 0 .3 0 0"/>
        <site name="s" pos=".3 0 0"/></body></body></worldbody>
        <sensor><accelerometer site="s"/></sensor></mujoco>"""
    )
    data = mujoco.MjData(model)
    data.qvel[:] = 3.0, -2.0
    linear = asp.derivatives.linearize(model, data, integrator=asp.Cenic(accuracy=1e-5), step=0.1)
    assert len(linear.steps) > 10
    np.testing.assert_allclose(linear.C, differences(model, data), atol=1e-6)
