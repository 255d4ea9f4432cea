"""Barrier contact of the candidates: energy, gradients, Hessian blocks.

A stencil with closest-point coefficients c acts on its two links through y = Σ c_i [1, x̄_i] of each
side, because the vector between the closest points is Σ y Q. The gradient of the distance D with
respect to Q is y ⊗ n, so that the barrier's is b′ y ⊗ n. Its Hessian is taken as
b″ (y ⊗ n)(y ⊗ n)ᵀ, of rank one and positive: as many Newton iterations as with the projected full
Hessian, which has twelve times the terms.
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled, entry_point
from asperity.midas.energy.potentials import barrier, barrier_model
from asperity.midas.energy.tilting_cores import add_tilt
from asperity.midas.factor.outer_products import add_outer, fill_square
from asperity.midas.geometry.distances import mollifier
from asperity.midas.geometry.round_bending import add_bending
from asperity.midas.geometry.round_planes import second_link
from asperity.midas.geometry.stencil import (
    EDGE_EDGE,
    ELLIPSOID_PLANE,
    VERTEX_PLANE,
    candidate_stencil,
    plane_number,
)
from asperity.midas.parts import PART, RUNS, count_parts, do_parts, sum_of_parts

__all__ = [
    "CONTACT_KERNELS",
    "add_contact_terms",
    "add_round_arms",
    "contact_energy",
    "contact_sides",
]


@entry_point(PART)
def contact_energy_part(engine: Table, part: int, _member: int, _unused: int) -> int:
    """Sum barriers of some runs, without their common factor."""
    candidates = engine.candidates
    x = engine.vertices.trial if engine.newton.at_trial == 1 else engine.vertices.now
    total = 0.0
    for run in range(part * RUNS, min((part + 1) * RUNS, engine.runs.count)):
        activation = engine.runs.activation[run]
        if engine.runs.trial[run] >= activation:
            continue
        limit = activation * activation
        for i in range(engine.runs.begin[run], engine.runs.begin[run + 1]):
            if candidates.square[i] >= limit:
                continue
            value = candidates.weight[i] * barrier(candidates.square[i], activation)
            if candidates.kind[i] == EDGE_EDGE:
                stencil = candidate_stencil(candidates, i)
                slope = engine.work.mollifier_slope
                value *= mollifier(stencil, x, candidates.threshold[i], slope)
            total += value
    engine.parts.value[part] = total
    return 0


@compiled
def contact_energy(engine: Table) -> float:
    """Energy [J s²] of candidates, measured where energies are; infinite where surfaces touch."""
    parts = count_parts(engine.runs.count, RUNS)
    do_parts(engine, engine.entries.contact_energy_part, parts)
    return (
        sum_of_parts(engine, parts)
        * engine.options.barrier_stiffness
        * engine.time.step
        * engine.time.step
    )


@compiled
def contact_sides(shapes: Table, candidates: Table, i: int, weight: np.ndarray) -> None:
    """Fill y of both sides of a candidate, shape (2, 4)."""
    kind = candidates.kind[i]
    vertex = candidates.vertex[i]
    coefficient = candidates.coefficient[i]
    first = 2 if kind == EDGE_EDGE else 1
    for side in range(2):
        for j in range(4):
            weight[side, j] = 0.0
    if kind == VERTEX_PLANE:
        for j in range(4):
            weight[0, j] = shapes.vertex_rest[vertex[0], j]
        return
    if kind > VERTEX_PLANE:
        for k in range(4 if kind >= ELLIPSOID_PLANE else 3):
            for j in range(4):
                weight[0, j] += coefficient[k] * shapes.vertex_rest[vertex[k], j]
        corner = shapes.plane_corner[plane_number(kind, vertex[3])]
        if corner[0] >= 0:
            one = coefficient[4]
            other = coefficient[5]
            for j in range(4):
                weight[1, j] = (
                    (one + other - 1.0) * shapes.vertex_rest[corner[0], j]
                    - one * shapes.vertex_rest[corner[1], j]
                    - other * shapes.vertex_rest[corner[2], j]
                )
        return
    for k in range(4):
        side = 0 if k < first else 1
        for j in range(4):
            weight[side, j] += coefficient[k] * shapes.vertex_rest[vertex[k], j]


@compiled
def add_round_arms(
    shapes: Table, candidates: Table, i: int, q: np.ndarray, weight: np.ndarray
) -> None:
    """Move y of both sides from cores to the points of round surfaces that touch, at ``q``."""
    vertex = candidates.vertex[i]
    arm = candidates.arm[i]
    length = math.sqrt(arm[0] * arm[0] + arm[1] * arm[1] + arm[2] * arm[2])
    if length == 0.0:
        return
    for side in range(2):
        if side == 1 and candidates.kind[i] >= VERTEX_PLANE:
            continue
        v = vertex[0] if side == 0 else vertex[3]
        radius = shapes.vertex_radius[v]
        if radius == 0.0:
            continue
        link = shapes.vertex_link[v]
        share = -radius / length
        for j in range(1, 4):
            for k in range(3):
                weight[side, j] += share * arm[k] * q[link, j, k]


@compiled
def _add_mollified(
    engine: Table, i: int, x: np.ndarray, value: float, gradient: np.ndarray
) -> float:
    """Add the part of the gradient that the mollifier's change gives; returns the mollifier."""
    vertex = engine.candidates.vertex[i]
    threshold = engine.candidates.threshold[i]
    stencil = candidate_stencil(engine.candidates, i)
    factor = mollifier(stencil, x, threshold, engine.work.mollifier_slope)
    if factor < 1.0:
        for corner in range(4):
            link = engine.shapes.vertex_link[vertex[corner]]
            if link < gradient.shape[0]:
                sign = -value if corner % 2 == 0 else value
                for j in range(4):
                    for k in range(3):
                        gradient[link, j, k] += (
                            sign
                            * engine.work.mollifier_slope[corner // 2, k]
                            * engine.shapes.vertex_rest[vertex[corner], j]
                        )
    return factor


@compiled
def _add_contact(engine: Table, i: int, x: np.ndarray) -> None:
    """Add the gradient and Hessian blocks of a candidate; as `add_contact_terms`."""
    candidates = engine.candidates
    square = candidates.square
    gradient = engine.newton.link_gradient
    y = engine.work.side_weight
    activation = engine.pairs.activation[candidates.pair[i]]
    links = gradient.shape[0]
    anchor = candidates.anchor[i]
    if square[i] >= activation * activation and anchor == 0.0 and candidates.final[i] == 1.0:
        return
    s = (
        engine.options.barrier_stiffness
        * engine.time.step
        * engine.time.step
        * candidates.weight[i]
    )
    if candidates.kind[i] == EDGE_EDGE:
        s *= _add_mollified(engine, i, x, s * barrier(square[i], activation), gradient)
    distance = math.sqrt(square[i])
    slope, curvature = barrier_model(square[i], activation, anchor, candidates.final[i])
    slope *= s
    normal = engine.work.normal
    for k in range(3):
        normal[k] = candidates.arm[i, k] / distance
    contact_sides(engine.shapes, candidates, i, y)
    whole = engine.newton.only_slopes == 0
    h = engine.work.upper
    fill_square(s * curvature, normal, h)
    a = engine.shapes.vertex_link[candidates.vertex[i, 0]]
    b = second_link(engine, i)
    for side in range(2):
        link = a if side == 0 else b
        if link >= links:
            continue
        for j in range(4):
            for k in range(3):
                gradient[link, j, k] += slope * y[side, j] * normal[k]
        if whole:
            add_outer(engine.hessian.link_sums[link], y[side], y[side], h)
    if whole and a < links and b < links:
        target = engine.hessian.slot_sums[
            engine.hessian.block_slot[engine.pairs.block[candidates.pair[i]]]
        ]
        one = 0 if a < b else 1
        add_outer(target, y[one], y[1 - one], h)
    # The tangent of a barrier far from its anchor would pull.
    if not whole or slope >= 0.0 or candidates.kind[i] == VERTEX_PLANE:
        return
    if candidates.kind[i] > VERTEX_PLANE:
        add_bending(engine, i, -slope, normal)
        return
    radius = engine.shapes.vertex_radius[candidates.vertex[i, 0]]
    radius += engine.shapes.vertex_radius[candidates.vertex[i, 3]]
    if radius > 0.0:
        add_tilt(engine, i, x, -slope * (distance + radius), normal)


@compiled
def add_contact_terms(engine: Table, part: int, x: np.ndarray) -> None:
    """Add gradients and Hessian blocks of candidates measured at ``x``, of a part of the schedule.

    Those with an anchor have the tangent of their barrier there
    (`asperity.midas.newton.anticipation`), others a secant
    (`asperity.midas.energy.expected_forces`).
    """
    for at in range(engine.schedule.run_schedule[part], engine.schedule.run_schedule[part + 1]):
        run = engine.schedule.run_order[at]
        if (
            engine.runs.least[run] < engine.runs.activation[run]
            or engine.runs.anchored[run] == 1
            or engine.runs.expects[run] == 1
        ):
            for i in range(engine.runs.begin[run], engine.runs.begin[run + 1]):
                _add_contact(engine, i, x)


CONTACT_KERNELS = (contact_energy_part,)
