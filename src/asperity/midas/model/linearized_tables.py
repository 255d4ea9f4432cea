"""What acts on linearized coordinates, behind that of joints and fixed tendons in their tables."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.midas.model.joint_numbers import scalar_links
from asperity.midas.model.linearized import DOF, LIMIT, TENDON, LinearizedCoordinates
from asperity.midas.model.links import Link
from asperity.midas.model.motors import motor_actuators
from asperity.midas.model.tendons import coordinate_of_tendon, fixed_tendons
from asperity.plant.model.joints import is_disabled

__all__ = ["add_actuators", "linearized_tables", "motor_coordinates", "motor_gears"]

_FLAG = mujoco.mjtDisableBit
_TRN = mujoco.mjtTrn


# Square of the frequency of a mass on a tendon at its limit [1/s²]: its weight stretches it by a
# tenth of a micrometre. A barrier could be passed, since the length is linear over a step only.
_TAUT = 1e8


def linearized_tables(
    model: mujoco.MjModel, linearized: LinearizedCoordinates, joints: dict[str, Any]
) -> dict[str, NDArray[np.generic]]:
    """The joint tables, with the entries of linearized coordinates behind the others."""
    count = len(linearized.sources)
    added: dict[str, Any] = {
        "reference": np.zeros(count),
        "limit": np.tile([-np.inf, np.inf], (count, 1)),
        "activation": np.ones(count),
        "barrier": np.zeros(count),
        "spring": np.zeros((count, 2)),
        "stiffness": np.zeros(count),
        "damping": np.zeros(count),
        "armature": np.zeros(count),
        "friction": np.zeros(count),
    }
    springs = not is_disabled(model, _FLAG.mjDSBL_SPRING)
    dampers = not is_disabled(model, _FLAG.mjDSBL_DAMPER)
    friction = not is_disabled(model, _FLAG.mjDSBL_FRICTIONLOSS | _FLAG.mjDSBL_CONSTRAINT)
    for k, source in enumerate(linearized.sources):
        i = source.index
        if source.kind == TENDON:
            added["spring"][k] = model.tendon_lengthspring[i]
            added["stiffness"][k] = springs * float(np.ravel(model.tendon_stiffness[i])[0])
            added["damping"][k] = dampers * float(np.ravel(model.tendon_damping[i])[0])
            added["armature"][k] = model.tendon_armature[i]
            added["friction"][k] = friction * model.tendon_frictionloss[i]
        elif source.kind == LIMIT:
            added["spring"][k] = model.tendon_range[i]
            added["stiffness"][k] = _TAUT / max(float(model.tendon_invweight0[i]), 1e-9)
        elif source.kind == DOF:
            added["armature"][k] = model.dof_armature[i]
            added["friction"][k] = friction * model.dof_frictionloss[i]
    tables = dict(joints)
    for name, values in added.items():
        tables[name] = np.ascontiguousarray(np.concatenate([joints[name], values]))
    return tables


def motor_coordinates(
    model: mujoco.MjModel, links: list[Link], linearized: LinearizedCoordinates
) -> NDArray[np.int64]:
    """The coordinate that every motor pulls along."""
    number = {links[i].joint: k for k, i in enumerate(scalar_links(links))}
    fixed = fixed_tendons(model)
    owner = motor_actuators(model)
    out = np.zeros(len(owner), np.int64)
    for motor, i in enumerate(owner):
        target, kind = int(model.actuator_trnid[i, 0]), int(model.actuator_trntype[i])
        if kind == int(_TRN.mjTRN_TENDON) and target in fixed:
            out[motor] = coordinate_of_tendon(model, links, target)
        elif kind in (int(_TRN.mjTRN_JOINT), int(_TRN.mjTRN_JOINTINPARENT)) and target in number:
            out[motor] = number[target]
        else:
            out[motor] = linearized.of_motor(motor)
    return out


def motor_gears(
    model: mujoco.MjModel, linearized: LinearizedCoordinates, coordinates: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Length of every motor per length of its coordinate, shape (nout,).

    The coordinate of one that has its own is its length.
    """
    own = coordinates >= linearized.first
    return np.where(own, 1.0, np.ravel(model.actuator_gear[:, 0])[: len(coordinates)])


def add_actuators(
    model: mujoco.MjModel,
    joints: dict[str, Any],
    coordinates: NDArray[np.int64],
    gears: NDArray[np.float64],
) -> None:
    """Add inertia and damping of actuators to those of their coordinates."""
    damped = not is_disabled(model, _FLAG.mjDSBL_DAMPER)
    for motor, i in enumerate(motor_actuators(model)):
        coordinate, square = coordinates[motor], gears[motor] ** 2
        joints["armature"][coordinate] += square * model.actuator_armature[i]
        joints["damping"][coordinate] += (
            damped * square * float(np.ravel(model.actuator_damping[i])[0])
        )
