"""Slides of one body that can move against each other while nothing moves or resists."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.errors import ModelError
from asperity.plant.model.armature import armature_of_dofs
from asperity.plant.model.model_view import remembered
from asperity.plant.model.names import element

__all__ = ["check_slides"]


@remembered
def check_slides(model: mujoco.MjModel, resists: NDArray[np.bool_] | None = None) -> None:
    """Refuse slides whose joint motion has no inertia.

    Parameters
    ----------
    model : mujoco.MjModel
    resists : ndarray of bool, shape (nv,), optional
        Degrees of freedom that something holds besides armatures, dampers, springs and servos: by
        default what has dry friction.

    Raises
    ------
    ModelError
        Naming the first joint that is one too many.
    """
    held = model.dof_frictionloss > 0.0 if resists is None else resists
    held = held | (armature_of_dofs(model) + model.dof_damping > 0.0)
    held[model.jnt_dofadr] |= model.jnt_stiffness > 0.0
    for i in np.flatnonzero(model.actuator_biastype != int(mujoco.mjtBias.mjBIAS_NONE)):
        if model.actuator_trntype[i] == int(mujoco.mjtTrn.mjTRN_JOINT):
            held[model.jnt_dofadr[model.actuator_trnid[i, 0]]] = True
    for body in np.flatnonzero(model.body_jntnum > 1):
        first = model.body_jntadr[body]
        joints = np.arange(first, first + model.body_jntnum[body])
        kinds = model.jnt_type[joints]
        # What is between slides may turn them against each other.
        if np.any(kinds != int(mujoco.mjtJoint.mjJNT_SLIDE)):
            continue
        slides = joints[~held[model.jnt_dofadr[joints]]]
        if np.linalg.matrix_rank(model.jnt_axis[slides], tol=1e-6) == len(slides):
            continue
        others = ", ".join(f"'{model.joint(joint).name or joint}'" for joint in slides[:-1])
        raise ModelError(
            f"{element(model, mujoco.mjtObj.mjOBJ_JOINT, int(slides[-1]))} moves its body in a "
            f"direction in which {others} can move it, too, so their motions are not determined; "
            "remove one of them, or give it an armature, a damper or a spring."
        )
