"""Rapier, through its own loader of MJCF, in single precision.

Rapier keeps the pose of every body. MuJoCo's coordinates are those with which MuJoCo puts its
bodies where Rapier's are, by Gauss and Newton's iteration from the last ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np
import rapier3d
from rapier3d.loaders import mjcf

from studies.benchmarks.verification.case import Array, NotApplicable, World
from studies.peers.fixed_steps import FixedSteps, refusal_of

__all__ = ["RapierSimulate"]

ITERATIONS = 3


class RapierSimulate(FixedSteps):
    """Simulates worlds with Rapier, its other options as they come."""

    def scene(self, world: World, model: mujoco.MjModel) -> _Scene:
        """See `FixedSteps`."""
        if world.every_friction:
            raise NotApplicable("no friction but that of sliding")
        if np.any(model.eq_type == mujoco.mjtEq.mjEQ_JOINT):
            raise NotApplicable("no coupled joints")
        if np.any(model.body_jntnum[model.body_dofnum > 0] > 1):
            raise NotApplicable("bodies with one joint")  # it puts bodies of its own between them
        options = mjcf.MjcfLoaderOptions(skip_plane_geoms=False)
        try:
            robot, _ = mjcf.MjcfRobot.from_str(world.xml, options)
        except Exception as error:
            raise refusal_of(error) from error
        scene = rapier3d.PhysicsWorld()
        scene.gravity = rapier3d.Vec3(*model.opt.gravity)
        handles = robot.insert_using_impulse_joints(
            scene.rigid_bodies, scene.colliders, scene.impulse_joints
        )
        _set_contact(scene, world)
        scene.integration_parameters.dt = self.time_step
        if len(handles.bodies) != model.nbody:
            raise NotApplicable("it makes other bodies")
        return _Scene(model, scene, handles)


def _set_contact(scene: Any, world: World) -> None:
    """Restitution where the world is elastic, and the softness that it gives MuJoCo."""
    contact = world.contact
    if contact.dissipation == 0.0:
        for _, collider in scene.colliders:
            collider.restitution = 1.0
    elif contact.solref is not None:
        time, ratio = contact.solref
        if time <= 0.0:
            raise NotApplicable("its restitution does not depend on the speed")
        frequency = 1.0 / (2.0 * np.pi * time * ratio)
        softness = rapier3d.SpringCoefficients(frequency, ratio)
        scene.integration_parameters.contact_softness = softness
        scene.integration_parameters.static_contact_softness = softness


class _Scene:
    """A `Scene`: between MuJoCo's coordinates and the poses and velocities of Rapier's bodies."""

    def __init__(self, model: mujoco.MjModel, scene: Any, robot: Any) -> None:
        self.model, self.data = model, mujoco.MjData(model)
        self._scene, self._robot, self._bodies = scene, robot, scene.rigid_bodies
        self._handles = handles = [None if one is None else one.body for one in robot.bodies]
        moving = np.flatnonzero(model.body_weldid != 0).tolist()
        self._moving = [body for body in moving if handles[body] is not None]
        self._jacobian = np.zeros((6 * len(self._moving), model.nv))
        free = model.jnt_type == mujoco.mjtJoint.mjJNT_FREE
        self._free = bool(np.all(free) and not np.any(model.body_ipos[model.jnt_bodyid]))

    def begin(self, qpos: Array, qvel: Array) -> tuple[Array, Array]:
        """See `Scene`."""
        data = self.data
        data.qpos[:], data.qvel[:] = qpos, qvel
        for body in self._moving:
            own = self._bodies[self._handles[body]]
            self._derive(body, 0)
            velocity = self._jacobian[:6] @ data.qvel
            turned = rapier3d.Rotation3(*map(float, data.xquat[body]))
            own.position = rapier3d.Isometry3(rapier3d.Vec3(*data.xpos[body]), turned)
            own.linvel = rapier3d.Vec3(*velocity[:3])  # of the centre of mass
            own.angvel = rapier3d.Vec3(*velocity[3:])
        return qpos, qvel  # it derives centres of mass in its first step

    def control(self, values: Sequence[float] | Array) -> None:
        """See `Scene`."""
        given = [float(one) for one in values]
        self._robot.apply_controls(self._bodies, self._scene.impulse_joints, given)

    def push(self, name: str, force: Sequence[float]) -> None:
        """See `Scene`."""
        body = self._bodies[self._handles[self.model.body(name).id]]
        body.reset_forces(True)
        body.reset_torques(True)
        body.add_force(rapier3d.Vec3(*force[:3]), True)
        body.add_torque(rapier3d.Vec3(*force[3:]), True)

    def step(self) -> None:
        """See `Scene`."""
        self._scene.step()

    def _derive(self, body: int, row: int) -> None:
        """How a body's centre of mass moves and how it turns, by MuJoCo's velocities."""
        model, data = self.model, self.data
        if row == 0:
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
        part = self._jacobian[row : row + 6]
        mujoco.mj_jacBodyCom(model, data, part[:3], part[3:], body)

    def read(self) -> tuple[Array, Array]:
        """The coordinates of MuJoCo that come nearest."""
        if self._free:
            return self._read_free()
        data = self.data
        velocity = np.zeros(6 * len(self._moving))
        apart = np.zeros_like(velocity)
        for iteration in range(ITERATIONS):
            for i, body in enumerate(self._moving):
                own = self._bodies[self._handles[body]]
                self._derive(body, 6 * i)
                velocity[6 * i : 6 * i + 6] = [*own.linvel, *own.angvel]
                apart[6 * i : 6 * i + 6] = self._apart(body, own)
            if iteration + 1 < ITERATIONS:
                step = np.linalg.lstsq(self._jacobian, apart, rcond=None)[0]
                mujoco.mj_integratePos(self.model, data.qpos, step, 1.0)
        data.qvel[:] = np.linalg.lstsq(self._jacobian, velocity, rcond=None)[0]
        return data.qpos.copy(), data.qvel.copy()

    def _read_free(self) -> tuple[Array, Array]:
        """Of free bodies whose frames are in their centres of mass: what Rapier has."""
        positions, velocities = [], []
        for body in self._moving:
            own = self._bodies[self._handles[body]]
            turned = own.rotation
            positions += [*own.translation, turned.w, turned.i, turned.j, turned.k]
            velocities += [*own.linvel, *turned.inverse().transform_vector(own.angvel)]
        return np.array(positions), np.array(velocities)

    def _apart(self, body: int, own: Any) -> Array:
        """From MuJoCo's pose of a body to Rapier's: shift of its centre of mass, and turn."""
        turn = np.zeros(3)
        rotation = own.rotation
        seen = np.array([rotation.w, rotation.i, rotation.j, rotation.k], dtype=np.float64)
        back = np.zeros(4)
        mujoco.mju_negQuat(back, self.data.xquat[body])
        mujoco.mju_mulQuat(back, seen / np.linalg.norm(seen), back)
        mujoco.mju_quat2Vel(turn, back, 1.0)
        return np.concatenate([np.array(list(own.center_of_mass)) - self.data.xipos[body], turn])
