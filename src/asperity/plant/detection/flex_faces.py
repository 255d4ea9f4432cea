"""Contacts of volumes with volumes and with cloth: of vertices on faces, and of edges that cross.

MuJoCo finds points of two elements that touch. Where faces lie on each other they are anywhere on
them, and others in every step, so that nothing that lies there comes to rest. So these contacts
only say which elements touch.

Each vertex of them touches the nearest of the other's faces, at its distance less both radii. The
normal is the direction from the face's nearest point to the vertex, or back if that is inside. Of
points at the same distance that face counts whose plane is farther away: it sees the vertex. What a
volume's vertex is near to from within does not touch it.

Two edges touch along their common normal, with the weight

    (1 − r/0.2) min(1, b/0.2),

of r ≥ 0 the sine by which a face beside them rises towards the other edge, and b that by which the
faces of the sharper edge bend away from each other. Between flat faces vertices are enough.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.geometry.triangles import nearest_weights
from asperity.plant.detection.copied_contacts import copy_contact, set_frame
from asperity.plant.detection.flex_links import FACE, first_face

__all__ = [
    "PARALLEL",
    "STEEPEST",
    "above",
    "both_radii",
    "is_replaced",
    "replace_element_contact",
]

# Of distances that are the same, relatively.
_SAME = 1e-9
# Of a vertex behind cloth: cosine of the angle with the normal beyond which it is beside it.
_BEHIND = 0.7
PARALLEL = 1e-3
"""Square of the sine of the angle between edges up to which they do not cross."""
# Of edges of volumes that have passed each other, over the shorter one.
_DEEPEST = 0.25
STEEPEST = 0.2
"""Sine of the angle by which a face beside an edge may rise towards what the edge touches."""


@compiled
def _product(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> float:
    """(b − a) · (d − c)."""
    total = 0.0
    for n in range(3):
        total += (b[n] - a[n]) * (d[n] - c[n])
    return total


@compiled
def _face_distance(
    plant: Table,
    state: Table,
    flex: int,
    face: int,
    point: np.ndarray,
    inner: np.ndarray,
    reach: float,
) -> tuple[float, float]:
    """Signed distance of a point from a face, and from its plane [m].

    Fills row 10 with the nearest point and the normal. Of cloth this looks towards ``inner``, and
    what is farther behind than the reach is not inside. Infinite if a face of a volume looks away
    from ``inner``, unless the point is farther in front of it.
    """
    elastic = plant.elastic
    position = state.mj_flexvert_xpos
    first = elastic.flex_first_vertex[flex]
    corner = elastic.face_corner[face]
    a, b, c = position[first + corner[0]], position[first + corner[1]], position[first + corner[2]]
    out = state.soft.work_points[10]
    share_b, share_c = nearest_weights(
        _product(a, b, a, b),
        _product(a, b, a, c),
        _product(a, c, a, c),
        _product(a, b, a, point),
        _product(a, c, a, point),
    )
    square = 0.0
    length = 0.0
    height = 0.0
    towards = 0.0
    for n in range(3):
        u = (n + 1) % 3
        v = (n + 2) % 3
        normal = (b[u] - a[u]) * (c[v] - a[v]) - (b[v] - a[v]) * (c[u] - a[u])
        out[n] = a[n] + share_b * (b[n] - a[n]) + share_c * (c[n] - a[n])
        away = point[n] - out[n]
        square += away * away
        length += normal * normal
        height += normal * away
        towards += normal * (inner[n] - point[n])
        out[3 + n] = normal
    if length == 0.0:
        return np.inf, 0.0
    length = np.sqrt(length)
    distance = np.sqrt(square)
    height /= length
    sign = 1.0
    inside = height < 0.0
    if elastic.flex_corners[flex] == 3:
        sign = 1.0 if towards > 0.0 else -1.0
        height *= sign
        inside = distance < reach and height < -_BEHIND * distance
    elif towards < 0.0 and height < reach:
        return np.inf, 0.0
    for n in range(3):
        if distance > _SAME * np.sqrt(length):
            out[3 + n] = (point[n] - out[n]) / (-distance if inside else distance)
        else:
            out[3 + n] *= sign / length
    return -distance if inside else distance, height


@compiled
def _inner_point(
    plant: Table, state: Table, flex: int, element: int, point: np.ndarray, out: np.ndarray
) -> None:
    """Fill a point inside an element; of cloth that which is given."""
    elastic = plant.elastic
    first = elastic.flex_first_vertex[flex]
    corner = elastic.flex_first_corner[flex] + 4 * element
    for n in range(3):
        out[n] = point[n]
        if elastic.flex_corners[flex] == 4:
            out[n] = 0.0
            for a in range(4):
                out[n] += 0.25 * state.mj_flexvert_xpos[first + elastic.corner[corner + a], n]


@compiled
def is_replaced(plant: Table, contacts: Table, c: int) -> bool:
    """Whether a contact is between two flexes with faces, of which one is a volume."""
    elastic = plant.elastic
    volumes = 0
    for side in range(2):
        flex = contacts.geom[c, side] - plant.ngeom
        if flex < 0 or first_face(elastic, flex) == first_face(elastic, flex + 1):
            return False
        volumes += 1 if elastic.flex_corners[flex] == 4 else 0
    return volumes > 0


@compiled
def both_radii(plant: Table, contacts: Table, c: int) -> float:
    radius = plant.elastic.flex_radius
    return radius[contacts.geom[c, 0] - plant.ngeom] + radius[contacts.geom[c, 1] - plant.ngeom]


@compiled
def above(
    plant: Table, state: Table, flex: int, edge: int, normal: np.ndarray, sign: float
) -> tuple[float, float]:
    """Sines by which the faces beside an edge rise along a normal that leaves it: largest, sum."""
    elastic = plant.elastic
    position = state.mj_flexvert_xpos
    first = elastic.flex_first_vertex[flex]
    ends = elastic.edge_corner[edge]
    a, b = position[first + ends[0]], position[first + ends[1]]
    most = 0.0
    total = 0.0
    for k in range(2):
        face = elastic.edge_face[edge, k]
        if face < 0:
            # Of the border of cloth nothing is on the other side.
            total -= 1.0
            continue
        corner = elastic.face_corner[face]
        # Of the three corners, that which is no end.
        c = position[first + corner[0] + corner[1] + corner[2] - ends[0] - ends[1]]
        along = _product(a, b, a, c)
        height = _product(a, c, a, c) - along * along / _product(a, b, a, b)
        rise = 0.0
        for n in range(3):
            rise += sign * normal[n] * (c[n] - a[n])
        if height > 0.0:
            rise /= np.sqrt(height)
            most = max(most, rise)
            total += rise
    return most, total


@compiled
def _find_crossing(
    p: np.ndarray, q: np.ndarray, u: np.ndarray, v: np.ndarray, work: np.ndarray
) -> float:
    """Distance of two edges that cross, along their common normal [m]; infinity of others.

    Fills rows 8, 9 and 10 of ``work`` with both points, and the normal.
    """
    square = _product(p, q, p, q)
    other_square = _product(u, v, u, v)
    along = _product(p, q, u, v)
    crossing = square * other_square - along * along
    if crossing <= PARALLEL * square * other_square:
        return np.inf
    here = _product(p, q, p, u)
    there = _product(u, v, p, u)
    s = (here * other_square - along * there) / crossing
    t = (along * here - square * there) / crossing
    if s <= 0.0 or s >= 1.0 or t <= 0.0 or t >= 1.0:
        return np.inf
    distance = 0.0
    for n in range(3):
        k = (n + 1) % 3
        m = (n + 2) % 3
        work[8, n] = p[n] + s * (q[n] - p[n])
        work[9, n] = u[n] + t * (v[n] - u[n])
        work[10, n] = (q[k] - p[k]) * (v[m] - u[m]) - (q[m] - p[m]) * (v[k] - u[k])
        work[10, n] /= np.sqrt(crossing)
        distance += work[10, n] * (work[9, n] - work[8, n])
    return distance


@compiled
def _edge_distance(
    plant: Table, state: Table, c: int, edges: tuple[int, int], reach: float
) -> tuple[float, float]:
    """Signed distance of two edges that cross [m], and a weight, 0 of others.

    Fills rows 8, 9 and 10 with both points, and the normal from the first to the second.
    """
    elastic = plant.elastic
    contacts = state.contacts
    position = state.mj_flexvert_xpos
    work = state.soft.work_points
    flex = contacts.geom[c, 0] - plant.ngeom
    other = contacts.geom[c, 1] - plant.ngeom
    ends = elastic.edge_corner[edges[0]]
    first = elastic.flex_first_vertex[flex]
    p, q = position[first + ends[0]], position[first + ends[1]]
    ends = elastic.edge_corner[edges[1]]
    first = elastic.flex_first_vertex[other]
    u, v = position[first + ends[0]], position[first + ends[1]]
    distance = _find_crossing(p, q, u, v, work)
    if elastic.flex_corners[flex] == elastic.flex_corners[other]:
        shorter = min(_product(p, q, p, q), _product(u, v, u, v))
        reach = max(reach, _DEEPEST * np.sqrt(shorter))
    if abs(distance) > reach:
        return 0.0, 0.0
    normal = work[10]
    towards = 0.0
    for side in range(2):
        own = contacts.geom[c, side] - plant.ngeom
        _inner_point(plant, state, own, contacts.element[c, side], work[8 + side], work[7])
        for n in range(3):
            towards += (2 * side - 1) * normal[n] * (work[7, n] - work[8 + side, n])
    if towards < 0.0:
        distance = -distance
        for n in range(3):
            normal[n] = -normal[n]
    rise, bend = above(plant, state, flex, edges[0], normal, 1.0)
    other_rise, other_bend = above(plant, state, other, edges[1], normal, -1.0)
    ridge = max(1.0 - max(rise, other_rise) / STEEPEST, 0.0)
    return distance, ridge * min(max(-bend, -other_bend, 0.0) / STEEPEST, 1.0)


@compiled
def _is_nearer(soft: Table, p: int, distance: float, height: float) -> bool:
    """Whether a face is nearer to a vertex than the last one, or sees it from the same point."""
    best = abs(soft.vertex_distance[p])
    if abs(distance) > best * (1.0 - _SAME):
        return abs(distance) <= best * (1.0 + _SAME) and abs(height) > abs(soft.vertex_height[p])
    return True


@compiled
def _touch(
    plant: Table, state: Table, k: int, side: int, face: int, distance: float, margin: float
) -> None:
    """Let a vertex's contact be that with a face, whose point and normal are in row 10."""
    contacts = state.contacts
    work = state.soft.work_points
    distance -= both_radii(plant, contacts, k)
    sign = 1.0 if side == 1 else -1.0
    set_frame(contacts, k, sign * work[10, 3], sign * work[10, 4], sign * work[10, 5])
    contacts.element[k, 1 - side] = plant.elastic.face_element[face]
    contacts.signed_distance[k] = distance
    towards = 0.0
    for n in range(3):
        contacts.point[k, n] = 0.5 * (work[8, n] + work[10, n])
        towards += work[10, 3 + n] * (work[9, n] - work[8, n])
    state.work.contact_weight[k] = 1.0 if distance <= margin and towards >= 0.0 else 0.0


@compiled
def _look_at_edges(plant: Table, state: Table, c: int, margin: float) -> bool:
    """Add contacts of edges of two elements that cross; False without room."""
    contacts = state.contacts
    elastic = plant.elastic
    work = state.soft.work_points
    flex = contacts.geom[c, 0] - plant.ngeom
    other = contacts.geom[c, 1] - plant.ngeom
    number = elastic.flex_first_element[flex] + contacts.element[c, 0]
    second = elastic.flex_first_element[other] + contacts.element[c, 1]
    radii = both_radii(plant, contacts, c)
    for i in range(elastic.element_edge[number], elastic.element_edge[number + 1]):
        for j in range(elastic.element_edge[second], elastic.element_edge[second + 1]):
            if flex == other and (
                elastic.edge_corner[i, 0] in elastic.edge_corner[j]
                or elastic.edge_corner[i, 1] in elastic.edge_corner[j]
            ):
                continue
            distance, weight = _edge_distance(plant, state, c, (i, j), radii + margin)
            if weight == 0.0 or distance > radii + margin:
                continue
            new = contacts.count
            if new >= contacts.link.shape[0]:
                return False
            copy_contact(contacts, c, new)
            contacts.vertex[new, 0] = FACE
            contacts.vertex[new, 1] = FACE
            contacts.signed_distance[new] = distance - radii
            set_frame(contacts, new, work[10, 0], work[10, 1], work[10, 2])
            for n in range(3):
                contacts.point[new, n] = 0.5 * (work[8, n] + work[9, n])
            state.work.contact_weight[new] = weight
            contacts.count = new + 1
    return True


@compiled
def replace_element_contact(plant: Table, state: Table, c: int, margin: float) -> bool:
    """Add contacts of the vertices and edges of two elements that touch; False without room.

    A vertex's contact changes with the elements, until the nearest of all their faces is found.
    """
    contacts = state.contacts
    elastic = plant.elastic
    soft = state.soft
    reach = both_radii(plant, contacts, c)
    for side in range(2):
        flex = contacts.geom[c, side] - plant.ngeom
        other = contacts.geom[c, 1 - side] - plant.ngeom
        first = elastic.flex_first_vertex[flex]
        corners = elastic.flex_corners[flex]
        element = contacts.element[c, side]
        corner = elastic.flex_first_corner[flex] + corners * element
        number = elastic.flex_first_element[other] + contacts.element[c, 1 - side]
        mark = 1 + plant.ngeom + other
        for a in range(corners):
            vertex = elastic.corner[corner + a]
            p = first + vertex
            if elastic.particle_surface[p] == 0:
                continue
            for n in range(3):
                soft.work_points[8, n] = state.mj_flexvert_xpos[p, n]
            _inner_point(plant, state, flex, element, soft.work_points[8], soft.work_points[9])
            for f in range(elastic.element_face[number], elastic.element_face[number + 1]):
                if flex == other and vertex in elastic.face_corner[f]:
                    continue
                distance, height = _face_distance(
                    plant, state, other, f, soft.work_points[8], soft.work_points[9], reach
                )
                if distance == np.inf:
                    continue
                if soft.vertex_geom[p] != mark:
                    new = contacts.count
                    if new >= contacts.link.shape[0]:
                        return False
                    copy_contact(contacts, c, new)
                    contacts.element[new, side] = -1
                    contacts.vertex[new, side] = vertex
                    contacts.vertex[new, 1 - side] = FACE
                    contacts.count = new + 1
                    soft.vertex_geom[p] = mark
                    soft.vertex_contact[p] = new
                elif not _is_nearer(soft, p, distance, height):
                    continue
                soft.vertex_distance[p] = distance
                soft.vertex_height[p] = height
                _touch(plant, state, soft.vertex_contact[p], side, f, distance, margin)
    return _look_at_edges(plant, state, c, margin)
