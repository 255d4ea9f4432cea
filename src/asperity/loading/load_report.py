"""What is reported of a model that was loaded."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from asperity.errors import warn_user

__all__ = ["LoadReport", "report_on"]


@dataclass(frozen=True)
class LoadReport:
    """What happened while a model was loaded.

    Attributes
    ----------
    source : str
        The path, or "XML string", "MjSpec" or "MjModel".
    notes : tuple of str
        Sentences about what was dropped, ignored or added, or looks wrong.
    """

    source: str
    notes: tuple[str, ...]


def report_on(model: mujoco.MjModel, source: str, notes: list[str]) -> LoadReport:
    """Report on a compiled model, with a warning if nothing can move or collide in it.

    Parameters
    ----------
    model : mujoco.MjModel
    source : str
        What the report calls it.
    notes : list of str
        What was noted before.
    """
    notes = list(notes)
    alarms = []
    if model.nv == 0:
        alarms.append(
            "Nothing can move in this model; give a body a joint (URDF: pass floating_base=True)."
        )
    if model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_CONTACT:
        notes.append("The model switches contacts off; nothing collides.")
    elif not _can_collide(model):
        alarms.append(
            "Nothing can collide in this model; it needs geoms on two bodies whose contype and "
            "conaffinity match (URDF: <collision> elements)."
        )
    for alarm in alarms:
        warn_user(f"{source}: {alarm}")
    return LoadReport(source, (*notes, *alarms))


def _can_collide(model: mujoco.MjModel) -> bool:
    if model.npair or np.any(model.flex_contype) or np.any(model.flex_conaffinity):
        return True
    kinds = np.column_stack(
        [model.geom_contype, model.geom_conaffinity, model.body_weldid[model.geom_bodyid]]
    )
    kinds = np.unique(kinds, axis=0)
    types, affinities, bodies = kinds.T
    match = (types[:, None] & affinities[None, :]) != 0
    return bool(np.any((match | match.T) & (bodies[:, None] != bodies[None, :])))
