"""Armature: inertia that turns with a joint, or moves with a tendon, and is no body's."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

__all__ = ["armature_of_dofs", "armature_of_tendons"]

Floats = NDArray[np.float64]

_TRN = mujoco.mjtTrn
_JOINT_KINDS = [int(_TRN.mjTRN_JOINT), int(_TRN.mjTRN_JOINTINPARENT)]


def armature_of_dofs(model: mujoco.MjModel) -> Floats:
    """Armature of joints with that of their actuators, shape (nv,) [kg or kg m²]."""
    added = _of_actuators(model, _JOINT_KINDS, model.jnt_actuatorid)
    return np.asarray(model.dof_armature + added[model.dof_jntid])


def armature_of_tendons(model: mujoco.MjModel) -> Floats:
    """Armature of tendons with that of their actuators, shape (ntendon,) [kg]."""
    kinds = [int(_TRN.mjTRN_TENDON)]
    return np.asarray(model.tendon_armature + _of_actuators(model, kinds, model.tendon_actuatorid))


def _of_actuators(model: mujoco.MjModel, kinds: list[int], known: NDArray[np.int32]) -> Floats:
    """Armature by joint or tendon; MuJoCo reads none where ``known`` has no actuator."""
    added = np.zeros(len(known))
    some = np.isin(model.actuator_trntype, kinds) & (model.actuator_armature != 0.0)
    for i in np.flatnonzero(some):
        gear = model.actuator_gear[model.actuator_outadr[i], 0]
        added[model.actuator_trnid[i, 0]] += gear * gear * model.actuator_armature[i]
    return np.where(known == -1, 0.0, added)
