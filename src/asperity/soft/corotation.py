"""Elastic forces of elements that turn, and their stiffness.

With the rotation R next to the mean gradient F = Σ x_a g_aᵀ of positions, an element's energy and
forces are

    u_a = Rᵀ x_a − X_a,    E = ½ uᵀ K_0 u,    f_a = −R Σ_b K_ab u_b

and its stiffness is taken to be R K_0 Rᵀ, which is positive semidefinite whatever the strain. R is
found from F alone, so that forces depend on the state and nothing else: from the first column of F
and what is orthogonal to it of the second, by turns about ω = Σ R_c × F_c/(Σ R_c · F_c + ε) with
the columns of both (M. Müller, J. Bender, N. Chentanez, M. Macklin, A robust method to extract the
rotational part of deformations, 2016).
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled

__all__ = ["add_elasticity"]

_MOST_TURNS = 50
_SMALL = 1e-13
_DIAGONAL = -1


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


@compiled
def _rotation(f: np.ndarray, r: np.ndarray) -> None:
    """Fill R, row by row, with the rotation next to F."""
    _first_guess(f, r)
    for _ in range(_MOST_TURNS):
        x = 0.0
        y = 0.0
        z = 0.0
        along = 0.0
        for c in range(3):
            x += r[3 + c] * f[6 + c] - r[6 + c] * f[3 + c]
            y += r[6 + c] * f[c] - r[c] * f[6 + c]
            z += r[c] * f[3 + c] - r[3 + c] * f[c]
            along += r[c] * f[c] + r[3 + c] * f[3 + c] + r[6 + c] * f[6 + c]
        scale = 1.0 / (abs(along) + 1e-9)
        x *= scale
        y *= scale
        z *= scale
        square = x * x + y * y + z * z
        if not square > _SMALL * _SMALL:
            return
        angle = np.sqrt(square)
        cosine = np.cos(angle)
        sine = np.sin(angle) / angle
        rest = (1.0 - cosine) / square
        for c in range(3):
            u = r[c]
            v = r[3 + c]
            w = r[6 + c]
            dot = (x * u + y * v + z * w) * rest
            r[c] = cosine * u + sine * (y * w - z * v) + x * dot
            r[3 + c] = cosine * v + sine * (z * u - x * w) + y * dot
            r[6 + c] = cosine * w + sine * (x * v - y * u) + z * dot


@compiled
def _add_pair(
    matrix: np.ndarray, at: int, stride: int, r: np.ndarray, out: np.ndarray, row: int, swap: int
) -> None:
    """out[row] += R K Rᵀ, or its transpose, for a 3 × 3 part of a matrix."""
    for i in range(3):
        a = r[3 * i]
        b = r[3 * i + 1]
        c = r[3 * i + 2]
        x = a * matrix[at] + b * matrix[at + stride] + c * matrix[at + 2 * stride]
        y = a * matrix[at + 1] + b * matrix[at + stride + 1] + c * matrix[at + 2 * stride + 1]
        z = a * matrix[at + 2] + b * matrix[at + stride + 2] + c * matrix[at + 2 * stride + 2]
        for j in range(3):
            value = x * r[3 * j] + y * r[3 * j + 1] + z * r[3 * j + 2]
            out[row, 3 * j + i if swap else 3 * i + j] += value


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
    r = work[1]
    f = work[2]
    u = work[0]
    for element in range(elastic.elements):
        first = elastic.element_first[element]
        count = elastic.element_first[element + 1] - first
        stiffness = elastic.element_matrix[element]
        x = 0.0
        y = 0.0
        z = 0.0
        for k in range(first, first + count):
            p = elastic.place_particle[k]
            x += position[p, 0]
            y += position[p, 1]
            z += position[p, 2]
        x /= count
        y /= count
        z /= count
        for i in range(9):
            f[i] = 0.0
        for k in range(first, first + count):
            p = elastic.place_particle[k]
            dx = position[p, 0] - x
            dy = position[p, 1] - y
            dz = position[p, 2] - z
            for j in range(3):
                g = elastic.place_gradient[k, j]
                f[j] += dx * g
                f[3 + j] += dy * g
                f[6 + j] += dz * g
        _rotation(f, r)
        for k in range(count):
            p = elastic.place_particle[first + k]
            dx = position[p, 0] - x
            dy = position[p, 1] - y
            dz = position[p, 2] - z
            for i in range(3):
                u[3 * k + i] = (
                    r[i] * dx + r[3 + i] * dy + r[6 + i] * dz - elastic.place_rest[first + k, i]
                )
        width = 3 * count
        pair = elastic.element_pair[element]
        for a in range(count):
            fx = 0.0
            fy = 0.0
            fz = 0.0
            row = stiffness + 3 * a * width
            for b in range(width):
                value = u[b]
                fx += elastic.matrix[row + b] * value
                fy += elastic.matrix[row + width + b] * value
                fz += elastic.matrix[row + 2 * width + b] * value
            energy += 0.5 * (fx * u[3 * a] + fy * u[3 * a + 1] + fz * u[3 * a + 2])
            p = elastic.place_particle[first + a]
            for i in range(3):
                force[p, i] -= r[3 * i] * fx + r[3 * i + 1] * fy + r[3 * i + 2] * fz
            for b in range(a):
                code = elastic.pair_bond[pair]
                pair += 1
                if code != _DIAGONAL:
                    at = row + 3 * b
                    _add_pair(elastic.matrix, at, width, r, bond, code >> 1, code & 1)
            pair += 1
            if elastic.particle_dof[p] >= 0:
                _add_pair(elastic.matrix, row + 3 * a, width, r, own, p, 0)
    return energy
