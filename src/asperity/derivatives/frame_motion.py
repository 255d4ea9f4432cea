"""Frames that move with bodies: their places, velocities and accelerations with derivatives.

Places and directions have MuJoCo's Jacobians. What a joint carries is displaced with its motion
axis S_k, so that with the spatial velocities V of a body and V_k of what carries the joint, and W =
V − V_k between them, all of one fixed point,

    ∂V/∂q_k = S_k × W,    ∂A/∂q_k = S_k × R + V_k × (S_k × W),
    ∂A/∂v_k = V_k × S_k + S_k × (V − V_k'),

where A = A_k + R + V_k × W is the acceleration and V_k' the velocity after the joint (the cross
product of motion vectors: Featherstone, Rigid Body Dynamics Algorithms, 2008, section 2.8).
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from asperity.derivatives.tangent_space import skew

__all__ = [
    "Acceleration",
    "Frame",
    "Velocity",
    "acceleration_of",
    "cross",
    "cross_all",
    "frame_of",
    "velocity_of",
]

_OBJECT = mujoco.mjtObj


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame that moves with a body; ``moves`` and ``turns`` are its Jacobians, (3, nv)."""

    body: int
    point: np.ndarray
    matrix: np.ndarray
    moves: np.ndarray
    turns: np.ndarray

    def seen_from(self, vector: np.ndarray, change: np.ndarray) -> np.ndarray:
        """The change of Rᵀ u in this frame, with that of u."""
        return self.matrix.T @ (change - cross(self.turns, vector))


@dataclass(frozen=True, slots=True)
class Velocity:
    """A frame's velocity in the world, (3,), and its derivatives by position, (3, nv)."""

    linear: np.ndarray
    angular: np.ndarray
    linear_change: np.ndarray
    angular_change: np.ndarray


@dataclass(frozen=True, slots=True)
class Acceleration:
    """A frame's acceleration in the world, (3,), and its derivatives, (3, nv).

    It contains −g, as MuJoCo's sensors do.
    """

    linear: np.ndarray
    angular: np.ndarray
    linear_by_position: np.ndarray
    linear_by_velocity: np.ndarray
    angular_by_position: np.ndarray
    angular_by_velocity: np.ndarray


def cross(columns: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Each column times a vector, shape (3, n) or (3,)."""
    return -skew(vector) @ columns


def cross_all(columns: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Each column of matrices times a vector of each, shapes (n, 3, m) and (n, 3)."""
    x, y, z = vectors.T[:, :, None]
    a, b, c = columns[:, 0], columns[:, 1], columns[:, 2]
    return np.stack([b * z - c * y, c * x - a * z, a * y - b * x], axis=1)


def _row_products(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Cross products of rows, shape (n, 3); ``np.cross`` takes much longer for so few."""
    one, two = [1, 2, 0], [2, 0, 1]
    return first[:, one] * second[:, two] - first[:, two] * second[:, one]


def _motion_products(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Cross products of motion vectors, shape (n, 6): rotation first."""
    turn, shift = first[:, :3], first[:, 3:]
    moved = _row_products(turn, second[:, 3:]) + _row_products(shift, second[:, :3])
    return np.hstack([_row_products(turn, second[:, :3]), moved])


def frame_of(model: mujoco.MjModel, data: mujoco.MjData, kind: int, index: int) -> Frame:
    """The frame of an object; for cameras only if they are fixed to their bodies."""
    if kind == _OBJECT.mjOBJ_BODY:
        body, point, matrix = index, data.xipos[index], data.ximat[index]
    elif kind == _OBJECT.mjOBJ_XBODY:
        body, point, matrix = index, data.xpos[index], data.xmat[index]
    elif kind == _OBJECT.mjOBJ_GEOM:
        body, point, matrix = model.geom_bodyid[index], data.geom_xpos[index], data.geom_xmat[index]
    elif kind == _OBJECT.mjOBJ_SITE:
        body, point, matrix = model.site_bodyid[index], data.site_xpos[index], data.site_xmat[index]
    else:
        body, point, matrix = model.cam_bodyid[index], data.cam_xpos[index], data.cam_xmat[index]
    moves, turns = np.zeros((3, model.nv)), np.zeros((3, model.nv))
    mujoco.mj_jac(model, data, moves, turns, point, int(body))
    return Frame(int(body), point, matrix.reshape(3, 3), moves, turns)


def _carriers(model: mujoco.MjModel, dofs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """First and last degree of freedom of each one's joint, and the first of its body."""
    joint = model.dof_jntid[dofs]
    first, kind = model.jnt_dofadr[joint], model.jnt_type[joint]
    # The rotation of a free joint comes after its translation.
    is_free = kind == int(mujoco.mjtJoint.mjJNT_FREE)
    later = is_free & (dofs >= first + 3)
    several = is_free | (kind == int(mujoco.mjtJoint.mjJNT_BALL))
    first = np.where(later, first + 3, first)
    return first, np.where(several, first + 2, first), model.body_dofadr[model.dof_bodyid[dofs]]


def _sums(rows: np.ndarray) -> np.ndarray:
    """Sums of the rows before each, and of all, shape (n + 1, 6)."""
    sums = np.zeros((len(rows) + 1, 6))
    np.cumsum(rows, axis=0, out=sums[1:])
    return sums


def _moving_dofs(frame: Frame) -> np.ndarray:
    return np.flatnonzero(np.any(frame.moves, axis=0) | np.any(frame.turns, axis=0))


def velocity_of(model: mujoco.MjModel, data: mujoco.MjData, frame: Frame) -> Velocity:
    """A frame's velocity; ``data`` has those of bodies."""
    angular, linear = data.cvel[frame.body, :3], data.cvel[frame.body, 3:]
    arm = frame.point - data.subtree_com[model.body_rootid[frame.body]]
    dofs = _moving_dofs(frame)
    change = np.zeros((6, model.nv))
    first, _, start = _carriers(model, dofs)
    sums = _sums(data.cdof * data.qvel[:, None])
    carrier = data.cvel[model.body_parentid[model.dof_bodyid[dofs]]] + sums[first] - sums[start]
    change[:, dofs] = _motion_products(data.cdof[dofs], data.cvel[frame.body] - carrier).T
    linear_change = change[3:] + cross(change[:3], arm) - cross(frame.moves, angular)
    return Velocity(linear + cross(angular, arm), angular, linear_change, change[:3])


def acceleration_of(model: mujoco.MjModel, data: mujoco.MjData, frame: Frame) -> Acceleration:
    """A frame's acceleration; ``data`` has ``qacc`` and the accelerations of bodies."""
    nv, body = model.nv, frame.body
    velocity = velocity_of(model, data, frame)
    angular, linear = data.cacc[body, :3], data.cacc[body, 3:]
    arm = frame.point - data.subtree_com[model.body_rootid[body]]
    dofs = _moving_dofs(frame)
    axes = data.cdof[dofs]
    first, last, start = _carriers(model, dofs)
    parent = model.body_parentid[model.dof_bodyid[dofs]]
    speeds = _sums(data.cdof * data.qvel[:, None])
    gains = _sums(data.cdof * data.qacc[:, None] + data.cdof_dot * data.qvel[:, None])
    before = data.cvel[parent] + speeds[first] - speeds[start]
    after = data.cvel[parent] + speeds[last + 1] - speeds[start]
    relative = data.cvel[body] - before
    own = data.cacc[body] - data.cacc[parent] - (gains[first] - gains[start])
    own -= _motion_products(before, relative)
    by_position, by_velocity = np.zeros((6, nv)), np.zeros((6, nv))
    displaced = _motion_products(before, _motion_products(axes, relative))
    by_position[:, dofs] = (_motion_products(axes, own) + displaced).T
    faster = _motion_products(before, axes) + _motion_products(axes, data.cvel[body] - after)
    by_velocity[:, dofs] = faster.T
    spin = velocity.angular
    linear_by_position = (
        by_position[3:]
        + cross(by_position[:3], arm)
        - cross(frame.moves, angular)
        + cross(velocity.angular_change, velocity.linear)
        - cross(velocity.linear_change, spin)
    )
    linear_by_velocity = (
        by_velocity[3:]
        + cross(by_velocity[:3], arm)
        + cross(frame.turns, velocity.linear)
        - cross(frame.moves, spin)
    )
    return Acceleration(
        linear + cross(angular, arm) + cross(spin, velocity.linear),
        angular,
        linear_by_position,
        linear_by_velocity,
        by_position[:3],
        by_velocity[:3],
    )
