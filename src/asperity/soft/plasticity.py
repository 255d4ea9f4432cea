"""Elements that yield: ideal plasticity with von Mises' criterion.

Of an element's mean gradient F = R U (`asperity.soft.corotation`) the part U_p stays when it is let
go, so that its shape at rest is U_p X, and its strain ε = sym(U U_p⁻¹) − 1. With the deviator e of
that strain

    √(⅔ e : e) ≤ ε_y,    or with the shear modulus μ    σ_Mises = 3 μ √(⅔ e : e) ≤ 3 μ ε_y,

so that a bar yields at a strain of 3 ε_y/2(1 + ν). What is beyond that flows at the end of a step
(`asperity.soft.flow`). Within a step U_p is constant, so that stress is beyond the limit by what
the step strains.

With gradients g' = U_p⁻¹ g of the shape at rest the stiffness is

    K = K_0 + V (B'ᵀ C B' − Bᵀ C B),    f = −R K (u − w),    w = (U_p − 1) X,

so that the shape at rest turns without forces. What K_0 is more than that of the mean strain, by
which cells bend, resists no linear deformation, and stays. Elements have one strain, so that what
bends yields layer by layer.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.soft.corotation import add_pair, element_offsets

__all__ = [
    "MOST_ITERATIONS",
    "NEAR",
    "ROUND_OFF",
    "Tensor",
    "add_plasticity",
    "determinant",
    "inverse",
    "plastic_stretch",
    "read_plastic",
    "root",
]

MOST_ITERATIONS = 40
ROUND_OFF = 1e-15
NEAR = 1e-11
# Where a block of a stiffness is, behind a rotation.
_BLOCK = 9

Tensor = tuple[float, float, float, float, float, float]
"""xx, yy, zz, xy, yz and zx of a symmetric tensor."""


@compiled
def determinant(a: Tensor) -> float:
    return (
        a[0] * (a[1] * a[2] - a[4] * a[4])
        - a[3] * (a[3] * a[2] - a[4] * a[5])
        + a[5] * (a[3] * a[4] - a[1] * a[5])
    )


@compiled
def inverse(a: Tensor) -> Tensor:
    scale = 1.0 / determinant(a)
    return (
        scale * (a[1] * a[2] - a[4] * a[4]),
        scale * (a[0] * a[2] - a[5] * a[5]),
        scale * (a[0] * a[1] - a[3] * a[3]),
        scale * (a[4] * a[5] - a[3] * a[2]),
        scale * (a[3] * a[5] - a[0] * a[4]),
        scale * (a[3] * a[4] - a[1] * a[5]),
    )


@compiled
def _mean_with_inverse(a: Tensor, b: Tensor) -> Tensor:
    """½ (a + b⁻¹)."""
    c = inverse(b)
    return (
        0.5 * (a[0] + c[0]),
        0.5 * (a[1] + c[1]),
        0.5 * (a[2] + c[2]),
        0.5 * (a[3] + c[3]),
        0.5 * (a[4] + c[4]),
        0.5 * (a[5] + c[5]),
    )


@compiled
def root(c: Tensor) -> Tensor:
    """√C of a positive definite tensor (Denman, Beavers 1976); not a number of others.

    Complex numbers differentiate it.
    """
    y = c
    z = (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)
    change = size = np.inf
    for _ in range(MOST_ITERATIONS):
        following = _mean_with_inverse(y, z)
        z = _mean_with_inverse(z, y)
        change = 0.0
        for i in range(6):
            change = max(change, abs(following[i] - y[i]))
        y = following
        size = max(y[0].real, y[1].real, y[2].real)
        if change <= ROUND_OFF * size:
            break
    minor = y[0] * y[1] - y[3] * y[3]
    positive = y[0].real > 0.0 and minor.real > 0.0 and determinant(y).real > 0.0
    # Round-off may keep the last digits moving.
    if positive and change <= NEAR * size:
        return y
    return (np.nan, np.nan, np.nan, np.nan, np.nan, np.nan)


@compiled
def read_plastic(elastic: Table, plastic: np.ndarray, place: int) -> tuple[bool, Tensor]:
    """Whether an element that yields has done so, and its C_p, or its U_p if a state keeps that."""
    first = elastic.plastic_first[place]
    count = elastic.plastic_first[place + 1] - first
    at = elastic.plastic_read[place]
    found = False
    a = b = c = d = e = f = 0.0
    for k in range(count):
        value = plastic[elastic.plastic_slot[first + k]]
        # Not a number is not zero.
        if value != 0.0:
            found = True
            a += elastic.plastic_matrix[at + k] * value
            b += elastic.plastic_matrix[at + count + k] * value
            c += elastic.plastic_matrix[at + 2 * count + k] * value
            d += elastic.plastic_matrix[at + 3 * count + k] * value
            e += elastic.plastic_matrix[at + 4 * count + k] * value
            f += elastic.plastic_matrix[at + 5 * count + k] * value
    return found, (1.0 + a, 1.0 + b, 1.0 + c, d, e, f)


@compiled
def plastic_stretch(elastic: Table, plastic: np.ndarray, place: int) -> tuple[bool, Tensor]:
    """Whether an element that yields has done so, and its U_p."""
    found, stretch = read_plastic(elastic, plastic, place)
    if found and elastic.plastic_squared[place] == 1:
        stretch = root(stretch)
    return found, stretch


@compiled
def _take_rest(elastic: Table, first: int, count: int, stretch: Tensor, work: np.ndarray) -> None:
    """Take w of an element's particles from u, in ``work[0]``; fill g' and w in 2 and 3."""
    v, g, w = work[0], work[2], work[3]
    back = inverse(stretch)
    for k in range(count):
        rest = elastic.place_rest[first + k]
        a, b, c = rest[0], rest[1], rest[2]
        w[3 * k] = (stretch[0] - 1.0) * a + stretch[3] * b + stretch[5] * c
        w[3 * k + 1] = stretch[3] * a + (stretch[1] - 1.0) * b + stretch[4] * c
        w[3 * k + 2] = stretch[5] * a + stretch[4] * b + (stretch[2] - 1.0) * c
        for i in range(3 * k, 3 * k + 3):
            v[i] -= w[i]
        slope = elastic.place_gradient[first + k]
        a, b, c = slope[0], slope[1], slope[2]
        g[3 * k] = back[0] * a + back[3] * b + back[5] * c
        g[3 * k + 1] = back[3] * a + back[1] * b + back[4] * c
        g[3 * k + 2] = back[5] * a + back[4] * b + back[2] * c


@compiled
def _find_change(
    elastic: Table, place: int, first: int, one: int, other: int, work: np.ndarray
) -> None:
    """Fill how the stiffness of two particles has changed, behind the rotation."""
    lame, shear = elastic.plastic_moduli[place, 0], elastic.plastic_moduli[place, 1]
    g = work[2]
    a = elastic.place_gradient[first + one]
    b = elastic.place_gradient[first + other]
    dot = 0.0
    for i in range(3):
        dot += g[3 * one + i] * g[3 * other + i] - a[i] * b[i]
    # Of cloth nothing acts across it.
    last = 2 if elastic.plastic_plane[place] >= 0.0 else 3
    for i in range(3):
        for j in range(3):
            value = shear * (g[3 * other + i] * g[3 * one + j] - b[i] * a[j])
            value += lame * (g[3 * one + i] * g[3 * other + j] - a[i] * b[j])
            if i == j and i < last:
                value += shear * dot
            work[1, _BLOCK + 3 * i + j] = value


@compiled
def add_plasticity(
    elastic: Table,
    position: np.ndarray,
    plastic: np.ndarray,
    work: np.ndarray,
    force: np.ndarray,
    own: np.ndarray,
    bond: np.ndarray,
) -> float:
    """Add to elastic forces and stiffnesses what elements have that have yielded; returns energy.

    Parameters
    ----------
    elastic : Table
    position : array, shape (particles, 3)
        In the frames of the flexes [m].
    plastic : array
        Of the state.
    work : array, shape (4, 3 m)
    force, own, bond : array
        As `asperity.soft.corotation.add_elasticity` has them.
    """
    energy = 0.0
    v = work[0]
    w = work[3]
    for place in range(elastic.yielding):
        found, stretch = plastic_stretch(elastic, plastic, place)
        if not found:
            continue
        element = elastic.plastic_element[place]
        r = element_offsets(elastic, position, element, work)
        turn = work[1]
        first = elastic.element_first[element]
        count = elastic.element_first[element + 1] - first
        _take_rest(elastic, first, count, stretch, work)
        pair = elastic.element_pair[element]
        width = 3 * count
        for k in range(count):
            row = elastic.element_matrix[element] + 3 * k * width
            fx = fy = fz = 0.0
            for j in range(width):
                fx += elastic.matrix[row + j] * w[j]
                fy += elastic.matrix[row + width + j] * w[j]
                fz += elastic.matrix[row + 2 * width + j] * w[j]
            # ½ (u − w) K (u − w) instead of ½ u K_0 u
            energy -= fx * (v[3 * k] + 0.5 * w[3 * k])
            energy -= fy * (v[3 * k + 1] + 0.5 * w[3 * k + 1])
            energy -= fz * (v[3 * k + 2] + 0.5 * w[3 * k + 2])
            p = elastic.place_particle[first + k]
            for j in range(count):
                _find_change(elastic, place, first, k, j, work)
                dx = dy = dz = 0.0
                for i in range(3):
                    dx += turn[_BLOCK + i] * v[3 * j + i]
                    dy += turn[_BLOCK + 3 + i] * v[3 * j + i]
                    dz += turn[_BLOCK + 6 + i] * v[3 * j + i]
                fx -= dx
                fy -= dy
                fz -= dz
                energy += 0.5 * (v[3 * k] * dx + v[3 * k + 1] * dy + v[3 * k + 2] * dz)
                if j < k:
                    code = elastic.pair_bond[pair]
                    pair += 1
                    if code >= 0:
                        add_pair(turn, _BLOCK, 3, r, bond, code >> 1, code & 1)
                elif j == k:
                    pair += 1
                    if elastic.particle_dof[p] >= 0:
                        add_pair(turn, _BLOCK, 3, r, own, p, 0)
            force[p, 0] += r[0] * fx + r[1] * fy + r[2] * fz
            force[p, 1] += r[3] * fx + r[4] * fy + r[5] * fz
            force[p, 2] += r[6] * fx + r[7] * fy + r[8] * fz
    return energy
