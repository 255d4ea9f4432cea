"""Contact polygons of a pressure field and the triangles of a rigid surface.

Every part of a triangle that lies in a tetrahedron is a polygon. Its normal, from the compliant to
the rigid geom, is opposite to the triangle's, and the pressure is the field's.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled, inlined
from asperity.contact.hydroelastic.boxes import next_leaves, relative_pose
from asperity.contact.hydroelastic.faces import add_polygon
from asperity.contact.hydroelastic.points import FLAT, POINTS_FULL, angle_weight
from asperity.contact.hydroelastic.polygons import clip, outside

__all__ = ["rigid_pair"]

# A triangle this near to the plane of a face, in heights of its tetrahedron, lies in it.
_COPLANAR = 1e-12
# A plane is this near [m] before rounding could say otherwise.
_SAFE = 1e-12


@inlined
def _clip_by_tetrahedron(
    fields: Table, work: Table, a: int, moved: np.ndarray, nx: float, ny: float, nz: float
) -> int:
    """Clip a triangle by a tetrahedron, into ``work.polygon``; returns the number of corners.

    Of two tetrahedra whose common face a triangle lies in, only the one that the triangle's normal
    points into has it.
    """
    barycentric = fields.barycentric
    polygon = work.polygon
    clipped = work.clipped
    for i in range(3):
        for axis in range(3):
            polygon[i, axis] = moved[i, axis]
    count = 3
    for i in range(4):
        lx = barycentric[a, i, 0]
        ly = barycentric[a, i, 1]
        lz = barycentric[a, i, 2]
        lc = barycentric[a, i, 3]
        largest = 0.0
        for k in range(3):
            away = lx * moved[k, 0] + ly * moved[k, 1] + lz * moved[k, 2] + lc
            largest = max(largest, abs(away))
        if largest <= _COPLANAR:
            if lx * nx + ly * ny + lz * nz <= 0.0:
                return 0
            # All of it is on the right side, whatever rounding says.
            lx, ly, lz, lc = 0.0, 0.0, 0.0, 1.0
        if i % 2 == 0:
            count = clip(polygon, count, clipped, lx, ly, lz, lc)
        else:
            count = clip(clipped, count, polygon, lx, ly, lz, lc)
        if count < 3:
            return 0
    return count


@inlined
def _beside(vertex: np.ndarray, a: int, nx: float, ny: float, nz: float, d: float) -> bool:
    """Whether a tetrahedron is all on one side of the plane n · x = d."""
    low = np.inf
    high = -np.inf
    for i in range(4):
        away = nx * vertex[a, i, 0] + ny * vertex[a, i, 1] + nz * vertex[a, i, 2] - d
        low = min(low, away)
        high = max(high, away)
    return low > _SAFE or high < -_SAFE


@compiled
def _triangle(
    fields: Table,
    work: Table,
    modulus: float,
    triangle: int,
    first: int,
    last: int,
    r: tuple[float, float, float, float, float, float, float, float, float],
    t: tuple[float, float, float],
) -> int:
    """Add the polygons of a triangle and of a leaf's tetrahedra, ``first`` to before ``last``."""
    mx, my, mz = fields.normal[triangle, 0], fields.normal[triangle, 1], fields.normal[triangle, 2]
    nx = r[0] * mx + r[1] * my + r[2] * mz
    ny = r[3] * mx + r[4] * my + r[5] * mz
    nz = r[6] * mx + r[7] * my + r[8] * mz
    moved = work.moved
    for i in range(3):
        x = fields.corner[triangle, i, 0]
        y = fields.corner[triangle, i, 1]
        z = fields.corner[triangle, i, 2]
        moved[i, 0] = r[0] * x + r[1] * y + r[2] * z + t[0]
        moved[i, 1] = r[3] * x + r[4] * y + r[5] * z + t[1]
        moved[i, 2] = r[6] * x + r[7] * y + r[8] * z + t[2]
    d = nx * moved[0, 0] + ny * moved[0, 1] + nz * moved[0, 2]
    for a in range(first, last):
        gx, gy, gz = fields.gradient[a, 0], fields.gradient[a, 1], fields.gradient[a, 2]
        along = gx * nx + gy * ny + gz * nz
        steepness = fields.steepness[a]
        weight = angle_weight(along / steepness, fields.angle_rule)
        if weight <= 0.0:
            continue
        if _beside(fields.vertex, a, nx, ny, nz, d) or outside(fields.barycentric, a, moved, 3):
            continue
        count = _clip_by_tetrahedron(fields, work, a, moved, nx, ny, nz)
        status = add_polygon(
            fields,
            work,
            count,
            (-nx, -ny, -nz),
            weight,
            modulus,
            (gx, gy, gz),
            fields.constant[a],
            modulus * max(along, FLAT * steepness),
            (fields.cell[a], fields.facet[triangle]),
        )
        if status == POINTS_FULL:
            return POINTS_FULL
    return 0


@compiled
def rigid_pair(
    fields: Table,
    work: Table,
    field_a: int,
    modulus: float,
    level: int,
    field_b: int,
) -> int:
    """Add the points of a compliant and a rigid mesh to ``work``; ``POINTS_FULL`` without room.

    Parameters
    ----------
    fields, work : Table
        Tables `FIELDS` and `FIELD_WORK`; the latter has the pose of the rigid geom in the frame of
        the compliant one, in which the points are.
    field_a, field_b : int
        Of the compliant and of the rigid geom.
    modulus : float
        Hydroelastic modulus [Pa].
    level : int
        Of the compliant geom's boxes, from `level_of`.
    """
    pose = relative_pose(work)
    r, _, t = pose
    stack = work.stack
    stack[0, 0] = fields.root[field_a]
    stack[0, 1] = fields.surface_root[field_b]
    height = 1
    while True:
        height, node_a, node_b = next_leaves(fields, stack, height, level, 0, pose)
        if height < 0:
            return 0
        first = fields.first[node_a]
        last = first + fields.count[node_a]
        start = fields.first[node_b]
        for triangle in range(start, start + fields.count[node_b]):
            status = _triangle(fields, work, modulus, triangle, first, last, r, t)
            if status == POINTS_FULL:
                return POINTS_FULL
