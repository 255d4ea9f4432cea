"""What actuators add to joints and tendons through their gears: armature and damping.

Armature is inertia that turns with a joint, or moves with a tendon, and is no body's.
"""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.plant.model.joints import JOINT_KINDS
from asperity.plant.model.model_view import remembered

__all__ = ["armature_of_dofs", "armature_of_tendons", "through_gears"]

Floats = NDArray[np.float64]

_TENDON_KINDS = (int(mujoco.mjtTrn.mjTRN_TENDON),)


@remembered
def armature_of_dofs(model: mujoco.MjModel) -> Floats:
    """Armature of joints with that of their actuators, shape (nv,) [kg or kg m²]."""
    added = _of_actuators(model, JOINT_KINDS, model.jnt_actuatorid)
    return np.asarray(model.dof_armature + added[model.dof_jntid])


@remembered
def armature_of_tendons(model: mujoco.MjModel) -> Floats:
    """Armature of tendons with that of their actuators, shape (ntendon,) [kg]."""
    added = _of_actuators(model, _TENDON_KINDS, model.tendon_actuatorid)
    return np.asarray(model.tendon_armature + added)


def through_gears(
    model: mujoco.MjModel, kinds: tuple[int, ...], numbers: Floats, count: int
) -> Floats:
    """Sums of actuators' numbers times their gears' squares, by joint or tendon, shape (count, n).

    ``kinds`` are the transmissions that count, and ``numbers`` has the shape (nactuator, n).
    """
    added = np.zeros((count, numbers.shape[1]))
    some = np.isin(model.actuator_trntype, kinds) & np.any(numbers, axis=1)
    for i in np.flatnonzero(some):
        gear = model.actuator_gear[model.actuator_outadr[i], 0]
        added[model.actuator_trnid[i, 0]] += gear * gear * numbers[i]
    return added


def _of_actuators(
    model: mujoco.MjModel, kinds: tuple[int, ...], known: NDArray[np.int32]
) -> Floats:
    """Armature by joint or tendon; MuJoCo reads none where ``known`` has no actuator."""
    own = np.reshape(model.actuator_armature, (-1, 1))
    return np.where(known == -1, 0.0, through_gears(model, kinds, own, len(known))[:, 0])
