"""Elastic forces of elements that turn, and their stiffness.

With the rotation R next to the mean gradient F = Σ x_a g_aᵀ of positions, an element's energy and
forces are

    u_a = Rᵀ x_a − X_a,    E = ½ uᵀ K_0 u,    f_a = −R Σ_b K_ab u_b

and its stiffness is taken to be R K_0 Rᵀ, which is positive semidefinite whatever the strain. R is
found from F alone, so that forces depend on the state and nothing else: from the first column of F
and what is orthogonal to it of the second, by turns ω that make tr Rᵀ F largest. With T = F Rᵀ
Newton's method finds them,

    (tr T − ½ (T + Tᵀ)) ω = Σ R_c × F_c

with the columns of both, where the matrix is positive definite and ω small. Elsewhere, as of
elements that are inside out, ω is Σ R_c × F_c/(|tr T| + ε) (M. Müller, J. Bender, N. Chentanez, M.
Macklin, A robust method to extract the rotational part of deformations, 2016).
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled, inlined
from asperity.compiled.row_kernels import subtract_rows

__all__ = [
    "Rotation",
    "add_elasticity",
    "add_pair",
    "element_offsets",
    "element_rotation",
    "rotation_tuple",
]

_MOST_TURNS = 50
_SMALL = 1e-13
# Of the matrix of Newton's method over its trace, below which it is not used.
_LEAST_PIVOT = 1e-2
_LARGEST_TURN = 0.5  # [rad]
_DIAGONAL = -1

Rotation = tuple[float, float, float, float, float, float, float, float, float]
"""R, row by row."""


@compiled
def _first_guess(f: np.ndarray, r: np.ndarray) -> None:
    """A rotation with F's first column, or any if F has none."""
    square = f[0] * f[0] + f[3] * f[3] + f[6] * f[6]
    for i in range(9):
        r[i] = 1.0 if i % 4 == 0 else 0.0
    if not square > 0.0:
        return
    scale = 1.0 / np.sqrt(square)
    ax = f[0] * scale
    ay = f[3] * scale
    az = f[6] * scale
    along = ax * f[1] + ay * f[4] + az * f[7]
    bx = f[1] - along * ax
    by = f[4] - along * ay
    bz = f[7] - along * az
    square = bx * bx + by * by + bz * bz
    if not square > 0.0:
        return
    scale = 1.0 / np.sqrt(square)
    bx *= scale
    by *= scale
    bz *= scale
    r[0] = ax
    r[3] = ay
    r[6] = az
    r[1] = bx
    r[4] = by
    r[7] = bz
    r[2] = ay * bz - az * by
    r[5] = az * bx - ax * bz
    r[8] = ax * by - ay * bx


@inlined
def _turn(f: np.ndarray, r: np.ndarray) -> tuple[float, float, float]:
    """The turn ω with which R comes next to F."""
    xx = f[0] * r[0] + f[1] * r[1] + f[2] * r[2]
    xy = f[0] * r[3] + f[1] * r[4] + f[2] * r[5]
    xz = f[0] * r[6] + f[1] * r[7] + f[2] * r[8]
    yx = f[3] * r[0] + f[4] * r[1] + f[5] * r[2]
    yy = f[3] * r[3] + f[4] * r[4] + f[5] * r[5]
    yz = f[3] * r[6] + f[4] * r[7] + f[5] * r[8]
    zx = f[6] * r[0] + f[7] * r[1] + f[8] * r[2]
    zy = f[6] * r[3] + f[7] * r[4] + f[8] * r[5]
    zz = f[6] * r[6] + f[7] * r[7] + f[8] * r[8]
    a = zy - yz
    b = xz - zx
    c = yx - xy
    along = xx + yy + zz
    # L D Lᵀ, and what it makes of the vector.
    least = _LEAST_PIVOT * along
    first = yy + zz
    low = -0.5 * (xy + yx) / first
    last = -0.5 * (xz + zx) / first
    second = xx + zz - first * low * low
    side = (-0.5 * (yz + zy) - first * low * last) / second
    third = xx + yy - first * last * last - second * side * side
    if along > 0.0 and first > least and second > least and third > least:
        v = b - low * a
        w = (c - last * a - side * v) / third
        v = v / second - side * w
        u = a / first - low * v - last * w
        if u * u + v * v + w * w < _LARGEST_TURN * _LARGEST_TURN:
            return u, v, w
    scale = 1.0 / (abs(along) + 1e-9)
    return a * scale, b * scale, c * scale


@compiled
def _rotation(f: np.ndarray, r: np.ndarray) -> None:
    """Fill R, row by row, with the rotation next to F."""
    _first_guess(f, r)
    for _ in range(_MOST_TURNS):
        x, y, z = _turn(f, r)
        square = x * x + y * y + z * z
        if not square > _SMALL * _SMALL:
            return
        # A turn by 2 arctan(|ω|/2), which is ω for small ones.
        sine = 1.0 / (1.0 + 0.25 * square)
        cosine = (1.0 - 0.25 * square) * sine
        rest = 0.5 * sine
        for c in range(3):
            u = r[c]
            v = r[3 + c]
            w = r[6 + c]
            dot = (x * u + y * v + z * w) * rest
            r[c] = cosine * u + sine * (y * w - z * v) + x * dot
            r[3 + c] = cosine * v + sine * (z * u - x * w) + y * dot
            r[6 + c] = cosine * w + sine * (x * v - y * u) + z * dot


@compiled
def element_rotation(
    elastic: Table, position: np.ndarray, element: int, work: np.ndarray
) -> tuple[float, float, float]:
    """Fill an element's R and F in ``work`` 1 and 2, row by row; returns its mean position."""
    first = elastic.element_first[element]
    last = elastic.element_first[element + 1]
    x = 0.0
    y = 0.0
    z = 0.0
    for k in range(first, last):
        p = elastic.place_particle[k]
        x += position[p, 0]
        y += position[p, 1]
        z += position[p, 2]
    x /= last - first
    y /= last - first
    z /= last - first
    f = work[2]
    for i in range(9):
        f[i] = 0.0
    for k in range(first, last):
        p = elastic.place_particle[k]
        dx = position[p, 0] - x
        dy = position[p, 1] - y
        dz = position[p, 2] - z
        for j in range(3):
            g = elastic.place_gradient[k, j]
            f[j] += dx * g
            f[3 + j] += dy * g
            f[6 + j] += dz * g
    _rotation(f, work[1])
    return x, y, z


@inlined
def rotation_tuple(r: np.ndarray) -> Rotation:
    """A rotation as numbers that stay in registers."""
    return (r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8])


@compiled
def element_offsets(
    elastic: Table, position: np.ndarray, element: int, work: np.ndarray
) -> Rotation:
    """Fill an element's u in ``work[0]``, besides what `element_rotation` does; returns R."""
    x, y, z = element_rotation(elastic, position, element, work)
    first = elastic.element_first[element]
    r = rotation_tuple(work[1])
    u = work[0]
    for k in range(elastic.element_first[element + 1] - first):
        p = elastic.place_particle[first + k]
        dx = position[p, 0] - x
        dy = position[p, 1] - y
        dz = position[p, 2] - z
        rest = elastic.place_rest[first + k]
        u[3 * k] = r[0] * dx + r[3] * dy + r[6] * dz - rest[0]
        u[3 * k + 1] = r[1] * dx + r[4] * dy + r[7] * dz - rest[1]
        u[3 * k + 2] = r[2] * dx + r[5] * dy + r[8] * dz - rest[2]
    return r


@inlined
def add_pair(
    matrix: np.ndarray,
    at: int,
    stride: int,
    r: Rotation,
    out: np.ndarray,
    row: int,
    swap: int,
) -> None:
    """out[row] += R K Rᵀ, or its transpose, for a 3 × 3 part of a matrix."""
    target = out[row]
    low = at + stride
    last = low + stride
    x0 = matrix[at] * r[0] + matrix[at + 1] * r[1] + matrix[at + 2] * r[2]
    x1 = matrix[at] * r[3] + matrix[at + 1] * r[4] + matrix[at + 2] * r[5]
    x2 = matrix[at] * r[6] + matrix[at + 1] * r[7] + matrix[at + 2] * r[8]
    y0 = matrix[low] * r[0] + matrix[low + 1] * r[1] + matrix[low + 2] * r[2]
    y1 = matrix[low] * r[3] + matrix[low + 1] * r[4] + matrix[low + 2] * r[5]
    y2 = matrix[low] * r[6] + matrix[low + 1] * r[7] + matrix[low + 2] * r[8]
    z0 = matrix[last] * r[0] + matrix[last + 1] * r[1] + matrix[last + 2] * r[2]
    z1 = matrix[last] * r[3] + matrix[last + 1] * r[4] + matrix[last + 2] * r[5]
    z2 = matrix[last] * r[6] + matrix[last + 1] * r[7] + matrix[last + 2] * r[8]
    b = 3 if swap else 1
    a = 1 if swap else 3
    target[0] += r[0] * x0 + r[1] * y0 + r[2] * z0
    target[b] += r[0] * x1 + r[1] * y1 + r[2] * z1
    target[2 * b] += r[0] * x2 + r[1] * y2 + r[2] * z2
    target[a] += r[3] * x0 + r[4] * y0 + r[5] * z0
    target[4] += r[3] * x1 + r[4] * y1 + r[5] * z1
    target[a + 2 * b] += r[3] * x2 + r[4] * y2 + r[5] * z2
    target[2 * a] += r[6] * x0 + r[7] * y0 + r[8] * z0
    target[2 * a + b] += r[6] * x1 + r[7] * y1 + r[8] * z1
    target[8] += r[6] * x2 + r[7] * y2 + r[8] * z2


@compiled
def add_elasticity(
    elastic: Table,
    position: np.ndarray,
    work: np.ndarray,
    force: np.ndarray,
    own: np.ndarray,
    bond: np.ndarray,
) -> float:
    """Add forces and stiffnesses of all elements; returns their energy [J].

    Parameters
    ----------
    elastic : Table
    position : array, shape (particles, 3)
        In the frames of the flexes [m].
    work : array, shape (3, 3 m)
        m is the largest number of vertices of an element, and 6 at least.
    force : array, shape (particles, 3)
        [N]
    own : array, shape (particles, 9)
        Stiffness of a particle with itself, row by row [N/m],
    bond : array, shape (bonds, 9)
        and with another one.
    """
    energy = 0.0
    u = work[0]
    pull = work[2]  # −K u, for F is not needed any more
    for element in range(elastic.elements):
        first = elastic.element_first[element]
        count = elastic.element_first[element + 1] - first
        stiffness = elastic.element_matrix[element]
        r = element_offsets(elastic, position, element, work)
        width = 3 * count
        pair = elastic.element_pair[element]
        for b in range(width):
            pull[b] = 0.0
        matrix = elastic.matrix.ctypes.data + 8 * stiffness
        subtract_rows(pull.ctypes.data, u.ctypes.data, 8, matrix, 8 * width, width, width)
        for a in range(count):
            fx = pull[3 * a]
            fy = pull[3 * a + 1]
            fz = pull[3 * a + 2]
            energy -= 0.5 * (fx * u[3 * a] + fy * u[3 * a + 1] + fz * u[3 * a + 2])
            p = elastic.place_particle[first + a]
            force[p, 0] += r[0] * fx + r[1] * fy + r[2] * fz
            force[p, 1] += r[3] * fx + r[4] * fy + r[5] * fz
            force[p, 2] += r[6] * fx + r[7] * fy + r[8] * fz
            row = stiffness + 3 * a * width
            for b in range(a):
                code = elastic.pair_bond[pair]
                pair += 1
                if code != _DIAGONAL:
                    at = row + 3 * b
                    add_pair(elastic.matrix, at, width, r, bond, code >> 1, code & 1)
            pair += 1
            if elastic.particle_dof[p] >= 0:
                add_pair(elastic.matrix, row + 3 * a, width, r, own, p, 0)
    return energy
