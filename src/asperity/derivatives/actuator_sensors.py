"""Derivatives of sensors of actuators' forces in closed form.

A motor or an affine servo of length l and velocity v, with its control or activation u, exerts

    f = (g_0 + g_1 l + g_2 v) u + b_0 + b_1 l + b_2 v

within its limits, at which nothing changes it. With the moment arm J its length changes by J dq. So
does the velocity, by J dv, if the moment arm is constant: of hinges, slides and fixed tendons.
"""

from __future__ import annotations

from collections.abc import Iterator

import mujoco
import numpy as np

from asperity.derivatives.sensor_jacobians import constant_moment, moment_row, pulls_tendon
from asperity.plant.model.joints import is_disabled
from asperity.plant.model.names import kinds
from asperity.plant.model.servos import is_switched_off

__all__ = ["ACTUATOR_SENSORS", "actuator_force_rows"]

_SENSOR, _CLAMP = mujoco.mjtSensor, mujoco.mjtDisableBit.mjDSBL_CLAMPCTRL
_ACTUATOR = int(_SENSOR.mjSENS_ACTUATORFRC)
_JOINT, _TENDON = int(_SENSOR.mjSENS_JOINTACTFRC), int(_SENSOR.mjSENS_TENDONACTFRC)
_OF_BODY = int(mujoco.mjtTrn.mjTRN_BODY)
_DYNAMICS = kinds(mujoco.mjtDyn, "NONE", "INTEGRATOR", "FILTER", "FILTEREXACT")
_AFFINE_GAIN, _AFFINE_BIAS = int(mujoco.mjtGain.mjGAIN_AFFINE), int(mujoco.mjtBias.mjBIAS_AFFINE)
_GAINS = (int(mujoco.mjtGain.mjGAIN_FIXED), _AFFINE_GAIN)
_BIASES = (int(mujoco.mjtBias.mjBIAS_NONE), _AFFINE_BIAS)

ACTUATOR_SENSORS = (_ACTUATOR, _JOINT, _TENDON)
"""Types of the sensors that `actuator_force_rows` knows."""


def actuator_force_rows(
    model: mujoco.MjModel, data: mujoco.MjData, sensors: np.ndarray, inner: int
) -> dict[int, np.ndarray]:
    """Derivatives of sensors by positions, velocities, activations, other states and controls.

    Parameters
    ----------
    model : mujoco.MjModel
        Without delays.
    data : mujoco.MjData
        With forces of actuators, and ``sensordata`` of its state.
    sensors : ndarray
        Of `ACTUATOR_SENSORS`.
    inner : int
        How many numbers a change of the state has.

    Returns
    -------
    dict of int to ndarray
        By sensor, shape (1, inner + nu). Those that feel other actuators are missing.
    """
    found = {}
    for sensor in sensors.tolist():
        felt = _felt(model, data, sensor)
        if felt is None:
            continue
        rows = [
            factor * row
            for actuator, factor in felt.items()
            if (row := _force_row(model, data, actuator, inner)) is not None
        ]
        if len(rows) < len(felt):
            continue
        total = sum(rows, np.zeros((1, inner + model.nu)))
        value = data.sensordata[int(model.sensor_adr[sensor])]
        if any(not low < value < high for low, high in _limits(model, sensor)):
            total[:] = 0.0
        found[sensor] = total
    return found


def _felt(model: mujoco.MjModel, data: mujoco.MjData, sensor: int) -> dict[int, float] | None:
    """Actuators whose forces a sensor adds up, with their factors; None if these change."""
    kind, target = int(model.sensor_type[sensor]), int(model.sensor_objid[sensor])
    if kind == _ACTUATOR:
        return {target: 1.0}
    if kind == _TENDON:
        owners = range(model.nactuator)
        return {
            i: 1.0
            for i in owners
            if pulls_tendon(model, i) and int(model.actuator_trnid[i, 0]) == target
        }
    if model.jnt_actgravcomp[target]:
        return None
    dof = int(model.jnt_dofadr[target])
    found: dict[int, float] = {}
    for i in range(model.nactuator):
        if constant_moment(model, i):
            arm = float(moment_row(model, data, i)[0, dof])
            found |= {i: arm} if arm else {}
        elif _may_move(model, data, i, dof):
            return None
    return found


def _may_move(model: mujoco.MjModel, data: mujoco.MjData, actuator: int, dof: int) -> bool:
    """Whether an actuator whose moment changes may act on a degree of freedom."""
    if int(model.actuator_trntype[actuator]) == _OF_BODY:
        return True
    first = int(model.actuator_outadr[actuator])
    for output in range(first, first + int(model.actuator_outnum[actuator])):
        start = int(data.moment_rowadr[output])
        if dof in data.moment_colind[start : start + int(data.moment_rownnz[output])]:
            return True
    return False


def _limits(model: mujoco.MjModel, sensor: int) -> Iterator[tuple[float, float]]:
    """Ranges beyond which a sensor's value does not change."""
    cutoff, joint = float(model.sensor_cutoff[sensor]), int(model.sensor_objid[sensor])
    if cutoff > 0.0:
        yield -cutoff, cutoff
    if int(model.sensor_type[sensor]) == _JOINT and model.jnt_actfrclimited[joint]:
        yield float(model.jnt_actfrcrange[joint, 0]), float(model.jnt_actfrcrange[joint, 1])


def _force_row(
    model: mujoco.MjModel, data: mujoco.MjData, actuator: int, inner: int
) -> np.ndarray | None:
    """Derivatives of an actuator's force, (1, inner + nu); None of one of another kind."""
    nv, row = model.nv, np.zeros((1, inner + model.nu))
    if is_switched_off(model, actuator):
        return row
    gain_kind = int(model.actuator_gaintype[actuator])
    bias_kind = int(model.actuator_biastype[actuator])
    if (
        model.actuator_plugin[actuator] >= 0
        or model.actuator_outnum[actuator] != 1
        or model.actuator_ctrlnum[actuator] != 1
        or model.actuator_actearly[actuator]
        or int(model.actuator_dyntype[actuator]) not in _DYNAMICS
        or gain_kind not in _GAINS
        or bias_kind not in _BIASES
    ):
        return None
    gain, bias = model.actuator_gainprm[actuator, :3], model.actuator_biasprm[actuator, :3]
    gain = np.append(gain[0], gain[1:] * (gain_kind == _AFFINE_GAIN))
    bias = bias * (bias_kind == _AFFINE_BIAS)
    pulls = pulls_tendon(model, actuator)
    if not constant_moment(model, actuator) and (
        gain[2] or bias[2] or ((gain[1] or bias[1]) and not pulls)
    ):
        return None
    if pulls and model.tendon_actfrclimited[int(model.actuator_trnid[actuator, 0])]:
        return None
    output = int(model.actuator_outadr[actuator])
    if model.actuator_forcelimited[actuator]:
        low, high = model.actuator_forcerange[actuator]
        if not low < data.actuator_force[output] < high:
            return row
    by_input = gain @ [1.0, data.actuator_length[output], data.actuator_velocity[output]]
    count = int(model.actuator_actnum[actuator])
    if count:
        last = int(model.actuator_actadr[actuator]) + count - 1
        value = data.act[last]
        row[0, 2 * nv + last] = by_input
    else:
        control = int(model.actuator_ctrladr[actuator])
        value = data.ctrl[control]
        row[0, inner + control] = by_input
        if model.actuator_ctrllimited[control] and not is_disabled(model, _CLAMP):
            low, high = model.actuator_ctrlrange[control]
            row[0, inner + control] *= low < value < high
            value = min(max(value, low), high)
    moment = moment_row(model, data, actuator)[0]
    row[0, :nv] = (gain[1] * value + bias[1]) * moment
    row[0, nv : 2 * nv] = (gain[2] * value + bias[2]) * moment
    return row
