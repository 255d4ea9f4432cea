"""Elastic elements: neo-Hookean volumes and membranes, and their damping.

With the singular values σ_i of the deformation gradient F (3 × 3, or 3 × 2 in the plane of a
triangle), J = Π σ_i and Lamé's parameters λ and μ, the energy per volume, or per area of cloth, is

    Ψ = ½ μ (Σ σ_i² − m) − μ ln J + ½ λ (ln J)²,

which is infinite where an element would turn inside out, so that none ever does. For small strains
it is linear elasticity (of plane stress, with λ = E t ν/(1 − ν²)). Eigenvalues of its Hessian are
those of ∂²Ψ/∂σ_i∂σ_j, and μ ± (λ ln J − μ)/(σ_i σ_j) for pairs of singular vectors that twist or
shear; of cloth besides Ψ_i/σ_i across the plane (B. Smith, F. de Goes, T. Kim, Analytic
eigensystems for isotropic distortion energies, ACM Trans. Graph. 38, 2019). Negative ones are
left out until the solution is near.

Cells of grids have one F, the mean, and resist what goes beyond it by a quadratic energy
(`asperity.midas.soft.quadratic`). A thousandth of their energy is that of the tetrahedra which a
cell is cut into: their barrier keeps corners from turning inside out.

Damping acts on the rate of Green's strain that the scheme has (`asperity.midas.soft.past`), with
the moduli times β. It resists no rotation.
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled
from asperity.midas.soft.couples import add_couple, begin_couples, enter_couples
from asperity.midas.soft.edges import add_strand_terms, strand_energy
from asperity.midas.soft.quadratic import add_quadratic_slopes, quadratic_energy
from asperity.midas.soft.sites import add_gradient, is_exact
from asperity.midas.soft.strains import FLAT, deform, diagonalize, stretch

__all__ = ["add_element_terms", "count_strains", "element_energy"]


@compiled
def count_strains(soft: Table, x: np.ndarray, weight: float) -> None:
    """Add strains at positions to those that changes count from, of elements with damping."""
    for e in range(soft.element_size.size):
        if soft.element_damping[e] == 0.0:
            continue
        deform(soft, e, x)
        for i in range(3):
            for j in range(3):
                soft.element_past[e, i, j] += weight * soft.small[1][i, j]


@compiled
def element_energy(soft: Table, x: np.ndarray, h: float) -> float:
    """Elastic energy, with what damping takes [J]; infinite if an element is inverted."""
    total = 0.0
    c = soft.small[1]
    for e in range(soft.element_size.size):
        first = soft.element_lame[e, 0]
        shear = soft.element_lame[e, 1]
        m = deform(soft, e, x)
        lost = 0.0
        if soft.element_damping[e] > 0.0:
            squares = 0.0
            trace = 0.0
            for i in range(3):
                trace += 0.5 * (c[i, i] - soft.element_past[e, i, i])
                for j in range(3):
                    squares += 0.25 * (c[i, j] - soft.element_past[e, i, j]) ** 2
            lost = soft.element_damping[e] / h * (shear * squares + 0.5 * first * trace * trace)
        squares = -1.0 * m
        for i in range(m):
            squares += c[i, i]
        if m == 3:
            _, _, _, log = stretch(soft, m)
        else:
            area = c[0, 0] * c[1, 1] - c[0, 1] * c[0, 1]
            log = 0.5 * math.log(area) if area > FLAT else -math.inf
        if log == -math.inf:
            return math.inf
        total += soft.element_size[e] * (
            0.5 * shear * squares - shear * log + 0.5 * first * log * log + lost
        )
    return total + quadratic_energy(soft, x) + strand_energy(soft, x, h)


@compiled
def _add_mode(soft: Table, corners: int, scale: float, turn: np.ndarray) -> None:
    """Add scale times the square of a mode Σ turn_ij u_i v_jᵀ to the element's block."""
    u = soft.small[3]
    along = soft.along
    h = soft.corner
    for a in range(corners):
        for k in range(3):
            h[a, k] = 0.0
        for i in range(3):
            amount = turn[i, 0] * along[0, a] + turn[i, 1] * along[1, a] + turn[i, 2] * along[2, a]
            for k in range(3):
                h[a, k] += amount * u[k, i]
    block = soft.block
    for a in range(corners):
        for i in range(3):
            share = scale * h[a, i]
            for b in range(a + 1):
                for j in range(3):
                    block[3 * a + i, 3 * b + j] += share * h[b, j]


@compiled
def _clear(turn: np.ndarray) -> None:
    for i in range(3):
        for j in range(3):
            turn[i, j] = 0.0


@compiled
def _add_elastic_block(
    soft: Table,
    m: int,
    corners: int,
    scale: float,
    first: float,
    shear: float,
    log: float,
    least: float,
) -> None:
    """Add the part of the Hessian of Ψ above ``least``; ``small[4]`` has the singular values."""
    sigma = soft.small[4][0]
    a = soft.small[5]
    w = soft.small[6]
    turn = soft.small[7]
    s = first * log - shear
    _clear(a)
    for i in range(3):
        if i < m:
            for j in range(m):
                a[i, j] = first / (sigma[i] * sigma[j])
            a[i, i] += shear - s / (sigma[i] * sigma[i])
    diagonalize(a, w)
    for k in range(3):
        if a[k, k] > least:
            _clear(turn)
            for i in range(m):
                turn[i, i] = w[i, k]
            _add_mode(soft, corners, scale * a[k, k], turn)
    for i in range(m):
        for j in range(i + 1, m):
            for side in range(2):
                sign = 1.0 if side == 0 else -1.0
                value = shear - sign * s / (sigma[i] * sigma[j])
                if value > least:
                    _clear(turn)
                    turn[i, j] = 1.0
                    turn[j, i] = sign
                    _add_mode(soft, corners, 0.5 * scale * value, turn)
    if m == 2:
        for i in range(2):
            value = shear + s / (sigma[i] * sigma[i])
            if value > least:
                _clear(turn)
                turn[2, i] = 1.0
                _add_mode(soft, corners, scale * value, turn)


@compiled
def _add_damping_block(soft: Table, e: int, scale: float) -> None:
    """Add the Hessian of damping without its stress: of the change of strain, squared."""
    f = soft.small[0]
    g = soft.element_gradient[e]
    first = scale * soft.element_lame[e, 0]
    shear = scale * soft.element_lame[e, 1]
    p = soft.corner
    block = soft.block
    square = soft.small[5]
    for i in range(3):
        for j in range(3):
            square[i, j] = f[i, 0] * f[j, 0] + f[i, 1] * f[j, 1] + f[i, 2] * f[j, 2]
    corners = soft.element_corners[e]
    for a in range(corners):
        for k in range(3):
            p[a, k] = f[k, 0] * g[a, 0] + f[k, 1] * g[a, 1] + f[k, 2] * g[a, 2]
    for a in range(corners):
        for b in range(a + 1):
            dot = g[a, 0] * g[b, 0] + g[a, 1] * g[b, 1] + g[a, 2] * g[b, 2]
            for i in range(3):
                for j in range(3):
                    block[3 * a + i, 3 * b + j] += (
                        shear * (square[i, j] * dot + p[b, i] * p[a, j]) + first * p[a, i] * p[b, j]
                    )


@compiled
def _add_element(engine: Table, soft: Table, e: int, whole: bool) -> None:
    h = engine.time.step
    x = soft.now
    vertex = soft.element_vertex[e]
    g = soft.element_gradient[e]
    first = soft.element_lame[e, 0]
    shear = soft.element_lame[e, 1]
    f = soft.small[0]
    c = soft.small[1]
    v = soft.small[2]
    u = soft.small[3]
    stress = soft.small[5]
    m = deform(soft, e, x)
    corners = soft.element_corners[e]
    scale = soft.element_size[e]
    force = h * h * scale
    rate = soft.element_damping[e] / h
    for i in range(corners):
        for k in range(3):
            soft.slope_work[i, k] = 0.0
    if rate > 0.0:
        trace = 0.0
        for i in range(3):
            trace += 0.5 * (c[i, i] - soft.element_past[e, i, i])
        for i in range(3):
            for j in range(3):
                stress[i, j] = rate * shear * (c[i, j] - soft.element_past[e, i, j])
            stress[i, i] += rate * first * trace
        for a in range(corners):
            for k in range(3):
                for i in range(m):
                    for j in range(m):
                        soft.slope_work[a, k] += force * f[k, i] * stress[i, j] * g[a, j]
    s0, s1, s2, log = stretch(soft, m)
    sigma = soft.small[4][0]
    sigma[0] = s0
    sigma[1] = s1
    sigma[2] = s2
    for a in range(corners):
        for i in range(3):
            soft.along[i, a] = v[0, i] * g[a, 0] + v[1, i] * g[a, 1] + v[2, i] * g[a, 2]
        for i in range(m):
            pull = shear * sigma[i] + (first * log - shear) / sigma[i]
            for k in range(3):
                soft.slope_work[a, k] += force * pull * soft.along[i, a] * u[k, i]
        add_gradient(engine, soft, vertex[a], soft.slope_work[a])
    if not whole:
        return
    block = soft.block
    for i in range(3 * corners):
        for j in range(3 * corners):
            block[i, j] = 0.0
    least = -math.inf if is_exact(engine.newton) else 0.0
    _add_elastic_block(soft, m, corners, scale, first, shear, log, least)
    if rate > 0.0:
        _add_damping_block(soft, e, scale * rate)
    couple = 0
    for a in range(corners):
        for b in range(a + 1):
            at = soft.element_couple[e, couple]
            add_couple(soft.couple_block, at, vertex[a], vertex[b], block, 3 * a, 3 * b)
            couple += 1


@compiled
def add_element_terms(engine: Table, soft: Table) -> None:
    """Add the gradient of elements, and unless only slopes are wanted, their Hessian."""
    whole = engine.newton.only_slopes == 0
    if whole:
        begin_couples(soft)
    for e in range(soft.element_size.size):
        _add_element(engine, soft, e, whole)
    add_quadratic_slopes(engine, soft)
    add_strand_terms(engine, soft, whole)
    if whole:
        enter_couples(engine, soft)
