"""Cholesky factorization and substitution with the 6 × 6 blocks of free bodies, unrolled.

Most scenes consist of free bodies. The kernels are those of `asperity.convex.block_cholesky` for
n = 6, where a compiler that sees no loop keeps the block in registers.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import compiled

__all__ = [
    "backward_6",
    "cholesky_6",
    "downdate_6",
    "forward_6",
    "pull_6",
    "push_6",
    "substitute_6",
]


@compiled
def cholesky_6(block: np.ndarray, start: int, inverse: np.ndarray, dof: int) -> bool:
    """The same for a free body, written out: its loops are too short to be loops."""
    a00 = block[start + 0]
    a10 = block[start + 6]
    a11 = block[start + 7]
    a20 = block[start + 12]
    a21 = block[start + 13]
    a22 = block[start + 14]
    a30 = block[start + 18]
    a31 = block[start + 19]
    a32 = block[start + 20]
    a33 = block[start + 21]
    a40 = block[start + 24]
    a41 = block[start + 25]
    a42 = block[start + 26]
    a43 = block[start + 27]
    a44 = block[start + 28]
    a50 = block[start + 30]
    a51 = block[start + 31]
    a52 = block[start + 32]
    a53 = block[start + 33]
    a54 = block[start + 34]
    a55 = block[start + 35]
    pivot_0 = a00
    root_0 = np.sqrt(pivot_0)
    d0 = 1.0 / root_0
    a10 *= d0
    pivot_1 = a11 - a10 * a10
    root_1 = np.sqrt(pivot_1)
    d1 = 1.0 / root_1
    a20 *= d0
    a21 = (a21 - a20 * a10) * d1
    pivot_2 = a22 - a20 * a20 - a21 * a21
    root_2 = np.sqrt(pivot_2)
    d2 = 1.0 / root_2
    a30 *= d0
    a31 = (a31 - a30 * a10) * d1
    a32 = (a32 - a30 * a20 - a31 * a21) * d2
    pivot_3 = a33 - a30 * a30 - a31 * a31 - a32 * a32
    root_3 = np.sqrt(pivot_3)
    d3 = 1.0 / root_3
    a40 *= d0
    a41 = (a41 - a40 * a10) * d1
    a42 = (a42 - a40 * a20 - a41 * a21) * d2
    a43 = (a43 - a40 * a30 - a41 * a31 - a42 * a32) * d3
    pivot_4 = a44 - a40 * a40 - a41 * a41 - a42 * a42 - a43 * a43
    root_4 = np.sqrt(pivot_4)
    d4 = 1.0 / root_4
    a50 *= d0
    a51 = (a51 - a50 * a10) * d1
    a52 = (a52 - a50 * a20 - a51 * a21) * d2
    a53 = (a53 - a50 * a30 - a51 * a31 - a52 * a32) * d3
    a54 = (a54 - a50 * a40 - a51 * a41 - a52 * a42 - a53 * a43) * d4
    pivot_5 = a55 - a50 * a50 - a51 * a51 - a52 * a52 - a53 * a53 - a54 * a54
    root_5 = np.sqrt(pivot_5)
    d5 = 1.0 / root_5
    if not (pivot_0 > 0.0 and pivot_1 > 0.0 and pivot_2 > 0.0):
        return False
    if not (pivot_3 > 0.0 and pivot_4 > 0.0 and pivot_5 > 0.0):
        return False
    block[start + 0] = root_0
    inverse[dof + 0] = d0
    block[start + 6] = a10
    block[start + 7] = root_1
    inverse[dof + 1] = d1
    block[start + 12] = a20
    block[start + 13] = a21
    block[start + 14] = root_2
    inverse[dof + 2] = d2
    block[start + 18] = a30
    block[start + 19] = a31
    block[start + 20] = a32
    block[start + 21] = root_3
    inverse[dof + 3] = d3
    block[start + 24] = a40
    block[start + 25] = a41
    block[start + 26] = a42
    block[start + 27] = a43
    block[start + 28] = root_4
    inverse[dof + 4] = d4
    block[start + 30] = a50
    block[start + 31] = a51
    block[start + 32] = a52
    block[start + 33] = a53
    block[start + 34] = a54
    block[start + 35] = root_5
    inverse[dof + 5] = d5
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
        c0 = coupling[row]
        c1 = coupling[row + 1]
        c2 = coupling[row + 2]
        c3 = coupling[row + 3]
        c4 = coupling[row + 4]
        c5 = coupling[row + 5]
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
def downdate_6(coupling: np.ndarray, a: int, b: int, target: np.ndarray, at: int) -> None:
    for q in range(6):
        row = at + 6 * q
        t0 = 0.0
        t1 = 0.0
        t2 = 0.0
        t3 = 0.0
        t4 = 0.0
        t5 = 0.0
        for k in range(6):
            value = coupling[a + 6 * k + q]
            other = b + 6 * k
            t0 += value * coupling[other]
            t1 += value * coupling[other + 1]
            t2 += value * coupling[other + 2]
            t3 += value * coupling[other + 3]
            t4 += value * coupling[other + 4]
            t5 += value * coupling[other + 5]
        target[row] -= t0
        target[row + 1] -= t1
        target[row + 2] -= t2
        target[row + 3] -= t3
        target[row + 4] -= t4
        target[row + 5] -= t5


@compiled
def push_6(coupling: np.ndarray, at: int, x: np.ndarray, dof: int, target: int) -> None:
    """x[target] −= Uᵀ x[dof] for two free bodies."""
    t0 = x[target]
    t1 = x[target + 1]
    t2 = x[target + 2]
    t3 = x[target + 3]
    t4 = x[target + 4]
    t5 = x[target + 5]
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
    s0 = x[source]
    s1 = x[source + 1]
    s2 = x[source + 2]
    s3 = x[source + 3]
    s4 = x[source + 4]
    s5 = x[source + 5]
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
