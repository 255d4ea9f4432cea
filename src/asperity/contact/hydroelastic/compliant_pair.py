"""Contact polygons of two pressure fields: where their pressures are equal.

In two tetrahedra, one of each field, both pressures are linear, and so the set where they are equal
is a plane; the polygon is what both tetrahedra have of it. Its normal, from the first to the second
geom, is (∇p_b − ∇p_a)/‖·‖.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled, inlined
from asperity.contact.hydroelastic.boxes import next_leaves, relative_pose
from asperity.contact.hydroelastic.faces import add_polygon
from asperity.contact.hydroelastic.points import FLAT, POINTS_FULL, angle_weight
from asperity.contact.hydroelastic.polygons import clip, outside, section

__all__ = ["compliant_pair"]

# Gradients whose difference is less than this share of them define no plane.
_PARALLEL = 1e-9


@inlined
def _tetrahedra(
    fields: Table,
    work: Table,
    a: int,
    modulus_a: float,
    b: int,
    modulus_b: float,
    r: tuple[float, float, float, float, float, float, float, float, float],
    t: tuple[float, float, float],
    extent: tuple[float, float, float, float],
) -> int:
    """Add the polygon of two tetrahedra.

    ``extent`` is the extent of b as a linear function in the frame of a: gradient and constant.
    """
    vertex = fields.vertex
    bx, by, bz, bc = extent
    value = work.value
    front = 0
    for i in range(4):
        pressure = bx * vertex[a, i, 0] + by * vertex[a, i, 1] + bz * vertex[a, i, 2] + bc
        value[i] = modulus_a * fields.extent[a, i] - modulus_b * pressure
        if value[i] >= 0.0:
            front += 1
    if front == 0 or front == 4:
        return 0
    ax, ay, az = fields.gradient[a, 0], fields.gradient[a, 1], fields.gradient[a, 2]
    ac = fields.constant[a]
    front = 0
    for i in range(4):
        vx, vy, vz = vertex[b, i, 0], vertex[b, i, 1], vertex[b, i, 2]
        x = r[0] * vx + r[1] * vy + r[2] * vz + t[0]
        y = r[3] * vx + r[4] * vy + r[5] * vz + t[1]
        z = r[6] * vx + r[7] * vy + r[8] * vz + t[2]
        if modulus_a * (ax * x + ay * y + az * z + ac) >= modulus_b * fields.extent[b, i]:
            front += 1
    if front == 0 or front == 4:
        return 0
    steepness_a = modulus_a * fields.steepness[a]
    steepness_b = modulus_b * fields.steepness[b]
    nx = modulus_b * bx - modulus_a * ax
    ny = modulus_b * by - modulus_a * ay
    nz = modulus_b * bz - modulus_a * az
    norm = np.sqrt(nx * nx + ny * ny + nz * nz)
    if norm <= _PARALLEL * (steepness_a + steepness_b):
        return 0
    nx /= norm
    ny /= norm
    nz /= norm
    slope_a = -modulus_a * (ax * nx + ay * ny + az * nz)
    slope_b = modulus_b * (bx * nx + by * ny + bz * nz)
    cosine = min(slope_a / steepness_a, slope_b / steepness_b)
    weight = angle_weight(cosine, fields.angle_rule)
    if weight <= 0.0:
        return 0
    polygon = work.polygon
    clipped = work.clipped
    count = section(vertex, a, value, polygon)
    # Into the frame of b, where its barycentric coordinates are.
    for i in range(count):
        x = polygon[i, 0] - t[0]
        y = polygon[i, 1] - t[1]
        z = polygon[i, 2] - t[2]
        clipped[i, 0] = r[0] * x + r[3] * y + r[6] * z
        clipped[i, 1] = r[1] * x + r[4] * y + r[7] * z
        clipped[i, 2] = r[2] * x + r[5] * y + r[8] * z
    barycentric = fields.barycentric
    if outside(barycentric, b, clipped, count):
        return 0
    for i in range(4):
        lx = barycentric[b, i, 0]
        ly = barycentric[b, i, 1]
        lz = barycentric[b, i, 2]
        lc = barycentric[b, i, 3]
        if i % 2 == 0:
            count = clip(clipped, count, polygon, lx, ly, lz, lc)
        else:
            count = clip(polygon, count, clipped, lx, ly, lz, lc)
        if count < 3:
            return 0
    for i in range(count):
        x, y, z = clipped[i, 0], clipped[i, 1], clipped[i, 2]
        polygon[i, 0] = r[0] * x + r[1] * y + r[2] * z + t[0]
        polygon[i, 1] = r[3] * x + r[4] * y + r[5] * z + t[1]
        polygon[i, 2] = r[6] * x + r[7] * y + r[8] * z + t[2]
    slope = FLAT * min(steepness_a, steepness_b)
    if slope_a > 0.0 and slope_b > 0.0:
        slope = max(slope, slope_a * slope_b / (slope_a + slope_b))
    return add_polygon(
        fields,
        work,
        count,
        (nx, ny, nz),
        weight,
        modulus_a,
        (ax, ay, az),
        ac,
        slope,
        (fields.cell[a], fields.cell[b]),
    )


@compiled
def compliant_pair(
    fields: Table,
    work: Table,
    field_a: int,
    modulus_a: float,
    level_a: int,
    field_b: int,
    modulus_b: float,
    level_b: int,
) -> int:
    """Add the points of two compliant meshes to ``work``; ``POINTS_FULL`` without room.

    Parameters
    ----------
    fields, work : Table
        Tables `FIELDS` and `FIELD_WORK`; the latter has the pose of the second geom in the frame of
        the first, in which the points are.
    field_a, field_b : int
    modulus_a, modulus_b : float
        Hydroelastic moduli [Pa].
    level_a, level_b : int
        Of the boxes, from `level_of`.
    """
    pose = relative_pose(work)
    r, _, t = pose
    stack = work.stack
    stack[0, 0] = fields.root[field_a]
    stack[0, 1] = fields.root[field_b]
    height = 1
    while True:
        height, node_a, node_b = next_leaves(fields, stack, height, level_a, level_b, pose)
        if height < 0:
            return 0
        first_a = fields.first[node_a]
        first_b = fields.first[node_b]
        for b in range(first_b, first_b + fields.count[node_b]):
            gx, gy, gz = fields.gradient[b, 0], fields.gradient[b, 1], fields.gradient[b, 2]
            bx = r[0] * gx + r[1] * gy + r[2] * gz
            by = r[3] * gx + r[4] * gy + r[5] * gz
            bz = r[6] * gx + r[7] * gy + r[8] * gz
            extent = (bx, by, bz, fields.constant[b] - (bx * t[0] + by * t[1] + bz * t[2]))
            for a in range(first_a, first_a + fields.count[node_a]):
                status = _tetrahedra(fields, work, a, modulus_a, b, modulus_b, r, t, extent)
                if status == POINTS_FULL:
                    return POINTS_FULL
