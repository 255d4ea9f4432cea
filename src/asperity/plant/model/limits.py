"""Ranges that limits leave to joints and tendons.

As in MuJoCo, a limit holds a coordinate by its margin inside the range.
"""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

__all__ = ["joint_ranges", "tendon_ranges"]

Floats = NDArray[np.float64]

# Margins that meet leave so much of a range, because a limit needs a side on which it is kept.
_LEAST_SHARE = 1e-2


def joint_ranges(model: mujoco.MjModel) -> Floats:
    """Ends of joints' ranges less their margins [m or rad]: shape (njnt, 2).

    A ball joint goes from -a to a, its largest angle.
    """
    balls = model.jnt_type == int(mujoco.mjtJoint.mjJNT_BALL)
    ranges = np.array(model.jnt_range)
    ranges[balls] = np.outer(ranges[balls].max(axis=1, initial=0.0), [-1.0, 1.0])
    return _inside(ranges, model.jnt_margin)


def tendon_ranges(model: mujoco.MjModel) -> Floats:
    """Ends of tendons' ranges less their margins [m or rad]: shape (ntendon, 2)."""
    return _inside(np.array(model.tendon_range), model.tendon_margin)


def _inside(ranges: Floats, margins: Floats) -> Floats:
    half = 0.5 * np.ptp(ranges, axis=1)
    inwards = np.clip(margins, 0.0, (1.0 - _LEAST_SHARE) * half)
    return ranges + np.outer(inwards, [1.0, -1.0])
