"""Tables of a model's actuators: which are linear servos, their gains and limits, activations."""

from __future__ import annotations

from collections.abc import Collection

import mujoco
import numpy as np

from asperity.compiled import Table
from asperity.plant.model.joints import JOINT_DOFS, integers, is_disabled

__all__ = ["force_limits", "is_switched_off", "joint_of", "set_activations", "set_servos"]

_EXACT_FILTER = 1
# Groups that MuJoCo can disable; actuators of others always act.
_GROUPS = 31
_NO_LIMIT = 1e300


def set_servos(table: Table, model: mujoco.MjModel, commanded: Collection[int] = ()) -> None:
    """Fill the tables of servos and of the forces that joints let actuators exert.

    Actuators that external systems command exert no force of their own.
    """
    outputs = int(model.actuator_outnum.sum()) if model.nu > 0 else 0
    free = [i for i in range(len(model.actuator_gaintype)) if i not in commanded]
    servos = [i for i in free if _is_servo(model, i)]
    explicit = np.ones(outputs, np.int64)
    for i in commanded:
        explicit[model.actuator_outadr[i]] = 0
    ctrl_range = np.full((len(servos), 2), [-_NO_LIMIT, _NO_LIMIT])
    limits = np.full((len(servos), 2), [-_NO_LIMIT, _NO_LIMIT])
    activation = np.full(len(servos), -1, np.int64)
    for k, i in enumerate(servos):
        explicit[model.actuator_outadr[i]] = 0
        control = model.actuator_ctrladr[i]
        if model.actuator_ctrllimited[control] and not _clamp_disabled(model):
            ctrl_range[k] = model.actuator_ctrlrange[control]
        limits[k] = force_limits(model, i)
        if model.actuator_actnum[i] > 0:
            activation[k] = model.actuator_actadr[i]
    table.actuators.servo_output = integers(model.actuator_outadr[servos])
    table.actuators.servo_ctrl = integers(model.actuator_ctrladr[servos])
    table.actuators.servo_ctrl_range = ctrl_range
    table.actuators.servo_activation = activation
    table.actuators.servo_gain = np.ascontiguousarray(model.actuator_gainprm[servos, :3])
    for k, i in enumerate(servos):
        if model.actuator_gaintype[i] == mujoco.mjtGain.mjGAIN_FIXED:
            table.actuators.servo_gain[k, 1:] = 0.0
    table.actuators.servo_bias = np.ascontiguousarray(model.actuator_biasprm[servos, :3])
    table.actuators.servo_bias[
        model.actuator_biastype[servos] == int(mujoco.mjtBias.mjBIAS_NONE)
    ] = 0.0
    table.actuators.servo_range = limits
    table.actuators.output_explicit = explicit
    table.actuators.all_explicit = int(np.all(explicit))
    dof_range = np.full((model.nv, 2), [-_NO_LIMIT, _NO_LIMIT])
    gravcomp = np.zeros(model.nv, np.int64)
    for joint in range(model.njnt):
        dof = model.jnt_dofadr[joint]
        count = JOINT_DOFS.get(int(model.jnt_type[joint]), 1)
        gravcomp[dof : dof + count] = model.jnt_actgravcomp[joint]
        if model.jnt_actfrclimited[joint] and count == 1:
            dof_range[dof] = model.jnt_actfrcrange[joint]
    table.actuators.dof_actuator_range = dof_range
    table.actuators.dof_actuator_gravcomp = gravcomp


def force_limits(model: mujoco.MjModel, i: int) -> tuple[float, float]:
    """Least and largest force of an actuator [N, Nm], by its own range and by its joint's."""
    low, high = -_NO_LIMIT, _NO_LIMIT
    if model.actuator_forcelimited[i]:
        low, high = model.actuator_forcerange[i]
    joint = _limited_joint(model, i)
    gear = model.actuator_gear[model.actuator_outadr[i], 0]
    if joint >= 0 and gear != 0:
        bounds = np.sort(model.jnt_actfrcrange[joint] / gear)
        low, high = max(low, bounds[0]), min(high, bounds[1])
    return float(low), float(high)


def set_activations(table: Table, model: mujoco.MjModel) -> None:
    """Fill the tables of activation dynamics."""
    kind = np.zeros(model.na, np.int64)
    constant = np.ones(model.na)
    limits = np.full((model.na, 2), [-_NO_LIMIT, _NO_LIMIT])
    for i in range(len(model.actuator_gaintype)):
        count = model.actuator_actnum[i]
        if count <= 0:
            continue
        address = slice(model.actuator_actadr[i], model.actuator_actadr[i] + count)
        if model.actuator_dyntype[i] == mujoco.mjtDyn.mjDYN_FILTEREXACT:
            kind[address] = _EXACT_FILTER
            constant[address] = max(model.actuator_dynprm[i, 0], 1e-10)
        if model.actuator_actlimited[i]:
            limits[address] = model.actuator_actrange[i]
    table.actuators.act_kind = kind
    table.actuators.act_time_constant = constant
    table.actuators.act_range = limits


def _clamp_disabled(model: mujoco.MjModel) -> bool:
    flag = mujoco.mjtDisableBit.mjDSBL_CLAMPCTRL
    return bool(model.opt.disableflags & flag)


def is_switched_off(model: mujoco.MjModel, i: int) -> bool:
    """Whether an option of the model disables an actuator, alone or with its group."""
    group = int(model.actuator_group[i])
    return is_disabled(model, mujoco.mjtDisableBit.mjDSBL_ACTUATION) or bool(
        0 <= group < _GROUPS and model.opt.disableactuator & (1 << group)
    )


def _is_servo(model: mujoco.MjModel, i: int) -> bool:
    """Whether an actuator is linear feedback that an implicit row can represent."""
    bias = int(model.actuator_biastype[i])
    gain = int(model.actuator_gaintype[i])
    if gain not in (mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtGain.mjGAIN_AFFINE):
        return False
    if bias not in (mujoco.mjtBias.mjBIAS_NONE, mujoco.mjtBias.mjBIAS_AFFINE):
        return False
    if model.actuator_ctrlnum[i] != 1 or model.actuator_outnum[i] != 1:
        return False
    if model.actuator_actearly[i] or model.actuator_actnum[i] > 1:
        return False
    if is_switched_off(model, i):
        return False
    feedback = model.actuator_biasprm[i, 1:3] if bias else np.zeros(2)
    affine = model.actuator_gainprm[i, 1:3] if gain else np.zeros(2)
    if not (np.any(feedback) or np.any(affine)):
        return False
    joint = joint_of(model, i)
    # Transmissions with three outputs measure setpoints on the circle; sites have no length.
    if joint < 0 and model.actuator_trntype[i] != mujoco.mjtTrn.mjTRN_TENDON:
        return False
    if joint >= 0 and model.jnt_actfrclimited[joint]:
        # The joint's limit moves into the row, which must then be the joint's only actuator.
        others = [j for j in range(len(model.actuator_gaintype)) if joint_of(model, j) == joint]
        return len(others) == 1 and model.actuator_gear[model.actuator_outadr[i], 0] != 0
    return True


def joint_of(model: mujoco.MjModel, i: int) -> int:
    """The one-dof joint on which an actuator acts, or −1."""
    joint_kinds = (mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtTrn.mjTRN_JOINTINPARENT)
    if int(model.actuator_trntype[i]) not in joint_kinds:
        return -1
    joint = int(model.actuator_trnid[i, 0])
    kind = int(model.jnt_type[joint])
    return joint if kind >= int(mujoco.mjtJoint.mjJNT_SLIDE) else -1


def _limited_joint(model: mujoco.MjModel, i: int) -> int:
    joint = joint_of(model, i)
    return joint if joint >= 0 and model.jnt_actfrclimited[joint] else -1
