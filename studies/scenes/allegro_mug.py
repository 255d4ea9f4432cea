"""An Allegro hand that turns a mug in its fingers, open loop (TAMSI VI-B, figure 9).

The hand's file is that of the extra ``assets``; its primitive shapes collide. Gains, mug and the
sequence of postures are those of the authors' public example, in which gears add inertia to the
joints; the damping and the dry friction of the file, many times the motors' torque, are left out.
Every posture is held for a second, where the example waits for the joints to come to rest.
"""

from __future__ import annotations

import mujoco
import numpy as np

from asperity.loading import load_model
from studies.scenes.robot_files import example_robot, load_robot

__all__ = ["HOLD", "MUG", "allegro_mug", "posture"]

_FILE = "allegro_hand_description/urdf/allegro_right_hand.urdf"

HOLD = 1.0
"""Time for which a posture is commanded [s]."""

MUG = "mug"

_FINGERS = ("index", "middle", "ring", "thumb")
_JOINTS = 4  # of a finger

_ARMATURE = 0.136  # of motor and gears, 1e-6 kg m² · 369² [kg m²]
_FREQUENCY = 10.0  # of a joint without load [rad/s]
_DAMPING_RATIO = 0.4
_STRONG_THUMB = 1.6

_GRASP = {
    "thumb": (1.396, 0.85, 0.0, 1.3),
    "index": (0.08, 0.9, 0.75, 1.5),
    "middle": (0.1, 0.9, 0.75, 1.5),
    "ring": (0.12, 0.9, 0.75, 1.5),
}
# A centimetre squared of a field of 10⁶ Pa that is as deep as a finger tip has 8000 N/m.
_STIFFNESS = {
    "points": "stiffness=1e4",
    "fields": "surface=compliant hydroelastic_modulus=1e6 resolution=5e-3",
}
# Of the middle of the mug's bottom; the file's palm ends where the fingers begin.
_MUG_POSITION = (0.095, 0.062, 0.0)
_MUG_HEIGHT = 0.13


def allegro_mug(contact: str = "points") -> mujoco.MjModel:
    """The hand, fixed to the world, with a mug before its palm and no gravity.

    Sixteen position servos, in the order of the joints, follow `posture`.

    Parameters
    ----------
    contact : {"points", "fields"}
        In points, as in the paper, or with pressure fields of about the same stiffness.

    Raises
    ------
    MissingExtra
        If the extra ``assets`` is not installed.
    """
    spec = load_robot(example_robot(_FILE), floating_base=False, exclude_overlaps=True)
    spec.option.gravity = [0.0, 0.0, 0.0]
    gain = _FREQUENCY**2 * _ARMATURE
    damping = 2.0 * _DAMPING_RATIO * _FREQUENCY * _ARMATURE
    for number, joint in enumerate(spec.joints):
        joint.damping = [0.0, 0.0, 0.0]
        joint.frictionloss = 0.0
        joint.armature = _ARMATURE
        thumb = number // _JOINTS == _FINGERS.index("thumb")
        strong = _STRONG_THUMB if thumb else 1.0
        actuator = spec.add_actuator(
            name=joint.name, target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT
        )
        actuator.set_to_position(kp=strong * gain, kv=damping)
    for geom in spec.geoms:
        geom.friction[0] = 0.5
    turned = [np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0]
    mug = spec.worldbody.add_body(name=MUG, pos=_MUG_POSITION, quat=turned)
    mug.add_freejoint()
    mug.explicitinertial = True
    mug.mass = 0.094
    mug.ipos = [0.01, 0.0, 0.05]
    mug.inertia = [1.56e-4, 1.56e-4, 1.5e-4]
    middle = 0.5 * _MUG_HEIGHT
    mug.add_geom(
        type=mujoco.mjtGeom.mjGEOM_CYLINDER,
        size=[0.04, middle, 0.0],
        pos=[0.0, 0.0, middle],
        friction=[0.9, 0.0, 0.0],
    )
    mug.add_geom(
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=[0.015, 0.01, 0.04],
        pos=[0.055, 0.0, middle],
        friction=[0.9, 0.0, 0.0],
    )
    stiffness = _STIFFNESS[contact]
    spec.add_text(name="asperity", data=f"{stiffness} dissipation=1 stiction_tolerance=1e-4")
    model, _ = load_model(spec)
    return model


def posture(time: float) -> np.ndarray:
    """Commanded angles [rad] at a time [s], shape (16,).

    Open; the thumb set against the palm; the grasp; then, for ever, the index and the ring finger
    in turn curl in by half a radian and more while the others hold.
    """
    angles = {finger: np.zeros(_JOINTS) for finger in _FINGERS}
    phase = int(time / HOLD)
    if phase == 1:
        angles["thumb"][:2] = 1.396, 0.3
    elif phase >= 2:
        angles = {finger: np.array(_GRASP[finger]) for finger in _FINGERS}
    if phase >= 3:
        angles["middle"][1:] += 0.1 * np.array([1.0, 1.0, 0.5])
        moving = "index" if phase % 2 == 1 else "ring"
        angles[moving][1:] += 0.6 * np.array([1.0, 0.3, 0.5])
    return np.concatenate([angles[finger] for finger in _FINGERS])
