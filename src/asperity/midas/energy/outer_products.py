"""Sums of (y_a y_bᵀ) ⊗ H, in which Hessians of contact and friction are assembled."""

from __future__ import annotations

import numpy as np

from asperity.compiled import compiled

__all__ = ["add_outer"]


@compiled
def add_outer(
    sums: np.ndarray,
    ya: np.ndarray,
    yb: np.ndarray,
    h00: float,
    h01: float,
    h02: float,
    h11: float,
    h12: float,
    h22: float,
) -> None:
    """Add (y_a y_bᵀ) ⊗ H for a symmetric 3 × 3 matrix H to sums of shape (6, 16).

    One row for every entry of H, so that the innermost loop runs over contiguous numbers;
    `expand` makes a 12 × 12 block of them.
    """
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
