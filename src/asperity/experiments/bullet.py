"""MuJoCo models in PyBullet (extra ``peers``): the same bodies, joints, masses and shapes."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.errors import ModelError

__all__ = ["BulletWorld"]

Floats = NDArray[np.float64]

_GEOM, _JOINT = mujoco.mjtGeom, mujoco.mjtJoint
_CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
_MOST_PIECES = 16  # more would be left out without a word
_NO_LIMIT = 1e6  # [N], of a servo without an effort limit


class BulletWorld:
    """A model of free bodies and of trees on the world with one hinge or slide per body.

    Bullet multiplies coefficients of friction, so that each geom gets the root of its own; all are
    taken to be equal. Position actuators become Bullet's position motors with their effort limits,
    motors become forces. Everything else has PyBullet's defaults.

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

    Raises
    ------
    ModelError
        If PyBullet is not installed or the model has something that is not translated.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        *,
        hulls: bool = False,
        time_step: float = 1.0 / 240.0,
        solver_iterations: int = 50,
    ) -> None:
        try:
            import pybullet
            from pybullet_utils.bullet_client import BulletClient
        except ImportError:
            raise ModelError(
                "The comparison with Bullet needs PyBullet, which is not installed; "
                "pip install 'asperity[peers]'."
            ) from None
        self.model, self.time_step, self.time = model, time_step, 0.0
        self._hulls = hulls
        self._folder = tempfile.TemporaryDirectory()
        self._client: Any = BulletClient(connection_mode=pybullet.DIRECT)
        self._client.setGravity(*model.opt.gravity)
        self._client.setTimeStep(time_step)
        self._client.setPhysicsEngineParameter(numSolverIterations=solver_iterations)
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

    # -- shapes ------------------------------------------------------------------------------

    def _geoms(self, body: int) -> list[int]:
        first, count = int(self.model.body_geomadr[body]), int(self.model.body_geomnum[body])
        return [
            geom
            for geom in range(first, first + count)
            if self.model.geom_contype[geom] or self.model.geom_conaffinity[geom]
        ]

    def _shape(self, body: int) -> int:
        """Collision shape of a body's geoms, in its frame; −1 for none."""
        client, model = self._client, self.model
        geoms = self._geoms(body)
        if not geoms:
            return -1
        path = Path(self._folder.name) / f"body_{body}.obj"
        boxes = [g for g in geoms if not self._hulls and self._is_box(g)]
        meshes = [self._vertices(g) for g in geoms if g not in boxes]
        if meshes:
            path.write_text(_obj(meshes), encoding="utf-8")
        if not boxes:
            shape: int = client.createCollisionShape(client.GEOM_MESH, fileName=str(path))
            return shape
        # A list for every parameter of every piece, the meshes' as one.
        extra = [path] if meshes else []
        if len(boxes) + len(extra) > _MOST_PIECES:
            name = model.body(body).name
            raise ModelError(f"body {name!r} has more than {_MOST_PIECES} pieces for PyBullet.")
        pieces: int = client.createCollisionShapeArray(
            shapeTypes=[client.GEOM_BOX] * len(boxes) + [client.GEOM_MESH] * len(extra),
            halfExtents=[model.geom_size[g].tolist() for g in boxes] + [[0.0] * 3] * len(extra),
            fileNames=[""] * len(boxes) + [str(p) for p in extra],
            collisionFramePositions=[model.geom_pos[g].tolist() for g in boxes]
            + [[0.0] * 3] * len(extra),
            collisionFrameOrientations=[_quaternion(model.geom_quat[g]) for g in boxes]
            + [[0.0, 0.0, 0.0, 1.0]] * len(extra),
        )
        return pieces

    def _is_box(self, geom: int) -> bool:
        return bool(self.model.geom_type[geom] == _GEOM.mjGEOM_BOX)

    def _vertices(self, geom: int) -> Floats:
        """Vertices of a convex geom in its body's frame [m], shape (n, 3)."""
        model = self.model
        kind = int(model.geom_type[geom])
        if kind == _GEOM.mjGEOM_BOX:
            local = _CORNERS * model.geom_size[geom]
        elif kind == _GEOM.mjGEOM_MESH:
            mesh = int(model.geom_dataid[geom])
            first, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
            local = model.mesh_vert[first : first + count].astype(np.float64)
        else:
            raise ModelError(f"geom {geom} is neither box nor mesh and is not given to Bullet.")
        turn = np.zeros(9)
        mujoco.mju_quat2Mat(turn, model.geom_quat[geom])
        return np.asarray(local @ turn.reshape(3, 3).T + model.geom_pos[geom])

    # -- bodies ------------------------------------------------------------------------------

    def _add_world(self) -> None:
        """Geoms of the world and of bodies welded to it."""
        client, model = self._client, self.model
        for geom in self._geoms(0):
            if model.geom_type[geom] == _GEOM.mjGEOM_PLANE:
                turn = np.zeros(9)
                mujoco.mju_quat2Mat(turn, model.geom_quat[geom])
                shape = client.createCollisionShape(
                    client.GEOM_PLANE, planeNormal=turn.reshape(3, 3)[:, 2].tolist()
                )
                unique = client.createMultiBody(0, shape, basePosition=model.geom_pos[geom])
                friction = float(np.sqrt(model.geom_friction[geom, 0]))
                client.changeDynamics(unique, -1, lateralFriction=friction)
        if any(model.geom_type[g] != _GEOM.mjGEOM_PLANE for g in self._geoms(0)):
            planes = [g for g in self._geoms(0) if model.geom_type[g] == _GEOM.mjGEOM_PLANE]
            if planes:
                raise ModelError("Bullet is given a world of planes or of solids, not of both.")
            self._place[0] = (client.createMultiBody(0, self._shape(0)), -1)

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
                self._shape(root),
                basePosition=model.body_pos[root].tolist(),
                baseOrientation=_quaternion(model.body_quat[root]),
                baseInertialFramePosition=model.body_ipos[root].tolist(),
                baseInertialFrameOrientation=_quaternion(model.body_iquat[root]),
            )
            self._place[root] = (unique, -1)
            return
        number = {body: i for i, body in enumerate(members)}
        kinds = {int(_JOINT.mjJNT_HINGE): client.JOINT_REVOLUTE}
        kinds[int(_JOINT.mjJNT_SLIDE)] = client.JOINT_PRISMATIC
        joint = [self._joints(body)[0] for body in members]
        unique = client.createMultiBody(
            0,
            -1,
            linkMasses=[float(model.body_mass[b]) for b in members],
            linkCollisionShapeIndices=[self._shape(b) for b in members],
            linkVisualShapeIndices=[-1] * len(members),
            linkPositions=[model.body_pos[b].tolist() for b in members],
            linkOrientations=[_quaternion(model.body_quat[b]) for b in members],
            linkInertialFramePositions=[model.body_ipos[b].tolist() for b in members],
            linkInertialFrameOrientations=[_quaternion(model.body_iquat[b]) for b in members],
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
        geoms = self._geoms(body)
        if body:
            inertia = model.body_inertia[body].tolist()
            client.changeDynamics(unique, link, localInertiaDiagonal=inertia, jointDamping=0.0)
        if geoms:
            friction = float(np.sqrt(model.geom_friction[geoms[0], 0]))
            client.changeDynamics(unique, link, lateralFriction=friction)

    # -- motion ------------------------------------------------------------------------------

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
            client.setJointMotorControl2(
                unique,
                link,
                client.POSITION_CONTROL,
                targetPosition=float(control[i]),
                force=limit,
            )
        client.stepSimulation()
        self.time += self.time_step

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


def _quaternion(quat: Floats) -> list[float]:
    """MuJoCo's order (w first) to Bullet's (w last)."""
    w, x, y, z = (float(value) for value in quat)
    return [x, y, z, w]


def _matrix(client: Any, quaternion: Sequence[float]) -> Floats:
    return np.reshape(client.getMatrixFromQuaternion(quaternion), (3, 3))


def _obj(pieces: list[Floats]) -> str:
    """Convex pieces as objects of a Wavefront file; their triangles only name the vertices."""
    lines, first = [], 1
    for i, vertices in enumerate(pieces):
        lines.append(f"o piece_{i}")
        lines += [f"v {x:.9g} {y:.9g} {z:.9g}" for x, y, z in vertices]
        lines += [f"f {first} {first + k} {first + k + 1}" for k in range(1, len(vertices) - 1)]
        first += len(vertices)
    return "\n".join(lines) + "\n"
