"""Triangles of cloth that turn, and the vibration of cloth under tension.

They have in a step what edges of ropes have (`asperity.soft.strands`), in frames that turn with
them. With the gradient L of velocities, its symmetric part e in the plane, and C = LᵀL − e² there,
the strain changes at the rate e + ½ δt C/(1 + δt² tr C): a triangle that turns moves along chords.
C is that of the step's beginning. With the normal n, the area A and the largest tension T of the
step before [N/m], if it is positive, forces

    −δt T A (g_a · g_b) n nᵀ (ẋ_1 − w)

are added between vertices with gradients g_a, g_b, with the velocities w of
`asperity.soft.vibrations`.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.soft.blocks import own_block
from asperity.soft.corotation import element_rotation
from asperity.soft.plasticity import plastic_stretch

__all__ = [
    "add_triangles",
    "find_gradient",
    "find_taut_triangles",
    "find_triangle_tension",
    "strain_of",
    "strain_rest",
    "turning_strain",
]


@compiled
def find_gradient(
    elastic: Table,
    rotation: np.ndarray,
    vectors: np.ndarray,
    first: int,
    by_dof: bool,
    out: np.ndarray,
) -> None:
    """Gradient of vectors of vertices in a triangle's frame, into two columns of three rows."""
    for k in range(6):
        out[k] = 0.0
    for place in range(first, first + 3):
        p = elastic.place_particle[place]
        at = elastic.particle_dof[p] if by_dof else 3 * p
        if at < 0:
            continue
        for i in range(3):
            value = 0.0
            for k in range(3):
                value += rotation[3 * k + i] * vectors[at + k]
            out[2 * i] += value * elastic.place_gradient[place, 0]
            out[2 * i + 1] += value * elastic.place_gradient[place, 1]


@compiled
def turning_strain(gradient: np.ndarray, step: float) -> tuple[float, float, float]:
    """½ δt C/(1 + δt² tr C) as (xx, xy, yy)."""
    xx = gradient[0]
    yy = gradient[3]
    xy = 0.5 * (gradient[1] + gradient[2])
    c_xx = -xx * xx - xy * xy
    c_yy = -yy * yy - xy * xy
    c_xy = -xy * (xx + yy)
    for i in range(3):
        c_xx += gradient[2 * i] * gradient[2 * i]
        c_xy += gradient[2 * i] * gradient[2 * i + 1]
        c_yy += gradient[2 * i + 1] * gradient[2 * i + 1]
    scale = 0.5 * step / (1.0 + step * step * max(c_xx + c_yy, 0.0))
    return scale * c_xx, scale * c_xy, scale * c_yy


@compiled
def _largest_tension(elastic: Table, triangle: int, strain: tuple[float, float, float]) -> float:
    """Of λ tr ε + 2 μ ε [N/m]."""
    xx, xy, yy = strain
    shear = elastic.triangle_moduli[triangle, 1]
    mean = (elastic.triangle_moduli[triangle, 0] + shear) * (xx + yy)
    return mean + 2.0 * shear * np.sqrt(0.25 * (xx - yy) ** 2 + xy * xy)


@compiled
def strain_of(
    elastic: Table, state: Table, triangle: int, work: np.ndarray
) -> tuple[float, float, float]:
    """Of the state, in the frame that ``work[1]`` has, without what has yielded."""
    first = elastic.element_first[elastic.triangle_element[triangle]]
    find_gradient(elastic, work[1], state.soft.position.reshape(-1), first, False, work[0])
    xx, xy, yy = work[0, 0] - 1.0, 0.5 * (work[0, 1] + work[0, 2]), work[0, 3] - 1.0
    place = elastic.triangle_yielding[triangle]
    if place >= 0:
        _, stretch = plastic_stretch(elastic, state.plastic, place)
        xx -= stretch[0] - 1.0
        yy -= stretch[1] - 1.0
        xy -= stretch[3]
    return xx, xy, yy


@compiled
def strain_rest(
    elastic: Table, first: int, strain: tuple[float, float, float], out: np.ndarray
) -> None:
    """``out`` = t X of a triangle's places at rest, with a symmetric t in its plane."""
    xx, xy, yy = strain
    for a in range(3):
        x = elastic.place_rest[first + a, 0]
        y = elastic.place_rest[first + a, 1]
        out[3 * a] = xx * x + xy * y
        out[3 * a + 1] = xy * x + yy * y
        out[3 * a + 2] = 0.0


@compiled
def _add_chords(elastic: Table, smooth: Table, element: int, step: float, work: np.ndarray) -> None:
    """Add to the right side what turning changes of the strain; ``work[0]`` has L."""
    first = elastic.element_first[element]
    at = elastic.element_matrix[element]
    change = work[2]
    strain_rest(elastic, first, turning_strain(work[0], step), change)
    for a in range(3):
        p = elastic.place_particle[first + a]
        dof = elastic.particle_dof[p]
        if dof < 0:
            continue
        factor = step * (step + elastic.particle_damping[p])
        for i in range(3):
            value = 0.0
            for j in range(9):
                value += elastic.matrix[at + 9 * (3 * a + i) + j] * change[j]
            for k in range(3):
                smooth.rhs[dof + k] -= factor * work[1, 3 * k + i] * value


@compiled
def _add_tension(
    elastic: Table,
    soft: Table,
    element: int,
    across: float,
    normal: np.ndarray,
    graph: Table,
    smooth: Table,
) -> None:
    first = elastic.element_first[element]
    pair = elastic.element_pair[element]
    g = elastic.place_gradient
    for a in range(3):
        p = elastic.place_particle[first + a]
        dof = elastic.particle_dof[p]
        at, row = own_block(elastic, graph, p) if dof >= 0 else (0, 0)
        for b in range(3):
            w = soft.steady[elastic.place_particle[first + b]]
            value = across * (g[first + a, 0] * g[first + b, 0] + g[first + a, 1] * g[first + b, 1])
            if dof >= 0:
                speed = normal[0] * w[0] + normal[1] * w[1] + normal[2] * w[2]
                for k in range(3):
                    smooth.rhs[dof + k] += value * speed * normal[k]
            if b > a:
                continue
            code = elastic.pair_bond[pair]
            pair += 1
            for i in range(3):
                for j in range(3):
                    part = value * normal[i] * normal[j]
                    if a == b and dof >= 0:
                        smooth.matrix[at + row * i + j] += part
                    elif a != b and code >= 0:
                        smooth.bond[code >> 1, 3 * i + j] += part


@compiled
def find_taut_triangles(elastic: Table, state: Table) -> None:
    """Fill normals and max(T, 0) A in ``state.soft.taut``, behind what strands have.

    Where the state's ``tension`` is not finite, that of its strain is taken.
    """
    work = state.soft.work
    for triangle in range(elastic.triangles):
        element = elastic.triangle_element[triangle]
        element_rotation(elastic, state.soft.position, element, work)
        tension = state.tension[elastic.strands + triangle]
        if not abs(tension) < np.inf:
            strain = strain_of(elastic, state, triangle, work)
            tension = _largest_tension(elastic, triangle, strain)
        taut = state.soft.taut[elastic.strands + triangle]
        for i in range(3):
            taut[i] = work[1, 3 * i + 2]
        taut[3] = max(tension, 0.0) * elastic.triangle_area[triangle]


@compiled
def add_triangles(elastic: Table, state: Table, step: float, graph: Table, smooth: Table) -> None:
    """Add what turning and tension have in a step's matrix and right side.

    Parameters are those of `asperity.soft.strands.add_strand_stiffness`.
    """
    work = state.soft.work
    for triangle in range(elastic.triangles):
        element = elastic.triangle_element[triangle]
        element_rotation(elastic, state.soft.position, element, work)
        first = elastic.element_first[element]
        find_gradient(elastic, work[1], state.qvel, first, True, work[0])
        _add_chords(elastic, smooth, element, step, work)
        taut = state.soft.taut[elastic.strands + triangle]
        if taut[3] > 0.0:
            _add_tension(elastic, state.soft, element, step * step * taut[3], taut, graph, smooth)


@compiled
def find_triangle_tension(
    elastic: Table, source: Table, after: np.ndarray, step: float, tension: np.ndarray
) -> None:
    """Fill the largest tensions of triangles [N/m] that a step has found, behind those of strands.

    Parameters
    ----------
    elastic, source : Table
        The state of the step's beginning.
    after : array, shape (nv,)
        Generalized velocities at its end.
    step : float
        [s]
    tension : array, shape (strands + triangles,)
    """
    work = source.soft.work
    for triangle in range(elastic.triangles):
        element = elastic.triangle_element[triangle]
        first = elastic.element_first[element]
        element_rotation(elastic, source.soft.position, element, work)
        xx, xy, yy = strain_of(elastic, source, triangle, work)
        find_gradient(elastic, work[1], source.qvel, first, True, work[0])
        t_xx, t_xy, t_yy = turning_strain(work[0], step)
        find_gradient(elastic, work[1], after, first, True, work[0])
        reach = step + elastic.particle_damping[elastic.place_particle[first]]
        strain = (
            xx + reach * (work[0, 0] + t_xx),
            xy + reach * (0.5 * (work[0, 1] + work[0, 2]) + t_xy),
            yy + reach * (work[0, 3] + t_yy),
        )
        tension[elastic.strands + triangle] = _largest_tension(elastic, triangle, strain)
