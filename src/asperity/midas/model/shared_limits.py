"""Limits of joints and tendons on the sum of what acts on them.

A motor that is alone on a joint has the joint's limit in its own. Where several actuators, or one
and gravity compensation, act on what is limited, MuJoCo is asked before every step by how much the
limits change the sum. That acts as an applied force, and motors that reach it keep the force of the
step's beginning. So does what a joint's actuators would compensate of gravity if none act.
"""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.compiled import Table
from asperity.midas.model.motors import UNHEARD
from asperity.plant.model.joints import JOINT_DOFS, is_disabled
from asperity.plant.model.own_options import OwnOptions
from asperity.plant.model.servos import joint_of, reached_dofs

__all__ = ["SharedLimits", "shared_limits"]

_ACTUATION = mujoco.mjtDisableBit.mjDSBL_ACTUATION

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


def shared_limits(model: mujoco.MjModel) -> tuple[Flags, Flags]:
    """Whether joints, and whether tendons, limit more than one motor that they have alone."""
    reach = [reached_dofs(model, i) for i in range(model.nactuator)]
    joints = np.zeros(model.njnt, np.bool_)
    for joint in np.flatnonzero(model.jnt_actfrclimited):
        if int(model.jnt_type[joint]) in JOINT_DOFS:
            continue
        acting = [i for i, dofs in enumerate(reach) if model.jnt_dofadr[joint] in dofs]
        by_gear = all(
            joint_of(model, i) == joint and model.actuator_gear[model.actuator_outadr[i], 0] != 0.0
            for i in acting
        )
        alone = len(acting) <= 1 and by_gear
        joints[joint] = not alone or bool(model.jnt_actgravcomp[joint])
    on_tendon = model.actuator_trntype == int(mujoco.mjtTrn.mjTRN_TENDON)
    count = np.bincount(model.actuator_trnid[on_tendon, 0], minlength=model.ntendon)
    return joints, np.asarray((model.tendon_actfrclimited != 0) & (count > 1))


class SharedLimits:
    """What limits change that several motors share.

    Parameters
    ----------
    model : mujoco.MjModel
    options : OwnOptions
        The model's.
    position, velocity : ndarray
        Slopes of the motors' forces.
    """

    def __init__(
        self, model: mujoco.MjModel, options: OwnOptions, position: Floats, velocity: Floats
    ) -> None:
        self._options, self._position, self._velocity = options, position, velocity
        joints, tendons = shared_limits(model)
        self.compensates = model.jnt_actgravcomp[model.dof_jntid].astype(np.bool_)
        """Whether the actuators of every degree of freedom compensate gravity."""
        self.without_actuators = is_disabled(model, _ACTUATION) or model.nactuator == 0
        idle = self.without_actuators and np.any(self.compensates)
        self.any = bool(np.any(joints) or np.any(tendons) or idle)
        self.change = np.zeros(model.nv)
        """What limits have changed for this step, as generalized forces."""
        off = {name: np.zeros_like(getattr(model, name)) for name in UNHEARD}
        on = {"jnt_actfrclimited": joints, "tendon_actfrclimited": tendons}
        self._on = off | {name: own.astype(np.bool_) for name, own in on.items()}
        self._off = off | {name: np.zeros_like(own) for name, own in self._on.items()}

    def release(self, table: Table) -> None:
        """Let motors depend on the state again that kept a force."""
        if self.any:
            table.motors.position[:] = self._position
            table.motors.velocity[:] = self._velocity

    def hold(
        self, table: Table, state: mujoco.MjData, control: Floats, activation: Floats, step: float
    ) -> None:
        """Find the change for the step that begins at a state, and let its motors keep their force.

        Parameters are those of `asperity.midas.model.evaluated_motors.EvaluatedMotors.feed`, after
        which this is called.
        """
        if not self.any:
            return
        if self.without_actuators:
            self.change[:] = -np.where(self.compensates, state.qfrc_gravcomp, 0.0)
            return
        state.ctrl[:], state.act[:] = control, activation
        total = []
        for limits in (self._on, self._off):
            with self._options as lent:
                for field, values in limits.items():
                    self._options.replace(field, values)
                lent.opt.timestep = step
                mujoco.mj_fwdActuation(lent, state)
            total.append(np.array(state.qfrc_actuator))
        self.change[:] = total[0] - total[1]
        motors, joints = table.motors, table.joints
        moment, rowadr = state.actuator_moment.ravel(), state.moment_rowadr
        for motor, coordinate in enumerate(motors.joint):
            row = slice(int(rowadr[motor]), int(rowadr[motor] + state.moment_rownnz[motor]))
            if not np.any(self.change[state.moment_colind[row]] * moment[row]):
                continue
            kept = (
                motors.position[motor] * joints.value[coordinate]
                + motors.velocity[motor] * joints.rate[coordinate]
            )
            motors.bias[motor] += kept
            motors.feed[motor] += kept
            motors.position[motor] = motors.velocity[motor] = 0.0
