"""Springs, dampers and limits of ball and free joints from a MuJoCo model."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.midas.engine_layout import BALL, DAMPER, FREE, LIMIT, SPRING
from asperity.midas.model.links import Links, rotation_matrix
from asperity.plant.model.limits import joint_ranges

__all__ = ["turn_tables"]

# Angle from a limit [rad] at which its barrier begins, and as a share of the limit.
_ACTIVATION = 1e-2
_RANGE_SHARE = 1e-2
# Links are affine: by so much [rad] their nearest rotations may be beyond what they are.
_STRAIN = 1e-4


def turn_tables(model: mujoco.MjModel, links: Links) -> dict[str, NDArray[np.generic]]:
    """Fields of `TURNS`."""
    flags = int(model.opt.disableflags)
    bit = mujoco.mjtDisableBit
    turns: list[tuple[int, int, NDArray[np.float64], float, float, float]] = []
    ranges = joint_ranges(model)
    for i, link in enumerate(links.links):
        if link.kind not in (BALL, FREE) or link.is_mocap:
            continue
        joint, at = link.joint, int(model.jnt_qposadr[link.joint])
        where = model.qpos_spring[at : at + (7 if link.kind == FREE else 4)]
        rest = link.turn @ rotation_matrix(where[-4:] / np.linalg.norm(where[-4:]))
        stiffness = float(np.ravel(model.jnt_stiffness[joint])[0])
        damping = float(np.ravel(model.dof_damping[model.jnt_dofadr[joint]])[0])
        if stiffness > 0.0 and not flags & bit.mjDSBL_SPRING:
            turns.append((i, SPRING, rest, stiffness, 0.0, 1.0))
        if damping > 0.0 and not flags & bit.mjDSBL_DAMPER:
            turns.append((i, DAMPER, np.eye(3), damping, 0.0, 1.0))
        limited = link.kind == BALL and model.jnt_limited[link.joint]
        limit = float(ranges[link.joint, 1]) - _STRAIN if limited else np.inf
        if limit < np.pi and not flags & int(bit.mjDSBL_LIMIT | bit.mjDSBL_CONSTRAINT):
            # As of hinges: it may have to carry the weight of everything at a metre's distance.
            torque = max(9.81 * float(model.body_subtreemass[0]), 1.0)
            if limit <= 0.0:
                # No room for a barrier: it is held as firmly as links are rigid.
                turns.append((i, SPRING, link.turn.copy(), torque / _STRAIN, 0.0, 1.0))
                continue
            width = min(_ACTIVATION, _RANGE_SHARE * limit)
            bound = float(np.sin(0.5 * limit) ** 2)
            width = bound - float(np.sin(0.5 * (limit - width)) ** 2)
            # By u, of which the angle is 2/sin α times as much.
            scale = torque * min(_ACTIVATION, _RANGE_SHARE * limit) / width
            turns.append((i, LIMIT, link.turn.copy(), scale, bound, width))
    return {
        "link": np.array([turn[0] for turn in turns], dtype=np.int64),
        "kind": np.array([turn[1] for turn in turns], dtype=np.int64),
        "frame": np.array([turn[2] for turn in turns], dtype=np.float64).reshape(-1, 3, 3),
        "scale": np.array([turn[3] for turn in turns], dtype=np.float64),
        "bound": np.array([turn[4] for turn in turns], dtype=np.float64),
        "activation": np.array([turn[5] for turn in turns], dtype=np.float64),
        "first": np.searchsorted([turn[0] for turn in turns], np.arange(len(links.links) + 1)),
    }
