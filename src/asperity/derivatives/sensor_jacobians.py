"""Derivatives of kinematic sensors in closed form.

Places and directions have MuJoCo's Jacobians. The derivative of a velocity by a position needs
those of the motion axes: with the axis S_k of degree of freedom k and the velocity V of a body,
both spatial, of one fixed point, and V_k the velocity before the joint of k,

    ∂V/∂q_k = S_k × (V − V_k),

because a displacement of the joint turns and shifts all that comes after it (Featherstone, Rigid
Body Dynamics Algorithms, 2008, section 2.8: the cross product of motion vectors).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import mujoco
import numpy as np

from asperity.derivatives.tangent_space import skew

__all__ = ["closed_rows"]

_SENSOR, _OBJECT = mujoco.mjtSensor, mujoco.mjtObj
_SIMPLE = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))
_ONE_JOINT = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))

Rows = tuple[np.ndarray, np.ndarray]
"""By position and by velocity, shape (values, nv) each."""


@dataclass(frozen=True, slots=True)
class _Frame:
    """A frame that moves with a body; (3, nv) matrices but for the first two."""

    body: int
    point: np.ndarray
    matrix: np.ndarray
    moves: np.ndarray
    turns: np.ndarray


@dataclass(frozen=True, slots=True)
class _Velocity:
    """A frame's velocity in the world and its derivatives by position, (3,) and (3, nv)."""

    linear: np.ndarray
    angular: np.ndarray
    linear_change: np.ndarray
    angular_change: np.ndarray


def closed_rows(model: mujoco.MjModel, data: mujoco.MjData) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives of those sensors that have them in closed form.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.
    data : mujoco.MjData
        With kinematics, velocities of bodies, and ``sensordata`` of its state.

    Returns
    -------
    tuple of ndarray
        By position and velocity, shape (nsensordata, 2 nv), and which sensors they are of,
        shape (nsensor,). Rows of others are zero.
    """
    nv = model.nv
    columns = np.zeros((model.nsensordata, 2 * nv))
    closed = np.zeros(model.nsensor, dtype=bool)
    for sensor in range(model.nsensor):
        function = _ROWS.get(int(model.sensor_type[sensor]))
        rows = None
        if function is not None and not _has_tracking_camera(model, sensor):
            rows = function(model, data, sensor)
        if rows is None:
            continue
        closed[sensor] = True
        first = int(model.sensor_adr[sensor])
        last = first + int(model.sensor_dim[sensor])
        columns[first:last, :nv], columns[first:last, nv:] = rows
        cutoff = model.sensor_cutoff[sensor]
        if cutoff > 0.0:
            columns[first:last][np.abs(data.sensordata[first:last]) >= cutoff] = 0.0
    return columns, closed


def _has_tracking_camera(model: mujoco.MjModel, sensor: int) -> bool:
    """Whether a sensor is of, or relative to, a camera that does not move with its body."""
    for kind, index in (
        (model.sensor_objtype[sensor], model.sensor_objid[sensor]),
        (model.sensor_reftype[sensor], model.sensor_refid[sensor]),
    ):
        is_camera = kind == int(_OBJECT.mjOBJ_CAMERA) and index >= 0
        if is_camera and model.cam_mode[index] != int(mujoco.mjtCamLight.mjCAMLIGHT_FIXED):
            return True
    return False


def _cross(columns: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Each column times a vector, shape (3, n) or (3,)."""
    return -skew(vector) @ columns


def _row_products(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Cross products of rows, shape (n, 3); ``np.cross`` takes much longer for so few."""
    ahead, after = [1, 2, 0], [2, 0, 1]
    return first[:, ahead] * second[:, after] - first[:, after] * second[:, ahead]


def _frame(model: mujoco.MjModel, data: mujoco.MjData, kind: int, index: int) -> _Frame:
    if kind == _OBJECT.mjOBJ_BODY:
        body, point, matrix = index, data.xipos[index], data.ximat[index]
    elif kind == _OBJECT.mjOBJ_XBODY:
        body, point, matrix = index, data.xpos[index], data.xmat[index]
    elif kind == _OBJECT.mjOBJ_GEOM:
        body, point, matrix = model.geom_bodyid[index], data.geom_xpos[index], data.geom_xmat[index]
    elif kind == _OBJECT.mjOBJ_SITE:
        body, point, matrix = model.site_bodyid[index], data.site_xpos[index], data.site_xmat[index]
    else:
        body, point, matrix = model.cam_bodyid[index], data.cam_xpos[index], data.cam_xmat[index]
    moves, turns = np.zeros((3, model.nv)), np.zeros((3, model.nv))
    mujoco.mj_jac(model, data, moves, turns, point, int(body))
    return _Frame(int(body), point, matrix.reshape(3, 3), moves, turns)


def _sensed_frame(model: mujoco.MjModel, data: mujoco.MjData, sensor: int) -> _Frame:
    return _frame(model, data, int(model.sensor_objtype[sensor]), int(model.sensor_objid[sensor]))


def _reference(model: mujoco.MjModel, data: mujoco.MjData, sensor: int) -> _Frame:
    """The frame that a sensor is relative to: the world if it names none."""
    if model.sensor_refid[sensor] < 0:
        return _frame(model, data, int(_OBJECT.mjOBJ_XBODY), 0)
    return _frame(model, data, int(model.sensor_reftype[sensor]), int(model.sensor_refid[sensor]))


def _seen_from(frame: _Frame, vector: np.ndarray, change: np.ndarray) -> np.ndarray:
    """The change of Rᵀ u, with that of u."""
    return frame.matrix.T @ (change - _cross(frame.turns, vector))


def _before_joints(model: mujoco.MjModel, data: mujoco.MjData, dofs: np.ndarray) -> np.ndarray:
    """Velocities of what carries each joint, shape (dofs, 6): rotation first."""
    joint, body = model.dof_jntid[dofs], model.dof_bodyid[dofs]
    first = model.jnt_dofadr[joint]
    # The rotation of a free joint comes after its translation.
    is_free = model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE
    first = np.where(is_free & (dofs >= first + 3), first + 3, first)
    sums = np.zeros((model.nv + 1, 6))
    np.cumsum(data.cdof * data.qvel[:, None], axis=0, out=sums[1:])
    earlier = sums[first] - sums[model.body_dofadr[body]]
    return data.cvel[model.body_parentid[body]] + earlier


def _velocity(model: mujoco.MjModel, data: mujoco.MjData, frame: _Frame) -> _Velocity:
    angular_change, linear_change = np.zeros((3, model.nv)), np.zeros((3, model.nv))
    angular, linear = data.cvel[frame.body, :3], data.cvel[frame.body, 3:]
    arm = frame.point - data.subtree_com[model.body_rootid[frame.body]]
    dofs = np.flatnonzero(np.any(frame.moves, axis=0) | np.any(frame.turns, axis=0))
    if dofs.size > 0:
        axes = data.cdof[dofs]
        relative = data.cvel[frame.body] - _before_joints(model, data, dofs)
        turned = _row_products(axes[:, :3], relative[:, :3])
        shifted = _row_products(axes[:, :3], relative[:, 3:])
        shifted += _row_products(axes[:, 3:], relative[:, :3])
        angular_change[:, dofs] = turned.T
        linear_change[:, dofs] = shifted.T + _cross(turned.T, arm)
        linear_change -= _cross(frame.moves, angular)
    velocity = linear + _cross(angular, arm)
    return _Velocity(velocity, angular, linear_change, angular_change)


def _place(model: mujoco.MjModel, data: mujoco.MjData, sensor: int) -> Rows:
    frame, reference = _sensed_frame(model, data, sensor), _reference(model, data, sensor)
    change = _seen_from(reference, frame.point - reference.point, frame.moves - reference.moves)
    return change, np.zeros_like(change)


def _direction(axis: int) -> Callable[[mujoco.MjModel, mujoco.MjData, int], Rows]:
    def rows(model: mujoco.MjModel, data: mujoco.MjData, sensor: int) -> Rows:
        frame, reference = _sensed_frame(model, data, sensor), _reference(model, data, sensor)
        vector = frame.matrix[:, axis]
        change = _seen_from(reference, vector, _cross(frame.turns, vector))
        return change, np.zeros_like(change)

    return rows


def _half_product(rotations: np.ndarray, quat: np.ndarray, body_axes: bool) -> np.ndarray:
    """Changes of a quaternion by rotation vectors (3, n) in its own or in outer axes."""
    w, u = quat[0], quat[1:, None]
    cross = skew(quat[1:] if body_axes else -quat[1:]) @ rotations
    vector = w * rotations + cross
    return 0.5 * np.concatenate([-(u * rotations).sum(0, keepdims=True), vector])


def _values(model: mujoco.MjModel, data: mujoco.MjData, sensor: int) -> np.ndarray:
    first = int(model.sensor_adr[sensor])
    return data.sensordata[first : first + int(model.sensor_dim[sensor])]


def _orientation(model: mujoco.MjModel, data: mujoco.MjData, sensor: int) -> Rows:
    frame, reference = _sensed_frame(model, data, sensor), _reference(model, data, sensor)
    turns = reference.matrix.T @ (frame.turns - reference.turns)
    change = _half_product(turns, _values(model, data, sensor), body_axes=False)
    return change, np.zeros_like(change)


def _linear_velocity(model: mujoco.MjModel, data: mujoco.MjData, sensor: int) -> Rows:
    frame, reference = _sensed_frame(model, data, sensor), _reference(model, data, sensor)
    own, other = _velocity(model, data, frame), _velocity(model, data, reference)
    arm = frame.point - reference.point
    vector = own.linear - other.linear - _cross(other.angular, arm)
    change = own.linear_change - other.linear_change - _cross(other.angular_change, arm)
    change += _cross(frame.moves - reference.moves, other.angular)
    by_velocity = frame.moves - reference.moves - _cross(reference.turns, arm)
    return _seen_from(reference, vector, change), reference.matrix.T @ by_velocity


def _angular_velocity(model: mujoco.MjModel, data: mujoco.MjData, sensor: int) -> Rows:
    frame, reference = _sensed_frame(model, data, sensor), _reference(model, data, sensor)
    own, other = _velocity(model, data, frame), _velocity(model, data, reference)
    change = own.angular_change - other.angular_change
    by_position = _seen_from(reference, own.angular - other.angular, change)
    return by_position, reference.matrix.T @ (frame.turns - reference.turns)


def _gyro(model: mujoco.MjModel, data: mujoco.MjData, sensor: int) -> Rows:
    frame = _sensed_frame(model, data, sensor)
    own = _velocity(model, data, frame)
    return _seen_from(frame, own.angular, own.angular_change), frame.matrix.T @ frame.turns


def _velocimeter(model: mujoco.MjModel, data: mujoco.MjData, sensor: int) -> Rows:
    frame = _sensed_frame(model, data, sensor)
    own = _velocity(model, data, frame)
    return _seen_from(frame, own.linear, own.linear_change), frame.matrix.T @ frame.moves


def _magnetometer(model: mujoco.MjModel, data: mujoco.MjData, sensor: int) -> Rows:
    frame = _sensed_frame(model, data, sensor)
    change = _seen_from(frame, model.opt.magnetic, np.zeros((3, model.nv)))
    return change, np.zeros_like(change)


def _subtree_com(model: mujoco.MjModel, data: mujoco.MjData, sensor: int) -> Rows:
    change = np.zeros((3, model.nv))
    mujoco.mj_jacSubtreeCom(model, data, change, int(model.sensor_objid[sensor]))
    return change, np.zeros_like(change)


def _own_dofs(model: mujoco.MjModel, sensor: int) -> np.ndarray:
    """Which degrees of freedom a joint's sensor has, as unit rows."""
    joint, values = int(model.sensor_objid[sensor]), int(model.sensor_dim[sensor])
    return np.eye(min(values, 3), model.nv, int(model.jnt_dofadr[joint]))


def _joint_position(model: mujoco.MjModel, data: mujoco.MjData, sensor: int) -> Rows:
    units = _own_dofs(model, sensor)
    if model.sensor_type[sensor] == _SENSOR.mjSENS_BALLQUAT:
        units = _half_product(units, _values(model, data, sensor), body_axes=True)
    return units, np.zeros_like(units)


def _joint_velocity(model: mujoco.MjModel, data: mujoco.MjData, sensor: int) -> Rows:
    units = _own_dofs(model, sensor)
    return np.zeros_like(units), units


def _sparse_row(
    model: mujoco.MjModel, values: np.ndarray, count: int, address: int, columns: np.ndarray
) -> np.ndarray:
    row = np.zeros((1, model.nv))
    row[0, columns[address : address + count]] = values[address : address + count]
    return row


def _tendon_moves(model: mujoco.MjModel, data: mujoco.MjData, tendon: int) -> np.ndarray:
    count, address = int(model.ten_J_rownnz[tendon]), int(model.ten_J_rowadr[tendon])
    return _sparse_row(model, data.ten_J, count, address, model.ten_J_colind)


def _is_fixed(model: mujoco.MjModel, tendon: int) -> bool:
    """Whether a tendon is a sum of joints, so that its Jacobian is constant."""
    first, count = int(model.tendon_adr[tendon]), int(model.tendon_num[tendon])
    return bool(np.all(model.wrap_type[first : first + count] == mujoco.mjtWrap.mjWRAP_JOINT))


def _tendon_position(model: mujoco.MjModel, data: mujoco.MjData, sensor: int) -> Rows:
    row = _tendon_moves(model, data, int(model.sensor_objid[sensor]))
    return row, np.zeros_like(row)


def _tendon_velocity(model: mujoco.MjModel, data: mujoco.MjData, sensor: int) -> Rows | None:
    tendon = int(model.sensor_objid[sensor])
    row = _tendon_moves(model, data, tendon)
    return (np.zeros_like(row), row) if _is_fixed(model, tendon) else None


def _actuator(model: mujoco.MjModel, data: mujoco.MjData, sensor: int) -> Rows | None:
    """Of actuators of simple joints and of tendons."""
    actuator = int(model.sensor_objid[sensor])
    kind, target = int(model.actuator_trntype[actuator]), int(model.actuator_trnid[actuator, 0])
    velocity = model.sensor_type[sensor] == _SENSOR.mjSENS_ACTUATORVEL
    of_tendon = kind == int(mujoco.mjtTrn.mjTRN_TENDON)
    simple = kind in _ONE_JOINT and int(model.jnt_type[target]) in _SIMPLE
    if not simple and not (of_tendon and (not velocity or _is_fixed(model, target))):
        return None
    count, address = int(data.moment_rownnz[actuator]), int(data.moment_rowadr[actuator])
    row = _sparse_row(model, data.actuator_moment, count, address, data.moment_colind)
    return (np.zeros_like(row), row) if velocity else (row, np.zeros_like(row))


def _constant(model: mujoco.MjModel, data: mujoco.MjData, sensor: int) -> Rows:
    rows = np.zeros((int(model.sensor_dim[sensor]), model.nv))
    return rows, rows


_ROWS: dict[int, Callable[[mujoco.MjModel, mujoco.MjData, int], Rows | None]] = {
    int(kind): function
    for kind, function in (
        (_SENSOR.mjSENS_FRAMEPOS, _place),
        (_SENSOR.mjSENS_FRAMEQUAT, _orientation),
        (_SENSOR.mjSENS_FRAMEXAXIS, _direction(0)),
        (_SENSOR.mjSENS_FRAMEYAXIS, _direction(1)),
        (_SENSOR.mjSENS_FRAMEZAXIS, _direction(2)),
        (_SENSOR.mjSENS_FRAMELINVEL, _linear_velocity),
        (_SENSOR.mjSENS_FRAMEANGVEL, _angular_velocity),
        (_SENSOR.mjSENS_GYRO, _gyro),
        (_SENSOR.mjSENS_VELOCIMETER, _velocimeter),
        (_SENSOR.mjSENS_MAGNETOMETER, _magnetometer),
        (_SENSOR.mjSENS_SUBTREECOM, _subtree_com),
        (_SENSOR.mjSENS_JOINTPOS, _joint_position),
        (_SENSOR.mjSENS_BALLQUAT, _joint_position),
        (_SENSOR.mjSENS_JOINTVEL, _joint_velocity),
        (_SENSOR.mjSENS_BALLANGVEL, _joint_velocity),
        (_SENSOR.mjSENS_TENDONPOS, _tendon_position),
        (_SENSOR.mjSENS_TENDONVEL, _tendon_velocity),
        (_SENSOR.mjSENS_ACTUATORPOS, _actuator),
        (_SENSOR.mjSENS_ACTUATORVEL, _actuator),
        (_SENSOR.mjSENS_CLOCK, _constant),
    )
}
