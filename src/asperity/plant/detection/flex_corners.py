"""Contacts of corners, ends and edges of boxes, capsules and cylinders with faces of flexes.

Between the vertices of cloth, or of a volume, that are as far apart as a box is wide the box would
rest on a few of them, tilt, and sink with its corners; one that hangs over the box's edge would
sink until it falls. Points that MuJoCo finds on an element cannot stand for these: they are
anywhere on faces or lines that lie on each other, and what rests on them shakes.

A corner touches the nearest face that it lies above or below. Its distance is that from the face's
plane, less the radius of the flex; the normal is the face's, outwards from volumes and towards the
geom's centre from cloth. A corner does not touch faces of a volume that look away from the geom.
Of the end of a capsule or cylinder this is the point that is lowest along the normal.

An edge of a box, or the axis of a capsule or cylinder, touches edges of the flex that cross it,
along the common normal. With the sine r > 0 by which a face of the box beside its edge rises
towards the flex the weight is 1 − r/0.2.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.plant.detection.copied_contacts import copy_contact, set_frame
from asperity.plant.detection.flex_faces import STEEPEST, find_crossing, inner_point
from asperity.plant.detection.flex_links import FACE, first_face
from asperity.plant.detection.geom_distance import BOX, CAPSULE, CYLINDER

__all__ = ["add_corners", "add_crossings"]

# Of a cylinder that stands on a face, cosine of the angle beyond which its rim has no lowest point.
_UPRIGHT = 0.98
# Of a corner below a face, in mean edges: what is deeper belongs to another one.
_DEEPEST = 1.0


@compiled
def _find_normal(position: np.ndarray, face: np.ndarray, first: int, normal: np.ndarray) -> float:
    """Fill the unit normal of a face; returns twice its area."""
    a = position[first + face[0]]
    b = position[first + face[1]]
    c = position[first + face[2]]
    square = 0.0
    for n in range(3):
        u = (n + 1) % 3
        v = (n + 2) % 3
        normal[n] = (b[u] - a[u]) * (c[v] - a[v]) - (b[v] - a[v]) * (c[u] - a[u])
        square += normal[n] * normal[n]
    area = np.sqrt(square)
    for n in range(3):
        normal[n] /= area if area > 0.0 else 1.0
    return area


@compiled
def _lies_over(
    position: np.ndarray,
    face: np.ndarray,
    first: int,
    point: np.ndarray,
    normal: np.ndarray,
    sign: float,
) -> bool:
    """Whether the line through a point along a face's normal, times a sign, meets the face."""
    for k in range(3):
        one = position[first + face[k]]
        other = position[first + face[(k + 1) % 3]]
        share = 0.0
        for n in range(3):
            u = (n + 1) % 3
            v = (n + 2) % 3
            share += (
                sign
                * normal[n]
                * (
                    (other[u] - one[u]) * (point[v] - one[v])
                    - (other[v] - one[v]) * (point[u] - one[u])
                )
            )
        if share < 0.0:
            return False
    return sign != 0.0


@compiled
def _find_lowest(
    plant: Table, state: Table, geom: int, end: np.ndarray, normal: np.ndarray, out: np.ndarray
) -> bool:
    """Fill the point of a box's corner, or of a round geom's end, that is lowest along a normal.

    False if that is any point of a cylinder's rim.
    """
    kind = plant.elastic.geom_shape[geom]
    reach = 0.0 if kind == BOX else plant.geoms.size[geom, 0]
    rotation = state.mj_geom_xmat[geom]
    along = 0.0
    if kind == CYLINDER:
        for n in range(3):
            along += normal[n] * rotation[3 * n + 2]
        if abs(along) > _UPRIGHT:
            return False
        reach /= np.sqrt(1.0 - along * along)
    for n in range(3):
        out[n] = end[n] - reach * (normal[n] - along * rotation[3 * n + 2])
    return True


@compiled
def _nearest_face(plant: Table, state: Table, flex: int, geom: int) -> int:
    """The face that the corner or end in row 8 of ``work_points`` touches, −1 if there is none.

    Fills row 10 with its normal, towards the geom, and the height above it, of the point in row 9.
    """
    elastic = plant.elastic
    position = state.mj_flexvert_xpos
    work = state.soft.work_points
    normal, lowest = work[6], work[7]
    first = elastic.flex_first_vertex[flex]
    center = state.mj_geom_xpos[geom]
    nearest = _DEEPEST * elastic.flex_edge[flex]
    found = -1
    for f in range(first_face(elastic, flex), first_face(elastic, flex + 1)):
        face = elastic.face_corner[f]
        area = _find_normal(position, face, first, normal)
        if elastic.flex_corners[flex] == 3:
            above = 0.0
            for n in range(3):
                above += normal[n] * (center[n] - position[first + face[0], n])
            turn = -1.0 if above < 0.0 else 1.0
            area *= turn
            for n in range(3):
                normal[n] *= turn
        if not _find_lowest(plant, state, geom, work[8], normal, lowest):
            continue
        height = 0.0
        towards = 0.0
        for n in range(3):
            height += normal[n] * (lowest[n] - position[first + face[0], n])
            towards += normal[n] * (center[n] - lowest[n])
        if abs(height) >= nearest or (towards <= 0.0 and elastic.flex_corners[flex] == 4):
            continue
        if not _lies_over(position, face, first, lowest, normal, area):
            continue
        nearest = abs(height)
        found = f
        work[10, 3] = height
        for n in range(3):
            work[10, n] = normal[n]
            work[9, n] = lowest[n]
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
def _fill_end(plant: Table, state: Table, geom: int, k: int, out: np.ndarray) -> None:
    """Fill a corner of a box, or an end of the axis of a round geom."""
    rotation = state.mj_geom_xmat[geom]
    size = plant.geoms.size[geom]
    for n in range(3):
        out[n] = state.mj_geom_xpos[geom, n]
        if plant.elastic.geom_shape[geom] == BOX:
            for a in range(3):
                out[n] += (2.0 * ((k >> a) & 1) - 1.0) * rotation[3 * n + a] * size[a]
        else:
            out[n] += (2.0 * k - 1.0) * rotation[3 * n + 2] * size[1]


@compiled
def add_corners(plant: Table, state: Table, c: int, side: int, margin: float) -> bool:
    """Add contacts of a geom's corners or ends with a flex, that side; False without room."""
    contacts = state.contacts
    elastic = plant.elastic
    geom = contacts.geom[c, 1 - side]
    flex = contacts.geom[c, side] - plant.ngeom
    kind = elastic.geom_shape[geom]
    if kind not in (CAPSULE, CYLINDER, BOX):
        return True
    work = state.soft.work_points
    size = plant.geoms.size[geom]
    radius = elastic.flex_radius[flex]
    _find_bounds(plant, state, flex, radius + margin + (0.0 if kind == BOX else size[0]))
    for k in range(8 if kind == BOX else 2):
        _fill_end(plant, state, geom, k, work[8])
        near = True
        for n in range(3):
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
        # From the first side to the second one: from the geom to the flex is against the normal.
        sign = -1.0 if side == 1 else 1.0
        set_frame(contacts, new, sign * work[10, 0], sign * work[10, 1], sign * work[10, 2])
        contacts.element[new, side] = elastic.face_element[face]
        contacts.vertex[new, side] = FACE
        for n in range(3):
            contacts.point[new, n] = work[9, n] - work[10, 3] * work[10, n]
        state.work.contact_weight[new] = 1.0
        contacts.count = new + 1
    return True


@compiled
def _crossing_weight(
    plant: Table, state: Table, flex: int, element: int, geom: int, axis: int, k: int
) -> float:
    """Weight of an element's edge that crosses that of a geom from its end k along an axis.

    Turns the normal, row 10 of ``work_points``, from the geom to the flex.
    """
    work = state.soft.work_points
    normal = work[10]
    inner_point(plant, state, flex, element, state.mj_geom_xpos[geom], work[7])
    towards = 0.0
    for n in range(3):
        towards += normal[n] * (work[7, n] - work[9, n])
    if (towards < 0.0) != (plant.elastic.flex_corners[flex] == 3):
        for n in range(3):
            normal[n] = -normal[n]
    rise = 0.0
    if plant.elastic.geom_shape[geom] == BOX:
        rotation = state.mj_geom_xmat[geom]
        for a in range(3):
            if a != axis:
                inwards = 1.0 - 2.0 * ((k >> a) & 1)
                along = 0.0
                for n in range(3):
                    along += normal[n] * rotation[3 * n + a]
                rise = max(rise, inwards * along)
    return max(1.0 - rise / STEEPEST, 0.0)


@compiled
def add_crossings(
    plant: Table, state: Table, c: int, side: int, element: int, margin: float
) -> bool:
    """Add contacts of an element's edges with a geom's that cross them; False without room."""
    contacts = state.contacts
    elastic = plant.elastic
    work = state.soft.work_points
    position = state.mj_flexvert_xpos
    geom = contacts.geom[c, 1 - side]
    flex = contacts.geom[c, side] - plant.ngeom
    kind = elastic.geom_shape[geom]
    number = elastic.flex_first_element[flex] + element
    first = elastic.flex_first_vertex[flex]
    radius = elastic.flex_radius[flex] + (0.0 if kind == BOX else plant.geoms.size[geom, 0])
    edges = elastic.element_edge
    for axis in range(0 if kind == BOX else 2, 3 if kind in (CAPSULE, CYLINDER, BOX) else 0):
        for k in range(8 if kind == BOX else 1):
            other = k + (1 << axis) if kind == BOX else 1
            if (k >> axis) & 1 and kind == BOX:
                continue
            _fill_end(plant, state, geom, k, work[0])
            _fill_end(plant, state, geom, other, work[1])
            for edge in range(edges[number], edges[number + 1]):
                u = position[first + elastic.edge_corner[edge, 0]]
                v = position[first + elastic.edge_corner[edge, 1]]
                if find_crossing(work[0], work[1], u, v, work) == np.inf:
                    continue
                weight = _crossing_weight(plant, state, flex, element, geom, axis, k)
                distance = -radius
                for n in range(3):
                    distance += work[10, n] * (work[9, n] - work[8, n])
                if weight == 0.0 or not -elastic.flex_edge[flex] < distance <= margin:
                    continue
                new = contacts.count
                if new >= contacts.link.shape[0]:
                    return False
                copy_contact(contacts, c, new)
                contacts.stiffness[new] *= weight
                contacts.signed_distance[new] = distance
                sign = 1.0 if side == 1 else -1.0
                set_frame(contacts, new, sign * work[10, 0], sign * work[10, 1], sign * work[10, 2])
                contacts.element[new, side] = element
                contacts.vertex[new, side] = FACE
                for n in range(3):
                    contacts.point[new, n] = work[9, n]
                state.work.contact_weight[new] = 1.0
                contacts.count = new + 1
    return True
