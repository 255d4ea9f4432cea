"""Attributes of a batch that are arrays of its rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from asperity.arguments import as_array
from asperity.errors import ArgumentError

__all__ = ["row_view"]


def row_view(name: str, meaning: str) -> property:
    """An attribute that is a row array: read, it is the array; assigned to, it is filled."""

    def read(batch: Any) -> np.ndarray:
        array: np.ndarray = batch._rows.arrays[name]
        return array

    def write(batch: Any, values: ArrayLike) -> None:
        target = batch._rows.arrays[name]
        array = as_array(name, values)
        try:
            target[...] = array
        except ValueError:
            raise ArgumentError(
                f"{name} must have shape {target.shape}, or one that NumPy repeats to it, got "
                f"{array.shape}."
            ) from None

    return property(read, write, doc=meaning)
