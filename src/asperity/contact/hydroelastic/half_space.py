"""Contact polygons with half-spaces, rigid ones and compliant slabs.

A half-space is what lies below a plane, n · x ≤ d. A rigid one cuts tetrahedra along that plane. A
compliant one has a pressure of its own, growing over the depth ℓ of its slab,
e(x) = (d − n · x)/ℓ: with a field it meets where pressures are equal, and a rigid surface meets it
wherever it is below the plane.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled, inlined
from asperity.contact.hydroelastic.faces import add_polygon
from asperity.contact.hydroelastic.points import FLAT, POINTS_FULL, angle_weight
from asperity.contact.hydroelastic.polygons import clip, section

__all__ = ["mesh_on_rigid_plane", "mesh_on_slab", "surface_on_slab"]


@compiled
def _plane(work: Table) -> tuple[float, float, float, float]:
    """Normal and offset of the second geom's plane, its z axis, in the frame of the first."""
    r = work.rotation
    t = work.translation
    return r[0, 2], r[1, 2], r[2, 2], r[0, 2] * t[0] + r[1, 2] * t[1] + r[2, 2] * t[2]


@compiled
def _spans(
    fields: Table, node: int, level: int, nx: float, ny: float, nz: float, d: float, below: bool
) -> bool:
    """Whether a box has points on the plane, or below it if that counts."""
    box = fields.box
    if box[node, level, 3] < 0.0:
        return False
    c = box[node, level]
    away = nx * c[0] + ny * c[1] + nz * c[2] - d
    reach = abs(nx) * c[3] + abs(ny) * c[4] + abs(nz) * c[5]
    return away <= reach and (below or away >= -reach)


@inlined
def _next_leaf(
    fields: Table,
    stack: np.ndarray,
    height: int,
    level: int,
    plane: tuple[float, float, float, float],
    below: bool,
) -> tuple[int, int, int]:
    """The next leaf below the nodes on the stack that `_spans`.

    Returns the height of the stack, −1 where there is no other leaf, and the leaf's first item and
    the one after its last.
    """
    nx, ny, nz, d = plane
    while height > 0:
        height -= 1
        node = stack[height, 0]
        if not _spans(fields, node, level, nx, ny, nz, d, below):
            continue
        if fields.child[node, 0] < 0:
            first = fields.first[node]
            return height, first, first + fields.count[node]
        stack[height, 0] = fields.child[node, 1]
        stack[height + 1, 0] = fields.child[node, 0]
        height += 2
    return -1, 0, 0


@compiled
def mesh_on_rigid_plane(fields: Table, work: Table, field: int, modulus: float, level: int) -> int:
    """Add the points of a compliant mesh on a rigid half-space; ``POINTS_FULL`` without room.

    ``work`` has the half-space's pose in the frame of the mesh, in which the points are.
    """
    nx, ny, nz, d = _plane(work)
    value = work.value
    stack = work.stack
    stack[0, 0] = fields.root[field]
    plane = (nx, ny, nz, d)
    height = 1
    while True:
        height, first, last = _next_leaf(fields, stack, height, level, plane, False)
        if height < 0:
            return 0
        for a in range(first, last):
            gx, gy, gz = fields.gradient[a, 0], fields.gradient[a, 1], fields.gradient[a, 2]
            along = gx * nx + gy * ny + gz * nz
            steepness = fields.steepness[a]
            weight = angle_weight(along / steepness, fields.angle_rule)
            if weight <= 0.0:
                continue
            for i in range(4):
                x = fields.vertex[a, i, 0]
                y = fields.vertex[a, i, 1]
                z = fields.vertex[a, i, 2]
                value[i] = nx * x + ny * y + nz * z - d
            status = add_polygon(
                fields,
                work,
                section(fields.vertex, a, value, work.polygon),
                (-nx, -ny, -nz),
                weight,
                modulus,
                (gx, gy, gz),
                fields.constant[a],
                modulus * max(along, FLAT * steepness),
                (fields.cell[a], 0),
            )
            if status == POINTS_FULL:
                return POINTS_FULL


@compiled
def mesh_on_slab(
    fields: Table,
    work: Table,
    field: int,
    modulus: float,
    level: int,
    slab_modulus: float,
    depth: float,
) -> int:
    """Add the points of a compliant mesh on a compliant half-space; ``POINTS_FULL`` without room.

    ``work`` has the half-space's pose in the frame of the mesh, in which the points are; the
    half-space's extent is 1 at ``depth`` [m].
    """
    px, py, pz, d = _plane(work)
    steepness_b = slab_modulus / depth
    # Gradient of the slab's pressure
    bx = -steepness_b * px
    by = -steepness_b * py
    bz = -steepness_b * pz
    value = work.value
    stack = work.stack
    stack[0, 0] = fields.root[field]
    plane = (px, py, pz, d)
    height = 1
    while True:
        height, first, last = _next_leaf(fields, stack, height, level, plane, True)
        if height < 0:
            return 0
        for a in range(first, last):
            gx, gy, gz = fields.gradient[a, 0], fields.gradient[a, 1], fields.gradient[a, 2]
            steepness_a = modulus * fields.steepness[a]
            nx = bx - modulus * gx
            ny = by - modulus * gy
            nz = bz - modulus * gz
            norm = np.sqrt(nx * nx + ny * ny + nz * nz)
            if norm <= 1e-9 * (steepness_a + steepness_b):
                continue
            nx /= norm
            ny /= norm
            nz /= norm
            slope_a = -modulus * (gx * nx + gy * ny + gz * nz)
            slope_b = bx * nx + by * ny + bz * nz
            cosine = min(slope_a / steepness_a, slope_b / steepness_b)
            weight = angle_weight(cosine, fields.angle_rule)
            if weight <= 0.0:
                continue
            for i in range(4):
                x = fields.vertex[a, i, 0]
                y = fields.vertex[a, i, 1]
                z = fields.vertex[a, i, 2]
                below = d - (px * x + py * y + pz * z)
                value[i] = modulus * fields.extent[a, i] - steepness_b * below
            slope = FLAT * min(steepness_a, steepness_b)
            if slope_a > 0.0 and slope_b > 0.0:
                slope = max(slope, slope_a * slope_b / (slope_a + slope_b))
            status = add_polygon(
                fields,
                work,
                section(fields.vertex, a, value, work.polygon),
                (nx, ny, nz),
                weight,
                modulus,
                (gx, gy, gz),
                fields.constant[a],
                slope,
                (fields.cell[a], 0),
            )
            if status == POINTS_FULL:
                return POINTS_FULL


@compiled
def surface_on_slab(
    fields: Table, work: Table, field: int, slab_modulus: float, depth: float
) -> int:
    """Add the points of a rigid mesh on a compliant half-space; ``POINTS_FULL`` without room.

    ``work`` has the half-space's pose in the frame of the mesh, in which the points are; the
    half-space's extent is 1 at ``depth`` [m].
    """
    px, py, pz, d = _plane(work)
    gradient = (-px / depth, -py / depth, -pz / depth)
    clipped = work.clipped
    stack = work.stack
    stack[0, 0] = fields.surface_root[field]
    plane = (px, py, pz, d)
    height = 1
    while True:
        height, first, last = _next_leaf(fields, stack, height, 0, plane, True)
        if height < 0:
            return 0
        for triangle in range(first, last):
            nx = fields.normal[triangle, 0]
            ny = fields.normal[triangle, 1]
            nz = fields.normal[triangle, 2]
            cosine = -(nx * px + ny * py + nz * pz)
            weight = angle_weight(cosine, fields.angle_rule)
            if weight <= 0.0:
                continue
            for i in range(3):
                for axis in range(3):
                    clipped[i, axis] = fields.corner[triangle, i, axis]
            status = add_polygon(
                fields,
                work,
                clip(clipped, 3, work.polygon, -px, -py, -pz, d),
                (nx, ny, nz),
                weight,
                slab_modulus,
                gradient,
                d / depth,
                slab_modulus / depth * max(cosine, FLAT),
                (fields.facet[triangle], 0),
            )
            if status == POINTS_FULL:
                return POINTS_FULL
