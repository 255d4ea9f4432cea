"""Derivatives of sensors in closed form: of what moves with bodies, joints, tendons, actuators."""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np

from asperity.derivatives.frame_motion import (
    Frame,
    acceleration_of,
    cross,
    frame_of,
    velocity_of,
)
from asperity.derivatives.tangent_space import skew

__all__ = ["closed_rows", "constant_moment", "moment_row", "pulls_tendon"]

_SENSOR, _OBJECT = mujoco.mjtSensor, mujoco.mjtObj
_SIMPLE = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))
_ONE_JOINT = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))

Rows = tuple[np.ndarray, ...]
"""By position, velocity and acceleration as far as a sensor depends on them, (values, nv) each."""


def closed_rows(
    model: mujoco.MjModel, data: mujoco.MjData, *, accelerations: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives of those sensors that have them in closed form.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.
    data : mujoco.MjData
        With kinematics, velocities of bodies, and ``sensordata`` of its state.
    accelerations : bool
        Whether ``data`` has ``qacc`` and accelerations of bodies, too, so that sensors of them
        have derivatives.

    Returns
    -------
    tuple of ndarray
        By position, velocity and ``qacc``, shape (nsensordata, 3 nv), and which sensors they are
        of, shape (nsensor,). Rows of others are zero.
    """
    nv = model.nv
    columns = np.zeros((model.nsensordata, 3 * nv))
    closed = np.zeros(model.nsensor, dtype=bool)
    for sensor in range(model.nsensor):
        kind = int(model.sensor_type[sensor])
        function = _ROWS.get(kind)
        if function is None or (kind in _OF_ACCELERATIONS and not accelerations):
            continue
        rows = None if _has_tracking_camera(model, sensor) else function(model, data, sensor)
        if rows is None:
            continue
        closed[sensor] = True
        first = int(model.sensor_adr[sensor])
        last = first + int(model.sensor_dim[sensor])
        for part, block in enumerate(rows):
            columns[first:last, part * nv : (part + 1) * nv] = block
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


def _sensed_frame(model: mujoco.MjModel, data: mujoco.MjData, sensor: int) -> Frame:
    return frame_of(model, data, int(model.sensor_objtype[sensor]), int(model.sensor_objid[sensor]))


def _reference(model: mujoco.MjModel, data: mujoco.MjData, sensor: int) -> Frame:
    """The frame that a sensor is relative to: the world if it names none."""
    if model.sensor_refid[sensor] < 0:
        return frame_of(model, data, int(_OBJECT.mjOBJ_XBODY), 0)
    return frame_of(model, data, int(model.sensor_reftype[sensor]), int(model.sensor_refid[sensor]))


def _place(model: mujoco.MjModel, data: mujoco.MjData, sensor: int) -> Rows:
    frame, reference = _sensed_frame(model, data, sensor), _reference(model, data, sensor)
    change = reference.seen_from(frame.point - reference.point, frame.moves - reference.moves)
    return (change,)


def _direction(axis: int) -> Callable[[mujoco.MjModel, mujoco.MjData, int], Rows]:
    def rows(model: mujoco.MjModel, data: mujoco.MjData, sensor: int) -> Rows:
        frame, reference = _sensed_frame(model, data, sensor), _reference(model, data, sensor)
        vector = frame.matrix[:, axis]
        return (reference.seen_from(vector, cross(frame.turns, vector)),)

    return rows


def _half_product(rotations: np.ndarray, quat: np.ndarray, body_axes: bool) -> np.ndarray:
    """Changes of a quaternion by rotation vectors (3, n) in its own or in outer axes."""
    w, u = quat[0], quat[1:, None]
    vector = w * rotations + skew(quat[1:] if body_axes else -quat[1:]) @ rotations
    return 0.5 * np.concatenate([-(u * rotations).sum(0, keepdims=True), vector])


def _values(model: mujoco.MjModel, data: mujoco.MjData, sensor: int) -> np.ndarray:
    first = int(model.sensor_adr[sensor])
    return data.sensordata[first : first + int(model.sensor_dim[sensor])]


def _orientation(model: mujoco.MjModel, data: mujoco.MjData, sensor: int) -> Rows:
    frame, reference = _sensed_frame(model, data, sensor), _reference(model, data, sensor)
    turns = reference.matrix.T @ (frame.turns - reference.turns)
    change = _half_product(turns, _values(model, data, sensor), body_axes=False)
    return (change,)


def _linear_velocity(model: mujoco.MjModel, data: mujoco.MjData, sensor: int) -> Rows:
    frame, reference = _sensed_frame(model, data, sensor), _reference(model, data, sensor)
    own, other = velocity_of(model, data, frame), velocity_of(model, data, reference)
    arm = frame.point - reference.point
    vector = own.linear - other.linear - cross(other.angular, arm)
    change = own.linear_change - other.linear_change - cross(other.angular_change, arm)
    change += cross(frame.moves - reference.moves, other.angular)
    by_velocity = frame.moves - reference.moves - cross(reference.turns, arm)
    return reference.seen_from(vector, change), reference.matrix.T @ by_velocity


def _angular_velocity(model: mujoco.MjModel, data: mujoco.MjData, sensor: int) -> Rows:
    frame, reference = _sensed_frame(model, data, sensor), _reference(model, data, sensor)
    own, other = velocity_of(model, data, frame), velocity_of(model, data, reference)
    change = own.angular_change - other.angular_change
    by_position = reference.seen_from(own.angular - other.angular, change)
    return by_position, reference.matrix.T @ (frame.turns - reference.turns)


def _gyro(model: mujoco.MjModel, data: mujoco.MjData, sensor: int) -> Rows:
    frame = _sensed_frame(model, data, sensor)
    own = velocity_of(model, data, frame)
    return frame.seen_from(own.angular, own.angular_change), frame.matrix.T @ frame.turns


def _velocimeter(model: mujoco.MjModel, data: mujoco.MjData, sensor: int) -> Rows:
    frame = _sensed_frame(model, data, sensor)
    own = velocity_of(model, data, frame)
    return frame.seen_from(own.linear, own.linear_change), frame.matrix.T @ frame.moves


def _accelerometer(model: mujoco.MjModel, data: mujoco.MjData, sensor: int) -> Rows:
    frame = _sensed_frame(model, data, sensor)
    own = acceleration_of(model, data, frame)
    by_position = frame.seen_from(own.linear, own.linear_by_position)
    return by_position, frame.matrix.T @ own.linear_by_velocity, frame.matrix.T @ frame.moves


def _linear_acceleration(model: mujoco.MjModel, data: mujoco.MjData, sensor: int) -> Rows:
    frame = _sensed_frame(model, data, sensor)
    own = acceleration_of(model, data, frame)
    return own.linear_by_position, own.linear_by_velocity, frame.moves


def _angular_acceleration(model: mujoco.MjModel, data: mujoco.MjData, sensor: int) -> Rows:
    frame = _sensed_frame(model, data, sensor)
    own = acceleration_of(model, data, frame)
    return own.angular_by_position, own.angular_by_velocity, frame.turns


def _magnetometer(model: mujoco.MjModel, data: mujoco.MjData, sensor: int) -> Rows:
    frame = _sensed_frame(model, data, sensor)
    change = frame.seen_from(model.opt.magnetic, np.zeros((3, model.nv)))
    return (change,)


def _subtree_com(model: mujoco.MjModel, data: mujoco.MjData, sensor: int) -> Rows:
    change = np.zeros((3, model.nv))
    mujoco.mj_jacSubtreeCom(model, data, change, int(model.sensor_objid[sensor]))
    return (change,)


def _subtree_velocity(model: mujoco.MjModel, data: mujoco.MjData, sensor: int) -> Rows:
    rows, _ = _subtree_motion(model, data, int(model.sensor_objid[sensor]))
    return rows


def _subtree_momentum(model: mujoco.MjModel, data: mujoco.MjData, sensor: int) -> Rows:
    """Of L = Σ I_i ω_i + m_i x_i × v_i − M c × v_c, with the centre of mass c of a subtree."""
    _, rows = _subtree_motion(model, data, int(model.sensor_objid[sensor]))
    return rows


def _subtree_motion(model: mujoco.MjModel, data: mujoco.MjData, root: int) -> tuple[Rows, Rows]:
    """Derivatives of the velocity of a subtree's centre of mass, and of its angular momentum."""
    nv = model.nv
    moves, centre, whole = np.zeros((3, nv)), data.subtree_com[root], model.body_subtreemass[root]
    mujoco.mj_jacSubtreeCom(model, data, moves, root)
    change, by_position, by_velocity = (np.zeros((3, nv)) for _ in range(3))
    velocity = moves @ data.qvel
    behind = {root}
    for body in range(root, model.nbody):
        if body != root and int(model.body_parentid[body]) not in behind:
            continue
        behind.add(body)
        frame = frame_of(model, data, int(_OBJECT.mjOBJ_BODY), body)
        own, mass = velocity_of(model, data, frame), float(model.body_mass[body])
        inertia = frame.matrix @ (model.body_inertia[body][:, None] * frame.matrix.T)
        change += mass * own.linear_change
        by_position += cross(frame.turns, inertia @ own.angular)
        by_position += inertia @ (own.angular_change - cross(frame.turns, own.angular))
        moment = _moment_change(frame.point, own.linear, frame.moves, own.linear_change)
        by_position += mass * moment
        by_velocity += inertia @ frame.turns - mass * cross(frame.moves, frame.point)
    by_position -= _moment_change(centre, velocity, whole * moves, change)
    by_velocity += whole * cross(moves, centre)
    # There is no velocity of what has no mass.
    return (change / max(whole, mujoco.mjMINVAL), moves), (by_position, by_velocity)


def _moment_change(
    point: np.ndarray, vector: np.ndarray, moves: np.ndarray, change: np.ndarray
) -> np.ndarray:
    """The change of x × u, with those of x and u."""
    return cross(moves, vector) - cross(change, point)


def _own_dofs(model: mujoco.MjModel, sensor: int) -> np.ndarray:
    """Which degrees of freedom a joint's sensor has, as unit rows."""
    joint, values = int(model.sensor_objid[sensor]), int(model.sensor_dim[sensor])
    return np.eye(min(values, 3), model.nv, int(model.jnt_dofadr[joint]))


def _joint_position(model: mujoco.MjModel, data: mujoco.MjData, sensor: int) -> Rows:
    units = _own_dofs(model, sensor)
    if model.sensor_type[sensor] == _SENSOR.mjSENS_BALLQUAT:
        units = _half_product(units, _values(model, data, sensor), body_axes=True)
    return (units,)


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
    return (row,)


def _tendon_velocity(model: mujoco.MjModel, data: mujoco.MjData, sensor: int) -> Rows | None:
    tendon = int(model.sensor_objid[sensor])
    row = _tendon_moves(model, data, tendon)
    return (np.zeros_like(row), row) if _is_fixed(model, tendon) else None


def _actuator(model: mujoco.MjModel, data: mujoco.MjData, sensor: int) -> Rows | None:
    """Of actuators of simple joints and of tendons."""
    actuator = int(model.sensor_objid[sensor])
    velocity = model.sensor_type[sensor] == _SENSOR.mjSENS_ACTUATORVEL
    if not (constant_moment(model, actuator) or (pulls_tendon(model, actuator) and not velocity)):
        return None
    row = moment_row(model, data, actuator)
    return (np.zeros_like(row), row) if velocity else (row,)


def pulls_tendon(model: mujoco.MjModel, actuator: int) -> bool:
    """Whether an actuator acts on a tendon."""
    return int(model.actuator_trntype[actuator]) == int(mujoco.mjtTrn.mjTRN_TENDON)


def constant_moment(model: mujoco.MjModel, actuator: int) -> bool:
    """Whether an actuator's moment is constant: of a hinge, a slide or a fixed tendon."""
    kind, target = int(model.actuator_trntype[actuator]), int(model.actuator_trnid[actuator, 0])
    if pulls_tendon(model, actuator):
        return _is_fixed(model, target)
    return kind in _ONE_JOINT and int(model.jnt_type[target]) in _SIMPLE


def moment_row(model: mujoco.MjModel, data: mujoco.MjData, actuator: int) -> np.ndarray:
    """The moment of an actuator with one output, shape (1, nv)."""
    output = int(model.actuator_outadr[actuator])
    count, address = int(data.moment_rownnz[output]), int(data.moment_rowadr[output])
    return _sparse_row(model, data.actuator_moment, count, address, data.moment_colind)


def _constant(model: mujoco.MjModel, data: mujoco.MjData, sensor: int) -> Rows:
    return ()


_OF_ACCELERATIONS = tuple(
    int(kind)
    for kind in (
        _SENSOR.mjSENS_ACCELEROMETER,
        _SENSOR.mjSENS_FRAMELINACC,
        _SENSOR.mjSENS_FRAMEANGACC,
    )
)
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
        (_SENSOR.mjSENS_ACCELEROMETER, _accelerometer),
        (_SENSOR.mjSENS_FRAMELINACC, _linear_acceleration),
        (_SENSOR.mjSENS_FRAMEANGACC, _angular_acceleration),
        (_SENSOR.mjSENS_MAGNETOMETER, _magnetometer),
        (_SENSOR.mjSENS_SUBTREECOM, _subtree_com),
        (_SENSOR.mjSENS_SUBTREELINVEL, _subtree_velocity),
        (_SENSOR.mjSENS_SUBTREEANGMOM, _subtree_momentum),
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
