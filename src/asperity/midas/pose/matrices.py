"""Small matrices: cofactors, and the nearest rotation."""

from __future__ import annotations

import numpy as np

from asperity.compiled import compiled

__all__ = ["cofactors", "make_orthogonal"]

# Newton's iteration converges quadratically; from any link that the engine leaves, in four.
_ITERATIONS = 12
# Determinant of what is taken for a rotation, at least.
_FLAT = 0.1


@compiled
def cofactors(a: np.ndarray, out: np.ndarray) -> float:
    """Fill the cofactors of a 3 × 3 matrix; returns its determinant."""
    for i in range(3):
        i1 = (i + 1) % 3
        i2 = (i + 2) % 3
        for k in range(3):
            k1 = (k + 1) % 3
            k2 = (k + 2) % 3
            out[i, k] = a[i1, k1] * a[i2, k2] - a[i1, k2] * a[i2, k1]
    return a[0, 0] * out[0, 0] + a[0, 1] * out[0, 1] + a[0, 2] * out[0, 2]


@compiled
def make_orthogonal(a: np.ndarray) -> bool:
    """Replace a matrix by the nearest rotation (Higham 1986); False if it is nothing like one."""
    cofactor = np.empty((3, 3))
    for _ in range(_ITERATIONS):
        determinant = cofactors(a, cofactor)
        if not determinant > _FLAT:
            return False
        change = 0.0
        for i in range(3):
            for k in range(3):
                value = 0.5 * (a[i, k] + cofactor[i, k] / determinant)
                change = max(change, abs(value - a[i, k]))
                a[i, k] = value
        if change <= 1e-15:
            break
    return True
