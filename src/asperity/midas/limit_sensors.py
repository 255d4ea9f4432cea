"""Sensors of limits, which MuJoCo reads in rows of constraints that the engine has none of.

A limit acts while a coordinate is nearer to it than its barrier begins
(`asperity.midas.energy.joint_terms`), and that of a tendon through space while it is passed, as a
spring. As in MuJoCo, sensors of position, velocity and force are zero of limits that do not act.
"""

from __future__ import annotations

import math

import mujoco
import numpy as np

from asperity.compiled import Table
from asperity.midas.energy.potentials import barrier_force
from asperity.midas.engine import Engine
from asperity.midas.engine_layout import LIMIT
from asperity.midas.model.tendons import coordinate_of_tendon, fixed_tendons
from asperity.plant.model.limits import joint_ranges, tendon_ranges

__all__ = ["write_limit_sensors"]

_SENSOR = mujoco.mjtSensor
_OF_JOINTS = (
    int(_SENSOR.mjSENS_JOINTLIMITPOS),
    int(_SENSOR.mjSENS_JOINTLIMITVEL),
    int(_SENSOR.mjSENS_JOINTLIMITFRC),
)
_OF_TENDONS = (
    int(_SENSOR.mjSENS_TENDONLIMITPOS),
    int(_SENSOR.mjSENS_TENDONLIMITVEL),
    int(_SENSOR.mjSENS_TENDONLIMITFRC),
)
_BALL = int(mujoco.mjtJoint.mjJNT_BALL)

_State = tuple[float, float, float]
"""Distance to a limit [rad or m], its rate and its force."""
_IDLE = (0.0, 0.0, 0.0)


def write_limit_sensors(engine: Engine, data: mujoco.MjData) -> None:
    """Fill the sensors of limits, of the state in the data and the engine's last step."""
    model = engine.model
    for sensor, kind in enumerate(model.sensor_type):
        if kind in _OF_JOINTS:
            state = _of_joint(engine, data, int(model.sensor_objid[sensor]))
            value = state[_OF_JOINTS.index(kind)]
        elif kind in _OF_TENDONS:
            state = _of_tendon(engine, data, int(model.sensor_objid[sensor]))
            value = state[_OF_TENDONS.index(kind)]
        else:
            continue
        cutoff = float(model.sensor_cutoff[sensor])
        if cutoff > 0.0:
            value = min(max(value, -cutoff), cutoff)
        data.sensordata[model.sensor_adr[sensor]] = value


def _of_joint(engine: Engine, data: mujoco.MjData, joint: int) -> _State:
    model = engine.model
    at, dof = int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])
    if int(model.jnt_type[joint]) == _BALL:
        return _of_ball(engine, joint, data.qpos[at : at + 4], data.qvel[dof : dof + 3])
    own = np.flatnonzero(engine.table.joints.dof == dof)
    ends = joint_ranges(model)[joint]
    if own.size == 0:
        return _IDLE
    return _of_coordinate(
        engine.table.joints, int(own[0]), ends, float(data.qpos[at]), float(data.qvel[dof])
    )


def _of_tendon(engine: Engine, data: mujoco.MjData, tendon: int) -> _State:
    model = engine.model
    ends = tendon_ranges(model)[tendon]
    length, rate = float(data.ten_length[tendon]), float(data.ten_velocity[tendon])
    if tendon in fixed_tendons(model):
        coordinate = coordinate_of_tendon(model, engine.links.links, tendon)
        return _of_coordinate(engine.table.joints, coordinate, ends, length, rate)
    limit = engine.inputs.linearized.of_limit(tendon)
    if limit is None or ends[0] <= length <= ends[1]:
        return _IDLE
    inwards = 1.0 if length < ends[0] else -1.0
    end = float(ends[0 if inwards > 0.0 else 1])
    # A step pulls back a part of what is beyond (`asperity.midas.model.linearized`).
    pulled = inwards * (end - float(engine.table.joints.now[limit]))
    force = float(engine.table.joints.stiffness[limit]) * max(pulled, 0.0)
    return inwards * (length - end), inwards * rate, force


def _of_coordinate(
    joints: Table, coordinate: int, ends: np.ndarray, value: float, rate: float
) -> _State:
    """Of the nearer limit of a hinge, a slide or a fixed tendon."""
    side = 0 if value - ends[0] < ends[1] - value else 1
    inwards = 1.0 - 2.0 * side
    gap, width = inwards * (value - float(ends[side])), float(joints.limit_width[coordinate, side])
    scale = float(joints.limit_factor[coordinate, side] * joints.barrier[coordinate])
    if not 0.0 < gap < width or scale == 0.0:
        return _IDLE
    return gap, inwards * rate, scale * barrier_force(gap, width)


def _of_ball(engine: Engine, joint: int, turn: np.ndarray, rate: np.ndarray) -> _State:
    """Of the angle α of a ball joint, where its energy is one of sin² α/2."""
    turns = engine.table.turns
    for term in np.flatnonzero(turns.kind == LIMIT):
        if engine.links.links[turns.link[term]].joint != joint:
            continue
        size = float(np.linalg.norm(turn[1:]))
        angle = 2.0 * math.atan2(size, abs(float(turn[0])))
        gap = float(turns.bound[term]) - math.sin(0.5 * angle) ** 2
        if not 0.0 < gap < turns.width[term]:
            return _IDLE
        scale = float(turns.factor[term] * turns.scale[term])
        force = barrier_force(gap, float(turns.width[term]))
        torque = 0.5 * math.sin(angle) * scale * force
        outwards = math.copysign(1.0, float(turn[0])) * float(turn[1:] @ rate) / size
        return float(joint_ranges(engine.model)[joint, 1]) - angle, -outwards, torque
    return _IDLE
