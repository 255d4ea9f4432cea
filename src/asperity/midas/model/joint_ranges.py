"""Joints of a given state: within their limits, or brought back to them."""

from __future__ import annotations

import math

import mujoco
import numpy as np

from asperity.errors import ModelError
from asperity.midas.engine import Engine
from asperity.midas.engine_layout import LIMIT
from asperity.midas.model.tendons import check_tendon_limits
from asperity.plant.model.names import element

__all__ = ["enter_limits"]

_JOINT = mujoco.mjtObj.mjOBJ_JOINT

# What a joint may be beyond a limit [rad or m] to be taken for being at it.
_AT_LIMIT = 1e-6


def enter_limits(engine: Engine, overlaps: str) -> tuple[bool, list[str]]:
    """Bring joints at a limit a little inside it; refuse those beyond, or bring them back too.

    With "exclude" those are brought back that are where the model's reference pose has them: the
    zero of many robots is outside of their ranges. With "separate" all are.

    Returns
    -------
    changed : bool
        Whether the state was changed.
    names : list of str
        Joints that were beyond a limit.

    Raises
    ------
    ModelError
        If a joint is beyond a limit and shall not be brought back.
    """
    qpos = engine.table.poses.qpos.copy()
    names = _enter_scalar_limits(engine, qpos, overlaps) + _enter_ball_limits(
        engine, qpos, overlaps
    )
    if np.array_equal(qpos, engine.table.poses.qpos):
        return False, names
    engine.set_state(qpos, engine.table.poses.qvel.copy())
    return True, names


def _may_bring_back(engine: Engine, overlaps: str, part: slice) -> bool:
    """Whether coordinates beyond a limit may be changed."""
    drawn = np.array_equal(engine.table.poses.qpos[part], engine.model.qpos0[part])
    return overlaps == "separate" or (overlaps == "exclude" and drawn)


def _refuse(name: str, what: str) -> None:
    raise ModelError(
        f"{name} {what}; the Midas integrator never passes a limit, so a state must be within its "
        "limits. Midas(overlaps='separate') moves joints back into their ranges."
    )


def _enter_scalar_limits(engine: Engine, qpos: np.ndarray, overlaps: str) -> list[str]:
    """Correct the coordinates of hinges and slides; returns the names of those far beyond."""
    table, model = engine.table, engine.model
    count = len(table.joints.link)
    check_tendon_limits(model, table.joints.value, table.joints.limit, count)
    limit, joint = table.joints.limit[:count], table.joints.value[:count]
    room = np.minimum(1e-3 * table.joints.activation[:count], 1e-5)
    low, high = limit[:, 0] + room, limit[:, 1] - room
    names = []
    own = np.array([engine.links.links[link].joint for link in table.joints.link], np.int64)
    beyond = model.jnt_margin[own] + _AT_LIMIT
    for k in np.flatnonzero((joint < limit[:, 0] - beyond) | (joint > limit[:, 1] + beyond)):
        name = element(model, _JOINT, int(own[k]))
        ends = model.jnt_range[own[k]]
        at = int(table.joints.qpos[k])
        if not _may_bring_back(engine, overlaps, slice(at, at + 1)):
            where = joint[k] + table.joints.reference[k]
            _refuse(name, f"is at {where:g}, outside its range {ends[0]:g} to {ends[1]:g}")
        names.append(name)
    inside = np.clip(joint, low, high)
    moved = inside != joint
    qpos[table.joints.qpos[moved]] = (inside + table.joints.reference[:count])[moved]
    return names


def _enter_ball_limits(engine: Engine, qpos: np.ndarray, overlaps: str) -> list[str]:
    """Bring ball joints into their limits, or refuse those that are beyond."""
    table, model = engine.table, engine.model
    names = []
    for term in np.flatnonzero(table.turns.kind == LIMIT):
        joint = engine.links.links[table.turns.link[term]].joint
        at = int(model.jnt_qposadr[joint])
        quaternion = qpos[at : at + 4] / np.linalg.norm(qpos[at : at + 4])
        angle = 2.0 * math.atan2(float(np.linalg.norm(quaternion[1:])), abs(quaternion[0]))
        limit = 2.0 * math.asin(math.sqrt(table.turns.bound[term]))
        end = float(model.jnt_range[joint].max())
        if angle > end + _AT_LIMIT:
            name = element(model, _JOINT, joint)
            if not _may_bring_back(engine, overlaps, slice(at, at + 4)):
                _refuse(name, f"is turned by {angle:g} rad, and its range ends at {end:g}")
            names.append(name)
        inside = limit - min(1e-3 * limit, 1e-4)
        if angle > inside:
            sign = 1.0 if quaternion[0] >= 0.0 else -1.0
            axis = sign * quaternion[1:] / np.linalg.norm(quaternion[1:])
            qpos[at] = math.cos(0.5 * inside)
            qpos[at + 1 : at + 4] = math.sin(0.5 * inside) * axis
    return names
