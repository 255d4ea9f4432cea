"""Controllers of joints: PD, PID, and inverse dynamics with PID feedback."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np
from numba import types
from numpy.typing import ArrayLike

from asperity.arguments import as_names
from asperity.compiled import EntryPoint, Layout, Table, entry_point
from asperity.compiled.calls import call_pp, call_ppip
from asperity.errors import ArgumentError
from asperity.integrators.external.system_table import CALL_SUCCEEDED, SYSTEM
from asperity.plant import native
from asperity.plant.model.armature import armature_of_dofs
from asperity.plant.model.sleep import wake
from asperity.systems.base import ExternalSystem

__all__ = ["InverseDynamicsController", "PdController", "PidController"]

_FEEDBACK = Layout(
    "joint feedback",
    qpos="i8[:]",  # where the joints are in qpos and qvel
    dof="i8[:]",
    kp="f8[:]",
    kd="f8[:]",
    ki="f8[:]",
    target="f8[:]",
    target_velocity="f8[:]",
    # of inverse dynamics
    target_acceleration="f8[:]",
    source_qpos="i8[:]",  # where the control model's joints are in the simulated qpos and qvel
    source_qvel="i8[:]",
    control_dof="i8[:]",  # the joints in the control model
    armature="f8[:]",
    model="i8",
    data="i8",
    data_qpos="f8[:]",
    data_qvel="f8[:]",
    data_qacc="f8[:]",
    result="f8[:]",
    kinematics="i8",
    com_pos="i8",
    com_vel="i8",
    rne="i8",
)


@entry_point(types.int64(SYSTEM.type))
def _pid(system: Table) -> int:
    """y = k_p (q_d − q) + k_d (v_d − v) + k_i z,  ż = q_d − q."""
    own = _FEEDBACK.at(system.own)
    for i in range(system.output.size):
        gap = own.target[i] - system.qpos[own.qpos[i]]
        slip = own.target_velocity[i] - system.qvel[own.dof[i]]
        system.output[i] = own.kp[i] * gap + own.kd[i] * slip
        if system.z.size > 0:
            system.output[i] += own.ki[i] * system.z[i]
            system.rate[i] = gap
    return CALL_SUCCEEDED


@entry_point(types.int64(SYSTEM.type))
def _inverse_dynamics(system: Table) -> int:
    """y = M(q) (a_d + feedback) + k(q, v), by the recursive Newton–Euler algorithm."""
    own = _FEEDBACK.at(system.own)
    for i in range(own.data_qpos.size):
        own.data_qpos[i] = system.qpos[own.source_qpos[i]]
    qacc = own.data_qacc
    for i in range(own.data_qvel.size):
        own.data_qvel[i] = system.qvel[own.source_qvel[i]]
        qacc[i] = 0.0
    for i in range(system.output.size):
        gap = own.target[i] - system.qpos[own.qpos[i]]
        slip = own.target_velocity[i] - system.qvel[own.dof[i]]
        qacc[own.control_dof[i]] = own.target_acceleration[i] + own.kp[i] * gap + own.kd[i] * slip
        if system.z.size > 0:
            qacc[own.control_dof[i]] += own.ki[i] * system.z[i]
            system.rate[i] = gap
    model = own.model
    data = own.data
    call_pp(own.kinematics, model, data)
    call_pp(own.com_pos, model, data)
    call_pp(own.com_vel, model, data)
    call_ppip(own.rne, model, data, 1, own.result.ctypes.data)
    for i in range(system.output.size):
        j = own.control_dof[i]
        system.output[i] = own.result[j] + own.armature[j] * qacc[j]
    return CALL_SUCCEEDED


class PidController(ExternalSystem):
    """Joint forces k_p (q_d − q) + k_d (v_d − v) + k_i z with ż = q_d − q.

    Parameters
    ----------
    joints : sequence of str
        Hinges and slides.
    kp, kd, ki : float or array_like
        Gains [N/m or Nm/rad, and per and times second], one for all joints or one for each.
        Without ``ki`` there is no state.
    target, target_velocity : float or array_like
        q_d and v_d [m or rad, and per second]. The attributes of the same names may be written
        between steps, in a control callback for example.
    effort_limit : None, float or array_like
        See `ExternalSystem`; the integral does not stop growing at the limits.
    **options
        ``name``, ``sample_time``, ``implicit`` and ``error_weight`` of `ExternalSystem`.
    """

    linear = True
    coupled = False
    made_by_bind = ("_own",)

    def __init__(
        self,
        joints: Sequence[str],
        *,
        kp: ArrayLike,
        kd: ArrayLike = 0.0,
        ki: ArrayLike | None = None,
        target: ArrayLike = 0.0,
        target_velocity: ArrayLike = 0.0,
        effort_limit: Any = None,
        name: str = "",
        sample_time: float | None = None,
        implicit: bool = True,
        error_weight: float = 0.0,
    ) -> None:
        self.name = name
        self.joints = as_names(f"{self.label}: joints", joints)
        self.effort_limit = effort_limit
        self.sample_time = sample_time
        self.implicit = implicit
        self.error_weight = error_weight
        if not self.joints:
            raise ArgumentError(f"{self.label} needs at least one joint.")
        self.kp = self._numbers("kp", kp)
        self.kd = self._numbers("kd", kd)
        self.ki = self._numbers("ki", 0.0 if ki is None else ki)
        self.target = self._numbers("target", target)
        self.target_velocity = self._numbers("target_velocity", target_velocity)
        self.initial_state = () if ki is None else np.zeros(len(self.joints))

    def _numbers(self, name: str, values: ArrayLike) -> np.ndarray:
        count = len(self.joints)
        try:
            array = np.array(np.broadcast_to(np.asarray(values, dtype=np.float64), count))
        except (TypeError, ValueError):
            raise ArgumentError(
                f"{self.label}: {name} must be a number or {count} numbers, got {values!r}."
            ) from None
        if not np.all(np.isfinite(array)):
            raise ArgumentError(f"{self.label}: {name} must be finite, got {values!r}.")
        return array

    def bind(self, model: mujoco.MjModel) -> None:
        """Find the joints."""
        self._own = self._table(model)

    def kernel(self) -> tuple[EntryPoint, Table]:
        """The compiled controller."""
        return _pid, self._own

    def _table(self, model: mujoco.MjModel) -> Table:
        table = Table(
            _FEEDBACK,
            qpos=self._addresses(model, model.jnt_qposadr),
            dof=self._addresses(model, model.jnt_dofadr),
        )
        for name in ("kp", "kd", "ki", "target", "target_velocity"):
            setattr(table, name, getattr(self, name))
        return table

    def _addresses(self, model: mujoco.MjModel, addresses: np.ndarray) -> np.ndarray:
        found = []
        for dof in self.dofs(model):
            joint = int(model.dof_jntid[dof])
            if int(model.jnt_type[joint]) < int(mujoco.mjtJoint.mjJNT_SLIDE):
                raise ArgumentError(
                    f"{self.label}: joint {model.joint(joint).name!r} is not a hinge or slide; "
                    "leave it out."
                )
            found.append(int(addresses[joint]))
        return np.array(found, np.int64)


class PdController(PidController):
    """Joint forces k_p (q_d − q) + k_d (v_d − v): a `PidController` without the integral."""

    def __init__(
        self, joints: Sequence[str], *, kp: ArrayLike, kd: ArrayLike = 0.0, **options: Any
    ) -> None:
        if "ki" in options:
            raise ArgumentError("PdController has no ki; use PidController.")
        super().__init__(joints, kp=kp, kd=kd, **options)


class InverseDynamicsController(PidController):
    """Computed torque, M(q) (a_d + k_p (q_d − q) + k_d (v_d − v) + k_i z) + k(q, v).

    M and k, with gravity and velocity-dependent forces, are those of a control model, by default
    the simulated one. A held object does not count, because it is a tree of its own.

    Parameters
    ----------
    joints, kp, kd, ki, target, target_velocity, effort_limit, **options
        As for `PidController`; gains are accelerations [1/s², 1/s, 1/s³].
    target_acceleration : float or array_like
        a_d [m/s² or rad/s²].
    model : mujoco.MjModel, optional
        The control model, whose joints are found in the simulated one by name. A model of the robot
        alone is faster.
    """

    linear = False
    coupled = True

    def __init__(
        self,
        joints: Sequence[str],
        *,
        kp: ArrayLike,
        kd: ArrayLike = 0.0,
        target_acceleration: ArrayLike = 0.0,
        model: mujoco.MjModel | None = None,
        **options: Any,
    ) -> None:
        super().__init__(joints, kp=kp, kd=kd, **options)
        self.target_acceleration = self._numbers("target_acceleration", target_acceleration)
        if model is not None and not isinstance(model, mujoco.MjModel):
            raise ArgumentError(
                f"{self.label}: model must be a mujoco.MjModel, got {type(model).__name__}."
            )
        self._control_model = model

    def kernel(self) -> tuple[EntryPoint, Table]:
        """The compiled controller."""
        return _inverse_dynamics, self._own

    def bind(self, model: mujoco.MjModel) -> None:
        """Find the joints in both models."""
        control = model if self._control_model is None else self._control_model
        data = mujoco.MjData(control)
        wake(control, data)
        table = self._table(model)
        table.target_acceleration = self.target_acceleration
        table.source_qpos = self._sources(model, control, "jnt_qposadr", control.nq)
        table.source_qvel = self._sources(model, control, "jnt_dofadr", control.nv)
        table.control_dof = self._addresses(control, control.jnt_dofadr)
        table.armature = armature_of_dofs(control)
        table.model = control._address
        table.data = data._address
        table.data_qpos, table.data_qvel, table.data_qacc = data.qpos, data.qvel, data.qacc
        table.result = np.zeros(control.nv)
        for field, name in (
            ("kinematics", "mj_kinematics"),
            ("com_pos", "mj_comPos"),
            ("com_vel", "mj_comVel"),
            ("rne", "mj_rne"),
        ):
            setattr(table, field, native.function_address(name))
        assert not table.missing(), table.missing()
        # Of its own to every simulator with which this controller is used.
        table.keep(control, data)
        self._own = table

    def _sources(
        self, model: mujoco.MjModel, control: mujoco.MjModel, field: str, size: int
    ) -> np.ndarray:
        """Where the control model's coordinates are among the simulated ones."""
        if control is model:
            return np.arange(size)
        out = np.zeros(size, np.int64)
        own_start, start = getattr(control, field), getattr(model, field)
        for j in range(control.njnt):
            name = control.joint(j).name
            other = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, name) if name else -1
            if other < 0 or model.jnt_type[other] != control.jnt_type[j]:
                raise ArgumentError(
                    f"{self.label}: joint {name!r} of the control model is not in the simulated "
                    "one; both models must have the same names of joints."
                )
            end = own_start[j + 1] if j + 1 < control.njnt else size
            count = int(end - own_start[j])
            out[own_start[j] : end] = np.arange(start[other], start[other] + count)
        return out
