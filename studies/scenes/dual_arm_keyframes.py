"""Where the hands of two arms go to open a jar, pour out its marbles and close it (SAP VI-E).

The paper's keyframes are Cartesian poses of the hands; its numbers are not given, these are ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from studies.scenes.dual_arm import (
    BOWL_PLACE,
    HOLD_HEIGHT,
    JAR_HEIGHT,
    JAR_PLACE,
    KNOB_HEIGHT,
)

__all__ = ["CLOSED", "KEYFRAMES", "OPEN", "PALM_AHEAD", "Keyframe", "hand_posture"]

Floats = NDArray[np.float64]

OPEN = (0.0, 0.3, 0.3, 0.3) * 3 + (1.396, 0.0, 0.0, 0.1)
"""Angles of a hand's joints [rad], in the order of `HAND_JOINTS`."""

CLOSED = (
    *(0.095, 1.006, 0.922, 1.125),
    *(0.0, 0.907, 0.922, 1.125),
    *(0.0, 0.907, 0.659, 0.804),
    *(1.345, 0.58, 0.521, 1.228),
)
"""The same, where nothing is held: what is in the hand is pressed against the palm."""

LIFT = 0.06  # of the jar [m]
APART = 0.1  # of lid and jar before either moves aside [m]

# By how much the lid is pushed further than to where it was: the jar has slipped by some of it.
_PRESS = 0.012
PALM_AHEAD = 0.06
"""Distance of the palms from jar and lid before they come to them [m]."""

_POUR = np.array([BOWL_PLACE[0], BOWL_PLACE[1] + 0.09, 0.3])
_TILT = math.radians(140.0)


@dataclass(frozen=True)
class Keyframe:
    """Where the hands go, and how they are.

    Parameters
    ----------
    name : str
    duration : float
        Of the motion [s].
    right, left : tuple of float
        Axis of what the hand holds, (x, y, z) [m], and its tilt about the world's x axis [rad].
    grasp : tuple of float
        How far the right and the left hand are closed, 0 to 1.
    until : {"", "firm", "stands"}
        What must be felt: firm grasps, before the next keyframe, or that the jar stands on the
        table, which ends the motion.
    """

    name: str
    duration: float
    right: tuple[float, float, float, float]
    left: tuple[float, float, float, float]
    grasp: tuple[float, float]
    until: str = ""


def _keyframes() -> tuple[Keyframe, ...]:
    x, y = (float(value) for value in JAR_PLACE)
    low = HOLD_HEIGHT
    high = JAR_HEIGHT + KNOB_HEIGHT
    jar = (x, y, low, 0.0)
    lid = (x, y, high, 0.0)
    lifted = (x, y, low + LIFT, 0.0)
    on = (x, y, high + LIFT, 0.0)
    off = (x, y, high + LIFT + APART, 0.0)
    aside = (x, y + 0.15, high + LIFT + APART, 0.0)
    pressed = (x, y, high + LIFT - _PRESS, 0.0)
    above = (float(_POUR[0]), float(_POUR[1]), float(_POUR[2]), 0.0)
    poured = (*above[:3], _TILT)
    steeper = (*above[:3], _TILT + 0.3)
    left_back = (x, y + PALM_AHEAD, high + LIFT, 0.0)
    left_away = (x, y + 0.2, high + LIFT + APART, 0.0)
    return (
        Keyframe("approach", 1.0, jar, lid, (0.0, 0.0)),
        Keyframe("grasp", 0.8, jar, lid, (1.0, 1.0), "firm"),
        Keyframe("lift", 1.0, lifted, on, (1.0, 1.0)),
        Keyframe("open", 1.5, lifted, off, (1.0, 1.0)),
        Keyframe("bring", 1.5, above, aside, (1.0, 1.0)),
        Keyframe("pour", 2.0, poured, aside, (1.0, 1.0)),
        Keyframe("empty", 0.6, steeper, aside, (1.0, 1.0)),
        Keyframe("empty", 0.6, poured, aside, (1.0, 1.0)),
        Keyframe("upright", 1.5, above, aside, (1.0, 1.0)),
        Keyframe("return", 1.5, lifted, aside, (1.0, 1.0)),
        Keyframe("lid above", 1.2, lifted, off, (1.0, 1.0)),
        Keyframe("close", 1.8, lifted, pressed, (1.0, 1.0)),
        Keyframe("let go of the lid", 0.6, lifted, pressed, (1.0, 0.0)),
        Keyframe("draw back", 0.8, lifted, left_back, (1.0, 0.0)),
        Keyframe("put down", 2.0, (x, y, low - 0.01, 0.0), left_away, (1.0, 0.0), "stands"),
        Keyframe("let go of the jar", 0.6, jar, left_away, (0.0, 0.0)),
        Keyframe("draw away", 1.0, (x, y - PALM_AHEAD, low, 0.0), left_away, (0.0, 0.0)),
    )


KEYFRAMES = _keyframes()
"""The task."""


def hand_posture(side: int, closed: float) -> Floats:
    """Angles of a hand's joints [rad]; fingers of the left one spread the other way."""
    angles = (1.0 - closed) * np.array(OPEN) + closed * np.array(CLOSED)
    if side == 1:
        angles[:12:4] *= -1.0
    return angles
