"""Sums of (y_a y_bᵀ) ⊗ H, in which Hessians of contact and friction are assembled."""

from __future__ import annotations

import numpy as np

from asperity.compiled import compiled

__all__ = ["add_isotropic", "add_outer", "fill_square"]


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
