"""Delays of controls and sensors are MuJoCo's."""

from __future__ import annotations

import copy
import re
from pathlib import Path

import mujoco
import numpy as np
import pytest

import asperity as asp

STEP = 0.01
MODEL = """
<mujoco>
  <option timestep="0.01" gravity="0 0 0"/>
  <worldbody>
    <body name="x"><joint name="x" type="slide" axis="1 0 0"/><geom size="0.1" mass="2"/></body>
    <body name="y" pos="0 1 0"><joint name="y" type="slide" axis="1 0 0"/>
      <geom size="0.1" mass="2"/></body>
  </worldbody>
  <actuator>
    <motor joint="x" delay="0.05" nsample="6"/>
    <{servo} joint="y" {gains} delay="0.03" nsample="5" interp="linear"/>
  </actuator>
  <sensor>
    <jointpos joint="x" delay="0.025" interp="linear" nsample="4"/>
    <jointvel joint="x" interval="0.025" nsample="3"/>
    <framepos objtype="body" objname="x" delay="0.04" nsample="5"/>
    <jointpos joint="x" nsample="5"/>
  </sensor>
</mujoco>"""
VELOCITY = MODEL.format(servo="velocity", gains='kv="3"')
PID = VELOCITY.replace(
    '<motor joint="x" delay="0.05" nsample="6"/>',
    '<pid joint="x" kp="20" kv="3" ki="5" delay="0.04" nsample="6"/>',
)


def _control(time: float) -> tuple[float, float]:
    return 2.0 * np.sin(9.0 * time) + 1.0, np.cos(11.0 * time)


def test_forces_and_sensors_are_mujoco_s_at_its_step() -> None:
    model = mujoco.MjModel.from_xml_string(VELOCITY)
    # Euler's steps with implicit damping, as Icf's are of a body alone.
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    data = mujoco.MjData(model)
    sim = asp.Simulator(VELOCITY, integrator=asp.Icf(time_step=STEP))
    for _ in range(60):
        data.ctrl[:] = sim.data.ctrl[:] = _control(data.time)
        mujoco.mj_step(model, data)
        assert sim.advance_to(data.time).success
        np.testing.assert_allclose(sim.data.qpos, data.qpos, atol=1e-12)
        np.testing.assert_allclose(sim.data.qvel, data.qvel, atol=1e-12)
        before = data.history.copy()
        mujoco.mj_forward(model, data)
        np.testing.assert_allclose(sim.data.sensordata, data.sensordata, atol=1e-12)
        np.testing.assert_array_equal(before, data.history)
    assert np.ptp(data.qpos) > 0.05


def test_both_controls_of_a_controller_are_late() -> None:
    model = mujoco.MjModel.from_xml_string(PID)
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    data = mujoco.MjData(model)
    sim = asp.Simulator(PID, integrator=asp.Icf(time_step=STEP))
    for _ in range(60):
        data.ctrl[:] = sim.data.ctrl[:] = 0.3, *_control(data.time)
        mujoco.mj_step(model, data)
        assert sim.advance_to(data.time).success
        np.testing.assert_array_equal(sim.data.history[: 2 + 6 * 3], data.history[: 2 + 6 * 3])
    assert np.ptp(data.qpos) > 0.05


@pytest.mark.parametrize(
    "integrator",
    [asp.Cenic(accuracy=1e-6), asp.Tamsi(time_step=1e-3), asp.Midas(time_step=1e-3)],
)
def test_a_force_acts_after_its_delay(integrator: asp.Integrator) -> None:
    sim = asp.Simulator(VELOCITY, integrator=integrator)
    sim.data.ctrl[0] = 4.0
    assert sim.advance_to(0.45).success
    # By round-off it is heard one fixed step later.
    late = 4.0 / 2.0 * 1e-3
    assert sim.data.qvel[0] == pytest.approx(4.0 / 2.0 * 0.4, abs=late + 1e-12)


def test_a_stiff_delayed_servo_takes_long_steps() -> None:
    # What the servo measures is not late, and stays implicit.
    text = MODEL.format(servo="position", gains='kp="1e5" kv="1e3"')
    sim = asp.Simulator(text, integrator=asp.Icf(time_step=STEP))
    sim.data.ctrl[1] = 0.3
    assert sim.advance_to(1.0).success
    assert sim.data.qpos[1] == pytest.approx(0.3, abs=1e-6)


def test_copies_and_checkpoints_go_on_with_what_is_on_its_way(tmp_path: Path) -> None:
    sim = asp.Simulator(VELOCITY, integrator=asp.Icf(time_step=STEP))
    sim.data.ctrl[:] = 4.0, 1.0
    sim.advance_to(0.04)
    sim.data.ctrl[:] = 0.0
    twin = copy.deepcopy(sim)
    sim.save(tmp_path / "state.asp")
    other = asp.Simulator.load(tmp_path / "state.asp")
    for one in (sim, twin, other):
        assert one.advance_to(0.3).success
    # Four samples of 4 N, of 0.01 s each.
    assert sim.data.qvel[0] == pytest.approx(4.0 / 2.0 * 0.04, rel=1e-12)
    assert np.array_equal(twin.data.qvel, sim.data.qvel)
    assert np.array_equal(other.data.qvel, sim.data.qvel)


def test_a_reset_forgets_them() -> None:
    sim = asp.Simulator(VELOCITY, integrator=asp.Icf(time_step=STEP))
    sim.data.ctrl[0] = 4.0
    sim.advance_to(0.04)
    sim.reset()
    assert sim.advance_to(0.3).success
    assert np.all(sim.data.qvel == 0.0)


@pytest.mark.parametrize("fast", [VELOCITY, PID])
def test_midas_gets_to_mujoco_s_motion_as_steps_shrink(fast: str) -> None:
    differences = []
    for step in (0.01, 0.0025):
        text = re.sub('nsample="[0-9]*"', 'nsample="30"', fast)
        model = mujoco.MjModel.from_xml_string(text.replace('"0.01"', f'"{step}"'))
        model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        data = mujoco.MjData(model)
        sim = asp.Simulator(model, integrator=asp.Midas(time_step=step))
        for _ in range(round(0.6 / step)):
            controls = _control(data.time)
            data.ctrl[:] = sim.data.ctrl[:] = controls if model.nu == 2 else (0.3, *controls)
            mujoco.mj_step(model, data)
            assert sim.advance_to(data.time).success
        mujoco.mj_forward(model, data)
        found = np.hstack([sim.data.qpos - data.qpos, sim.data.sensordata - data.sensordata])
        differences.append(np.abs(found).max())
    # Either method is off by about as much as its step is long.
    assert differences[1] < 0.3 * differences[0]
    assert differences[0] < 0.03


def test_rollouts_begin_and_end_with_what_is_on_its_way() -> None:
    model = mujoco.MjModel.from_xml_string(VELOCITY)
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    data = mujoco.MjData(model)
    for _ in range(7):
        data.ctrl[:] = _control(data.time)
        mujoco.mj_step(model, data)
    bits = mujoco.mjtState.mjSTATE_FULLPHYSICS
    start = np.zeros(mujoco.mj_stateSize(model, bits))
    mujoco.mj_getState(model, data, start, bits)
    controls = np.array([[_control(STEP * k + w) for k in range(30)] for w in range(3)])
    state, sensors = asp.rollout(model, start, controls, integrator=asp.Icf(time_step=STEP))
    # In two parts, the second of which begins where the first has ended.
    first, _ = asp.rollout(model, start, controls[:, :11], integrator=asp.Icf(time_step=STEP))
    rest, _ = asp.rollout(model, first[:, -1], controls[:, 11:], integrator=asp.Icf(time_step=STEP))
    np.testing.assert_array_equal(state, np.concatenate([first, rest], axis=1))
    for w in range(3):
        mujoco.mj_setState(model, data, start, bits)
        for k, control in enumerate(controls[w]):
            data.ctrl[:] = control
            mujoco.mj_step(model, data)
            found = state[w, k, 1 : 1 + model.nq + model.nv]
            np.testing.assert_allclose(found, np.hstack([data.qpos, data.qvel]), atol=1e-12)
        mujoco.mj_forward(model, data)
        np.testing.assert_allclose(sensors[w, -1], data.sensordata, atol=1e-12)


def test_worlds_of_a_batch_have_their_own() -> None:
    integrator = asp.Icf(time_step=STEP)
    batch = asp.Batch(VELOCITY, 3, integrator=integrator, threads=2)
    batch.vary("dof_damping")[1] = 0.7
    controls = np.array([[_control(STEP * k + w) for w in range(3)] for k in range(30)])
    # Nothing that was on its way arrives after the reset.
    for _ in range(2):
        batch.reset()
        found = []
        for control in controls:
            batch.ctrl = control
            assert not batch.step().any()
            found.append(np.hstack([batch.qvel, batch.sensordata]))
        for world in range(3):
            sim = asp.Simulator(batch.world_model(world), integrator=integrator)
            for control, rows in zip(controls, found, strict=True):
                sim.data.ctrl[:] = control[world]
                assert sim.advance_to(sim.time + STEP).success
                expected = np.hstack([sim.data.qvel, sim.data.sensordata])
                np.testing.assert_array_equal(rows[world], expected)
        assert np.ptp(batch.qvel, axis=0).min() > 0.0


@pytest.mark.filterwarnings("ignore:.*Nothing can")
@pytest.mark.parametrize("pause", [0.0, 0.021, 0.0295])
@pytest.mark.parametrize("samples", [3, 20])
def test_a_control_counts_that_changes_soon_after_a_sample(pause: float, samples: int) -> None:
    """A call ends less than a time step before: the buffer has then a sample of the old control."""
    sim = asp.Simulator(
        f"""<mujoco><option timestep="0.01" gravity="0 0 0"/><worldbody><body>
        <joint name="x" type="slide" axis="1 0 0"/><geom size=".1" mass="2"/></body></worldbody>
        <actuator><motor joint="x" delay="0.02" nsample="{samples}"/></actuator></mujoco>""",
        integrator=asp.Cenic(),
    )
    if pause > 0.0:
        sim.advance_to(pause)
    sim.advance_to(0.03)
    sim.data.ctrl[0] = 2.0
    sim.advance_to(0.1)
    # As late as it should be, or by less than a time step earlier where there is no room.
    late = sim.data.qvel[0] - 0.05
    assert late == pytest.approx(0.0, abs=1e-6) if samples > 3 else -1e-6 < late < 0.01
