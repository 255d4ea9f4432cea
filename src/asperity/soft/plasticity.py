"""Elements that yield: ideal plasticity with von Mises' criterion.

Of an element's mean gradient F = R U (`asperity.soft.corotation`) the part U_p stays when it is let
go, so that its shape at rest is U_p X, and its strain ε = sym(U U_p⁻¹) − 1. With the deviator e of
that strain

    √(⅔ e : e) ≤ ε_y,    or with the shear modulus μ    σ_Mises = 3 μ √(⅔ e : e) ≤ 3 μ ε_y,

so that a bar yields at a strain of 3 ε_y/2(1 + ν). At the end of a step what is beyond that, Δ in
the direction of e, flows (radial return: M. L. Wilkins, Calculation of elastic-plastic flow, 1964):
C_p = U_p² becomes U_p (1 + Δ)² U_p, scaled to det C_p = 1, as flow changes no volume. Within a
step it is constant, so that stress is beyond the limit by what the step strains.

Triangles of cloth have plane stress, of which μ is left out: with ν, ε of their plane and its trace

    s = (1 + ν)/(1 − ν) tr ε,    q² = (ε_xx − ε_yy)² + 4 ε_xy²,    σ_Mises² = s² + 3 q²,

and flow by g in the direction of that stress's gradient leaves s/(1 + (1 + ν)/(1 − ν) g) and
q/(1 + 3 g) (J. C. Simo, R. L. Taylor, Int. J. Numer. Methods Eng. 22, 1986).

With gradients g' = U_p⁻¹ g of the shape at rest the stiffness is

    K = K_0 + V (B'ᵀ C B' − Bᵀ C B),    f = −R K (u − w),    w = (U_p − 1) X,

so that the shape at rest turns without forces. What K_0 is more than that of the mean strain, by
which cells bend, resists no linear deformation, and stays. Elements have one strain, so that what
bends yields layer by layer.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.soft.corotation import add_pair, element_offsets, element_rotation

__all__ = [
    "Tensor",
    "add_plasticity",
    "between",
    "flow",
    "flow_element",
    "flow_of",
    "flowed",
    "inverse",
    "keep_plasticity",
    "plastic_stretch",
    "read_plastic",
    "root",
    "stretch_of",
]

_MOST_ITERATIONS = 40
_EXACT = 1e-15
_NEAR = 1e-11
# Where a block of a stiffness is, behind a rotation.
_BLOCK = 9

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
    change = size = np.inf
    for _ in range(_MOST_ITERATIONS):
        following = _mean_with_inverse(y, z)
        z = _mean_with_inverse(z, y)
        change = 0.0
        for i in range(6):
            change = max(change, abs(following[i] - y[i]))
        y = following
        size = max(y[0].real, y[1].real, y[2].real)
        if change <= _EXACT * size:
            break
    minor = y[0] * y[1] - y[3] * y[3]
    positive = y[0].real > 0.0 and minor.real > 0.0 and _determinant(y).real > 0.0
    # Round-off may keep the last digits moving.
    if positive and change <= _NEAR * size:
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
def stretch_of(r: np.ndarray, f: np.ndarray) -> Tensor:
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
def _plane_flow(
    xx: float, yy: float, xy: float, poisson: float, limit: float, least: float
) -> Tensor:
    """What flows of a strain of plane stress."""
    ratio = (1.0 + poisson) / (1.0 - poisson)
    s = ratio * (xx + yy)
    square = (xx - yy) ** 2 + 4.0 * xy * xy
    most = 9.0 * limit * limit
    if (s * s + 3.0 * square).real <= least * least * most:
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
        if not beyond.real > _EXACT * most:
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
def _mean_product(a: Tensor, b: Tensor) -> Tensor:
    """½ (a b + b a)."""
    return (
        a[0] * b[0] + a[3] * b[3] + a[5] * b[5],
        a[3] * b[3] + a[1] * b[1] + a[4] * b[4],
        a[5] * b[5] + a[4] * b[4] + a[2] * b[2],
        0.5 * (a[0] * b[3] + a[3] * b[1] + a[5] * b[4] + a[3] * b[0] + a[1] * b[3] + a[4] * b[5]),
        0.5 * (a[3] * b[5] + a[1] * b[4] + a[4] * b[2] + a[5] * b[3] + a[4] * b[1] + a[2] * b[4]),
        0.5 * (a[5] * b[0] + a[4] * b[3] + a[2] * b[5] + a[0] * b[5] + a[3] * b[4] + a[5] * b[2]),
    )


@compiled
def between(a: Tensor, s: Tensor) -> Tensor:
    """The symmetric tensor a s a."""
    xx = a[0] * s[0] + a[3] * s[3] + a[5] * s[5]
    xy = a[0] * s[3] + a[3] * s[1] + a[5] * s[4]
    xz = a[0] * s[5] + a[3] * s[4] + a[5] * s[2]
    yx = a[3] * s[0] + a[1] * s[3] + a[4] * s[5]
    yy = a[3] * s[3] + a[1] * s[1] + a[4] * s[4]
    yz = a[3] * s[5] + a[1] * s[4] + a[4] * s[2]
    zx = a[5] * s[0] + a[4] * s[3] + a[2] * s[5]
    zy = a[5] * s[3] + a[4] * s[1] + a[2] * s[4]
    zz = a[5] * s[5] + a[4] * s[4] + a[2] * s[2]
    return (
        xx * a[0] + xy * a[3] + xz * a[5],
        yx * a[3] + yy * a[1] + yz * a[4],
        zx * a[5] + zy * a[4] + zz * a[2],
        xx * a[3] + xy * a[1] + xz * a[4],
        yx * a[5] + yy * a[4] + yz * a[2],
        zx * a[0] + zy * a[3] + zz * a[5],
    )


@compiled
def _volume_flow(strain: Tensor, limit: float, least: float) -> Tensor:
    """What flows of a strain."""
    mean = (strain[0] + strain[1] + strain[2]) / 3.0
    x, y, z = strain[0] - mean, strain[1] - mean, strain[2] - mean
    _, _, _, t, v, w = strain
    size = np.sqrt(2.0 / 3.0 * (x * x + y * y + z * z + 2.0 * (t * t + v * v + w * w)))
    if size.real <= least * limit:
        return (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    share = 1.0 - limit / size
    return (share * x, share * y, share * z, share * t, share * v, share * w)


@compiled
def flow_of(strain: Tensor, poisson: float, limit: float, least: float = 1.0) -> Tensor:
    """What flows of a strain; of plane stress unless Poisson's ratio is negative.

    Zero below the limit, or below so much of it as ``least`` says.
    """
    if poisson >= 0.0:
        return _plane_flow(strain[0], strain[1], strain[3], poisson, limit, least)
    return _volume_flow(strain, limit, least)


@compiled
def flowed(elastic: Table, place: int, u: Tensor, old: Tensor, least: float) -> tuple[bool, Tensor]:
    """Whether an element flows that has U and had U_p, and what C_p or U_p a state keeps then.

    It flows beyond ``least`` of its limit. Complex numbers differentiate this, and all that it
    calls.
    """
    poisson, limit = elastic.plastic_plane[place], elastic.plastic_limit[place]
    flat = poisson >= 0.0
    if flat:
        u = (u[0], u[1], 1.0, u[3], 0.0, 0.0)
    xx, yy, zz, xy, yz, zx = _mean_product(u, inverse(old))
    more = flow_of((xx - 1.0, yy - 1.0, zz - 1.0, xy, yz, zx), poisson, limit, least)
    largest = 0.0
    for i in range(6):
        # Not a number is not zero.
        if not abs(more[i]) <= largest:
            largest = abs(more[i])
    if largest == 0.0:
        return False, old
    grown = (1.0 + more[0], 1.0 + more[1], 1.0 + more[2], more[3], more[4], more[5])
    tensor = between(old, _square(grown))
    if not flat:
        scale = _determinant(tensor) ** (-1.0 / 3.0)
        a, b, c, d, e, f = tensor
        tensor = (scale * a, scale * b, scale * c, scale * d, scale * e, scale * f)
    return True, tensor if elastic.plastic_squared[place] == 1 else root(tensor)


@compiled
def flow_element(
    elastic: Table,
    place: int,
    position: np.ndarray,
    before: np.ndarray,
    work: np.ndarray,
    after: np.ndarray,
    least: float,
) -> bool:
    """Whether an element flows, beyond ``least`` of its limit; fill what is plastic of it then."""
    _, old = plastic_stretch(elastic, before, place)
    element_rotation(elastic, position, elastic.plastic_element[place], work)
    flows, tensor = flowed(elastic, place, stretch_of(work[1], work[2]), old, least)
    if flows:
        keep_plasticity(elastic, place, tensor, after)
    return flows


@compiled
def flow(
    elastic: Table, position: np.ndarray, before: np.ndarray, work: np.ndarray, after: np.ndarray
) -> None:
    """Fill what is plastic after a step with what was before, and with what flows at its end."""
    for i in range(before.size):
        after[i] = before[i]
    for place in range(elastic.yielding):
        flow_element(elastic, place, position, before, work, after, 1.0)
