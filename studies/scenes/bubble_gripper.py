"""A gripper with air-filled bubbles lets a spatula turn in its grasp (SAP VI-D, figures 16 and 17).

Sizes, masses, moduli and poses are those of the authors' public example of slip control; the
grasp force is the paper's. Gripper and blade of the spatula collide with nothing. A polygon of a
patch is one constraint at its centroid, as for the authors.
"""

from __future__ import annotations

import math

__all__ = [
    "DUTY",
    "FILE_INERTIA",
    "LOOSE",
    "PERIOD",
    "SECURE",
    "THIN_INERTIA",
    "bubble_gripper",
    "grasp_force",
    "pitch",
]

LOOSE, SECURE = 1.0, 16.0
"""Grasp forces [N]."""

PERIOD = 6.0
"""Of the square wave [s]."""

DUTY = 0.75
"""Share of the period in which the grasp is secure."""

FILE_INERTIA = (0.21095403274864072, 0.03710803288660893, 0.18858265237650276, -0.06982169738550205)
"""Moments of inertia xx, yy, zz and product yz of the example's spatula [kg m²].

They are those of something a thousand times as heavy as its 68 g.
"""

THIN_INERTIA = tuple(1e-3 * value for value in FILE_INERTIA)
"""The same divided by a thousand [kg m²]: what a spatula of this mass and size has."""

# Frames of the example: the hand's x axis is the world's z, its z axis points against the fingers.
_TURN = math.pi / 2.0
_HAND_HEIGHT = 0.25
_FINGER_REACH, _BUBBLE_REACH = 0.0725, 0.1095
_BUBBLE = (0.04165, 0.04165, 0.0625)
_BUBBLE_BACK = 0.041665
_FINGER_MASS = 0.1  # of the finger and its bubble
_OPEN = 0.01  # of both fingers at first


def bubble_gripper(inertia: tuple[float, ...] = FILE_INERTIA) -> str:
    """MJCF of gripper and spatula, with 8 degrees of freedom and the keyframe ``start``.

    Motors ``left`` and ``right`` push the fingers along y; see `grasp_force`.

    Parameters
    ----------
    inertia : tuple of float
        Of the spatula: xx, yy, zz and yz [kg m²].
    """
    xx, yy, zz, yz = inertia
    bubble = " ".join(map(repr, _BUBBLE))
    fingers = "".join(
        f"""
      <body name="{name}" pos="0 0 {-_FINGER_REACH!r}">
        <inertial pos="0 0 0" mass="{_FINGER_MASS!r}" diaginertia="1e-4 1e-4 1e-4"/>
        <joint name="{name}" type="slide" axis="0 1 0" range="{span}"/>
        <geom name="{name}_bubble" class="bubble" size="{bubble}"
              pos="0 {side * _BUBBLE_BACK!r} {-_BUBBLE_REACH!r}"/>
        <geom class="looks" type="box" size="0.015 0.006 0.07" rgba=".3 .3 .32 1"
              pos="0 {side * 0.088!r} -0.07"/>
      </body>"""
        for name, side, span in (("left", -1, "-0.055 0"), ("right", 1, "0 0.055"))
    )
    # The spatula's frame is the middle of its blade, its handle points back to the hand.
    half = 0.5 * -0.4
    roll = (math.cos(half), math.sin(half))
    root = math.sqrt(0.5)
    quat = (root * roll[0], root * roll[1], root * roll[1], root * roll[0])
    start = " ".join(map(repr, (-_OPEN, _OPEN, 0.35, 0.0, _HAND_HEIGHT, *quat)))
    return f"""
<mujoco model="bubble gripper">
  <compiler angle="radian" autolimits="true"/>
  <option gravity="0 0 -9.81"/>
  <visual><global azimuth="140" elevation="-15"/></visual>
  <asset>
    <texture type="skybox" builtin="gradient" rgb1=".9 .93 .96" rgb2=".6 .66 .72"
             width="32" height="192"/>
  </asset>
  <custom>
    <text name="asperity"
          data="friction=1 dissipation=5 relaxation_time=0.1 quadrature=centroid"/>
    <text name="asperity:geom:*_bubble"
          data="surface=compliant hydroelastic_modulus=1e5 resolution=0.04"/>
    <text name="asperity:geom:handle"
          data="surface=compliant hydroelastic_modulus=1e8 resolution=0.005"/>
  </custom>
  <default>
    <geom friction="1"/>
    <default class="looks"><geom contype="0" conaffinity="0"/></default>
    <default class="bubble"><geom type="ellipsoid" rgba=".75 .8 .85 .45"/></default>
  </default>
  <worldbody>
    <camera name="grasp" pos="0.25 -0.62 0.42" xyaxes="1 0 0 0 0.3 1" fovy="42"/>
    <light pos="0.2 -1 1" dir="0 1 -0.8"/>
    <body name="hand" pos="0 0 {_HAND_HEIGHT!r}" euler="0 {-_TURN!r} 0">
      <geom class="looks" type="box" size="0.025 0.073 0.035" rgba=".5 .5 .52 1"/>{fingers}
    </body>
    <body name="spatula" pos="0.35 0 {_HAND_HEIGHT!r}">
      <freejoint name="spatula"/>
      <inertial pos="0 0.115649 0.044471" mass="0.068"
                fullinertia="{xx!r} {yy!r} {zz!r} 0 0 {yz!r}"/>
      <geom name="handle" type="cylinder" size="0.015 0.055" pos="0 0.135 0.052"
            euler="2 0 0" rgba=".15 .15 .15 1"/>
      <geom class="looks" type="box" size="0.04 0.05 0.001" rgba=".6 .6 .62 1"/>
      <geom class="looks" type="cylinder" size="0.002 0.024" pos="0 0.0675 0.015"
            euler="-0.94 0 0" rgba=".6 .6 .62 1"/>
    </body>
  </worldbody>
  <actuator><motor name="left" joint="left"/><motor name="right" joint="right"/></actuator>
  <keyframe><key name="start" qpos="{start}"/></keyframe>
</mujoco>"""


def grasp_force(time: float) -> float:
    """Force with which each finger is pushed at a time [N]: secure first, then loose."""
    return SECURE if time % PERIOD < DUTY * PERIOD else LOOSE


def pitch(quaternion: tuple[float, float, float, float]) -> float:
    """Angle by which the handle's far end points below the horizon [rad].

    Parameters
    ----------
    quaternion : (4,) array_like
        Of the spatula.
    """
    w, x, y, z = quaternion
    # Height of the handle's axis (0, −sin 2, cos 2), which at the start is nearly level.
    axis = (0.0, -math.sin(2.0), math.cos(2.0))
    up = (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y))
    return -math.asin(max(-1.0, min(1.0, sum(a * b for a, b in zip(axis, up, strict=True)))))
