"""Solutions with H, by the factors P A = L U of `asperity.integrators.methods.square_lu`.

Not LAPACK's solver: its threads wait for each other longer than some dozen unknowns take.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.integrators.methods.square_lu import factorize_square, solve_square

__all__ = ["factorize_system", "solve_system", "solve_transposed"]


@compiled
def factorize_system(root: Table, system: np.ndarray) -> bool:
    """Keep the factors of H; False if it is singular."""
    n = system.shape[0]
    root.factors[:, :] = system
    return factorize_square(root.factors.ctypes.data, 8 * n, n, root.pivots, 0)


@compiled
def solve_system(root: Table, right: np.ndarray, width: int) -> None:
    """Replace the first columns of right-hand sides by the solutions."""
    n = root.pivots.size
    stride = 8 * (right.size // n)
    solve_square(
        root.factors.ctypes.data, 8 * n, n, root.pivots, 0, right.ctypes.data, stride, width
    )


@compiled
def solve_transposed(root: Table, vector: np.ndarray) -> None:
    """Replace a vector by H⁻ᵀ times it: Hᵀ = Uᵀ Lᵀ P."""
    factors = root.factors
    n = root.pivots.size
    for i in range(n):
        vector[i] /= factors[i, i]
        for j in range(i + 1, n):
            vector[j] -= vector[i] * factors[i, j]
    for i in range(n - 1, -1, -1):
        for j in range(i):
            vector[j] -= vector[i] * factors[i, j]
    for k in range(n - 1, -1, -1):
        value = vector[k]
        vector[k] = vector[root.pivots[k]]
        vector[root.pivots[k]] = value
