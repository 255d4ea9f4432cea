"""Gradients by states as they are stored, quaternions included.

Libraries of automatic differentiation know vectors and no tangent spaces. With E = ∂(q ⊕ δ)/∂δ at
δ = 0 a gradient by a quaternion q̄ is Eᵀ q̄ in the tangent space; and one of the tangent space, δ̄, is
E (EᵀE)⁻¹ δ̄ by the quaternion, without a part along the quaternion itself, whose length does not
matter.
"""

from __future__ import annotations

import mujoco
import numpy as np

from asperity.derivatives.transition import Transition
from asperity.errors import ArgumentError

__all__ = [
    "check_shapes",
    "from_tangent_space",
    "pull_back_trajectory",
    "to_tangent_space",
]


def _quaternions(model: mujoco.MjModel) -> list[tuple[int, int]]:
    """First positions and degrees of freedom of rotations that a quaternion describes."""
    found = []
    for joint in range(model.njnt):
        kind = int(model.jnt_type[joint])
        position, dof = int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])
        if kind == int(mujoco.mjtJoint.mjJNT_FREE):
            found.append((position + 3, dof + 3))
        elif kind == int(mujoco.mjtJoint.mjJNT_BALL):
            found.append((position, dof))
    return found


def _basis(quaternion: np.ndarray) -> np.ndarray:
    """E of one quaternion, ½ q ∘ (0, δ), shape (4, 3)."""
    w, x, y, z = quaternion / np.linalg.norm(quaternion)
    return 0.5 * np.array([[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]])


def _plain(model: mujoco.MjModel) -> tuple[np.ndarray, np.ndarray]:
    """Positions that are no part of a quaternion, and their degrees of freedom."""
    positions, dofs = np.ones(model.nq, bool), np.ones(model.nv, bool)
    for position, dof in _quaternions(model):
        positions[position : position + 4] = False
        dofs[dof : dof + 3] = False
    return np.flatnonzero(positions), np.flatnonzero(dofs)


def to_tangent_space(model: mujoco.MjModel, state: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """A gradient by a state as one by changes of it."""
    result = np.zeros(len(gradient) - model.nq + model.nv)
    result[model.nv :] = gradient[model.nq :]
    positions, dofs = _plain(model)
    result[dofs] = gradient[positions]
    for position, dof in _quaternions(model):
        part = slice(position, position + 4)
        result[dof : dof + 3] = _basis(state[part]).T @ gradient[part]
    return result


def from_tangent_space(
    model: mujoco.MjModel, state: np.ndarray, gradient: np.ndarray
) -> np.ndarray:
    """A gradient by changes of a state as one by the state."""
    result = np.zeros(len(gradient) - model.nv + model.nq)
    result[model.nq :] = gradient[model.nv :]
    positions, dofs = _plain(model)
    result[positions] = gradient[dofs]
    for position, dof in _quaternions(model):
        part = slice(position, position + 4)
        # EᵀE is a quarter of the identity.
        result[part] = 4.0 * _basis(state[part]) @ gradient[dof : dof + 3]
    return result


def pull_back_trajectory(
    transition: Transition, states: np.ndarray, controls: np.ndarray, gradients: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gradients by the first state, controls and parameters of one by all states."""
    model = transition.model
    by_states = np.array(
        [to_tangent_space(model, *pair) for pair in zip(states, gradients, strict=True)]
    )
    found = transition.gradient(states[0], controls, by_states, states=states)
    return (
        from_tangent_space(model, states[0], found.by_state),
        found.by_control,
        found.by_parameter,
    )


def check_shapes(
    transition: Transition, state: tuple[int, ...], controls: tuple[int, ...]
) -> tuple[int, ...]:
    """The batch's shape, of states and controls of rollouts."""
    nu = transition.model.nu
    batch = state[:-1]
    fits = len(state) > 0 and state[-1] == transition.state_size
    if not (fits and controls[:-2] == batch and controls[-1:] == (nu,)):
        raise ArgumentError(
            f"states must have the shape (..., {transition.state_size}) and controls "
            f"(..., n, {nu}), or (..., {nu}) of one step, with the same batch; got {state} and "
            f"{controls}."
        )
    return batch
