"""Trajectories: what is recorded, dense output, saving, interrupts."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import asperity as asp
from asperity.simulator import Recorder

BALL = """
<mujoco><worldbody><geom type="plane" size="0 0 1"/>
<body pos="0 0 0.3"><freejoint/><geom size="0.1" mass="1"/></body></worldbody></mujoco>
"""

PENDULUM = """
<mujoco><worldbody><body pos="0 0 2"><joint type="hinge" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.02" mass="1" contype="0" conaffinity="0"/>
</body></worldbody></mujoco>
"""


def test_every_accepted_step_is_recorded() -> None:
    run = asp.simulate(BALL, (0.0, 1.0))
    assert run.success
    assert run.message == asp.Status.SUCCESS.message
    assert run.time[0] == 0.0
    assert run.time[-1] == 1.0
    assert len(run.time) == len(run.qpos) == len(run.qvel) == run.stats.steps + 1
    assert np.all(np.diff(run.time) > 0)
    np.testing.assert_array_equal(run.qpos[0], [0, 0, 0.3, 1, 0, 0, 0])


def test_more_steps_than_the_record_holds_at_once_are_kept() -> None:
    run = asp.simulate(BALL, (0.0, 1.0), integrator=asp.Icf(time_step=1e-3))
    assert len(run.time) == 1001
    np.testing.assert_allclose(run.time, 1e-3 * np.arange(1001), atol=1e-12)
    # And they are those of a simulator that records nothing.
    sim = asp.Simulator(BALL, integrator=asp.Icf(time_step=1e-3))
    sim.advance_to(1.0)
    np.testing.assert_array_equal(run.qpos[-1], sim.data.qpos)


def test_controls_count_in_the_memory_of_a_run() -> None:
    # Of a record of 1000 steps nothing is kept yet, but every control.
    model = PENDULUM.replace("</mujoco>", '<actuator><motor joint="a"/></actuator></mujoco>')
    model = model.replace('<joint type="hinge"', '<joint name="a" type="hinge"')

    def control(model: mujoco.MjModel, data: mujoco.MjData) -> None:
        data.ctrl[0] = data.time

    recorder = Recorder(
        model, integrator=asp.Icf(time_step=1e-3), control=control, control_period=1e-3
    )
    recorder.start_record()
    recorder.advance_to(0.5)
    assert recorder.kept_bytes > 500 * 200
    recorder.forget_record()
    assert recorder.kept_bytes < 1000


def test_a_span_may_begin_anywhere() -> None:
    first = asp.simulate(BALL, (0.0, 0.5), integrator=asp.Icf(time_step=1e-2))
    later = asp.simulate(BALL, (7.0, 7.5), integrator=asp.Icf(time_step=1e-2))
    assert later.time[0] == 7.0
    np.testing.assert_allclose(later.qpos, first.qpos, atol=1e-9)
    empty = asp.simulate(BALL, (1.0, 1.0))
    assert empty.time.tolist() == [1.0]
    assert empty.success


def test_save_at_returns_those_times_and_does_not_change_the_steps() -> None:
    times = np.linspace(0.0, 1.0, 33)
    full = asp.simulate(BALL, (0.0, 1.0))
    run = asp.simulate(BALL, (0.0, 1.0), save_at=times)
    np.testing.assert_array_equal(run.time, times)
    assert run.stats.steps == full.stats.steps
    qpos, qvel = full.at(times)
    np.testing.assert_array_equal(run.qpos, qpos)
    np.testing.assert_array_equal(run.qvel, qvel)
    assert run.qpos.shape == (33, 7)
    assert run.qvel.shape == (33, 6)


def test_dense_output_hits_the_steps() -> None:
    run = asp.simulate(BALL, (0.0, 1.0))
    qpos, qvel = run.at(run.time)
    np.testing.assert_allclose(qpos, run.qpos, atol=1e-14)
    np.testing.assert_allclose(qvel, run.qvel, atol=1e-14)


def test_dense_output_is_third_order_accurate_on_smooth_motion() -> None:
    # The interpolant of exact data x = A sin ωt has the error h⁴ x⁗/384 at the middle of a step
    # in positions, h² v″/8 in velocities.
    model = mujoco.MjModel.from_xml_string(PENDULUM)
    amplitude, omega = 0.3, 5.0
    errors, speeds = [], []
    steps = np.array([0.04, 0.02, 0.01])
    for step in steps:
        time = np.arange(0.0, 1.0 + step / 2, step)
        run = asp.Trajectory(
            model=model,
            time=time,
            qpos=amplitude * np.sin(omega * time)[:, None],
            qvel=amplitude * omega * np.cos(omega * time)[:, None],
            status=asp.Status.SUCCESS,
            stats=asp.Statistics(),
        )
        # Away from turning points, where the curve is limited not to overshoot.
        middle = time[:-1] + step / 2
        middle = middle[np.abs(np.cos(omega * middle)) > 0.4]
        qpos, qvel = run.at(middle)
        errors.append(np.abs(qpos[:, 0] - amplitude * np.sin(omega * middle)).max())
        exact = amplitude * omega * np.cos(omega * middle)
        speeds.append(np.abs(qvel[:, 0] - exact).max())
        assert errors[-1] < 1.1 * amplitude * (omega * step) ** 4 / 384
        assert speeds[-1] < 1.1 * amplitude * omega * (omega * step) ** 2 / 8
    assert np.all(np.diff(np.log(errors)) < 3.8 * math.log(0.5))
    assert np.all(np.diff(np.log(speeds)) < 1.9 * math.log(0.5))


def test_dense_output_turns_quaternions_on_the_sphere() -> None:
    text = """<mujoco><option gravity="0 0 0"/><worldbody><body><freejoint/>
      <geom size="0.1" mass="1" contype="0" conaffinity="0"/></body></worldbody></mujoco>"""
    spin = np.array([1.0, -2.0, 0.5])
    run = asp.simulate(text, (0.0, 1.0), qvel=[0, 0, 0, *spin])
    times = np.linspace(0, 1, 57)
    qpos, _ = run.at(times)
    np.testing.assert_allclose(np.linalg.norm(qpos[:, 3:], axis=1), 1.0, atol=1e-12)
    rate = np.linalg.norm(spin)
    exact = np.column_stack(
        [np.cos(rate * times / 2), np.sin(rate * times / 2)[:, None] * spin / rate]
    )
    np.testing.assert_allclose(qpos[:, 3:], exact, atol=1e-6)


def test_dense_output_does_not_overshoot_an_impact() -> None:
    run = asp.simulate(BALL, (0.0, 2.0), integrator=asp.Cenic(accuracy=1e-1))
    times = np.linspace(0, 2, 2001)
    qpos, _ = run.at(times)
    for k in range(3):
        index = np.clip(np.searchsorted(run.time, times, side="right") - 1, 0, len(run.time) - 2)
        low = np.minimum(run.qpos[index, k], run.qpos[index + 1, k])
        high = np.maximum(run.qpos[index, k], run.qpos[index + 1, k])
        assert np.all(qpos[:, k] >= low - 1e-12)
        assert np.all(qpos[:, k] <= high + 1e-12)


def test_times_outside_the_trajectory_are_refused() -> None:
    run = asp.simulate(BALL, (0.5, 1.0))
    for time in (0.4, 1.1):
        with pytest.raises(asp.ArgumentError, match="within the trajectory"):
            run.at(time)


def test_contact_forces_are_recorded_at_the_asked_times() -> None:
    times = np.array([0.0, 0.05, 1.5, 2.0])
    run = asp.simulate(
        BALL, (0.0, 2.0), save_at=times, contact_forces=True, integrator=asp.Cenic(accuracy=1e-4)
    )
    assert len(run.contacts) == len(times)
    # In the air, in the air, at rest, at rest.
    assert [len(c.force) for c in run.contacts] == [0, 0, 1, 1]
    for contacts in run.contacts[2:]:
        np.testing.assert_allclose(contacts.force[0], [0, 0, 9.81], atol=1e-3)
        np.testing.assert_allclose(np.abs(contacts.normal[0]), [0, 0, 1], atol=1e-12)
        assert contacts.point[0, 2] == pytest.approx(0.0, abs=1e-3)
        assert contacts.signed_distance[0] == pytest.approx(-9.81 / 1e5, rel=1e-3)
    np.testing.assert_array_equal(run.time, times)


def test_saving_and_reading_back(tmp_path: Path) -> None:
    run = asp.simulate(
        BALL, (0.0, 1.0), save_at=np.linspace(0, 1, 11), contact_forces=True, ctrl=None
    )
    path = run.save(tmp_path / "run.npz")
    with np.load(path) as file:
        np.testing.assert_array_equal(file["time"], run.time)
        np.testing.assert_array_equal(file["qpos"], run.qpos)
        np.testing.assert_array_equal(file["qvel"], run.qvel)
        assert str(file["status"]) == "SUCCESS"
        assert str(file["message"]) == run.message
        assert int(file["stats_steps"]) == run.stats.steps
        start = file["contact_start"]
        assert len(start) == 12
        for k, contacts in enumerate(run.contacts):
            np.testing.assert_array_equal(
                file["contact_force"][start[k] : start[k + 1]], contacts.force
            )
            np.testing.assert_array_equal(
                file["contact_geom"][start[k] : start[k + 1]], contacts.geom
            )
    with pytest.raises(asp.ArgumentError, match="npz"):
        run.save(tmp_path / "run.csv")


def test_an_interrupt_returns_what_was_computed() -> None:
    seen: list[float] = []

    def progress(sim: asp.Simulator) -> None:
        seen.append(sim.time)
        if len(seen) == 2:
            raise KeyboardInterrupt

    integrator = asp.Icf(time_step=1e-5)
    run = asp.simulate(BALL, (0.0, 1e3), integrator=integrator, progress=progress)
    assert run.status == asp.Status.INTERRUPTED
    assert not run.success
    assert "interrupted" in run.message
    assert run.time[-1] == seen[-1]
    assert len(run.time) == run.stats.steps + 1
    assert np.all(np.isfinite(run.qpos))
    # What there is, is right.
    whole = asp.simulate(BALL, (0.0, 0.01), integrator=integrator)
    np.testing.assert_array_equal(run.qpos[:900], whole.qpos[:900])


def test_a_failure_returns_what_was_computed() -> None:
    text = BALL.replace('mass="1"', 'mass="1e-3"')
    times = np.linspace(0, 1, 101)
    force = 0.0

    def control(model: mujoco.MjModel, data: mujoco.MjData) -> None:
        data.qfrc_applied[0] = force if data.time > 0.105 else 0.0

    options: dict[str, Any] = {
        "integrator": asp.Icf(time_step=0.01),
        "qvel": [1, 0, 0, 0, 0, 0],
        "control": control,
        "control_period": 0.01,
    }
    whole = asp.simulate(text, (0.0, 0.11), save_at=times[:12], **options)
    # Times 0.01 s / 1 g, this is beyond the largest number, and the step that begins at 0.11 s fails.
    force = 1e308
    run = asp.simulate(text, (0.0, 1.0), save_at=times, **options, on_failure="return")
    assert run.status == asp.Status.NON_FINITE
    assert not run.success
    assert "NaN or infinite" in run.message
    # What was before it, is right.
    np.testing.assert_array_equal(run.time, times[:12])
    np.testing.assert_array_equal(run.qpos, whole.qpos)
    np.testing.assert_array_equal(run.qvel, whole.qvel)
    assert run.qpos[-1, 0] == pytest.approx(0.11, rel=1e-12)


def test_control_and_keyframe() -> None:
    text = """<mujoco><option gravity="0 0 0"/><worldbody><body>
      <joint name="x" type="slide" axis="1 0 0"/><geom size="0.1" mass="1" contype="0"
      conaffinity="0"/></body></worldbody><actuator><motor joint="x"/></actuator>
      <keyframe><key name="far" qpos="5" qvel="1" ctrl="2"/></keyframe></mujoco>"""
    for key in ("far", 0):
        run = asp.simulate(text, (0.0, 1.0), keyframe=key)
        assert run.qpos[0, 0] == 5.0
        assert run.qvel[-1, 0] == pytest.approx(1.0 + 2.0, rel=1e-9)
    # What is given explicitly wins over the keyframe.
    run = asp.simulate(text, (0.0, 1.0), keyframe="far", qpos=[1.0], ctrl=[0.0])
    assert run.qpos[0, 0] == 1.0
    assert run.qvel[-1, 0] == pytest.approx(1.0, rel=1e-12)

    def control(model: mujoco.MjModel, data: mujoco.MjData) -> None:
        data.ctrl[0] = -1.0

    run = asp.simulate(text, (0.0, 1.0), keyframe="far", control=control, control_period=0.1)
    assert run.qvel[-1, 0] == pytest.approx(0.0, abs=1e-9)
