"""Links that overlap where a model starts."""

from __future__ import annotations

import mujoco
import numpy as np

__all__ = ["initial_overlaps"]

# Penetration [m] at the initial pose of a URDF beyond which it is worth a note.
_OVERLAP = 1e-3


def initial_overlaps(model: mujoco.MjModel) -> dict[tuple[str, str], float]:
    """Pairs of bodies that overlap, deepest first, with the depth [m].

    The pose is the initial one, but within the joint limits, which many robots' zero is not.
    """
    data = mujoco.MjData(model)
    limited = model.jnt_limited.astype(bool) & (model.jnt_type >= int(mujoco.mjtJoint.mjJNT_SLIDE))
    addresses = model.jnt_qposadr[limited]
    data.qpos[addresses] = np.clip(data.qpos[addresses], *model.jnt_range[limited].T)
    mujoco.mj_fwdPosition(model, data)
    pairs: dict[tuple[str, str], float] = {}
    for geoms, distance in zip(data.contact.geom, data.contact.dist, strict=True):
        if distance < -_OVERLAP:
            first, second = (model.body(model.geom_bodyid[geom]).name for geom in geoms)
            pairs[first, second] = max(-float(distance), pairs.get((first, second), 0.0))
    return dict(sorted(pairs.items(), key=lambda item: -item[1]))
