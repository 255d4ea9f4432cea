"""What the engine is told before a step: controls, forces, gravity, equalities, mocap poses."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.compiled import Table
from asperity.midas.energy.fluid import Fluid
from asperity.midas.energy.sticky_geoms import StickyGeoms
from asperity.midas.engine_layout import FREE, HINGE, POINT, SLIDE
from asperity.midas.jumps import Jumps
from asperity.midas.model.engine_support import check_equalities
from asperity.midas.model.equalities import mocap_points, read_equalities
from asperity.midas.model.evaluated_motors import EvaluatedMotors
from asperity.midas.model.linearized import LinearizedCoordinates
from asperity.midas.model.link_tables import gravity_shares
from asperity.midas.model.links import Link, Links
from asperity.midas.model.motor_tables import (
    MotorFeed,
    motor_coordinates,
    motor_gears,
    motor_tables,
)
from asperity.midas.model.shared_limits import SharedLimits
from asperity.midas.pose.placement import place
from asperity.plant.model.joints import is_disabled
from asperity.plant.model.own_options import OwnOptions

__all__ = ["EngineInputs"]

Floats = NDArray[np.float64]

_FLAG = mujoco.mjtDisableBit
# Arms of forces [m] that are none.
_ROUND_OFF = 1e-12


class EngineInputs:
    """What of a model and its state acts on the engine's links.

    Parameters
    ----------
    model : mujoco.MjModel
    links : Links
    own_options : OwnOptions
    time_step : float
        The usual step size [s], which controllers that MuJoCo evaluates count with.
    """

    def __init__(
        self, model: mujoco.MjModel, links: Links, own_options: OwnOptions, time_step: float
    ) -> None:
        self.model, self.links, self._time_step = model, links, time_step
        self.fluid = Fluid(model, own_options, links)
        self.sticky = StickyGeoms(model, own_options, links)
        self.linearized = LinearizedCoordinates(model, links, own_options)
        self.equalities = read_equalities(model, links, self.linearized)
        self.gap_source = self.equalities.source
        self.coordinates = motor_coordinates(model, links.links, self.linearized)
        self.gears = motor_gears(model, self.linearized, self.coordinates)
        self.evaluated_motors = EvaluatedMotors(model, own_options, self.gears)
        self._motor_feed = MotorFeed(model, self.gears)
        motors = motor_tables(model, self.coordinates, self.gears)
        self.shared_limits = SharedLimits(
            model, own_options, motors["position"], motors["velocity"]
        )
        self._gravity_shares, self._held_moments = gravity_shares(model, links)
        masses = np.array([link.mass for link in links.links])[:, None]
        self._turning_weights = bool(np.any(np.abs(self._held_moments) > _ROUND_OFF * masses))
        self._turning_joints = [
            link.joint for link in links.links if link.kind not in (HINGE, SLIDE)
        ]
        # Whether an applied force turns with a link, or its moment does, as that on such bodies.
        self._turning_forces = False
        self._off_centre = np.zeros(model.nbody, bool)
        for body in range(1, model.nbody):
            link = links.links[links.body_link[body]] if links.body_link[body] >= 0 else None
            if link is not None and not link.is_mocap and not link.twists:
                centre = links.centre_of(model, body)
                self._off_centre[body] = bool(np.any(np.abs(centre) > _ROUND_OFF))
        self._mocap_bodies = [int(i) for i in np.flatnonzero(model.body_mocapid >= 0)]
        # What each was told last.
        self.mocap_pose = np.full((len(self._mocap_bodies), 7), np.nan)
        self.jumps = Jumps()

    @property
    def turning(self) -> bool:
        """Whether forces that were read depend on how links are turned, and hold for one step."""
        return self._turning_forces or self._turning_weights

    @property
    def looks_at_state(self) -> bool:
        """Whether MuJoCo must be asked for lengths and moments before every step."""
        return self.linearized.any or self.evaluated_motors.any or self.shared_limits.any

    def read(self, table: Table, data: mujoco.MjData, activation: Floats) -> None:
        """Take over controls, applied forces, gravity, equalities and mocap poses.

        Parameters
        ----------
        table : Table
            The engine's, which is given them.
        data : mujoco.MjData
        activation : ndarray
            Activations of the state.

        Raises
        ------
        ModelError
            If an equality was switched on that is not supported.
        """
        check_equalities(self.model, data.eq_active)
        self._read_equalities(table, data)
        self._read_mocap(table, data)
        off = is_disabled(self.model, _FLAG.mjDSBL_GRAVITY)
        gravity = np.zeros(3) if off else self.model.opt.gravity
        table.links.gravity[:] = np.outer(self._gravity_shares, gravity)
        control = self._controls(data)
        self.shared_limits.release(table)
        self._motor_feed.feed(control, table)
        ahead = None
        if self.looks_at_state:
            state = self.linearized.evaluate(table.poses.qpos, table.poses.qvel)
            if self.linearized.any:
                ahead = self._configuration_ahead(table, data)
                self.linearized.refresh(table, state, *ahead)
            self.evaluated_motors.feed(table, state, control, activation, self._time_step)
            self.shared_limits.hold(table, state, control, activation, self._time_step)
        self._read_applied_forces(table, data, gravity, ahead)
        if self.sticky.any:
            self.sticky.pull(table, data)
        if self.jumps.found(data, control, table.time.last_step) and table.time.wait == 0:
            # Steps of implicit Euler, after an impact, need no past.
            table.time.has_history = table.time.smooth_steps = 0

    def _controls(self, data: mujoco.MjData) -> Floats:
        """Controls that have arrived, shape (nu,): those that are delayed are of before."""
        model, control = self.model, np.array(data.ctrl)
        for i in np.flatnonzero(model.actuator_delay):
            first, count = int(model.actuator_ctrladr[i]), int(model.actuator_ctrlnum[i])
            found = np.zeros(count)
            kept = mujoco.mj_readCtrl(
                model, data, i, data.time, found, model.actuator_history[i, 1]
            )
            control[first : first + count] = found if kept is None else kept
        return control

    def _read_equalities(self, table: Table, data: mujoco.MjData) -> None:
        """Switch constraints on and off; one that is off forgets its force."""
        off = is_disabled(self.model, _FLAG.mjDSBL_EQUALITY | _FLAG.mjDSBL_CONSTRAINT)
        if not len(self.gap_source):
            return
        active = np.append(data.eq_active.astype(bool) & (not off), True)
        # What is no equality is always on.
        on = active[np.maximum(self.gap_source, -1)]
        table.gaps.active[:] = on
        table.gaps.force_start[~on] = 0.0

    def _mocap_target(self, body: int, data: mujoco.MjData) -> tuple[Floats, Floats]:
        """Position [m] and quaternion that a mocap body shall have."""
        number = int(self.model.body_mocapid[body])
        quaternion = np.array(data.mocap_quat[number])
        norm = float(np.linalg.norm(quaternion))
        quaternion = quaternion / norm if norm > 0.0 else np.array([1.0, 0.0, 0.0, 0.0])
        return np.array(data.mocap_pos[number]), quaternion

    def mocap_targets(self, data: mujoco.MjData) -> list[tuple[Floats, Floats]]:
        """Positions [m] and quaternions that mocap bodies shall have."""
        return [self._mocap_target(body, data) for body in self._mocap_bodies]

    def _read_mocap(self, table: Table, data: mujoco.MjData) -> None:
        """Tell mocap bodies where to be at the end of the next step."""
        source = np.array([tie.source for tie in self.equalities.ties])
        for i, body in enumerate(self._mocap_bodies):
            position, quaternion = self._mocap_target(body, data)
            pose = np.concatenate([position, quaternion])
            if np.array_equal(pose, self.mocap_pose[i]):
                continue
            self.mocap_pose[i] = pose
            ties = source == -1 - int(self.model.body_mocapid[body])
            points = mocap_points(self.links, body, position, quaternion)
            table.ties.given[ties, 1, 1:] = points

    def _read_applied_forces(
        self,
        table: Table,
        data: mujoco.MjData,
        gravity: Floats,
        ahead: tuple[Floats, Floats, Floats] | None,
    ) -> None:
        """Take over applied forces, with `_configuration_ahead` where it is known."""
        model = self.model
        force = np.array(data.qfrc_applied) + self.shared_limits.change
        pushed = np.flatnonzero(np.any(data.xfrc_applied != 0.0, axis=1))
        turning = np.isin(model.dof_jntid, self._turning_joints)
        self._turning_forces = bool(np.any(force[turning]) or np.any(self._off_centre[pushed]))
        q = table.poses.q
        if self.turning:
            # What turns with links has, to second order, the axes that they end the step with.
            q = (ahead or self._configuration_ahead(table, data))[2]
        axes = q[: len(self.links.links), 1:]
        held = np.einsum("ni,nij->nj", self._held_moments, axes)
        table.forces.wrench[:, :3] = 0.0
        table.forces.wrench[:, 3:] = np.cross(gravity, held)
        table.joints.applied[:] = 0.0
        for body in pushed:
            link = int(self.links.body_link[body])
            if link >= 0 and self.links.links[link].twists:
                own = self.links.links[link]
                about = own.turn @ own.axis
                force[model.jnt_dofadr[own.joint]] += about @ data.xfrc_applied[body, 3:]
            elif link >= 0 and not self.links.links[link].is_mocap:
                centre = self.links.centre_of(model, int(body))
                arm = centre @ q[link, 1:]
                push, torque = data.xfrc_applied[body, :3], data.xfrc_applied[body, 3:]
                table.forces.wrench[link, :3] += push
                table.forces.wrench[link, 3:] += torque + np.cross(arm, push)
        self._spread(table, force, q)
        if self.fluid.is_there:
            qpos, qvel = self._state_ahead(table)
            drag, table.forces.drag, table.forces.drag_rate, turn = self.fluid.at(qpos, qvel)
            # What acts ahead has the axes that links have there.
            turned = q.copy()
            for i, own in enumerate(self.links.links):
                turned[i, 1:] = turn[model.jnt_bodyid[own.joint]].T
            self._spread(table, drag, turned)
        elif len(table.forces.drag) > 0:
            table.forces.drag = np.zeros((0, 12, 12))

    def _spread(self, table: Table, force: Floats, q: Floats) -> None:
        """Add generalized forces to those of joints and links, at a configuration of these."""
        if not np.any(force):
            return
        scalar = 0
        for i, link_ in enumerate(self.links.links):
            if link_.is_mocap:
                continue
            dof = int(self.model.jnt_dofadr[link_.joint])
            if link_.kind in (HINGE, SLIDE):
                table.joints.applied[scalar] += force[dof]
                scalar += 1
            else:
                _apply_to_link(table, i, link_, force[dof:], q)

    def _configuration_ahead(
        self, table: Table, data: mujoco.MjData
    ) -> tuple[Floats, Floats, Floats]:
        """Where velocities lead in a step: ``qpos``, variables and link coordinates."""
        qpos = np.array(table.poses.qpos)
        mujoco.mj_integratePos(self.model, qpos, table.poses.qvel, float(table.time.last_step))
        targets = self.mocap_targets(data)
        z, q = place(self.model, self.links, qpos, np.asarray(table.poses.qvel), targets)[:2]
        return qpos, z, q

    def _state_ahead(self, table: Table) -> tuple[Floats, Floats]:
        """Where the next step ends, if accelerations stay what they are, or the state at hand.

        Past an impact there are none to go by.
        """
        h = table.time.last_step
        if not (
            table.time.has_history and table.time.smooth_steps and table.time.wait == 0 and h > 0.0
        ):
            return table.poses.qpos, table.poses.qvel
        qpos = np.array(table.poses.qpos)
        mujoco.mj_integratePos(self.model, qpos, table.poses.qvel, h)
        return qpos, 2.0 * table.poses.qvel - table.poses.qvel_before


def _apply_to_link(table: Table, index: int, link: Link, force: Floats, q: Floats) -> None:
    """Applied force of a free or ball joint: in world axes at its origin, torque in its own."""
    axes = q[index, 1:]
    if link.kind == POINT:
        push = link.turn @ force[:3]
        if link.holder >= 0:
            # The joint is between the two.
            push = push @ q[link.holder, 1:]
            arm = q[index, 0] - q[link.holder, 0]
            table.forces.wrench[link.holder, :3] -= push
            table.forces.wrench[link.holder, 3:] -= np.cross(arm, push)
        table.forces.wrench[index, :3] += push
        return
    if link.kind == FREE:
        arm = -link.centre @ axes
        table.forces.wrench[index, :3] += force[:3]
        table.forces.wrench[index, 3:] += np.cross(arm, force[:3]) + force[3:6] @ axes
        return
    torque = force[:3] @ axes
    table.forces.wrench[index, 3:] += torque
    if link.parent >= 0:
        table.forces.wrench[link.parent, 3:] -= torque
