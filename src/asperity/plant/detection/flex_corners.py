"""Contacts of the corners of boxes with faces of flexes.

Between the vertices of cloth, or of a volume, that are as far apart as a box is wide the box would
rest on a few of them, tilt, and sink with its corners. Points that MuJoCo finds on an element
cannot stand for corners: they are anywhere on faces that lie on each other.

A corner touches the nearest face that it lies above or below. Its distance is that from the face's
plane, less the radius of the flex; the normal is the face's, outwards from volumes and towards the
box's centre from cloth. A corner does not touch faces of a volume that look away from the box.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.plant.detection.copied_contacts import copy_contact, set_frame
from asperity.plant.detection.flex_links import FACE, first_face

__all__ = ["add_corners"]

_BOX = 6
# Of a corner below a face, in mean edges: what is deeper belongs to another one.
_DEEPEST = 1.0


@compiled
def _height(
    position: np.ndarray, face: np.ndarray, first: int, corner: np.ndarray, normal: np.ndarray
) -> float:
    """Height of a point above a face, and its unit normal; infinity if it lies beside it."""
    a = position[first + face[0]]
    b = position[first + face[1]]
    c = position[first + face[2]]
    for n in range(3):
        u = (n + 1) % 3
        v = (n + 2) % 3
        normal[n] = (b[u] - a[u]) * (c[v] - a[v]) - (b[v] - a[v]) * (c[u] - a[u])
    square = normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2]
    if square == 0.0:
        return np.inf
    total = 0.0
    for k in range(2):
        # Areas of the point with two edges along the normal, as shares.
        one = a if k == 0 else c
        other = b if k == 0 else a
        share = 0.0
        for n in range(3):
            u = (n + 1) % 3
            v = (n + 2) % 3
            share += normal[n] * (
                (other[u] - one[u]) * (corner[v] - one[v])
                - (other[v] - one[v]) * (corner[u] - one[u])
            )
        if share < 0.0:
            return np.inf
        total += share / square
    if total > 1.0:
        return np.inf
    length = np.sqrt(square)
    height = 0.0
    for n in range(3):
        normal[n] /= length
        height += normal[n] * (corner[n] - a[n])
    return height


@compiled
def _nearest_face(plant: Table, state: Table, flex: int, geom: int) -> int:
    """The face that the corner in row 8 of ``work_points`` touches, −1 if there is none.

    Fills row 10 with its normal, towards the box, and the height of the corner above it.
    """
    elastic = plant.elastic
    work = state.soft.work_points
    corner, normal = work[8], work[9]
    first = elastic.flex_first_vertex[flex]
    center = state.mj_geom_xpos[geom]
    cloth = elastic.flex_corners[flex] == 3
    nearest = _DEEPEST * elastic.flex_edge[flex]
    found = -1
    for f in range(first_face(elastic, flex), first_face(elastic, flex + 1)):
        height = _height(state.mj_flexvert_xpos, elastic.face_corner[f], first, corner, normal)
        if abs(height) >= nearest:
            continue
        # Of the box's centre, above the corner, and above the plane with the height of it.
        towards = 0.0
        for n in range(3):
            towards += normal[n] * (center[n] - corner[n])
        if towards <= 0.0 and not cloth:
            continue
        sign = -1.0 if cloth and towards + height < 0.0 else 1.0
        nearest = abs(height)
        found = f
        for n in range(3):
            work[10, n] = sign * normal[n]
        work[10, 3] = sign * height
    return found


@compiled
def _find_bounds(plant: Table, state: Table, flex: int, reach: float) -> None:
    """Fill rows 0 and 1 of ``work_points`` with the box around a flex, with a reach."""
    position = state.mj_flexvert_xpos
    work = state.soft.work_points
    first = plant.elastic.flex_first_vertex[flex]
    last = first + plant.elastic.flex_vertices[flex]
    for n in range(3):
        low = np.inf
        high = -np.inf
        for p in range(first, last):
            low = min(low, position[p, n])
            high = max(high, position[p, n])
        work[0, n] = low - reach
        work[1, n] = high + reach


@compiled
def add_corners(plant: Table, state: Table, c: int, side: int, margin: float) -> bool:
    """Add contacts of a box's corners with a flex, that side of a contact; False without room."""
    contacts = state.contacts
    elastic = plant.elastic
    geom = contacts.geom[c, 1 - side]
    flex = contacts.geom[c, side] - plant.ngeom
    if elastic.geom_shape[geom] != _BOX:
        return True
    work = state.soft.work_points
    rotation = state.mj_geom_xmat[geom]
    size = plant.geoms.size[geom]
    radius = elastic.flex_radius[flex]
    _find_bounds(plant, state, flex, radius + margin)
    for k in range(8):
        near = True
        for n in range(3):
            work[8, n] = state.mj_geom_xpos[geom, n]
            for a in range(3):
                sign = 1.0 if (k >> a) & 1 else -1.0
                work[8, n] += sign * rotation[3 * n + a] * size[a]
            near = near and work[0, n] <= work[8, n] <= work[1, n]
        if not near:
            continue
        face = _nearest_face(plant, state, flex, geom)
        if face < 0 or work[10, 3] - radius > margin:
            continue
        new = contacts.count
        if new >= contacts.link.shape[0]:
            return False
        copy_contact(contacts, c, new)
        contacts.signed_distance[new] = work[10, 3] - radius
        # From the first side to the second one: from the box to the flex is against the normal.
        sign = -1.0 if side == 1 else 1.0
        set_frame(contacts, new, sign * work[10, 0], sign * work[10, 1], sign * work[10, 2])
        contacts.element[new, side] = elastic.face_element[face]
        contacts.vertex[new, side] = FACE
        for n in range(3):
            contacts.point[new, n] = work[8, n] - work[10, 3] * work[10, n]
        state.work.contact_weight[new] = 1.0
        contacts.count = new + 1
    return True
