"""Elastic elements: neo-Hookean volumes and membranes, bending, and their damping.

With the singular values σ_i of the deformation gradient F (3 × 3, or 3 × 2 in the plane of a
triangle), J = Π σ_i and Lamé's parameters λ and μ, the energy per volume, or per area of cloth, is

    Ψ = ½ μ (Σ σ_i² − m) − μ ln J + ½ λ (ln J)²,

which is infinite where an element would turn inside out, so that none ever does. For small strains
it is linear elasticity (of plane stress, with λ = E t ν/(1 − ν²)). Eigenvalues of its Hessian are
those of ∂²Ψ/∂σ_i∂σ_j, and μ ± (λ ln J − μ)/(σ_i σ_j) for pairs of singular vectors that twist or
shear; of cloth besides Ψ_i/σ_i across the plane (B. Smith, F. de Goes, T. Kim, Analytic
eigensystems for isotropic distortion energies, ACM Trans. Graph. 38, 2019). Negative ones are
left out.

Cells of grids have one F, the mean, and a quadratic energy of what they bend, by incompatible modes
(`asperity.soft.elements`), whose axes turn with the cell from step to step. It vanishes for linear
deformations, so that frozen axes resist no rotation. A thousandth of the energy is that of the
tetrahedra which a cell is cut into: their barrier keeps corners from turning inside out.

Damping takes the change of Green's strain over the step, h β times whose rate has the same moduli;
it resists no rotation. Bending is quadratic in positions (M. Bergou, M. Wardetzky, D. Harmon,
D. Zorin, E. Grinspun, A quadratic bending model for inextensible surfaces, 2006).
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled
from asperity.midas.soft.sites import add_block

__all__ = ["add_element_terms", "begin_elements", "element_energy"]

_ROTATIONS = 20
_FLAT = 1e-24


@compiled
def _diagonalize(a: np.ndarray, v: np.ndarray) -> None:
    """Jacobi's method on a symmetric 3 × 3 matrix: values on its diagonal, vectors in columns."""
    for i in range(3):
        for j in range(3):
            v[i, j] = 1.0 if i == j else 0.0
    for _ in range(_ROTATIONS):
        off = abs(a[0, 1]) + abs(a[0, 2]) + abs(a[1, 2])
        if not off > 1e-17 * (abs(a[0, 0]) + abs(a[1, 1]) + abs(a[2, 2])):
            return
        for p in range(2):
            for q in range(p + 1, 3):
                if a[p, q] == 0.0:
                    continue
                theta = 0.5 * (a[q, q] - a[p, p]) / a[p, q]
                t = 1.0 / (abs(theta) + math.sqrt(theta * theta + 1.0))
                if theta < 0.0:
                    t = -t
                c = 1.0 / math.sqrt(t * t + 1.0)
                s = t * c
                for k in range(3):
                    x = a[k, p]
                    y = a[k, q]
                    a[k, p] = c * x - s * y
                    a[k, q] = s * x + c * y
                for k in range(3):
                    x = a[p, k]
                    y = a[q, k]
                    a[p, k] = c * x - s * y
                    a[q, k] = s * x + c * y
                    x = v[k, p]
                    y = v[k, q]
                    v[k, p] = c * x - s * y
                    v[k, q] = s * x + c * y


@compiled
def _deform(soft: Table, e: int, x: np.ndarray) -> int:
    """Fill F and FᵀF of an element, in ``small[0]`` and ``small[1]``; returns its dimension."""
    vertex = soft.element_vertex[e]
    g = soft.element_gradient[e]
    f = soft.small[0]
    c = soft.small[1]
    corners = soft.element_corners[e]
    m = 3 if corners > 3 else 2
    for i in range(3):
        for j in range(3):
            f[i, j] = 0.0
    for a in range(1, corners):
        for i in range(3):
            d = x[vertex[a], i] - x[vertex[0], i]
            for j in range(m):
                f[i, j] += d * g[a, j]
    for i in range(3):
        for j in range(3):
            c[i, j] = f[0, i] * f[0, j] + f[1, i] * f[1, j] + f[2, i] * f[2, j]
    if m == 2:
        c[2, 2] = 1.0
    return m


@compiled
def _stretch(soft: Table, m: int) -> tuple[float, float, float, float]:
    """Fill the singular vectors of F, whose FᵀF is lost, and return its singular values and ln J.

    ln J is minus infinity for an element that is flat or turned inside out. Right vectors are the
    columns of ``small[2]``, left ones those of ``small[3]``.
    """
    f = soft.small[0]
    c = soft.small[1]
    v = soft.small[2]
    u = soft.small[3]
    if m == 3:
        det = (
            f[0, 0] * (f[1, 1] * f[2, 2] - f[1, 2] * f[2, 1])
            - f[0, 1] * (f[1, 0] * f[2, 2] - f[1, 2] * f[2, 0])
            + f[0, 2] * (f[1, 0] * f[2, 1] - f[1, 1] * f[2, 0])
        )
        if not det > 0.0:
            return 1.0, 1.0, 1.0, -math.inf
    _diagonalize(c, v)
    product = 1.0
    for k in range(m):
        if not c[k, k] > _FLAT:
            return 1.0, 1.0, 1.0, -math.inf
        size = math.sqrt(c[k, k])
        product *= size
        for i in range(3):
            u[i, k] = (f[i, 0] * v[0, k] + f[i, 1] * v[1, k] + f[i, 2] * v[2, k]) / size
    if m == 2:
        for i in range(3):
            i1 = (i + 1) % 3
            i2 = (i + 2) % 3
            u[i, 2] = u[i1, 0] * u[i2, 1] - u[i2, 0] * u[i1, 1]
    return math.sqrt(c[0, 0]), math.sqrt(c[1, 1]), math.sqrt(c[2, 2]), math.log(product)


@compiled
def begin_elements(soft: Table) -> None:
    """Keep the strains of the step's beginning, of elements with damping, and turn cells."""
    for e in range(soft.element_size.size):
        if soft.element_damping[e] == 0.0:
            continue
        _deform(soft, e, soft.start)
        for i in range(3):
            for j in range(3):
                soft.element_strain[e, i, j] = soft.small[1][i, j]
    for cell in range(soft.cell_element.size):
        _deform(soft, soft.cell_element[cell], soft.start)
        _stretch(soft, 3)
        _turn_cell(soft, cell)


@compiled
def _turn_cell(soft: Table, cell: int) -> None:
    """Fill R K Rᵀ of a cell, with R = U Vᵀ of its singular vectors."""
    v = soft.small[2]
    u = soft.small[3]
    r = soft.small[4]
    half = soft.small[5]
    k = soft.matrix[soft.cell_matrix[cell]]
    out = soft.cell_turned[cell]
    for i in range(3):
        for j in range(3):
            r[i, j] = u[i, 0] * v[j, 0] + u[i, 1] * v[j, 1] + u[i, 2] * v[j, 2]
    for a in range(8):
        for b in range(8):
            for i in range(3):
                for j in range(3):
                    half[i, j] = 0.0
                    for n in range(3):
                        half[i, j] += r[i, n] * k[3 * a + n, 3 * b + j]
            for i in range(3):
                for j in range(3):
                    value = 0.0
                    for n in range(3):
                        value += half[i, n] * r[j, n]
                    out[3 * a + i, 3 * b + j] = value


@compiled
def _offsets(soft: Table, cell: int, x: np.ndarray) -> np.ndarray:
    """Fill x_a − x_0 of a cell's corners, and how that has changed; returns its corners."""
    vertex = soft.element_vertex[soft.cell_element[cell]]
    for a in range(8):
        for k in range(3):
            at = x[vertex[a], k] - x[vertex[0], k]
            soft.offset[0, 3 * a + k] = at
            soft.offset[1, 3 * a + k] = at - soft.start[vertex[a], k] + soft.start[vertex[0], k]
    return vertex


@compiled
def _cell_energy(soft: Table, cell: int, x: np.ndarray, h: float) -> float:
    _offsets(soft, cell, x)
    rate = soft.element_damping[soft.cell_element[cell]] / h
    total = 0.0
    for i in range(24):
        one = 0.0
        other = 0.0
        for j in range(24):
            one += soft.cell_turned[cell, i, j] * soft.offset[0, j]
            other += soft.cell_turned[cell, i, j] * soft.offset[1, j]
        total += 0.5 * (soft.offset[0, i] * one + rate * soft.offset[1, i] * other)
    return total


@compiled
def _add_cell(engine: Table, soft: Table, cell: int, whole: bool) -> None:
    h = engine.time.step
    vertex = _offsets(soft, cell, soft.now)
    turned = soft.cell_turned[cell]
    rate = soft.element_damping[soft.cell_element[cell]] / h
    scale = h * h * (1.0 + rate)
    for a in range(8):
        variable = soft.vertex_variable[vertex[a]]
        if variable < 0:
            continue
        for k in range(3):
            value = 0.0
            for j in range(24):
                value += turned[3 * a + k, j] * (soft.offset[0, j] + rate * soft.offset[1, j])
            engine.newton.gradient[variable + k] += h * h * value
    if not whole:
        return
    block = soft.small[0]
    for a in range(8):
        for b in range(a + 1):
            for i in range(3):
                for j in range(3):
                    block[i, j] = scale * turned[3 * a + i, 3 * b + j]
            add_block(
                engine.factor,
                soft.vertex_variable[vertex[a]],
                soft.vertex_variable[vertex[b]],
                block,
            )


@compiled
def element_energy(soft: Table, x: np.ndarray, h: float) -> float:
    """Energy of elements and bending, with what damping takes [J]; infinite if one is inverted."""
    total = 0.0
    c = soft.small[1]
    for e in range(soft.element_size.size):
        first = soft.element_lame[e, 0]
        shear = soft.element_lame[e, 1]
        m = _deform(soft, e, x)
        lost = 0.0
        if soft.element_damping[e] > 0.0:
            squares = 0.0
            trace = 0.0
            for i in range(3):
                trace += 0.5 * (c[i, i] - soft.element_strain[e, i, i])
                for j in range(3):
                    squares += 0.25 * (c[i, j] - soft.element_strain[e, i, j]) ** 2
            lost = soft.element_damping[e] / h * (shear * squares + 0.5 * first * trace * trace)
        squares = -1.0 * m
        for i in range(m):
            squares += c[i, i]
        if m == 3:
            _, _, _, log = _stretch(soft, m)
        else:
            area = c[0, 0] * c[1, 1] - c[0, 1] * c[0, 1]
            log = 0.5 * math.log(area) if area > _FLAT else -math.inf
        if log == -math.inf:
            return math.inf
        total += soft.element_size[e] * (
            0.5 * shear * squares - shear * log + 0.5 * first * log * log + lost
        )
    for cell in range(soft.cell_element.size):
        total += _cell_energy(soft, cell, x, h)
    for b in range(soft.bend_damping.size):
        vertex = soft.bend_vertex[b]
        rate = soft.bend_damping[b] / h
        for i in range(6):
            p = vertex[i]
            for j in range(6):
                q = vertex[j]
                if p < 0 or q < 0 or soft.bend_matrix[b, i, j] == 0.0:
                    continue
                dot = 0.0
                for k in range(3):
                    one = x[p, k] - x[vertex[0], k]
                    two = x[q, k] - x[vertex[0], k]
                    dot += one * two
                    one -= soft.start[p, k] - soft.start[vertex[0], k]
                    two -= soft.start[q, k] - soft.start[vertex[0], k]
                    dot += rate * one * two
                total += 0.5 * soft.bend_matrix[b, i, j] * dot
    return total


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
    for a in range(corners):
        for b in range(a + 1):
            for i in range(3):
                for j in range(3):
                    soft.block[3 * a + i, 3 * b + j] += scale * h[a, i] * h[b, j]


@compiled
def _clear(turn: np.ndarray) -> None:
    for i in range(3):
        for j in range(3):
            turn[i, j] = 0.0


@compiled
def _add_elastic_block(
    soft: Table, m: int, corners: int, scale: float, first: float, shear: float, log: float
) -> None:
    """Add the positive part of the Hessian of Ψ; ``small[4]`` has the singular values."""
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
    _diagonalize(a, w)
    for k in range(3):
        if a[k, k] > 0.0:
            _clear(turn)
            for i in range(m):
                turn[i, i] = w[i, k]
            _add_mode(soft, corners, scale * a[k, k], turn)
    for i in range(m):
        for j in range(i + 1, m):
            for side in range(2):
                sign = 1.0 if side == 0 else -1.0
                value = shear - sign * s / (sigma[i] * sigma[j])
                if value > 0.0:
                    _clear(turn)
                    turn[i, j] = 1.0
                    turn[j, i] = sign
                    _add_mode(soft, corners, 0.5 * scale * value, turn)
    if m == 2:
        for i in range(2):
            value = shear + s / (sigma[i] * sigma[i])
            if value > 0.0:
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
                    soft.block[3 * a + i, 3 * b + j] += (
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
    m = _deform(soft, e, x)
    corners = soft.element_corners[e]
    scale = h * h * soft.element_size[e]
    rate = soft.element_damping[e] / h
    for i in range(corners):
        for k in range(3):
            soft.slope_work[i, k] = 0.0
    if rate > 0.0:
        trace = 0.0
        for i in range(3):
            trace += 0.5 * (c[i, i] - soft.element_strain[e, i, i])
        for i in range(3):
            for j in range(3):
                stress[i, j] = rate * shear * (c[i, j] - soft.element_strain[e, i, j])
            stress[i, i] += rate * first * trace
        for a in range(corners):
            for k in range(3):
                for i in range(m):
                    for j in range(m):
                        soft.slope_work[a, k] += scale * f[k, i] * stress[i, j] * g[a, j]
    s0, s1, s2, log = _stretch(soft, m)
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
                soft.slope_work[a, k] += scale * pull * soft.along[i, a] * u[k, i]
        variable = soft.vertex_variable[vertex[a]]
        if variable >= 0:
            for k in range(3):
                engine.newton.gradient[variable + k] += soft.slope_work[a, k]
    if not whole:
        return
    block = soft.block
    for i in range(3 * corners):
        for j in range(3 * corners):
            block[i, j] = 0.0
    _add_elastic_block(soft, m, corners, scale, first, shear, log)
    if rate > 0.0:
        _add_damping_block(soft, e, scale * rate)
    for a in range(corners):
        for b in range(a + 1):
            add_block(
                engine.factor,
                soft.vertex_variable[vertex[a]],
                soft.vertex_variable[vertex[b]],
                block[3 * a : 3 * a + 3, 3 * b : 3 * b + 3],
            )


@compiled
def _add_bend(engine: Table, soft: Table, b: int, whole: bool) -> None:
    h = engine.time.step
    x = soft.now
    vertex = soft.bend_vertex[b]
    rate = soft.bend_damping[b] / h
    small = soft.small[0]
    for i in range(6):
        p = vertex[i]
        if p < 0 or soft.vertex_variable[p] < 0:
            continue
        variable = soft.vertex_variable[p]
        for j in range(6):
            q = vertex[j]
            if q < 0:
                continue
            value = h * h * soft.bend_matrix[b, i, j]
            for k in range(3):
                at = x[q, k] - x[vertex[0], k]
                moved = at - soft.start[q, k] + soft.start[vertex[0], k]
                engine.newton.gradient[variable + k] += value * (at + rate * moved)
            if whole and j <= i and soft.vertex_variable[q] >= 0:
                for k in range(3):
                    for n in range(3):
                        small[k, n] = value * (1.0 + rate) if k == n else 0.0
                add_block(engine.factor, variable, soft.vertex_variable[q], small)


@compiled
def add_element_terms(engine: Table, soft: Table) -> None:
    """Add the gradient of elements, and unless only slopes are wanted, their Hessian."""
    whole = engine.newton.only_slopes == 0
    for e in range(soft.element_size.size):
        _add_element(engine, soft, e, whole)
    for cell in range(soft.cell_element.size):
        _add_cell(engine, soft, cell, whole)
    for b in range(soft.bend_damping.size):
        _add_bend(engine, soft, b, whole)
