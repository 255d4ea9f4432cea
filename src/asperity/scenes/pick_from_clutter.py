"""A robot picks a can out of a bin full of clutter and stands it on a plate.

The whole motion is planned once, from the pose of the can in the keyframe ``home``. Inverse
kinematics gives joint targets along straight lines of the gripper. Minimum-jerk profiles give them
their timing, and position servos follow. There is no feedback after that, so whether the can
arrives depends on physics alone.

>>> import mujoco
>>> from asperity.scenes import pick_from_clutter
>>> model = mujoco.MjModel.from_xml_path(str(pick_from_clutter.model_path()))
>>> control = pick_from_clutter.controller(model)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.errors import ModelError
from asperity.scenes.grip_path import Leg, plan
from asperity.scenes.inverse_kinematics import InverseKinematics

__all__ = [
    "CONTROL_PERIOD",
    "DURATION",
    "KEYFRAME",
    "OBJECT",
    "PickFromClutter",
    "controller",
    "model_path",
    "success",
]

Floats = NDArray[np.float64]

KEYFRAME = "home"
OBJECT = "can"
CONTROL_PERIOD = 0.01
"""Time between two calls of the controller [s]."""

ARM = ("pan", "lift", "elbow", "forearm_roll", "wrist_pitch", "wrist_roll")
FINGERS = ("left_finger", "right_finger")
OPEN = 0.044
# 16 mm inside the can's surface: with the fingers' gain of 1000 N/m they press with 16 N each,
# and friction then holds about ten times the can's weight.
CLOSED = 0.012
GRIP_ABOVE_CENTRE = 0.010
APPROACH = 0.13
LIFT = 0.24
# The can is let go this far above the plate, so that the servos' error cannot press it down.
RELEASE_GAP = 0.0015


def model_path() -> Path:
    """Path of the MJCF file."""
    return Path(str(files("asperity.scenes") / "pick_from_clutter.xml"))


def _legs(can: Floats, place: Floats, home: Floats, half_height: float) -> list[Leg]:
    """The motion, given the can's centre, the plate's centre and the grip's home position [m]."""
    up = np.array([0.0, 0.0, 1.0])
    grip = can + GRIP_ABOVE_CENTRE * up
    set_down = place + (half_height + GRIP_ABOVE_CENTRE + RELEASE_GAP) * up
    # The fingers close across the direction from the arm's first axis; carried around it,
    # the can keeps its direction with respect to the arm, and the wrist hardly rolls.
    pick_yaw = float(np.arctan2(can[1], can[0]))
    place_yaw = float(np.arctan2(place[1], place[0]))
    return [
        Leg("wait", 0.3, home, 0.0, OPEN),
        Leg("approach", 1.5, grip + APPROACH * up, pick_yaw, OPEN, straight=False),
        Leg("descend", 1.1, grip, pick_yaw, OPEN),
        Leg("grip", 0.6, grip, pick_yaw, CLOSED),
        Leg("lift", 1.2, grip + LIFT * up, pick_yaw, CLOSED),
        Leg("carry", 1.6, set_down + APPROACH * up, place_yaw, CLOSED, straight=False),
        Leg("set down", 1.0, set_down, place_yaw, CLOSED),
        Leg("settle", 0.2, set_down, place_yaw, CLOSED),
        Leg("release", 0.5, set_down, place_yaw, OPEN),
        Leg("retreat", 0.8, set_down + APPROACH * up, place_yaw, OPEN),
        Leg("return", 1.0, home, 0.0, OPEN, straight=False),
    ]


DURATION = 10.0
"""Length of the task [s]: the motion takes 9.8 s."""


class PickFromClutter:
    """The task's controller: call it with ``(model, data)`` and it writes ``data.ctrl``.

    Parameters
    ----------
    model : mujoco.MjModel
        The scene from :func:`model_path`, perhaps with other options or contact parameters.

    Attributes
    ----------
    time : ndarray, shape (n,)
        Times of the plan [s], ``CONTROL_PERIOD`` apart.
    targets : ndarray, shape (n, nu)
        Targets of the actuators at these times [rad, m].
    residuals : ndarray, shape (nleg,)
        Largest distance between wanted and reached grip position on each leg [m].

    Raises
    ------
    ArgumentError, ModelError
        If the model lacks a part of the scene, or a waypoint is out of reach.
    """

    def __init__(self, model: mujoco.MjModel) -> None:
        self._actuators = [_id(model, mujoco.mjtObj.mjOBJ_ACTUATOR, n) for n in ARM + FINGERS]
        key = _id(model, mujoco.mjtObj.mjOBJ_KEY, KEYFRAME)
        data = mujoco.MjData(model)
        mujoco.mj_resetDataKeyframe(model, data, key)
        mujoco.mj_kinematics(model, data)
        can = data.xpos[_id(model, mujoco.mjtObj.mjOBJ_BODY, OBJECT)].copy()
        place = data.site_xpos[_id(model, mujoco.mjtObj.mjOBJ_SITE, "place")].copy()
        grip = _id(model, mujoco.mjtObj.mjOBJ_SITE, "grip")
        half_height = float(model.geom_size[_id(model, mujoco.mjtObj.mjOBJ_GEOM, OBJECT), 1])
        home = data.site_xpos[grip].copy()
        legs = _legs(can, place, home, half_height)
        solver = InverseKinematics(model, data, grip, ARM)
        start = Leg("start", 0.0, home, 0.0, OPEN)
        path = plan(solver, start, legs, CONTROL_PERIOD)
        low, high = model.actuator_ctrlrange[self._actuators].T
        self._path = replace(path, targets=np.clip(path.targets, low, high))
        self.time, self.targets = self._path.time, self._path.targets
        self.residuals = self._path.residuals

    def __call__(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        """Write the targets for ``data.time``; after the plan's end, the last ones."""
        data.ctrl[self._actuators] = self._path.at(data.time)


def controller(model: mujoco.MjModel) -> Callable[[mujoco.MjModel, mujoco.MjData], None]:
    """Plan the task for ``model`` and return its controller, see :class:`PickFromClutter`."""
    return PickFromClutter(model)


def success(model: mujoco.MjModel, data: mujoco.MjData) -> tuple[bool, str]:
    """Whether the can stands on the plate with the gripper open and away, and a sentence why.

    Reads ``data.qpos`` only, so it works on the final state of any simulator.
    """
    scratch = mujoco.MjData(model)
    scratch.qpos[:] = data.qpos
    mujoco.mj_kinematics(model, scratch)
    body = _id(model, mujoco.mjtObj.mjOBJ_BODY, OBJECT)
    geom = _id(model, mujoco.mjtObj.mjOBJ_GEOM, OBJECT)
    plate = _id(model, mujoco.mjtObj.mjOBJ_GEOM, "plate")
    place = scratch.site_xpos[_id(model, mujoco.mjtObj.mjOBJ_SITE, "place")]
    grip = scratch.site_xpos[_id(model, mujoco.mjtObj.mjOBJ_SITE, "grip")]
    can, axis = scratch.xpos[body], scratch.xmat[body].reshape(3, 3)[:, 2]
    radius, half_height = model.geom_size[geom, :2]

    offset = float(np.hypot(*(can - place)[:2]))
    height = float(can[2] - place[2] - half_height)
    tilt = float(np.rad2deg(np.arccos(np.clip(axis[2], -1.0, 1.0))))
    opening = sum(float(scratch.qpos[model.joint(name).qposadr[0]]) for name in FINGERS)
    if offset + radius > model.geom_size[plate, 0]:
        return False, f"The can is not on the plate: its axis is {100 * offset:.1f} cm away."
    if abs(height) > 0.003 or tilt > 5.0:
        return False, (
            f"The can does not stand on the plate: its bottom is {1000 * height:.1f} mm above it "
            f"and it leans by {tilt:.1f} degrees."
        )
    if opening < 2.0 * radius + 0.01 or float(np.linalg.norm(grip - can)) < 0.1:
        return False, "The can stands on the plate, but the gripper has not let it go."
    return True, f"The can stands on the plate, {1000 * offset:.1f} mm from its centre."


def _id(model: mujoco.MjModel, kind: mujoco.mjtObj, name: str) -> int:
    index = mujoco.mj_name2id(model, kind, name)
    if index < 0:
        what = kind.name.removeprefix("mjOBJ_").lower()
        raise ModelError(
            f"The model has no {what} named '{name}'; use the scene at {model_path().name}."
        )
    return index
