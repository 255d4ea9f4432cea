"""The state that a simulation begins with."""

from __future__ import annotations

from collections.abc import Mapping

import mujoco
from numpy.typing import ArrayLike

from asperity.arguments import as_array
from asperity.errors import ModelError
from asperity.simulator.checks import find_keyframe

__all__ = ["write_initial_state"]


def write_initial_state(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    keyframe: int | str | None,
    arrays: Mapping[str, ArrayLike | None],
) -> None:
    """Write a keyframe, and arrays of ``data`` by name over it; None leaves one as it is.

    Raises
    ------
    ModelError
        If the keyframe does not exist or an array has another shape. Nothing has then changed.
    """
    key = None if keyframe is None else find_keyframe(model, keyframe)
    given = {name: as_array(name, values) for name, values in arrays.items() if values is not None}
    for name, array in given.items():
        shape = getattr(data, name).shape
        if array.shape != shape:
            raise ModelError(f"{name} must have shape {shape}, got {array.shape}.")
    if key is not None:
        mujoco.mj_resetDataKeyframe(model, data, key)
    for name, array in given.items():
        getattr(data, name)[:] = array
