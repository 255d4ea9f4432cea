"""From a contact polygon to the points of a patch that stand for it.

With area A, mean pressure p = E e(centroid), normal n from the first geom to the second and the
slope g of the pressure along it, a polygon is a contact of force w A p, stiffness k = w A g and
signed distance φ = −p/g, so that k (−φ) is the force. w is the weight of its angle. With pressures
equal on both sides the slopes act as springs in series, g = g_a g_b / (g_a + g_b)
(docs/equations.md, ‘Pressure fields’).

The slope falls to zero where a polygon stands at right angles to the gradient; a floor of a
twentieth of the smaller gradient keeps φ finite. The force does not depend on it.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled, inlined
from asperity.contact.hydroelastic.field_layout import CENTROID, CUT, MOMENTS
from asperity.contact.hydroelastic.polygons import area_and_centroid, first_moment

__all__ = ["FLAT", "POINTS_FULL", "add_polygon", "angle_weight", "write_point"]

POINTS_FULL = -1
"""What a search returns that found more points than there was room for."""

FLAT = 0.05
"""Least slope along the normal, in gradients."""

# cos(5π/8), beyond which a polygon shows its back (Masterjohn et al. 2022).
_BACK = -0.3826834323650898
# Below this extent a pressure is nothing, and has no centre.
_NO_EXTENT = 1e-12
# Areas, over the square of the length on which the extent grows by 1, that are nothing.
_NO_AREA = 1e-15


@inlined
def angle_weight(cosine: float, rule: int) -> float:
    """How much a polygon counts, given the cosine between its normal and the field's gradient."""
    if cosine <= _BACK:
        return 0.0
    if rule == CUT or cosine >= 0.0:
        return 1.0
    share = (cosine - _BACK) / -_BACK
    return share * share * (3.0 - 2.0 * share)


@compiled
def _keep_corners(
    work: Table, count: int, modulus: float, gx: float, gy: float, gz: float, constant: float
) -> bool:
    """Keep the corners of the polygon with their pressures; False without room for them."""
    start = work.corner_count
    full = work.polygon_count >= work.corner_first.size
    if full or start + count > work.corner.shape[0]:
        return False
    for i in range(count):
        extent = constant
        for a in range(3):
            work.corner[start + i, a] = work.polygon[i, a]
        extent += gx * work.polygon[i, 0] + gy * work.polygon[i, 1] + gz * work.polygon[i, 2]
        work.corner[start + i, 3] = modulus * extent
    work.corner_first[work.polygon_count] = start
    work.polygon_first[work.polygon_count] = work.point_count
    work.polygon_count += 1
    work.corner_count = start + count
    return True


@inlined
def write_point(
    work: Table,
    x: float,
    y: float,
    z: float,
    nx: float,
    ny: float,
    nz: float,
    area: float,
    pressure: float,
    slope: float,
) -> None:
    """Write a point: where it is, its normal, its area with its weight, pressure and slope."""
    row = work.point_count
    point = work.point
    point[row, 0] = x
    point[row, 1] = y
    point[row, 2] = z
    point[row, 3] = nx
    point[row, 4] = ny
    point[row, 5] = nz
    point[row, 6] = area * slope
    point[row, 7] = -pressure / slope
    point[row, 8] = area
    point[row, 9] = pressure
    work.point_count = row + 1


@compiled
def _moment_points(
    work: Table,
    count: int,
    normal: tuple[float, float, float],
    area: float,
    weight: float,
    pressure: float,
    tangent: tuple[float, float, float],
    slope: float,
) -> None:
    """Write three points of equal weight that have the polygon's second moments."""
    nx, ny, nz = normal
    c = work.centre
    # Axes of the polygon's plane
    if abs(nx) < 0.7:
        scale = 1.0 / np.sqrt(ny * ny + nz * nz)
        ux, uy, uz = 0.0, nz * scale, -ny * scale
    else:
        scale = 1.0 / np.sqrt(nx * nx + ny * ny)
        ux, uy, uz = -ny * scale, nx * scale, 0.0
    vx = ny * uz - nz * uy
    vy = nz * ux - nx * uz
    vz = nx * uy - ny * ux
    m = first_moment(work.polygon, count, c, ux, uy, uz)
    suu = (m[0] * ux + m[1] * uy + m[2] * uz) / area
    suv = (m[0] * vx + m[1] * vy + m[2] * vz) / area
    m = first_moment(work.polygon, count, c, vx, vy, vz)
    svv = (m[0] * vx + m[1] * vy + m[2] * vz) / area
    l11 = np.sqrt(max(suu, 0.0))
    l21 = suv / l11 if l11 > 0.0 else 0.0
    l22 = np.sqrt(max(svv - l21 * l21, 0.0))
    # √2 (cos, sin) at 0, 120 and 240 degrees: mean 0, mean square the identity
    for k in range(3):
        a = 1.4142135623730951 if k == 0 else -0.7071067811865476
        b = 0.0
        if k == 1:
            b = 1.224744871391589
        elif k == 2:
            b = -1.224744871391589
        along = l11 * a
        across = l21 * a + l22 * b
        dx = along * ux + across * vx
        dy = along * uy + across * vy
        dz = along * uz + across * vz
        at = pressure + tangent[0] * dx + tangent[1] * dy + tangent[2] * dz
        write_point(
            work,
            c[0] + dx,
            c[1] + dy,
            c[2] + dz,
            nx,
            ny,
            nz,
            weight * area / 3.0,
            max(at, 0.0),
            slope,
        )


@inlined
def add_polygon(
    fields: Table,
    work: Table,
    count: int,
    normal: tuple[float, float, float],
    weight: float,
    modulus: float,
    gradient: tuple[float, float, float],
    constant: float,
    slope: float,
) -> int:
    """Add the points of the polygon in ``work.polygon``; returns ``POINTS_FULL`` without room.

    Parameters
    ----------
    fields, work : Table
    count : int
        Corners of the polygon; fewer than three are none.
    normal : tuple of float
        From the first geom to the second.
    weight : float
    modulus : float
        Of the field whose gradient and constant follow [Pa].
    gradient : tuple of float
        Of the extent, in the frame of the first geom [1/m].
    constant : float
        Of the extent, at its origin.
    slope : float
        Of the pressure along the normal [Pa/m].
    """
    if count < 3:
        return 0
    c = work.centre
    area = area_and_centroid(work.polygon, count, c)
    gx, gy, gz = gradient
    # What a polygon of no extent would carry is nothing, and where planes go through corners and
    # edges of tetrahedra there are as many of them as of others.
    if not area * (gx * gx + gy * gy + gz * gz) > _NO_AREA:
        return 0
    extent = gx * c[0] + gy * c[1] + gz * c[2] + constant
    if work.point_count + 3 > work.point.shape[0]:
        return POINTS_FULL
    if work.corner.shape[0] > 0 and not _keep_corners(work, count, modulus, gx, gy, gz, constant):
        return POINTS_FULL
    pressure = modulus * extent
    nx, ny, nz = normal
    x = c[0]
    y = c[1]
    z = c[2]
    if fields.quadrature != CENTROID and extent > _NO_EXTENT:
        along = gx * nx + gy * ny + gz * nz
        tx = gx - along * nx
        ty = gy - along * ny
        tz = gz - along * nz
        if fields.quadrature == MOMENTS:
            tangent = (modulus * tx, modulus * ty, modulus * tz)
            _moment_points(work, count, normal, area, weight, pressure, tangent, slope)
            return 0
        mx, my, mz = first_moment(work.polygon, count, c, tx, ty, tz)
        scale = 1.0 / (area * extent)
        x += scale * mx
        y += scale * my
        z += scale * mz
    write_point(work, x, y, z, nx, ny, nz, weight * area, pressure, slope)
    return 0
