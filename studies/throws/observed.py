"""What the throws say about friction and restitution without any simulation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from studies.benchmarks.verification.case import GRAVITY, Array
from studies.throws.capture import CLEAR, CORNERS, FRAME, Throw, fit_flight

__all__ = ["Observed", "observe"]

FLAT = 1.03
"""A cube lies on a face if its upright edges' cosines add up to less than this."""
SLIDES, SHORTEST = 0.15, 8
"""Least speed [m/s] and number of frames of a slide from which friction is read."""


@dataclass(frozen=True)
class Observed:
    """Coefficients, one per slide or impact.

    Attributes
    ----------
    sliding
        Friction of cubes that slide on a face: deceleration over g.
    impact
        Friction of single impacts of a corner that goes on slipping: change of tangential over
        change of normal velocity.
    restitution
        Normal speed of the corner after those impacts over that before.
    """

    sliding: Array
    impact: Array
    restitution: Array


def observe(throws: Sequence[Throw]) -> Observed:
    """Read friction and restitution from captured motions."""
    sliding = [mu for mu in map(_sliding, throws) if mu is not None]
    impacts = np.array([pair for pair in map(_impact, throws) if pair is not None])
    return Observed(np.array(sliding), impacts[:, 0], impacts[:, 1])


def _sliding(throw: Throw) -> float | None:
    """Friction of the slide with which a throw ends."""
    tipped = np.abs(throw.rotation[:, 2, :]).sum(axis=1) > FLAT
    first = len(tipped) - int(np.argmax(tipped[::-1])) if tipped.any() else 0
    velocity = np.gradient(throw.position[first:, :2], FRAME, axis=0)[2:]
    speed = np.linalg.norm(velocity, axis=1)
    count = int(np.argmax(speed < SLIDES)) if (speed < SLIDES).any() else len(speed)
    if count < SHORTEST:
        return None
    return float(-np.polyfit(FRAME * np.arange(count), speed[:count], 1)[0] / GRAVITY)


def _impact(throw: Throw) -> tuple[float, float] | None:
    """Friction and restitution of the first impact, if it is short and flight follows."""
    lowest = throw.position[:, 2] + (throw.rotation @ CORNERS.T)[:, 2].min(axis=1)
    high = lowest >= CLEAR
    before = throw.flight
    after = before + int(np.argmax(high[before:])) if high[before:].any() else len(high)
    if after - before > 4 or after == len(high):
        return None
    end = after + int(np.argmin(high[after:])) if not high[after:].all() else len(high)
    if end - after < 6:
        return None
    left, _ = fit_flight(throw.position[after:end], throw.rotation[after:end])
    time = 0.5 * FRAME * (before + after - 1)
    down = np.array([0.0, 0.0, GRAVITY])
    coming = throw.start.velocity - down * time
    going = left.velocity - down * (time - FRAME * after)
    rotation = throw.rotation[before - 1]
    arm = rotation @ CORNERS[np.argmin((rotation @ CORNERS.T)[2])]
    slip = coming + np.cross(throw.start.spin, arm)
    slip_after = going + np.cross(left.spin, arm)
    # A corner that sticks shows what friction was needed, not what it can be.
    if slip[:2] @ slip_after[:2] < 0.3 * np.hypot(*slip[:2]):
        return None
    change = going - coming
    return float(np.hypot(*change[:2]) / change[2]), float(-slip_after[2] / slip[2])
