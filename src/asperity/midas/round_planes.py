"""Cylinders and ellipsoids against half-spaces, as round as they are.

The nearest point of an ellipse with the centre c and the half axes u, v to a half-space with the
normal n, and its height, are

    c − (a u + b v)/s,   n·c − s,   s = √(a² + b²),   a = n·u,   b = n·v,

and with a third half axis those of an ellipsoid. So the two rims of a cylinder, or an ellipsoid,
are one stencil each, made of vertices of the polyhedra that these shapes are for all others: points
on a rim at 0°, 90° and 180°, or the ends of the axes, of which the nearest point is a combination
Σ c_k x_k. Its coefficients are the derivative of the height.

The height is a concave function of the vertices' positions. Along straight paths it is therefore
never less than both of its ends, and the time of impact needs no search.

A rim that lies flat has no nearest point. There s is √(a² + b² + ε²), never less than the true one,
so that the height is never more: the point moves to the middle, as the pressure under a flat face
does. Friction, which would not resist its turning there, is spread over the face.
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled
from asperity.midas.distances import ELLIPSOID_PLANE, FLATNESS, RIM_PLANE, round_height
from asperity.midas.outer_products import add_outer

__all__ = [
    "FEW",
    "add_bending",
    "add_round_stencils",
    "further_stencils",
    "place_on_round",
    "spread_friction",
]

# Sum of |c_k| at most, which is how much faster than vertices the nearest point may move.
_REACH = 4.0
# Points that friction of a flat face acts in, as a share of its radius: they turn with the moment
# of an even pressure.
_SPREAD = 2.0 / 3.0
FEW = 4
"""Stencils that friction of a flat rim has besides its own."""


@compiled
def add_round_stencils(
    engine: Table, x: np.ndarray, count: int, pair: int, shape: int, plane: int, margin: float
) -> int:
    """Add those of a round shape and a half-space; returns the new count, or −1 if full."""
    for which in range(2):
        anchor = engine.shape_anchor[shape, which]
        if anchor[0] < 0:
            break
        vertex = engine.candidate_vertex[count]
        kind = RIM_PLANE
        for k in range(4):
            vertex[k] = anchor[k]
        if anchor[3] < 0:
            vertex[3] = plane
        else:
            kind = ELLIPSOID_PLANE + plane
        height = round_height(
            kind,
            vertex[0],
            vertex[1],
            vertex[2],
            vertex[3],
            x,
            engine.plane,
            engine.activation,
            engine.candidate_coefficient[count],
        )
        reach = 0.0
        for k in range(4 if kind >= ELLIPSOID_PLANE else 3):
            reach = max(reach, engine.vertex_reach[vertex[k]])
        if height > margin + _REACH * reach:
            continue
        if count >= engine.candidate_kind.size:
            return -1
        normal = engine.plane[plane]
        for k in range(3):
            engine.candidate_arm[count, k] = height * normal[k]
        engine.candidate_square[count] = height * abs(height)
        engine.candidate_anchor[count] = 0.0
        engine.candidate_kind[count] = kind
        engine.candidate_pair[count] = pair
        engine.candidate_threshold[count] = 0.0
        engine.candidate_weight[count] = engine.shape_area[shape]
        count += 1
    return count


@compiled
def place_on_round(engine: Table, i: int, q: np.ndarray, weight: np.ndarray) -> float:
    """Fill y of a round candidate for the link at ``q``; returns how much of it is a point.

    That is (a² + b²)/s² of a rim's s: 1 of one that stands, 0 of one that lies flat.
    """
    kind = engine.candidate_kind[i]
    vertex = engine.candidate_vertex[i]
    is_rim = kind == RIM_PLANE
    link = q[engine.vertex_link[vertex[0]]]
    count = 3 if is_rim else 4
    points = engine.corner
    c = engine.round_work[0]
    for corner in range(count):
        for k in range(3):
            points[corner, k] = 0.0
            for j in range(4):
                points[corner, k] += engine.vertex_rest[vertex[corner], j] * link[j, k]
    last = vertex[3] if is_rim else 3
    round_height(kind, 0, 1, 2, last, points, engine.plane, engine.activation, c)
    for j in range(4):
        weight[0, j] = 0.0
        for corner in range(count):
            weight[0, j] += c[corner] * engine.vertex_rest[vertex[corner], j]
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
    at = count - 1
    if further_stencils(pointed) == 0:
        return count
    vertex = engine.candidate_vertex[i]
    share = math.sqrt(pointed)
    force = engine.friction_force[at]
    rest = engine.vertex_rest
    for k in range(4):
        middle = 0.5 * (rest[vertex[0], k] + rest[vertex[2], k])
        one = _SPREAD * (rest[vertex[0], k] - middle)
        other = _SPREAD * (rest[vertex[1], k] - middle)
        weight = engine.friction_weight
        weight[count, 0, k] = middle + one
        weight[count + 1, 0, k] = middle - one
        weight[count + 2, 0, k] = middle + other
        weight[count + 3, 0, k] = middle - other
        # The point on the rim, whose share of the force has it act where it did.
        if share > 1e-9:
            weight[at, 0, k] = middle + (weight[at, 0, k] - middle) / share
    engine.friction_force[at] = share * force
    for new in range(count, count + FEW):
        engine.friction_force[new] = (1.0 - share) * force / FEW
        engine.friction_pair[new] = engine.friction_pair[at]
        engine.friction_part[new] = engine.friction_part[at]
        for k in range(2):
            engine.friction_link[new, k] = engine.friction_link[at, k]
            engine.friction_dual[new, k] = 0.0
            for m in range(3):
                engine.friction_frame[new, k, m] = engine.friction_frame[at, k, m]
        for k in range(4):
            engine.friction_weight[new, 1, k] = 0.0
    return count + FEW


@compiled
def add_bending(engine: Table, i: int, push: float, normal: np.ndarray, sums: np.ndarray) -> None:
    """Add what the height's second derivative gives: push/s (δ_ij − α_i α_j) (y_i y_jᵀ) ⊗ n nᵀ.

    Positive, since the height is concave and the barrier's slope, −``push``, negative.
    """
    vertex = engine.candidate_vertex[i]
    c = engine.candidate_coefficient[i]
    rest = engine.vertex_rest
    is_rim = engine.candidate_kind[i] == RIM_PLANE
    axes = engine.round_work[:3]
    alpha = engine.round_work[3]
    plane = engine.plane[vertex[3] if is_rim else engine.candidate_kind[i] - ELLIPSOID_PLANE]
    first = vertex[0]
    last = vertex[2] if is_rim else vertex[1]
    count = 2 if is_rim else 3
    for k in range(4):
        middle = 0.5 * (rest[first, k] + rest[last, k])
        axes[0, k] = rest[first, k] - middle
        if is_rim:
            axes[1, k] = rest[vertex[1], k] - middle
        else:
            axes[1, k] = rest[vertex[2], k] - middle
            axes[2, k] = rest[vertex[3], k] - middle
    if is_rim:
        alpha[0] = c[2] - c[0]
        alpha[1] = -c[1]
    else:
        alpha[0] = c[1] - c[0]
        alpha[1] = -c[2]
        alpha[2] = -c[3]
    # s by the heights of the half axes, which the link's present coordinates give.
    square = 0.0
    link = engine.q_now[engine.vertex_link[first]]
    for a in range(count):
        height = 0.0
        for j in range(4):
            for k in range(3):
                height += axes[a, j] * link[j, k] * plane[k]
        square += height * height
    if is_rim:
        square += (FLATNESS * engine.activation) ** 2
    scale = push / math.sqrt(max(square, 1e-300))
    for a in range(count):
        for b in range(count):
            h = scale * ((1.0 if a == b else 0.0) - alpha[a] * alpha[b])
            add_outer(
                sums,
                axes[a],
                axes[b],
                h * normal[0] * normal[0],
                h * normal[0] * normal[1],
                h * normal[0] * normal[2],
                h * normal[1] * normal[1],
                h * normal[1] * normal[2],
                h * normal[2] * normal[2],
            )
