"""Heights of round shapes over half-spaces that may move.

The nearest point of an ellipse with the centre c and the half axes u, v to a half-space with the
normal n, and its height, are

    c − (a u + b v)/s,   n·c − s,   s = √(a² + b²),   a = n·u,   b = n·v,

and with a third half axis those of an ellipsoid. So a rim of a cylinder, or an ellipsoid, is made
of vertices, points on a rim at 0°, 90° and 180°, or the ends of the axes, of which the nearest
point is a combination Σ c_k x_k. Its coefficients are the derivative of the height.

A half-space below a face of a body that moves is told by three of that body's vertices. The foot
of the nearest point is f₀ + α (f₁ − f₀) + β (f₂ − f₀) in its plane; whatever the plane does, the
height changes as the distance of the two points does along the normal.
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled
from asperity.midas.geometry.stencil import RIM_PLANE, Stencil
from asperity.plant.rotations import between

__all__ = ["FLATNESS", "find_foot", "half_space", "plane_through", "round_height"]

FLATNESS = 0.05
"""Height of a rim's point over its middle below which it counts as flat, in activation distances.
"""


@compiled
def plane_through(x: np.ndarray, f0: int, f1: int, f2: int) -> tuple[float, float, float, float]:
    """Normal and offset n·x [m] of the plane of three points, anticlockwise seen from outside."""
    ux, uy, uz = between(x, f1, x, f0)
    vx, vy, vz = between(x, f2, x, f0)
    nx = uy * vz - uz * vy
    ny = uz * vx - ux * vz
    nz = ux * vy - uy * vx
    size = math.sqrt(nx * nx + ny * ny + nz * nz)
    nx /= size
    ny /= size
    nz /= size
    return nx, ny, nz, nx * x[f0, 0] + ny * x[f0, 1] + nz * x[f0, 2]


@compiled
def half_space(x: np.ndarray, shapes: Table, number: int) -> tuple[float, float, float, float]:
    """Outward normal and offset n·x [m] of a half-space, with vertices at ``x``."""
    planes = shapes.plane
    faces = shapes.plane_corner
    if faces[number, 0] >= 0:
        return plane_through(x, faces[number, 0], faces[number, 1], faces[number, 2])
    return planes[number, 0], planes[number, 1], planes[number, 2], planes[number, 3]


@compiled
def round_height(
    stencil: Stencil,
    x: np.ndarray,
    plane: tuple[float, float, float, float],
    activation: float,
    c: np.ndarray,
) -> float:
    """Fill the coefficients of the lowest point of a round shape, and return its height [m].

    A rim that lies flat has no lowest point. There s is √(a² + b² + ε²), never less than the true
    one, so that the height is never more: the point moves to the middle, as the pressure under a
    flat face does.
    """
    kind, i0, i1, i2, i3 = stencil
    is_rim = kind == RIM_PLANE
    n0, n1, n2, offset = plane
    last = i2 if is_rim else i1
    h0 = n0 * x[i0, 0] + n1 * x[i0, 1] + n2 * x[i0, 2]
    hl = n0 * x[last, 0] + n1 * x[last, 1] + n2 * x[last, 2]
    middle = 0.5 * (h0 + hl)
    a = 0.5 * (h0 - hl)
    if is_rim:
        b = n0 * x[i1, 0] + n1 * x[i1, 1] + n2 * x[i1, 2] - middle
        flat = FLATNESS * activation
        s = math.sqrt(a * a + b * b + flat * flat)
        c[0] = 0.5 * (1.0 + b / s) - 0.5 * a / s
        c[1] = -b / s
        c[2] = 0.5 * (1.0 + b / s) + 0.5 * a / s
        c[3] = 0.0
        return middle - offset - s
    b = n0 * x[i2, 0] + n1 * x[i2, 1] + n2 * x[i2, 2] - middle
    d = n0 * x[i3, 0] + n1 * x[i3, 1] + n2 * x[i3, 2] - middle
    s = math.sqrt(max(a * a + b * b + d * d, 1e-300))
    rest = 0.5 * (1.0 + (b + d) / s)
    c[0] = rest - 0.5 * a / s
    c[1] = rest + 0.5 * a / s
    c[2] = -b / s
    c[3] = -d / s
    return middle - offset - s


@compiled
def find_foot(
    x: np.ndarray, f0: int, f1: int, f2: int, px: float, py: float, pz: float
) -> tuple[float, float]:
    """α and β of the point of a face's plane that is nearest to a point p."""
    uu = 0.0
    uv = 0.0
    vv = 0.0
    up = 0.0
    vp = 0.0
    for k in range(3):
        u = x[f1, k] - x[f0, k]
        v = x[f2, k] - x[f0, k]
        p = (px if k == 0 else (py if k == 1 else pz)) - x[f0, k]
        uu += u * u
        uv += u * v
        vv += v * v
        up += u * p
        vp += v * p
    determinant = uu * vv - uv * uv
    return (vv * up - uv * vp) / determinant, (uu * vp - uv * up) / determinant
