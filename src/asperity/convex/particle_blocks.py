"""Cholesky factorization and substitution with the 3 × 3 blocks of particles, unrolled.

The kernels are those of `asperity.convex.block_cholesky` for n = 3.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import compiled, inlined

__all__ = [
    "backward_3",
    "cholesky_3",
    "downdate_3",
    "forward_3",
    "pull_3",
    "push_3",
    "substitute_3",
]


@compiled
def cholesky_3(block: np.ndarray, start: int, inverse: np.ndarray, dof: int) -> bool:
    """Factorize a block in place; False if it is not positive definite."""
    p0 = block[start]
    if not p0 > 0.0:
        return False
    d0 = np.sqrt(p0)
    i0 = 1.0 / d0
    l10 = block[start + 3] * i0
    l20 = block[start + 6] * i0
    p1 = block[start + 4] - l10 * l10
    if not p1 > 0.0:
        return False
    d1 = np.sqrt(p1)
    i1 = 1.0 / d1
    l21 = (block[start + 7] - l20 * l10) * i1
    p2 = block[start + 8] - l20 * l20 - l21 * l21
    if not p2 > 0.0:
        return False
    d2 = np.sqrt(p2)
    block[start] = d0
    block[start + 3] = l10
    block[start + 4] = d1
    block[start + 6] = l20
    block[start + 7] = l21
    block[start + 8] = d2
    inverse[dof] = i0
    inverse[dof + 1] = i1
    inverse[dof + 2] = 1.0 / d2
    return True


@inlined
def substitute_3(
    block: np.ndarray, start: int, inverse: np.ndarray, dof: int, coupling: np.ndarray, at: int
) -> None:
    """Replace a 3 × 3 coupling U by L⁻¹ U."""
    l10 = block[start + 3]
    l20 = block[start + 6]
    l21 = block[start + 7]
    for j in range(3):
        x = coupling[at + j] * inverse[dof]
        y = (coupling[at + 3 + j] - l10 * x) * inverse[dof + 1]
        z = (coupling[at + 6 + j] - l20 * x - l21 * y) * inverse[dof + 2]
        coupling[at + j] = x
        coupling[at + 3 + j] = y
        coupling[at + 6 + j] = z


@inlined
def downdate_3(coupling: np.ndarray, a: int, b: int, target: np.ndarray, at: int) -> None:
    """target −= U_aᵀ U_b."""
    for i in range(3):
        u = coupling[a + i]
        v = coupling[a + 3 + i]
        w = coupling[a + 6 + i]
        for j in range(3):
            target[at + 3 * i + j] -= (
                u * coupling[b + j] + v * coupling[b + 3 + j] + w * coupling[b + 6 + j]
            )


@inlined
def forward_3(factor: np.ndarray, start: int, inverse: np.ndarray, dof: int, x: np.ndarray) -> None:
    """x = L⁻¹ x."""
    a = x[dof] * inverse[dof]
    b = (x[dof + 1] - factor[start + 3] * a) * inverse[dof + 1]
    x[dof + 2] = (x[dof + 2] - factor[start + 6] * a - factor[start + 7] * b) * inverse[dof + 2]
    x[dof] = a
    x[dof + 1] = b


@inlined
def backward_3(
    factor: np.ndarray, start: int, inverse: np.ndarray, dof: int, x: np.ndarray
) -> None:
    """x = L⁻ᵀ x."""
    c = x[dof + 2] * inverse[dof + 2]
    b = (x[dof + 1] - factor[start + 7] * c) * inverse[dof + 1]
    x[dof] = (x[dof] - factor[start + 3] * b - factor[start + 6] * c) * inverse[dof]
    x[dof + 1] = b
    x[dof + 2] = c


@inlined
def push_3(coupling: np.ndarray, at: int, x: np.ndarray, dof: int, other: int) -> None:
    """x(other) −= Uᵀ x."""
    a = x[dof]
    b = x[dof + 1]
    c = x[dof + 2]
    for j in range(3):
        x[other + j] -= coupling[at + j] * a + coupling[at + 3 + j] * b + coupling[at + 6 + j] * c


@inlined
def pull_3(coupling: np.ndarray, at: int, x: np.ndarray, dof: int, other: int) -> None:
    """x −= U x(other)."""
    a = x[other]
    b = x[other + 1]
    c = x[other + 2]
    for i in range(3):
        k = at + 3 * i
        x[dof + i] -= coupling[k] * a + coupling[k + 1] * b + coupling[k + 2] * c
