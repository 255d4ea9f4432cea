"""Elastic elements: neo-Hookean volumes and membranes, and their damping.

With the singular values σ_i of the deformation gradient F (3 × 3, or 3 × 2 in the plane of a
triangle), J = Π σ_i and Lamé's parameters λ and μ, the energy per volume, or per area of cloth, is

    Ψ = ½ μ (Σ σ_i² − m) − μ ln J + ½ λ (ln J)²,

which is infinite where an element would turn inside out, so that none ever does. For small strains
it is linear elasticity (of plane stress, with λ = E t ν/(1 − ν²)). With s = λ ln J − μ, gradients
g_a at rest, and q_a = F⁻ᵀ g_a where corners are now, its Hessian between two corners is

    μ g_a·g_b 1 + λ q_a q_bᵀ − s q_b q_aᵀ,

and of cloth, with the normal n for a third column of F, s q_a·q_b n nᵀ besides. Its eigenvalues are
those of ∂²Ψ/∂σ_i∂σ_j, and μ ± s/(σ_i σ_j) for pairs of singular vectors that twist or shear; of
cloth besides Ψ_i/σ_i = μ + s/σ_i² across the plane (B. Smith, F. de Goes, T. Kim, Analytic
eigensystems for isotropic distortion energies, ACM Trans. Graph. 38, 2019). What is negative is
added to it until the solution is near; singular vectors are found only where there is some.

Cells of grids have one F, the mean, and resist what goes beyond it by a quadratic energy
(`asperity.midas.soft.quadratic`). A thousandth of their energy is that of the tetrahedra which a
cell is cut into: their barrier keeps corners from turning inside out.

Damping acts on the rate of Green's strain that the scheme has (`asperity.midas.soft.past`), with
the moduli times β. It resists no rotation. With its stress S its Hessian is, near the solution,
that of the change of strain, squared, and g_a·S g_b 1.
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled
from asperity.midas.soft.couples import begin_couples, enter_couples
from asperity.midas.soft.edges import add_strand_terms, strand_energy
from asperity.midas.soft.quadratic import add_quadratic_slopes, quadratic_energy
from asperity.midas.soft.sites import add_gradient, is_exact
from asperity.midas.soft.strains import deform, diagonalize, invert, logarithm, stretch

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
        log = logarithm(soft.small[0], m)
        if log == -math.inf:
            return math.inf
        total += soft.element_size[e] * (
            0.5 * shear * squares - shear * log + 0.5 * first * log * log + lost
        )
    return total + quadratic_energy(soft, x) + strand_energy(soft, x, h)


@compiled
def _clear(turn: np.ndarray) -> None:
    for i in range(3):
        for j in range(3):
            turn[i, j] = 0.0


@compiled
def _note_mode(soft: Table, count: int, corners: int, scale: float, turn: np.ndarray) -> int:
    """Note a mode Σ turn_ij u_i v_jᵀ and its stiffness after ``count`` others; returns how many."""
    u = soft.small[3]
    along = soft.along
    mode = soft.mode[count]
    for a in range(corners):
        for k in range(3):
            mode[a, k] = 0.0
        for i in range(3):
            amount = turn[i, 0] * along[0, a] + turn[i, 1] * along[1, a] + turn[i, 2] * along[2, a]
            for k in range(3):
                mode[a, k] += amount * u[k, i]
    soft.mode_scale[count] = scale
    return count + 1


@compiled
def _has_negative(c: np.ndarray, m: int, shear: float, s: float) -> bool:
    """Whether an eigenvalue of the Hessian of Ψ may be negative.

    None is if all σ_i², or where s < 0 in volumes all σ_i σ_j, are more than t = |s|/μ: if C − t 1,
    or C's cofactors less t² 1, are positive definite.
    """
    t = abs(s) / shear
    if m == 2:
        a = c[0, 0] - t
        return not (a > 0.0 and a * (c[1, 1] - t) > c[0, 1] * c[0, 1])
    xx, yy, zz, xy, xz, yz = c[0, 0], c[1, 1], c[2, 2], c[0, 1], c[0, 2], c[1, 2]
    if s < 0.0:
        xx, xy, xz, yy, yz, zz = (
            c[1, 1] * c[2, 2] - c[1, 2] * c[1, 2],
            c[0, 2] * c[1, 2] - c[0, 1] * c[2, 2],
            c[0, 1] * c[1, 2] - c[0, 2] * c[1, 1],
            c[0, 0] * c[2, 2] - c[0, 2] * c[0, 2],
            c[0, 1] * c[0, 2] - c[0, 0] * c[1, 2],
            c[0, 0] * c[1, 1] - c[0, 1] * c[0, 1],
        )
        t *= t
    xx -= t
    yy -= t
    zz -= t
    minor = xx * yy - xy * xy
    whole = zz * minor - xx * yz * yz - yy * xz * xz + 2.0 * xy * xz * yz
    return not (xx > 0.0 and minor > 0.0 and whole > 0.0)


@compiled
def _negative_modes(
    soft: Table, m: int, g: np.ndarray, corners: int, first: float, shear: float, s: float
) -> int:
    """Fill what makes up for negative eigenvalues of the Hessian of Ψ; returns how many modes."""
    sigma = stretch(soft, m)
    v = soft.small[2]
    a = soft.small[5]
    w = soft.small[6]
    turn = soft.small[7]
    for corner in range(corners):
        for i in range(3):
            soft.along[i, corner] = 0.0
            for k in range(3):
                soft.along[i, corner] += v[k, i] * g[corner, k]
    count = 0
    if s > 0.0:
        # If s is not, these are positive.
        _clear(a)
        for i in range(m):
            for j in range(m):
                a[i, j] = first / (sigma[i] * sigma[j])
            a[i, i] += shear - s / (sigma[i] * sigma[i])
        diagonalize(a, w)
        for k in range(3):
            if a[k, k] < 0.0:
                _clear(turn)
                for i in range(m):
                    turn[i, i] = w[i, k]
                count = _note_mode(soft, count, corners, -a[k, k], turn)
    for i in range(m):
        for j in range(i + 1, m):
            value = shear - abs(s) / (sigma[i] * sigma[j])
            if value < 0.0:
                _clear(turn)
                turn[i, j] = 1.0
                turn[j, i] = 1.0 if s > 0.0 else -1.0
                count = _note_mode(soft, count, corners, -0.5 * value, turn)
    if m == 2:
        for i in range(2):
            value = shear + s / (sigma[i] * sigma[i])
            if value < 0.0:
                _clear(turn)
                turn[2, i] = 1.0
                count = _note_mode(soft, count, corners, -value, turn)
    return count


@compiled
def _add_blocks(soft: Table, e: int, modes: int, rate: float, s: float) -> None:
    """Add an element's Hessian, with that of damping, to its couples' blocks.

    ``small[1]`` has μ (1 + β/h F Fᵀ), of which blocks have g_a·g_b times, and the work space of
    corners F g, F⁻ᵀ g, and the stress S of damping that counts, times g.
    """
    vertex = soft.element_vertex[e]
    g = soft.element_gradient[e]
    scale = soft.element_size[e]
    first = scale * soft.element_lame[e, 0]
    shear = scale * rate * soft.element_lame[e, 1]
    more = rate * first
    turned = -scale * s
    across = scale * s if soft.element_dimension[e] == 2 else 0.0
    normal = soft.small[0][:, 2]
    both = soft.small[1]
    p = soft.corner
    q = soft.pull
    r = soft.held
    couple = 0
    for a in range(soft.element_corners[e]):
        for b in range(a + 1):
            dot = scale * (g[a, 0] * g[b, 0] + g[a, 1] * g[b, 1] + g[a, 2] * g[b, 2])
            turn = across * (q[a, 0] * q[b, 0] + q[a, 1] * q[b, 1] + q[a, 2] * q[b, 2])
            tense = r[a, 0] * g[b, 0] + r[a, 1] * g[b, 1] + r[a, 2] * g[b, 2]
            block = soft.couple_block[soft.element_couple[e, couple]]
            # Rows of a couple's block are the later vertex's.
            one = a if vertex[a] >= vertex[b] else b
            two = a + b - one
            for i in range(3):
                t = turn * normal[i]
                x = first * q[one, i]
                y = turned * q[two, i]
                z = more * p[one, i]
                w = shear * p[two, i]
                # A row is found before any of it is written, so that nothing is read again.
                s0 = dot * both[i, 0] + t * normal[0] + x * q[two, 0] + y * q[one, 0]
                s1 = dot * both[i, 1] + t * normal[1] + x * q[two, 1] + y * q[one, 1]
                s2 = dot * both[i, 2] + t * normal[2] + x * q[two, 2] + y * q[one, 2]
                s0 += z * p[two, 0] + w * p[one, 0] + (tense if i == 0 else 0.0)
                s1 += z * p[two, 1] + w * p[one, 1] + (tense if i == 1 else 0.0)
                s2 += z * p[two, 2] + w * p[one, 2] + (tense if i == 2 else 0.0)
                block[i, 0] += s0
                block[i, 1] += s1
                block[i, 2] += s2
            for k in range(modes):
                for i in range(3):
                    x = soft.mode_scale[k] * soft.mode[k, one, i]
                    for j in range(3):
                        block[i, j] += x * soft.mode[k, two, j]
            couple += 1


@compiled
def _add_element(engine: Table, soft: Table, e: int, whole: bool) -> None:
    h = engine.time.step
    vertex = soft.element_vertex[e]
    g = soft.element_gradient[e]
    scale = soft.element_size[e]
    first = soft.element_lame[e, 0]
    shear = soft.element_lame[e, 1]
    f = soft.small[0]
    c = soft.small[1]
    inverse = soft.small[4]
    stress = soft.small[5]
    p = soft.corner
    q = soft.pull
    r = soft.held
    m = deform(soft, e, soft.now)
    corners = soft.element_corners[e]
    rate = soft.element_damping[e] / h
    trace = 0.0
    for i in range(3):
        trace += 0.5 * (c[i, i] - soft.element_past[e, i, i])
    for i in range(3):
        for j in range(3):
            stress[i, j] = rate * shear * (c[i, j] - soft.element_past[e, i, j])
        stress[i, i] += rate * first * trace
    exact = is_exact(engine.newton)
    s = first * logarithm(f, m) - shear
    modes = 0
    for a in range(corners):
        for k in range(3):
            p[a, k] = f[k, 0] * g[a, 0] + f[k, 1] * g[a, 1] + f[k, 2] * g[a, 2]
            r[a, k] = stress[k, 0] * g[a, 0] + stress[k, 1] * g[a, 1] + stress[k, 2] * g[a, 2]
        for k in range(3):
            lost = f[k, 0] * r[a, 0] + f[k, 1] * r[a, 1] + f[k, 2] * r[a, 2]
            soft.slope_work[a, k] = shear * p[a, k] + lost
    if whole and not exact and _has_negative(c, m, shear, s):
        modes = _negative_modes(soft, m, g, corners, first, shear, s)
        for k in range(modes):
            soft.mode_scale[k] *= scale
    if whole:
        for i in range(3):
            for j in range(3):
                square = f[i, 0] * f[j, 0] + f[i, 1] * f[j, 1] + f[i, 2] * f[j, 2]
                c[i, j] = rate * shear * square + (shear if i == j else 0.0)
    invert(f, m, inverse)
    for a in range(corners):
        for k in range(3):
            q[a, k] = inverse[k, 0] * g[a, 0] + inverse[k, 1] * g[a, 1] + inverse[k, 2] * g[a, 2]
            soft.slope_work[a, k] = h * h * scale * (soft.slope_work[a, k] + s * q[a, k])
            r[a, k] *= scale if exact else 0.0
        add_gradient(engine, soft, vertex[a], soft.slope_work[a])
    if whole:
        _add_blocks(soft, e, modes, rate, s)


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
