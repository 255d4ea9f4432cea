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
from asperity.contact.hydroelastic.field_layout import ADAPTIVE, CENTROID, CUT, MOMENTS
from asperity.contact.hydroelastic.polygons import (
    area_and_centroid,
    first_moment,
    polygon_area,
    tangents,
)

__all__ = ["FLAT", "POINTS_FULL", "add_polygon", "angle_weight", "spread_points", "write_point"]

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
# A polygon with less than one part in so many of a patch's area is not spread.
_LARGE = 16.0


@inlined
def angle_weight(cosine: float, rule: int) -> float:
    """How much a polygon counts, given the cosine between its normal and the field's gradient."""
    if cosine <= _BACK:
        return 0.0
    if rule == CUT or cosine >= 0.0:
        return 1.0
    share = (cosine - _BACK) / -_BACK
    return share * share * (3.0 - 2.0 * share)


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
    start = work.corner_count
    row = work.point_count
    if row >= work.point.shape[0] or start + count > work.corner.shape[0]:
        return POINTS_FULL
    for i in range(count):
        x = work.polygon[i, 0]
        y = work.polygon[i, 1]
        z = work.polygon[i, 2]
        work.corner[start + i, 0] = x
        work.corner[start + i, 1] = y
        work.corner[start + i, 2] = z
        work.corner[start + i, 3] = modulus * (gx * x + gy * y + gz * z + constant)
    work.corner_first[row] = start
    work.corner_first[row + 1] = start + count
    work.corner_count = start + count
    work.polygon_count = row + 1
    nx, ny, nz = normal
    along = gx * nx + gy * ny + gz * nz
    tx = gx - along * nx
    ty = gy - along * ny
    tz = gz - along * nz
    plane = work.plane
    plane[row, 0] = c[0]
    plane[row, 1] = c[1]
    plane[row, 2] = c[2]
    plane[row, 3] = modulus * tx
    plane[row, 4] = modulus * ty
    plane[row, 5] = modulus * tz
    x = c[0]
    y = c[1]
    z = c[2]
    if fields.quadrature != CENTROID and extent > _NO_EXTENT:
        mx, my, mz = first_moment(work.polygon, 0, count, c, tx, ty, tz)
        scale = 1.0 / (area * extent)
        x += scale * mx
        y += scale * my
        z += scale * mz
    write_point(work, x, y, z, nx, ny, nz, weight * area, modulus * extent, slope)
    return 0


@compiled
def _spread(work: Table, polygon: int, share: float) -> None:
    """Replace the point of a polygon by three, by a share of their full distance."""
    point = work.point
    plane = work.plane
    c = work.centre
    nx = point[polygon, 3]
    ny = point[polygon, 4]
    nz = point[polygon, 5]
    c[0] = plane[polygon, 0]
    c[1] = plane[polygon, 1]
    c[2] = plane[polygon, 2]
    (ux, uy, uz), (vx, vy, vz) = tangents(nx, ny, nz)
    start = work.corner_first[polygon]
    count = work.corner_first[polygon + 1] - start
    area = polygon_area(work.corner, start, count)
    # Cholesky factor of the second moments over the area
    m = first_moment(work.corner, start, count, c, ux, uy, uz)
    suu = (m[0] * ux + m[1] * uy + m[2] * uz) / area
    suv = (m[0] * vx + m[1] * vy + m[2] * vz) / area
    m = first_moment(work.corner, start, count, c, vx, vy, vz)
    svv = (m[0] * vx + m[1] * vy + m[2] * vz) / area
    l11 = np.sqrt(max(suu, 0.0))
    l21 = suv / l11 if l11 > 0.0 else 0.0
    l22 = np.sqrt(max(svv - l21 * l21, 0.0))
    slope = point[polygon, 6] / point[polygon, 8]
    weighted = point[polygon, 8]
    pressure = point[polygon, 9]
    # From the centre of pressure at a share of 0 to the centroid at 1
    left = 1.0 - share * share
    x = c[0] + left * (point[polygon, 0] - c[0])
    y = c[1] + left * (point[polygon, 1] - c[1])
    z = c[2] + left * (point[polygon, 2] - c[2])
    for k in range(3):
        # √2 (cos, sin) at 0, 120 and 240 degrees: mean 0, mean square the identity
        a = 1.4142135623730951 if k == 0 else -0.7071067811865476
        b = 0.0
        if k == 1:
            b = 1.224744871391589
        elif k == 2:
            b = -1.224744871391589
        along = share * l11 * a
        across = share * (l21 * a + l22 * b)
        dx = along * ux + across * vx
        dy = along * uy + across * vy
        dz = along * uz + across * vz
        here = pressure + plane[polygon, 3] * dx + plane[polygon, 4] * dy + plane[polygon, 5] * dz
        end = work.point_count
        if k == 0:
            work.point_count = polygon
        write_point(
            work,
            x + dx,
            y + dy,
            z + dz,
            nx,
            ny,
            nz,
            weighted / 3.0,
            max(here, 0.0),
            slope,
        )
        if k == 0:
            work.point_count = end


@compiled
def spread_points(fields: Table, work: Table) -> int:
    """Stand for large polygons of a patch with three points each; ``POINTS_FULL`` without room.

    Three points of equal weight have a polygon's second moments, and so resist rocking and turning
    as it does; one point does neither. In a patch of many polygons these do it together. A polygon
    of more than a sixteenth of the area is spread, and one of an eighth fully: in between force and
    moment are the same, and all changes smoothly.
    """
    if fields.quadrature != ADAPTIVE and fields.quadrature != MOMENTS:
        return 0
    count = work.polygon_count
    total = 0.0
    for i in range(count):
        total += work.point[i, 8]
    for i in range(count):
        share = 1.0
        if fields.quadrature == ADAPTIVE:
            share = min(max(_LARGE * work.point[i, 8] / total - 1.0, 0.0), 1.0)
            share = share * share * (3.0 - 2.0 * share)
        if share > 0.0 and work.point[i, 8] > 0.0:
            if work.point_count + 2 > work.point.shape[0]:
                return POINTS_FULL
            _spread(work, i, share)
    return 0
