"""``asperity.step`` in place of ``mujoco.mj_step``: the same state, and MuJoCo's own side effects."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest

import asperity as asp

G = 9.81

SCENE = """
<mujoco>
  <option timestep="0.002" cone="{cone}"/>
  <worldbody>
    <geom name="floor" type="plane" size="0 0 1"/>
    <body name="box" pos="0 0 0.1"><freejoint/>
      <geom name="box" type="box" size="0.1 0.1 0.1" mass="2" condim="{condim}"/>
      <site name="middle" pos="0 0 0.02"/>
      <site name="sole" type="box" size="0.11 0.11 0.02" pos="0 0 -0.1"/>
      <camera name="eye"/></body>
    <body name="arm" pos="1 0 1">
      <joint name="j" type="hinge" axis="0 1 0" limited="true" range="-60 60" damping="0.3"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.03" mass="1"/>
      <site name="shoulder"/>
      <body name="hand" pos="0 0 -0.4"><geom size="0.04" mass="0.5"/></body></body>
  </worldbody>
  <actuator><motor name="m" joint="j"/></actuator>
  <sensor>
    <accelerometer name="accelerometer" site="middle"/>
    <gyro name="gyro" site="middle"/>
    <touch name="touch" site="sole"/>
    <jointpos name="angle" joint="j"/>
    <jointvel name="rate" joint="j"/>
    <actuatorfrc name="motor" actuator="m"/>
    <force name="force" site="shoulder"/>
    <torque name="torque" site="shoulder"/>
    <framepos name="place" objtype="body" objname="hand"/>
    <framelinvel name="speed" objtype="body" objname="hand"/>
    <framelinacc name="acceleration" objtype="body" objname="hand"/>
    <subtreecom name="com" body="arm"/>
    <jointlimitfrc name="limit" joint="j"/>
  </sensor>
</mujoco>
"""


def _model(cone: str = "elliptic", condim: int = 3) -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(SCENE.format(cone=cone, condim=condim))


def _rest(model: mujoco.MjModel, seconds: float = 3.0) -> mujoco.MjData:
    data = mujoco.MjData(model)
    asp.step(model, data, round(seconds / model.opt.timestep))
    return data


def test_it_is_the_simulator_s_step_bit_for_bit() -> None:
    model = _model()
    for integrator in (asp.Cenic(), asp.Icf(time_step=0.002)):
        data = mujoco.MjData(model)
        sim = asp.Simulator(model, integrator=integrator)
        for k in range(200):
            data.ctrl[0] = sim.data.ctrl[0] = math.sin(0.05 * k)
            asp.step(model, data, integrator=integrator)
            sim.advance_to(sim.time + model.opt.timestep)
        for name in ("time", "qpos", "qvel", "qacc", "sensordata", "qfrc_constraint", "efc_force"):
            np.testing.assert_array_equal(getattr(data, name), getattr(sim.data, name), name)


def test_it_is_mujoco_where_there_is_no_contact() -> None:
    # An arm alone; semi-implicit as mj_step, with the damping implicit as there.
    text = """<mujoco><option timestep="0.001"/><worldbody><body pos="0 0 1">
      <joint name="j" type="hinge" axis="0 1 0" damping="0.3"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.03" mass="1" contype="0"
      conaffinity="0"/></body></worldbody><actuator><motor joint="j"/></actuator></mujoco>"""
    model = mujoco.MjModel.from_xml_string(text)
    ours, theirs = mujoco.MjData(model), mujoco.MjData(model)
    for data in (ours, theirs):
        data.qpos[0] = 1.0
        data.ctrl[0] = 0.2
    icf = asp.Icf(time_step=0.001, tolerance=1e-13)
    for _ in range(500):
        asp.step(model, ours, integrator=icf)
        mujoco.mj_step(model, theirs)
    np.testing.assert_allclose(ours.qpos, theirs.qpos, rtol=1e-9)
    np.testing.assert_allclose(ours.qvel, theirs.qvel, rtol=1e-9)
    assert ours.time == pytest.approx(theirs.time, abs=1e-12)


def test_time_advances_by_the_model_s_timestep() -> None:
    model = _model()
    data = mujoco.MjData(model)
    asp.step(model, data)
    assert data.time == 0.002
    asp.step(model, data, 4)
    assert data.time == pytest.approx(0.01, abs=1e-15)


@pytest.mark.parametrize("integrator", [asp.Icf(time_step=0.002), asp.Cenic()])
@pytest.mark.parametrize("stiffness", [0.0, 1e9], ids=["goes on", "fails"])
def test_steps_of_one_call_are_those_of_many(integrator: asp.Integrator, stiffness: float) -> None:
    """Also where one of them fails: here a spring that pushes away."""
    model = _model()
    model.actuator_biastype[0] = mujoco.mjtBias.mjBIAS_AFFINE
    model.actuator_biasprm[0, 1:3] = stiffness, 1e-2 * stiffness
    together, apart = mujoco.MjData(model), mujoco.MjData(model)
    for data in (together, apart):
        data.qvel[:] = 0.1
    status = asp.step(model, together, 150, integrator=integrator, on_failure="return")
    for _ in range(150):
        other = asp.step(model, apart, integrator=integrator, on_failure="return")
        if other:
            break
    assert status == other
    assert (status == asp.Status.SUCCESS) == (stiffness == 0.0)
    for name in ("time", "qpos", "qvel", "qacc", "xpos", "qfrc_constraint", "sensordata"):
        np.testing.assert_array_equal(getattr(together, name), getattr(apart, name))


@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
@pytest.mark.parametrize("condim", [1, 3, 4, 6])
def test_mujoco_s_contact_forces_carry_the_weight(cone: str, condim: int) -> None:
    model = _model(cone, condim)
    data = _rest(model)
    total = np.zeros(3)
    force = np.zeros(6)
    assert data.ncon == 4
    for i in range(data.ncon):
        mujoco.mj_contactForce(model, data, i, force)
        # Rows of the frame are n, t1, t2; the force acts on the second geom.
        sign = 1.0 if data.contact.geom[i][1] == model.geom("box").id else -1.0
        total += sign * data.contact.frame[i].reshape(3, 3).T @ force[:3]
        assert force[0] == pytest.approx(2 * G / 4, rel=1e-4)
    np.testing.assert_allclose(total, [0, 0, 2 * G], rtol=1e-4, atol=1e-4)
    # The generalized force on the box; MuJoCo's own rows agree with it.
    np.testing.assert_allclose(data.qfrc_constraint[:6], [0, 0, 2 * G, 0, 0, 0], atol=1e-3)
    generalized = np.zeros(model.nv)
    mujoco.mj_mulJacTVec(model, data, generalized, data.efc_force)
    np.testing.assert_allclose(generalized[:6], data.qfrc_constraint[:6], atol=1e-3)


@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
def test_mujoco_s_contact_forces_contain_friction(cone: str) -> None:
    model = _model(cone)
    model.geom_friction[:, 0] = 0.3
    data = mujoco.MjData(model)
    data.qpos[2] -= 2 * G / 4e5
    data.qvel[:2] = 2.0, 1.0
    icf = asp.Icf(time_step=0.002)
    asp.step(model, data, 150, integrator=icf)
    total = np.zeros(3)
    force = np.zeros(6)
    for i in range(data.ncon):
        mujoco.mj_contactForce(model, data, i, force)
        sign = 1.0 if data.contact.geom[i][1] == model.geom("box").id else -1.0
        total += sign * data.contact.frame[i].reshape(3, 3).T @ force[:3]
    # Friction acts against the motion.
    assert np.linalg.norm(total[:2]) == pytest.approx(0.3 * 2 * G, rel=1e-2)
    assert total[2] == pytest.approx(2 * G, rel=1e-2)
    assert total[0] < 0
    assert total[0] / total[1] == pytest.approx(2.0, rel=1e-3)
    np.testing.assert_allclose(data.qfrc_constraint[:3], total, rtol=1e-6)
    np.testing.assert_allclose(2 * data.qacc[:2], total[:2], rtol=1e-4)


def test_sensors_at_rest() -> None:
    model = _model()
    data = _rest(model, 8.0)

    def sensor(name: str) -> np.ndarray:
        return np.asarray(data.sensor(name).data)

    np.testing.assert_allclose(sensor("accelerometer"), [0, 0, G], atol=1e-3)
    np.testing.assert_allclose(sensor("gyro"), 0, atol=1e-6)
    assert sensor("touch")[0] == pytest.approx(2 * G, rel=1e-4)
    # The joint bears the arm's and the hand's weight.
    np.testing.assert_allclose(sensor("force"), [0, 0, 1.5 * G], atol=0.02)
    assert sensor("angle")[0] == data.qpos[7]
    assert sensor("rate")[0] == data.qvel[6]
    np.testing.assert_array_equal(sensor("place"), data.body("hand").xpos)


def test_sensors_of_a_swinging_arm_follow_from_state_and_acceleration() -> None:
    model = _model()
    data = mujoco.MjData(model)
    data.qpos[7] = 0.8
    data.ctrl[0] = 0.7
    # A short step, so that the acceleration over it is that of its beginning.
    icf = asp.Icf(time_step=1e-6, tolerance=1e-14)
    model.opt.timestep = 1e-6
    asp.step(model, data, 3, integrator=icf)
    reference = mujoco.MjData(model)
    reference.qpos, reference.qvel, reference.ctrl = data.qpos, data.qvel, data.ctrl
    mujoco.mj_forward(model, reference)
    arm = data.qacc[6], reference.qacc[6]
    assert arm[0] == pytest.approx(arm[1], rel=1e-4)
    for name in ("angle", "rate", "motor", "place", "speed", "com"):
        np.testing.assert_allclose(
            data.sensor(name).data, reference.sensor(name).data, atol=1e-9, err_msg=name
        )
    for name in ("force", "torque", "acceleration"):
        np.testing.assert_allclose(
            data.sensor(name).data, reference.sensor(name).data, rtol=1e-3, atol=1e-3, err_msg=name
        )


def test_the_accelerometer_of_a_falling_box_is_zero() -> None:
    model = _model()
    data = mujoco.MjData(model)
    data.qpos[2] = 3.0
    asp.step(model, data, 10)
    np.testing.assert_allclose(data.sensor("accelerometer").data, 0, atol=1e-6)
    assert data.sensor("touch").data[0] == 0
    assert data.qacc[2] == pytest.approx(-G, rel=1e-9)


def test_the_limit_s_force_reaches_its_sensor() -> None:
    model = _model()
    data = mujoco.MjData(model)
    data.ctrl[0] = 50.0
    icf = asp.Icf(time_step=0.002)
    asp.step(model, data, 1000, integrator=icf)
    assert math.degrees(data.qpos[7]) == pytest.approx(60.0, abs=0.1)
    gravity = data.qfrc_bias[6]
    assert data.sensor("limit").data[0] == pytest.approx(50.0 - gravity, rel=1e-3)
    assert data.qfrc_constraint[6] == pytest.approx(-(50.0 - gravity), rel=1e-3)


def test_accelerations_are_changes_of_velocity() -> None:
    model = _model()
    data = mujoco.MjData(model)
    data.qvel[:] = [0.5, 0, 0, 1, 2, 3, 0.7]
    data.qpos[2] = 0.2
    icf = asp.Icf(time_step=0.002)
    for _ in range(200):
        before = data.qvel.copy()
        asp.step(model, data, integrator=icf)
        np.testing.assert_allclose(data.qvel - before, 0.002 * data.qacc, rtol=1e-12, atol=1e-15)


def test_derived_quantities_are_mj_forward_s() -> None:
    model = _model()
    data = mujoco.MjData(model)
    data.qvel[:] = [0.5, 0, 0, 1, 2, 3, 0.7]
    asp.step(model, data, 20)
    reference = mujoco.MjData(model)
    reference.qpos, reference.qvel, reference.ctrl = data.qpos, data.qvel, data.ctrl
    mujoco.mj_forward(model, reference)
    for name in (
        "xpos", "xquat", "xmat", "xipos", "geom_xpos", "site_xpos", "cam_xpos", "subtree_com",
        "cvel", "qfrc_bias", "qfrc_passive", "qfrc_actuator", "actuator_force", "qfrc_smooth",
        "qacc_smooth", "qM" if hasattr(data, "qM") else "M",
    ):  # fmt: skip
        np.testing.assert_allclose(
            getattr(data, name), getattr(reference, name), rtol=1e-12, atol=1e-12, err_msg=name
        )


def test_contacts_are_those_of_the_step_s_beginning() -> None:
    # As after mj_step, whose contacts are those with which it was solved.
    model = _model()
    data = mujoco.MjData(model)
    data.qvel[:] = [0.5, 0, 0, 1, 2, 3, 0.7]
    icf = asp.Icf(time_step=0.002)
    asp.step(model, data, 20, integrator=icf)
    reference = mujoco.MjData(model)
    reference.qpos, reference.qvel = data.qpos, data.qvel
    mujoco.mj_forward(model, reference)
    asp.step(model, data, integrator=icf)
    assert data.ncon == reference.ncon > 0
    for name in ("dist", "pos", "frame", "geom", "dim"):
        np.testing.assert_allclose(
            getattr(data.contact, name), getattr(reference.contact, name), atol=1e-15
        )


def test_many_data_of_one_model_do_not_mix() -> None:
    model = _model()
    datas = [mujoco.MjData(model) for _ in range(20)]
    for i, data in enumerate(datas):
        data.qvel[6] = 0.1 * i
    for _ in range(5):
        for data in datas:
            asp.step(model, data)
    for i, data in enumerate(datas):
        alone = mujoco.MjData(model)
        alone.qvel[6] = 0.1 * i
        asp.step(model, alone, 5)
        # A simulator that was dropped and made again starts with a fresh step size and guess: equal
        # to the accuracy only.
        np.testing.assert_allclose(data.qpos, alone.qpos, atol=1e-3)


def test_changes_to_the_state_between_steps_are_taken_over() -> None:
    model = _model()
    data = mujoco.MjData(model)
    asp.step(model, data, 5)
    mujoco.mj_resetData(model, data)
    data.qpos[2] = 5.0
    asp.step(model, data)
    assert data.time == 0.002
    assert data.qpos[2] == pytest.approx(5.0, abs=1e-4)
    data.xfrc_applied[1, 2] = 2 * G + 2.0
    before = data.qvel[2]
    asp.step(model, data, 100)
    assert data.qvel[2] - before == pytest.approx(1.0 * 0.2, rel=1e-6)


def test_contact_that_is_no_contact_parameters_is_named() -> None:
    model = _model()
    data = mujoco.MjData(model)
    for call in (asp.step, asp.derivatives.linearize):
        call(model, data, integrator=asp.Icf(time_step=0.002))
        time = data.time
        with pytest.raises(asp.ArgumentError, match=r"write ContactParameters\(stiffness=10.0\)"):
            call(model, data, contact={"stiffness": 10.0})
        assert data.time == time
    assert data.time == 0.002


def test_a_step_that_fails_raises() -> None:
    model = _model()
    data = mujoco.MjData(model)
    data.qfrc_applied[6] = 1e308
    data.qvel[6] = 1e308
    with pytest.raises(asp.SimulationError, match="finite"):
        asp.step(model, data, integrator=asp.Icf(time_step=0.002))
    assert data.time == 0.0
    assert np.all(np.isfinite(data.qpos))
    data.qvel[6] = math.nan
    with pytest.raises(asp.ArgumentError, match=r"qvel\[6\]"):
        asp.step(model, data)
