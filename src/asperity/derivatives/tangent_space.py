"""Tangent spaces of positions: how displacements of a state travel through ``q ⊕ u``.

Positions are displaced as `mj_integratePos` does it, a vector of the size of velocities: for a
quaternion, a rotation vector in the body's axes, q ∘ exp(δ). So

    (q ⊕ δ) ⊕ (u + du) ≈ (q ⊕ u) ⊕ (exp(−u) δ + J_r(u) du)

with the right Jacobian J_r of rotations; both matrices are the identity for all other coordinates.
"""

from __future__ import annotations

import mujoco
import numpy as np

from asperity.derivatives.tangent import StepState

__all__ = [
    "difference",
    "displaced",
    "left_jacobian",
    "right_jacobian",
    "rotation",
    "rotation_dofs",
    "skew",
]

_SMALL = 1e-4


def displaced(model: mujoco.MjModel, state: StepState, change: np.ndarray) -> StepState:
    """The state that a change (position, velocity, activation, what has yielded) leads to."""
    nv, last = model.nv, 2 * model.nv + model.na
    qpos = state.qpos.copy()
    mujoco.mj_integratePos(model, qpos, change[:nv], 1.0)
    qvel = state.qvel + change[nv : 2 * nv]
    act, plastic = state.act + change[2 * nv : last], state.plastic + change[last:]
    return StepState(state.time, qpos, qvel, act, plastic)


def difference(model: mujoco.MjModel, first: StepState, second: StepState) -> np.ndarray:
    """The change (position, velocity, activation, what has yielded) from one state to another."""
    positions = np.zeros(model.nv)
    mujoco.mj_differentiatePos(model, positions, 1.0, first.qpos, second.qpos)
    rest = [second.qvel - first.qvel, second.act - first.act, second.plastic - first.plastic]
    return np.concatenate([positions, *rest])


def skew(u: np.ndarray) -> np.ndarray:
    """The matrix of the cross product u × …"""
    return np.array([[0.0, -u[2], u[1]], [u[2], 0.0, -u[0]], [-u[1], u[0], 0.0]])


def rotation(u: np.ndarray) -> np.ndarray:
    """Rotation matrix of a rotation vector."""
    angle = float(np.linalg.norm(u))
    cross = skew(u)
    if angle < _SMALL:
        return np.eye(3) + cross + 0.5 * cross @ cross + cross @ cross @ cross / 6.0
    return (
        np.eye(3) + np.sin(angle) / angle * cross + (1.0 - np.cos(angle)) / angle**2 * cross @ cross
    )


def right_jacobian(u: np.ndarray) -> np.ndarray:
    """J_r with exp(u + du) ≈ exp(u) exp(J_r(u) du)."""
    angle = float(np.linalg.norm(u))
    cross = skew(u)
    if angle < _SMALL:
        return np.eye(3) - 0.5 * cross + cross @ cross / 6.0
    return (
        np.eye(3)
        - (1.0 - np.cos(angle)) / angle**2 * cross
        + (angle - np.sin(angle)) / angle**3 * cross @ cross
    )


def left_jacobian(u: np.ndarray) -> np.ndarray:
    """J_l with exp(u + du) ≈ exp(J_l(u) du) exp(u)."""
    return right_jacobian(-u)


def rotation_dofs(model: mujoco.MjModel) -> list[int]:
    """The first of the three degrees of freedom of every rotation that a quaternion describes."""
    dofs = []
    for joint in range(model.njnt):
        kind = int(model.jnt_type[joint])
        first = int(model.jnt_dofadr[joint])
        if kind == int(mujoco.mjtJoint.mjJNT_FREE):
            dofs.append(first + 3)
        elif kind == int(mujoco.mjtJoint.mjJNT_BALL):
            dofs.append(first)
    return dofs
