"""From contact polygons to faces.

Tetrahedra of one cell of a shape, as those behind a side of a box, share a linear pressure, and so
polygons of one cell and another lie in one plane and have one linear pressure: they are parts of
one *face*, which needs fewer points. Its area, centroid and second moments add up as its parts are
found, so that it does not matter how it is cut.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, inlined
from asperity.contact.hydroelastic.field_layout import ADAPTIVE, CENTROID
from asperity.contact.hydroelastic.points import POINTS_FULL
from asperity.contact.hydroelastic.polygons import area_and_centroid, second_moments, tangents

__all__ = ["add_polygon"]

# Areas, over the square of the length on which the extent grows by 1, that are nothing.
_NO_AREA = 1e-15


@inlined
def _keep_corners(
    work: Table,
    count: int,
    modulus: float,
    gradient: tuple[float, float, float],
    constant: float,
) -> bool:
    """Keep the polygon in ``work.polygon``, with pressures at its corners, if there is room."""
    gx, gy, gz = gradient
    start = work.corner_count
    row = work.polygon_count
    if row + 1 >= work.corner_first.size or start + count > work.corner.shape[0]:
        return False
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
    return True


@inlined
def _unite(
    face: np.ndarray,
    row: int,
    area: float,
    c: np.ndarray,
    moments: tuple[float, float, float],
    pressure: float,
    u: tuple[float, float, float],
    v: tuple[float, float, float],
) -> None:
    """Add a polygon in the plane of a face, with the same linear pressure, to it."""
    whole = face[row, 3] + area
    dx = c[0] - face[row, 4]
    dy = c[1] - face[row, 5]
    dz = c[2] - face[row, 6]
    du = u[0] * dx + u[1] * dy + u[2] * dz
    dv = v[0] * dx + v[1] * dy + v[2] * dz
    share = area / whole
    both = face[row, 3] * share
    face[row, 3] = whole
    face[row, 4] += share * dx
    face[row, 5] += share * dy
    face[row, 6] += share * dz
    face[row, 7] += moments[0] + both * du * du
    face[row, 8] += moments[1] + both * du * dv
    face[row, 9] += moments[2] + both * dv * dv
    face[row, 11] += share * (pressure - face[row, 11])


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
    cells: tuple[int, int],
) -> int:
    """Add the polygon in ``work.polygon`` to the faces; returns ``POINTS_FULL`` without room.

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
    cells : tuple of int
        What the polygon is of, on both sides: where both numbers are the same and not negative, the
        plane and the pressures are.
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
    if work.keep_polygons == 1 and not _keep_corners(work, count, modulus, gradient, constant):
        return POINTS_FULL
    pressure = modulus * (gx * c[0] + gy * c[1] + gz * c[2] + constant)
    nx, ny, nz = normal
    u, v = tangents(nx, ny, nz)
    moments = (0.0, 0.0, 0.0)
    if fields.quadrature != CENTROID:
        moments = second_moments(work.polygon, count, c, u, v)
    face = work.face
    end = work.face_count
    if fields.quadrature == ADAPTIVE and cells[0] >= 0 and cells[1] >= 0:
        for row in range(end - 1, -1, -1):
            if work.face_key[row, 0] == cells[0] and work.face_key[row, 1] == cells[1]:
                _unite(face, row, area, c, moments, pressure, u, v)
                return 0
    if end >= face.shape[0]:
        return POINTS_FULL
    along = gx * nx + gy * ny + gz * nz
    work.face_key[end, 0] = cells[0]
    work.face_key[end, 1] = cells[1]
    face[end, 0] = nx
    face[end, 1] = ny
    face[end, 2] = nz
    face[end, 3] = area
    face[end, 4] = c[0]
    face[end, 5] = c[1]
    face[end, 6] = c[2]
    face[end, 7] = moments[0]
    face[end, 8] = moments[1]
    face[end, 9] = moments[2]
    face[end, 10] = weight
    face[end, 11] = pressure
    face[end, 12] = slope
    face[end, 13] = modulus * (gx - along * nx)
    face[end, 14] = modulus * (gy - along * ny)
    face[end, 15] = modulus * (gz - along * nz)
    work.face_count = end + 1
    return 0
