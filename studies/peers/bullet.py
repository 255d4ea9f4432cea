"""MuJoCo models in PyBullet (extra ``peers``): the same bodies, joints, masses and shapes."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.errors import MissingExtra, ModelError
from studies.peers.bullet_shapes import BulletShapes, bullet_quaternion, collision_geoms
from studies.peers.engine import Control

__all__ = ["BulletWorld"]

Floats = NDArray[np.float64]

_GEOM, _JOINT = mujoco.mjtGeom, mujoco.mjtJoint
_NO_LIMIT = 1e6  # [N], of a servo without an effort limit


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Keep back what C writes to the standard output: Bullet greets every world with a line."""
    flush = ctypes.CDLL(None).fflush
    sys.stdout.flush()
    flush(None)
    kept = os.dup(1)
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 1)
        yield
        flush(None)
    finally:
        os.dup2(kept, 1)
        os.close(kept)


class BulletWorld:
    """A model of free bodies and of trees on the world with one hinge or slide per body.

    Bullet multiplies coefficients of friction, so that each geom gets the root of its own, which is
    right where all are equal; `set_friction` is for others. Position and velocity actuators become
    Bullet's motors with their effort limits, motors become forces. Everything else has PyBullet's
    defaults.

    Parameters
    ----------
    model : mujoco.MjModel
    hulls : bool
        Whether boxes, too, are given as convex meshes, as those of mesh files are: Bullet puts a
        margin of 1 mm around these, and none around boxes.
    time_step : float
        [s].
    solver_iterations : int
        Sweeps of Bullet's solver per step.
    control : callable, optional
        See `Control`.
    concave : bool
        Whether meshes of what cannot move are given as they are, and not by their convex hulls.

    Raises
    ------
    ModelError, MissingExtra
        If PyBullet is not installed or the model has something that is not translated.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        *,
        hulls: bool = False,
        time_step: float = 1.0 / 240.0,
        solver_iterations: int = 50,
        concave: bool = False,
        control: Control = lambda time: np.zeros(0),
    ) -> None:
        try:
            import pybullet
            from pybullet_utils.bullet_client import BulletClient
        except ImportError:
            raise MissingExtra(
                "The comparison with Bullet needs PyBullet, which is not installed; "
                "pip install 'asperity[peers]'."
            ) from None
        self.model, self.time_step, self.time = model, time_step, 0.0
        self.control = control
        self._folder = tempfile.TemporaryDirectory()
        with _silent():
            self._client: Any = BulletClient(connection_mode=pybullet.DIRECT)
        self._client.setGravity(*model.opt.gravity)
        self._client.setTimeStep(time_step)
        self._client.setPhysicsEngineParameter(numSolverIterations=solver_iterations)
        self._shapes = BulletShapes(self._client, model, self._folder.name, hulls, concave)
        self._place: dict[int, tuple[int, int]] = {}
        self._add_world()
        for body in range(1, model.nbody):
            if model.body_parentid[body] == 0:
                self._add_tree(body)
        for body, (unique, link) in self._place.items():
            self._set_dynamics(body, unique, link)

    def __enter__(self) -> BulletWorld:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._client.disconnect()
        self._folder.cleanup()

    # -- bodies ------------------------------------------------------------------------------

    def _add_world(self) -> None:
        """Geoms of the world and of bodies welded to it."""
        client, model = self._client, self.model
        for geom in collision_geoms(model, 0):
            if model.geom_type[geom] == _GEOM.mjGEOM_PLANE:
                turn = np.zeros(9)
                mujoco.mju_quat2Mat(turn, model.geom_quat[geom])
                shape = client.createCollisionShape(
                    client.GEOM_PLANE, planeNormal=turn.reshape(3, 3)[:, 2].tolist()
                )
                unique = client.createMultiBody(0, shape, basePosition=model.geom_pos[geom])
                friction = float(np.sqrt(model.geom_friction[geom, 0]))
                client.changeDynamics(unique, -1, lateralFriction=friction)
        if any(model.geom_type[g] != _GEOM.mjGEOM_PLANE for g in collision_geoms(model, 0)):
            planes = [
                g for g in collision_geoms(model, 0) if model.geom_type[g] == _GEOM.mjGEOM_PLANE
            ]
            if planes:
                raise ModelError("Bullet is given a world of planes or of solids, not of both.")
            self._place[0] = (client.createMultiBody(0, self._shapes.of(0)), -1)

    def _add_tree(self, root: int) -> None:
        model, client = self.model, self._client
        joints = self._joints(root)
        members = [b for b in range(root, model.nbody) if model.body_rootid[b] == root]
        if not joints or model.jnt_type[joints[0]] == _JOINT.mjJNT_FREE:
            if len(members) > 1:
                raise ModelError("Bullet is given trees on the world and free bodies only.")
            mass = float(model.body_mass[root]) if joints else 0.0
            unique = client.createMultiBody(
                mass,
                self._shapes.of(root),
                basePosition=model.body_pos[root].tolist(),
                baseOrientation=bullet_quaternion(model.body_quat[root]),
                baseInertialFramePosition=model.body_ipos[root].tolist(),
                baseInertialFrameOrientation=bullet_quaternion(model.body_iquat[root]),
            )
            self._place[root] = (unique, -1)
            return
        turning = any(
            model.jnt_type[j] != _JOINT.mjJNT_SLIDE for b in members for j in self._joints(b)
        )
        if turning and any(model.body_gravcomp[b] for b in members):
            raise ModelError("Bullet is given weightless bodies on slides only.")
        number = {body: i for i, body in enumerate(members)}
        kinds = {int(_JOINT.mjJNT_HINGE): client.JOINT_REVOLUTE}
        kinds[int(_JOINT.mjJNT_SLIDE)] = client.JOINT_PRISMATIC
        joint = [self._joints(body)[0] for body in members]
        unique = client.createMultiBody(
            0,
            -1,
            linkMasses=[float(model.body_mass[b]) for b in members],
            linkCollisionShapeIndices=[self._shapes.of(b) for b in members],
            linkVisualShapeIndices=[-1] * len(members),
            linkPositions=[model.body_pos[b].tolist() for b in members],
            linkOrientations=[bullet_quaternion(model.body_quat[b]) for b in members],
            linkInertialFramePositions=[model.body_ipos[b].tolist() for b in members],
            linkInertialFrameOrientations=[bullet_quaternion(model.body_iquat[b]) for b in members],
            # Bullet counts links from 1 here, 0 being the base.
            linkParentIndices=[number.get(int(model.body_parentid[b]), -1) + 1 for b in members],
            linkJointTypes=[kinds[int(model.jnt_type[j])] for j in joint],
            linkJointAxis=[model.jnt_axis[j].tolist() for j in joint],
        )
        for body, j in zip(members, joint, strict=True):
            link = number[body]
            self._place[body] = (unique, link)
            # PyBullet starts every joint with a velocity motor that brakes it.
            client.setJointMotorControl2(unique, link, client.VELOCITY_CONTROL, force=0.0)
            if model.jnt_limited[j]:
                low, high = model.jnt_range[j].tolist()
                client.changeDynamics(unique, link, jointLowerLimit=low, jointUpperLimit=high)

    def _joints(self, body: int) -> list[int]:
        first, count = int(self.model.body_jntadr[body]), int(self.model.body_jntnum[body])
        if count > 1 or (count and np.any(self.model.jnt_pos[first] != 0.0)):
            raise ModelError(f"body {body}: Bullet is given one joint per body, at its origin.")
        return list(range(first, first + count))

    def _set_dynamics(self, body: int, unique: int, link: int) -> None:
        client, model = self._client, self.model
        client.changeDynamics(unique, link, linearDamping=0.0, angularDamping=0.0)
        geoms = collision_geoms(model, body)
        if body:
            inertia = model.body_inertia[body].tolist()
            client.changeDynamics(unique, link, localInertiaDiagonal=inertia, jointDamping=0.0)
        if geoms:
            friction = float(np.sqrt(model.geom_friction[geoms[0], 0]))
            client.changeDynamics(unique, link, lateralFriction=friction)

    # -- motion ------------------------------------------------------------------------------

    def advance(self, time: float) -> None:
        """Simulate up to a time [s], to half a step."""
        while self.time < time - 0.5 * self.time_step:
            self.step(self.control(self.time))

    def step(self, control: Floats) -> None:
        """Advance by one step with these controls."""
        client, model = self._client, self.model
        for i in range(model.nu):
            body = int(model.jnt_bodyid[model.actuator_trnid[i, 0]])
            unique, link = self._place[body]
            if model.actuator_biastype[i] == mujoco.mjtBias.mjBIAS_NONE:
                force = float(control[i] * model.actuator_gear[i, 0])
                client.setJointMotorControl2(unique, link, client.TORQUE_CONTROL, force=force)
                continue
            limited = bool(model.actuator_forcelimited[i])
            limit = float(model.actuator_forcerange[i, 1]) if limited else _NO_LIMIT
            if model.actuator_biasprm[i, 1] == 0.0:
                client.setJointMotorControl2(
                    unique,
                    link,
                    client.VELOCITY_CONTROL,
                    targetVelocity=float(control[i]),
                    force=limit,
                )
                continue
            client.setJointMotorControl2(
                unique, link, client.POSITION_CONTROL, targetPosition=float(control[i]), force=limit
            )
        for body, (unique, link) in self._place.items():
            if model.body_gravcomp[body]:
                # At the centre of mass, whose frame does not turn, see `_add_tree`.
                lift = (
                    -model.body_mass[body] * model.body_gravcomp[body] * model.opt.gravity
                ).tolist()
                client.applyExternalForce(unique, link, lift, [0.0, 0.0, 0.0], client.LINK_FRAME)
        client.stepSimulation()
        self.time += self.time_step

    def place(self, qpos: Floats) -> None:
        """Put all bodies, at rest, where positions of the model say, shape (nq,)."""
        client, model = self._client, self.model
        for body, (unique, link) in self._place.items():
            for joint in self._joints(body) if body else ():
                at = int(model.jnt_qposadr[joint])
                if link >= 0:
                    client.resetJointState(unique, link, float(qpos[at]), 0.0)
                    continue
                place, turn = qpos[at : at + 3].copy(), qpos[at + 3 : at + 7].copy()
                mujoco.mju_rotVecQuat(centre := np.zeros(3), model.body_ipos[body], turn)
                mujoco.mju_mulQuat(turned := np.zeros(4), turn, model.body_iquat[body])
                client.resetBasePositionAndOrientation(
                    unique, (place + centre).tolist(), bullet_quaternion(turned)
                )
                client.resetBaseVelocity(unique, [0.0] * 3, [0.0] * 3)
        self.time = 0.0

    def positions(self) -> Floats:
        """Where joints and free bodies are, as in ``qpos``, shape (nq,)."""
        client, model = self._client, self.model
        qpos = model.qpos0.copy()
        position, rotation = self.poses()
        for body, (unique, link) in self._place.items():
            for joint in self._joints(body) if body else ():
                at = int(model.jnt_qposadr[joint])
                if link >= 0:
                    qpos[at] = client.getJointState(unique, link)[0]
                    continue
                qpos[at : at + 3] = position[body]
                mujoco.mju_mat2Quat(qpos[at + 3 : at + 7], rotation[body].ravel())
        return np.asarray(qpos)

    def position_of(self, body: int) -> Floats:
        """Where a free body is whose centre of mass is its origin [m], shape (3,)."""
        unique, _ = self._place[body]
        return np.array(self._client.getBasePositionAndOrientation(unique)[0])

    def set_friction(self, coefficients: Mapping[str, float]) -> None:
        """Give bodies, by name, coefficients of which Bullet takes products."""
        for name, value in coefficients.items():
            unique, link = self._place[self.model.body(name).id]
            self._client.changeDynamics(unique, link, lateralFriction=float(value))

    def set_contacts(
        self, *, erp: float | None, slop: float | None, breaking_distance: float
    ) -> None:
        """Set how contacts are solved.

        Parameters
        ----------
        erp, slop : float, optional
            Share of an overlap that is corrected per step, and overlap that is let be [m];
            PyBullet's own by default.
        breaking_distance : float
            At which a contact point is given up [m]. Bullet has one for all worlds of a process,
            so that it is to be set again before another one goes on.
        """
        given = {"contactERP": erp, "contactSlop": slop}
        given["contactBreakingThreshold"] = breaking_distance
        known = {name: value for name, value in given.items() if value is not None}
        self._client.setPhysicsEngineParameter(**known)

    def set_margin(self, margin: float) -> None:
        """Give all shapes a collision margin [m]."""
        for unique, link in self._place.values():
            self._client.changeDynamics(unique, link, collisionMargin=margin)

    def poses(self) -> tuple[Floats, Floats]:
        """Origins and rotations of all bodies, shapes (nbody, 3) and (nbody, 3, 3)."""
        client, model = self._client, self.model
        position = np.zeros((model.nbody, 3))
        rotation = np.tile(np.eye(3), (model.nbody, 1, 1))
        for body, (unique, link) in self._place.items():
            if body == 0:
                continue
            if link >= 0:
                state = client.getLinkState(unique, link, computeForwardKinematics=1)
                position[body], rotation[body] = state[4], _matrix(client, state[5])
                continue
            # Of a base, Bullet tells the inertial frame.
            centre, quat = client.getBasePositionAndOrientation(unique)
            turn = np.zeros(9)
            mujoco.mju_quat2Mat(turn, model.body_iquat[body])
            rotation[body] = _matrix(client, quat) @ turn.reshape(3, 3).T
            position[body] = centre - rotation[body] @ model.body_ipos[body]
        return position, rotation


def _matrix(client: Any, quaternion: Sequence[float]) -> Floats:
    return np.reshape(client.getMatrixFromQuaternion(quaternion), (3, 3))
