"""Motion of geoms between two samples: did one pass another, and how fast did they meet?

Contacts are only seen where they are looked for. Between two samples a geom may enter another by no
more than their inner radii together, or it may turn up on the other side. `passed` tests this with
the path of one geom's centre in the frame of the other, against the other's bounding box grown by
the inner radius of the first: exact for balls against boxes, and otherwise at most too cautious
(corners of a bounding box are not part of a ball), which costs a shorter step.

A geom that does not fill its convex hull, as a mug, has a box and a centre for each of its parts.

Height fields have no such box: what would have its centre in their ground has passed its surface.

Geoms that touched at the first sample may move as the contact law has them, which is out of each
other again. Only if the path of one's centre goes through all of the other's bounding box, into it
and out of it, have they left each other on the wrong side.
"""

from __future__ import annotations

import itertools

import mujoco
import numpy as np

from asperity.compiled import Table, compiled, inlined
from asperity.plant.detection.height_fields import triangle_below
from asperity.plant.detection.hulls import hull_vertices
from asperity.plant.detection.near_pairs import colliding_bodies
from asperity.plant.detection.sweep_pairs import cannot_pass, find_motion, order_geoms
from asperity.plant.rotations import Vector, between

__all__ = [
    "colliding_geoms",
    "cores_of_geom",
    "goes_through",
    "inner_radii",
    "passed",
    "relative_motion",
]

Poses = tuple[np.ndarray, np.ndarray]
"""Positions of geoms, shape (ngeom, 3) [m], and their matrices of rotation, (ngeom, 9)."""

_HULL_INNER_RADIUS = 0.5
"""Inner radius of a mesh's hull over the smallest half side of its box.

A convex body of width w holds a ball of radius w/(2√3) (Steinhagen), and w is at most the smallest
side of the box.
"""


# Half side of a geom, over the radius of a ball in it, from which it has ends that count.
_LONGER = 1.2
# Balls along the rim of a cylinder.
_RIM_POINTS = 6
# Points of a path that are compared with the ground below.
_MOST_POINTS = 1000


def inner_radii(model: mujoco.MjModel) -> np.ndarray:
    """Radius of a ball that fits into each geom [m], shape (ngeom,); infinite for planes.

    That of a height field is zero: in its ground, contacts have any normals.
    """
    kinds = mujoco.mjtGeom
    radii = np.zeros(model.ngeom)
    for geom in range(model.ngeom):
        kind = int(model.geom_type[geom])
        size = model.geom_size[geom]
        if kind == int(kinds.mjGEOM_PLANE):
            radii[geom] = np.inf
        elif kind in (int(kinds.mjGEOM_SPHERE), int(kinds.mjGEOM_CAPSULE)):
            radii[geom] = size[0]
        elif kind == int(kinds.mjGEOM_CYLINDER):
            radii[geom] = min(size[0], size[1])
        elif kind in (int(kinds.mjGEOM_BOX), int(kinds.mjGEOM_ELLIPSOID)):
            radii[geom] = np.min(size)
        elif kind == int(kinds.mjGEOM_SDF):
            radii[geom] = _half_thickness(model, int(model.geom_dataid[geom]))
        elif kind != int(kinds.mjGEOM_HFIELD):
            radii[geom] = _HULL_INNER_RADIUS * np.min(model.geom_aabb[geom, 3:])
    return radii


def cores_of_geom(model: mujoco.MjModel, geom: int, radius: float) -> np.ndarray:
    """Centres of balls of a radius in a geom: the middle of its box, and those at its far ends.

    Returns
    -------
    array, shape (n, 3)
        In the geom's frame [m].
    """
    kinds = mujoco.mjtGeom
    kind = int(model.geom_type[geom])
    middle, half = model.geom_aabb[geom, :3], model.geom_aabb[geom, 3:]
    far = np.where(half > _LONGER * radius, half - radius, 0.0)
    if kind == int(kinds.mjGEOM_BOX):
        ends = np.array(list(itertools.product(*({-x, x} for x in far))))
    elif kind == int(kinds.mjGEOM_CYLINDER):
        angles = np.arange(_RIM_POINTS if far[0] > 0.0 else 1) * 2.0 * np.pi / _RIM_POINTS
        ends = np.array(
            [(far[0] * np.cos(a), far[0] * np.sin(a), z) for z in {-far[2], far[2]} for a in angles]
        )
    elif kind == int(kinds.mjGEOM_MESH):
        ends = hull_vertices(model, int(model.geom_dataid[geom])) - middle
        ends = ends[np.unique([ends.argmin(axis=0), ends.argmax(axis=0)])]
        distance = np.linalg.norm(ends, axis=1, keepdims=True)
        ends *= np.maximum(1.0 - radius / np.maximum(distance, 1e-300), 0.0)
    elif kind in (int(kinds.mjGEOM_CAPSULE), int(kinds.mjGEOM_ELLIPSOID)):
        ends = np.concatenate([np.diag(far), -np.diag(far)])
    else:
        return middle[None].copy()
    return middle + np.concatenate([np.zeros((1, 3)), ends[np.any(ends != 0.0, axis=1)]])


def _half_thickness(model: mujoco.MjModel, mesh: int) -> float:
    """Volume over surface of a mesh [m]: half the thickness of a plate, bowl or ring."""
    start, faces = int(model.mesh_vertadr[mesh]), int(model.mesh_faceadr[mesh])
    vertices = model.mesh_vert[start : start + int(model.mesh_vertnum[mesh])].astype(np.float64)
    corners = vertices[model.mesh_face[faces : faces + int(model.mesh_facenum[mesh])]]
    doubled = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    volume = abs(float(np.einsum("fi,fi->", corners[:, 0], doubled))) / 6.0
    return volume / max(0.5 * float(np.sum(np.linalg.norm(doubled, axis=1))), 1e-300)


def colliding_geoms(model: mujoco.MjModel) -> np.ndarray:
    """Which geoms collide with which, by MuJoCo's rules: uint8, shape (ngeom, ngeom)."""
    kind, affinity = model.geom_contype, model.geom_conaffinity
    matching = (kind[:, None] & affinity[None, :]) != 0
    collide = (matching | matching.T) & colliding_bodies(model)[
        np.ix_(model.geom_bodyid, model.geom_bodyid)
    ]
    collide[model.pair_geom1, model.pair_geom2] = True
    collide[model.pair_geom2, model.pair_geom1] = True
    weld = model.body_weldid[model.geom_bodyid]
    collide &= weld[:, None] != weld[None, :]
    return np.ascontiguousarray(collide, dtype=np.uint8)


@compiled
def _in_contact(contacts: Table, a: int, b: int) -> bool:
    geom = contacts.geom
    for c in range(contacts.count):
        if (geom[c, 0] == a and geom[c, 1] == b) or (geom[c, 0] == b and geom[c, 1] == a):
            return True
    return False


@compiled
def _local(
    box: np.ndarray, part: int, g: int, points: np.ndarray, point: int, other: int, poses: Poses
) -> Vector:
    """A point of geom ``other`` in the frame of the box of a part of geom ``g``."""
    xpos, xmat = poses
    x, y, z = between(xpos, other, xpos, g)
    for a in range(3):
        offset = points[point, a]
        x += xmat[other, a] * offset
        y += xmat[other, 3 + a] * offset
        z += xmat[other, 6 + a] * offset
    return (
        xmat[g, 0] * x + xmat[g, 3] * y + xmat[g, 6] * z - box[part, 0],
        xmat[g, 1] * x + xmat[g, 4] * y + xmat[g, 7] * z - box[part, 1],
        xmat[g, 2] * x + xmat[g, 5] * y + xmat[g, 8] * z - box[part, 2],
    )


@compiled
def _path_inside(
    box: np.ndarray,
    points: np.ndarray,
    point: int,
    core: int,
    part: int,
    g: int,
    growth: float,
    before: Poses,
    now: Poses,
) -> Vector:
    """Part of the path of a point of geom ``core`` that is in the grown box of geom ``g``.

    From where to where, over the whole path, whose ends are 0 and 1 (the first above the second if
    none is); and the length of the whole path, squared.
    """
    start = _local(box, part, g, points, point, core, before)
    end = _local(box, part, g, points, point, core, now)
    square = 0.0
    low = -np.inf
    high = np.inf
    for a in range(3):
        step = end[a] - start[a]
        square += step * step
        half = box[part, 3 + a] + growth
        if abs(step) < 1e-12:
            if abs(start[a]) > half:
                return 1.0, 0.0, 0.0
            continue
        first = (-half - start[a]) / step
        second = (half - start[a]) / step
        low = max(low, min(first, second))
        high = min(high, max(first, second))
    return low, high, square


@compiled
def _passes_near(plant: Table, core: int, g: int, before: Poses, now: Poses) -> bool:
    """Whether a part of geom ``core`` may have been in the box of all parts of geom ``g``."""
    box = plant.geoms.box
    square = 0.0
    for a in range(3):
        square += box[core, 3 + a] * box[core, 3 + a]
    growth = np.sqrt(square) + plant.geoms.inner_radius[core]
    low, high, _ = _path_inside(box, box, core, core, g, g, growth, before, now)
    return low <= high and low <= 1.0 and high >= 0.0


@compiled
def _sinks(plant: Table, core: int, field_geom: int, before: Poses, now: Poses) -> bool:
    """Whether a long step takes the centre of a geom into the ground of a height field."""
    fields = plant.height_fields
    field = plant.geoms.height_field[field_geom]
    box = plant.geoms.box
    start = _local(box, field_geom, field_geom, box, core, core, before)
    end = _local(box, field_geom, field_geom, box, core, core, now)
    length = np.hypot(end[0] - start[0], end[1] - start[1])
    square = length * length + (end[2] - start[2]) ** 2
    if square <= plant.geoms.inner_radius[core] ** 2:
        return False
    size = fields.size[field]
    cell = 2.0 * min(size[0] / (fields.columns[field] - 1), size[1] / (fields.rows[field] - 1))
    points = 1 + int(min(length / cell, _MOST_POINTS))
    for i in range(points + 1):
        share = i / points
        x = box[field_geom, 0] + start[0] + share * (end[0] - start[0])
        y = box[field_geom, 1] + start[1] + share * (end[1] - start[1])
        z = box[field_geom, 2] + start[2] + share * (end[2] - start[2])
        triangle, height, _, _ = triangle_below(plant, field, x, y)
        inside = triangle >= 0 and z < height
        if i == 0 and inside:
            # It is there already.
            return False
        if inside:
            return True
    return False


@compiled
def goes_through(plant: Table, core: int, g: int, touched: bool, before: Poses, now: Poses) -> bool:
    """Whether a geom may have passed through geom ``g`` with a long step.

    Of geoms that touched before, the centre of one must have gone through all of the other.
    """
    geoms = plant.geoms
    if geoms.height_field[g] >= 0:
        return _sinks(plant, core, g, before, now)
    if geoms.height_field[core] >= 0:
        return False
    radius = geoms.inner_radius[core]
    growth = 0.0 if touched else radius
    allowed = radius + geoms.inner_radius[g]
    cores = geoms.core_first[core + 1] - geoms.core_first[core]
    parts = geoms.part_first[g] + geoms.part_count[g]
    if max(cores, geoms.part_count[g]) > 1 and not _passes_near(plant, core, g, before, now):
        return False
    for i in range(geoms.core_first[core], geoms.core_first[core + 1]):
        for j in range(geoms.part_first[g], parts):
            low, high, square = _path_inside(
                geoms.part_box, geoms.cores, i, core, j, g, growth, before, now
            )
            if low > high or square <= allowed * allowed:
                continue
            if touched:
                if low > 0.0 and high < 1.0:
                    return True
            elif low <= 1.0 and high >= 0.0:
                return True
    return False


@compiled
def _one_passed(plant: Table, contacts: Table, sweep: Table, state: Table, a: int, b: int) -> bool:
    """Whether one of two geoms may have passed through the other on the way to a state."""
    before = (sweep.position, sweep.rotation)
    now = (state.mj_geom_xpos, state.mj_geom_xmat)
    if not (
        goes_through(plant, a, b, False, before, now)
        or goes_through(plant, b, a, False, before, now)
    ):
        return False
    return (
        not _in_contact(contacts, a, b)
        or goes_through(plant, a, b, True, before, now)
        or goes_through(plant, b, a, True, before, now)
    )


@compiled
def passed(plant: Table, contacts: Table, sweep: Table, state: Table) -> bool:
    """Whether a geom may have passed through another on the way to a state.

    ``contacts`` and the poses of ``sweep`` belong to the sample before.
    """
    if not find_motion(plant, sweep, state):
        return False
    order_geoms(plant, sweep, state)
    order = sweep.order
    for i in range(order.size):
        a = order[i]
        moves = sweep.moves[a] == 1
        for j in range(i + 1, order.size):
            b = order[j]
            if sweep.low[b] > sweep.high[a]:
                break
            # Of two geoms that approach by more than both inner radii, one has moved more than its
            # own, relative to anything.
            if (
                (moves or sweep.moves[b] == 1)
                and plant.geoms.collides[a, b]
                and not cannot_pass(plant, a, b, sweep, state)
                and _one_passed(plant, contacts, sweep, state, a, b)
            ):
                return True
    return False


@inlined
def _way_of(contacts: Table, c: int, side: int, before: Poses, now: Poses) -> Vector:
    """How far the material point of a geom that is now at a contact has moved."""
    g, point = contacts.geom[c, side], contacts.point
    position, rotation = before
    xpos, xmat = now
    x, y, z = between(point, c, xpos, g)
    u = xmat[g, 0] * x + xmat[g, 3] * y + xmat[g, 6] * z
    v = xmat[g, 1] * x + xmat[g, 4] * y + xmat[g, 7] * z
    w = xmat[g, 2] * x + xmat[g, 5] * y + xmat[g, 8] * z
    r = rotation[g]
    return (
        point[c, 0] - position[g, 0] - (r[0] * u + r[1] * v + r[2] * w),
        point[c, 1] - position[g, 1] - (r[3] * u + r[4] * v + r[5] * w),
        point[c, 2] - position[g, 2] - (r[6] * u + r[7] * v + r[8] * w),
    )


@compiled
def relative_motion(contacts: Table, c: int, sweep: Table, state: Table) -> tuple[float, float]:
    """How far the surfaces at a contact of a state have moved since the sample before [m].

    Returns by how much they have approached each other along its normal, and their way across it.
    """
    before = (sweep.position, sweep.rotation)
    now = (state.mj_geom_xpos, state.mj_geom_xmat)
    first = _way_of(contacts, c, 0, before, now)
    second = _way_of(contacts, c, 1, before, now)
    closing = 0.0
    square = 0.0
    for a in range(3):
        way = first[a] - second[a]
        closing += contacts.frame[c, 6 + a] * way
        square += way * way
    return closing, np.sqrt(max(square - closing * closing, 0.0))
