"""Tables of a model's joints: springs, dampers, limits and dry friction."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from asperity.compiled import Table
from asperity.contact.constraint_set import NO_LIMIT
from asperity.plant.model.limits import joint_ranges
from asperity.plant.model.model_view import bare, remembered
from asperity.plant.model.own_texts import velocity_limits

__all__ = ["JOINT_DOFS", "JOINT_KINDS", "integers", "is_disabled", "set_joints"]

JOINT_DOFS = {int(mujoco.mjtJoint.mjJNT_FREE): 6, int(mujoco.mjtJoint.mjJNT_BALL): 3}
"""Degrees of freedom of joints that have more than one, by type."""

JOINT_KINDS = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))
"""Transmissions to joints."""

_FLAG = mujoco.mjtDisableBit

# Limits beyond this [m or rad] stand for none.
_FARTHEST_LIMIT = 1e10


def integers(array: ArrayLike) -> np.ndarray:
    """A contiguous copy for compiled code."""
    return np.ascontiguousarray(array, dtype=np.int64).reshape(np.shape(array))


@remembered
def set_joints(table: Table, model: mujoco.MjModel) -> None:
    """Fill the tables of springs, dampers, limits and dry friction of joints."""
    table.dofs.damping = np.array(model.dof_damping, dtype=np.float64)
    if is_disabled(model, _FLAG.mjDSBL_DAMPER):
        table.dofs.damping[:] = 0.0
    stiffness = np.zeros(model.nv)
    springs = 0 if is_disabled(model, _FLAG.mjDSBL_SPRING) else model.njnt
    for joint in range(springs):
        dof = model.jnt_dofadr[joint]
        count = JOINT_DOFS.get(int(model.jnt_type[joint]), 1)
        stiffness[dof : dof + count] = model.jnt_stiffness[joint]
    table.dofs.stiffness = stiffness
    table.dofs.inverse_weight = np.array(model.dof_invweight0, dtype=np.float64)
    table.joints.type = integers(model.jnt_type)
    table.joints.dof = integers(model.jnt_dofadr)
    _set_limits(table, model)
    friction = np.flatnonzero(model.dof_frictionloss > 0)
    if is_disabled(model, _FLAG.mjDSBL_FRICTIONLOSS | _FLAG.mjDSBL_CONSTRAINT):
        friction = friction[:0]
    table.joints.friction_dof = integers(friction)
    table.joints.friction_force = np.array(model.dof_frictionloss[friction], dtype=np.float64)
    table.joints.equality_dof = integers([_held_dof(model, one) for one in range(model.neq)])


def _held_dof(model: mujoco.MjModel, equality: int) -> int:
    """A degree of freedom that an equality holds, −1 if there is none."""
    kind, equalities = int(model.eq_type[equality]), mujoco.mjtEq
    objects = model.eq_obj1id[equality], model.eq_obj2id[equality]
    if kind == int(equalities.mjEQ_JOINT):
        return int(model.jnt_dofadr[objects[0]])
    if kind == int(equalities.mjEQ_TENDON):
        return int(model.ten_J_colind[model.ten_J_rowadr[objects[0]]])
    if kind not in (int(equalities.mjEQ_CONNECT), int(equalities.mjEQ_WELD)):
        return -1
    for body in objects:
        if int(model.eq_objtype[equality]) == int(mujoco.mjtObj.mjOBJ_SITE):
            body = model.site_bodyid[body]
        moving = int(model.body_weldid[body])
        if model.body_dofnum[moving] > 0:
            return int(model.body_dofadr[moving])
    return -1


def is_disabled(model: mujoco.MjModel, flags: int) -> bool:
    """Whether any of these is disabled by the model's option flags."""
    return bool(model.opt.disableflags & int(flags))


def _set_limits(table: Table, model: mujoco.MjModel) -> None:
    limited = model.jnt_limited.astype(bool)
    off = is_disabled(model, _FLAG.mjDSBL_LIMIT | _FLAG.mjDSBL_CONSTRAINT)
    if off:
        limited[:] = False
    limited &= (model.jnt_type == int(mujoco.mjtJoint.mjJNT_BALL)) | np.any(
        np.abs(model.jnt_range) <= _FARTHEST_LIMIT, axis=1
    )
    speed = velocity_limits(bare(model))
    slow = np.isfinite(speed) & (not off)
    joint = np.flatnonzero((limited | slow) & (model.jnt_type >= int(mujoco.mjtJoint.mjJNT_SLIDE)))
    table.joints.limit_dof = integers(model.jnt_dofadr[joint])
    table.joints.limit_qpos = integers(model.jnt_qposadr[joint])
    ranges = joint_ranges(model)
    ends = ranges[joint]
    ends[~limited[joint]] = [-NO_LIMIT, NO_LIMIT]
    table.joints.limit_range = ends
    table.joints.limit_speed = speed[joint]
    table.joints.limit_source = integers(-1 - joint)
    ball = np.flatnonzero(limited & (model.jnt_type == int(mujoco.mjtJoint.mjJNT_BALL)))
    table.joints.ball_dof = integers(model.jnt_dofadr[ball])
    table.joints.ball_qpos = integers(model.jnt_qposadr[ball])
    table.joints.ball_range = ranges[ball, 1]
    table.joints.ball_source = integers(-1 - ball)
