"""Two arms open a jar, pour its marbles into a bowl and close it again (SAP VI-E).

Hands follow Cartesian keyframes, fingers are open or closed, and forces decide when a grasp is
firm and when the jar stands on the table. Numbers are ours: the paper gives none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.scenes.inverse_kinematics import InverseKinematics
from studies.scenes.dual_arm import ARM_JOINTS, HAND_JOINTS, SIDES, dual_arm_robots
from studies.scenes.dual_arm_keyframes import KEYFRAMES, PALM_AHEAD, Keyframe, hand_posture

__all__ = ["JarTask", "arm_joints", "hand_joints"]

Floats = NDArray[np.float64]

FIRM = 10.0  # force of a hand at which it has grasped [N]
STANDS = 1.0  # force of the table at which the jar stands [N]
_SAMPLE = 0.02  # of planned paths [s]
_BENT = {
    "right": (0.3, 1.4, 0.6, -1.4, 0.3, -1.5, -0.3),
    "left": (-0.4, 1.0, -0.4, -1.6, -0.6, -1.4, -0.2),
}


class _Targets(Protocol):
    target: Floats
    target_velocity: Floats


class _ArmTargets(_Targets, Protocol):
    target_acceleration: Floats


class _Contacts(Protocol):
    @property
    def geom(self) -> NDArray[np.int64]: ...
    @property
    def normal_force(self) -> Floats: ...


class JarTask:
    """The motion, written into the targets of controllers.

    Parameters
    ----------
    model : mujoco.MjModel
        Of `dual_arm`.
    arms : asperity.systems.InverseDynamicsController
        Of the joints ``right_joint_a1`` to ``left_joint_a7``.
    hands : asperity.systems.PdController
        Of the 32 joints of the hands, the right one's first.

    Attributes
    ----------
    start : dict of str to float
        Joint angles at the beginning by name [rad].
    events : list of (float, str)
        When each keyframe began [s]; and when something was felt.
    finished : bool
        Whether all keyframes are done.
    residual : float
        The largest that inverse kinematics has left [m or rad].
    """

    def __init__(self, model: mujoco.MjModel, arms: _ArmTargets, hands: _Targets) -> None:
        self.arms, self.hands = arms, hands
        self.events: list[tuple[float, str]] = []
        self.finished = False
        self.residual = 0.0
        robots = dual_arm_robots()
        data = mujoco.MjData(robots)
        for side in SIDES:
            for name, value in zip(ARM_JOINTS, _BENT[side], strict=True):
                data.joint(f"{side}_{name}").qpos[0] = value
        self._kinematics = [
            InverseKinematics(
                robots,
                data,
                robots.site(f"{side}_hand_grasp").id,
                [f"{side}_{name}" for name in ARM_JOINTS],
            )
            for side in SIDES
        ]
        self._geoms = [
            np.array(
                [
                    model.body(model.geom_bodyid[g]).name.startswith(f"{side}_hand_")
                    for g in range(model.ngeom)
                ]
            )
            for side in SIDES
        ]
        self._table, self._shell = model.geom("table").id, model.geom("jar_shell").id
        first = KEYFRAMES[0]
        right = np.array(first.right)
        left = np.array(first.left)
        right[1] -= PALM_AHEAD
        left[1] += PALM_AHEAD
        self._poses = [right, left]
        self._closed = np.zeros(2)
        joints = [self._reach(i, pose) for i, pose in enumerate(self._poses)]
        self.start = {
            f"{side}_{name}": float(angle)
            for i, side in enumerate(SIDES)
            for names, angles in ((ARM_JOINTS, joints[i]), (HAND_JOINTS, hand_posture(i, 0.0)))
            for name, angle in zip(names, angles, strict=True)
        }
        arms.target[:] = np.concatenate(joints)
        hands.target[:] = np.concatenate([hand_posture(0, 0.0), hand_posture(1, 0.0)])
        self._index = -1
        self._next(0.0)

    @property
    def keyframe(self) -> Keyframe:
        """The present one."""
        return KEYFRAMES[self._index]

    def hand_force(self, contacts: _Contacts, side: int) -> float:
        """Sum of the normal forces between a hand and what it touches [N]."""
        of_hand = self._geoms[side][contacts.geom]
        return float(np.sum(contacts.normal_force[of_hand[:, 0] != of_hand[:, 1]]))

    def table_force(self, contacts: _Contacts) -> float:
        """Normal force between the table and the jar [N]."""
        pair = np.sort(contacts.geom, axis=1)
        both = np.sort([self._table, self._shell])
        return float(np.sum(contacts.normal_force[np.all(pair == both, axis=1)]))

    def __call__(self, time: float, contacts: _Contacts) -> None:
        """Write the targets for a step that begins at a time [s], feeling the last contacts."""
        self._feel(time, contacts)
        at = min(max((time - self._begin) / _SAMPLE, 0.0), len(self._path) - 1.001)
        k, share = int(at), at % 1.0
        self.arms.target[:] = (1 - share) * self._path[k] + share * self._path[k + 1]
        moving = time - self._begin < self.keyframe.duration
        self.arms.target_velocity[:] = self._velocity[k] if moving else 0.0
        self.arms.target_acceleration[:] = self._acceleration[k] if moving else 0.0
        part = _blend((time - self._begin) / self.keyframe.duration)
        closed = (1 - part) * self._closed_before + part * np.array(self.keyframe.grasp)
        self.hands.target[:] = np.concatenate(
            [hand_posture(0, closed[0]), hand_posture(1, closed[1])]
        )

    def _feel(self, time: float, contacts: _Contacts) -> None:
        frame = self.keyframe
        if self.finished:
            return
        if frame.until == "stands" and self.table_force(contacts) > STANDS:
            self.events.append((time, "the jar stands"))
            share = _blend((time - self._begin) / frame.duration)
            self._poses = [
                (1 - share) * before + share * goal
                for before, goal in zip(self._before, self._poses, strict=True)
            ]
            self._next(time)
        elif time - self._begin >= frame.duration - 1e-9:
            if frame.until == "firm":
                if min(self.hand_force(contacts, 0), self.hand_force(contacts, 1)) < FIRM:
                    return
                self.events.append((time, "firm grasps"))
            self._next(time)

    def _next(self, time: float) -> None:
        if self._index + 1 == len(KEYFRAMES):
            self.finished = True
            return
        self._closed_before = np.array(self.keyframe.grasp) if self._index >= 0 else np.zeros(2)
        self._index += 1
        frame = self.keyframe
        self._begin = time
        self.events.append((time, frame.name))
        self._before = [pose.copy() for pose in self._poses]
        goals = [np.array(frame.right), np.array(frame.left)]
        count = math.ceil(frame.duration / _SAMPLE) + 2
        self._path = np.zeros((count, 14))
        for i in range(count):
            share = _blend(i * _SAMPLE / frame.duration)
            for side in range(2):
                pose = (1 - share) * self._before[side] + share * goals[side]
                self._path[i, 7 * side : 7 * side + 7] = self._reach(side, pose)
        self._poses = goals
        self._velocity = np.gradient(self._path, _SAMPLE, axis=0)
        self._acceleration = np.gradient(self._velocity, _SAMPLE, axis=0)

    def _reach(self, side: int, pose: Floats) -> Floats:
        joints, residual = self._kinematics[side].reach(pose[:3], _orientation(side, pose[3]))
        self.residual = max(self.residual, residual)
        return joints


def _blend(share: float) -> float:
    """Minimum-jerk profile from 0 to 1."""
    s = min(max(share, 0.0), 1.0)
    return s**3 * (10.0 + s * (6.0 * s - 15.0))


def _orientation(side: int, tilt: float) -> Floats:
    """Axes of a palm: fingers forwards, thumb upwards, facing the middle; then tilted about x."""
    sign = 1.0 if side == 0 else -1.0
    palm = np.array([[0.0, 0.0, 1.0], [sign, 0.0, 0.0], [0.0, sign, 0.0]])
    c, s = math.cos(tilt), math.sin(tilt)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]]) @ palm


def hand_joints() -> Sequence[str]:
    """Names of all joints of hands, the right one's first."""
    return [f"{side}_{name}" for side in SIDES for name in HAND_JOINTS]


def arm_joints() -> Sequence[str]:
    """Names of all joints of arms, the right one's first."""
    return [f"{side}_{name}" for side in SIDES for name in ARM_JOINTS]
