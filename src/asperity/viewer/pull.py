"""A body pulled by a point of it, as with a mouse."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.errors import ArgumentError

__all__ = ["HOLD", "Pull", "take_hold"]

Floats = NDArray[np.float64]

HOLD = 1.0 / 120.0
"""Longest time for which the force of a pull is held [s]."""

# Rate at which turning about the point dies down [1/s], so that what hangs does not swing for long.
_TURNING = 5.0

# Of the spring [rad/s]: a body hangs g/ω², 4 cm, below the pointer, and a force that is held for
# HOLD keeps far from the limit of stability, 2 ω HOLD < 2 for each of three directions.
_FREQUENCY = 15.0


class Pull:
    """A critically damped spring between a point of a body and a target.

    The force on the point is ``m (ω² (target − x) − 2 ω ẋ)``. Here m is the effective mass of the
    point at the beginning, 3 / tr(J M⁻¹ Jᵀ), so that light and heavy things follow alike. Turning
    is damped, too, by a moment. Both go through ``xfrc_applied``, on top of what was there.

    Parameters
    ----------
    model, data : mujoco.MjModel, mujoco.MjData
    body : int
    grip : array, shape (3,)
        The point, in the body's frame [m].

    Raises
    ------
    ArgumentError
        If nothing can move the point.
    """

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData, body: int, grip: Floats) -> None:
        self._model = model
        self._body = body
        self._grip = np.array(grip, dtype=np.float64)
        self._before = np.array(data.xfrc_applied[body])
        self._mass, self._inertia = _felt_inertia(model, data, body, self.point(data))
        self.target = self.point(data)
        """Where the point is to go [m], shape (3,)."""

    def point(self, data: mujoco.MjData) -> Floats:
        """Where the point is [m], shape (3,)."""
        rotation = data.xmat[self._body].reshape(3, 3)
        return np.asarray(data.xpos[self._body] + rotation @ self._grip)

    def apply(self, data: mujoco.MjData) -> None:
        """Write the force of the present state into ``xfrc_applied``."""
        point = self.point(data)
        # MuJoCo's body velocities (angular, linear) are those at the centre of mass of the tree.
        motion = data.cvel[self._body]
        arm = point - data.subtree_com[self._model.body_rootid[self._body]]
        velocity = motion[3:] + np.cross(motion[:3], arm)
        spring = _FREQUENCY**2 * (self.target - point)
        force = self._mass * (spring - 2.0 * _FREQUENCY * velocity)
        moment = np.cross(point - data.xipos[self._body], force)
        moment -= _TURNING * self._inertia * motion[:3]
        data.xfrc_applied[self._body] = self._before + np.concatenate([force, moment])

    def release(self, data: mujoco.MjData) -> None:
        """Put back the force that was applied before."""
        data.xfrc_applied[self._body] = self._before


class Carry:
    """A mocap body carried by a point of it.

    Parameters
    ----------
    model, data, body, grip
        As for `Pull`.
    """

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData, body: int, grip: Floats) -> None:
        self._index = int(model.body_mocapid[body])
        self._offset = data.xmat[body].reshape(3, 3) @ np.asarray(grip)
        self.target = self.point(data)

    def point(self, data: mujoco.MjData) -> Floats:
        """Where the point is [m], shape (3,)."""
        return np.asarray(data.mocap_pos[self._index] + self._offset)

    def apply(self, data: mujoco.MjData) -> None:
        """Put the body where it is wanted."""
        data.mocap_pos[self._index] = self.target - self._offset

    def release(self, data: mujoco.MjData) -> None:
        """Leave it there."""


def take_hold(model: mujoco.MjModel, data: mujoco.MjData, body: int, grip: Floats) -> Pull | Carry:
    """Take a body by a point in its frame [m].

    Raises
    ------
    ArgumentError
        If nothing can move the point.
    """
    kind = Carry if model.body_mocapid[body] >= 0 else Pull
    return kind(model, data, body, grip)


def _felt_inertia(
    model: mujoco.MjModel, data: mujoco.MjData, body: int, point: Floats
) -> tuple[float, float]:
    """Mass [kg] that a point of a body seems to have, and inertia [kg m²], means over directions.

    The inertia is 0 where the body cannot turn.
    """
    scratch = mujoco.MjData(model)
    scratch.qpos[:] = data.qpos
    scratch.mocap_pos[:], scratch.mocap_quat[:] = data.mocap_pos, data.mocap_quat
    mujoco.mj_fwdPosition(model, scratch)
    moving, turning = np.zeros((3, model.nv)), np.zeros((3, model.nv))
    mujoco.mj_jac(model, scratch, moving, turning, point, body)
    mobilities = []
    for jacobian in (moving, turning):
        response = np.zeros((3, model.nv))
        mujoco.mj_solveM(model, scratch, response, jacobian)
        mobilities.append(float(np.sum(jacobian * response)) / 3.0)
    if not mobilities[0] > 0.0:
        raise ArgumentError(f"body {model.body(body).name!r} cannot move; pull one that can.")
    return 1.0 / mobilities[0], 1.0 / mobilities[1] if mobilities[1] > 0.0 else 0.0
