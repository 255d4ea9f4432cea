"""Cylinders and ellipsoids against half-spaces, as round as they are.

The two rims of a cylinder, or an ellipsoid, are one stencil each, made of vertices of the polyhedra
that these shapes are for all others: points on a rim at 0°, 90° and 180°, or the ends of the axes,
of which the nearest point is a combination Σ c_k x_k (`round_heights`).

The height is a concave function of the vertices' positions. Along straight paths it is therefore
never less than both of its ends, and the time of impact needs no search; that of a half-space that
moves does (`collision_time`).

A rim that lies flat has its nearest point in the middle. Friction, which would not resist its
turning there, is spread over the face.
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled
from asperity.midas.geometry.round_heights import half_space, plane_through, round_height
from asperity.midas.geometry.stencil import (
    RIM_PLANE,
    VERTEX_PLANE,
    Stencil,
    plane_number,
)

__all__ = [
    "FEW",
    "further_stencils",
    "link_of_side",
    "place_on_round",
    "second_link",
    "spread_friction",
]

# Points that friction of a flat face acts in, as a share of its radius: they turn with the moment
# of an even pressure.
_SPREAD = 2.0 / 3.0
FEW = 4
"""Stencils that friction of a flat rim has besides its own."""


@compiled
def link_of_side(engine: Table, i: int, side: int) -> int:
    """Link of a candidate's first or second side, 0 or 1."""
    if side == 0:
        return engine.shapes.vertex_link[engine.candidates.vertex[i, 0]]
    return second_link(engine, i)


@compiled
def second_link(engine: Table, i: int) -> int:
    """Link of a candidate's second side, the number of links for the world's."""
    kind = engine.candidates.kind[i]
    last = engine.candidates.vertex[i, 3]
    if kind < VERTEX_PLANE:
        return engine.shapes.vertex_link[last]
    if kind > VERTEX_PLANE:
        corner = engine.shapes.plane_corner[plane_number(kind, last), 0]
        if corner >= 0:
            return engine.shapes.vertex_link[corner]
    return engine.links.parent.size


@compiled
def _vertex_position(shapes: Table, vertex: int, q: np.ndarray, out: np.ndarray) -> None:
    """Fill where a vertex is with links at ``q``, shape (3,)."""
    link = q[shapes.vertex_link[vertex]]
    for k in range(3):
        out[k] = 0.0
        for j in range(4):
            out[k] += shapes.vertex_rest[vertex, j] * link[j, k]


@compiled
def place_on_round(engine: Table, i: int, q: np.ndarray, weight: np.ndarray) -> float:
    """Fill y of a round candidate for the link at ``q``; returns how much of it is a point.

    That is (a² + b²)/s² of a rim's s: 1 of one that stands, 0 of one that lies flat.
    """
    kind = engine.candidates.kind[i]
    vertex = engine.candidates.vertex[i]
    is_rim = kind == RIM_PLANE
    count = 3 if is_rim else 4
    points = engine.work.corner
    c = engine.work.round_work[0]
    for corner in range(count):
        _vertex_position(engine.shapes, vertex[corner], q, points[corner])
    number = plane_number(kind, vertex[3])
    plane = half_space(engine.vertices.now, engine.shapes, number)
    if engine.shapes.plane_corner[number, 0] >= 0:
        for corner in range(3):
            _vertex_position(
                engine.shapes, engine.shapes.plane_corner[number, corner], q, points[4 + corner]
            )
        plane = plane_through(points, 4, 5, 6)
    activation = engine.pairs.activation[engine.candidates.pair[i]]
    round_height(Stencil(kind, 0, 1, 2, 3), points, plane, activation, c)
    for j in range(4):
        weight[0, j] = 0.0
        for corner in range(count):
            weight[0, j] += c[corner] * engine.shapes.vertex_rest[vertex[corner], j]
    if not is_rim:
        return 1.0
    # α = a/s and β = b/s, by the coefficients
    return min((c[2] - c[0]) ** 2 + c[1] * c[1], 1.0)


@compiled
def further_stencils(pointed: float) -> int:
    """How many stencils friction of a rim has besides its own."""
    return 0 if pointed > 0.99 else FEW


@compiled
def spread_friction(engine: Table, i: int, count: int, pointed: float) -> int:
    """Spread the last friction stencil, of a rim, over its face; returns the new count."""
    friction = engine.friction
    at = count - 1
    if further_stencils(pointed) == 0:
        return count
    vertex = engine.candidates.vertex[i]
    share = math.sqrt(pointed)
    force = friction.force[at]
    rest = engine.shapes.vertex_rest
    for k in range(4):
        middle = 0.5 * (rest[vertex[0], k] + rest[vertex[2], k])
        one = _SPREAD * (rest[vertex[0], k] - middle)
        other = _SPREAD * (rest[vertex[1], k] - middle)
        weight = friction.weight
        weight[count, 0, k] = middle + one
        weight[count + 1, 0, k] = middle - one
        weight[count + 2, 0, k] = middle + other
        weight[count + 3, 0, k] = middle - other
        # The point on the rim, whose share of the force has it act where it did.
        if share > 1e-9:
            weight[at, 0, k] = middle + (weight[at, 0, k] - middle) / share
    friction.force[at] = share * force
    for new in range(count, count + FEW):
        friction.force[new] = (1.0 - share) * force / FEW
        friction.pair[new] = friction.pair[at]
        engine.schedule.friction_part[new] = engine.schedule.friction_part[at]
        for k in range(2):
            friction.link[new, k] = friction.link[at, k]
            friction.dual[new, k] = 0.0
            for m in range(3):
                friction.frame[new, k, m] = friction.frame[at, k, m]
        for k in range(4):
            friction.weight[new, 1, k] = friction.weight[at, 1, k]
    return count + FEW
