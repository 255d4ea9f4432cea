"""The engine's state from MuJoCo's: rigid links at ``qpos``, moving with ``qvel``."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.midas.engine_layout import BALL, FREE, HINGE, POINT, SLIDE
from asperity.midas.model.links import Link, Links, rotation_matrix, variable_count

__all__ = ["cross", "place"]

Floats = NDArray[np.float64]

# ε_ijk, of the cross product, shape (3, 9). np.cross takes many times longer for a few vectors.
_PERMUTATION = np.zeros((3, 9))
_PERMUTATION[[0, 1, 2], [5, 6, 1]] = 1.0
_PERMUTATION[[0, 1, 2], [7, 2, 3]] = -1.0


def cross(left: Floats, right: Floats) -> Floats:
    """Cross products of vectors, shape (..., 3), with one vector, or with all rows of a matrix."""
    return right @ (left @ _PERMUTATION).reshape(*left.shape, 3)


def place(
    model: mujoco.MjModel,
    links: Links,
    qpos: Floats,
    qvel: Floats,
    mocap: list[tuple[Floats, Floats]],
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Variables, link coordinates and velocities of a state.

    Parameters
    ----------
    model : mujoco.MjModel
    links : Links
    qpos, qvel : ndarray
    mocap : list of (ndarray, ndarray)
        Positions and quaternions of mocap bodies, in the order of their links; they are at rest.

    Returns
    -------
    z : ndarray
        Variables of all links.
    q, v : ndarray, shape (n + 1, 4, 3)
        Coordinates and their rates; the last row is the world.
    joint, rate : ndarray
        Coordinates of hinges and slides relative to the reference pose, and their rates.
    """
    count = len(links.links)
    q, v = np.zeros((count + 1, 4, 3)), np.zeros((count + 1, 4, 3))
    q[count, 1:] = np.eye(3)
    z: list[float] = []
    joint: list[float] = []
    rate: list[float] = []
    pose = [(np.zeros(3), np.eye(3))] * count
    twist = [(np.zeros(3), np.zeros(3))] * count  # velocity of the body frame's origin, and ω
    poses = iter(mocap)
    for i, link in enumerate(links.links):
        if link.is_mocap:
            position, quaternion = next(poses)
            pose[i] = (position, rotation_matrix(_unit(quaternion)))
            q[i, 0], q[i, 1:] = position, pose[i][1].T
            z.extend(q[i].ravel())
            continue
        own_qpos = qpos[int(model.jnt_qposadr[link.joint]) :]
        own_qvel = qvel[int(model.jnt_dofadr[link.joint]) :]
        reference = model.qpos0[int(model.jnt_qposadr[link.joint])]
        above = pose[link.parent] if link.parent >= 0 else (np.zeros(3), np.eye(3))
        above_twist = twist[link.parent] if link.parent >= 0 else (np.zeros(3), np.zeros(3))
        if link.kind == FREE:
            pose[i] = (np.array(own_qpos[:3]), rotation_matrix(_unit(own_qpos[3:7])))
            twist[i] = (np.array(own_qvel[:3]), pose[i][1] @ own_qvel[3:6])
        elif link.kind == POINT:
            # Its own axes are the world's.
            base, axes = pose[link.holder] if link.holder >= 0 else (np.zeros(3), np.eye(3))
            arm = axes @ (link.offset + link.turn @ own_qpos[:3])
            velocity = axes @ link.turn @ own_qvel[:3]
            if link.holder >= 0:
                velocity += twist[link.holder][0] + cross(twist[link.holder][1], arm)
            pose[i], twist[i] = (base + arm, np.eye(3)), (velocity, np.zeros(3))
        else:
            pose[i], twist[i] = _move(link, above, above_twist, own_qpos, own_qvel, reference)
        origin, turn = pose[i]
        speed, spin = twist[i]
        q[i, 0] = origin + turn @ link.centre
        q[i, 1:] = turn.T
        v[i, 0] = speed + cross(spin, turn @ link.centre)
        v[i, 1:] = cross(spin, turn.T)
        if link.kind in (HINGE, SLIDE):
            joint.append(float(own_qpos[0] - reference))
            rate.append(float(own_qvel[0]))
        if link.kind == FREE:
            z.extend(q[i].ravel())
        elif link.kind == SLIDE:
            z.append(joint[-1])
        else:
            rows = link.own_rows[-(variable_count(link.kind) // 3) :]
            z.extend((rows @ q[i]).ravel())
    return np.array(z), q, v, np.array(joint), np.array(rate)


def _move(
    link: Link,
    above: tuple[Floats, Floats],
    above_twist: tuple[Floats, Floats],
    qpos: Floats,
    qvel: Floats,
    reference: float,
) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """Pose and velocities of a link from its parent's."""
    base = above[1] @ link.turn
    start = above[0] + above[1] @ link.offset
    spin = above_twist[1]
    if link.kind == SLIDE:
        axis = base @ link.axis
        origin = start + (qpos[0] - reference) * axis
        speed = above_twist[0] + cross(spin, origin - above[0]) + qvel[0] * axis
        return (origin, base), (speed, spin)
    if link.kind == BALL:
        turn = base @ rotation_matrix(_unit(qpos[:4]))
        spin = spin + turn @ qvel[:3]
    else:
        quaternion = np.empty(4)
        mujoco.mju_axisAngle2Quat(quaternion, link.axis, qpos[0] - reference)
        turn = base @ rotation_matrix(quaternion)
        spin = spin + qvel[0] * (base @ link.axis)
    anchor = start + base @ link.anchor
    origin = anchor - turn @ link.anchor
    speed = above_twist[0] + cross(above_twist[1], anchor - above[0])
    return (origin, turn), (speed + cross(spin, origin - anchor), spin)


def _unit(quaternion: Floats) -> Floats:
    norm = float(np.linalg.norm(quaternion))
    return quaternion / norm if norm > 0.0 else np.array([1.0, 0.0, 0.0, 0.0])
