"""What flows of elements that yield (`asperity.soft.plasticity`), at the end of a step.

Of a strain's deviator e what is beyond the limit, Δ in the direction of e, flows (radial return:
M. L. Wilkins, Calculation of elastic-plastic flow, 1964): C_p = U_p² becomes U_p (1 + Δ)² U_p,
scaled to det C_p = 1, as flow changes no volume.

Triangles of cloth have plane stress, of which μ is left out: with ν, ε of their plane and its trace

    s = (1 + ν)/(1 − ν) tr ε,    q² = (ε_xx − ε_yy)² + 4 ε_xy²,    σ_Mises² = s² + 3 q²,

and flow by g in the direction of that stress's gradient leaves s/(1 + (1 + ν)/(1 − ν) g) and
q/(1 + 3 g) (J. C. Simo, R. L. Taylor, Int. J. Numer. Methods Eng. 22, 1986).
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.soft.corotation import element_rotation
from asperity.soft.plasticity import (
    MOST_ITERATIONS,
    NEAR,
    ROUND_OFF,
    Tensor,
    determinant,
    inverse,
    plastic_stretch,
    root,
)

__all__ = [
    "between",
    "flow",
    "flow_element",
    "flow_of",
    "flowed",
    "keep_plasticity",
    "stretch_of",
]


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
    for _ in range(MOST_ITERATIONS):
        a = 1.0 / (1.0 + ratio * g)
        b = 1.0 / (1.0 + 3.0 * g)
        beyond = s * s * a * a + 3.0 * square * b * b - most
        # Newton's method on a convex function: from the left it does not pass the solution, and
        # below the limit it does so once.
        g += 0.5 * beyond / (ratio * s * s * a * a * a + 9.0 * square * b * b * b)
        if not beyond.real > ROUND_OFF * most and not beyond.real < -NEAR * most:
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
        scale = determinant(tensor) ** (-1.0 / 3.0)
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
