"""A Franka Emika Panda that grasps a box (CENIC VI, figure 6c)."""

from __future__ import annotations

import mujoco
import numpy as np

from asperity.loading import load_model
from studies.scenes.cenic_cases import contact_text
from studies.scenes.robot_files import panda

__all__ = ["JOINTS", "NOMINAL", "START", "franka", "franka_and_box"]

JOINTS = (*(f"panda_joint{i}" for i in range(1, 8)), "panda_finger_joint1", "panda_finger_joint2")
"""The arm's seven joints and the two fingers."""

NOMINAL = np.array([0.0, -0.4, 0.5, -np.pi / 2, 0.0, np.pi / 2, np.pi / 4, 0.01, 0.01])
"""Positions of the joints [rad, m] that close the gripper and lift what it holds."""

START = np.array([0.0, 0.0, 0.0, -np.pi / 2, 0.0, np.pi / 2, np.pi / 4, 0.035, 0.035])
"""Positions in which the open fingers straddle the top of the box."""

BOX_HALF_SIZES = (0.079, 0.03, 0.105)  # a YCB cracker box on its narrow side [m]
BOX_MASS = 0.411  # [kg]
BOX_POSITION = (0.55, 0.0, 0.43)  # [m]


def franka(*, effort_limits: bool = False) -> mujoco.MjModel:
    """The robot alone, which a controller takes for its model."""
    return _compile(panda(), effort_limits)


def franka_and_box(contact: str = "fields", *, effort_limits: bool = False) -> mujoco.MjModel:
    """The robot, with a box on a pedestal between its fingers, in the keyframe ``start``.

    The fingers are independent of each other, as in the authors' model; what carries the box until
    it is grasped is our choice. Contact has the defaults of the authors' code, 10⁷ Pa (10⁶ N/m in
    points), 50 s/m and μ = 0.5, and fields their resolution of 10 mm; those of the robot's meshes
    are of their convex hulls.

    Parameters
    ----------
    contact : {"fields", "points"}
    effort_limits : bool
        Whether the joints keep the limits of the robot's file, 87 and 12 Nm and 100 N.

    Raises
    ------
    MissingExtra
        If the extra ``assets`` is not installed.
    """
    others = {"resolution": 0.01} if contact == "fields" else {}
    text = contact_text(contact, friction=0.5, **others)
    spec = panda()
    x, y, z = BOX_POSITION
    top = z - BOX_HALF_SIZES[2]
    world = spec.worldbody
    world.add_geom(name="floor", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0.0, 0.0, 1.0])
    world.add_geom(
        name="pedestal",
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=[0.1, 0.1, 0.5 * top],
        pos=[x, y, 0.5 * top],
    )
    body = world.add_body(name="box", pos=BOX_POSITION)
    body.add_freejoint()
    body.add_geom(name="box", type=mujoco.mjtGeom.mjGEOM_BOX, size=BOX_HALF_SIZES, mass=BOX_MASS)
    spec.add_text(name="asperity", data=text)
    spec.add_key(name="start", qpos=[*START, *BOX_POSITION, 1.0, 0.0, 0.0, 0.0])
    return _compile(spec, effort_limits)


def _compile(spec: mujoco.MjSpec, effort_limits: bool) -> mujoco.MjModel:
    model, _ = load_model(spec)
    if not effort_limits:
        model.jnt_actfrclimited[:] = 0
    return model
