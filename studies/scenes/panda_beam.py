"""A Panda lowers a beam into the notch of another (Midas, section IV-A and figure 2).

The whole arm, of the extra ``assets``, in place of the gripper alone of
`asperity.scenes.gripper_tasks`; beams, clearances, speed and squeeze are the same. Its servos
follow a path that is planned once, without feedback, and know the weight of the beam.
"""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.loading import load_model
from asperity.scenes.gripper_tasks import BEAM_DROP
from asperity.scenes.inverse_kinematics import InverseKinematics
from asperity.scenes.solids import union_of_boxes
from studies.scenes.robot_files import panda

__all__ = ["PandaBeam", "panda_beam"]

Floats = NDArray[np.float64]

_JOINTS = tuple(f"panda_joint{i}" for i in range(1, 8))
_FINGERS = ("panda_finger_joint1", "panda_finger_joint2")
_HOME = (0.0, -0.3, 0.0, -2.2, 0.0, 1.9, 0.25 * np.pi)
# Stiffness and damping of the servos, as in models of this robot [N m/rad, N m s/rad]; of the
# finger that holds its place [N/m, N s/m].
_GAINS = ((4500.0, 450.0),) * 2 + ((3500.0, 350.0),) * 2 + ((2000.0, 200.0),) * 3
_FINGER_GAINS = (1e6, 4e3)
# The pads' centres in the frame of the last link: flange, hand, finger [m].
_GRIP = 0.107 + 0.0584 + 0.0449
# Pads end so far below their centre, and so far above the notch when the beam is in it [m].
_PAD, _ABOVE = 0.0096, 0.003

_PLACE = np.array([0.48, 0.0, 0.2])
"""Of the lower beam's underside [m]."""
_NOTCH, _DEPTH, _TALL, _HALF_LENGTH = 0.05, 0.025, 0.05, 0.1
_DENSITY, _FRICTION = 700.0, 0.3
_GAP = 1.1e-4
# Time in which the fingers' force grows, until the arm begins to move, and after it has [s].
_RAMP, _BEGIN, _REST = 0.03, 0.2, 0.3
_SPACING = 0.01


def panda_beam(clearance: float) -> mujoco.MjModel:
    """The scene, in the keyframe ``start``: the beam between the pads, 60 mm above its place.

    Parameters
    ----------
    clearance : float
        By how much the notch of 50 mm is wider than the beam [m]. The beam comes down a tenth of it
        beside the middle of the notch, at most 50 µm.

    Raises
    ------
    MissingExtra
        If the extra ``assets`` is not installed.
    """
    spec = panda()
    for body in spec.bodies:
        body.gravcomp = 1.0
        for geom in body.geoms:
            geom.friction[0] = _FRICTION
    gains = zip((*_JOINTS, _FINGERS[0]), (*_GAINS, _FINGER_GAINS), strict=True)
    for name, (stiffness, damping) in gains:
        servo = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        servo.set_to_position(kp=stiffness, kv=damping)
    spec.add_actuator(name=_FINGERS[1], target=_FINGERS[1], trntype=mujoco.mjtTrn.mjTRN_JOINT)
    eighth = np.pi / 8.0
    spec.body("panda_link7").add_site(
        name="grip", pos=[0.0, 0.0, _GRIP], quat=[0.0, np.sin(eighth), np.cos(eighth), 0.0]
    )
    half = 0.5 * (_NOTCH - clearance)
    _add_beams(spec, half)
    model, _ = load_model(spec)
    data = mujoco.MjData(model)
    data.qpos[: len(_HOME)] = _HOME
    solver = InverseKinematics(model, data, model.site("grip").id, _JOINTS)
    arm, _ = solver.solve(_grip(clearance, BEAM_DROP), 0.0)
    start = [*arm, half + _GAP, half + _GAP, *_beam_start(clearance), 1.0, 0.0, 0.0, 0.0]
    spec.add_key(name="start", qpos=start)
    model, _ = load_model(spec)
    return model


def _offset(clearance: float) -> float:
    """How far beside the middle of the notch the beam comes down [m]."""
    return min(0.1 * clearance, 5e-5)


def _beam_start(clearance: float) -> Floats:
    height = _TALL - _DEPTH + 0.025 + BEAM_DROP
    return _PLACE + np.array([0.0, _offset(clearance), height])


def _grip(clearance: float, height: float) -> Floats:
    """Where the pads' centres are when the beam is at a height above its place in the notch [m]."""
    return _PLACE + np.array([0.0, _offset(clearance), _TALL + _PAD + _ABOVE + height])


def _add_beams(spec: mujoco.MjSpec, half: float) -> None:
    bottom = union_of_boxes(
        "bottom",
        [
            (-0.025, -_HALF_LENGTH, 0.0, 0.025, _HALF_LENGTH, _TALL - _DEPTH),
            (-0.025, -_HALF_LENGTH, _TALL - _DEPTH, 0.025, -0.5 * _NOTCH, _TALL),
            (-0.025, 0.5 * _NOTCH, _TALL - _DEPTH, 0.025, _HALF_LENGTH, _TALL),
        ],
    )
    mesh = spec.add_mesh(name="bottom")
    mesh.uservert = bottom.surface.vertices.ravel()
    mesh.userface = bottom.surface.faces.ravel()
    mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_EXACT
    spec.worldbody.add_geom(
        name="bottom",
        type=mujoco.mjtGeom.mjGEOM_MESH,
        meshname="bottom",
        pos=_PLACE,
        friction=[_FRICTION, 0.0, 0.0],
    )
    spec.worldbody.add_light(pos=[0.5, 0.0, 2.0], dir=[0.0, 0.0, -1.0])
    beam = spec.worldbody.add_body(name="beam")
    beam.add_freejoint()
    beam.add_geom(
        name="beam",
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=[_HALF_LENGTH, half, 0.025],
        density=_DENSITY,
        friction=[_FRICTION, 0.0, 0.0],
    )


class PandaBeam:
    """The task's controller: call it with ``(model, data)`` and it writes ``data.ctrl``.

    Parameters
    ----------
    clearance : float
        As of `panda_beam` [m].
    speed : float
        Downwards [m/s].
    squeeze : float
        [N].

    Attributes
    ----------
    duration : float
        Of the task [s].
    """

    def __init__(self, clearance: float, *, speed: float = 0.05, squeeze: float = 40.0) -> None:
        model = panda_beam(clearance)
        data = mujoco.MjData(model)
        mujoco.mj_resetDataKeyframe(model, data, 0)
        mujoco.mj_kinematics(model, data)
        site = model.site("grip").id
        solver = InverseKinematics(model, data, site, _JOINTS)
        stiffness = np.array([gain[0] for gain in _GAINS])
        weight = float(model.body("beam").mass[0]) * float(model.opt.gravity[2])
        path = []
        for height in np.arange(BEAM_DROP, -1.5 * _SPACING * speed, -_SPACING * speed):
            joints, _ = solver.solve(_grip(clearance, height), 0.0)
            data.qpos[: len(joints)] = joints
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            jacobian = np.zeros((3, model.nv))
            mujoco.mj_jacSite(model, data, jacobian, None, site)
            path.append(joints - jacobian[2, : len(joints)] * weight / stiffness)
        self._path = np.array(path)
        self._finger = 0.5 * (_NOTCH - clearance)
        self._squeeze, self._weight = squeeze, weight
        self.duration = _BEGIN + _SPACING * len(path) + _REST

    def __call__(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        """Write the controls for ``data.time``."""
        along = (data.time - _BEGIN) / _SPACING
        at = min(max(along, 0.0), len(self._path) - 1.0)
        low = int(at)
        high = min(low + 1, len(self._path) - 1)
        data.ctrl[:7] = (1.0 - (at - low)) * self._path[low] + (at - low) * self._path[high]
        share = min(max(data.time / _RAMP, 0.0), 1.0)
        force = self._squeeze * share * share * (3.0 - 2.0 * share)
        # The finger that holds its place gives way by what the squeeze does to its servo.
        data.ctrl[7] = self._finger - force / _FINGER_GAINS[0]
        data.ctrl[8] = -force
