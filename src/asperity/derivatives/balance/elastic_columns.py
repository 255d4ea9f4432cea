"""What elements of deformable bodies change by with positions, in closed form.

An element takes, with its rotation R and all as of the step's beginning
(`asperity.soft.corotation`),

    G = R h,    h = K_0 (δt u + δt (δt + β) Rᵀ v).

A displacement dx turns R by R [ω]×. R is where S = Rᵀ F is symmetric, so that

    (tr S − S) ω = Σ_a g_a × Rᵀ dx_a,

and G changes by

    R (δt K_0 Rᵀ dx + ω × h − K_0 (ω × z)),    z = Rᵀ (δt x + δt (δt + β) v).

Of an element that has yielded K and u − w of `asperity.soft.plasticity` are in the places of K_0
and u. K x differs from K_0 x by stresses σ(L) = λ tr L + μ (L + Lᵀ), times the volume, of
L = Σ x_a g'_aᵀ: by σ g'_a, less what it would be with g.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.soft.corotation import element_rotation
from asperity.soft.plasticity import Tensor, inverse, plastic_stretch

__all__ = [
    "add_stress",
    "add_turning",
    "cross_all",
    "elastic_columns",
    "fill_inverse",
    "fill_spin",
    "fill_strained",
    "find_stress",
    "multiply",
    "rest_gradients",
    "subtract_rest",
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
def rest_gradients(elastic: Table, element: int, stretch: Tensor, out: np.ndarray) -> None:
    """``out`` = g' = U_p⁻¹ g of an element's places, shape (m, 3)."""
    a, b, c, d, e, f = inverse(stretch)
    first = elastic.element_first[element]
    for k in range(elastic.element_first[element + 1] - first):
        x, y, z = elastic.place_gradient[first + k]
        out[k, 0] = a * x + d * y + f * z
        out[k, 1] = d * x + b * y + e * z
        out[k, 2] = f * x + e * y + c * z


@compiled
def find_stress(elastic: Table, place: int, gradient: np.ndarray, out: np.ndarray) -> None:
    """``out`` = V σ(L) of an element that yields, shapes (3, 3)."""
    lame, shear = elastic.plastic_moduli[place, 0], elastic.plastic_moduli[place, 1]
    # Of cloth nothing acts across it.
    last = 2 if elastic.plastic_plane[place] >= 0.0 else 3
    trace = 0.0
    for i in range(last):
        trace += gradient[i, i]
    for i in range(3):
        for j in range(3):
            inner = i < last and j < last
            out[i, j] = shear * (gradient[i, j] + gradient[j, i]) if inner else 0.0
            if i == j and inner:
                out[i, j] += lame * trace


@compiled
def add_stress(
    stress: np.ndarray, slopes: np.ndarray, first: int, count: int, sign: float, out: np.ndarray
) -> None:
    """Add ± σ g of places."""
    for a in range(count):
        for i in range(3):
            for j in range(3):
                out[3 * a + i] += sign * stress[i, j] * slopes[first + a, j]


@compiled
def _add_yield(
    elastic: Table, element: int, place: int, slopes: np.ndarray, x: np.ndarray, out: np.ndarray
) -> None:
    """Add (K − K_0) x of an element with the gradients g'."""
    first = elastic.element_first[element]
    count = elastic.element_first[element + 1] - first
    gradient = np.empty((3, 3))
    stress = np.empty((3, 3))
    for k in range(2):
        g = slopes if k == 0 else elastic.place_gradient
        at = 0 if k == 0 else first
        gradient[:, :] = 0.0
        for b in range(count):
            for i in range(3):
                for j in range(3):
                    gradient[i, j] += x[3 * b + i] * g[at + b, j]
        find_stress(elastic, place, gradient, stress)
        add_stress(stress, g, at, count, 1.0 if k == 0 else -1.0, out)


@compiled
def multiply(elastic: Table, element: int, x: np.ndarray, out: np.ndarray) -> None:
    """``out`` = K_0 x of an element."""
    width = 3 * (elastic.element_first[element + 1] - elastic.element_first[element])
    matrix = elastic.matrix[elastic.element_matrix[element] :]
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
def fill_strained(
    elastic: Table,
    position: np.ndarray,
    velocity: np.ndarray,
    element: int,
    step: float,
    r: np.ndarray,
    pad: np.ndarray,
) -> None:
    """Fill rows 4 and 5 of ``pad`` with z, and with z − δt X."""
    first = elastic.element_first[element]
    count = elastic.element_first[element + 1] - first
    z = pad[4]
    strained = pad[5]
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
            strained[3 * a + i] = z[3 * a + i] - step * elastic.place_rest[first + a, i]


@compiled
def subtract_rest(
    elastic: Table, element: int, step: float, stretch: Tensor, out: np.ndarray
) -> None:
    """Subtract δt w, w = (U_p − 1) X, of an element's places."""
    first = elastic.element_first[element]
    a, b, c, d, e, f = stretch
    for k in range(elastic.element_first[element + 1] - first):
        x, y, z = elastic.place_rest[first + k]
        out[3 * k] -= step * ((a - 1.0) * x + d * y + f * z)
        out[3 * k + 1] -= step * (d * x + (b - 1.0) * y + e * z)
        out[3 * k + 2] -= step * (f * x + e * y + (c - 1.0) * z)


@compiled
def _fill_turned(
    elastic: Table, element: int, place: int, slopes: np.ndarray, pad: np.ndarray
) -> None:
    """Fill rows 0 to 2 of ``pad`` with what G changes by as the element turns, before R.

    After `fill_strained`; of what has yielded, with ``place`` ≥ 0, with its gradients g'.
    """
    count = elastic.element_first[element + 1] - elastic.element_first[element]
    h = pad[3]
    z = pad[4]
    turned = pad[5]
    multiply(elastic, element, turned, h)
    if place >= 0:
        _add_yield(elastic, element, place, slopes, turned, h)
    for axis in range(3):
        cross_all(axis, z, count, turned)
        multiply(elastic, element, turned, pad[axis])
        if place >= 0:
            _add_yield(elastic, element, place, slopes, turned, pad[axis])
        cross_all(axis, h, count, turned)
        for i in range(3 * count):
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
    back = np.empty((3, 3))
    slopes = np.empty((soft.work.shape[1] // 3, 3))
    places = np.full(elastic.elements, -1)
    for place in range(elastic.yielding):
        places[elastic.plastic_element[place]] = place
    _add_stiffness(elastic, soft, step, columns)
    for element in range(elastic.elements):
        element_rotation(elastic, soft.position, element, soft.work)
        if not np.any(soft.work[2, :9] != 0.0):
            # Bending of what is flat at rest does not turn.
            continue
        fill_inverse(r, soft.work[2], back)
        fill_strained(elastic, soft.position, work.velocity, element, step, r, pad)
        place = places[element]
        if place >= 0:
            yields, stretch = plastic_stretch(elastic, state.plastic, place)
            subtract_rest(elastic, element, step, stretch, pad[5])
            rest_gradients(elastic, element, stretch, slopes)
            if not yields:
                place = -1
        _fill_turned(elastic, element, place, slopes, pad)
        add_turning(elastic, element, r, back, pad, columns)
