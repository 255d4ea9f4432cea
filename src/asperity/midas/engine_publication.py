"""Publication of the engine's state into MjData.

MuJoCo derives everything from ``qpos``, ``qvel`` and the accelerations of the last step. Its own
contacts and constraints stay out: contacts are the engine's, the only rows of constraints are
theirs, constraint forces are what the equations of motion leave, and forces of equalities reach
force and torque sensors as applied ones.
"""

from __future__ import annotations

import mujoco
import numpy as np

from asperity.midas.engine import Engine
from asperity.midas.published_contacts import write_contacts

__all__ = ["publish"]

_BIT = mujoco.mjtDisableBit
_OFF = int(_BIT.mjDSBL_CONTACT) | int(_BIT.mjDSBL_CONSTRAINT)
# What may not have rows beside contacts.
_OTHERS = int(_BIT.mjDSBL_LIMIT) | int(_BIT.mjDSBL_EQUALITY) | int(_BIT.mjDSBL_FRICTIONLOSS)


def publish(engine: Engine, data: mujoco.MjData, acceleration: np.ndarray | None) -> None:
    """Bring ``data`` up to date with its ``qpos`` and ``qvel``.

    Parameters
    ----------
    engine : Engine
    data : mujoco.MjData
    acceleration : ndarray, optional
        Generalized acceleration of the last step, shape (nv,); that of the smooth forces if there
        has been none.
    """
    model = engine.model
    data.flg_energypos = data.flg_energyvel = False
    data.flg_subtreevel = data.flg_rnepost = False
    with engine.own_options as lent:
        flags = int(lent.opt.disableflags)
        lent.opt.disableflags = flags | _OFF
        mujoco.mj_fwdPosition(lent, data)
        lent.opt.disableflags = flags | _OTHERS
        write_contacts(engine, lent, data)
        mujoco.mj_sensorPos(lent, data)
        mujoco.mj_fwdVelocity(lent, data)
        mujoco.mj_sensorVel(lent, data)
        mujoco.mj_fwdActuation(lent, data)
        if acceleration is not None and model.nu:
            _write_motor_forces(engine, data)
        mujoco.mj_fwdAcceleration(lent, data)
    data.qacc[:] = data.qacc_smooth if acceleration is None else acceleration
    data.qacc_warmstart[:] = data.qacc
    inertial = np.zeros(model.nv)
    mujoco.mj_mulM(model, data, inertial, data.qacc)
    data.qfrc_constraint[:] = inertial - data.qfrc_smooth
    _sense_forces(engine, data)
    if model.opt.enableflags & mujoco.mjtEnableBit.mjENBL_ENERGY:
        mujoco.mj_energyPos(model, data)
        mujoco.mj_energyVel(model, data)


def _write_motor_forces(engine: Engine, data: mujoco.MjData) -> None:
    """Replace the forces of MuJoCo's actuators by those that motors had at the end of the step."""
    model, table = engine.model, engine.table
    data.actuator_force[:] = table.motor_force / model.actuator_gear[:, 0]
    data.qfrc_actuator[:] = 0.0
    dofs = model.jnt_dofadr[model.actuator_trnid[:, 0]]
    np.add.at(data.qfrc_actuator, dofs, table.motor_force)


def _apply_ties(engine: Engine, data: mujoco.MjData) -> None:
    """Add the forces of ties to those that act on bodies."""
    table = engine.table
    for tie in np.flatnonzero(table.tie_active):
        for side, sign in ((0, -1.0), (1, 1.0)):
            body = engine.equalities.tie_body[tie][side]
            point = table.tie_side[tie, side] @ table.q[table.tie_link[tie, side]]
            force = sign * table.tie_force_start[tie]
            torque = np.cross(point - data.xipos[body], force)
            data.xfrc_applied[body] += np.concatenate([force, torque])


def _sense_forces(engine: Engine, data: mujoco.MjData) -> None:
    """Accelerations and internal forces of all bodies: forces of contacts and ties act on them."""
    model = engine.model
    applied = np.array(data.xfrc_applied)
    if model.nsensor:
        _apply_ties(engine, data)
    try:
        mujoco.mj_rnePostConstraint(model, data)
    finally:
        data.xfrc_applied[:] = applied
    data.flg_rnepost = True
    mujoco.mj_sensorAcc(model, data)
