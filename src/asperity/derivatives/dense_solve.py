"""Small dense systems, which are not symmetric.

Not LAPACK's solver: its threads wait for each other longer than some dozen unknowns take.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import compiled_loop

__all__ = ["SINGULAR", "eliminate", "solve_dense"]

SINGULAR = 1

_MATRIX = types.Array(types.float64, 2, "C")


@compiled_loop(types.int64(_MATRIX, _MATRIX))
def eliminate(matrix: np.ndarray, right: np.ndarray) -> int:
    """Gaussian elimination with partial pivoting; the solution replaces the right-hand sides."""
    n = matrix.shape[0]
    width = right.shape[1]
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(matrix[i, k]) > abs(matrix[pivot, k]):
                pivot = i
        if not abs(matrix[pivot, k]) > 0.0:
            return SINGULAR
        if pivot != k:
            for j in range(k, n):
                value = matrix[k, j]
                matrix[k, j] = matrix[pivot, j]
                matrix[pivot, j] = value
            for j in range(width):
                value = right[k, j]
                right[k, j] = right[pivot, j]
                right[pivot, j] = value
        inverse = 1.0 / matrix[k, k]
        for i in range(k + 1, n):
            factor = matrix[i, k] * inverse
            if factor == 0.0:
                continue
            for j in range(k + 1, n):
                matrix[i, j] -= factor * matrix[k, j]
            for j in range(width):
                right[i, j] -= factor * right[k, j]
    for k in range(n - 1, -1, -1):
        inverse = 1.0 / matrix[k, k]
        for j in range(width):
            right[k, j] *= inverse
        for i in range(k):
            factor = matrix[i, k]
            if factor == 0.0:
                continue
            for j in range(width):
                right[i, j] -= factor * right[k, j]
    return 0


def solve_dense(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The solution of ``matrix @ x = right``; not a number where the matrix is singular.

    Parameters
    ----------
    matrix, right : numpy.ndarray
        Shape (n, n) and (n, k); neither is changed.
    """
    left = np.array(matrix, order="C")
    result = np.array(right, order="C")
    if eliminate.call(left, result) == SINGULAR:
        result[:] = np.nan
    return result
