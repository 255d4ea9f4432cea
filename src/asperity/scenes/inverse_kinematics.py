"""Joint angles for a wanted pose of a gripper."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np
from numpy.typing import NDArray

__all__ = ["InverseKinematics"]

Floats = NDArray[np.float64]


class InverseKinematics:
    """Damped least squares: ``Δq = Jᵀ (J Jᵀ + λ² I)⁻¹ e``, repeated until the error is gone.

    ``e`` stacks the position error [m] and the rotation error [rad] of a site. ``J`` is the site's
    Jacobian for the arm's joints, and ``λ`` bounds the step near singular postures. Each solution
    starts from the last one, so a path of targets gives a continuous path of joints.

    Parameters
    ----------
    model : mujoco.MjModel
        The robot and its scene.
    data : mujoco.MjData
        The configuration to start from; it is copied.
    site : int
        Index of the site to place.
    joints : sequence of str
        Names of the hinge joints that may move.
    """

    damping = 1e-3
    # Along a path two or three suffice, between distant poses a dozen; more mean out of reach.
    max_iterations = 60
    tolerance = 1e-7
    # Larger steps [rad] leave the region where the Jacobian says anything.
    max_step = 0.2

    def __init__(
        self, model: mujoco.MjModel, data: mujoco.MjData, site: int, joints: Sequence[str]
    ) -> None:
        self._model = model
        self._data = mujoco.MjData(model)
        self._data.qpos[:] = data.qpos
        self._site = site
        self._qpos = np.array([model.joint(name).qposadr[0] for name in joints])
        self._dof = np.array([model.joint(name).dofadr[0] for name in joints])
        self._range = np.array([model.joint(name).range for name in joints])

    @property
    def joints(self) -> Floats:
        """Current joint angles [rad], shape (njoint,)."""
        return self._data.qpos[self._qpos].copy()

    def solve(self, position: Floats, yaw: float) -> tuple[Floats, float]:
        """Bring the site to ``position`` [m], its z axis up and its y axis turned by ``yaw`` [rad].

        The gripper closes along its y axis; for ``yaw = 0`` that is the world's −y axis.

        Returns
        -------
        joints : ndarray, shape (njoint,)
            Joint angles [rad], within their limits.
        residual : float
            Remaining distance of the site from ``position`` [m].
        """
        goal = np.array(
            [[-np.cos(yaw), np.sin(yaw), 0.0], [-np.sin(yaw), -np.cos(yaw), 0.0], [0.0, 0.0, 1.0]]
        )
        joints, error = self._solve(position, goal)
        return joints, float(np.linalg.norm(error[:3]))

    def reach(self, position: Floats, rotation: Floats) -> tuple[Floats, float]:
        """Bring the site to a pose.

        Parameters
        ----------
        position : ndarray, shape (3,)
            [m].
        rotation : ndarray, shape (3, 3)
            Its columns are the site's axes.

        Returns
        -------
        joints : ndarray, shape (njoint,)
            Joint angles [rad], within their limits.
        residual : float
            The larger of what remains of distance [m] and of angle [rad].
        """
        joints, error = self._solve(position, rotation)
        return joints, float(max(np.linalg.norm(error[:3]), np.linalg.norm(error[3:])))

    def _solve(self, position: Floats, goal: Floats) -> tuple[Floats, Floats]:
        model, data = self._model, self._data
        jacobian_position, jacobian_rotation = np.zeros((3, model.nv)), np.zeros((3, model.nv))
        error = np.zeros(6)
        for _ in range(self.max_iterations):
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            current = data.site_xmat[self._site].reshape(3, 3)
            error[:3] = position - data.site_xpos[self._site]
            error[3:] = 0.5 * np.cross(current, goal, axis=0).sum(axis=1)
            if np.abs(error).max() < self.tolerance:
                break
            mujoco.mj_jacSite(model, data, jacobian_position, jacobian_rotation, self._site)
            jacobian = np.vstack([jacobian_position, jacobian_rotation])[:, self._dof]
            square = jacobian @ jacobian.T + self.damping**2 * np.eye(6)
            step = jacobian.T @ np.linalg.solve(square, error)
            step *= min(1.0, self.max_step / max(float(np.abs(step).max()), 1e-12))
            data.qpos[self._qpos] = np.clip(self.joints + step, *self._range.T)
        return self.joints, error
