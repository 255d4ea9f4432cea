"""From the faces of a patch to the points that stand for them.

A face is a contact polygon, or several that are as one (`asperity.contact.hydroelastic.faces`).
With area A, mean pressure p = E e(centroid), normal n from the first geom to the second and the
slope g of the pressure along it, a face is a contact of force w A p, stiffness k = w A g and
signed distance φ = −p/g, so that k (−φ) is the force. w is the weight of its angle. With pressures
equal on both sides the slopes act as springs in series, g = g_a g_b / (g_a + g_b)
(docs/equations.md, ‘Pressure fields’).

The slope falls to zero where a face stands at right angles to the gradient; a floor of a
twentieth of the smaller gradient keeps φ finite. The force does not depend on it.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled, inlined
from asperity.contact.hydroelastic.field_layout import ADAPTIVE, CENTROID, CUT, MOMENTS
from asperity.contact.hydroelastic.polygons import tangents

__all__ = ["FLAT", "POINTS_FULL", "angle_weight", "write_point", "write_points"]

POINTS_FULL = -1
"""What a search returns that found more points than there was room for."""

FLAT = 0.05
"""Least slope along the normal, in gradients."""

# cos(5π/8), beyond which a polygon shows its back (Masterjohn et al. 2022).
_BACK = -0.3826834323650898
# Pressures of less overlap than this [m] are nothing, and have no centre.
_NO_OVERLAP = 1e-14
# A face with less than one part in so many of a patch's area is not spread to three points, and
# with less than one in so many not to six.
_LARGE = 16.0
_LARGEST = 4.0
# The largest difference of the squared distances of six points, of Gauss quadrature on a disc.
_APART = 1.1547005383792515


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


@compiled
def _write_face(work: Table, row: int, share: float, apart: float, no_pressure: float) -> None:
    """Write the points of a face: one, or three by a share of their full distance, or six.

    Three points of equal weight have a face's second moments where they are √2 times their root
    away, in directions 120 degrees apart. The pressure there is nowhere negative. So have six,
    three as much farther in the square as the others are nearer. With the threes opposite to each
    other they have the moment of friction, too, within 2 % on squares and discs; a lower ``apart``
    turns them towards each other, until they are three points again.
    """
    face = work.face
    nx = face[row, 0]
    ny = face[row, 1]
    nz = face[row, 2]
    area = face[row, 3]
    pressure = face[row, 11]
    slope = face[row, 12]
    gx = face[row, 13]
    gy = face[row, 14]
    gz = face[row, 15]
    (ux, uy, uz), (vx, vy, vz) = tangents(nx, ny, nz)
    gu = gx * ux + gy * uy + gz * uz
    gv = gx * vx + gy * vy + gz * vz
    suu = face[row, 7] / area
    suv = face[row, 8] / area
    svv = face[row, 9] / area
    # From the centre of pressure at a share of 0 to the centroid at 1
    left = 0.0
    if pressure > no_pressure:
        left = (1.0 - share * share) / pressure
    along = left * (suu * gu + suv * gv)
    across = left * (suv * gu + svv * gv)
    x = face[row, 4] + along * ux + across * vx
    y = face[row, 5] + along * uy + across * vy
    z = face[row, 6] + along * uz + across * vz
    weighted = face[row, 10] * area
    if share == 0.0:
        write_point(work, x, y, z, nx, ny, nz, weighted, pressure, slope)
        return
    # Cholesky factor of the second moments
    l11 = np.sqrt(max(suu, 0.0))
    l21 = suv / l11 if l11 > 0.0 else 0.0
    l22 = np.sqrt(max(svv - l21 * l21, 0.0))
    points = 3 if apart == 0.0 else 6
    # No farther than the pressure reaches
    steep = gu * (suu * gu + 2.0 * suv * gv) + svv * gv * gv
    farther = _APART * apart
    if steep * (2.0 + farther) > pressure * pressure:
        farther = max(pressure * pressure / steep - 2.0, 0.0)
    cosine = np.cos(apart * np.pi / 3.0)
    sine = np.sin(apart * np.pi / 3.0)
    for k in range(points):
        # cos and sin at 0, 120 and 240 degrees: mean 0, mean square ½
        a = 1.0 if k % 3 == 0 else -0.5
        b = 0.0
        if k % 3 == 1:
            b = 0.8660254037844386
        elif k % 3 == 2:
            b = -0.8660254037844386
        radius = share * np.sqrt(2.0 - farther)
        if k > 2:
            radius = share * np.sqrt(2.0 + farther)
            a, b = cosine * a - sine * b, sine * a + cosine * b
        along = radius * l11 * a
        across = radius * (l21 * a + l22 * b)
        here = pressure + gu * along + gv * across
        write_point(
            work,
            x + along * ux + across * vx,
            y + along * uy + across * vy,
            z + along * uz + across * vz,
            nx,
            ny,
            nz,
            weighted / points,
            max(here, 0.0),
            slope,
        )


@inlined
def _beyond(value: float) -> float:
    """A smooth step from 0 at 1 to 1 at 2."""
    share = min(max(value - 1.0, 0.0), 1.0)
    return share * share * (3.0 - 2.0 * share)


@compiled
def write_points(fields: Table, work: Table) -> int:
    """Write the points that stand for the faces of a patch; ``POINTS_FULL`` without room.

    Several points with a face's second moments resist rocking and turning as it does; one point
    does neither. In a patch of many faces these do it together. A face of more than a sixteenth of
    the area is spread to three points, and one of an eighth fully, one of more than a quarter to
    six, and one of a half fully: in between force and moment are the same, and all changes
    smoothly.
    """
    face = work.face
    count = work.face_count
    rule = fields.quadrature
    total = 0.0
    for i in range(count):
        total += face[i, 10] * face[i, 3]
    for i in range(count):
        share = 0.0
        apart = 0.0
        if rule == MOMENTS:
            share = 1.0
        elif rule == ADAPTIVE and total > 0.0:
            part = face[i, 10] * face[i, 3] / total
            share = _beyond(_LARGE * part)
            apart = _beyond(_LARGEST * part)
        if work.point_count + 6 > work.point.shape[0]:
            return POINTS_FULL
        nothing = np.inf if rule == CENTROID else _NO_OVERLAP * face[i, 12]
        _write_face(work, i, share, apart, nothing)
    return 0
