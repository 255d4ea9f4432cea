"""The demonstration scene: a robot picks a can out of clutter."""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np
import pytest

from asperity.errors import ArgumentError, ModelError
from asperity.scenes import pick_from_clutter as scene

Control = Callable[[mujoco.MjModel, mujoco.MjData], None]


@pytest.fixture(scope="module")
def model() -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_path(str(scene.model_path()))


@pytest.fixture(scope="module")
def plan(model: mujoco.MjModel) -> scene.PickFromClutter:
    return scene.PickFromClutter(model)


def _home(model: mujoco.MjModel) -> mujoco.MjData:
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.key(scene.KEYFRAME).id)
    return data


def _simulate_with_mujoco(model: mujoco.MjModel, control: Control, until: float) -> mujoco.MjData:
    """Run the task with MuJoCo's own step; any simulator with a controller can stand in here."""
    data = _home(model)
    per_control = round(scene.CONTROL_PERIOD / model.opt.timestep)
    for _ in range(round(until / scene.CONTROL_PERIOD)):
        control(model, data)
        for _ in range(per_control):
            mujoco.mj_step(model, data)
    return data


def test_the_model_has_a_robot_and_clutter_and_nothing_exotic(model):
    free = np.count_nonzero(model.jnt_type == mujoco.mjtJoint.mjJNT_FREE)
    assert 10 <= free <= 15
    assert model.nu == 8
    assert model.neq == model.ntendon == model.nflex == model.nmesh == 0
    assert np.all(model.actuator_forcelimited == 1)
    # Masses and inertias that real parts have.
    moving = model.body_weldid > 0
    assert model.body_mass[moving].min() > 0.005
    assert model.body_mass[moving].max() < 5.0


def test_the_keyframe_is_at_rest(model):
    data = _home(model)
    mujoco.mj_forward(model, data)
    assert data.ncon > 20
    assert data.contact.dist.min() > -1e-5
    # The can has neighbours that lean on it.
    can = model.geom(scene.OBJECT).id
    touching = {int(g) for c in data.contact for g in c.geom if can in c.geom} - {can}
    assert len(touching) >= 2
    # MuJoCo's default contacts are soft and let everything sink in; stiff ones find it at rest.
    stiff = mujoco.MjModel.from_xml_path(str(scene.model_path()))
    stiff.geom_solref[:] = [0.002, 1.0]
    stiff.geom_solimp[:, :2] = 0.99
    later = _simulate_with_mujoco(stiff, lambda m, d: None, 0.3)
    assert np.linalg.norm(later.xpos - data.xpos, axis=1).max() < 5e-4


def test_every_waypoint_is_reached(model, plan):
    assert plan.residuals.max() < 1e-3
    assert plan.time[-1] <= scene.DURATION
    low, high = model.jnt_range[:6].T
    assert np.all(plan.targets[:, :6] > low + 0.05)
    assert np.all(plan.targets[:, :6] < high - 0.05)


def test_the_motion_is_smooth_and_within_the_actuators(model, plan):
    low, high = model.actuator_ctrlrange.T
    assert np.all(plan.targets >= low)
    assert np.all(plan.targets <= high)
    speed = np.diff(plan.targets[:, :6], axis=0) / scene.CONTROL_PERIOD
    assert np.abs(speed).max() < 2.5  # [rad/s], what such arms do
    assert np.abs(np.diff(speed, axis=0)).max() / scene.CONTROL_PERIOD < 12.0  # [rad/s²]
    assert speed[0] == pytest.approx(np.zeros(6), abs=1e-3)
    data = _home(model)
    assert plan.targets[0] == pytest.approx(data.ctrl, abs=1e-4)


def test_the_controller_interpolates_and_holds_its_last_target(model, plan):
    data = _home(model)
    data.time = 2.005
    plan(model, data)
    assert data.ctrl == pytest.approx(0.5 * (plan.targets[200] + plan.targets[201]))
    data.time = 100.0
    plan(model, data)
    assert data.ctrl == pytest.approx(plan.targets[-1])


def test_the_pick_succeeds(model, plan):
    data = _simulate_with_mujoco(model, plan, scene.DURATION)
    done, reason = scene.success(model, data)
    assert done, reason
    assert "stands on the plate" in reason


def test_success_says_what_is_missing(model):
    data = _home(model)
    done, reason = scene.success(model, data)
    assert not done
    assert "not on the plate" in reason

    address = model.jnt_qposadr[model.body(scene.OBJECT).jntadr[0]]
    mujoco.mj_forward(model, data)
    x, y, z = data.site("place").xpos
    data.qpos[address : address + 7] = [x, y, z + 0.06, 1, 0, 0, 0]
    assert scene.success(model, data)[0]
    data.qpos[address + 2] += 0.02
    assert "does not stand" in scene.success(model, data)[1]
    data.qpos[address + 2] -= 0.02
    data.qpos[6:8] = 0.028
    assert "has not let it go" in scene.success(model, data)[1]


def test_another_model_is_refused():
    other = mujoco.MjModel.from_xml_string("<mujoco/>")
    with pytest.raises(ModelError, match="no actuator named 'pan'"):
        scene.controller(other)


def test_a_plate_out_of_reach_is_refused(model):
    spec = mujoco.MjSpec.from_file(str(scene.model_path()))
    spec.body("plate").pos = [0.9, -0.4, 0.0]
    with pytest.raises(ArgumentError, match="'carry' leads out of the arm's reach"):
        scene.controller(spec.compile())
