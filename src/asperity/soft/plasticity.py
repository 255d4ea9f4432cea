"""Elements that yield: ideal plasticity with von Mises' criterion.

Of an element's mean gradient F = R U (`asperity.soft.corotation`) the part U_p stays when it is let
go, so that its shape at rest is U_p X, and its strain U − U_p. With the deviator e of that strain

    √(⅔ e : e) ≤ ε_y,    or with the shear modulus μ    σ_Mises = 3 μ √(⅔ e : e) ≤ 3 μ ε_y,

so that a bar yields at a strain of 3 ε_y/2(1 + ν). At the end of a step U_p takes from e what is
beyond that, in the direction of e (radial return: M. L. Wilkins, Calculation of elastic-plastic
flow, 1964), and is scaled to det U_p = 1, as flow changes no volume. Within a step it is constant,
so that stress is beyond the limit by what the step strains.

Triangles of cloth have plane stress, of which μ is left out: with ν, ε of their plane and its trace

    s = (1 + ν)/(1 − ν) tr ε,    q² = (ε_xx − ε_yy)² + 4 ε_xy²,    σ_Mises² = s² + 3 q²,

and flow by g in the direction of that stress's gradient leaves s/(1 + (1 + ν)/(1 − ν) g) and
q/(1 + 3 g) (J. C. Simo, R. L. Taylor, Int. J. Numer. Methods Eng. 22, 1986).

A constant U_p adds the forces R K_0 (U_p − 1) X to those of an element; stiffness stays.
Elements have one strain, so that what bends yields layer by layer.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.soft.corotation import element_rotation

__all__ = [
    "Tensor",
    "add_plasticity",
    "flow",
    "inverse",
    "keep_plasticity",
    "plastic_stretch",
    "root",
]

_MOST_ITERATIONS = 40
_EXACT = 1e-15

Tensor = tuple[float, float, float, float, float, float]
"""xx, yy, zz, xy, yz and zx of a symmetric tensor."""


@compiled
def _determinant(a: Tensor) -> float:
    return (
        a[0] * (a[1] * a[2] - a[4] * a[4])
        - a[3] * (a[3] * a[2] - a[4] * a[5])
        + a[5] * (a[3] * a[4] - a[1] * a[5])
    )


@compiled
def inverse(a: Tensor) -> Tensor:
    scale = 1.0 / _determinant(a)
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
    """√C of a positive definite tensor (Denman, Beavers 1976); not a number of others."""
    y = c
    z = (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)
    for _ in range(_MOST_ITERATIONS):
        following = _mean_with_inverse(y, z)
        z = _mean_with_inverse(z, y)
        change = 0.0
        for i in range(6):
            change = max(change, abs(following[i] - y[i]))
        y = following
        if change <= _EXACT * max(y[0], y[1], y[2]):
            if y[0] > 0.0 and y[0] * y[1] > y[3] * y[3] and _determinant(y) > 0.0:
                return y
            break
    return (np.nan, np.nan, np.nan, np.nan, np.nan, np.nan)


@compiled
def plastic_stretch(elastic: Table, plastic: np.ndarray, place: int) -> tuple[bool, Tensor]:
    """Whether an element that yields has done so, and its U_p."""
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
    stretch = (1.0 + a, 1.0 + b, 1.0 + c, d, e, f)
    if found and elastic.plastic_squared[place] == 1:
        stretch = root(stretch)
    return found, stretch


@compiled
def add_plasticity(
    elastic: Table, position: np.ndarray, plastic: np.ndarray, work: np.ndarray, force: np.ndarray
) -> float:
    """Add forces of elements that have yielded to the elastic ones; returns their energy [J].

    Parameters
    ----------
    elastic : Table
    position : array, shape (particles, 3)
        In the frames of the flexes [m].
    plastic : array
        Of the state.
    work : array, shape (4, 3 m)
    force : array, shape (particles, 3)
        [N]
    """
    energy = 0.0
    w = work[0]
    r = work[1]
    for place in range(elastic.yielding):
        found, stretch = plastic_stretch(elastic, plastic, place)
        if not found:
            continue
        element = elastic.plastic_element[place]
        element_rotation(elastic, position, element, work)
        first = elastic.element_first[element]
        count = elastic.element_first[element + 1] - first
        x = y = z = 0.0
        for k in range(count):
            p = elastic.place_particle[first + k]
            x += position[p, 0]
            y += position[p, 1]
            z += position[p, 2]
            rest = elastic.place_rest[first + k]
            a, b, c = rest[0], rest[1], rest[2]
            w[3 * k] = (stretch[0] - 1.0) * a + stretch[3] * b + stretch[5] * c
            w[3 * k + 1] = stretch[3] * a + (stretch[1] - 1.0) * b + stretch[4] * c
            w[3 * k + 2] = stretch[5] * a + stretch[4] * b + (stretch[2] - 1.0) * c
        x /= count
        y /= count
        z /= count
        width = 3 * count
        for k in range(count):
            row = elastic.element_matrix[element] + 3 * k * width
            fx = fy = fz = 0.0
            for b in range(width):
                fx += elastic.matrix[row + b] * w[b]
                fy += elastic.matrix[row + width + b] * w[b]
                fz += elastic.matrix[row + 2 * width + b] * w[b]
            p = elastic.place_particle[first + k]
            force[p, 0] += r[0] * fx + r[1] * fy + r[2] * fz
            force[p, 1] += r[3] * fx + r[4] * fy + r[5] * fz
            force[p, 2] += r[6] * fx + r[7] * fy + r[8] * fz
            # ½ (u − w) K (u − w) instead of ½ u K u
            dx = position[p, 0] - x
            dy = position[p, 1] - y
            dz = position[p, 2] - z
            rest = elastic.place_rest[first + k]
            ux = r[0] * dx + r[3] * dy + r[6] * dz - rest[0]
            uy = r[1] * dx + r[4] * dy + r[7] * dz - rest[1]
            uz = r[2] * dx + r[5] * dy + r[8] * dz - rest[2]
            energy += fx * (0.5 * w[3 * k] - ux)
            energy += fy * (0.5 * w[3 * k + 1] - uy)
            energy += fz * (0.5 * w[3 * k + 2] - uz)
    return energy


@compiled
def _square(a: Tensor) -> Tensor:
    """The product of a tensor with itself."""
    x, y, z, t, v, w = a
    return (
        x * x + t * t + w * w,
        y * y + t * t + v * v,
        z * z + v * v + w * w,
        x * t + t * y + w * v,
        t * w + y * v + v * z,
        w * x + v * t + z * w,
    )


@compiled
def keep_plasticity(elastic: Table, place: int, tensor: Tensor, plastic: np.ndarray) -> None:
    """Write C_p of an element that yields, or U_p, to where a state has it."""
    first = elastic.plastic_first[place]
    at = elastic.plastic_write[place]
    for k in range(elastic.plastic_first[place + 1] - first):
        total = 0.0
        for j in range(6):
            one = tensor[j] - 1.0 if j < 3 else tensor[j]
            total += elastic.plastic_matrix[at + 6 * k + j] * one
        plastic[elastic.plastic_slot[first + k]] = total


@compiled
def _stretch_of(r: np.ndarray, f: np.ndarray) -> Tensor:
    """U = Rᵀ F."""
    return (
        r[0] * f[0] + r[3] * f[3] + r[6] * f[6],
        r[1] * f[1] + r[4] * f[4] + r[7] * f[7],
        r[2] * f[2] + r[5] * f[5] + r[8] * f[8],
        0.5 * (r[0] * f[1] + r[3] * f[4] + r[6] * f[7] + r[1] * f[0] + r[4] * f[3] + r[7] * f[6]),
        0.5 * (r[1] * f[2] + r[4] * f[5] + r[7] * f[8] + r[2] * f[1] + r[5] * f[4] + r[8] * f[7]),
        0.5 * (r[2] * f[0] + r[5] * f[3] + r[8] * f[6] + r[0] * f[2] + r[3] * f[5] + r[6] * f[8]),
    )


@compiled
def _plane_flow(xx: float, yy: float, xy: float, poisson: float, limit: float) -> Tensor:
    """What flows of a strain of plane stress; zero below the limit."""
    ratio = (1.0 + poisson) / (1.0 - poisson)
    s = ratio * (xx + yy)
    square = (xx - yy) ** 2 + 4.0 * xy * xy
    most = 9.0 * limit * limit
    if s * s + 3.0 * square <= most:
        return (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    if limit == 0.0:
        return (xx, yy, 0.0, xy, 0.0, 0.0)
    g = 0.0
    for _ in range(_MOST_ITERATIONS):
        a = 1.0 / (1.0 + ratio * g)
        b = 1.0 / (1.0 + 3.0 * g)
        beyond = s * s * a * a + 3.0 * square * b * b - most
        # Newton's method on a convex function, from the left: it does not pass the solution.
        g += 0.5 * beyond / (ratio * s * s * a * a * a + 9.0 * square * b * b * b)
        if not beyond > _EXACT * most:
            break
    trace = g * s / (1.0 + ratio * g)
    difference = 3.0 * g * (xx - yy) / (1.0 + 3.0 * g)
    return (
        0.5 * (trace + difference),
        0.5 * (trace - difference),
        0.0,
        3.0 * g * xy / (1.0 + 3.0 * g),
        0.0,
        0.0,
    )


@compiled
def flow(
    elastic: Table, position: np.ndarray, before: np.ndarray, work: np.ndarray, after: np.ndarray
) -> None:
    """Fill what is plastic after a step with what was before, and with what flows at its end."""
    for i in range(before.size):
        after[i] = before[i]
    for place in range(elastic.yielding):
        _, old = plastic_stretch(elastic, before, place)
        element_rotation(elastic, position, elastic.plastic_element[place], work)
        u = _stretch_of(work[1], work[2])
        if elastic.plastic_plane[place] >= 0.0:
            plane = elastic.plastic_plane[place], elastic.plastic_limit[place]
            more = _plane_flow(u[0] - old[0], u[1] - old[1], u[3] - old[3], plane[0], plane[1])
            if more[0] != 0.0 or more[1] != 0.0 or more[3] != 0.0:
                stretch = (old[0] + more[0], old[1] + more[1], 1.0, old[3] + more[3], 0.0, 0.0)
                keep_plasticity(elastic, place, _square(stretch), after)
            continue
        mean = (u[0] - old[0] + u[1] - old[1] + u[2] - old[2]) / 3.0
        xx = u[0] - old[0] - mean
        yy = u[1] - old[1] - mean
        zz = u[2] - old[2] - mean
        xy = u[3] - old[3]
        yz = u[4] - old[4]
        zx = u[5] - old[5]
        square = xx * xx + yy * yy + zz * zz + 2.0 * (xy * xy + yz * yz + zx * zx)
        strain = np.sqrt(2.0 / 3.0 * square)
        limit = elastic.plastic_limit[place]
        if strain <= limit:
            continue
        share = 1.0 - limit / strain
        new = (
            old[0] + share * xx,
            old[1] + share * yy,
            old[2] + share * zz,
            old[3] + share * xy,
            old[4] + share * yz,
            old[5] + share * zx,
        )
        scale = _determinant(new) ** (-1.0 / 3.0)
        p, q, s = scale * new[0], scale * new[1], scale * new[2]
        t, v, w = scale * new[3], scale * new[4], scale * new[5]
        stretch = (p, q, s, t, v, w)
        squares = elastic.plastic_squared[place] == 1
        keep_plasticity(elastic, place, _square(stretch) if squares else stretch, after)
