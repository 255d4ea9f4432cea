"""Cholesky factorization and substitution with the 6 × 6 blocks of free bodies, unrolled.

Most scenes consist of free bodies. The kernels are those of `asperity.convex.block_cholesky` for
n = 6. Without loops the compiler keeps the block in registers.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import compiled

__all__ = [
    "backward_6",
    "cholesky_6",
    "forward_6",
    "pull_6",
    "push_6",
    "substitute_6",
]


@compiled
def cholesky_6(block: np.ndarray, start: int, inverse: np.ndarray, dof: int) -> bool:
    """Factorize a free body's block, written out: its loops are too short to be loops.

    It is L D Lᵀ until its end, since each pivot waits for the one before it: with a division alone,
    and all roots are taken at once. Here ``l`` is L with a diagonal of 1, and ``b`` is L D.
    """
    p0 = block[start + 0]
    b10 = block[start + 6]
    p1 = block[start + 7]
    b20 = block[start + 12]
    b21 = block[start + 13]
    p2 = block[start + 14]
    b30 = block[start + 18]
    b31 = block[start + 19]
    b32 = block[start + 20]
    p3 = block[start + 21]
    b40 = block[start + 24]
    b41 = block[start + 25]
    b42 = block[start + 26]
    b43 = block[start + 27]
    p4 = block[start + 28]
    b50 = block[start + 30]
    b51 = block[start + 31]
    b52 = block[start + 32]
    b53 = block[start + 33]
    b54 = block[start + 34]
    p5 = block[start + 35]
    r0 = 1.0 / p0
    l10 = b10 * r0
    l20 = b20 * r0
    l30 = b30 * r0
    l40 = b40 * r0
    l50 = b50 * r0
    p1 -= l10 * b10
    p2 -= l20 * b20
    b21 -= l20 * b10
    p3 -= l30 * b30
    b31 -= l30 * b10
    b32 -= l30 * b20
    p4 -= l40 * b40
    b41 -= l40 * b10
    b42 -= l40 * b20
    b43 -= l40 * b30
    p5 -= l50 * b50
    b51 -= l50 * b10
    b52 -= l50 * b20
    b53 -= l50 * b30
    b54 -= l50 * b40
    r1 = 1.0 / p1
    l21 = b21 * r1
    l31 = b31 * r1
    l41 = b41 * r1
    l51 = b51 * r1
    p2 -= l21 * b21
    p3 -= l31 * b31
    b32 -= l31 * b21
    p4 -= l41 * b41
    b42 -= l41 * b21
    b43 -= l41 * b31
    p5 -= l51 * b51
    b52 -= l51 * b21
    b53 -= l51 * b31
    b54 -= l51 * b41
    r2 = 1.0 / p2
    l32 = b32 * r2
    l42 = b42 * r2
    l52 = b52 * r2
    p3 -= l32 * b32
    p4 -= l42 * b42
    b43 -= l42 * b32
    p5 -= l52 * b52
    b53 -= l52 * b32
    b54 -= l52 * b42
    r3 = 1.0 / p3
    l43 = b43 * r3
    l53 = b53 * r3
    p4 -= l43 * b43
    p5 -= l53 * b53
    b54 -= l53 * b43
    r4 = 1.0 / p4
    l54 = b54 * r4
    p5 -= l54 * b54
    r5 = 1.0 / p5
    if not (p0 > 0.0 and p1 > 0.0 and p2 > 0.0):
        return False
    if not (p3 > 0.0 and p4 > 0.0 and p5 > 0.0):
        return False
    d0 = np.sqrt(p0)
    d1 = np.sqrt(p1)
    d2 = np.sqrt(p2)
    d3 = np.sqrt(p3)
    d4 = np.sqrt(p4)
    d5 = np.sqrt(p5)
    inverse[dof + 0] = d0 * r0
    inverse[dof + 1] = d1 * r1
    inverse[dof + 2] = d2 * r2
    inverse[dof + 3] = d3 * r3
    inverse[dof + 4] = d4 * r4
    inverse[dof + 5] = d5 * r5
    block[start + 0] = d0
    block[start + 6] = l10 * d0
    block[start + 7] = d1
    block[start + 12] = l20 * d0
    block[start + 13] = l21 * d1
    block[start + 14] = d2
    block[start + 18] = l30 * d0
    block[start + 19] = l31 * d1
    block[start + 20] = l32 * d2
    block[start + 21] = d3
    block[start + 24] = l40 * d0
    block[start + 25] = l41 * d1
    block[start + 26] = l42 * d2
    block[start + 27] = l43 * d3
    block[start + 28] = d4
    block[start + 30] = l50 * d0
    block[start + 31] = l51 * d1
    block[start + 32] = l52 * d2
    block[start + 33] = l53 * d3
    block[start + 34] = l54 * d4
    block[start + 35] = d5
    return True


@compiled
def forward_6(block: np.ndarray, start: int, inverse: np.ndarray, dof: int, x: np.ndarray) -> None:
    """x = L⁻¹ x for a free body."""
    x0 = x[dof] * inverse[dof]
    x1 = (x[dof + 1] - block[start + 6] * x0) * inverse[dof + 1]
    x2 = (x[dof + 2] - block[start + 12] * x0 - block[start + 13] * x1) * inverse[dof + 2]
    x3 = (
        x[dof + 3] - block[start + 18] * x0 - block[start + 19] * x1 - block[start + 20] * x2
    ) * inverse[dof + 3]
    x4 = (
        x[dof + 4]
        - block[start + 24] * x0
        - block[start + 25] * x1
        - block[start + 26] * x2
        - block[start + 27] * x3
    ) * inverse[dof + 4]
    x5 = (
        x[dof + 5]
        - block[start + 30] * x0
        - block[start + 31] * x1
        - block[start + 32] * x2
        - block[start + 33] * x3
        - block[start + 34] * x4
    ) * inverse[dof + 5]
    x[dof + 0] = x0
    x[dof + 1] = x1
    x[dof + 2] = x2
    x[dof + 3] = x3
    x[dof + 4] = x4
    x[dof + 5] = x5


@compiled
def backward_6(block: np.ndarray, start: int, inverse: np.ndarray, dof: int, x: np.ndarray) -> None:
    """x = L⁻ᵀ x for a free body."""
    x5 = x[dof + 5] * inverse[dof + 5]
    x4 = (x[dof + 4] - block[start + 34] * x5) * inverse[dof + 4]
    x3 = (x[dof + 3] - block[start + 27] * x4 - block[start + 33] * x5) * inverse[dof + 3]
    x2 = (
        x[dof + 2] - block[start + 20] * x3 - block[start + 26] * x4 - block[start + 32] * x5
    ) * inverse[dof + 2]
    x1 = (
        x[dof + 1]
        - block[start + 13] * x2
        - block[start + 19] * x3
        - block[start + 25] * x4
        - block[start + 31] * x5
    ) * inverse[dof + 1]
    x0 = (
        x[dof + 0]
        - block[start + 6] * x1
        - block[start + 12] * x2
        - block[start + 18] * x3
        - block[start + 24] * x4
        - block[start + 30] * x5
    ) * inverse[dof + 0]
    x[dof + 0] = x0
    x[dof + 1] = x1
    x[dof + 2] = x2
    x[dof + 3] = x3
    x[dof + 4] = x4
    x[dof + 5] = x5


@compiled
def substitute_6(
    block: np.ndarray, start: int, inverse: np.ndarray, dof: int, coupling: np.ndarray, at: int
) -> None:
    for i in range(6):
        row = at + 6 * i
        c0, c1, c2 = coupling[row], coupling[row + 1], coupling[row + 2]
        c3, c4, c5 = coupling[row + 3], coupling[row + 4], coupling[row + 5]
        for k in range(i):
            value = block[start + 6 * i + k]
            other = at + 6 * k
            c0 -= value * coupling[other]
            c1 -= value * coupling[other + 1]
            c2 -= value * coupling[other + 2]
            c3 -= value * coupling[other + 3]
            c4 -= value * coupling[other + 4]
            c5 -= value * coupling[other + 5]
        scale = inverse[dof + i]
        coupling[row] = c0 * scale
        coupling[row + 1] = c1 * scale
        coupling[row + 2] = c2 * scale
        coupling[row + 3] = c3 * scale
        coupling[row + 4] = c4 * scale
        coupling[row + 5] = c5 * scale


@compiled
def push_6(coupling: np.ndarray, at: int, x: np.ndarray, dof: int, target: int) -> None:
    """x[target] −= Uᵀ x[dof] for two free bodies."""
    t0, t1, t2 = x[target], x[target + 1], x[target + 2]
    t3, t4, t5 = x[target + 3], x[target + 4], x[target + 5]
    for k in range(6):
        value = x[dof + k]
        row = at + 6 * k
        t0 -= coupling[row] * value
        t1 -= coupling[row + 1] * value
        t2 -= coupling[row + 2] * value
        t3 -= coupling[row + 3] * value
        t4 -= coupling[row + 4] * value
        t5 -= coupling[row + 5] * value
    x[target] = t0
    x[target + 1] = t1
    x[target + 2] = t2
    x[target + 3] = t3
    x[target + 4] = t4
    x[target + 5] = t5


@compiled
def pull_6(coupling: np.ndarray, at: int, x: np.ndarray, dof: int, source: int) -> None:
    """x[dof] −= U x[source] for two free bodies."""
    s0, s1, s2 = x[source], x[source + 1], x[source + 2]
    s3, s4, s5 = x[source + 3], x[source + 4], x[source + 5]
    for k in range(6):
        row = at + 6 * k
        x[dof + k] -= (
            coupling[row] * s0
            + coupling[row + 1] * s1
            + coupling[row + 2] * s2
            + coupling[row + 3] * s3
            + coupling[row + 4] * s4
            + coupling[row + 5] * s5
        )
