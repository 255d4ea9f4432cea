"""What triangles of cloth change by with positions and velocities, in closed form.

Beside what all elements have (`asperity.derivatives.balance.elastic_columns`) a step has of a
triangle that turns, with the gradient L = Rᵀ Σ v_0 gᵀ of velocities and the matrix t of
`asperity.soft.tense_triangles`, the impulses

    R c,    c = δt (δt + β) K_0 t(L) X.

A turn ω of the triangle changes L by −ω × L.

The stiffness of its tension τ = T A is K y = τ n g_a · Σ_b g_b (n · y_b). n = R e_z changes by
R (ω × e_z), and T by the strain, the symmetric part of Rᵀ Σ dx gᵀ − ω × (Rᵀ Σ x gᵀ).
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.derivatives.balance.elastic_columns import (
    add_turning,
    cross_all,
    fill_inverse,
    fill_spin,
    turn_back,
)
from asperity.soft.corotation import element_rotation
from asperity.soft.tense_triangles import find_gradient, strain_of, strain_rest, turning_strain

__all__ = ["add_triangle_tension", "triangle_columns"]


@compiled
def _turning_change(
    gradient: np.ndarray, change: np.ndarray, step: float
) -> tuple[float, float, float]:
    """What `turning_strain` changes by with L, both of two columns of three rows."""
    xx, xy, yy = turning_strain(gradient, step)
    e_xx, e_yy = gradient[0], gradient[3]
    e_xy = 0.5 * (gradient[1] + gradient[2])
    d_xx, d_yy = change[0], change[3]
    d_xy = 0.5 * (change[1] + change[2])
    c_xx = -2.0 * (e_xx * d_xx + e_xy * d_xy)
    c_yy = -2.0 * (e_yy * d_yy + e_xy * d_xy)
    c_xy = -(d_xy * (e_xx + e_yy) + e_xy * (d_xx + d_yy))
    square = -e_xx * e_xx - e_yy * e_yy - 2.0 * e_xy * e_xy
    for i in range(3):
        one, other = gradient[2 * i], gradient[2 * i + 1]
        c_xx += 2.0 * one * change[2 * i]
        c_yy += 2.0 * other * change[2 * i + 1]
        c_xy += one * change[2 * i + 1] + other * change[2 * i]
        square += one * one + other * other
    root = 1.0 + step * step * max(square, 0.0)
    scale = 0.5 * step / root
    less = step * step * (c_xx + c_yy) / root
    return scale * c_xx - less * xx, scale * c_xy - less * xy, scale * c_yy - less * yy


@compiled
def _multiply_strain(
    elastic: Table,
    element: int,
    step: float,
    strain: tuple[float, float, float],
    pad: np.ndarray,
    out: np.ndarray,
) -> None:
    """``out`` = δt (δt + β) K_0 t X of a symmetric t."""
    first = elastic.element_first[element]
    at = elastic.element_matrix[element]
    strain_rest(elastic, first, strain, pad)
    for i in range(9):
        factor = step * (step + elastic.particle_damping[elastic.place_particle[first + i // 3]])
        value = 0.0
        for j in range(9):
            value += elastic.matrix[at + 9 * i + j] * pad[j]
        out[i] = factor * value


@compiled
def _turn_gradient(axis: int, gradient: np.ndarray, out: np.ndarray) -> None:
    """``out`` = −e × L."""
    one = (axis + 1) % 3
    two = (axis + 2) % 3
    for k in range(2):
        out[2 * axis + k] = 0.0
        out[2 * one + k] = gradient[2 * two + k]
        out[2 * two + k] = -gradient[2 * one + k]


@compiled
def triangle_columns(elastic: Table, work: Table, state: Table, step: float) -> None:
    """Add what the turning of triangles does to columns by positions and velocities."""
    soft = state.soft
    nv = state.qvel.size
    r = soft.work[1]
    gradient = np.empty(6)
    change = np.empty(6)
    inverse = np.empty((3, 3))
    pad = np.empty((5, 9))
    moved = np.empty(3)
    for triangle in range(elastic.triangles):
        element = elastic.triangle_element[triangle]
        first = elastic.element_first[element]
        element_rotation(elastic, soft.position, element, soft.work)
        fill_inverse(r, soft.work[2], inverse)
        find_gradient(elastic, r, state.qvel, first, True, gradient)
        _multiply_strain(elastic, element, step, turning_strain(gradient, step), pad[3], pad[4])
        for axis in range(3):
            _turn_gradient(axis, gradient, change)
            less = _turning_change(gradient, change, step)
            _multiply_strain(elastic, element, step, less, pad[3], pad[axis])
            cross_all(axis, pad[4], 3, pad[3])
            for i in range(9):
                pad[axis, i] += pad[3, i]
        add_turning(elastic, element, r, inverse, pad, work.columns)
        for c in range(3):
            column = elastic.particle_dof[elastic.place_particle[first + c]]
            if column < 0:
                continue
            g = elastic.place_gradient[first + c]
            for j in range(3):
                for i in range(3):
                    for k in range(2):
                        change[2 * i + k] = r[3 * j + i] * g[k]
                more = _turning_change(gradient, change, step)
                _multiply_strain(elastic, element, step, more, pad[3], pad[0])
                for a in range(3):
                    row = elastic.particle_dof[elastic.place_particle[first + a]]
                    if row >= 0:
                        turn_back(r, pad[0, 3 * a : 3 * a + 3], moved)
                        for i in range(3):
                            work.columns[nv + column + j, row + i] += moved[i]


@compiled
def _tension_change(
    elastic: Table, triangle: int, strain: tuple[float, float, float], change: np.ndarray
) -> float:
    """What the largest tension changes by with the gradient of positions."""
    xx, xy, yy = strain
    shear = elastic.triangle_moduli[triangle, 1]
    apart = 0.5 * (xx - yy)
    root = np.sqrt(apart * apart + xy * xy)
    value = (elastic.triangle_moduli[triangle, 0] + shear) * (change[0] + change[3])
    if root > 0.0:
        value += shear * (apart * (change[0] - change[3]) + xy * (change[1] + change[2])) / root
    return float(value)


@compiled
def _add_yield(
    elastic: Table,
    state: Table,
    triangle: int,
    strain: tuple[float, float, float],
    vectors: np.ndarray,
    stretch: np.ndarray,
    out: np.ndarray,
) -> None:
    """Add what K y changes by with what stays, of which the strain has no part."""
    place = elastic.triangle_yielding[triangle]
    first = elastic.element_first[elastic.triangle_element[triangle]]
    slot = elastic.plastic_first[place]
    slots = elastic.plastic_first[place + 1] - slot
    taut = state.soft.taut[elastic.strands + triangle]
    change = np.zeros(6)
    g = elastic.place_gradient
    for n in range(vectors.shape[0]):
        u = v = 0.0
        for b in range(3):
            y = vectors[n, elastic.place_particle[first + b]]
            along = taut[0] * y[0] + taut[1] * y[1] + taut[2] * y[2]
            u += g[first + b, 0] * along
            v += g[first + b, 1] * along
        for s in range(slots):
            change[0], change[3] = -stretch[0, s], -stretch[1, s]
            change[1] = change[2] = -stretch[3, s]
            tenser = _tension_change(elastic, triangle, strain, change)
            tenser *= elastic.triangle_area[triangle]
            column = out[n, state.qvel.size + elastic.plastic_slot[slot + s]]
            for a in range(3):
                row = elastic.particle_dof[elastic.place_particle[first + a]]
                if row >= 0:
                    size = tenser * (g[first + a, 0] * u + g[first + a, 1] * v)
                    for i in range(3):
                        column[row + i] += size * taut[i]


@compiled
def add_triangle_tension(
    elastic: Table,
    state: Table,
    triangle: int,
    vectors: np.ndarray,
    stretch: np.ndarray,
    out: np.ndarray,
) -> None:
    """Add what K y of a triangle changes by with positions, of several vectors y.

    Parameters
    ----------
    elastic, state : Table
        With what is taut.
    triangle : int
    vectors : array, shape (n, particles, 3)
    stretch : array, shape (yielding, 6, slots)
        What U_p changes by with what stays.
    out : array, shape (n, nv + numbers of what stays, nv)
        Forces, by positions first, and then by what stays of deformations.
    """
    soft = state.soft
    taut = soft.taut[elastic.strands + triangle]
    if not taut[3] > 0.0:
        return
    element = elastic.triangle_element[triangle]
    first = elastic.element_first[element]
    area = elastic.triangle_area[triangle]
    r = soft.work[1]
    inverse = np.empty((3, 3))
    spin = np.empty((3, 3))
    gradient = np.empty(6)
    change = np.empty(6)
    tilt = np.empty(3)
    element_rotation(elastic, soft.position, element, soft.work)
    fill_inverse(r, soft.work[2], inverse)
    strain = strain_of(elastic, state, triangle, soft.work)
    find_gradient(elastic, r, soft.position.reshape(-1), first, False, gradient)
    g = elastic.place_gradient
    for c in range(3):
        column = elastic.particle_dof[elastic.place_particle[first + c]]
        if column < 0:
            continue
        fill_spin(r, g[first + c], inverse, spin)
        for j in range(3):
            for i in range(3):
                one = (i + 1) % 3
                two = (i + 2) % 3
                for k in range(2):
                    change[2 * i + k] = (
                        r[3 * j + i] * g[first + c, k]
                        - spin[one, j] * gradient[2 * two + k]
                        + spin[two, j] * gradient[2 * one + k]
                    )
                # R (ω × e_z)
                tilt[i] = r[3 * i] * spin[1, j] - r[3 * i + 1] * spin[0, j]
            tenser = area * _tension_change(elastic, triangle, strain, change)
            for n in range(vectors.shape[0]):
                u = v = du = dv = 0.0
                for b in range(3):
                    y = vectors[n, elastic.place_particle[first + b]]
                    along = taut[0] * y[0] + taut[1] * y[1] + taut[2] * y[2]
                    turned = tilt[0] * y[0] + tilt[1] * y[1] + tilt[2] * y[2]
                    u += g[first + b, 0] * along
                    v += g[first + b, 1] * along
                    du += g[first + b, 0] * turned
                    dv += g[first + b, 1] * turned
                for a in range(3):
                    row = elastic.particle_dof[elastic.place_particle[first + a]]
                    if row < 0:
                        continue
                    size = g[first + a, 0] * u + g[first + a, 1] * v
                    more = tenser * size
                    more += taut[3] * (g[first + a, 0] * du + g[first + a, 1] * dv)
                    for i in range(3):
                        out[n, column + j, row + i] += more * taut[i] + taut[3] * size * tilt[i]
    if elastic.triangle_yielding[triangle] >= 0:
        own = stretch[elastic.triangle_yielding[triangle]]
        _add_yield(elastic, state, triangle, strain, vectors, own, out)
