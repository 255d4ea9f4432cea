"""A robot clears a dish rack: it moves a plate, a mug and a spoon to a bin (CENIC VII, figure 1).

A Panda of the extra ``assets``, whose servos follow a path that is planned once, without feedback.
The paper's own recording, meshes and gains are not public; sizes, masses and the motion are ours.
Plate, mug and spoon are not convex: point contact takes their convex hulls, a closed mug among
them, while their field meshes (`studies.scenes.tableware.FIELD_MESHES`) are thin-walled.
"""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.errors import ModelError
from asperity.geometry.surfaces import Surface
from asperity.loading import load_model
from asperity.scenes.grip_path import Leg, plan
from asperity.scenes.inverse_kinematics import InverseKinematics
from studies.scenes.robot_files import panda
from studies.scenes.tableware import MUG_HEIGHT, MUG_RADIUS, PLATE_RADIUS, mug, plate, spoon

__all__ = [
    "CONTROL_PERIOD",
    "KEYFRAME",
    "OBJECTS",
    "RIGID",
    "DishRack",
    "dish_rack",
    "success",
]

Floats = NDArray[np.float64]

KEYFRAME = "start"
CONTROL_PERIOD = 0.01
"""Time between two targets of the path [s]."""

OBJECTS = ("plate", "mug", "spoon")
"""Bodies and geoms that are moved, in this order."""

RIGID = ("rack_*", "bin_*", "table")
"""Names of the geoms that are thin and do not move."""

PADS = ("pad_left", "pad_right")
"""Geoms between which the gripper holds things."""

_JOINTS = tuple(f"panda_joint{i}" for i in range(1, 8))
_FINGERS = ("panda_finger_joint1", "panda_finger_joint2")
# Stiffness and damping of the servos [N m/rad, N m s/rad; N/m, N s/m]: stiff ones, as the paper
# says, of the size that models of this robot have.
_GAINS = ((4500.0, 450.0),) * 2 + ((3500.0, 350.0),) * 2 + ((2000.0, 200.0),) * 3
_FINGER_GAINS = (1000.0, 50.0)
_GRIP_FORCE = 40.0
_HOME = (0.0, -0.3, 0.0, -2.2, 0.0, 1.9, 0.25 * np.pi)
# The pads' centres, between the fingers, in the frame of the last link: flange, hand, finger [m].
_GRIP = 0.107 + 0.0584 + 0.0449
_OPEN = 0.04
# How far the fingers' targets lie inside of what they hold: 20 N each. At the limit of their force
# they would not keep it in the middle.
_SQUEEZE = 0.02

_WIRE = 0.0025
_RACK = np.array([0.5, -0.25, 0.05])
# Of the wires that things stand on, along y, and of the length of all [m].
_WIRE_PLACES = (-0.09, -0.03, 0.03, 0.09)
_RACK_HALF = 0.19
# Two uprights on each side hold the plate, so far from its middle plane and that high.
_SLOT = 0.016
_UPRIGHT = (0.06, 0.11)
_PLATE_PLACE, _MUG_PLACE, _SPOON_PLACE = 0.1, 0.0, -0.1

_BIN = np.array([0.46, 0.32, 0.0])
_BIN_HALF = (0.17, 0.15)
_BIN_WALL = 0.002
_BIN_HEIGHT = 0.12

_CERAMIC, _STEEL = 2400.0, 7800.0


def dish_rack() -> mujoco.MjModel:
    """The scene, in the keyframe ``start``.

    Geoms ``plate``, ``mug`` and ``spoon`` are meshes of bodies of the same names, ``pad_left`` and
    ``pad_right`` the finger tips, ``rack_*`` capsules and ``bin_*`` boxes of the world, ``table`` a
    plane. Nine position servos move the seven joints and the two fingers.

    Raises
    ------
    MissingExtra
        If the extra ``assets`` is not installed.
    """
    spec = panda()
    _add_servos(spec)
    _add_surroundings(spec)
    rest = _RACK[2] + _WIRE
    # The plate stands on two wires, its rim between the fingers; the mug is upside down; the spoon
    # lies across.
    cradle = np.sqrt((PLATE_RADIUS + _WIRE) ** 2 - _WIRE_PLACES[2] ** 2) - _WIRE
    poses = {
        "plate": ((0.0, _PLATE_PLACE + 0.013, cradle), (1.0, 1.0, 0.0, 0.0), plate(), _CERAMIC),
        "mug": ((0.0, _MUG_PLACE, MUG_HEIGHT), (0.0, 1.0, 0.0, 0.0), mug(), _CERAMIC),
        "spoon": ((-0.08, _SPOON_PLACE, 0.006), (1.0, 0.0, 0.0, 0.0), spoon(), _STEEL),
    }
    start = [*_HOME, _OPEN, _OPEN]
    control = list(start)
    for name, (place, turn, surface, density) in poses.items():
        position = _RACK * (1.0, 1.0, 0.0) + np.array(place) + (0.0, 0.0, rest)
        quaternion = np.array(turn) / np.linalg.norm(turn)
        _add_object(spec, name, surface, density, position, quaternion)
        start += [*position, *quaternion]
    spec.add_key(name=KEYFRAME, qpos=start, ctrl=control)
    model, _ = load_model(spec)
    return model


def _add_servos(spec: mujoco.MjSpec) -> None:
    for body in spec.bodies:
        body.gravcomp = 1.0
    gains = dict(zip((*_JOINTS, *_FINGERS), (*_GAINS, _FINGER_GAINS, _FINGER_GAINS), strict=True))
    for name, (stiffness, damping) in gains.items():
        servo = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        servo.set_to_position(kp=stiffness, kv=damping)
        if name in _FINGERS:
            servo.forcelimited = True
            servo.forcerange = [-_GRIP_FORCE, _GRIP_FORCE]
    # The last box of each finger is its tip.
    for name, finger in zip(PADS, ("panda_leftfinger", "panda_rightfinger"), strict=True):
        pad = spec.body(finger).geoms[-1]
        pad.name = name
        pad.friction[0] = 1.0
    half = np.pi / 8.0
    spec.body("panda_link7").add_site(
        name="grip",
        pos=[0.0, 0.0, _GRIP],
        # −45° about z, as the hand is mounted, and then z up.
        quat=[0.0, np.sin(half), np.cos(half), 0.0],
    )


def _add_surroundings(spec: mujoco.MjSpec) -> None:
    world = spec.worldbody
    world.add_light(pos=[0.5, 0.0, 2.0], dir=[0.0, 0.0, -1.0], diffuse=[0.6, 0.6, 0.6])
    spec.visual.headlight.ambient = [0.35, 0.35, 0.35]
    spec.visual.headlight.diffuse = [0.5, 0.5, 0.5]
    world.add_camera(
        name="front", pos=[1.5, -0.15, 0.75], xyaxes=[0.1, 1.0, 0.0, -0.45, 0.05, 1.0], fovy=40.0
    )
    world.add_geom(
        name="table",
        type=mujoco.mjtGeom.mjGEOM_PLANE,
        size=[0.0, 0.0, 0.1],
        rgba=[0.75, 0.72, 0.68, 1.0],
    )
    ends: list[tuple[str, Floats, Floats]] = []
    for k, x in enumerate(_WIRE_PLACES):
        ends.append((f"floor_{k}", np.array([x, -_RACK_HALF, 0.0]), np.array([x, _RACK_HALF, 0.0])))
    across, height = _UPRIGHT
    below = -2.0 * _WIRE
    for k, y in enumerate((_PLATE_PLACE - _SLOT, _PLATE_PLACE + _SLOT)):
        reach = _WIRE_PLACES[-1]
        ends.append((f"bar_{k}", np.array([-reach, y, below]), np.array([reach, y, below])))
        for side, x in (("near", -across), ("far", across)):
            foot, top = np.array([x, y, below]), np.array([x, y, height])
            ends.append((f"upright_{side}_{k}", foot, top))
    for k, (x, y) in enumerate((x, y) for x in (-1.0, 1.0) for y in (-1.0, 1.0)):
        foot = np.array([x * _WIRE_PLACES[-1], y * _RACK_HALF, 0.0])
        ends.append((f"leg_{k}", foot, foot - (0.0, 0.0, _RACK[2])))
    for name, one, other in ends:
        world.add_geom(
            name=f"rack_{name}",
            type=mujoco.mjtGeom.mjGEOM_CAPSULE,
            fromto=[*(_RACK + one), *(_RACK + other)],
            size=[_WIRE, 0.0, 0.0],
            rgba=[0.6, 0.6, 0.65, 1.0],
        )
    a, b = _BIN_HALF
    t, h = _BIN_WALL, 0.5 * _BIN_HEIGHT
    walls = {
        "floor": ((0.0, 0.0, t), (a, b, t)),
        "left": ((-a, 0.0, h), (t, b, h)),
        "right": ((a, 0.0, h), (t, b, h)),
        "front": ((0.0, -b, h), (a, t, h)),
        "back": ((0.0, b, h), (a, t, h)),
    }
    for name, (place, half) in walls.items():
        world.add_geom(
            name=f"bin_{name}",
            type=mujoco.mjtGeom.mjGEOM_BOX,
            pos=_BIN + place,
            size=half,
            rgba=[0.3, 0.4, 0.6, 0.5],
        )


def _add_object(
    spec: mujoco.MjSpec,
    name: str,
    surface: Surface,
    density: float,
    position: Floats,
    quaternion: Floats,
) -> None:
    mesh = spec.add_mesh(name=name)
    mesh.uservert = surface.vertices.ravel()
    mesh.userface = surface.faces.ravel()
    mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_EXACT
    body = spec.worldbody.add_body(name=name, pos=position, quat=quaternion)
    body.add_freejoint()
    body.add_geom(
        name=name,
        type=mujoco.mjtGeom.mjGEOM_MESH,
        meshname=name,
        density=density,
        friction=[0.5, 0.0, 0.0],
        rgba=[0.9, 0.9, 0.85, 1.0] if density == _CERAMIC else [0.8, 0.8, 0.85, 1.0],
    )


def _legs(home: Floats) -> list[Leg]:
    """Three times from the rack to the bin."""
    wire = float(_RACK[2] + _WIRE)
    floor = 2.0 * _BIN_WALL
    # Height of the grip above the wires, half of the width that is gripped, place in the rack and
    # in the bin, and the lift that clears the rack.
    jobs = {
        "plate": (2.0 * PLATE_RADIUS - 0.012, 0.002, _PLATE_PLACE, (-0.04, 0.02), 0.14),
        "mug": (MUG_HEIGHT - 0.018, MUG_RADIUS, _MUG_PLACE, (0.06, -0.05), 0.12),
        "spoon": (0.008, 0.006, _SPOON_PLACE, (0.03, 0.06), 0.2),
    }
    legs = [Leg("wait", 0.5, home, 0.0, _OPEN)]
    for name, (above, width, y, (u, v), lift) in jobs.items():
        closed = width - _SQUEEZE
        grip = np.array([_RACK[0], _RACK[1] + y, wire + above])
        up = np.array([0.0, 0.0, lift])
        release = np.array(
            [_BIN[0] + u, _BIN[1] + v, max(floor + above + 0.03, _BIN_HEIGHT + 0.02)]
        )
        back = np.array([0.0, 0.0, max(0.06, _BIN_HEIGHT + 0.16 - release[2])])
        # Carried around the arm's first axis, things keep their direction with respect to it.
        turn = float(np.arctan2(release[1], release[0]) - np.arctan2(grip[1], grip[0]))
        legs += [
            Leg(f"to the {name}", 1.4, grip + up, 0.0, _OPEN, straight=False),
            Leg(f"down to the {name}", 1.2, grip, 0.0, _OPEN),
            Leg(f"grip the {name}", 0.6, grip, 0.0, closed),
            Leg(f"lift the {name}", 1.2, grip + up, 0.0, closed),
            Leg(f"carry the {name}", 1.8, release + back, turn, closed, straight=False),
            Leg(f"lower the {name}", 0.8, release, turn, closed),
            Leg(f"drop the {name}", 0.4, release, turn, _OPEN),
            Leg(f"leave the {name}", 0.8, release + back, turn, _OPEN),
        ]
    legs.append(Leg("return", 1.4, home, 0.0, _OPEN, straight=False))
    return legs


class DishRack:
    """The task's controller: call it with ``(model, data)`` and it writes ``data.ctrl``.

    Parameters
    ----------
    model : mujoco.MjModel
        Of `dish_rack`, perhaps with other options.

    Attributes
    ----------
    path : GripPath
        Targets of the nine servos, `CONTROL_PERIOD` apart.
    duration : float
        Of the path [s].
    spans : dict of str to (float, float, float)
        For every object when the gripper comes down to it, lifts it, and lets it go [s].

    Raises
    ------
    ModelError
        If the model is another one.
    """

    def __init__(self, model: mujoco.MjModel) -> None:
        self._actuators = [
            _id(model, mujoco.mjtObj.mjOBJ_ACTUATOR, name) for name in (*_JOINTS, *_FINGERS)
        ]
        data = mujoco.MjData(model)
        key = _id(model, mujoco.mjtObj.mjOBJ_KEY, KEYFRAME)
        mujoco.mj_resetDataKeyframe(model, data, key)
        mujoco.mj_kinematics(model, data)
        grip = _id(model, mujoco.mjtObj.mjOBJ_SITE, "grip")
        home = data.site_xpos[grip].copy()
        solver = InverseKinematics(model, data, grip, _JOINTS)
        start = Leg("start", 0.0, home, 0.0, _OPEN)
        legs = _legs(home)
        self.path = plan(solver, start, legs, CONTROL_PERIOD)
        self.duration = float(self.path.time[-1])
        begins, time = {}, 0.0
        for leg in legs:
            begins[leg.name] = time
            time += leg.duration
        self.spans = {
            name: tuple(begins[f"{what} the {name}"] for what in ("down to", "lift", "drop"))
            for name in OBJECTS
        }

    def __call__(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        """Write the targets for ``data.time``; after the path's end, the last ones."""
        data.ctrl[self._actuators] = self.path.at(data.time)


def success(model: mujoco.MjModel, data: mujoco.MjData) -> tuple[bool, str]:
    """Whether plate, mug and spoon are in the bin, and a sentence that names those that are not.

    Reads ``data.qpos`` only, so it works on the final state of any simulator.
    """
    scratch = mujoco.MjData(model)
    scratch.qpos[:] = data.qpos
    mujoco.mj_kinematics(model, scratch)
    outside = []
    for name in OBJECTS:
        x, y, z = scratch.geom_xpos[_id(model, mujoco.mjtObj.mjOBJ_GEOM, name)] - _BIN
        if abs(x) > _BIN_HALF[0] or abs(y) > _BIN_HALF[1] or not 0.0 < z < 1.5 * _BIN_HEIGHT:
            outside.append(f"the {name} is at {100 * x:.1f}, {100 * y:.1f}, {100 * z:.1f} cm")
    if outside:
        return False, f"Not everything is in the bin: from its middle, {'; '.join(outside)}."
    return True, "Plate, mug and spoon are in the bin."


def _id(model: mujoco.MjModel, kind: mujoco.mjtObj, name: str) -> int:
    index = mujoco.mj_name2id(model, kind, name)
    if index < 0:
        what = kind.name.removeprefix("mjOBJ_").lower()
        raise ModelError(f"The model has no {what} named '{name}'; use that of dish_rack().")
    return index
