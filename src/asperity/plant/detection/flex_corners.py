"""Contacts of faces of flexes with corners, ends and edges of geoms, and with spheres.

Between the vertices of cloth, or of a volume, that are as far apart as a box is wide the box would
rest on a few of them, tilt, and sink with its corners; one that hangs over the box's edge would
sink until it falls.

Corners, edges and sides of geoms are those of `asperity.plant.model.flex_outlines`.

A corner touches the faces that it lies above, or the nearest that it lies below. Its distance is
that from the face's plane, less the radius of the flex; the normal is the face's, outwards from
volumes and towards the geom's centre from cloth. A corner does not touch faces of a volume that
look away from the geom. Of a sphere, or the end of a capsule or cylinder, this is the point that is
lowest along the normal, and of a cylinder's end that lies flat on a face six points of its rim.

An edge of a box or hull, or the axis of a capsule or cylinder, touches edges of the flex that cross
it, along the common normal. With the sine r > 0 by which a face of the geom beside its edge rises
towards the flex the weight is 1 − r/0.2. Diagonals of flat quadrilaterals of volumes do not touch
it: what crosses one crosses a side, too. A sphere, or a capsule's end, touches all edges between
whose faces it is, with the sine by which a face rises from the edge towards it.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled, inlined
from asperity.plant.detection.copied_contacts import copy_contact, set_frame
from asperity.plant.detection.field_motion import surface_motion
from asperity.plant.detection.flex_faces import PARALLEL, STEEPEST, above
from asperity.plant.detection.flex_links import FACE, first_face
from asperity.plant.detection.geom_types import BOX, CAPSULE, CYLINDER, MESH, SPHERE

__all__ = ["HELD", "MOST_SIDES", "add_contact", "add_corners", "add_crossings"]

MOST_SIDES = 62
"""Bits of a vertex: outside which sides of a geom it is."""
HELD = 1 << MOST_SIDES
"""And that it is fixed to the geom's body."""
_SIDES = HELD - 1

# Of a cylinder that stands on a face, cosine of the angle beyond which its rim has no lowest point.
_UPRIGHT = 0.98
# Of a point beside a face, over its area: what is above an edge is above both faces.
_BESIDE = 1e-9
# Of a corner below a face, in mean edges: what is deeper belongs to another one.
_DEEPEST = 1.0


@compiled
def add_contact(
    plant: Table, state: Table, like: int, distance: float, element: int, vertex: int
) -> bool:
    """Add a contact of a geom with an element or vertex of a flex; False without room.

    Its point and normal, from the geom to the flex, are in rows 9 and 10 of ``work_points``, and
    its materials those of another contact.
    """
    contacts = state.contacts
    point, normal = state.soft.work_points[9], state.soft.work_points[10]
    new = contacts.count
    if new >= contacts.link.shape[0]:
        return False
    copy_contact(contacts, like, new)
    contacts.signed_distance[new] = distance
    set_frame(contacts, new, normal[0], normal[1], normal[2])
    contacts.element[new, 1] = element
    contacts.vertex[new, 1] = vertex
    motion = surface_motion(plant, state, contacts.geom[new, 0], point[0], point[1], point[2])
    contacts.surface_velocity[new, 0] = 0.0
    contacts.surface_velocity[new, 1] = 0.0
    for n in range(3):
        contacts.point[new, n] = point[n]
        for t in range(2):
            contacts.surface_velocity[new, t] -= contacts.frame[new, 3 * t + n] * motion[n]
    state.work.contact_weight[new] = 1.0
    contacts.count = new + 1
    return True


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
        if share < -_BESIDE * sign * sign:
            return False
    return sign != 0.0


@inlined
def _radius(plant: Table, geom: int) -> float:
    """Of what is round about its corners or its axis [m]."""
    kind = plant.elastic.geom_shape[geom]
    return 0.0 if kind in (BOX, MESH) else plant.geoms.size[geom, 0]


@compiled
def _fill_corner(plant: Table, state: Table, geom: int, k: int, out: np.ndarray) -> None:
    """Fill where a corner is, as `asperity.plant.model.flex_outlines` has them."""
    rotation = state.mj_geom_xmat[geom]
    corner = plant.elastic.geom_corner[k]
    for n in range(3):
        out[n] = state.mj_geom_xpos[geom, n]
        for a in range(3):
            out[n] += rotation[3 * n + a] * corner[a]


@compiled
def _find_lowest(
    plant: Table,
    state: Table,
    geom: int,
    k: int,
    end: np.ndarray,
    normal: np.ndarray,
    out: np.ndarray,
) -> bool:
    """Fill the point of a geom's corner or end that is lowest along a normal.

    False of points of a rim that has a lowest one, and of the end of a cylinder that has none.
    """
    kind = plant.elastic.geom_shape[geom]
    on_rim = k > plant.elastic.geom_corner_first[geom] + 1
    reach = _radius(plant, geom)
    rotation = state.mj_geom_xmat[geom]
    along = 0.0
    if kind == CYLINDER:
        for n in range(3):
            along += normal[n] * rotation[3 * n + 2]
        if (abs(along) > _UPRIGHT) != on_rim:
            return False
        reach = 0.0 if on_rim else reach / np.sqrt(1.0 - along * along)
    for n in range(3):
        out[n] = end[n] - reach * (normal[n] - along * rotation[3 * n + 2])
    return True


@compiled
def _is_beside(state: Table, first: int, corners: np.ndarray) -> bool:
    """Whether an edge or face cannot touch a geom: it is outside a side, or the geom's own."""
    outside = state.soft.vertex_outside
    common = _SIDES
    held = 0
    for k in range(corners.size):
        common &= outside[first + corners[k]]
        held |= outside[first + corners[k]]
    return common != 0 or held & HELD != 0


@compiled
def _is_far(
    position: np.ndarray, face: np.ndarray, first: int, point: np.ndarray, reach: float
) -> bool:
    """Whether a point is farther than a reach from the box around a face."""
    for n in range(3):
        a = position[first + face[0], n] - point[n]
        b = position[first + face[1], n] - point[n]
        c = position[first + face[2], n] - point[n]
        if min(a, b, c) > reach or max(a, b, c) < -reach:
            return True
    return False


@compiled
def _height_above(plant: Table, state: Table, flex: int, f: int, geom: int, k: int) -> float:
    """Height of a corner or end, in row 8 of ``work_points``, above a face; infinite beside it.

    Fills rows 6 and 7 with the face's normal, towards the geom, and the point that is lowest.
    """
    elastic = plant.elastic
    position = state.mj_flexvert_xpos
    work = state.soft.work_points
    normal, lowest = work[6], work[7]
    first = elastic.flex_first_vertex[flex]
    center = state.mj_geom_xpos[geom]
    face = elastic.face_corner[f]
    reach = _DEEPEST * elastic.flex_edge[flex] + _radius(plant, geom)
    if _is_beside(state, first, face) or _is_far(position, face, first, work[8], reach):
        return np.inf
    area = _find_normal(position, face, first, normal)
    if elastic.flex_corners[flex] == 3:
        towards = 0.0
        for n in range(3):
            towards += normal[n] * (center[n] - position[first + face[0], n])
        turn = -1.0 if towards < 0.0 else 1.0
        area *= turn
        for n in range(3):
            normal[n] *= turn
    if not _find_lowest(plant, state, geom, k, work[8], normal, lowest):
        return np.inf
    height = 0.0
    towards = 0.0
    for n in range(3):
        height += normal[n] * (lowest[n] - position[first + face[0], n])
        towards += normal[n] * (center[n] - lowest[n])
    if (
        abs(height) >= _DEEPEST * elastic.flex_edge[flex]
        or (towards <= 0.0 and elastic.flex_corners[flex] == 4)
        or not _lies_over(position, face, first, lowest, normal, area)
    ):
        return np.inf
    return height


@compiled
def _touch_faces(
    plant: Table, state: Table, c: int, flex: int, geom: int, k: int, margin: float
) -> bool:
    """Add contacts of the corner or end in row 8 of ``work_points``; False without room.

    It touches all faces that it, or a ball's centre, is above, otherwise the nearest one.
    """
    elastic = plant.elastic
    work = state.soft.work_points
    radius = elastic.flex_radius[flex]
    ball = elastic.geom_shape[geom] in (SPHERE, CAPSULE)
    deepest = plant.geoms.size[geom, 0] if ball else 0.0
    nearest = np.inf
    found = -1
    for f in range(first_face(elastic, flex), first_face(elastic, flex + 1)):
        height = _height_above(plant, state, flex, f, geom, k)
        over = -deepest < height <= radius + margin
        if abs(height) < nearest or over:
            for n in range(3):
                work[9, n] = work[7, n] - height * work[6, n]
                work[10, n] = -work[6, n]
            nearest = -1.0 if over else abs(height)
            found = -1 if over else f
        if over and not add_contact(
            plant, state, c, height - radius, elastic.face_element[f], FACE
        ):
            return False
        if not over and found == f:
            work[10, 3] = height
    if found < 0 or work[10, 3] - radius > margin:
        return True
    return add_contact(plant, state, c, work[10, 3] - radius, elastic.face_element[found], FACE)


@compiled
def add_corners(plant: Table, state: Table, c: int, flex: int, geom: int, margin: float) -> bool:
    """Add contacts of a geom's corners or ends, with materials of ``c``; False without room.

    Rows 0 and 1 of ``work_points`` are the box around the flex.
    """
    elastic = plant.elastic
    work = state.soft.work_points
    reach = elastic.flex_radius[flex] + margin + _radius(plant, geom)
    for k in range(elastic.geom_corner_first[geom], elastic.geom_corner_first[geom + 1]):
        _fill_corner(plant, state, geom, k, work[8])
        near = True
        for n in range(3):
            near = near and work[0, n] - reach <= work[8, n] <= work[1, n] + reach
        if near and not _touch_faces(plant, state, c, flex, geom, k, margin):
            return False
    return True


@compiled
def _to_world(state: Table, geom: int, point: np.ndarray, normal: np.ndarray) -> None:
    """Fill rows 9 and 10 of ``work_points`` with a point and a normal of a geom's frame."""
    work = state.soft.work_points
    rotation = state.mj_geom_xmat[geom]
    for n in range(3):
        work[9, n] = state.mj_geom_xpos[geom, n]
        work[10, n] = 0.0
        for a in range(3):
            work[9, n] += rotation[3 * n + a] * point[a]
            work[10, n] += rotation[3 * n + a] * normal[a]


@compiled
def _looks_inside(
    plant: Table, state: Table, flex: int, element: int, point: np.ndarray, normal: np.ndarray
) -> bool:
    """Whether a normal at an edge points into the flex; of cloth, away from the geom's centre."""
    elastic = plant.elastic
    local = state.soft.vertex_local
    corners = elastic.flex_corners[flex]
    corner = elastic.flex_first_corner[flex] + corners * element
    towards = 0.0
    for a in range(3):
        inside = 2.0 * point[a]
        if corners == 4:
            inside = 0.0
            for k in range(4):
                vertex = elastic.flex_first_vertex[flex] + elastic.corner[corner + k]
                inside += 0.25 * local[vertex, a]
        towards += normal[a] * (inside - point[a])
    return towards >= 0.0


@compiled
def _cross(
    plant: Table,
    state: Table,
    c: int,
    flex: int,
    element: int,
    edge: int,
    geom: int,
    line: np.ndarray,
    margin: float,
) -> bool:
    """Add a contact of an edge with an edge or axis of a geom; False without room."""
    elastic = plant.elastic
    work = state.soft.work_points
    kind = elastic.geom_shape[geom]
    point, normal = work[6], work[7]
    first = elastic.flex_first_vertex[flex]
    a = state.soft.vertex_local[first + elastic.edge_corner[edge, 0]]
    b = state.soft.vertex_local[first + elastic.edge_corner[edge, 1]]
    square, whole, share = 0.0, 0.0, 0.0
    for n in range(3):
        u, v = (n + 1) % 3, (n + 2) % 3
        normal[n] = (b[u] - a[u]) * line[3 + v] - (b[v] - a[v]) * line[3 + u]
        square += normal[n] * normal[n]
        whole += (b[n] - a[n]) ** 2
    if square <= PARALLEL * whole:
        return True
    for n in range(3):
        u, v = (n + 1) % 3, (n + 2) % 3
        share += (line[n] - a[n]) * (line[3 + u] * normal[v] - line[3 + v] * normal[u])
    share /= square
    if share <= 0.0 or share >= 1.0:
        return True
    along = 0.0
    for n in range(3):
        point[n] = a[n] + share * (b[n] - a[n])
        along += line[3 + n] * (point[n] - line[n])
    if abs(along) >= line[6]:
        return True
    length = np.sqrt(square)
    for n in range(3):
        normal[n] /= length
    turn = 1.0 if _looks_inside(plant, state, flex, element, point, normal) else -1.0
    distance = -elastic.flex_radius[flex] - _radius(plant, geom)
    one, other = 0.0, 0.0
    for n in range(3):
        normal[n] *= turn
        distance += normal[n] * (point[n] - line[n])
        one += normal[n] * line[7 + n]
        other += normal[n] * line[10 + n]
    weight = min(1.0 - max(one, other) / STEEPEST, 1.0)
    if kind == CYLINDER and -distance > line[6] - abs(along):
        weight = 0.0
    if weight <= 0.0 or not -elastic.flex_edge[flex] < distance <= margin:
        return True
    _to_world(state, geom, point, normal)
    if not add_contact(plant, state, c, distance, element, FACE):
        return False
    state.contacts.stiffness[state.contacts.count - 1] *= weight
    return True


@compiled
def _cross_all(
    plant: Table,
    state: Table,
    c: int,
    flex: int,
    element: int,
    edge: int,
    geom: int,
    margin: float,
) -> bool:
    """`_cross` with all edges of a geom that are near; False without room."""
    elastic = plant.elastic
    middle, half = state.soft.work_points[2], state.soft.work_points[3]
    first = elastic.flex_first_vertex[flex]
    a = state.soft.vertex_local[first + elastic.edge_corner[edge, 0]]
    b = state.soft.vertex_local[first + elastic.edge_corner[edge, 1]]
    reach = elastic.flex_radius[flex] + _radius(plant, geom) + margin
    for n in range(3):
        middle[n] = 0.5 * (a[n] + b[n])
        half[n] = 0.5 * abs(a[n] - b[n]) + max(reach, elastic.flex_edge[flex])
    for k in range(elastic.geom_edge_first[geom], elastic.geom_edge_first[geom + 1]):
        line = elastic.geom_edge[k]
        near = True
        for n in range(3):
            near = near and abs(line[n] - middle[n]) <= half[n] + abs(line[3 + n]) * line[6]
        if near and not _cross(plant, state, c, flex, element, edge, geom, line, margin):
            return False
    return True


@compiled
def _touch_balls(
    plant: Table,
    state: Table,
    c: int,
    flex: int,
    element: int,
    edge: int,
    geom: int,
    margin: float,
) -> bool:
    """Add contacts of an edge with a sphere or a capsule's ends; False without room."""
    elastic = plant.elastic
    size = plant.geoms.size[geom]
    work = state.soft.work_points
    point, normal = work[6], work[7]
    first = elastic.flex_first_vertex[flex]
    a = state.soft.vertex_local[first + elastic.edge_corner[edge, 0]]
    b = state.soft.vertex_local[first + elastic.edge_corner[edge, 1]]
    capsule = elastic.geom_shape[geom] == CAPSULE
    for k in range(2 if capsule else 1):
        z = (2.0 * k - 1.0) * size[1] if capsule else 0.0
        square = 0.0
        along = 0.0
        for n in range(3):
            square += (b[n] - a[n]) ** 2
            along += (b[n] - a[n]) * ((z if n == 2 else 0.0) - a[n])
        if along <= 0.0 or along >= square:
            continue
        length = 0.0
        for n in range(3):
            point[n] = a[n] + along / square * (b[n] - a[n])
            normal[n] = point[n] - (z if n == 2 else 0.0)
            length += normal[n] * normal[n]
        length = np.sqrt(length)
        distance = length - size[0] - elastic.flex_radius[flex]
        if length == 0.0 or distance > margin or (capsule and z * (point[2] - z) < 0.0):
            continue
        for n in range(3):
            normal[n] /= length
        _to_world(state, geom, point, normal)
        rise, _ = above(plant, state, flex, edge, work[10], -1.0)
        weight = min(1.0 - rise / STEEPEST, 1.0)
        if weight <= 0.0:
            continue
        if not add_contact(plant, state, c, distance, element, FACE):
            return False
        state.contacts.stiffness[state.contacts.count - 1] *= weight
    return True


@compiled
def add_crossings(plant: Table, state: Table, c: int, flex: int, geom: int, margin: float) -> bool:
    """Add contacts of edges of a flex with a geom, with materials of ``c``; False without room."""
    elastic = plant.elastic
    first = elastic.flex_first_vertex[flex]
    start = elastic.flex_first_element[flex]
    edges = elastic.element_edge
    balls = elastic.geom_shape[geom] in (SPHERE, CAPSULE)
    room = True
    for number in range(start, elastic.flex_first_element[flex + 1]):
        element = number - start
        for edge in range(edges[number], edges[number + 1]):
            if _is_beside(state, first, elastic.edge_corner[edge]):
                continue
            if elastic.edge_is_diagonal[edge] == 0:
                room = room and _cross_all(plant, state, c, flex, element, edge, geom, margin)
            if balls:
                room = room and _touch_balls(plant, state, c, flex, element, edge, geom, margin)
    return room
