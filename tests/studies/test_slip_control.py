"""The gripper with bubbles of the SAP paper's figures 16 and 17."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from studies.experiments.sap_slip_control import TOLERANCE, slip_control
from studies.scenes.bubble_gripper import (
    LOOSE,
    SECURE,
    THIN_INERTIA,
    bubble_gripper,
    grasp_force,
    pitch,
)


def test_scene_is_that_of_the_example() -> None:
    model = mujoco.MjModel.from_xml_string(bubble_gripper())
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    assert (model.nv, model.nu) == (8, 2)
    # The handle lies level between the bubbles, whose tips are in it.
    handle = data.geom("handle")
    axis = handle.xmat.reshape(3, 3)[:, 2]
    assert abs(axis[2]) < 0.04
    for side, name in ((-1.0, "left_bubble"), (1.0, "right_bubble")):
        bubble = data.geom(name)
        tip = bubble.xpos[1] - side * 0.04165
        assert abs(tip) < 0.015
        assert abs(handle.xpos[0] - bubble.xpos[0]) < 0.03
        assert abs(handle.xpos[2] - bubble.xpos[2]) < 0.01
    # What is heavier than the handle is beyond it: the spatula pitches down.
    assert data.body("spatula").xipos[0] - data.geom("left_bubble").xpos[0] == pytest.approx(
        0.044, abs=1e-3
    )
    assert model.body("spatula").mass[0] == 0.068
    thin = mujoco.MjModel.from_xml_string(bubble_gripper(THIN_INERTIA))
    np.testing.assert_allclose(
        1e3 * thin.body("spatula").inertia, model.body("spatula").inertia, rtol=1e-9
    )


def test_pitch_is_that_of_the_handle() -> None:
    model = mujoco.MjModel.from_xml_string(bubble_gripper())
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    start = data.qpos[5:9].copy()
    for angle in (-0.5, 0.0, 0.7):
        # About the world's y axis, which turns x downwards.
        turn = np.array([np.cos(0.5 * angle), 0.0, np.sin(0.5 * angle), 0.0])
        turned = np.zeros(4)
        mujoco.mju_mulQuat(turned, turn, start)
        assert pitch(turned) - pitch(start) == pytest.approx(angle, abs=1e-9)


def test_grasp_force_is_a_square_wave() -> None:
    times = np.arange(0.0, 12.0, 0.01) + 0.005
    forces = np.array([grasp_force(t) for t in times])
    assert set(forces) == {LOOSE, SECURE}
    assert np.mean(forces == SECURE) == pytest.approx(0.75)
    assert forces[0] == forces[600] == SECURE


def test_spatula_sticks_then_turns_and_solvers_agree() -> None:
    solvers = ("SAP", "geodesic")
    found = slip_control(6.3, every=40, solvers=solvers)
    seen, time = found.seen, found.seen.time
    secure = (time > 1.0) & (time <= 4.5)
    loose = (time > 4.8) & (time < 6.0)
    held = (time > 6.25) & (time < 6.3)
    assert np.ptp(seen["pitch"][secure]) < 0.05
    assert 4.0 < np.ptp(seen["pitch"][loose]) < 10.0
    assert np.ptp(seen["pitch"][held]) < 0.3
    # A patch is larger the harder it is pressed.
    assert 40 <= np.median(seen["contacts"][loose]) <= 80
    assert 140 <= np.median(seen["contacts"][secure]) <= 200
    # Both fingers push alike, so the handle stays in the middle.
    assert np.abs(seen["qpos"][:, 0] + seen["qpos"][:, 1]).max() < 1e-3
    compared = found.compared
    assert np.all(compared["converged"] == 1.0)
    assert np.all(compared["momentum_error"][:, 0] <= TOLERANCE)
    # Of an interior point as near to the boundary as 1e-8 J.
    assert np.median(compared["distance"][:, 1]) < 1e-3
    mean = compared["iterations"].mean(axis=0)
    assert mean[0] < 0.2 * mean[1]
