"""Small dense systems, which are not symmetric: factors P A = L U, and solutions with them.

Not LAPACK's solver: its threads wait for each other longer than some dozen unknowns take.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import compiled

__all__ = ["factorize_dense", "solve_columns", "solve_one"]


@compiled
def factorize_dense(matrix: np.ndarray, factors: np.ndarray, pivots: np.ndarray) -> bool:
    """Factorize with partial pivoting; False if the matrix is singular."""
    n = matrix.shape[0]
    for i in range(n):
        for j in range(n):
            factors[i, j] = matrix[i, j]
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(factors[i, k]) > abs(factors[pivot, k]):
                pivot = i
        pivots[k] = pivot
        if not abs(factors[pivot, k]) > 0.0:
            return False
        if pivot != k:
            for j in range(n):
                value = factors[k, j]
                factors[k, j] = factors[pivot, j]
                factors[pivot, j] = value
        inverse = 1.0 / factors[k, k]
        for i in range(k + 1, n):
            if factors[i, k] == 0.0:
                continue
            factor = factors[i, k] * inverse
            factors[i, k] = factor
            for j in range(k + 1, n):
                factors[i, j] -= factor * factors[k, j]
    return True


@compiled
def solve_one(factors: np.ndarray, pivots: np.ndarray, x: np.ndarray) -> None:
    """Replace a right-hand side by the solution."""
    n = factors.shape[0]
    for k in range(n):
        pivot = pivots[k]
        value = x[pivot]
        x[pivot] = x[k]
        x[k] = value
    for i in range(n):
        value = x[i]
        for j in range(i):
            value -= factors[i, j] * x[j]
        x[i] = value
    for i in range(n - 1, -1, -1):
        value = x[i]
        for j in range(i + 1, n):
            value -= factors[i, j] * x[j]
        x[i] = value / factors[i, i]


@compiled
def solve_columns(factors: np.ndarray, pivots: np.ndarray, right: np.ndarray, width: int) -> None:
    """Replace the first columns of a matrix of right-hand sides by the solutions."""
    n = factors.shape[0]
    for k in range(n):
        pivot = pivots[k]
        if pivot != k:
            for j in range(width):
                value = right[k, j]
                right[k, j] = right[pivot, j]
                right[pivot, j] = value
    for k in range(n):
        for i in range(k + 1, n):
            factor = factors[i, k]
            if factor != 0.0:
                for j in range(width):
                    right[i, j] -= factor * right[k, j]
    for k in range(n - 1, -1, -1):
        inverse = 1.0 / factors[k, k]
        for j in range(width):
            right[k, j] *= inverse
        for i in range(k):
            factor = factors[i, k]
            if factor != 0.0:
                for j in range(width):
                    right[i, j] -= factor * right[k, j]
