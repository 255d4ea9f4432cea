"""The Hessian of one contact as a spatial matrix of the two bodies that touch.

Let r lead from a body's reference point to a contact with the 3 × 3 Hessian G in world axes. For
that body it is the 6 × 6 block (P, Q; Qᵀ, G), rotation first. Blocks of all contacts of a pair add
up about the same reference points, so their sum goes to the other body by one shift. Symmetric
3 × 3 matrices are tuples (xx, xy, xz, yy, yz, zz), others nine numbers row by row.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import compiled, inlined

__all__ = [
    "Full",
    "Symmetric",
    "add_full",
    "add_symmetric",
    "full",
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
) -> tuple[
    Symmetric,
    Full,
    Symmetric,
]:
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
    gxx = ax * px + bx * qx + nx * mx
    gxy = ax * py + bx * qy + nx * my
    gxz = ax * pz + bx * qz + nx * mz
    gyy = ay * py + by * qy + ny * my
    gyz = ay * pz + by * qz + ny * mz
    gzz = az * pz + bz * qz + nz * mz
    x, y, z = arm[c, 0], arm[c, 1], arm[c, 2]
    qxx = y * gxz - z * gxy
    qxy = y * gyz - z * gyy
    qxz = y * gzz - z * gyz
    qyx = z * gxx - x * gxz
    qyy = z * gxy - x * gyz
    qyz = z * gxz - x * gzz
    qzx = x * gxy - y * gxx
    qzy = x * gyy - y * gxy
    qzz = x * gyz - y * gxz
    return (
        (gxx, gxy, gxz, gyy, gyz, gzz),
        (qxx, qxy, qxz, qyx, qyy, qyz, qzx, qzy, qzz),
        (
            y * qxz - z * qxy,
            z * qxx - x * qxz,
            x * qxy - y * qxx,
            z * qyx - x * qyz,
            x * qyy - y * qyx,
            x * qzy - y * qzx,
        ),
    )


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
def _cross_symmetric(x: float, y: float, z: float, g: Symmetric) -> Full:
    """[d]× G for a symmetric G."""
    return (
        y * g[2] - z * g[1],
        y * g[4] - z * g[3],
        y * g[5] - z * g[4],
        z * g[0] - x * g[2],
        z * g[1] - x * g[4],
        z * g[2] - x * g[5],
        x * g[1] - y * g[0],
        x * g[3] - y * g[1],
        x * g[4] - y * g[2],
    )


@inlined
def _times_cross_transposed(q: Full, x: float, y: float, z: float) -> Full:
    """Q [d]×ᵀ, whose rows are d × (rows of Q)."""
    return (
        y * q[2] - z * q[1],
        z * q[0] - x * q[2],
        x * q[1] - y * q[0],
        y * q[5] - z * q[4],
        z * q[3] - x * q[5],
        x * q[4] - y * q[3],
        y * q[8] - z * q[7],
        z * q[6] - x * q[8],
        x * q[7] - y * q[6],
    )


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
def other_side(
    d: tuple[float, float, float], g: Symmetric, q: Full, p: Symmetric
) -> tuple[
    Full,
    Full,
    Symmetric,
]:
    """Q_b, the corner of the coupling, and P_b, from (P, Q, G) about the end of A's arm.

    With r_b = r_a + d:  Q_b = Q_a + [d]× G,  coupling = (P + Q_a [d]×ᵀ, Q_a; Q_bᵀ, G) and
    P_b = P + Q_a [d]×ᵀ + [d]× Q_bᵀ.
    """
    x, y, z = d
    q_b = add_full(q, _cross_symmetric(x, y, z, g))
    between = add_full(full(p), _times_cross_transposed(q, x, y, z))
    turned = _times_cross_transposed(q_b, x, y, z)
    p_b = (
        between[0] + turned[0],
        between[1] + turned[3],
        between[2] + turned[6],
        between[4] + turned[4],
        between[5] + turned[7],
        between[8] + turned[8],
    )
    return q_b, between, p_b
