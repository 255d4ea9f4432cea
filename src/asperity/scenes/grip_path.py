"""Paths of a gripper: poses one after the other, as targets of an arm's joints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from asperity.errors import ArgumentError
from asperity.scenes.inverse_kinematics import InverseKinematics

__all__ = ["GripPath", "Leg", "plan"]

Floats = NDArray[np.float64]

LARGEST_RESIDUAL = 1e-3


@dataclass(frozen=True)
class Leg:
    """One piece of the motion: where the grip frame and the fingers are at its end.

    Parameters
    ----------
    name : str
    duration : float
        [s].
    position : ndarray, shape (3,)
        Of the grip frame [m].
    yaw : float
        As for `InverseKinematics.solve` [rad].
    opening : float
        Target of each finger [m].
    straight : bool
        Whether the grip moves along a line, or the joints take the shortest way.
    """

    name: str
    duration: float
    position: Floats
    yaw: float
    opening: float
    straight: bool = True


@dataclass(frozen=True)
class GripPath:
    """Targets of an arm and its two fingers over time.

    Attributes
    ----------
    time : ndarray, shape (n,)
        [s], evenly spaced from 0.
    targets : ndarray, shape (n, njoint + 2)
        Of the joints and of both fingers [rad, m].
    residuals : ndarray, shape (nleg,)
        Largest distance between wanted and reached grip position on each leg [m].
    """

    time: Floats
    targets: Floats
    residuals: Floats

    def at(self, time: float) -> Floats:
        """Targets at a time [s], shape (njoint + 2,); after the end, the last ones."""
        period = self.time[1] - self.time[0]
        position = float(np.clip(time / period, 0.0, len(self.time) - 1.0))
        k = min(int(position), len(self.time) - 2)
        share = position - k
        return np.asarray((1.0 - share) * self.targets[k] + share * self.targets[k + 1])


def plan(solver: InverseKinematics, start: Leg, legs: Sequence[Leg], period: float) -> GripPath:
    """Joint targets along legs, with minimum-jerk profiles of time.

    Parameters
    ----------
    solver : InverseKinematics
        In the posture of the start.
    start : Leg
        Whose pose and opening the path begins with.
    legs : sequence of Leg
    period : float
        Time between targets [s].

    Raises
    ------
    ArgumentError
        If a leg leads out of the arm's reach.
    """
    position, yaw, opening = start.position, start.yaw, start.opening
    joints = solver.joints.copy()
    targets = [np.concatenate([joints, [opening, opening]])]
    residuals = []
    for leg in legs:
        begin = joints
        worst = 0.0
        steps = round(leg.duration / period)
        if not leg.straight:
            goal, worst = solver.solve(leg.position, leg.yaw)
            _check_reach(leg, worst)
        for k in range(1, steps + 1):
            s = _minimum_jerk(k / steps)
            if leg.straight:
                joints, error = solver.solve(
                    position + s * (leg.position - position), yaw + s * (leg.yaw - yaw)
                )
                worst = max(worst, error)
                _check_reach(leg, worst)
            else:
                joints = begin + s * (goal - begin)
            fingers = opening + s * (leg.opening - opening)
            targets.append(np.concatenate([joints, [fingers, fingers]]))
        residuals.append(worst)
        position, yaw, opening = leg.position, leg.yaw, leg.opening
    time = period * np.arange(len(targets), dtype=np.float64)
    return GripPath(time, np.asarray(targets), np.asarray(residuals))


def _check_reach(leg: Leg, residual: float) -> None:
    if residual > LARGEST_RESIDUAL:
        raise ArgumentError(
            f"The leg '{leg.name}' leads out of the arm's reach (the grip misses it by "
            f"{1000 * residual:.1f} mm); move its goal closer."
        )


def _minimum_jerk(s: float) -> float:
    """Profile from 0 to 1 with zero velocity and acceleration at both ends."""
    return s * s * s * (10.0 + s * (6.0 * s - 15.0))
