"""What elements of deformable bodies change by with positions, in closed form.

An element takes, with its rotation R and all as of the step's beginning
(`asperity.soft.corotation`),

    G = R h,    h = K_0 (δt u + δt (δt + β) Rᵀ v).

A displacement dx turns R by R [ω]×. R is where S = Rᵀ F is symmetric, so that

    (tr S − S) ω = Σ_a g_a × Rᵀ dx_a,

and G changes by

    R (δt K_0 Rᵀ dx + ω × h − K_0 (ω × z)),    z = Rᵀ (δt x + δt (δt + β) v).
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.soft.corotation import element_rotation

__all__ = [
    "add_turning",
    "cross_all",
    "elastic_columns",
    "fill_inverse",
    "fill_spin",
    "turn",
    "turn_back",
]


@compiled
def fill_inverse(r: np.ndarray, f: np.ndarray, out: np.ndarray) -> None:
    """``out`` = (tr S − S)⁻¹ with S = Rᵀ F."""
    trace = 0.0
    s = np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            for k in range(3):
                s[i, j] += r[3 * k + i] * f[3 * k + j]
        trace += s[i, i]
    for i in range(3):
        for j in range(3):
            out[i, j] = (trace if i == j else 0.0) - 0.5 * (s[i, j] + s[j, i])
    for i in range(3):
        for j in range(3):
            s[i, j] = out[i, j]
    # The adjugate's rows are cross products of the columns.
    determinant = 0.0
    for i in range(3):
        one = (i + 1) % 3
        two = (i + 2) % 3
        for j in range(3):
            up = (j + 1) % 3
            low = (j + 2) % 3
            out[i, j] = s[up, one] * s[low, two] - s[low, one] * s[up, two]
        determinant += s[0, i] * out[i, 0]
    for i in range(3):
        for j in range(3):
            out[i, j] /= determinant


@compiled
def turn(r: np.ndarray, x: np.ndarray, out: np.ndarray) -> None:
    """``out`` = Rᵀ x."""
    for i in range(3):
        out[i] = r[i] * x[0] + r[3 + i] * x[1] + r[6 + i] * x[2]


@compiled
def turn_back(r: np.ndarray, x: np.ndarray, out: np.ndarray) -> None:
    """``out`` = R x."""
    for i in range(3):
        out[i] = r[3 * i] * x[0] + r[3 * i + 1] * x[1] + r[3 * i + 2] * x[2]


@compiled
def _multiply(matrix: np.ndarray, x: np.ndarray, width: int, out: np.ndarray) -> None:
    for i in range(width):
        value = 0.0
        for j in range(width):
            value += matrix[i * width + j] * x[j]
        out[i] = value


@compiled
def cross_all(axis: int, x: np.ndarray, count: int, out: np.ndarray) -> None:
    """``out`` = e × x of vectors one after another."""
    one = (axis + 1) % 3
    two = (axis + 2) % 3
    for a in range(count):
        out[3 * a + axis] = 0.0
        out[3 * a + one] = -x[3 * a + two]
        out[3 * a + two] = x[3 * a + one]


@compiled
def _fill_turned(
    elastic: Table,
    position: np.ndarray,
    velocity: np.ndarray,
    element: int,
    step: float,
    r: np.ndarray,
    pad: np.ndarray,
) -> None:
    """Fill rows 0 to 2 of ``pad`` with what G changes by as the element turns, before R."""
    first = elastic.element_first[element]
    count = elastic.element_first[element + 1] - first
    width = 3 * count
    matrix = elastic.matrix[elastic.element_matrix[element] :]
    h = pad[3]
    z = pad[4]
    turned = pad[5]
    middle = np.zeros(3)
    for a in range(count):
        p = elastic.place_particle[first + a]
        for i in range(3):
            middle[i] += position[p, i] / count
    x = np.empty(3)
    for a in range(count):
        p = elastic.place_particle[first + a]
        dof = elastic.particle_dof[p]
        reach = step * (step + elastic.particle_damping[p])
        for i in range(3):
            x[i] = step * (position[p, i] - middle[i])
            if dof >= 0:
                x[i] += reach * velocity[dof + i]
        turn(r, x, z[3 * a : 3 * a + 3])
        for i in range(3):
            turned[3 * a + i] = z[3 * a + i] - step * elastic.place_rest[first + a, i]
    _multiply(matrix, turned, width, h)
    for axis in range(3):
        cross_all(axis, z, count, turned)
        _multiply(matrix, turned, width, pad[axis])
        cross_all(axis, h, count, turned)
        for i in range(width):
            pad[axis, i] = turned[i] - pad[axis, i]


@compiled
def fill_spin(r: np.ndarray, g: np.ndarray, inverse: np.ndarray, out: np.ndarray) -> None:
    """``out`` = (tr S − S)⁻¹ [g]× Rᵀ: ω by the displacement of a vertex with the gradient g."""
    for axis in range(3):
        x = inverse[axis, 1] * g[2] - inverse[axis, 2] * g[1]
        y = inverse[axis, 2] * g[0] - inverse[axis, 0] * g[2]
        z = inverse[axis, 0] * g[1] - inverse[axis, 1] * g[0]
        for j in range(3):
            out[axis, j] = x * r[3 * j] + y * r[3 * j + 1] + z * r[3 * j + 2]


@compiled
def add_turning(
    elastic: Table,
    element: int,
    r: np.ndarray,
    inverse: np.ndarray,
    pad: np.ndarray,
    columns: np.ndarray,
) -> None:
    """Add what an element's impulses change by as it turns about three axes, rows of ``pad``."""
    first = elastic.element_first[element]
    count = elastic.element_first[element + 1] - first
    moved = np.empty(3)
    spin = np.empty((3, 3))
    for axis in range(3):
        for a in range(count):
            turn_back(r, pad[axis, 3 * a : 3 * a + 3], moved)
            for i in range(3):
                pad[axis, 3 * a + i] = moved[i]
    for c in range(count):
        column = elastic.particle_dof[elastic.place_particle[first + c]]
        if column < 0:
            continue
        fill_spin(r, elastic.place_gradient[first + c], inverse, spin)
        for a in range(count):
            row = elastic.particle_dof[elastic.place_particle[first + a]]
            if row < 0:
                continue
            for j in range(3):
                for i in range(3):
                    columns[column + j, row + i] += (
                        pad[0, 3 * a + i] * spin[0, j]
                        + pad[1, 3 * a + i] * spin[1, j]
                        + pad[2, 3 * a + i] * spin[2, j]
                    )


@compiled
def _add_stiffness(elastic: Table, soft: Table, step: float, columns: np.ndarray) -> None:
    """Add δt R K_0 Rᵀ of all elements."""
    for p in range(elastic.particles):
        dof = elastic.particle_dof[p]
        if dof >= 0:
            for i in range(3):
                for j in range(3):
                    columns[dof + j, dof + i] += step * soft.own[p, 3 * i + j]
    for bond in range(elastic.bonds):
        one = elastic.bond_dof[bond, 0]
        other = elastic.bond_dof[bond, 1]
        for i in range(3):
            for j in range(3):
                value = step * soft.bond[bond, 3 * i + j]
                columns[other + j, one + i] += value
                columns[one + i, other + j] += value


@compiled
def elastic_columns(elastic: Table, work: Table, state: Table, step: float) -> None:
    """Add what elements do to columns by positions.

    Needs positions of particles, stiffnesses of elements, and the velocity at the step's end.
    """
    if elastic.elements == 0:
        return
    soft = state.soft
    columns = work.columns
    r = soft.work[1]
    pad = np.empty((6, soft.work.shape[1]))
    inverse = np.empty((3, 3))
    _add_stiffness(elastic, soft, step, columns)
    for element in range(elastic.elements):
        element_rotation(elastic, soft.position, element, soft.work)
        if not np.any(soft.work[2, :9] != 0.0):
            # Bending of what is flat at rest does not turn.
            continue
        fill_inverse(r, soft.work[2], inverse)
        _fill_turned(elastic, soft.position, work.velocity, element, step, r, pad)
        add_turning(elastic, element, r, inverse, pad, columns)
