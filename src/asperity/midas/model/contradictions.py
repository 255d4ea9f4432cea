"""Limits of joints and tendons that an equality constraint contradicts."""

from __future__ import annotations

import mujoco
import numpy as np

from asperity.midas.model.tendons import fixed_tendons
from asperity.plant.model.limits import joint_ranges

__all__ = ["contradicted_limits", "held_tendons"]

# Points of a joint's range where its follower is looked for, and the least share of a range that
# must be left.
_SAMPLES = 101
_ROOM = 1e-3


def contradicted_limits(model: mujoco.MjModel) -> list[int]:
    """Joints whose limits cannot hold beside an equality that is active at the start.

    A follower with the range of its leader, but the opposite sign, is in many robot descriptions:
    it goes where its coupling says. So do the joints of a tendon that is held at a length which
    their ranges do not allow.
    """
    found: set[int] = set()
    for index in np.flatnonzero(model.eq_active0):
        kind = int(model.eq_type[index])
        if kind == int(mujoco.mjtEq.mjEQ_JOINT):
            found |= _of_coupling(model, int(index))
        elif kind == int(mujoco.mjtEq.mjEQ_TENDON) and model.eq_obj2id[index] < 0:
            found |= _of_held_tendon(model, int(index))
    return sorted(found)


def held_tendons(model: mujoco.MjModel) -> set[int]:
    """Tendons that an equality holds at a length, so that their limits are of no use."""
    return {
        int(model.eq_obj1id[index])
        for index in np.flatnonzero(model.eq_active0)
        if int(model.eq_type[index]) == int(mujoco.mjtEq.mjEQ_TENDON) and model.eq_obj2id[index] < 0
    }


def _of_coupling(model: mujoco.MjModel, index: int) -> set[int]:
    one, other = int(model.eq_obj1id[index]), int(model.eq_obj2id[index])
    if other < 0 or not (model.jnt_limited[one] and model.jnt_limited[other]):
        return set()
    ranges = joint_ranges(model)
    reference, origin = (float(model.qpos0[model.jnt_qposadr[j]]) for j in (one, other))
    first, last = (float(end) for end in ranges[other])
    along = np.linspace(first, last, _SAMPLES) - origin
    values = reference + np.polynomial.polynomial.polyval(along, model.eq_data[index, :5])
    low, high = ranges[one]
    common = min(float(values.max()), high) - max(float(values.min()), low)
    return {one} if common <= _ROOM * (high - low) else set()


def _of_held_tendon(model: mujoco.MjModel, index: int) -> set[int]:
    tendon = int(model.eq_obj1id[index])
    if tendon not in fixed_tendons(model):
        return set()
    first, count = int(model.tendon_adr[tendon]), int(model.tendon_num[tendon])
    low = high = 0.0
    joints = set()
    for at in range(first, first + count):
        joint, weight = int(model.wrap_objid[at]), float(model.wrap_prm[at])
        if not model.jnt_limited[joint]:
            return set()
        ends = weight * joint_ranges(model)[joint]
        low, high = low + float(ends.min()), high + float(ends.max())
        joints.add(joint)
    length = float(model.tendon_length0[tendon] + model.eq_data[index, 0])
    room = _ROOM * (high - low)
    return set() if low + room < length < high - room else joints
