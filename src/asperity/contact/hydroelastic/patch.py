"""The patch of two geoms: all points that stand for their contact polygons."""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.contact.combination import find_pair
from asperity.contact.hydroelastic.balls import (
    NEEDS_MESH,
    are_balls,
    ball_on_side,
    ball_points,
)
from asperity.contact.hydroelastic.boxes import hull_support, level_of
from asperity.contact.hydroelastic.compliant_pair import compliant_pair
from asperity.contact.hydroelastic.field_layout import (
    CENTROID,
    COMPLIANT_HALF_SPACE,
    COMPLIANT_MESH,
    NO_SURFACE,
    RIGID_HALF_SPACE,
    RIGID_MESH,
)
from asperity.contact.hydroelastic.half_space import (
    mesh_on_rigid_plane,
    mesh_on_slab,
    surface_on_slab,
)
from asperity.contact.hydroelastic.points import POINTS_FULL, write_points
from asperity.contact.hydroelastic.rigid_pair import rigid_pair

__all__ = ["find_points", "makes_patch"]

# Level cuts are widened by this share for rounding.
_WIDER = 1.0 + 1e-9


@compiled
def makes_patch(fields: Table, a: int, b: int) -> bool:
    """Whether two geoms touch with fields; otherwise they touch in points."""
    kind_a = fields.geom_kind[a]
    kind_b = fields.geom_kind[b]
    if kind_a == NO_SURFACE or kind_b == NO_SURFACE:
        return False
    if kind_a >= RIGID_MESH and kind_b >= RIGID_MESH:
        return False
    half_a = kind_a in (COMPLIANT_HALF_SPACE, RIGID_HALF_SPACE)
    half_b = kind_b in (COMPLIANT_HALF_SPACE, RIGID_HALF_SPACE)
    if half_a and half_b:
        return False
    key = min(a, b) * fields.geom_kind.size + max(a, b)
    return fields.point_pairs.size == 0 or find_pair(fields.point_pairs, key) < 0


@compiled
def _set_pose(work: Table, a: int, b: int, xpos: np.ndarray, xmat: np.ndarray) -> None:
    """Fill the pose of geom b in the frame of geom a."""
    for i in range(3):
        translation = 0.0
        for k in range(3):
            translation += xmat[a, 3 * k + i] * (xpos[b, k] - xpos[a, k])
            turn = 0.0
            for m in range(3):
                turn += xmat[a, 3 * m + i] * xmat[b, 3 * m + k]
            work.rotation[i, k] = turn
        work.translation[i] = translation


@compiled
def _overlap(fields: Table, work: Table, a: int, b: int, nx: float, ny: float, nz: float) -> float:
    """Width of the overlap of two hulls along a direction from a to b, in the frame of a [m]."""
    r = work.rotation
    t = work.translation
    reach_a = hull_support(fields, a, nx, ny, nz)
    reach_b = hull_support(
        fields,
        b,
        -(r[0, 0] * nx + r[1, 0] * ny + r[2, 0] * nz),
        -(r[0, 1] * nx + r[1, 1] * ny + r[2, 1] * nz),
        -(r[0, 2] * nx + r[1, 2] * ny + r[2, 2] * nz),
    )
    return reach_a + reach_b - (t[0] * nx + t[1] * ny + t[2] * nz)


@compiled
def _is_on_side(fields: Table, ball: int, other: int) -> bool:
    """Whether the first is a compliant ball, and the second has flat sides."""
    return (
        fields.geom_ball[ball] > 0.0
        and fields.geom_kind[ball] == COMPLIANT_MESH
        and fields.geom_sides[other, 2] > 0.0
        and fields.geom_kind[other] in (COMPLIANT_MESH, RIGID_MESH)
    )


@compiled
def find_points(
    fields: Table,
    work: Table,
    a: int,
    b: int,
    xpos: np.ndarray,
    xmat: np.ndarray,
    normal: tuple[float, float, float],
) -> tuple[int, int]:
    """Fill ``work.point`` with the points of two geoms for which `makes_patch` is true.

    Parameters
    ----------
    fields, work : Table
    a, b : int
        The geoms.
    xpos, xmat : arrays, shapes (ngeom, 3) and (ngeom, 9)
        Poses of geoms.
    normal : tuple of float
        Any direction, best that from a to b along which they overlap least. It decides how long the
        search takes, not what it finds.

    Returns
    -------
    tuple of int
        ``POINTS_FULL`` if there were too many, otherwise 0; and in which geom's frame the points
        are, with normals from that geom to the other one.
    """
    work.point_count = 0
    work.corner_count = 0
    work.polygon_count = 0
    work.face_count = 0
    work.exact = 0
    # The first is a compliant mesh if there is one, and half-spaces come second.
    first = a
    second = b
    sign = 1.0
    kind_a = fields.geom_kind[a]
    kind_b = fields.geom_kind[b]
    half_a = kind_a in (COMPLIANT_HALF_SPACE, RIGID_HALF_SPACE)
    if half_a or (kind_b == COMPLIANT_MESH and kind_a != COMPLIANT_MESH):
        first = b
        second = a
        sign = -1.0
    # A ball on something with flat sides comes first.
    if _is_on_side(fields, second, first):
        first, second = second, first
        sign = -sign
    _set_pose(work, first, second, xpos, xmat)
    # Pictures need polygons, and Drake's rule has no other.
    exact = fields.quadrature != CENTROID and work.keep_polygons == 0
    if exact and are_balls(fields, first, second):
        status = ball_points(fields, work, first, second)
        if status != NEEDS_MESH:
            work.exact = work.point_count
            return status, first
    meshes = 1.0
    if exact and _is_on_side(fields, first, second):
        status, weight = ball_on_side(fields, work, first, second)
        work.exact = work.point_count
        meshes = 1.0 - weight
        if status == POINTS_FULL or meshes == 0.0:
            return status, first
    kind = fields.geom_kind[second]
    field_a = fields.geom_field[first]
    modulus_a = fields.geom_modulus[first]
    modulus_b = fields.geom_modulus[second]
    if kind in (COMPLIANT_HALF_SPACE, RIGID_HALF_SPACE):
        r = work.rotation
        nx = r[0, 2]
        ny = r[1, 2]
        nz = r[2, 2]
        d = nx * work.translation[0] + ny * work.translation[1] + nz * work.translation[2]
        width = hull_support(fields, field_a, -nx, -ny, -nz) + d
    else:
        nx = 0.0
        ny = 0.0
        nz = 0.0
        for k in range(3):
            nx += sign * xmat[first, 3 * k] * normal[k]
            ny += sign * xmat[first, 3 * k + 1] * normal[k]
            nz += sign * xmat[first, 3 * k + 2] * normal[k]
        width = _overlap(fields, work, field_a, fields.geom_field[second], nx, ny, nz)
    if width <= 0.0 and work.exact == 0:
        return 0, first
    pressure = width * modulus_a
    if fields.geom_kind[first] != RIGID_MESH:
        pressure *= fields.steepest[field_a] * _WIDER
    level = level_of(pressure / modulus_a)
    if fields.geom_kind[first] == RIGID_MESH:
        status = surface_on_slab(fields, work, field_a, modulus_b, fields.geom_depth[second])
    elif kind == RIGID_HALF_SPACE:
        status = mesh_on_rigid_plane(fields, work, field_a, modulus_a, level)
    elif kind == COMPLIANT_HALF_SPACE:
        depth = fields.geom_depth[second]
        level = level_of(min(pressure, width * modulus_b / depth * _WIDER) / modulus_a)
        status = mesh_on_slab(fields, work, field_a, modulus_a, level, modulus_b, depth)
    elif kind == RIGID_MESH:
        status = rigid_pair(fields, work, field_a, modulus_a, level, fields.geom_field[second])
    else:
        field_b = fields.geom_field[second]
        pressure = min(pressure, width * modulus_b * fields.steepest[field_b] * _WIDER)
        status = compliant_pair(
            fields,
            work,
            field_a,
            modulus_a,
            level_of(pressure / modulus_a),
            field_b,
            modulus_b,
            level_of(pressure / modulus_b),
        )
    if status != POINTS_FULL:
        status = write_points(fields, work)
    if work.exact > 0:
        for i in range(work.point_count):
            weight = 1.0 - meshes if i < work.exact else meshes
            work.point[i, 6] *= weight
            work.point[i, 8] *= weight
    return status, first
