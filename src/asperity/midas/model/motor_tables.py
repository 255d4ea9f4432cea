"""Motors of a MuJoCo model, and what controls set of them."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.compiled import Table
from asperity.midas.model.joint_numbers import scalar_links
from asperity.midas.model.linearized import LinearizedCoordinates
from asperity.midas.model.links import Link
from asperity.midas.model.motors import evaluated_actuators, motor_actuators
from asperity.midas.model.shared_limits import shared_limits
from asperity.midas.model.tendons import coordinate_of_tendon, fixed_tendons
from asperity.plant.model.joints import is_disabled
from asperity.plant.model.servos import is_switched_off
from asperity.plant.muscles import muscle_parameters

__all__ = ["MotorFeed", "motor_coordinates", "motor_gears", "motor_tables"]

_FLAG = mujoco.mjtDisableBit
_TRN = mujoco.mjtTrn

# What may limit the forces of all its actuators, by transmission.
_LIMITED = {
    int(mujoco.mjtTrn.mjTRN_JOINT): "jnt",
    int(mujoco.mjtTrn.mjTRN_JOINTINPARENT): "jnt",
    int(mujoco.mjtTrn.mjTRN_TENDON): "tendon",
}


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
    joints, tendons = shared_limits(model)
    alone = {
        "jnt": model.jnt_actfrclimited & ~joints,
        "tendon": model.tendon_actfrclimited & ~tendons,
    }
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
        if kind is not None and alone[kind][target]:
            # A tendon limits what its actuators exert before their gear, a joint what acts on it.
            # The gear is in the length of what has a coordinate of its own.
            scale = gear if kind == "tendon" else gear / float(model.actuator_gear[motor, 0])
            least, most = sorted(scale * getattr(model, f"{kind}_actfrcrange")[target])
            ends = [max(ends[0], least), min(ends[1], most)]
        limit[motor] = ends
    zero = np.zeros(count)
    return {
        "joint": coordinates,
        **_activation_tables(model, gears),
        "bias": zero.copy(),
        "feed": zero.copy(),
        "position": position,
        "velocity": velocity,
        "limit": np.ascontiguousarray(limit),
        "constant": zero.copy(),
        "stiffness": zero.copy(),
        "force": zero.copy(),
    }


def _simple_actuators(model: mujoco.MjModel) -> np.ndarray:
    """Actuators with an activation that MuJoCo is not asked for: integrators and filters."""
    own = np.flatnonzero(model.actuator_actnum > 0)
    return own[~np.isin(own, evaluated_actuators(model))]


def _decay(model: mujoco.MjModel, actuators: np.ndarray) -> np.ndarray:
    """1/τ of filters, 0 of integrators [1/s]."""
    integrates = model.actuator_dyntype[actuators] == mujoco.mjtDyn.mjDYN_INTEGRATOR
    return np.where(integrates, 0.0, 1.0 / np.maximum(model.actuator_dynprm[actuators, 0], 1e-15))


def _activation_tables(model: mujoco.MjModel, gears: np.ndarray) -> dict[str, np.ndarray]:
    """Fields of `MOTORS` for activations, as those of integrators and filters are."""
    owner, simple = motor_actuators(model), _simple_actuators(model)
    limit = np.tile([-np.inf, np.inf], (model.na, 1))
    slope = np.zeros(model.na)
    for i in range(model.nactuator):
        own = slice(model.actuator_actadr[i], model.actuator_actadr[i] + model.actuator_actnum[i])
        kind = model.actuator_dyntype[i]
        if (
            model.actuator_actlimited[i]
            and kind != mujoco.mjtDyn.mjDYN_DCMOTOR
            and not is_disabled(model, _FLAG.mjDSBL_CLAMPCTRL)
        ):
            limit[own] = model.actuator_actrange[i]
    slope[model.actuator_actadr[simple]] = -_decay(model, simple)
    gain = np.zeros((len(owner), max(model.actuator_actnum, default=0)))
    filtered = np.isin(owner, simple)
    gain[filtered, :1] = (gears * model.actuator_gainprm[owner, 0])[filtered, None]
    return {
        "activation": np.array(model.actuator_actadr[owner], dtype=np.int64),
        # Those of what is switched off stay as they are.
        "states": np.array(
            [0 if is_switched_off(model, i) else model.actuator_actnum[i] for i in owner], np.int64
        ),
        "state_start": np.zeros(model.na),
        "state_rate": np.zeros(model.na),
        "state_slope": slope,
        "state_control": np.zeros(model.na),
        "state_muscle": muscle_parameters(model),
        "state_limit": limit,
        "state_gain": gain,
    }


class MotorFeed:
    """The part of the motors' forces that controls set.

    Parameters
    ----------
    model : mujoco.MjModel
    gears : ndarray
        Length of every motor per length of its coordinate.
    """

    def __init__(self, model: mujoco.MjModel, gears: np.ndarray) -> None:
        owner = motor_actuators(model)
        self._model = model
        limited = model.actuator_ctrllimited.astype(bool)
        self._range = np.where(limited[:, None], model.actuator_ctrlrange, [-np.inf, np.inf])
        affine = model.actuator_biastype[owner] == mujoco.mjtBias.mjBIAS_AFFINE
        self._bias = gears * np.where(affine, model.actuator_biasprm[owner, 0], 0.0)
        # By the activation, if there is one.
        direct = np.where(model.actuator_actnum[owner] > 0, 0.0, model.actuator_gainprm[owner, 0])
        self._gain = gears * direct
        # Actuators without a control have no inputs at all.
        address = np.where(model.actuator_ctrlnum > 0, model.actuator_ctrladr, model.nu)
        self._control = address[owner]
        self._state_controls = np.repeat(address, model.actuator_actnum)
        simple = _simple_actuators(model)
        decay = _decay(model, simple)
        self._state = model.actuator_actadr[simple]
        self._state_control, self._rate = address[simple], np.where(decay > 0.0, decay, 1.0)

    def feed(self, control: np.ndarray, table: Table) -> None:
        """Bring it up to date, with controls of shape (nu,)."""
        motors = table.motors
        if not len(self._control):
            return
        if not is_disabled(self._model, _FLAG.mjDSBL_CLAMPCTRL):
            control = np.clip(control, self._range[:, 0], self._range[:, 1])
        inputs = np.append(control, 0.0)
        # The length that MuJoCo's bias sees is that of qpos, not of the angle from the reference.
        reference = motors.position * table.joints.reference[motors.joint]
        motors.bias[:] = self._bias + reference
        motors.feed[:] = motors.bias + self._gain * inputs[self._control]
        motors.state_control[:] = inputs[self._state_controls]
        motors.state_rate[self._state] = self._rate * inputs[self._state_control]
