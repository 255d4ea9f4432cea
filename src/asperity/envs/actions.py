"""Actions as agents give them, checked before anything moves."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from asperity.errors import ArgumentError

__all__ = ["checked"]


def checked(action: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Actions as an array of a shape.

    Raises
    ------
    ArgumentError
        If they have another shape or are not finite; the message says in which world.
    """
    array = np.asarray(action, np.float64)
    if array.shape != shape:
        raise ArgumentError(f"actions must have the shape {shape}, got {array.shape}.")
    if not np.all(np.isfinite(array)):
        where = tuple(np.argwhere(~np.isfinite(array))[0].tolist())
        raise ArgumentError(f"actions must be finite, got {array[where]} at {list(where)}.")
    return array
