"""Names of model elements, as messages say them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import SupportsInt

import mujoco

__all__ = ["element", "listed", "quoted"]

_KINDS = {
    mujoco.mjtObj.mjOBJ_EQUALITY: "Equality constraint",
    mujoco.mjtObj.mjOBJ_PAIR: "Contact pair",
    mujoco.mjtObj.mjOBJ_KEY: "Keyframe",
}


def element(model: mujoco.MjModel, kind: mujoco.mjtObj, index: SupportsInt) -> str:
    """Kind and name of an element, or its number if it has no name: ``Geom 'foot'``."""
    label = _KINDS.get(kind) or kind.name.removeprefix("mjOBJ_").capitalize()
    name = mujoco.mj_id2name(model, kind, int(index))
    return f"{label} '{name}'" if name else f"{label} {int(index)}"


def listed(names: Sequence[str], most: int = 5) -> str:
    """Join names with commas, and count those beyond ``most``."""
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def quoted(names: Iterable[str]) -> str:
    """Join names in quotes."""
    return listed([f"'{name}'" for name in names])
