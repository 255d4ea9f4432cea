"""Fields of MjData that a batch keeps for every world."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import mujoco
import numpy as np

from asperity.errors import ArgumentError
from asperity.plant import native

__all__ = ["field_addresses", "find_fields", "finders", "new_bound"]

# Found by MuJoCo only if a sensor wants them.
_FINDERS = {
    "cacc": "mj_rnePostConstraint",
    "cfrc_int": "mj_rnePostConstraint",
    "cfrc_ext": "mj_rnePostConstraint",
    "subtree_linvel": "mj_subtreeVel",
    "subtree_angmom": "mj_subtreeVel",
}


def new_bound(model: mujoco.MjModel, name: str, count: int) -> np.ndarray:
    """Memory for a field in so many worlds, shape (count, ...).

    Raises
    ------
    ArgumentError
        If MjData has no such field, or the field has not always as many real numbers.
    """
    data = mujoco.MjData(model)
    field: Any = getattr(data, name, None)
    begin = native.memory(data._address + native.offset("mjData", "buffer"), 1)[0]
    end = begin + data.nbuffer
    real = isinstance(field, np.ndarray) and field.dtype == np.float64 and field.size > 0
    if not real or not begin <= field.ctypes.data < end:
        raise ArgumentError(
            f"{name!r} cannot be bound, because it is not a field of MjData with a fixed number of "
            "real numbers; batch.data(world) has all fields of a world."
        )
    return np.zeros((count, *field.shape))


def field_addresses(data: mujoco.MjData, names: Iterable[str]) -> np.ndarray:
    """Where the fields of an MjData are."""
    return np.array([getattr(data, name).ctypes.data for name in names], np.int64)


def finders(names: Iterable[str]) -> list[str]:
    """Names of the functions of MuJoCo that find what publication leaves out."""
    return sorted({_FINDERS[name] for name in names if name in _FINDERS})


def find_fields(
    model: mujoco.MjModel, data: mujoco.MjData, bound: Mapping[str, np.ndarray], w: int
) -> None:
    """Copy bound fields of an MjData that was published into the rows of a world."""
    for function in finders(bound):
        getattr(mujoco, function)(model, data)
    for name, rows in bound.items():
        rows[w] = getattr(data, name)
