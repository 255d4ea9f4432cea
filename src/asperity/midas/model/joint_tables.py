"""Springs, dampers, limits and motors of hinges and slides from a MuJoCo model."""

from __future__ import annotations

from collections.abc import Container

import mujoco
import numpy as np

from asperity.compiled import Table
from asperity.midas.engine_layout import HINGE, SLIDE
from asperity.midas.model.joint_numbers import scalar_links
from asperity.midas.model.links import Link, joint_axes
from asperity.midas.model.motors import motor_actuators
from asperity.midas.time.activations import activation_tables
from asperity.plant.model.joints import is_disabled
from asperity.plant.model.servos import is_switched_off

__all__ = ["joint_tables", "motor_feed", "motor_tables"]

_FLAG = mujoco.mjtDisableBit

# Distance from a limit at which its barrier begins, in rad and in m, and as a part of the range.
_ACTIVATION = {HINGE: 1e-2, SLIDE: 1e-3}
_RANGE_SHARE = 1e-2
# What may limit the forces of all its actuators, by transmission.
_LIMITED = {
    int(mujoco.mjtTrn.mjTRN_JOINT): "jnt",
    int(mujoco.mjtTrn.mjTRN_JOINTINPARENT): "jnt",
    int(mujoco.mjtTrn.mjTRN_TENDON): "tendon",
}
# Force or torque [N or N m] that halves that distance, at least.
_LEAST_FORCE = 1.0


def joint_tables(
    model: mujoco.MjModel, links: list[Link], unlimited: Container[int]
) -> dict[str, np.ndarray]:
    """Fields of `JOINTS` for joints; limits of some joints do not count."""
    own = scalar_links(links)
    count = len(own)
    joints = [links[i].joint for i in own]
    kinds = [links[i].kind for i in own]
    qpos = np.array([model.jnt_qposadr[j] for j in joints], dtype=np.int64)
    dof = [int(model.jnt_dofadr[j]) for j in joints]
    reference = np.array([model.qpos0[a] for a in qpos], dtype=np.float64)
    limit = np.tile([-np.inf, np.inf], (count, 1))
    activation = np.ones(count)
    barrier = np.zeros(count)
    off = is_disabled(model, _FLAG.mjDSBL_LIMIT | _FLAG.mjDSBL_CONSTRAINT)
    weight = 9.81 * float(model.body_subtreemass[0])
    for k, joint in enumerate(joints):
        if not model.jnt_limited[joint] or off or joint in unlimited:
            continue
        limit[k] = model.jnt_range[joint] - reference[k]
        activation[k] = min(_ACTIVATION[kinds[k]], _RANGE_SHARE * float(np.ptp(limit[k])))
        # A slide may have to carry the weight of everything, a hinge that at a metre's distance.
        barrier[k] = max(weight, _LEAST_FORCE)
    frames = np.zeros((count, 3, 3))
    for k, i in enumerate(own):
        one, other = joint_axes(links[i])
        frames[k] = [one, links[i].turn @ one, links[i].turn @ other]
    springs_off = is_disabled(model, _FLAG.mjDSBL_SPRING)
    dampers_off = is_disabled(model, _FLAG.mjDSBL_DAMPER)
    friction_off = is_disabled(model, _FLAG.mjDSBL_FRICTIONLOSS | _FLAG.mjDSBL_CONSTRAINT)
    spring = np.array([model.qpos_spring[a] for a in qpos], dtype=np.float64) - reference

    def per_joint(values: np.ndarray, of: list[int], off: bool = False) -> np.ndarray:
        return np.array([0.0 if off else np.ravel(values[i])[0] for i in of], dtype=np.float64)

    return {
        "link": np.array(own, dtype=np.int64),
        "qpos": qpos,
        "dof": np.array(dof, dtype=np.int64),
        "reference": reference,
        "frame": frames,
        "stiffness": per_joint(model.jnt_stiffness, joints, springs_off),
        "spring": np.column_stack([spring, spring]),
        "damping": per_joint(model.dof_damping, dof, dampers_off),
        "armature": per_joint(model.dof_armature, dof),
        "friction": per_joint(model.dof_frictionloss, dof, friction_off),
        "limit": limit,
        "activation": activation,
        "barrier": barrier,
    }


def motor_tables(
    model: mujoco.MjModel, coordinates: np.ndarray, gears: np.ndarray
) -> dict[str, np.ndarray]:
    """Fields of `MOTORS`.

    An actuator of MuJoCo pulls its coordinate with ``gear · clamp(gain · ctrl + bias)``, the bias
    affine in length and velocity.
    """
    owner = motor_actuators(model)
    count = len(owner)
    position, velocity, limit = (
        np.zeros(count),
        np.zeros(count),
        np.tile([-np.inf, np.inf], (count, 1)),
    )
    for motor, i in enumerate(owner):
        target = int(model.actuator_trnid[i, 0])
        if is_switched_off(model, i):
            limit[motor] = 0.0
            continue
        gear = float(gears[motor])
        if model.actuator_biastype[i] == mujoco.mjtBias.mjBIAS_AFFINE:
            position[motor] = gear**2 * model.actuator_biasprm[i, 1]
            velocity[motor] = gear**2 * model.actuator_biasprm[i, 2]
        ends = [-np.inf, np.inf]
        if model.actuator_forcelimited[i]:
            ends = sorted(gear * model.actuator_forcerange[i])
        kind = _LIMITED.get(int(model.actuator_trntype[i]))
        if kind is not None and getattr(model, f"{kind}_actfrclimited")[target]:
            # The range is of the force on the joint or tendon, by a gear that is in the length of
            # what has a coordinate of its own.
            ratio = float(model.actuator_gear[motor, 0]) / gear if gear else 0.0
            if ratio != 0.0:
                least, most = sorted(getattr(model, f"{kind}_actfrcrange")[target] / ratio)
                ends = [max(ends[0], least), min(ends[1], most)]
        limit[motor] = ends
    zero = np.zeros(count)
    return {
        "joint": coordinates,
        **activation_tables(model, gears),
        "feed": zero.copy(),
        "position": position,
        "velocity": velocity,
        "limit": np.ascontiguousarray(limit),
        "constant": zero.copy(),
        "stiffness": zero.copy(),
        "force": zero.copy(),
    }


def motor_feed(model: mujoco.MjModel, data: mujoco.MjData, gears: np.ndarray, table: Table) -> None:
    """Bring the part of the motors' forces that controls set up to date."""
    motors = table.motors
    owner = motor_actuators(model)
    if not len(owner):
        return
    control = np.array(data.ctrl)
    if not model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_CLAMPCTRL:
        limited = model.actuator_ctrllimited.astype(bool)
        clamped = np.clip(control, model.actuator_ctrlrange[:, 0], model.actuator_ctrlrange[:, 1])
        control = np.where(limited, clamped, control)
    affine = model.actuator_biastype[owner] == mujoco.mjtBias.mjBIAS_AFFINE
    bias = np.where(affine, model.actuator_biasprm[owner, 0], 0.0)
    # The length that MuJoCo's bias sees is that of qpos, not of the angle from the reference.
    reference = motors.position * table.joints.reference[motors.joint]
    motors.bias[:] = gears * bias + reference
    # Actuators without a control have no inputs at all.
    inputs = np.append(control, 0.0)
    address = np.where(model.actuator_ctrlnum > 0, model.actuator_ctrladr, len(control))
    motors.control[:] = inputs[address[owner]]
    motors.feed[:] = motors.bias + motors.gain * motors.control
