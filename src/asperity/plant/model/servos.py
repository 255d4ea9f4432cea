"""Tables of a model's actuators: which are linear servos, their gains and limits, activations."""

from __future__ import annotations

import mujoco
import numpy as np

from asperity.compiled import Table
from asperity.plant.model.joints import JOINT_DOFS, JOINT_KINDS, integers, is_disabled
from asperity.plant.model.model_view import remembered
from asperity.plant.model.names import kinds
from asperity.plant.muscles import muscle_parameters

__all__ = [
    "asks_mujoco",
    "force_limits",
    "is_asked",
    "is_switched_off",
    "joint_of",
    "limited_by_mujoco",
    "reached_dofs",
    "set_activations",
    "set_servos",
]

_EXACT_FILTER, _BY_SLOPE, _SLEWS, _MUSCLE = 1, 2, 3, 4
_FILTERS = (int(mujoco.mjtDyn.mjDYN_FILTER), int(mujoco.mjtDyn.mjDYN_FILTEREXACT))
_PID, _DC = int(mujoco.mjtGain.mjGAIN_PID), int(mujoco.mjtGain.mjGAIN_DCMOTOR)
# Where their dynprm have the fastest change of a set-point, and the largest integral of its error.
_SLEW_AT, _WINDUP_AT = {_PID: 1, _DC: 7}, {_PID: 0, _DC: 8}
# And where gainprm has the gain of that.
_INTEGRAL_AT = {_PID: 0, _DC: 5}
# Groups that MuJoCo can disable; actuators of others always act.
_GROUPS = 31
_NO_LIMIT = 1e300


@remembered
def set_servos(
    table: Table, model: mujoco.MjModel, commanded: frozenset[int] = frozenset()
) -> None:
    """Fill the tables of servos and of the forces that joints let actuators exert.

    Actuators that external systems command exert no force of their own.
    """
    outputs = int(model.actuator_outnum.sum())
    free = [i for i in range(len(model.actuator_gaintype)) if i not in commanded]
    servos = [i for i in free if _is_servo(model, i)]
    explicit = np.ones(outputs, np.int64)
    for i in commanded:
        explicit[model.actuator_outadr[i]] = 0
    ctrl_range = np.full((len(servos), 2), [-_NO_LIMIT, _NO_LIMIT])
    limits = np.full((len(servos), 2), [-_NO_LIMIT, _NO_LIMIT])
    joint_limits = np.full((len(servos), 2), [-_NO_LIMIT, _NO_LIMIT])
    limited = np.full(len(servos), -1, np.int64)
    activation = np.full(len(servos), -1, np.int64)
    for k, i in enumerate(servos):
        explicit[model.actuator_outadr[i]] = 0
        if not is_asked(model, i):
            ctrl_range[k] = _control_range(model, i)
        limits[k] = _own_limits(model, i)
        joint = _limited_joint(model, i)
        if joint >= 0:
            limited[k] = model.jnt_dofadr[joint]
            joint_limits[k] = model.jnt_actfrcrange[joint]
        if model.actuator_actnum[i] > 0:
            activation[k] = model.actuator_actadr[i]
    table.actuators.servo_output = integers(model.actuator_outadr[servos])
    table.actuators.servo_ctrl = integers(model.actuator_ctrladr[servos])
    table.actuators.servo_ctrl_range = ctrl_range
    table.actuators.servo_activation = activation
    table.actuators.servo_period = np.array([_period(model, i) for i in servos])
    table.actuators.servo_gain = np.ascontiguousarray(model.actuator_gainprm[servos, :3])
    for k, i in enumerate(servos):
        if model.actuator_gaintype[i] == mujoco.mjtGain.mjGAIN_FIXED:
            table.actuators.servo_gain[k, 1:] = 0.0
    table.actuators.servo_bias = np.ascontiguousarray(model.actuator_biasprm[servos, :3])
    table.actuators.servo_bias[
        model.actuator_biastype[servos] == int(mujoco.mjtBias.mjBIAS_NONE)
    ] = 0.0
    lengthless = np.array([not _has_length(model, i) for i in servos], bool)
    table.actuators.servo_gain[lengthless, 1] = table.actuators.servo_bias[lengthless, 1] = 0.0
    table.actuators.servo_range = limits
    table.actuators.servo_limited = limited
    table.actuators.servo_joint_range = joint_limits
    table.actuators.servo_asked = np.array([is_asked(model, i) for i in servos], np.int64)
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
    # Rows see to the others.
    dof_range[limited[limited >= 0]] = [-_NO_LIMIT, _NO_LIMIT]
    table.actuators.dof_actuator_range = dof_range
    table.actuators.dof_actuator_gravcomp = gravcomp


def force_limits(model: mujoco.MjModel, i: int) -> tuple[float, float]:
    """Least and largest force of an actuator [N, Nm], by its own range and by its joint's."""
    low, high = _own_limits(model, i)
    joint = _limited_joint(model, i)
    gear = model.actuator_gear[model.actuator_outadr[i], 0]
    if joint >= 0 and gear != 0:
        bounds = np.sort(model.jnt_actfrcrange[joint] / gear)
        low, high = max(low, bounds[0]), min(high, bounds[1])
    return float(low), float(high)


def _own_limits(model: mujoco.MjModel, i: int) -> tuple[float, float]:
    # Friction and cogging of a DC motor add to what its limit is for, which MuJoCo sees to.
    if model.actuator_forcelimited[i] and model.actuator_gaintype[i] != _DC:
        low, high = model.actuator_forcerange[i]
        return float(low), float(high)
    return -_NO_LIMIT, _NO_LIMIT


def is_asked(model: mujoco.MjModel, i: int) -> bool:
    """Whether MuJoCo is asked about an actuator: a PID controller, a DC motor, a delayed control.

    All others' rows are known from their controls.
    """
    return _has_inner_states(model, i) or bool(model.actuator_delay[i] > 0.0)


def _has_inner_states(model: mujoco.MjModel, i: int) -> bool:
    return int(model.actuator_gaintype[i]) in (_PID, _DC)


@remembered
def asks_mujoco(model: mujoco.MjModel) -> bool:
    """Whether there is any."""
    return any(is_asked(model, i) for i in range(model.nactuator))


def limited_by_mujoco(model: mujoco.MjModel, table: Table) -> np.ndarray:
    """Whether MuJoCo limits the force of an actuator that it is asked for, and not its row."""
    limited = np.array(model.actuator_forcelimited, dtype=np.bool_)
    rows = np.isin(model.actuator_outadr, table.actuators.servo_output)
    return limited & ~(rows & (model.actuator_gaintype != _DC))


@remembered
def set_activations(table: Table, model: mujoco.MjModel) -> None:
    """Fill the tables of activation dynamics."""
    kind = np.zeros(model.na, np.int64)
    number = np.full(model.na, -1, np.int64)
    output = np.full(model.na, -1, np.int64)
    inputs = np.zeros((model.na, 3), np.int64)
    constant = np.ones(model.na)
    limits = np.full((model.na, 2), [-_NO_LIMIT, _NO_LIMIT])
    muscles = muscle_parameters(model)
    for i in range(len(model.actuator_gaintype)):
        count = model.actuator_actnum[i]
        if count <= 0:
            continue
        address = slice(model.actuator_actadr[i], model.actuator_actadr[i] + count)
        if model.actuator_dyntype[i] in _FILTERS:
            kind[address] = _EXACT_FILTER
            constant[address] = max(model.actuator_dynprm[i, 0], 1e-10)
        if muscles[address].any():
            kind[address] = _MUSCLE
        if model.actuator_actlimited[i] and model.actuator_gaintype[i] != _DC:
            limits[address] = model.actuator_actrange[i]
        if _has_inner_states(model, i):
            kind[address], number[address] = _BY_SLOPE, np.arange(count)
            output[address] = model.actuator_outadr[i]
            if model.actuator_dynprm[i, _SLEW_AT[int(model.actuator_gaintype[i])]] > 0.0:
                # MuJoCo's force is by the next set-point as it is.
                output[address.start] = -1
            _set_inner_states(model, i, kind, constant, limits)
        if is_switched_off(model, i):
            kind[address], constant[address] = _SLEWS, 0.0
        late = i if model.actuator_delay[i] > 0.0 else -1
        inputs[address] = model.actuator_ctrladr[i], late, model.actuator_history[i, 1]
    table.actuators.act_number = number
    table.actuators.act_output = output
    table.actuators.act_input = inputs
    table.actuators.act_kind = kind
    table.actuators.act_time_constant = constant
    table.actuators.act_muscle = muscles
    table.actuators.act_range = limits


def _set_inner_states(
    model: mujoco.MjModel, i: int, kind: np.ndarray, constant: np.ndarray, limits: np.ndarray
) -> None:
    """Fill what is to be known of a set-point that slews, and of an integral of the error."""
    gain, at = int(model.actuator_gaintype[i]), int(model.actuator_actadr[i])
    slew = float(model.actuator_dynprm[i, _SLEW_AT[gain]])
    if slew > 0.0:
        # An angle on a circle, or a delayed control, is found as MuJoCo finds it.
        if joint_of(model, i) >= 0 and model.actuator_delay[i] == 0.0:
            kind[at], constant[at] = _SLEWS, slew
            limits[at] = _control_range(model, i)
        at += 1
    windup = float(model.actuator_dynprm[i, _WINDUP_AT[gain]])
    if windup > 0.0 and model.actuator_gainprm[i, _INTEGRAL_AT[gain]] > 0.0:
        limits[at] = [-windup, windup]


def _control_range(model: mujoco.MjModel, i: int) -> np.ndarray:
    """Least and largest of an actuator's first control."""
    control = model.actuator_ctrladr[i]
    if model.actuator_ctrllimited[control] and not _clamp_disabled(model):
        return np.array(model.actuator_ctrlrange[control])
    return np.array([-_NO_LIMIT, _NO_LIMIT])


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
    if _has_inner_states(model, i):
        return not is_switched_off(model, i) and _has_row(model, i)
    if gain not in (mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtGain.mjGAIN_AFFINE):
        return False
    if bias not in (mujoco.mjtBias.mjBIAS_NONE, mujoco.mjtBias.mjBIAS_AFFINE):
        return False
    if model.actuator_ctrlnum[i] != 1 or model.actuator_outnum[i] != 1:
        return False
    if model.actuator_actnum[i] > 1:
        return False
    if is_switched_off(model, i):
        return False
    feedback = model.actuator_biasprm[i, 1:3] if bias else np.zeros(2)
    affine = model.actuator_gainprm[i, 1:3] if gain else np.zeros(2)
    return bool(np.any(feedback) or np.any(affine)) and _has_row(model, i)


def _period(model: mujoco.MjModel, i: int) -> float:
    """Period of a servo's set-point that MuJoCo takes by the turn that is nearest, or 0."""
    gear = np.array(model.actuator_gear[model.actuator_outadr[i]])
    kind, (target, reference) = int(model.actuator_trntype[i]), model.actuator_trnid[i]
    if kind in JOINT_KINDS:
        turns, axis = model.jnt_type[target] == int(mujoco.mjtJoint.mjJNT_BALL), gear[:3]
    else:
        site = kind == int(mujoco.mjtTrn.mjTRN_SITE) and reference >= 0
        turns, axis = site and not np.any(gear[:3]), gear[3:]
    follows = (
        model.actuator_gaintype[i] == mujoco.mjtGain.mjGAIN_FIXED
        and model.actuator_biastype[i] == mujoco.mjtBias.mjBIAS_AFFINE
        and model.actuator_gainprm[i, 0] == -model.actuator_biasprm[i, 1]
        and model.actuator_dyntype[i] in kinds(mujoco.mjtDyn, "NONE", "INTEGRATOR")
    )
    return float(2.0 * np.pi * np.linalg.norm(axis)) if turns and follows else 0.0


def _has_row(model: mujoco.MjModel, i: int) -> bool:
    """Whether a row may exert the force of an actuator, with all limits that it has."""
    joint = joint_of(model, i)
    kind = int(model.actuator_trntype[i])
    # Transmissions with three outputs measure setpoints on the circle.
    if kind == int(mujoco.mjtTrn.mjTRN_BODY) or model.actuator_outnum[i] != 1:
        return False
    tendon = kind == int(mujoco.mjtTrn.mjTRN_TENDON)
    if tendon and model.tendon_actfrclimited[model.actuator_trnid[i, 0]]:
        return False
    if joint >= 0 and model.jnt_actfrclimited[joint]:
        # The joint's limit moves into the row, which must then be the joint's only actuator.
        others = [j for j in range(len(model.actuator_gaintype)) if joint_of(model, j) == joint]
        return len(others) == 1 and model.actuator_gear[model.actuator_outadr[i], 0] != 0
    return True


def reached_dofs(model: mujoco.MjModel, i: int) -> list[int]:
    """Degrees of freedom on which an actuator may act, but for adhesion."""
    kind = int(model.actuator_trntype[i])
    one, other = (int(target) for target in model.actuator_trnid[i])
    on_joint = kind == int(mujoco.mjtTrn.mjTRN_SO3) and other < 0
    if kind in JOINT_KINDS or on_joint:
        return np.flatnonzero(model.dof_jntid == one).tolist()
    if kind == int(mujoco.mjtTrn.mjTRN_TENDON):
        first = model.ten_J_rowadr[one]
        return np.unique(model.ten_J_colind[first : first + model.ten_J_rownnz[one]]).tolist()
    if kind == int(mujoco.mjtTrn.mjTRN_BODY):
        return []
    bodies = set()
    for site in (one, other):
        body = int(model.site_bodyid[site]) if site >= 0 else 0
        while body > 0:
            bodies.add(body)
            body = int(model.body_parentid[body])
    return np.flatnonzero(np.isin(model.dof_bodyid, list(bodies))).tolist()


def _has_length(model: mujoco.MjModel, i: int) -> bool:
    """Whether an actuator's transmission has a length; else MuJoCo's is always 0."""
    kind = int(model.actuator_trntype[i])
    if kind == int(mujoco.mjtTrn.mjTRN_SITE):
        return bool(model.actuator_trnid[i, 1] >= 0)
    free = int(mujoco.mjtJoint.mjJNT_FREE)
    return kind not in JOINT_KINDS or int(model.jnt_type[model.actuator_trnid[i, 0]]) != free


def joint_of(model: mujoco.MjModel, i: int) -> int:
    """The one-dof joint on which an actuator acts, or −1."""
    if int(model.actuator_trntype[i]) not in JOINT_KINDS:
        return -1
    joint = int(model.actuator_trnid[i, 0])
    kind = int(model.jnt_type[joint])
    return joint if kind >= int(mujoco.mjtJoint.mjJNT_SLIDE) else -1


def _limited_joint(model: mujoco.MjModel, i: int) -> int:
    joint = joint_of(model, i)
    return joint if joint >= 0 and model.jnt_actfrclimited[joint] else -1
