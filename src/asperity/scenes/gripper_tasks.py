"""Tasks of a parallel gripper: two beams, a thin cup, a cube and a USB stick (Midas, section IV).

The gripper has the size, masses and stroke of a Franka Panda's hand, on a carriage that moves in x
and z. Its fingers are coupled. A stiff servo holds one, and the other pushes with a force. The
squeeze is that force, and the object goes where the hand goes. Where the paper's numbers were lost,
ours stand in the functions' defaults.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from asperity.scenes.solids import Solid, cup, union_of_boxes
from asperity.scenes.usb import Fit, plug, port

__all__ = [
    "BEAM_DROP",
    "CUBE_SIDE",
    "CUP_ASIDE",
    "GRAVITY",
    "LIFT_ACCELERATION",
    "Task",
    "beam_assembly",
    "cube_grasp",
    "cup_placing",
    "usb_insertion",
    "usb_stroke",
]

GRAVITY = 9.81
CUBE_SIDE = 0.05  # [m]
CUP = (0.035, 0.09, 1e-3)  # radius, height and wall [m]
CUP_SEGMENTS = 12
CUP_ASIDE = 0.2
"""How far the cup is carried [m]."""
BEAM_DROP = 0.06
"""How far the beam is lowered until it is at the notch's bottom [m]."""
LIFT_ACCELERATION = 0.05
"""Of the hand that lifts the cube [m/s²]."""

# Of the hand's box and of one finger: half sizes [m] and masses [kg], the finger's with its drive.
_HAND = (0.1, 0.0315, 0.033)
_FINGER = (0.005, 0.01, 0.027)
_HAND_MASS, _FINGER_MASS = 0.73, 0.1

# What the fingers travel before they touch [m], more than the activation distance of Midas.
_FAR, _NEAR = 1e-3, 1.1e-4
# Time in which the fingers' force grows [s].
_RAMP = 0.03
_ABOVE_PORT = 1e-3  # [m]


@dataclass(frozen=True)
class Task:
    """A task as a model in two descriptions, with its controls.

    Parameters
    ----------
    surfaces : str
        MJCF whose solids are closed meshes, for engines that take them as they are.
    pieces : str
        The same in convex pieces; masses and inertias are those of the meshes.
    control : callable
        Controls at a time [s]: carriage x and z [m], left finger [m], force of the right one [N].
    duration : float
        [s].
    object : str
        Name of the body that the gripper holds.
    """

    surfaces: str
    pieces: str
    control: Callable[[float], NDArray[np.float64]]
    duration: float
    object: str


def _gripper(
    grip_height: float, half_width: float, gap: float, lateral: float, lift: float
) -> tuple[str, str]:
    """Bodies and actuators of a gripper, slightly open, its fingers' middle at a height [m]."""
    finger = half_width + gap + _FINGER[0]
    hand = grip_height + _FINGER[2] + _HAND[2]
    size = " ".join(map(str, _FINGER))
    fingers = "".join(
        f"<body name='{name}' pos='{sign * finger!r} 0 {grip_height - hand!r}'>"
        f"<joint name='{name}' type='slide' axis='{sign} 0 0' range='-.03 .04'/>"
        f"<geom name='{name}' type='box' size='{size}' mass='{_FINGER_MASS}'/></body>"
        for name, sign in (("left", -1), ("right", 1))
    )
    return (
        "<body name='carriage'><inertial pos='0 0 0' mass='.2' diaginertia='1e-3 1e-3 1e-3'/>"
        "<joint name='x' type='slide' axis='1 0 0'/>"
        f"<body name='hand' pos='0 0 {hand!r}'><joint name='z' type='slide' axis='0 0 1'/>"
        f"<geom name='hand' type='box' size='{_HAND[0]} {_HAND[1]} {_HAND[2]}' "
        f"mass='{_HAND_MASS}'/>{fingers}</body></body>"
    ), (
        f"<actuator><position joint='x' kp='{lateral:g}' kv='{0.02 * lateral:g}'/>"
        f"<position joint='z' kp='1e5' kv='1e3' forcerange='{-lift:g} {lift:g}'/>"
        "<position joint='left' kp='1e6' kv='4e3'/><motor joint='right'/></actuator>"
    )


def _model(
    solids: tuple[Solid, ...],
    worldbody: Callable[[bool], str],
    gripper: tuple[str, str],
    friction: float,
) -> tuple[str, str]:
    body, actuator = gripper

    def text(pieces: bool) -> str:
        assets = "".join(solid.assets(pieces) for solid in solids)
        return (
            "<mujoco><compiler autolimits='true'/>"
            f"<option gravity='0 0 {-GRAVITY}'/><default><geom friction='{friction!r}'/></default>"
            f"<asset>{assets}</asset><worldbody><light pos='0 -1 1' dir='0 1 -1'/>"
            f"{worldbody(pieces)}{body}</worldbody>{actuator}</mujoco>"
        )

    return text(False), text(True)


def _smooth(time: float, begin: float, duration: float) -> float:
    """From 0 to 1 with a continuous velocity."""
    s = min(max((time - begin) / duration, 0.0), 1.0)
    return s * s * (3.0 - 2.0 * s)


def beam_assembly(
    clearance: float, *, speed: float = 0.05, squeeze: float = 40.0, standoff: float = 0.0
) -> Task:
    """The gripper lowers a beam into the notch of another (Midas, section IV-A and figure 2).

    Parameters
    ----------
    clearance : float
        By how much the notch of 50 mm is wider than the beam [m]. The beam comes down a tenth of
        it beside the middle of the notch, at most 50 µm.
    speed : float
        Downwards [m/s], over 60 mm.
    squeeze : float
        [N].
    standoff : float
        See the module.
    """
    notch, depth, tall = 0.05, 0.025, 0.05
    bottom = union_of_boxes(
        "bottom",
        [
            (-0.1, -0.025, 0.0, 0.1, 0.025, tall - depth),
            (-0.1, -0.025, tall - depth, -0.5 * notch, 0.025, tall),
            (0.5 * notch, -0.025, tall - depth, 0.1, 0.025, tall),
        ],
    )
    half = 0.5 * (notch - clearance)
    start = tall - depth + 0.025 + BEAM_DROP

    def worldbody(pieces: bool) -> str:
        return bottom.geoms(pieces) + (
            f"<body name='beam' pos='0 0 {start!r}'><freejoint/>"
            f"<geom name='beam' type='box' size='{half!r} .1 .025' density='700'/></body>"
        )

    # Fingers hold the part of the beam that stays above the notch.
    gripper = _gripper(start + 0.004 + _FINGER[2], half, _NEAR + standoff, 1e4, 100.0)
    # Both stand aside by this much, which the carriage takes away from the fixed bottom beam.
    offset = min(0.1 * clearance, 5e-5)
    surfaces, pieces = _model((bottom,), worldbody, gripper, 0.3)

    def control(time: float) -> NDArray[np.float64]:
        down = min(max(time - 0.2, 0.0) * speed, BEAM_DROP + 0.001)
        return np.array(
            [
                offset * _smooth(time, 0.05, 0.1),
                -down,
                -_NEAR,
                -squeeze * _smooth(time, 0.0, _RAMP),
            ]
        )

    return Task(surfaces, pieces, control, 0.2 + BEAM_DROP / speed + 0.3, "beam")


def cup_placing(squeeze: float, *, standoff: float = 0.0) -> Task:
    """The gripper lifts a cup with a wall of 1 mm, carries it aside and lets go (Midas, IV-B).

    Parameters
    ----------
    squeeze : float
        Force of the fingers [N].
    standoff : float
        See the module.
    """
    radius, height, wall = CUP
    solid = cup("cup", radius, height, wall, CUP_SEGMENTS)
    flat = radius * math.cos(math.pi / CUP_SEGMENTS)
    gap = 1e-3
    lift = 0.15

    def worldbody(pieces: bool) -> str:
        return (
            "<geom name='table' type='plane' size='1 1 1'/>"
            f"<body name='cup' pos='0 0 {gap!r}'><freejoint/>"
            f"{solid.geoms(pieces, 1000.0)}</body>"
        )

    surfaces, pieces = _model(
        (solid,), worldbody, _gripper(0.075, flat, _FAR + standoff, 1e5, 200.0), 0.5
    )

    def control(time: float) -> NDArray[np.float64]:
        up = lift * (_smooth(time, 0.4, 0.6) - _smooth(time, 1.8, 0.6))
        holding = time < 2.6
        return np.array(
            [
                CUP_ASIDE * _smooth(time, 1.1, 0.6),
                up,
                -_FAR if holding else 0.01 * _smooth(time, 2.6, 0.2),
                -squeeze * _smooth(time, 0.1, 0.1) if holding else 1.0,
            ]
        )

    return Task(surfaces, pieces, control, 3.2, "cup")


def cube_grasp(friction: float, density: float, squeeze: float, *, standoff: float = 0.0) -> Task:
    """The gripper lifts a cube of 50 mm, with at most half a per cent of g (Midas, IV-C).

    Parameters
    ----------
    friction : float
    density : float
        [kg/m³].
    squeeze : float
        Force of the fingers [N].
    standoff : float
        See the module.
    """
    half, gap = 0.5 * CUBE_SIDE, 1e-3

    def worldbody(pieces: bool) -> str:
        return (
            "<geom name='table' type='plane' size='1 1 1'/>"
            f"<body name='cube' pos='0 0 {half + gap!r}'><freejoint/><geom name='cube' type='box' "
            f"size='{half} {half} {half}' density='{density!r}'/></body>"
        )

    gripper = _gripper(half + gap + 0.012, half, _FAR + standoff, 1e5, 200.0)
    surfaces, pieces = _model((), worldbody, gripper, friction)

    def control(time: float) -> NDArray[np.float64]:
        t = max(time - 0.3, 0.0)
        up = LIFT_ACCELERATION * (0.5 * min(t, 1.0) ** 2 + max(t - 1.0, 0.0))
        return np.array([0.0, up, -_FAR, -squeeze * _smooth(time, 0.0, 2.0 * _RAMP)])

    return Task(surfaces, pieces, control, 2.0, "cube")


def usb_insertion(
    fit: Fit, *, speed: float = 0.02, squeeze: float = 10.0, standoff: float = 0.0
) -> Task:
    """The gripper pushes a USB-A stick into its port (Midas, section IV-D and figure 5).

    Parameters
    ----------
    fit : Fit
        Sizes of stick and port. The stick starts beside the middle by a half of each clearance.
    speed : float
        Downwards [m/s].
    squeeze : float
        [N].
    standoff : float
        See the module.
    """
    stick, socket = plug(fit), port(fit)
    start = fit.depth + _ABOVE_PORT
    x, y = (0.5 * c for c in fit.tightest)

    def worldbody(pieces: bool) -> str:
        # The port stands aside, so that the stick may start in the middle of the hand.
        return (
            f"<body name='port' pos='{-x!r} {-y!r} 0'>{socket.geoms(pieces)}</body>"
            f"<body name='stick' pos='0 0 {start!r}'><freejoint/>"
            f"{stick.geoms(pieces, 2000.0)}</body>"
        )

    grip = start + fit.shell_length + 0.5 * fit.handle[2] + 0.004
    gripper = _gripper(grip + 0.6 * _FINGER[2], 0.5 * fit.handle[0], _NEAR + standoff, 1e4, 100.0)
    surfaces, pieces = _model((stick, socket), worldbody, gripper, 0.3)
    stroke = usb_stroke(fit)

    def control(time: float) -> NDArray[np.float64]:
        down = min(max(time - 0.2, 0.0) * speed, stroke + 0.0002)
        return np.array([0.0, -down, -_NEAR, -squeeze * _smooth(time, 0.0, _RAMP)])

    return Task(surfaces, pieces, control, 0.2 + stroke / speed + 0.3, "stick")


def usb_stroke(fit: Fit) -> float:
    """How far the stick goes until its handle is at the port [m]."""
    return _ABOVE_PORT + fit.shell_length
