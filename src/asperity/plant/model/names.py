"""Names of model elements, as messages say them, and of kinds of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, SupportsInt

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from asperity.errors import ModelError
from asperity.plant.model.model_view import bare

__all__ = ["control_names", "described", "element", "kinds", "listed", "quoted", "refuse_first"]

_KINDS = {
    mujoco.mjtObj.mjOBJ_EQUALITY: "Equality constraint",
    mujoco.mjtObj.mjOBJ_PAIR: "Contact pair",
    mujoco.mjtObj.mjOBJ_KEY: "Keyframe",
}


def element(model: mujoco.MjModel, kind: mujoco.mjtObj, index: SupportsInt) -> str:
    """Kind and name of an element, or its number if it has no name: ``Geom 'foot'``."""
    label = _KINDS.get(kind) or kind.name.removeprefix("mjOBJ_").capitalize()
    name = mujoco.mj_id2name(bare(model), kind, int(index))
    return f"{label} '{name}'" if name else f"{label} {int(index)}"


def described(model: mujoco.MjModel) -> str:
    """A model's name and numbers of its coordinates: ``'arm' (nq=7, nv=7, nu=7)``."""
    name = model.names.partition(b"\0")[0].decode()
    return f"'{name}' (nq={model.nq}, nv={model.nv}, nu={model.nu})"


def control_names(model: mujoco.MjModel) -> list[str]:
    """Names of all controls, shape (nu,): those of their actuators, "" where these have none.

    Controls of an actuator with several are numbered: ``name[0]``.
    """
    names = []
    for i, count in enumerate(model.actuator_ctrlnum):
        name = model.actuator(i).name
        several = bool(name) and count > 1
        names += [f"{name}[{k}]" if several else name for k in range(count)]
    return names


def refuse_first(model: mujoco.MjModel, kind: mujoco.mjtObj, which: ArrayLike, why: str) -> None:
    """Refuse the first element of a kind that is marked, with a reason that goes on from its name.

    Raises
    ------
    ModelError
        If one is marked.
    """
    for index in np.flatnonzero(which):
        raise ModelError(f"{element(model, kind, index)} {why}")


def kinds(enumeration: Any, *names: str) -> frozenset[int]:
    """Numbers of members of one of MuJoCo's enumerations, by what follows the underscore.

    As integers, because the elements of a model's arrays are not hashed like the members.
    """
    members = enumeration.__members__.items()
    numbers = {name.partition("_")[2]: int(member) for name, member in members}
    return frozenset(numbers[name] for name in names)


def listed(names: Sequence[str], most: int = 5) -> str:
    """Join names with commas, and count those beyond ``most``."""
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def quoted(names: Iterable[str]) -> str:
    """Join names in quotes."""
    return listed([f"'{name}'" for name in names])
