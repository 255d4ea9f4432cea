"""Energy and momentum of some kinematic trees in other positions, without evaluating those.

Bodies' velocities go from parents to children in MuJoCo's order of joints (its documentation,
“Kinematics”). What trees hang on does not move, so that only its orientation plays a part.
"""

from __future__ import annotations

import mujoco
import numpy as np

from asperity.compiled import Table, compiled, inlined
from asperity.plant.model.armature import armature_of_dofs
from asperity.plant.model.joints import integers
from asperity.plant.model.model_view import remembered
from asperity.plant.rotations import (
    Quaternion,
    Vector,
    cross,
    plus,
    quaternion_at,
    times,
    turned,
    turned_back,
    unit_quaternion,
)

__all__ = [
    "INERTIA",
    "MOMENT",
    "MOMENTUM",
    "MOTION_SIZE",
    "SPIN",
    "motion_of_trees",
    "set_motions",
]

# Where `motion_of_trees` writes what.
MOMENTUM, SPIN, INERTIA, MOMENT, MOTION_SIZE = 1, 4, 7, 13, 16

_FREE = int(mujoco.mjtJoint.mjJNT_FREE)
_BALL = int(mujoco.mjtJoint.mjJNT_BALL)
_SLIDE = int(mujoco.mjtJoint.mjJNT_SLIDE)


@remembered
def set_motions(table: Table, model: mujoco.MjModel) -> None:
    """Fill the table with what `motion_of_trees` reads."""
    table.bodies.pos = np.array(model.body_pos, np.float64)
    table.bodies.quat = np.array(model.body_quat, np.float64)
    table.bodies.ipos = np.array(model.body_ipos, np.float64)
    table.bodies.iquat = np.array(model.body_iquat, np.float64)
    table.bodies.mass = np.array(model.body_mass, np.float64)
    table.bodies.inertia = np.array(model.body_inertia, np.float64)
    table.dofs.armature = armature_of_dofs(model)
    table.bodies.joint = integers(model.body_jntadr)
    table.bodies.joints = integers(model.body_jntnum)
    table.joints.qpos = integers(model.jnt_qposadr)
    table.joints.pos = np.array(model.jnt_pos, np.float64)
    table.joints.axis = np.array(model.jnt_axis, np.float64)
    table.joints.reference_qpos = np.array(model.qpos0, np.float64)
    table.trees.centre = _centres(table)


def _centres(table: Table) -> np.ndarray:
    """Centres of mass of free bodies in the frames of their joints, shape (trees, 3) [m]."""
    bodies, trees = table.bodies, table.trees
    centres = np.zeros((table.ntree, 3))
    for tree in np.flatnonzero(trees.spatial).tolist():
        root, count = int(trees.body[tree]), int(trees.bodies[tree])
        if count == 1:
            centres[tree] = bodies.ipos[root]
            continue
        # Others hang on the one without a joint.
        places = {root: (np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))}
        moment, mass, arm = np.zeros(3), 0.0, np.zeros(3)
        for body in range(root, root + count):
            if body != root:
                at, quat = places[int(bodies.parent[body])]
                own = np.zeros(4)
                mujoco.mju_rotVecQuat(arm, bodies.pos[body], quat)
                mujoco.mju_mulQuat(own, quat, bodies.quat[body])
                places[body] = (at + arm, own)
            at, quat = places[body]
            mujoco.mju_rotVecQuat(arm, bodies.ipos[body], quat)
            moment += bodies.mass[body] * (at + arm)
            mass += float(bodies.mass[body])
        centres[tree] = moment / mass
    return centres


@inlined
def _at(rows: np.ndarray, i: int) -> Vector:
    return rows[i, 0], rows[i, 1], rows[i, 2]


@compiled
def _move_joint(
    plant: Table,
    joint: int,
    qpos: np.ndarray,
    qvel: np.ndarray,
    pose: tuple[Vector, Quaternion, Vector, Vector],
) -> tuple[Vector, Quaternion, Vector, Vector]:
    """Position, orientation, angular velocity and velocity of a body after a joint of it."""
    joints = plant.joints
    pos, quat, spin, speed = pose
    kind = joints.type[joint]
    at = joints.qpos[joint]
    dof = joints.dof[joint]
    if kind == _FREE:
        quat = unit_quaternion(qpos, at + 3)
        spin = turned(quat, (qvel[dof + 3], qvel[dof + 4], qvel[dof + 5]))
        return (
            (qpos[at], qpos[at + 1], qpos[at + 2]),
            quat,
            spin,
            (
                qvel[dof],
                qvel[dof + 1],
                qvel[dof + 2],
            ),
        )
    local = _at(joints.axis, joint)
    if kind == _SLIDE:
        axis = turned(quat, local)
        way = qpos[at] - joints.reference_qpos[at]
        speed = plus(plus(speed, axis, qvel[dof]), cross(spin, axis), way)
        return plus(pos, axis, way), quat, spin, speed
    anchor = _at(joints.pos, joint)
    arm = turned(quat, anchor)
    pos = plus(pos, arm, 1.0)
    speed = plus(speed, cross(spin, arm), 1.0)
    if kind == _BALL:
        quat = times(quat, unit_quaternion(qpos, at))
        gained = turned(quat, (qvel[dof], qvel[dof + 1], qvel[dof + 2]))
        spin = plus(spin, gained, 1.0)
    else:
        half = 0.5 * (qpos[at] - joints.reference_qpos[at])
        sine = np.sin(half)
        turn = (np.cos(half), sine * local[0], sine * local[1], sine * local[2])
        quat = times(quat, turn)
        spin = plus(spin, turned(quat, local), qvel[dof])
    arm = turned(quat, anchor)
    return plus(pos, arm, -1.0), quat, spin, plus(speed, cross(spin, arm), -1.0)


@compiled
def _write(motion: np.ndarray, pose: tuple[Vector, Quaternion, Vector, Vector]) -> None:
    pos, quat, spin, speed = pose
    for a in range(3):
        motion[a] = pos[a]
        motion[7 + a] = spin[a]
        motion[10 + a] = speed[a]
    for a in range(4):
        motion[3 + a] = quat[a]


@compiled
def _move(
    plant: Table, state: Table, motion: np.ndarray, body: int, qpos: np.ndarray, qvel: np.ndarray
) -> None:
    """Fill a body's pose and velocity from those of its parent."""
    bodies = plant.bodies
    parent = bodies.parent[body]
    pos = (0.0, 0.0, 0.0)
    quat = quaternion_at(state.mj_xquat, parent)
    spin = pos
    speed = pos
    if bodies.tree[parent] >= 0:
        m = motion[parent]
        pos = (m[0], m[1], m[2])
        quat = (m[3], m[4], m[5], m[6])
        spin = (m[7], m[8], m[9])
        speed = (m[10], m[11], m[12])
    arm = turned(quat, _at(bodies.pos, body))
    pos = plus(pos, arm, 1.0)
    speed = plus(speed, cross(spin, arm), 1.0)
    quat = times(quat, quaternion_at(bodies.quat, body))
    pose = (pos, quat, spin, speed)
    first = bodies.joint[body]
    for joint in range(first, first + bodies.joints[body]):
        pose = _move_joint(plant, joint, qpos, qvel, pose)
    _write(motion[body], pose)


@inlined
def _principal(motion: np.ndarray, plant: Table, body: int) -> Quaternion:
    """Orientation of a body's principal axes of inertia."""
    return times(
        (motion[3], motion[4], motion[5], motion[6]), quaternion_at(plant.bodies.iquat, body)
    )


@compiled
def _add_inertia(
    axes: Quaternion, inertia: np.ndarray, mass: float, r: Vector, out: np.ndarray
) -> None:
    """Add a body's inertia about the reference point."""
    for a in range(3):
        unit = (1.0 if a == 0 else 0.0, 1.0 if a == 1 else 0.0, 1.0 if a == 2 else 0.0)
        x, y, z = turned(axes, unit)
        out[INERTIA] += inertia[a] * x * x
        out[INERTIA + 1] += inertia[a] * y * y
        out[INERTIA + 2] += inertia[a] * z * z
        out[INERTIA + 3] += inertia[a] * x * y
        out[INERTIA + 4] += inertia[a] * x * z
        out[INERTIA + 5] += inertia[a] * y * z
    x, y, z = r
    out[INERTIA] += mass * (y * y + z * z)
    out[INERTIA + 1] += mass * (x * x + z * z)
    out[INERTIA + 2] += mass * (x * x + y * y)
    out[INERTIA + 3] -= mass * x * y
    out[INERTIA + 4] -= mass * x * z
    out[INERTIA + 5] -= mass * y * z


@compiled
def motion_of_trees(
    plant: Table,
    state: Table,
    marked: np.ndarray,
    qpos: np.ndarray,
    qvel: np.ndarray,
    out: np.ndarray,
) -> None:
    """Fill what marked trees' bodies have of energy, momentum and mass.

    Parameters
    ----------
    plant, state : Table
        The state lends memory, and the poses of what does not move.
    marked : array of int64, shape (ntree,)
        Not 0 for the trees that are wanted.
    qpos, qvel : array
        Shapes (nq,) and (nv,).
    out : array, shape (ntree, 16)
        Twice the kinetic energy, with joints' armature [J]; from `MOMENTUM` on momentum [kg m/s],
        from `SPIN` angular momentum [kg m²/s], from `INERTIA` the inertia (xx, yy, zz, xy, xz, yz)
        [kg m²], and from `MOMENT` mass times position [kg m], in world axes about the position of
        the first body, or, of trees that hang on something, of what their first body hangs on.
    """
    bodies = plant.bodies
    motion = state.work.body_motion
    previous = -1
    origin = (0.0, 0.0, 0.0)
    for body in range(1, plant.nbody):
        tree = bodies.tree[body]
        if tree < 0 or marked[tree] == 0:
            continue
        _move(plant, state, motion, body, qpos, qvel)
        m = motion[body]
        if tree != previous:
            previous = tree
            origin = (0.0, 0.0, 0.0)
            if plant.trees.floats[tree]:
                origin = (m[0], m[1], m[2])
            for k in range(out.shape[1]):
                out[tree, k] = 0.0
        quat = (m[3], m[4], m[5], m[6])
        spin = (m[7], m[8], m[9])
        arm = turned(quat, _at(bodies.ipos, body))
        v = plus((m[10], m[11], m[12]), cross(spin, arm), 1.0)
        r = plus(plus((m[0], m[1], m[2]), arm, 1.0), origin, -1.0)
        axes = _principal(m, plant, body)
        own = turned_back(axes, spin)
        mass = bodies.mass[body]
        inertia = bodies.inertia[body]
        mine = out[tree]
        dof = bodies.dof[body]
        for i in range(dof, dof + bodies.dofs[body]):
            mine[0] += plant.dofs.armature[i] * qvel[i] * qvel[i]
        mine[0] += mass * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
        for a in range(3):
            mine[0] += inertia[a] * own[a] * own[a]
            mine[MOMENT + a] += mass * r[a]
        if plant.trees.floats[tree]:
            turning = turned(axes, (inertia[0] * own[0], inertia[1] * own[1], inertia[2] * own[2]))
            turning = plus(turning, cross(r, v), mass)
            for a in range(3):
                mine[MOMENTUM + a] += mass * v[a]
                mine[SPIN + a] += turning[a]
            _add_inertia(axes, inertia, mass, r, mine)
