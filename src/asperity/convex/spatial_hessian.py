"""The Hessian of one contact as a spatial matrix of the two bodies that touch.

Let r lead from a body's reference point to a contact with the 3 × 3 Hessian G in world axes. For
that body it is the 6 × 6 block (P, Q; Qᵀ, G), rotation first. Blocks of all contacts of a pair add
up about the same reference points, so their sum goes to the other body by one shift. Symmetric
3 × 3 matrices are tuples (xx, xy, xz, yy, yz, zz), others nine numbers row by row.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import compiled, inlined
from asperity.plant.rotations import Vector, cross

__all__ = [
    "Full",
    "Symmetric",
    "add_full",
    "add_symmetric",
    "full",
    "keep_hessian",
    "other_side",
    "spatial_hessian",
    "write_patch",
]

Symmetric = tuple[float, float, float, float, float, float]
"""A symmetric 3 × 3 matrix: xx, xy, xz, yy, yz, zz."""

Full = tuple[float, float, float, float, float, float, float, float, float]
"""Any other one, row by row."""


@inlined
def spatial_hessian(
    c: int,
    i: int,
    frame: np.ndarray,
    arm: np.ndarray,
    curvature: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    coupled: bool,
) -> tuple[Symmetric, Full, Symmetric]:
    """Hessian of one contact in world axes, about the end of an arm r.

    Returns G (xx, xy, xz, yy, yz, zz), Q = [r]× G row by row and the upper triangle of
    P = [r]× G [r]×ᵀ, so that a body's block is (P, Q; Qᵀ, G).
    """
    h11, h12, h22, h1n, h2n, hnn = curvature
    ax, ay, az = frame[c, 0], frame[c, 1], frame[c, 2]
    bx, by, bz = frame[c, 3], frame[c, 4], frame[c, 5]
    nx, ny, nz = frame[c, 6], frame[c, 7], frame[c, 8]
    a = h11[i]
    b = h12[i]
    d = h22[i]
    n = hnn[i]
    # Rows of G in the contact's axes times the axes.
    px = a * ax + b * bx
    py = a * ay + b * by
    pz = a * az + b * bz
    qx = b * ax + d * bx
    qy = b * ay + d * by
    qz = b * az + d * bz
    mx = n * nx
    my = n * ny
    mz = n * nz
    if coupled:
        e = h1n[i]
        f = h2n[i]
        px += e * nx
        py += e * ny
        pz += e * nz
        qx += f * nx
        qy += f * ny
        qz += f * nz
        mx += e * ax + f * bx
        my += e * ay + f * by
        mz += e * az + f * bz
    g = (
        ax * px + bx * qx + nx * mx,
        ax * py + bx * qy + nx * my,
        ax * pz + bx * qz + nx * mz,
        ay * py + by * qy + ny * my,
        ay * pz + by * qz + ny * mz,
        az * pz + bz * qz + nz * mz,
    )
    r = (arm[c, 0], arm[c, 1], arm[c, 2])
    q = _cross_symmetric(r, g)
    p = _times_cross_transposed(q, r)
    return g, q, (p[0], p[1], p[2], p[4], p[5], p[8])


@inlined
def add_symmetric(a: Symmetric, b: Symmetric) -> Symmetric:
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5])


@inlined
def add_full(a: Full, b: Full) -> Full:
    return (
        a[0] + b[0],
        a[1] + b[1],
        a[2] + b[2],
        a[3] + b[3],
        a[4] + b[4],
        a[5] + b[5],
        a[6] + b[6],
        a[7] + b[7],
        a[8] + b[8],
    )


@inlined
def _cross_symmetric(d: Vector, g: Symmetric) -> Full:
    """[d]× G for a symmetric G, whose columns are d × (columns of G)."""
    x = cross(d, (g[0], g[1], g[2]))
    y = cross(d, (g[1], g[3], g[4]))
    z = cross(d, (g[2], g[4], g[5]))
    return (x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2])


@inlined
def _times_cross_transposed(q: Full, d: Vector) -> Full:
    """Q [d]×ᵀ, whose rows are d × (rows of Q)."""
    x = cross(d, (q[0], q[1], q[2]))
    y = cross(d, (q[3], q[4], q[5]))
    z = cross(d, (q[6], q[7], q[8]))
    return x + y + z


@inlined
def full(g: Symmetric) -> Full:
    """All nine numbers of a symmetric 3 × 3 matrix."""
    return (g[0], g[1], g[2], g[1], g[3], g[4], g[2], g[4], g[5])


@compiled
def write_patch(patch: np.ndarray, corner: Full, right: Full, low: Full, g: Symmetric) -> None:
    """patch = (corner, right; lowᵀ, G), row by row."""
    numbers = full(g)
    for i in range(3):
        for j in range(3):
            patch[6 * i + j] = corner[3 * i + j]
            patch[6 * i + 3 + j] = right[3 * i + j]
            patch[18 + 6 * i + j] = low[3 * j + i]
            patch[21 + 6 * i + j] = numbers[3 * i + j]


@inlined
def keep_hessian(rows: np.ndarray, i: int, at: int, p: Symmetric, q: Full, g: Symmetric) -> None:
    """Write (P, Q, G) into 21 numbers of a row, from a place on."""
    for k in range(6):
        rows[i, at + k] = p[k]
        rows[i, at + 15 + k] = g[k]
    for k in range(9):
        rows[i, at + 6 + k] = q[k]


@inlined
def other_side(d: Vector, g: Symmetric, q: Full, p: Symmetric) -> tuple[Full, Full, Symmetric]:
    """Q_b, the corner of the coupling, and P_b, from (P, Q, G) about the end of A's arm.

    With r_b = r_a + d:  Q_b = Q_a + [d]× G,  coupling = (P + Q_a [d]×ᵀ, Q_a; Q_bᵀ, G) and
    P_b = P + Q_a [d]×ᵀ + [d]× Q_bᵀ.
    """
    q_b = add_full(q, _cross_symmetric(d, g))
    between = add_full(full(p), _times_cross_transposed(q, d))
    turned = _times_cross_transposed(q_b, d)
    p_b = (
        between[0] + turned[0],
        between[1] + turned[3],
        between[2] + turned[6],
        between[4] + turned[4],
        between[5] + turned[7],
        between[8] + turned[8],
    )
    return q_b, between, p_b
