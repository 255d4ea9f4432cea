"""A robot that trots, in nine gaits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["GAITS", "SAMPLES", "Gait", "robot", "trot"]


@dataclass(frozen=True)
class Gait:
    """How a robot trots."""

    frequency: float = 1.5
    """[Hz]"""
    lift: float = 0.35
    """Of the legs [rad]."""
    swing: float = 0.25
    """[rad]"""
    friction: float = 0.8
    """Of its feet."""
    gain: float = 150.0
    """Of its servos [N m/rad]."""


def _others(count: int) -> tuple[Gait, ...]:
    """Gaits of which every number is up to a tenth larger or smaller."""
    random = np.random.default_rng(1)
    usual = Gait()
    numbers = (usual.frequency, usual.lift, usual.swing, usual.friction, usual.gain)
    return tuple(Gait(*np.multiply(numbers, random.uniform(0.9, 1.1, 5))) for _ in range(count))


GAITS = (Gait(), *_others(8))
SAMPLES = tuple(np.arange(1, 150) / 50)
"""Times at which the robot's computer gives other commands [s]."""


def _leg(name: str, x: float, y: float) -> str:
    return f"""<body pos="{x} {y} 0"><joint name="{name}_hip" axis="0 1 0" damping="0.2"/>
 <geom type="capsule" size="0.02" fromto="0 0 0 -0.1 0 -0.14" mass="0.5" contype="0"
  conaffinity="0"/>
 <body pos="-0.1 0 -0.14"><joint name="{name}_knee" axis="0 1 0" damping="0.2"/>
  <geom type="capsule" size="0.015" fromto="0 0 0 0.1 0 -0.14" mass="0.2" contype="0"
   conaffinity="0"/>
  <geom type="sphere" size="0.02" pos="0.1 0 -0.14" mass="0.05"/></body></body>"""


LEGS = {"fl": (0.2, 0.14), "fr": (0.2, -0.14), "hl": (-0.2, 0.14), "hr": (-0.2, -0.14)}


def robot(gait: Gait) -> str:
    """The model, as MJCF."""
    return f"""
<mujoco><custom>
<text name="asperity" data="stiffness=1e5 dissipation=10 stiction_tolerance=1e-4"/></custom>
<default><geom friction="{gait.friction:.17g}"/></default>
<worldbody><geom type="plane" size="5 5 1"/>
 <body pos="0 0 0.3"><joint type="slide" axis="1 0 0"/>
  <joint type="slide" axis="0 0 1"/><joint type="hinge" axis="0 1 0"/>
  <geom type="box" size="0.22 0.1 0.05" mass="6"/>
  {"".join(_leg(n, x, y) for n, (x, y) in LEGS.items())}</body></worldbody>
<actuator>{
        "".join(
            f'<position joint="{n}_{j}" kp="{gait.gain:.17g}" kv="3" forcerange="-40 40"/>'
            for n in LEGS
            for j in ("hip", "knee")
        )
    }</actuator></mujoco>
"""


def trot(time: float, gait: Gait) -> np.ndarray:
    """Commands of a trot, sampled at 50 Hz as a robot's computer would."""
    sample = np.floor(time * 50 + 1e-6) / 50
    out = []
    for n in LEGS:
        phase = 2 * np.pi * gait.frequency * sample + (0 if n in ("fl", "hr") else np.pi)
        ramp = min(sample / 0.5, 1.0)
        lift = ramp * gait.lift * max(np.sin(phase), 0.0)
        swing = ramp * gait.swing * np.cos(phase)
        out += [swing + lift, -2 * lift]
    return np.array(out)
