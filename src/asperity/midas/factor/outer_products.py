"""Sums of (y_a y_bᵀ) ⊗ H, in which Hessians of contact and friction are assembled.

They have a row for every entry of a symmetric matrix H. Friction of all kinds has others as well
(`asperity.midas.energy.friction_kinds`): with it there are three rows more, of their skew parts.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import compiled

__all__ = [
    "SYMMETRIC",
    "add_block",
    "add_isotropic",
    "add_outer",
    "expand",
    "fill_square",
    "is_zero",
]

SYMMETRIC = 6
"""Rows of a symmetric matrix's entries, of the upper triangle."""


@compiled
def fill_square(scale: float, n: np.ndarray, h: np.ndarray) -> None:
    """Fill the upper triangle of scale · n nᵀ, row by row."""
    h[0] = scale * n[0] * n[0]
    h[1] = scale * n[0] * n[1]
    h[2] = scale * n[0] * n[2]
    h[3] = scale * n[1] * n[1]
    h[4] = scale * n[1] * n[2]
    h[5] = scale * n[2] * n[2]


@compiled
def add_outer(sums: np.ndarray, ya: np.ndarray, yb: np.ndarray, h: np.ndarray) -> None:
    """Add (y_a y_bᵀ) ⊗ H for a symmetric 3 × 3 matrix H, by its upper triangle, to (6, 16) sums.

    One row for every entry of H, so that the innermost loop runs over contiguous numbers;
    `expand` makes a 12 × 12 block of them.
    """
    h00, h01, h02, h11, h12, h22 = h[0], h[1], h[2], h[3], h[4], h[5]
    for i in range(4):
        for j in range(4):
            y = ya[i] * yb[j]
            k = 4 * i + j
            sums[0, k] += h00 * y
            sums[1, k] += h01 * y
            sums[2, k] += h02 * y
            sums[3, k] += h11 * y
            sums[4, k] += h12 * y
            sums[5, k] += h22 * y


@compiled
def add_isotropic(sums: np.ndarray, ya: np.ndarray, yb: np.ndarray, scale: float) -> None:
    """Add (y_a y_bᵀ) ⊗ scale · 1 to sums, as `add_outer`."""
    for i in range(4):
        for j in range(4):
            for row in (0, 3, 5):
                sums[row, 4 * i + j] += scale * ya[i] * yb[j]


@compiled
def add_block(
    sums: np.ndarray, ya: np.ndarray, yb: np.ndarray, d: np.ndarray, row: int, column: int
) -> None:
    """Add (y_a y_bᵀ) ⊗ D to (9, 16) sums, D being the 3 × 3 block of ``d`` at a row and column."""
    for i in range(3):
        m = (i + 1) % 3
        n = (i + 2) % 3
        # Rows of the upper triangle are 00, 01, 02, 11, 12, 22.
        own = 0 if i == 0 else (3 if i == 1 else 5)
        across = 4 if i == 0 else (2 if i == 1 else 1)
        one = d[row + m, column + n]
        other = d[row + n, column + m]
        for j in range(4):
            for k in range(4):
                y = ya[j] * yb[k]
                sums[own, 4 * j + k] += d[row + i, column + i] * y
                sums[across, 4 * j + k] += 0.5 * (one + other) * y
                sums[SYMMETRIC + i, 4 * j + k] += 0.5 * (one - other) * y


@compiled
def expand(sums: np.ndarray, block: np.ndarray) -> None:
    """Add what `add_outer` has summed to a 12 × 12 block."""
    for i in range(4):
        for j in range(4):
            k = 4 * i + j
            r = 3 * i
            c = 3 * j
            block[r, c] += sums[0, k]
            block[r, c + 1] += sums[1, k]
            block[r, c + 2] += sums[2, k]
            block[r + 1, c] += sums[1, k]
            block[r + 1, c + 1] += sums[3, k]
            block[r + 1, c + 2] += sums[4, k]
            block[r + 2, c] += sums[2, k]
            block[r + 2, c + 1] += sums[4, k]
            block[r + 2, c + 2] += sums[5, k]
            if sums.shape[0] > SYMMETRIC:
                for row in range(3):
                    m = (row + 1) % 3
                    n = (row + 2) % 3
                    block[r + m, c + n] += sums[SYMMETRIC + row, k]
                    block[r + n, c + m] -= sums[SYMMETRIC + row, k]


@compiled
def is_zero(sums: np.ndarray) -> bool:
    """Whether all sums are zero."""
    for q in range(sums.shape[0]):
        for k in range(16):
            if sums[q, k] != 0.0:
                return False
    return True
