"""What the engine's last step leaves to be published in MjData.

MuJoCo derives everything from ``qpos``, ``qvel`` and the accelerations of the last step. Its own
contacts and constraints stay out: contacts are the engine's, the only rows of constraints are
theirs, constraint forces are what the equations of motion leave, and forces of equalities reach
force and torque sensors as applied ones.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import mujoco
import numpy as np

from asperity.compiled import Table
from asperity.contact.delivered import new_delivered
from asperity.integrators.methods.own_results import OwnResults
from asperity.integrators.world_layout import OK
from asperity.midas.engine import Engine
from asperity.midas.engine_contacts import EngineContacts, read_contacts
from asperity.midas.limit_sensors import write_limit_sensors
from asperity.midas.model.contact_numbers import PLAIN

__all__ = ["EngineResults"]

_BIT = mujoco.mjtDisableBit
_OFF = int(_BIT.mjDSBL_CONTACT) | int(_BIT.mjDSBL_CONSTRAINT)
# What may not have rows beside contacts.
_OTHERS = int(_BIT.mjDSBL_LIMIT) | int(_BIT.mjDSBL_EQUALITY) | int(_BIT.mjDSBL_FRICTIONLOSS)


class EngineResults(OwnResults):
    """Contacts, forces and accelerations of the engine's last step.

    Accelerations are those of the smooth forces if there has been no step.

    Parameters
    ----------
    engine : Engine
        In the state that is published.
    asleep : ndarray
        Which bodies sleep, shape (nbody,).
    """

    def __init__(self, engine: Engine, asleep: np.ndarray) -> None:
        super().__init__(engine.model)
        self._engine = engine
        self._delivered = _delivered(engine, asleep)
        self._acceleration = engine.acceleration
        self._asleep = asleep[engine.model.dof_bodyid]
        self.margin = 2.0 * engine.table.options.activation

    @property
    def delivered(self) -> Table:
        """Contacts with forces in place of impulses: those of an interval of 1 s."""
        return self._delivered

    @contextlib.contextmanager
    def options(self) -> Iterator[mujoco.MjModel]:
        with self._engine.own_options as lent:
            yield lent

    def evaluate(self, model: mujoco.MjModel, data: mujoco.MjData) -> int:
        flags = int(model.opt.disableflags)
        model.opt.disableflags = flags | _OFF
        mujoco.mj_fwdPosition(model, data)
        model.opt.disableflags = flags | _OTHERS
        return OK

    def write_actuation(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        mujoco.mj_fwdActuation(model, data)
        if self._acceleration is not None and self.model.nout:
            _write_motor_forces(self._engine, data)

    def write_accelerations(self, data: mujoco.MjData) -> None:
        known = self._acceleration is not None
        data.qacc[:] = self._acceleration if known else data.qacc_smooth
        data.qacc[self._asleep] = 0.0
        data.qacc_warmstart[:] = data.qacc
        inertial = np.zeros(self.model.nv)
        mujoco.mj_mulM(self.model, data, inertial, data.qacc)
        data.qfrc_constraint[:] = inertial - data.qfrc_smooth

    @contextlib.contextmanager
    def further_forces(self, data: mujoco.MjData) -> Iterator[None]:
        """Let the forces of ties act on bodies while sensors are read."""
        applied = np.array(data.xfrc_applied)
        if self.model.nsensor:
            _apply_ties(self._engine, data)
        try:
            mujoco.mj_rnePostConstraint(self.model, data)
        finally:
            data.xfrc_applied[:] = applied
        data.flg_rnepost = True
        yield
        if self.model.nsensor:
            write_limit_sensors(self._engine, data)


def _delivered(engine: Engine, asleep: np.ndarray) -> Table:
    """The engine's contacts with their forces, but for those of nothing that is awake."""
    found, friction = read_contacts(engine)
    if np.any(asleep):
        bodies = engine.model.geom_bodyid[found.geom]
        awake = np.any((engine.links.body_link[bodies] >= 0) & ~asleep[bodies], axis=1)
        found, friction = EngineContacts._make(part[awake] for part in found), friction[awake]
    count = len(found.geom)
    frame = _frames(found.normal)
    others = np.flatnonzero(np.any(found.slip_scale != PLAIN, axis=1))
    frame[others, 0] = found.tangent[others]
    frame[others, 1] = np.cross(found.normal[others], found.tangent[others])
    delivered = new_delivered(engine.model.nv, engine.model.njnt, count, 0)
    contacts = delivered.contacts
    contacts.count = count
    contacts.geom[:] = found.geom
    contacts.vertex[:], contacts.element[:] = found.vertex, -1
    contacts.point[:] = found.point
    contacts.frame[:] = frame.reshape(count, 9)
    contacts.signed_distance[:] = found.signed_distance
    contacts.static_friction[:] = friction
    contacts.impulse[:] = np.einsum("nij,nj->ni", frame, found.force)
    contacts.velocity[:, 0] = found.slip_speed
    contacts.ellipsoids = int(len(others) > 0)
    kinds = np.where(found.slip_scale[others] > 0.0, [3, 6, 6, 4], 3)
    contacts.ellipsoidal[others] = kinds.max(axis=1)
    contacts.slip_scale[:] = found.slip_scale
    contacts.angular_impulse[:] = np.einsum("nij,nj->ni", frame, found.torque)
    return delivered


def _frames(normal: np.ndarray) -> np.ndarray:
    """Right-handed axes with the normals last, shape (n, 3, 3) (Duff et al. 2017)."""
    x, y, z = normal.T
    sign = np.copysign(1.0, z)
    a = -1.0 / (sign + z)
    b = x * y * a
    one = np.stack([1.0 + sign * x * x * a, sign * b, -sign * x], axis=1)
    other = np.stack([b, sign + y * y * a, -y], axis=1)
    return np.stack([one, other, normal], axis=1)


def _write_motor_forces(engine: Engine, data: mujoco.MjData) -> None:
    """Replace the forces of MuJoCo's actuators by those that motors had at the end of the step."""
    model, table = engine.model, engine.table
    limits = engine.inputs.shared_limits
    if limits.without_actuators:
        return
    force, gears = table.motors.force, engine.inputs.gears
    # A joint's limit is not one of its actuators' forces, which are MuJoCo's where it acts.
    free = (gears != 0.0) & np.all(force[:, None] != table.motors.limit, axis=1)
    data.actuator_force[free] = force[free] / gears[free]
    data.qfrc_actuator[:] = limits.change + np.where(limits.compensates, data.qfrc_gravcomp, 0.0)
    dofs = [int(model.jnt_dofadr[engine.links.links[i].joint]) for i in table.joints.link]
    for motor, coordinate in enumerate(table.motors.joint):
        if coordinate >= engine.inputs.linearized.first:
            start = int(data.moment_rowadr[motor])
            own = slice(start, start + int(data.moment_rownnz[motor]))
            moment = data.actuator_moment.ravel()[own]
            data.qfrc_actuator[data.moment_colind[own]] += moment * table.motors.force[motor]
            continue
        for member in range(
            table.joints.member_start[coordinate], table.joints.member_start[coordinate + 1]
        ):
            share = table.joints.member_weight[member] * table.motors.force[motor]
            data.qfrc_actuator[dofs[table.joints.member_joint[member]]] += share


def _apply_ties(engine: Engine, data: mujoco.MjData) -> None:
    """Add the forces of ties to those that act on bodies."""
    table = engine.table
    for tie in np.flatnonzero(table.gaps.active[: 3 * len(table.ties.link) : 3]):
        for side, sign in ((0, -1.0), (1, 1.0)):
            body = engine.inputs.equalities.ties[tie].body[side]
            point = table.ties.side[tie, side] @ table.poses.q[table.ties.link[tie, side]]
            force = sign * table.gaps.force_start[3 * tie : 3 * tie + 3]
            torque = np.cross(point - data.xipos[body], force)
            data.xfrc_applied[body] += np.concatenate([force, torque])
