"""Arrays of compiled code."""

from __future__ import annotations

import numpy as np

from asperity.compiled.decorators import compiled

__all__ = ["copy_numbers"]


@compiled
def copy_numbers(source: np.ndarray, target: np.ndarray) -> None:
    """Copy the numbers of one array into another, as many as both have."""
    for i in range(min(source.size, target.size)):
        target[i] = source[i]
