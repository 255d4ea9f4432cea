"""A warning where fixed steps are too long for what moves: contacts within them go unseen.

Contacts are those of the states between two steps. A body that moves by more than its own size in a
step can be beyond another one before any state has shown that they touch. Error control looks at
the motion within its steps, and the fixed steps of some methods look ahead, along the velocities at
their beginning; those of others do not. No fixed step sees what a body meets that falls from rest.
"""

from __future__ import annotations

import mujoco
import numpy as np

from asperity.errors import warn_user
from asperity.plant.detection.sweep import inner_radii
from asperity.plant.model.names import element

__all__ = ["FastMotion"]

# Steps between two looks, which then cost nothing to speak of.
_STEPS = 16


class FastMotion:
    """Looks at the speed of free bodies, and warns once.

    Parameters
    ----------
    model : mujoco.MjModel
    step : float
        The fixed step [s].
    """

    def __init__(self, model: mujoco.MjModel, step: float) -> None:
        self._model, self._step = model, step
        joints = np.flatnonzero(model.jnt_type == int(mujoco.mjtJoint.mjJNT_FREE))
        collides = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
        radii = np.where(collides, inner_radii(model), 0.0)
        size = np.zeros(model.nbody)
        np.maximum.at(size, model.body_rootid[model.geom_bodyid], 2.0 * radii)
        bodies = model.jnt_bodyid[joints]
        solid = size[bodies] > 0.0
        self._bodies = bodies[solid]
        self._sizes = size[self._bodies]
        self._dofs = model.jnt_dofadr[joints[solid], None] + np.arange(3)
        self._next = 0.0 if len(self._bodies) else np.inf

    def look_at_fall(self) -> None:
        """Warn if a body that was at rest falls by more than its size in a step."""
        model = self._model
        collides = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
        if len(np.unique(model.body_rootid[model.geom_bodyid[collides]])) < 2:
            return  # nothing to fall on
        held = model.flg_gravcomp * model.body_gravcomp[self._bodies]
        weight = (1.0 - held) * np.linalg.norm(model.opt.gravity)
        self._warn("falls", self._step**2 * np.abs(weight), "Use a smaller time_step.")

    def look(self, time: float, qvel: np.ndarray) -> bool:
        """Warn if a body moves by more than its size in a step; whether to look again.

        Parameters
        ----------
        time : float
            [s]
        qvel : ndarray, shape (nv,)
        """
        if time < self._next:
            return True
        self._next = time + _STEPS * self._step
        motion = self._step * np.sqrt(np.sum(qvel[self._dofs] ** 2, axis=1))
        return not self._warn(
            "moves",
            motion,
            "Use a smaller time_step, or an integrator that looks ahead, such as Icf or Cenic.",
        )

    def _warn(self, does: str, motion: np.ndarray, remedy: str) -> bool:
        """Warn if a body's motion [m], shape (bodies,), is more than its size."""
        excess = motion - self._sizes
        fast = int(np.argmax(excess)) if len(excess) else 0
        if not len(excess) or excess[fast] <= 0.0:
            return False
        name = element(self._model, mujoco.mjtObj.mjOBJ_BODY, self._bodies[fast])
        warn_user(
            f"{name} {does} by {motion[fast]:.2g} m in a step of {self._step:g} s, more than its "
            f"size of {self._sizes[fast]:.2g} m: what it meets between two steps is not seen. "
            f"{remedy}"
        )
        return True
