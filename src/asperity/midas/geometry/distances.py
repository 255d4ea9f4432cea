"""Distances between the primitives of triangle meshes.

A *stencil* is a pair of primitives on two bodies: a vertex and a triangle, two edges, or a vertex
and a fixed half-space. Its closest points are y = Σ c_i x_i over its vertices, so that the vector
between them is t = Σ c_i x_i with coefficients c of opposite signs on the two sides (c is 1 and
minus barycentric coordinates for a vertex and a triangle). The derivative of the squared distance
with respect to x_i is exactly 2 c_i t: closest points are stationary.

Round shapes are their cores with a radius: a sphere its centre, a capsule its axis. The distance of
their surfaces is less by their radii, and t is that much shorter. For a vertex to meet a centre or
an axis, these are triangles whose corners coincide.
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled
from asperity.geometry.triangles import nearest_weights
from asperity.midas.geometry.round_heights import find_foot, half_space, round_height
from asperity.midas.geometry.stencil import (
    RIM_PLANE,
    VERTEX_FACE,
    VERTEX_PLANE,
    Stencil,
    plane_number,
)
from asperity.plant.rotations import between

__all__ = ["mollifier", "separation"]

# Relative square of the sine of an angle below which two edges count as parallel, and the closest
# points are put amid the overlap.
_PARALLEL = 1e-14


@compiled
def _vertex_face(x: np.ndarray, stencil: Stencil, c: np.ndarray) -> None:
    """Weights of a vertex less the nearest point of a triangle."""
    _, i0, i1, i2, i3 = stencil
    ux, uy, uz = between(x, i2, x, i1)
    vx, vy, vz = between(x, i3, x, i1)
    wx, wy, wz = between(x, i0, x, i1)
    uu = ux * ux + uy * uy + uz * uz
    if ux == vx and uy == vy and uz == vz:
        # The core of a round shape: its second and third corners are one.
        b = min(max((ux * wx + uy * wy + uz * wz) / uu, 0.0), 1.0) if uu > 0.0 else 0.0
        c[0], c[1], c[2], c[3] = 1.0, b - 1.0, -b, 0.0
        return
    b1, b2 = nearest_weights(
        uu,
        ux * vx + uy * vy + uz * vz,
        vx * vx + vy * vy + vz * vz,
        ux * wx + uy * wy + uz * wz,
        vx * wx + vy * wy + vz * wz,
    )
    c[0], c[1], c[2], c[3] = 1.0, b1 + b2 - 1.0, -b1, -b2


@compiled
def _edge_edge(x: np.ndarray, stencil: Stencil, c: np.ndarray) -> None:
    """Closest points of two segments (Ericson, 5.1.9)."""
    _, i0, i1, i2, i3 = stencil
    ux, uy, uz = between(x, i1, x, i0)
    vx, vy, vz = between(x, i3, x, i2)
    rx, ry, rz = between(x, i0, x, i2)
    uu = ux * ux + uy * uy + uz * uz
    vv = vx * vx + vy * vy + vz * vz
    uv = ux * vx + uy * vy + uz * vz
    ur = ux * rx + uy * ry + uz * rz
    vr = vx * rx + vy * ry + vz * rz
    determinant = uu * vv - uv * uv
    if determinant > _PARALLEL * uu * vv:
        s = min(max((uv * vr - ur * vv) / determinant, 0.0), 1.0)
    else:
        # Amid the stretch of the first edge that faces the second.
        s = 0.5 * (min(max(-ur / uu, 0.0), 1.0) + min(max((uv - ur) / uu, 0.0), 1.0))
    w = (uv * s + vr) / vv
    if w < 0.0:
        w = 0.0
        s = min(max(-ur / uu, 0.0), 1.0)
    elif w > 1.0:
        w = 1.0
        s = min(max((uv - ur) / uu, 0.0), 1.0)
    c[0], c[1], c[2], c[3] = 1.0 - s, s, w - 1.0, -w


@compiled
def separation(
    stencil: Stencil, x: np.ndarray, shapes: Table, radius: float, c: np.ndarray, t: np.ndarray
) -> float:
    """Fill the coefficients of a stencil's closest points and the vector between them.

    Parameters
    ----------
    stencil : Stencil
    x : array, shape (n, 3)
        Positions of vertices [m].
    shapes : Table
        For half-spaces.
    radius : float
        Sum of the radii of the two sides [m]; the activation distance of round shapes against
        half-spaces.
    c, t : arrays, shapes (6,) and (3,)
        Outputs; the last two of c are of half-spaces that move (`find_foot`), and t points from the
        second side to the first, from surface to surface.

    Returns
    -------
    float
        The distance's square [m²], negative where a half-space or a round shape is entered.
    """
    kind, i0, i1, i2, i3 = stencil
    if kind == VERTEX_PLANE:
        planes = shapes.plane
        c[0], c[1], c[2], c[3] = 1.0, 0.0, 0.0, 0.0
        d = (
            planes[i3, 0] * x[i0, 0]
            + planes[i3, 1] * x[i0, 1]
            + planes[i3, 2] * x[i0, 2]
            - planes[i3, 3]
            - radius
        )
        for k in range(3):
            t[k] = d * planes[i3, k]
        return d * abs(d)
    if kind > VERTEX_PLANE:
        number = plane_number(kind, i3)
        faces = shapes.plane_corner
        plane = half_space(x, shapes, number)
        d = round_height(stencil, x, plane, radius, c)
        t[0] = d * plane[0]
        t[1] = d * plane[1]
        t[2] = d * plane[2]
        if faces[number, 0] >= 0:
            last = 0.0 if kind == RIM_PLANE else c[3]
            i = i0 if kind == RIM_PLANE else i3
            c[4], c[5] = find_foot(
                x,
                faces[number, 0],
                faces[number, 1],
                faces[number, 2],
                c[0] * x[i0, 0] + c[1] * x[i1, 0] + c[2] * x[i2, 0] + last * x[i, 0],
                c[0] * x[i0, 1] + c[1] * x[i1, 1] + c[2] * x[i2, 1] + last * x[i, 1],
                c[0] * x[i0, 2] + c[1] * x[i1, 2] + c[2] * x[i2, 2] + last * x[i, 2],
            )
        return d * abs(d)
    if kind == VERTEX_FACE:
        _vertex_face(x, stencil, c)
    else:
        _edge_edge(x, stencil, c)
    square = 0.0
    for k in range(3):
        # Differences first: far from the origin the four terms would cancel.
        t[k] = (
            c[1] * (x[i1, k] - x[i0, k])
            + c[2] * (x[i2, k] - x[i0, k])
            + c[3] * (x[i3, k] - x[i0, k])
        )
        square += t[k] * t[k]
    if radius == 0.0:
        return square
    length = math.sqrt(square)
    d = length - radius
    for k in range(3):
        t[k] *= d / max(length, 1e-300)
    return d * abs(d)


@compiled
def mollifier(stencil: Stencil, x: np.ndarray, threshold: float, slope: np.ndarray) -> float:
    """Fade-out of edge–edge contact as the edges become parallel (IPC, section 5.2 and supplement).

    m = z (2 − z) with z = ‖u × v‖²/ε for z < 1, else 1, where u and v are the edges and ε is
    ``threshold``, 10⁻³ times the product of their squared lengths at rest: the closest points jump
    along parallel edges, and m keeps the energy smooth there.

    Parameters
    ----------
    slope : array, shape (2, 3)
        Output: ∂m/∂u and ∂m/∂v.
    """
    _, i0, i1, i2, i3 = stencil
    uu = 0.0
    vv = 0.0
    uv = 0.0
    for k in range(3):
        u = x[i1, k] - x[i0, k]
        v = x[i3, k] - x[i2, k]
        uu += u * u
        vv += v * v
        uv += u * v
    z = max(uu * vv - uv * uv, 0.0) / threshold
    if z >= 1.0:
        for k in range(3):
            slope[0, k] = 0.0
            slope[1, k] = 0.0
        return 1.0
    factor = 2.0 * (2.0 - 2.0 * z) / threshold
    for k in range(3):
        u = x[i1, k] - x[i0, k]
        v = x[i3, k] - x[i2, k]
        slope[0, k] = factor * (vv * u - uv * v)
        slope[1, k] = factor * (uu * v - uv * u)
    return z * (2.0 - z)
