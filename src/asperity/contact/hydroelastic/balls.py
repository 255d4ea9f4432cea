"""Patches of balls with balls, half-spaces and flat sides, without a mesh.

All is symmetric about the line of centres, or the normal through the ball's centre. The surface is
given by its height z(ρ) along that axis over the distance ρ from it, out to the rim where pressure
ends. Two rings of six points are Gauss quadrature in ρ²: the force of a ball on a plane is exact to
6e-8 at a depth of 2 % of the radius, and to 1e-3 at 40 % (docs/equations.md, ‘Pressure fields’).

With z counted from the first ball's centre towards the second geom, pressures are
p_a = E_a (1 − √(ρ² + z²)/a), and of the second geom p_b = E_b (1 − √(ρ² + (d − z)²)/b) of a ball or
p_b = E_b (z − h)/ℓ of a half-space whose surface is at z = h.

Behind a side of a box or an end of a cylinder the field is that of a half-space, as far from edges
as deep. Where a patch comes near an edge, its points fade, and those of the meshes come in.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.contact.hydroelastic.field_layout import (
    COMPLIANT_HALF_SPACE,
    RIGID_HALF_SPACE,
    RIGID_MESH,
)
from asperity.contact.hydroelastic.points import FLAT, POINTS_FULL, write_point
from asperity.contact.hydroelastic.polygons import tangents

__all__ = ["NEEDS_MESH", "are_balls", "ball_on_side", "ball_points"]

NEEDS_MESH = -2

# Nodes and weights of Gauss quadrature over (0, 1)
_NODES = (0.21132486540518713, 0.7886751345948129)
_POINTS = 6
_ITERATIONS = 40
# Of a ball's radius: the distance from an edge within which points fade.
_FADES = 0.1


@compiled
def are_balls(fields: Table, first: int, second: int) -> bool:
    """Whether two geoms are balls, or the first is one and the second a half-space."""
    kind = fields.geom_kind[second]
    half_space = kind in (COMPLIANT_HALF_SPACE, RIGID_HALF_SPACE)
    return fields.geom_ball[first] > 0.0 and (half_space or fields.geom_ball[second] > 0.0)


@compiled
def _difference(
    z: float,
    square: float,
    steep_a: float,
    steep_b: float,
    a: float,
    b: float,
    d: float,
    slab: bool,
) -> float:
    """p_a − p_b at a height z, with ρ² = ``square``; ``b`` is the ball's radius or the slab's h."""
    pressure = steep_a * (a - np.sqrt(square + z * z))
    if slab:
        return pressure - steep_b * (z - b)
    return pressure - steep_b * (b - np.sqrt(square + (d - z) * (d - z)))


@compiled
def _height(
    square: float,
    steep_a: float,
    steep_b: float,
    a: float,
    b: float,
    d: float,
    slab: bool,
    low: float,
    high: float,
) -> float:
    """Where the pressures are equal between two heights, by the method of Illinois."""
    f_low = _difference(low, square, steep_a, steep_b, a, b, d, slab)
    f_high = _difference(high, square, steep_a, steep_b, a, b, d, slab)
    z = low
    for _ in range(_ITERATIONS):
        if f_low == f_high:
            break
        z = (low * f_high - high * f_low) / (f_high - f_low)
        f = _difference(z, square, steep_a, steep_b, a, b, d, slab)
        if f == 0.0 or abs(high - low) < 1e-15 * a:
            break
        if (f > 0.0) == (f_low > 0.0):
            low = z
            f_low = f
            f_high *= 0.5
        else:
            high = z
            f_high = f
            f_low *= 0.5
    return z


@compiled
def _rings(
    fields: Table,
    work: Table,
    first: int,
    second: int,
    axis: tuple[float, float, float],
    rim: float,
    d: float,
    b: float,
    depth: float,
    slab: bool,
) -> int:
    """Write the points of a ball on a ball, or on a half-space; ``POINTS_FULL`` without room.

    Parameters
    ----------
    fields, work : Table
    first, second : int
        The ball and the other geom.
    axis : tuple of float
        From the ball's centre to the other one, or towards the half-space.
    rim : float
        Square of the rim's radius [m²].
    d : float
        Distance along the axis to the other centre, or to the surface [m].
    b : float
        Radius of the other ball, or the same distance [m].
    depth : float
        Over which the other geom's extent grows to 1 [m].
    slab : bool
        Whether the other one is a half-space.
    """
    if work.point_count + 2 * _POINTS > work.point.shape[0]:
        return POINTS_FULL
    nx, ny, nz = axis
    a = fields.geom_ball[first]
    hard_a = fields.geom_kind[first] == RIGID_MESH
    hard_b = fields.geom_kind[second] in (RIGID_MESH, RIGID_HALF_SPACE)
    steep_a = fields.geom_modulus[first] / a
    steep_b = fields.geom_modulus[second] / depth
    # Axes across
    (ux, uy, uz), (vx, vy, vz) = tangents(nx, ny, nz)
    for ring in range(2):
        square = _NODES[ring] * rim
        rho = np.sqrt(square)
        # Heights of both surfaces here, between which the pressures are equal
        on_a = np.sqrt(a * a - square)
        on_b = b if slab else d - np.sqrt(b * b - square)
        if hard_b:
            z = on_b
        elif hard_a:
            z = on_a
        else:
            z = _height(square, steep_a, steep_b, a, b, d, slab, on_b, on_a)
        # Gradients of the pressures: along the axis, and away from it
        r = np.sqrt(square + z * z)
        along_a = -steep_a * z / r
        across_a = -steep_a * rho / r
        if slab:
            along_b = steep_b
            across_b = 0.0
        else:
            r = np.sqrt(square + (d - z) * (d - z))
            along_b = steep_b * (d - z) / r
            across_b = -steep_b * rho / r
        if hard_a:
            along, across = z / a, rho / a
            slope = along * along_b + across * across_b
            least = FLAT * steep_b
            pressure = steep_b * (z - b if slab else b - r)
        elif hard_b:
            along = 1.0 if slab else (d - z) / b
            across = 0.0 if slab else -rho / b
            slope = -(along * along_a + across * across_a)
            least = FLAT * steep_a
            pressure = steep_a * (a - np.sqrt(square + z * z))
        else:
            along = along_b - along_a
            across = across_b - across_a
            norm = np.sqrt(along * along + across * across)
            along /= norm
            across /= norm
            slope_a = -(along * along_a + across * across_a)
            slope_b = along * along_b + across * across_b
            slope = slope_a * slope_b / (slope_a + slope_b)
            least = FLAT * min(steep_a, steep_b)
            pressure = steep_a * (a - np.sqrt(square + z * z))
        area = np.pi * rim / (2.0 * _POINTS * along)
        for k in range(_POINTS):
            # The outer ring stands in the gaps of the inner one.
            angle = np.pi / 3.0 * (k + 0.5 * ring)
            c = np.cos(angle)
            s = np.sin(angle)
            wx = c * ux + s * vx
            wy = c * uy + s * vy
            wz = c * uz + s * vz
            write_point(
                work,
                z * nx + rho * wx,
                z * ny + rho * wy,
                z * nz + rho * wz,
                along * nx + across * wx,
                along * ny + across * wy,
                along * nz + across * wz,
                area,
                max(pressure, 0.0),
                max(slope, least),
            )
    return 0


@compiled
def ball_points(fields: Table, work: Table, first: int, second: int) -> int:
    """Add the points of two geoms that `are_balls`; `NEEDS_MESH` where one is inside the other.

    ``work`` has the pose of the second geom in the frame of the first, in which the points are. The
    second geom is a compliant one, or the first is.
    """
    t = work.translation
    rotation = work.rotation
    a = fields.geom_ball[first]
    kind = fields.geom_kind[second]
    slab = kind in (COMPLIANT_HALF_SPACE, RIGID_HALF_SPACE)
    if slab:
        # Towards the half-space
        nx = -rotation[0, 2]
        ny = -rotation[1, 2]
        nz = -rotation[2, 2]
        d = nx * t[0] + ny * t[1] + nz * t[2]
        b = d
        rim = a * a - d * d
        if d <= 0.0:
            return NEEDS_MESH
    else:
        d = np.sqrt(t[0] * t[0] + t[1] * t[1] + t[2] * t[2])
        b = fields.geom_ball[second]
        if d >= a + b:
            return 0
        if d <= max(a, b):
            return NEEDS_MESH
        nx = t[0] / d
        ny = t[1] / d
        nz = t[2] / d
        edge = 0.5 * (d * d + a * a - b * b) / d
        rim = a * a - edge * edge
    if rim <= 0.0:
        return 0
    depth = fields.geom_depth[second] if slab else b
    return _rings(fields, work, first, second, (nx, ny, nz), rim, d, b, depth, slab)


@compiled
def ball_on_side(fields: Table, work: Table, first: int, second: int) -> tuple[int, float]:
    """Add the points of a compliant ball on the nearest flat side of a geom.

    ``work`` has the pose of the second geom in the frame of the ball, in which the points are.

    Returns
    -------
    tuple
        ``POINTS_FULL`` without room, otherwise 0; and how much the points count, from 0 to 1: the
        rest is left to the meshes.
    """
    t = work.translation
    r = work.rotation
    sides = fields.geom_sides[second]
    a = fields.geom_ball[first]
    # The centre in the frame of the other geom
    x = -(r[0, 0] * t[0] + r[1, 0] * t[1] + r[2, 0] * t[2])
    y = -(r[0, 1] * t[0] + r[1, 1] * t[1] + r[2, 1] * t[2])
    z = -(r[0, 2] * t[0] + r[1, 2] * t[1] + r[2, 2] * t[2])
    axis = 2
    height = z
    d = abs(z) - sides[2]
    if sides[1] == 0.0:
        within = sides[0] - np.sqrt(x * x + y * y)
    else:
        within = min(sides[0] - abs(x), sides[1] - abs(y))
        if abs(x) - sides[0] > d:
            axis = 0
            height = x
            d = abs(x) - sides[0]
            within = min(sides[1] - abs(y), sides[2] - abs(z))
        if abs(y) - sides[1] > d:
            axis = 1
            height = y
            d = abs(y) - sides[1]
            within = min(sides[0] - abs(x), sides[2] - abs(z))
    if d <= 0.0 or within <= 0.0:
        return 0, 0.0
    rim = a * a - d * d
    if rim <= 0.0:
        return 0, 1.0
    # As far from the edges, and from the middle of the geom, as the patch is deep at most
    depth = fields.geom_side_depth[second]
    margin = min(within - np.sqrt(rim), depth) - (a - d)
    weight = min(max(margin / (_FADES * a), 0.0), 1.0)
    weight = weight * weight * (3.0 - 2.0 * weight)
    if weight == 0.0:
        return 0, 0.0
    sign = -1.0 if height > 0.0 else 1.0
    towards = (sign * r[0, axis], sign * r[1, axis], sign * r[2, axis])
    return _rings(fields, work, first, second, towards, rim, d, d, depth, True), weight
