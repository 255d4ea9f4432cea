"""A parallel-jaw gripper that holds a mug and is shaken, of the TAMSI paper (VI-A, figure 6)."""

from __future__ import annotations

import math

import numpy as np

__all__ = [
    "AMPLITUDE",
    "ANGULAR_FREQUENCY",
    "GRIP",
    "MASS",
    "PERIOD",
    "STICTION_TOLERANCE",
    "shaken_mug",
]

AMPLITUDE = 0.15  # [m]
PERIOD = 0.5  # [s]
ANGULAR_FREQUENCY = 2.0 * math.pi / PERIOD
GRIP = 10.0  # [N]
MUG_MASS = 0.1  # [kg]
STICTION_TOLERANCE = 1e-4  # [m/s]

# Of Drake's model of the gripper: its body and one finger; the other finger, which is driven.
_GRIPPER_MASS = 1.038882
_FINGER_MASS = 0.05
MASS = _GRIPPER_MASS + _FINGER_MASS
"""Of the gripper [kg]."""

# Eight spheres on a ring are a pad. The contact parameters are ours.
_RING = 0.014
_PAD = 0.006
_RADIUS = 0.04
_STIFFNESS = 1e4


def _pads(x: float) -> str:
    angles = [float(a) for a in np.arange(8) * np.pi / 4.0]
    places = [(_RING * math.sin(a), _RING * math.cos(a)) for a in angles]
    return "".join(f"<geom class='pad' pos='{x!r} {y!r} {z!r}'/>" for y, z in places)


def shaken_mug(*, sprung: bool = False, offset: float = 0.0) -> str:
    """The model, as MJCF, whose keyframe ``start`` is the moment at which it passes its middle.

    There is no gravity. The gripper moves on the slide ``lift``, one finger on ``close``; both have
    motors, and the keyframe's controls are the grip alone. Friction of pads and mug is 0.1.

    Parameters
    ----------
    sprung : bool
        Whether a spring shakes gripper and mug, so that nothing depends on a controller, or the
        motor of ``lift`` has to, with m ω² A sin ωt.
    offset : float
        How far the mug's centre of mass lies sideways of the pads [m], which makes the mug turn.
    """
    stiffness = (MASS + MUG_MASS) * ANGULAR_FREQUENCY**2 if sprung else 0.0
    # The pads start as deep as the grip presses two contacts of each into the mug.
    place = _RADIUS + _PAD - 0.5 * GRIP / _STIFFNESS
    speed = -AMPLITUDE * ANGULAR_FREQUENCY
    return f"""
<mujoco model='shaken mug'>
  <option gravity='0 0 0'/>
  <custom><text name='asperity' data='stiffness={_STIFFNESS:g} dissipation=1
    stiction_tolerance={STICTION_TOLERANCE:g}'/></custom>
  <default><geom friction='0.1'/>
    <default class='pad'>
      <geom type='sphere' size='{_PAD}' mass='0' contype='1' conaffinity='0'/></default>
  </default>
  <worldbody>
    <light pos='0 -1 1' dir='0 1 -1'/>
    <body name='gripper'>
      <inertial pos='0 0 0' mass='{_GRIPPER_MASS}' diaginertia='1e-3 1e-3 1e-3'/>
      <joint name='lift' type='slide' axis='0 0 1' stiffness='{stiffness!r}'/>{_pads(-place)}
      <body name='finger'>
        <inertial pos='0 0 0' mass='{_FINGER_MASS}' diaginertia='1e-5 1e-5 1e-5'/>
        <joint name='close' type='slide' axis='1 0 0'/>{_pads(place)}</body>
    </body>
    <body name='mug'><freejoint name='mug'/>
      <inertial pos='0 {offset!r} 0' mass='{MUG_MASS}' diaginertia='1.2e-4 1.2e-4 8e-5'/>
      <geom type='cylinder' size='{_RADIUS} 0.05' contype='0' conaffinity='1'/></body>
  </worldbody>
  <actuator><motor name='lift' joint='lift'/><motor name='close' joint='close'/></actuator>
  <keyframe><key name='start' qvel='{speed!r} 0 0 0 {speed!r} 0 0 0' ctrl='0 {-GRIP}'/></keyframe>
</mujoco>
"""
