"""Convex polygons: sections of tetrahedra, clipping, area, centroid and moments.

Polygons are the first rows of an array of shape (12, 3). What lies exactly on a plane counts as in
front of it, everywhere: a polygon that coincides with a face which two tetrahedra share is then
found exactly once.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import consistent, inlined

__all__ = [
    "area_and_centroid",
    "clip",
    "outside",
    "second_moments",
    "section",
    "tangents",
]


# A face is this near [heights of the tetrahedron] before rounding could say otherwise.
_NEARLY = 1e-9


@consistent
def clip(
    source: np.ndarray, count: int, target: np.ndarray, a: float, b: float, c: float, d: float
) -> int:
    """Keep the part of a polygon where a x + b y + c z + d ≥ 0 (Sutherland and Hodgman).

    Returns the number of corners of ``target``.
    """
    kept = 0
    if count == 0:
        return 0
    x0, y0, z0 = source[count - 1, 0], source[count - 1, 1], source[count - 1, 2]
    s0 = a * x0 + b * y0 + c * z0 + d
    for i in range(count):
        x, y, z = source[i, 0], source[i, 1], source[i, 2]
        s = a * x + b * y + c * z + d
        if (s >= 0.0) != (s0 >= 0.0):
            w = abs(s0) / (abs(s0) + abs(s))
            target[kept, 0] = x0 + w * (x - x0)
            target[kept, 1] = y0 + w * (y - y0)
            target[kept, 2] = z0 + w * (z - z0)
            kept += 1
        if s >= 0.0:
            target[kept, 0] = x
            target[kept, 1] = y
            target[kept, 2] = z
            kept += 1
        x0 = x
        y0 = y
        z0 = z
        s0 = s
    return kept


@consistent
def _crossing(
    vertex: np.ndarray, t: int, f: np.ndarray, i: int, j: int, target: np.ndarray, m: int
) -> None:
    """Where a linear function vanishes on the edge between vertices i and j of a tetrahedron."""
    w = abs(f[i]) / (abs(f[i]) + abs(f[j]))
    for a in range(3):
        target[m, a] = vertex[t, i, a] + w * (vertex[t, j, a] - vertex[t, i, a])


@consistent
def section(vertex: np.ndarray, t: int, f: np.ndarray, target: np.ndarray) -> int:
    """Section of a tetrahedron with the plane where a linear function vanishes.

    Parameters
    ----------
    vertex : array, shape (n, 4, 3)
    t : int
        The tetrahedron.
    f : array, shape (4,)
        The function at its vertices.
    target : array, shape (12, 3)
        The polygon.

    Returns
    -------
    int
        The number of its corners: 0, 3 or 4.
    """
    front = 0
    for i in range(4):
        if f[i] >= 0.0:
            front += 1
    if front == 0 or front == 4:
        return 0
    if front != 2:
        alone = 0
        for i in range(4):
            if (f[i] >= 0.0) == (front == 1):
                alone = i
        m = 0
        for i in range(4):
            if i != alone:
                _crossing(vertex, t, f, alone, i, target, m)
                m += 1
        return 3
    front_0 = -1
    front_1 = -1
    back_0 = -1
    back_1 = -1
    for i in range(4):
        if f[i] >= 0.0:
            if front_0 < 0:
                front_0 = i
            else:
                front_1 = i
        elif back_0 < 0:
            back_0 = i
        else:
            back_1 = i
    _crossing(vertex, t, f, front_0, back_0, target, 0)
    _crossing(vertex, t, f, front_0, back_1, target, 1)
    _crossing(vertex, t, f, front_1, back_1, target, 2)
    _crossing(vertex, t, f, front_1, back_0, target, 3)
    return 4


@inlined
def outside(barycentric: np.ndarray, t: int, polygon: np.ndarray, count: int) -> bool:
    """Whether all corners of a polygon are behind one face of a tetrahedron."""
    for i in range(4):
        lx = barycentric[t, i, 0]
        ly = barycentric[t, i, 1]
        lz = barycentric[t, i, 2]
        lc = barycentric[t, i, 3]
        largest = -np.inf
        for k in range(count):
            largest = max(largest, lx * polygon[k, 0] + ly * polygon[k, 1] + lz * polygon[k, 2])
        if largest + lc < -_NEARLY:
            return True
    return False


@inlined
def area_and_centroid(polygon: np.ndarray, count: int, centroid: np.ndarray) -> float:
    """Area of a convex polygon, by a fan of triangles; its centroid if there is an area."""
    area = 0.0
    x = 0.0
    y = 0.0
    z = 0.0
    for i in range(1, count - 1):
        ux = polygon[i, 0] - polygon[0, 0]
        uy = polygon[i, 1] - polygon[0, 1]
        uz = polygon[i, 2] - polygon[0, 2]
        vx = polygon[i + 1, 0] - polygon[0, 0]
        vy = polygon[i + 1, 1] - polygon[0, 1]
        vz = polygon[i + 1, 2] - polygon[0, 2]
        wx = uy * vz - uz * vy
        wy = uz * vx - ux * vz
        wz = ux * vy - uy * vx
        triangle = 0.5 * np.sqrt(wx * wx + wy * wy + wz * wz)
        area += triangle
        x += triangle * (ux + vx)
        y += triangle * (uy + vy)
        z += triangle * (uz + vz)
    if area > 0.0:
        scale = 1.0 / (3.0 * area)
        centroid[0] = polygon[0, 0] + scale * x
        centroid[1] = polygon[0, 1] + scale * y
        centroid[2] = polygon[0, 2] + scale * z
    return area


@inlined
def tangents(
    nx: float, ny: float, nz: float
) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """Two unit vectors that make a right-handed frame with a unit normal, which comes last."""
    if abs(nx) < 0.7:
        scale = 1.0 / np.sqrt(ny * ny + nz * nz)
        ux, uy, uz = 0.0, nz * scale, -ny * scale
    else:
        scale = 1.0 / np.sqrt(nx * nx + ny * ny)
        ux, uy, uz = -ny * scale, nx * scale, 0.0
    return (ux, uy, uz), (ny * uz - nz * uy, nz * ux - nx * uz, nx * uy - ny * ux)


@inlined
def second_moments(
    polygon: np.ndarray,
    count: int,
    c: np.ndarray,
    u: tuple[float, float, float],
    v: tuple[float, float, float],
) -> tuple[float, float, float]:
    """Second moments of area of a convex polygon about its centroid, along two tangents.

    ∫ u·x u·x dA, ∫ u·x v·x dA and ∫ v·x v·x dA with x from the centroid c, by a fan of triangles.
    """
    suu = 0.0
    suv = 0.0
    svv = 0.0
    x = polygon[0, 0] - c[0]
    y = polygon[0, 1] - c[1]
    z = polygon[0, 2] - c[2]
    au = u[0] * x + u[1] * y + u[2] * z
    av = v[0] * x + v[1] * y + v[2] * z
    bu = 0.0
    bv = 0.0
    for i in range(1, count):
        x = polygon[i, 0] - c[0]
        y = polygon[i, 1] - c[1]
        z = polygon[i, 2] - c[2]
        du = u[0] * x + u[1] * y + u[2] * z
        dv = v[0] * x + v[1] * y + v[2] * z
        if i > 1:
            # A twelfth of the triangle's area
            s = abs((bu - au) * (dv - av) - (bv - av) * (du - au)) / 24.0
            tu = au + bu + du
            tv = av + bv + dv
            suu += s * (tu * tu + au * au + bu * bu + du * du)
            suv += s * (tu * tv + au * av + bu * bv + du * dv)
            svv += s * (tv * tv + av * av + bv * bv + dv * dv)
        bu = du
        bv = dv
    return suu, suv, svv
