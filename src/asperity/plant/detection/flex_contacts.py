"""Contacts of flexes: with geoms, with each other, and with themselves.

A side is a point of an element (`asperity.plant.detection.flex_links`). Contacts of a volume with
another flex are in `asperity.plant.detection.flex_faces`; what follows is of all others.

Where a face lies on a face, or on an edge, the points that it finds are anywhere on them, and
others in every step. So the vertices of elements that touch a sphere, capsule, cylinder or box have
contacts of their own, at their distance from it, as they have with planes. So have corners of a
box on faces (`asperity.plant.detection.flex_corners`). A contact of an element, of depth d_i, only
counts where vertices, or corners, v nearby do not touch, with the weight

    w_i = (1 − max_v c(|x_i − x_v|/ℓ) 1000 d_v/d_i)²,      c(r) = min(1, 4 − 2 r) ≥ 0,

which is that of a tip that enters between vertices, ℓ being the mean length of edges.

Each contact stands for a part of the surface. With the stiffness k of one that is alone it has

    k_i = k w_i d_i/(d_i + Σ_j (1 − |x_i − x_j|/ℓ) w_j d_j)

where the sum is over contacts of elements j ≠ i with the same geom that are nearer than ℓ, or over
vertices, too, if i is of an element, whose own d_i then has the weight w_i. What is new
begins with no force, so that it changes nothing else at first.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, entry_point
from asperity.compiled.calls import load_double, load_int
from asperity.contact.combination import STIFFNESS
from asperity.plant.detection.collision import (
    NO_PAIR,
    add_mujoco_contact,
    combine_materials,
    contact_address,
    contacts_found,
    counts_as_contact,
    empty_contacts,
    fill_mujoco_contact,
    follow_pair,
    make_links,
    side_inverse_mass,
)
from asperity.plant.detection.copied_contacts import copy_contact, move_contact, set_frame
from asperity.plant.detection.flex_faces import both_radii, is_replaced, replace_element_contact
from asperity.plant.detection.flex_links import FACE, flex_link, vertex_position
from asperity.plant.detection.flex_shapes import add_shape_contacts, is_of_shapes
from asperity.plant.detection.geom_distance import point_distance
from asperity.plant.plant_layouts import CONTACTS_FULL, EVALUATED, PLANT, STATE

__all__ = ["read_flex_contacts"]

# Of a depth, in mean edges, so that contacts that just touch share alike.
_LEAST_DEPTH = 1e-6
# Of a contact of an element.
_LEAST_WEIGHT = 1e-3
_DEEPER = 1000.0


@compiled
def _read_sides(plant: Table, contacts: Table, c: int, address: int) -> None:
    """Read which elements or vertices one of MuJoCo's contacts is between."""
    offsets = plant.offsets
    for side in range(2):
        contacts.element[c, side] = -1
        contacts.vertex[c, side] = -1
        if load_int(address + offsets.contact_flex + 4 * side) >= 0:
            contacts.element[c, side] = load_int(address + offsets.contact_elem + 4 * side)
            contacts.vertex[c, side] = load_int(address + offsets.contact_vert + 4 * side)


@compiled
def _set_sides(plant: Table, state: Table, c: int) -> bool:
    """Give a contact the links of its sides, and their points; False without room."""
    contacts = state.contacts
    point = state.soft.work_points[7]
    for n in range(3):
        point[n] = contacts.point[c, n]
    contacts.inverse_mass[c] = 0.0
    # Between points of two flexes.
    ahead = 0.0
    if min(contacts.geom[c, 0], contacts.geom[c, 1]) >= plant.ngeom:
        ahead = contacts.signed_distance[c] + both_radii(plant, contacts, c)
    for side in range(2):
        flex = contacts.geom[c, side] - plant.ngeom
        if flex < 0:
            continue
        element = contacts.element[c, side]
        vertex = contacts.vertex[c, side]
        for n in range(3):
            point[n] = contacts.point[c, n] + ahead * (side - 0.5) * contacts.frame[c, 6 + n]
        link = flex_link(plant, state, flex, element, vertex, point)
        if link == -2:
            return False
        contacts.link[c, side] = link
    # Of two flexes each has a point of its own, and the second one's is shown.
    for n in range(3):
        contacts.point[c, n] = point[n]
    for side in range(2):
        arm = contacts.arm_a if side == 0 else contacts.arm_b
        link = contacts.link[c, side]
        for n in range(3):
            arm[c, n] = 0.0
        if link < 0:
            continue
        if contacts.link_soft[link] == 0:
            root = plant.bodies.reference[plant.trees.body[contacts.link_tree[link]]]
            for n in range(3):
                arm[c, n] = point[n] - state.mj_subtree_com[root, n]
        contacts.inverse_mass[c] += side_inverse_mass(plant, state, contacts, link, arm, c)
    return True


@compiled
def _of_edges(contacts: Table, c: int) -> bool:
    return contacts.vertex[c, 0] == FACE and contacts.vertex[c, 1] == FACE


@compiled
def _of_element(contacts: Table, c: int) -> bool:
    """Whether a contact is of an element or of two edges, and not of a vertex or a corner."""
    return (contacts.element[c, 0] >= 0 and contacts.vertex[c, 0] != FACE) or (
        contacts.element[c, 1] >= 0 and (contacts.vertex[c, 1] != FACE or _of_edges(contacts, c))
    )


@compiled
def _distance(contacts: Table, c: int, d: int, largest: float) -> float:
    """The distance of two contacts, or the largest that counts."""
    square = 0.0
    for n in range(3):
        square += (contacts.point[c, n] - contacts.point[d, n]) ** 2
    return np.sqrt(square) if square < largest * largest else largest


@compiled
def _weight(state: Table, c: int, first: int, last: int, edge: float) -> float:
    """How far a contact of an element is deeper than those of vertices nearby."""
    contacts = state.contacts
    if _of_edges(contacts, c):
        return state.work.contact_weight[c]
    depth = max(-contacts.signed_distance[c], 0.0)
    deepest = 0.0
    for d in range(first, last):
        if not _of_element(contacts, d):
            near = min(4.0 - 2.0 * _distance(contacts, c, d, 2.0 * edge) / edge, 1.0)
            deepest = max(deepest, -_DEEPER * near * contacts.signed_distance[d])
    if deepest >= depth:
        return 1.0 if deepest == 0.0 else 0.0
    part = 1.0 - deepest / depth
    return part * part


@compiled
def _share_surface(plant: Table, state: Table, first: int, last: int) -> None:
    """Let contacts of a flex with the same geom share its surface."""
    contacts = state.contacts
    edge = np.inf
    for side in range(2):
        flex = contacts.geom[first, side] - plant.ngeom
        if flex >= 0:
            edge = min(edge, plant.elastic.flex_edge[flex])
    least = _LEAST_DEPTH * edge
    depth = state.work.contact_depth
    share = state.work.contact_share
    weights = state.work.contact_weight
    for i in range(first, last):
        depth[i] = max(-contacts.signed_distance[i], least) if weights[i] > 0.0 else 0.0
        share[i] = depth[i]
    for i in range(first, last):
        if share[i] > 0.0 and _of_element(contacts, i):
            weight = _weight(state, i, first, last, edge)
            weights[i] = weight
            depth[i] *= weight
            share[i] *= weight
    for i in range(first, last):
        if share[i] == 0.0:
            continue
        total = depth[i]
        element = _of_element(contacts, i)
        for j in range(first, last):
            if j != i and depth[j] > 0.0 and (element or _of_element(contacts, j)):
                total += (1.0 - _distance(contacts, i, j, edge) / edge) * depth[j]
        share[i] = share[i] / total if total > 0.0 else 0.0
    for i in range(first, last):
        contacts.stiffness[i] *= share[i]


@compiled
def _same_pair(contacts: Table, c: int, d: int) -> bool:
    return contacts.geom[c, 0] == contacts.geom[d, 0] and contacts.geom[c, 1] == contacts.geom[d, 1]


@compiled
def _share_surfaces(plant: Table, state: Table) -> None:
    contacts = state.contacts
    first = 0
    while first < contacts.count:
        last = first
        elements = False
        while last < contacts.count and _same_pair(contacts, first, last):
            elements = elements or _of_element(contacts, last)
            last += 1
        if elements:
            _share_surface(plant, state, first, last)
        first = last


@compiled
def _add_vertices(plant: Table, state: Table, c: int, address: int) -> bool:
    """Add contacts of the vertices of an element that touches a geom; False without room."""
    contacts = state.contacts
    elastic = plant.elastic
    soft = state.soft
    side = 0 if contacts.element[c, 0] >= 0 else 1
    geom = contacts.geom[c, 1 - side]
    if geom >= plant.ngeom or elastic.geom_shape[geom] < 0:
        return True
    flex = contacts.geom[c, side] - plant.ngeom
    first = elastic.flex_first_vertex[flex]
    corners = elastic.flex_corners[flex]
    corner = elastic.flex_first_corner[flex] + corners * contacts.element[c, side]
    margin = load_double(address + plant.offsets.contact_margin)
    point = soft.work_points[8]
    normal = soft.work_points[9]
    for a in range(corners):
        vertex = elastic.corner[corner + a]
        p = first + vertex
        if soft.vertex_geom[p] == geom + 1 or elastic.particle_surface[p] == 0:
            continue
        vertex_position(plant, state, p, soft.work_points, 8)
        distance = point_distance(plant, state, geom, point, soft.work_points[10], normal)
        distance -= elastic.flex_radius[flex]
        soft.vertex_geom[p] = geom + 1
        if distance > margin:
            continue
        new = contacts.count
        if new >= contacts.link.shape[0]:
            return False
        copy_contact(contacts, c, new)
        contacts.signed_distance[new] = distance
        sign = 1.0 if side == 1 else -1.0
        set_frame(contacts, new, sign * normal[0], sign * normal[1], sign * normal[2])
        contacts.element[new, side] = -1
        contacts.vertex[new, side] = vertex
        for n in range(3):
            contacts.point[new, n] = point[n]
        state.work.contact_weight[new] = 1.0
        contacts.count = new + 1
    return True


@compiled
def _add_flex_contact(plant: Table, state: Table, index: int, address: int) -> bool:
    """Add a contact of which a side at least is a flex's; False without room."""
    offsets = plant.offsets
    sides = address + offsets.contact_geom
    flexes = address + offsets.contact_flex
    a = load_int(sides)
    b = load_int(sides + 4)
    if a < 0:
        a = plant.ngeom + load_int(flexes)
    if b < 0:
        b = plant.ngeom + load_int(flexes + 4)
    if is_of_shapes(plant, a, b):
        return True
    friction = load_double(address + offsets.contact_friction)
    if make_links(plant, state, a, b) < 0:
        return False
    share = combine_materials(plant, state, a, b, friction)
    material = state.work.pair_material
    if material[STIFFNESS] <= 0.0:
        return True
    contacts = state.contacts
    c = contacts.count
    if c >= contacts.link.shape[0]:
        return False
    fill_mujoco_contact(plant, state, c, index, address, (a, b), share, material)
    _read_sides(plant, contacts, c, address)
    state.work.contact_weight[c] = 1.0
    contacts.count = c + 1
    if is_replaced(plant, contacts, c):
        state.work.contact_weight[c] = 0.0
        return replace_element_contact(
            plant, state, c, load_double(address + offsets.contact_margin)
        )
    return not _of_element(contacts, c) or _add_vertices(plant, state, c, address)


@compiled
def _end_contacts(plant: Table, state: Table) -> bool:
    """Leave out what has no weight or cannot move, and make links of flexes; False without room."""
    contacts = state.contacts
    count = 0
    for c in range(contacts.count):
        if state.work.contact_weight[c] < _LEAST_WEIGHT:
            continue
        if count < c:
            move_contact(contacts, c, count)
        for side in range(2):
            if contacts.vertex[count, side] == FACE:
                contacts.vertex[count, side] = -1
        if max(contacts.geom[count, 0], contacts.geom[count, 1]) >= plant.ngeom:
            if not _set_sides(plant, state, count):
                return False
            if contacts.link[count, 0] < 0 and contacts.link[count, 1] < 0:
                continue
        count += 1
    contacts.count = count
    return True


@entry_point(types.int64(PLANT.type, STATE.type))
def read_flex_contacts(plant: Table, state: Table) -> int:
    """Fill the contact set; returns ``EVALUATED`` or ``CONTACTS_FULL``."""
    contacts = state.contacts
    empty_contacts(state)
    found = contacts_found(plant, state)
    if found > contacts.link.shape[0]:
        return CONTACTS_FULL
    pair = NO_PAIR
    for p in range(plant.elastic.particles):
        state.soft.vertex_geom[p] = 0
    for link in range(contacts.link_soft.size):
        contacts.link_soft[link] = 0
        contacts.link_own[link] = 0
    for index in range(found):
        address = contact_address(plant, state, index)
        if not counts_as_contact(plant, address):
            continue
        c = contacts.count
        flexes = address + plant.offsets.contact_flex
        if c >= contacts.link.shape[0]:
            room = False
        elif load_int(flexes) >= 0 or load_int(flexes + 4) >= 0:
            room = _add_flex_contact(plant, state, index, address)
        else:
            pair = follow_pair(plant, state, address, pair)
            a, b, _, moving, share = pair
            room = moving >= 0
            if moving == 1:
                add_mujoco_contact(plant, state, index, address, (a, b), share)
            state.work.contact_weight[c] = 1.0
            for side in range(2):
                contacts.element[c, side] = -1
                contacts.vertex[c, side] = -1
        if not room:
            contacts.count = 0
            return CONTACTS_FULL
    if not add_shape_contacts(plant, state):
        contacts.count = 0
        return CONTACTS_FULL
    _share_surfaces(plant, state)
    if not _end_contacts(plant, state):
        contacts.count = 0
        return CONTACTS_FULL
    return EVALUATED
