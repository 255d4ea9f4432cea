"""Continuous collision detection by conservative advancement.

The vertices of an affine body whose coordinates move along a straight line move along straight
lines too, so the time of impact of two primitives is that of linear paths. Additive CCD (Li et al.
2021, section 6) needs nothing but distances: in a relative motion of length ℓ per unit of
time the distance cannot fall by more than ℓ Δt in a time Δt. It never misses a collision, whatever
the round-off of root finders, and parallel edges are no special case.
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled
from asperity.midas.geometry.distances import separation
from asperity.midas.geometry.round_heights import half_space, round_height
from asperity.midas.geometry.round_impact import time_to_face
from asperity.midas.geometry.stencil import (
    RIM_PLANE,
    VERTEX_FACE,
    VERTEX_PLANE,
    Stencil,
    plane_number,
)

__all__ = ["KEPT", "collision_free_time"]

KEPT = 0.1
"""Share of the present distance that must be left at the end of a step and all along it."""

_MOST_ADVANCES = 10000
_MOST_CHORDS = 60


@compiled
def _relative_speed(stencil: Stencil, p: np.ndarray, mean: np.ndarray) -> float:
    """Bound of how fast two points of the two sides approach, with the mean motion taken off."""
    kind, i0, i1, i2, i3 = stencil
    for k in range(3):
        mean[k] = 0.25 * (p[i0, k] + p[i1, k] + p[i2, k] + p[i3, k])
    n0 = 0.0
    n1 = 0.0
    n2 = 0.0
    n3 = 0.0
    for k in range(3):
        n0 += (p[i0, k] - mean[k]) ** 2
        n1 += (p[i1, k] - mean[k]) ** 2
        n2 += (p[i2, k] - mean[k]) ** 2
        n3 += (p[i3, k] - mean[k]) ** 2
    if kind == VERTEX_FACE:
        return math.sqrt(n0) + math.sqrt(max(n1, n2, n3))
    return math.sqrt(max(n0, n1)) + math.sqrt(max(n2, n3))


@compiled
def _round_time(
    stencil: Stencil,
    x: np.ndarray,
    p: np.ndarray,
    plane: tuple[float, float, float, float],
    activation: float,
    spare: float,
    kept: float,
    longest: float,
    work: Table,
) -> float:
    """Time of impact of a round shape and a half-space at rest, by chords of its concave height.

    ``spare`` is the height now, less what must be kept. A chord lies below a concave function, so
    that the time of the chord's end is never too late.
    """
    kind, i0, i1, i2, i3 = stencil
    c = work.side_weight[0]
    corner = work.corner
    at_corners = Stencil(kind, 0, 1, 2, 3)
    early = 0.0
    late = longest
    here = spare
    there = 0.0
    for step in range(_MOST_CHORDS):
        time = late if step == 0 else 0.5 * (early + late)
        if step % 2 == 0 and step > 0:
            time = early + here / (here - there) * (late - early)
        for k in range(3):
            corner[0, k] = x[i0, k] + time * p[i0, k]
            corner[1, k] = x[i1, k] + time * p[i1, k]
            corner[2, k] = x[i2, k] + time * p[i2, k]
            if kind != RIM_PLANE:
                corner[3, k] = x[i3, k] + time * p[i3, k]
        value = round_height(at_corners, corner, plane, activation, c) - kept
        if value >= 0.0:
            early = time
            here = value
        else:
            late = time
            there = value
        if step == 0 and value >= 0.0:
            return longest
        if here <= 0.01 * kept:
            break
    return early


@compiled
def collision_free_time(
    stencil: Stencil,
    x: np.ndarray,
    p: np.ndarray,
    shapes: Table,
    radius: float,
    square: float,
    longest: float,
    work: Table,
) -> float:
    """Largest time τ ≤ ``longest`` up to which x + τ p keeps a tenth of the distance.

    Parameters
    ----------
    stencil : Stencil
    x, p : arrays, shape (n, 3)
        Positions and displacements of vertices [m].
    shapes : Table
        For half-spaces.
    radius : float
        Sum of the radii of the two sides [m].
    square : float
        The squared distance at x [m²].
    work : Table
        Space to work in.
    """
    kind, i0, i1, i2, i3 = stencil
    c = work.side_weight[0]
    t = work.slip
    corner = work.corner
    distance = math.sqrt(square)
    kept = KEPT * distance
    if kind == VERTEX_PLANE:
        n = shapes.plane[i3]
        approach = -(n[0] * p[i0, 0] + n[1] * p[i0, 1] + n[2] * p[i0, 2])
        if approach * longest <= distance - kept:
            return longest
        return (distance - kept) / approach
    if kind > VERTEX_PLANE:
        number = plane_number(kind, i3)
        face = shapes.plane_corner[number]
        if face[0] >= 0:
            return time_to_face(stencil, face, x, p, radius, distance, kept, longest, c, corner)
        plane = half_space(x, shapes, number)
        spare = distance - kept
        return _round_time(stencil, x, p, plane, radius, spare, kept, longest, work)
    speed = _relative_speed(stencil, p, t)
    if speed * longest <= distance - kept:
        return longest
    m0 = t[0]
    m1 = t[1]
    m2 = t[2]
    time = 0.0
    for _ in range(_MOST_ADVANCES):
        advance = (distance - kept) / speed
        if time + advance >= longest:
            return longest
        time += advance
        for k in range(3):
            m = m0 if k == 0 else (m1 if k == 1 else m2)
            corner[0, k] = x[i0, k] + time * (p[i0, k] - m)
            corner[1, k] = x[i1, k] + time * (p[i1, k] - m)
            corner[2, k] = x[i2, k] + time * (p[i2, k] - m)
            corner[3, k] = x[i3, k] + time * (p[i3, k] - m)
        distance = math.sqrt(
            max(separation(Stencil(kind, 0, 1, 2, 3), corner, shapes, radius, c, t), 0.0)
        )
        # The last stretch, a hundredth of what must be kept, is not worth the iterations.
        if distance <= 1.01 * kept:
            # Only round-off can have brought it much closer.
            return time if distance > 0.99 * kept else time - advance
    return time
