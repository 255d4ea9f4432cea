"""Solutions with H, by its factors P A = L U, rows exchanged.

Not LAPACK's solver: its threads wait for each other longer than some dozen unknowns take. Rows of H
are known from their first to their last entry, between which all fill-in is: particles of
deformable bodies feel few others.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.compiled.calls import load_double, store_double
from asperity.compiled.row_kernels import add_row, copy_row, scale_row, subtract_rows
from asperity.integrators.methods.square_lu import LARGEST, exchange_rows

__all__ = ["factorize_system", "solve_system", "solve_transposed"]


@compiled
def _find_ends(root: Table, system: np.ndarray) -> None:
    """Copy H, and find where its rows begin and end."""
    n = system.shape[0]
    for i in range(n):
        first = 0
        while first < i and system[i, first] == 0.0:
            first += 1
        last = n - 1
        while last > i and system[i, last] == 0.0:
            last -= 1
        root.first[i] = first
        root.last[i] = last
        copy_row(root.factors.ctypes.data + 8 * n * i, system.ctypes.data + 8 * n * i, n)


@compiled
def _exchange(root: Table, k: int, other: int) -> None:
    """Exchange two rows."""
    n = root.pivots.size
    corner = root.factors.ctypes.data
    exchange_rows(corner + 8 * n * k, corner + 8 * n * other, n)
    for ends in (root.first, root.last):
        end = ends[k]
        ends[k] = ends[other]
        ends[other] = end


@compiled
def factorize_system(root: Table, system: np.ndarray) -> bool:
    """Keep the factors of H; False if it is singular."""
    n = system.shape[0]
    corner = root.factors.ctypes.data
    _find_ends(root, system)
    for k in range(n):
        row_k = corner + 8 * n * k
        best = k
        size = abs(load_double(row_k + 8 * k))
        for i in range(k + 1, n):
            if root.first[i] <= k:
                value = abs(load_double(corner + 8 * (n * i + k)))
                if value > size:
                    size = value
                    best = i
        if not 0.0 < size <= LARGEST:
            return False
        root.pivots[k] = best
        if best != k:
            _exchange(root, k, best)
        inverse = 1.0 / load_double(row_k + 8 * k)
        width = root.last[k] - k
        for i in range(k + 1, n):
            if root.first[i] > k:
                continue
            row_i = corner + 8 * n * i
            share = load_double(row_i + 8 * k) * inverse
            store_double(row_i + 8 * k, share)
            if share != 0.0:
                at = 8 * (k + 1)
                add_row(row_i + at, row_k + at, -share, width)
                root.last[i] = max(root.last[i], root.last[k])
    return True


@compiled
def solve_system(root: Table, right: np.ndarray, width: int) -> None:
    """Replace the first columns of right-hand sides by the solutions."""
    n = root.pivots.size
    stride = 8 * (right.size // n)
    corner = root.factors.ctypes.data
    rows = right.ctypes.data
    for k in range(n):
        if root.pivots[k] != k:
            exchange_rows(rows + k * stride, rows + root.pivots[k] * stride, width)
    for i in range(1, n):
        first = root.first[i]
        left = corner + 8 * (n * i + first)
        subtract_rows(rows + i * stride, left, 8, rows + first * stride, stride, i - first, width)
    for i in range(n - 1, -1, -1):
        row = rows + i * stride
        diagonal = corner + 8 * (n * i + i)
        if root.last[i] > i:
            subtract_rows(row, diagonal + 8, 8, row + stride, stride, root.last[i] - i, width)
        scale_row(row, 1.0 / load_double(diagonal), width)


@compiled
def solve_transposed(root: Table, vector: np.ndarray) -> None:
    """Replace a vector by H⁻ᵀ times it: Hᵀ = Uᵀ Lᵀ P."""
    factors = root.factors
    n = root.pivots.size
    for i in range(n):
        vector[i] /= factors[i, i]
        for j in range(i + 1, root.last[i] + 1):
            vector[j] -= vector[i] * factors[i, j]
    for i in range(n - 1, -1, -1):
        for j in range(root.first[i], i):
            vector[j] -= vector[i] * factors[i, j]
    for k in range(n - 1, -1, -1):
        value = vector[k]
        vector[k] = vector[root.pivots[k]]
        vector[root.pivots[k]] = value
