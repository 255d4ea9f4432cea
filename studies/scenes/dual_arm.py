"""Two arms with hands, a jar of marbles with its lid, and a bowl (SAP VI-E, figure 1).

Arms and hands are files of the extra ``assets``. Sizes, masses and places are ours: the paper
gives none. Only jar and lid have pressure fields: the lid's stopper is a compliant ball, a little
wider than the jar, which sits fast in it; all else touches in points. A polygon of their patch is
one constraint at its centroid, as for the paper's authors.
"""

from __future__ import annotations

import math
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.loading import load_model
from studies.scenes.robot_files import example_robot, iiwa_file, load_robot

__all__ = [
    "ARM_JOINTS",
    "BOWL_PLACE",
    "BOWL_RADIUS",
    "HAND_JOINTS",
    "HOLD_HEIGHT",
    "JAR_HEIGHT",
    "JAR_PLACE",
    "KNOB_HEIGHT",
    "MARBLES",
    "SIDES",
    "dual_arm",
    "dual_arm_robots",
]

Floats = NDArray[np.float64]

SIDES = ("right", "left")
"""The right hand holds the jar, the left one the lid."""

ARM_JOINTS = tuple(f"joint_a{i}" for i in range(1, 8))
HAND_JOINTS = tuple(f"hand_joint_{i}.0" for i in range(16))
"""Four of each finger, from index to ring, then the thumb's; names begin with the side."""

MARBLES = 16
JAR_PLACE = np.array([0.62, 0.0])
BOWL_PLACE = np.array([0.62, -0.36])
JAR_HEIGHT = 0.16  # [m]
HOLD_HEIGHT = 0.075
"""Where the right hand holds the jar, above its bottom [m]."""
KNOB_HEIGHT = 0.087
"""Where the left hand holds the lid, above the jar's rim [m]."""
BOWL_RADIUS = 0.1

_JAR_RADIUS, _JAR_MASS = 0.04, 0.2
_WALL = (0.034, 0.038)  # inner and outer distance of the wall's twelve sides from the axis
_SIDES_OF_WALL = 12
_BOTTOM = (0.001, 0.006)
_LID_DISC, _KNOB_LENGTH, _LID_MASS = 0.012, 0.15, 0.1
_STOPPER_RADIUS, _STOPPER_DEPTH = 0.0345, 0.01
_MARBLE_RADIUS, _MARBLE_MASS = 0.008, 5e-3
_BOWL_MASS = 0.3

_BASE = 0.42  # of the arms from the middle, to each side
_FLANGE = 0.126  # beyond the frame of the last link
_PALM = 0.1  # from the flange to where the fingers begin
_MOUNT = {"right": 1.2, "left": -0.8}  # turn of the hand about the flange [rad]
_GRASP = (0.0515, 0.0, -0.0125)  # axis of what is held, in the frame of the palm

# Bits: what bodies look like from outside, and what is inside of the jar.
_OUTSIDE, _INSIDE = 1, 2
_CYLINDER, _BOX = mujoco.mjtGeom.mjGEOM_CYLINDER, mujoco.mjtGeom.mjGEOM_BOX
_SPHERE, _PLANE = mujoco.mjtGeom.mjGEOM_SPHERE, mujoco.mjtGeom.mjGEOM_PLANE


def dual_arm_robots() -> mujoco.MjModel:
    """Arms and hands alone, which the arms' controller takes for its model."""
    return load_model(_robots())[0]


def dual_arm() -> mujoco.MjModel:
    """Robots, jar, lid, marbles and bowl on a table: 160 degrees of freedom.

    Joints of the right robot begin with ``right_``, those of the left one with ``left_``; sites
    ``right_hand_grasp`` and ``left_hand_grasp`` are at the axis of what a hand holds. Bodies are
    ``jar``, whose frame is in the middle of its bottom, ``lid``, whose frame is in the middle of
    the jar's rim, ``bowl`` and ``marble0`` to ``marble15``. The arms themselves collide with
    nothing.

    Raises
    ------
    MissingExtra
        If the extra ``assets`` is not installed.
    """
    spec = _robots()
    world = spec.worldbody
    world.add_geom(
        name="table",
        type=_PLANE,
        size=[0.0, 0.0, 1.0],
        **_touches(_OUTSIDE | _INSIDE, 0.75, 0.72, 0.68, 1.0),
    )
    world.add_light(pos=[0.6, -0.6, 2.5], dir=[0.0, 0.2, -1.0], diffuse=[0.6, 0.6, 0.6])
    spec.visual.headlight.ambient = [0.35, 0.35, 0.35]
    spec.visual.headlight.diffuse = [0.5, 0.5, 0.5]
    world.add_camera(
        name="front", pos=[1.75, -0.25, 0.95], xyaxes=[0.1, 1.0, 0.0, -0.5, 0.05, 1.0], fovy=42.0
    )
    _add_jar(world)
    _add_lid(world)
    _add_bowl(world)
    for i, place in enumerate(_marble_places()):
        body = world.add_body(name=f"marble{i}", pos=place)
        body.add_freejoint()
        hue = 0.5 + 0.5 * np.cos(2.0 * np.pi * (i / MARBLES + np.array([0.0, 1 / 3, 2 / 3])))
        body.add_geom(
            name=f"marble{i}",
            type=_SPHERE,
            size=[_MARBLE_RADIUS, 0.0, 0.0],
            mass=_MARBLE_MASS,
            **_touches(_INSIDE, *hue, 1.0),
        )
    for name, data in (
        ("asperity", "stiffness=1e5 friction=1 quadrature=centroid"),
        ("asperity:geom:marble*", "friction=0.2 stiffness=1e5"),
        ("asperity:geom:lid_disc", "surface=compliant hydroelastic_modulus=1e6 resolution=0.025"),
        (
            "asperity:geom:lid_stopper",
            "surface=compliant hydroelastic_modulus=1e6 resolution=0.008",
        ),
        ("asperity:geom:jar_wall*", "surface=rigid friction=0.5"),
    ):
        spec.add_text(name=name, data=data)
    return load_model(spec)[0]


def _robots() -> mujoco.MjSpec:
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    for side, sign in (("right", -1.0), ("left", 1.0)):
        arm = load_robot(iiwa_file(), floating_base=False)
        for geom in arm.geoms:
            geom.contype = geom.conaffinity = 0
        for joint in arm.joints:
            joint.armature = 0.1
        hand = load_robot(
            example_robot(f"allegro_hand_description/urdf/allegro_{side}_hand.urdf"),
            floating_base=False,
            exclude_overlaps=True,
        )
        # Limits of efforts, which nothing here comes near, are not in SAP's problem.
        for joint in (*arm.joints, *hand.joints):
            joint.actfrclimited = False
        for joint in hand.joints:
            joint.damping = [0.1, 0.0, 0.0]
            joint.frictionloss = 0.0
            joint.armature = 0.01
        for geom in hand.geoms:
            if geom.contype:
                geom.contype = geom.conaffinity = _OUTSIDE | _INSIDE
        hand.body("palm_link").add_site(name="grasp", pos=_GRASP)
        half = 0.5 * _MOUNT[side]
        flange = arm.body("link_7").add_frame(
            pos=[0.0, 0.0, _FLANGE + _PALM], quat=[math.cos(half), 0.0, 0.0, math.sin(half)]
        )
        arm.attach(hand, prefix="hand_", frame=flange)
        base = spec.worldbody.add_frame(pos=[0.0, sign * _BASE, 0.0])
        spec.attach(arm, prefix=f"{side}_", frame=base)
    return spec


def _touches(groups: int, *rgba: float) -> dict[str, Any]:
    """What a geom collides with, and its colour."""
    return {"contype": groups, "conaffinity": groups, "rgba": rgba}


def _ring(
    body: mujoco.MjsBody,
    name: str,
    between: tuple[float, float],
    span: tuple[float, float],
    lean: float,
    **options: Any,
) -> None:
    """A wall of boxes between two radii and two heights, which may lean outwards [rad]."""
    (inner, outer), (low, high) = between, span
    width = outer * math.tan(math.pi / _SIDES_OF_WALL)
    middle = 0.5 * (inner + outer)
    for i in range(_SIDES_OF_WALL):
        angle = 2.0 * math.pi * i / _SIDES_OF_WALL
        turn = np.array([math.cos(0.5 * angle), 0.0, 0.0, math.sin(0.5 * angle)])
        tip = np.array([math.cos(0.5 * lean), 0.0, math.sin(0.5 * lean), 0.0])
        quat = np.zeros(4)
        mujoco.mju_mulQuat(quat, turn, tip)
        body.add_geom(
            name=f"{name}{i}",
            type=_BOX,
            size=[0.5 * (outer - inner), width, 0.5 * (high - low)],
            pos=[middle * math.cos(angle), middle * math.sin(angle), 0.5 * (low + high)],
            quat=quat,
            **options,
        )


def _add_jar(world: mujoco.MjsBody) -> None:
    jar = world.add_body(name="jar", pos=[*JAR_PLACE, 0.0])
    jar.add_freejoint()
    # What hands and the table touch; twelve sides with a bottom are what is inside.
    jar.add_geom(
        name="jar_shell",
        type=_CYLINDER,
        size=[_JAR_RADIUS, 0.5 * JAR_HEIGHT, 0.0],
        pos=[0.0, 0.0, 0.5 * JAR_HEIGHT],
        mass=0.0,
        **_touches(_OUTSIDE, 0.6, 0.8, 0.9, 0.25),
    )
    inside = _touches(_INSIDE, 0.6, 0.8, 0.9, 0.2)
    wall = 0.85 * _JAR_MASS / _SIDES_OF_WALL
    _ring(jar, "jar_wall", _WALL, (_BOTTOM[1], JAR_HEIGHT), 0.0, mass=wall, **inside)
    jar.add_geom(
        name="jar_bottom",
        type=_CYLINDER,
        size=[_WALL[1], 0.5 * (_BOTTOM[1] - _BOTTOM[0]), 0.0],
        pos=[0.0, 0.0, 0.5 * (_BOTTOM[0] + _BOTTOM[1])],
        mass=0.15 * _JAR_MASS,
        **inside,
    )


def _add_lid(world: mujoco.MjsBody) -> None:
    lid = world.add_body(name="lid", pos=[*JAR_PLACE, JAR_HEIGHT])
    lid.add_freejoint()
    inside = _touches(_INSIDE, 0.8, 0.5, 0.3, 1.0)
    lid.add_geom(
        name="lid_disc",
        type=_CYLINDER,
        size=[_JAR_RADIUS, 0.5 * _LID_DISC, 0.0],
        pos=[0.0, 0.0, 0.5 * _LID_DISC],
        mass=0.3 * _LID_MASS,
        **inside,
    )
    lid.add_geom(
        name="lid_stopper",
        type=_SPHERE,
        size=[_STOPPER_RADIUS, 0.0, 0.0],
        pos=[0.0, 0.0, -_STOPPER_DEPTH],
        mass=0.3 * _LID_MASS,
        **inside,
    )
    lid.add_geom(
        name="knob",
        type=_CYLINDER,
        size=[_JAR_RADIUS, 0.5 * _KNOB_LENGTH, 0.0],
        pos=[0.0, 0.0, _LID_DISC + 0.5 * _KNOB_LENGTH],
        mass=0.4 * _LID_MASS,
        **_touches(_OUTSIDE, 0.8, 0.5, 0.3, 1.0),
    )


def _add_bowl(world: mujoco.MjsBody) -> None:
    bowl = world.add_body(name="bowl", pos=[*BOWL_PLACE, 0.0])
    bowl.add_freejoint()
    inside = _touches(_INSIDE, 0.5, 0.6, 0.4, 1.0)
    bowl.add_geom(
        name="bowl_bottom",
        type=_CYLINDER,
        size=[0.08, 0.004, 0.0],
        pos=[0.0, 0.0, 0.004],
        mass=0.4 * _BOWL_MASS,
        **inside,
    )
    mass = 0.6 * _BOWL_MASS / _SIDES_OF_WALL
    _ring(bowl, "bowl_wall", (0.084, 0.092), (0.006, 0.07), 0.25, mass=mass, **inside)


def _marble_places() -> list[list[float]]:
    """Layers of six, one of them in the middle, each turned against that below."""
    places = []
    for i in range(MARBLES):
        layer, number = divmod(i, 6)
        height = _BOTTOM[1] + _MARBLE_RADIUS * (1.05 + 2.1 * layer)
        radius = 0.0 if number == 0 else 0.0215
        angle = 2.0 * math.pi * (number / 5 + layer / 10)
        x, y = JAR_PLACE + radius * np.array([math.cos(angle), math.sin(angle)])
        places.append([float(x), float(y), height])
    return places
