"""A KUKA iiwa with a parallel gripper shakes a bottle and puts it down (TAMSI VI-C, figure 1).

The arm is a file of the extra ``assets``; the gripper has the masses of a Schunk WSG 50 and two
boxes for fingers, which a coupling moves together. Numbers and motion are ours: the paper gives
none.
"""

from __future__ import annotations

from typing import Protocol

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.loading import load_model
from asperity.scenes.inverse_kinematics import InverseKinematics
from studies.scenes.robot_files import iiwa_file, load_robot

__all__ = [
    "ASIDE",
    "CONTROL_PERIOD",
    "GRASP_FORCE",
    "JOINTS",
    "PLACE",
    "SHAKEN",
    "SHAKING",
    "ShakeAndPlace",
    "iiwa",
    "iiwa_and_bottle",
]

Floats = NDArray[np.float64]

JOINTS = tuple(f"joint_a{i}" for i in range(1, 8))
CONTROL_PERIOD = 5e-3  # [s]
GRASP_FORCE = 30.0  # of a finger [N]

BOTTLE_RADIUS, BOTTLE_HEIGHT, BOTTLE_MASS = 0.03, 0.2, 0.5
PLACE = np.array([0.55, 0.0])  # of the bottle at first [m]
ASIDE = np.array([0.0, 0.3])
GRASP_HEIGHT = 0.14
LIFT = 0.2
SHAKE_AMPLITUDE, SHAKE_FREQUENCY = 0.1, 2.0  # [m], [Hz]

_HAND_MASS, _FINGER_MASS = 0.988882, 0.05
_OPEN = 0.05  # from the middle to a finger's inner face [m]
_FLANGE = 0.126  # beyond the frame of the last link [m]
_REACH = 0.15  # from the flange to the middle of the fingers [m]
_FINGER = (0.01, 0.008, 0.035)  # half sizes [m]
_BENT = (0.0, 0.6, 0.0, -1.4, 0.0, 1.1, 0.0)

# What is done when [s].
_ABOVE, _DOWN, _GRASP, SHAKING = 1.0, 2.0, 2.7, 3.7
SHAKEN, _OVER, _LOWERED = 6.7, 8.2, 10.2
_RELEASE, _RETREAT = 0.4, 1.0
_OVERSHOOT = 0.005  # below the height at which the bottle must stand [m]
_UNLOADED = 2.0  # by how much the wrist's load has fallen when the bottle stands [N]
_INTEGRAL = 5.0  # of the regulated grasp force [1/s]


def iiwa() -> mujoco.MjModel:
    """Arm and gripper, which a controller takes for its model."""
    return load_model(_robot())[0]


def iiwa_and_bottle() -> mujoco.MjModel:
    """The robot and a bottle on the ground, with the keyframe ``start``.

    The motor ``grip`` closes both fingers; sensors are the fingers' contact forces ``left`` and
    ``right`` and the force ``wrist`` between arm and gripper. The arm itself collides with nothing.

    Raises
    ------
    MissingExtra
        If the extra ``assets`` is not installed.
    """
    spec = _robot()
    world = spec.worldbody
    world.add_geom(name="ground", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0.0, 0.0, 1.0])
    middle = 0.5 * BOTTLE_HEIGHT
    bottle = world.add_body(name="bottle", pos=[*PLACE, middle])
    bottle.add_freejoint()
    bottle.add_geom(
        name="bottle",
        type=mujoco.mjtGeom.mjGEOM_CYLINDER,
        size=[BOTTLE_RADIUS, middle, 0.0],
        mass=BOTTLE_MASS,
    )
    for geom in spec.geoms:
        geom.friction[0] = 0.6
    spec.add_text(
        name="asperity",
        data="stiffness=1e4 dissipation=1 friction=0.6 stiction_tolerance=1e-4",
    )
    spec.add_key(name="start", qpos=[*_BENT, _OPEN, _OPEN, *PLACE, middle, 1.0, 0.0, 0.0, 0.0])
    return load_model(spec)[0]


def _robot() -> mujoco.MjSpec:
    spec = load_robot(iiwa_file(), floating_base=False)
    for geom in spec.geoms:
        geom.contype = geom.conaffinity = 0
    hand = spec.body("link_7").add_body(name="hand", pos=[0.0, 0.0, _FLANGE])
    hand.add_geom(
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=[0.03, 0.07, 0.035],
        pos=[0.0, 0.0, 0.035],
        mass=_HAND_MASS,
        contype=0,
        conaffinity=0,
    )
    # Its z axis points up where the gripper points down.
    hand.add_site(name="grip", pos=[0.0, 0.0, _REACH], quat=[0.0, 1.0, 0.0, 0.0])
    hand.add_site(name="wrist")
    for side, name in ((1.0, "left"), (-1.0, "right")):
        finger = hand.add_body(name=name, pos=[0.0, 0.0, _REACH])
        finger.add_joint(
            name=name,
            type=mujoco.mjtJoint.mjJNT_SLIDE,
            axis=[0.0, side, 0.0],
            range=[0.0, 0.055],
            limited=True,
            damping=[10.0, 0.0, 0.0],
        )
        place = [0.0, side * _FINGER[1], 0.0]
        finger.add_geom(
            name=name,
            type=mujoco.mjtGeom.mjGEOM_BOX,
            size=_FINGER,
            pos=place,
            mass=_FINGER_MASS,
        )
        finger.add_site(
            name=name, type=mujoco.mjtGeom.mjGEOM_BOX, size=1.5 * np.array(_FINGER), pos=place
        )
        spec.add_sensor(
            name=name,
            type=mujoco.mjtSensor.mjSENS_TOUCH,
            objtype=mujoco.mjtObj.mjOBJ_SITE,
            objname=name,
        )
    spec.add_sensor(
        name="wrist",
        type=mujoco.mjtSensor.mjSENS_FORCE,
        objtype=mujoco.mjtObj.mjOBJ_SITE,
        objname="wrist",
    )
    spec.add_equality(
        type=mujoco.mjtEq.mjEQ_JOINT,
        objtype=mujoco.mjtObj.mjOBJ_JOINT,
        name1="left",
        name2="right",
        data=[0.0, 1.0, *[0.0] * 10],
    )
    spec.add_actuator(name="grip", target="left", trntype=mujoco.mjtTrn.mjTRN_JOINT).set_to_motor()
    return spec


def _blend(time: float, begin: float, end: float) -> float:
    """Minimum-jerk profile from 0 to 1."""
    s = min(max((time - begin) / (end - begin), 0.0), 1.0)
    return s**3 * (10.0 + s * (6.0 * s - 15.0))


def _path(time: float) -> Floats:
    """Planned position of the point between the fingers until the bottle is put down [m]."""
    x, y = PLACE
    height = GRASP_HEIGHT + LIFT * (1.0 - _blend(time, _ABOVE, _DOWN))
    height += LIFT * _blend(time, _GRASP, SHAKING)
    height -= (LIFT + _OVERSHOOT) * _blend(time, _OVER, _LOWERED)
    if SHAKING < time < SHAKEN:
        ramp = _blend(time, SHAKING, SHAKING + 0.5) * (1.0 - _blend(time, SHAKEN - 0.5, SHAKEN))
        height += SHAKE_AMPLITUDE * ramp * np.sin(2.0 * np.pi * SHAKE_FREQUENCY * (time - SHAKING))
    aside = _blend(time, SHAKEN, _OVER)
    return np.array([x + aside * ASIDE[0], y + aside * ASIDE[1], height])


class _Targets(Protocol):
    target: Floats
    target_velocity: Floats
    target_acceleration: Floats


class ShakeAndPlace:
    """The motion, as a control callback: planned joints, regulated grasp force, felt placement.

    The targets are those of an `InverseDynamicsController` for `JOINTS`; the motor of the
    fingers is commanded in ``data.ctrl``.

    Parameters
    ----------
    model : mujoco.MjModel
        Of `iiwa_and_bottle`.
    controller : asperity.systems.InverseDynamicsController
        Its ``target``, ``target_velocity`` and ``target_acceleration`` are written.

    Attributes
    ----------
    duration : float
        Time after which all is done [s], if the bottle is felt to stand.
    placed : float or None
        When the bottle was felt to stand [s].
    """

    duration = _LOWERED + _RELEASE + _RETREAT

    def __init__(self, model: mujoco.MjModel, controller: _Targets) -> None:
        self.controller = controller
        self.placed: float | None = None
        self._force = 0.0  # the integral of the error of the grasp force [N]
        self._load: float | None = None
        data = mujoco.MjData(model)
        mujoco.mj_resetDataKeyframe(model, data, 0)
        site = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SITE, "grip")
        self._kinematics = InverseKinematics(model, data, site, JOINTS)
        times = np.arange(0.0, _LOWERED + 2.0 * CONTROL_PERIOD, CONTROL_PERIOD)
        first, residual = self._kinematics.solve(_path(0.0), 0.0)
        if residual > 1e-3:
            raise AssertionError("the arm does not reach the bottle.")
        self.start = first
        self._plan(np.array([self._kinematics.solve(_path(t), 0.0)[0] for t in times]), 0.0)

    def _plan(self, joints: Floats, begin: float) -> None:
        self._begin = begin
        self._joints = joints
        self._velocity = np.gradient(joints, CONTROL_PERIOD, axis=0)
        self._acceleration = np.gradient(self._velocity, CONTROL_PERIOD, axis=0)

    def __call__(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        """Write the targets and the motor's force of a sample."""
        self._feel(model, data)
        # The targets of the sample's middle, which is what a held one should be.
        at = (data.time - self._begin) / CONTROL_PERIOD + 0.5
        at = min(max(at, 0.0), len(self._joints) - 1.001)
        k, share = int(at), at % 1.0
        control = self.controller
        control.target[:] = (1 - share) * self._joints[k] + share * self._joints[k + 1]
        control.target_velocity[:] = self._velocity[k]
        control.target_acceleration[:] = self._acceleration[k]
        data.ctrl[0] = self._grip(data)

    def _grip(self, data: mujoco.MjData) -> float:
        """Force of the motor [N]: of both fingers, positive to open."""
        if self.placed is not None:
            return 10.0
        if data.time < _DOWN:
            return 5.0
        felt = 0.5 * (data.sensor("left").data[0] + data.sensor("right").data[0])
        if felt > 0.0:
            self._force += _INTEGRAL * CONTROL_PERIOD * (GRASP_FORCE - felt)
        return -2.0 * (GRASP_FORCE + self._force)

    def _feel(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        """Notice that the bottle stands: stop, let go, and draw back upwards."""
        if self.placed is not None or data.time < _OVER:
            return
        load = abs(float(data.sensor("wrist").data[2]))
        if self._load is None:
            self._load = load
        if load > self._load - _UNLOADED:
            return
        self.placed = float(data.time)
        now = _path(self.placed)
        times = np.arange(0.0, _RELEASE + _RETREAT + 2.0 * CONTROL_PERIOD, CONTROL_PERIOD)
        up = [LIFT * _blend(t, _RELEASE, _RELEASE + _RETREAT) for t in times]
        path = [now + np.array([0.0, 0.0, height]) for height in up]
        self._plan(np.array([self._kinematics.solve(p, 0.0)[0] for p in path]), self.placed)
