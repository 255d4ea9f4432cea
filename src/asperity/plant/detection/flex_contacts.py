"""Contacts of flexes: with geoms, with each other, and with themselves.

MuJoCo says of a contact which vertex, or which tetrahedron, is a side of it. The side is then a
point of the tetrahedron, the mean of its vertices with the contact point's weights, which are cut
off at zero; force and lever arms are those of that point.

Elements of a flex that lie on the same geom have contacts of their own, as many as MuJoCo finds.
Each of them stands for a part of the surface: of a contact of depth d_i the stiffness is

    k_i = k d_i/Σ_j (1 − |x_i − x_j|/ℓ) d_j

over all contacts j of the two that are nearer than a mean edge ℓ, itself included. It is k of one
that is alone, and what is new begins with no force, so that it changes nothing else at first.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, entry_point
from asperity.compiled.calls import load_double, load_int
from asperity.plant.detection.collision import (
    NO_PAIR,
    add_mujoco_contact,
    combine_materials,
    contact_address,
    contacts_found,
    counts_as_contact,
    empty_contacts,
    follow_pair,
    make_links,
    side_inverse_mass,
)
from asperity.plant.plant_layouts import CONTACTS_FULL, EVALUATED, PLANT, STATE

__all__ = ["read_flex_contacts"]

# Of a depth, in mean edges, so that contacts that just touch share alike.
_LEAST_DEPTH = 1e-6


@compiled
def _vertex_position(plant: Table, state: Table, p: int, out: np.ndarray, row: int) -> None:
    """Where a particle is, in world axes."""
    body = plant.elastic.particle_body[p]
    rotation = state.mj_xmat[body]
    for i in range(3):
        out[row, i] = state.mj_xpos[body, i]
        for j in range(3):
            out[row, i] += rotation[3 * i + j] * plant.elastic.particle_offset[p, j]


@compiled
def _cross(a: np.ndarray, i: int, j: int, k: int, out: np.ndarray) -> float:
    """out = (x_j − x_i) × (x_k − x_i); returns its square."""
    for n in range(3):
        u = (n + 1) % 3
        v = (n + 2) % 3
        out[n] = (a[j, u] - a[i, u]) * (a[k, v] - a[i, v]) - (a[j, v] - a[i, v]) * (
            a[k, u] - a[i, u]
        )
    return out[0] * out[0] + out[1] * out[1] + out[2] * out[2]


@compiled
def _fill_weights(work: np.ndarray) -> None:
    """Fill weights, row 5, of a point, row 4, with respect to the tetrahedron of rows 0 to 3."""
    total = 0.0
    normal = work[6]
    for a in range(4):
        i = 0 if a != 0 else 1
        j = 1 if a > 1 else 2
        k = 2 if a == 3 else 3
        _cross(work, i, j, k, normal)
        height = 0.0
        depth = 0.0
        for n in range(3):
            height += normal[n] * (work[a, n] - work[i, n])
            depth += normal[n] * (work[4, n] - work[i, n])
        weight = depth / height if height != 0.0 else 0.25
        work[5, a] = max(weight, 0.0) if weight < 1e6 else 1.0
        total += work[5, a]
    for a in range(4):
        work[5, a] /= total


@compiled
def _add_vertex(plant: Table, state: Table, p: int, weight: float, place: int) -> int:
    """Add a particle's slides to a link's chain; returns where it ends then."""
    dof = plant.elastic.particle_dof[p]
    if dof < 0 or weight == 0.0:
        return place
    contacts = state.contacts
    for k in range(3):
        contacts.chain_dof[place] = dof + k
        for n in range(3):
            contacts.chain_column[place, n] = 0.0
            contacts.chain_column[place, 3 + n] = weight * state.cdof[dof + k, 3 + n]
        place += 1
    return place


@compiled
def _flex_link(
    plant: Table, state: Table, flex: int, element: int, vertex: int, point: np.ndarray
) -> int:
    """Make the link of a flex's side and fill its point; −1 if it is fixed, −2 without room."""
    elastic = plant.elastic
    contacts = state.contacts
    link = contacts.link_count
    start = 0
    if link > 0:
        start = contacts.link_start[link - 1] + contacts.link_size[link - 1]
    if link >= contacts.link_tree.size or start + 12 > contacts.chain_dof.size:
        return -2
    work = state.soft.work_points
    first = elastic.flex_first_vertex[flex]
    end = start
    if vertex >= 0:
        _vertex_position(plant, state, first + vertex, work, 5)
        for n in range(3):
            point[n] = work[5, n]
        end = _add_vertex(plant, state, first + vertex, 1.0, end)
    else:
        corner = elastic.flex_first_corner[flex] + 4 * element
        for a in range(4):
            _vertex_position(plant, state, first + elastic.corner[corner + a], work, a)
        for n in range(3):
            work[4, n] = point[n]
            point[n] = 0.0
        _fill_weights(work)
        for a in range(4):
            for n in range(3):
                point[n] += work[5, a] * work[a, n]
            p = first + elastic.corner[corner + a]
            end = _add_vertex(plant, state, p, work[5, a], end)
    if end == start:
        return -1
    contacts.link_tree[link] = plant.dof_tree[contacts.chain_dof[start]]
    contacts.link_start[link] = start
    contacts.link_size[link] = end - start
    contacts.link_soft[link] = 1
    contacts.link_count = link + 1
    return link


@compiled
def _set_sides(plant: Table, state: Table, c: int, address: int) -> bool:
    """Give a contact the links of its sides, and their points; False without room."""
    contacts = state.contacts
    offsets = plant.offsets
    point = state.soft.work_points[7]
    for n in range(3):
        point[n] = contacts.point[c, n]
    contacts.inverse_mass[c] = 0.0
    for side in range(2):
        contacts.element[c, side] = -1
        contacts.vertex[c, side] = -1
        flex = load_int(address + offsets.contact_flex + 4 * side)
        if flex < 0:
            continue
        element = load_int(address + offsets.contact_elem + 4 * side)
        vertex = load_int(address + offsets.contact_vert + 4 * side)
        contacts.element[c, side] = element
        contacts.vertex[c, side] = vertex
        for n in range(3):
            point[n] = contacts.point[c, n]
        link = _flex_link(plant, state, flex, element, vertex, point)
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
            root = plant.body_reference[plant.geom_body[contacts.geom[c, side]]]
            for n in range(3):
                arm[c, n] = point[n] - state.mj_subtree_com[root, n]
        contacts.inverse_mass[c] += side_inverse_mass(plant, state, contacts, link, arm, c)
    return contacts.link[c, 0] >= 0 or contacts.link[c, 1] >= 0


@compiled
def _share_surface(plant: Table, state: Table, first: int, last: int) -> None:
    """Let contacts of the elements of a flex with the same geom share its surface."""
    contacts = state.contacts
    flex = contacts.geom[first, 1] - plant.ngeom
    if flex < 0:
        flex = contacts.geom[first, 0] - plant.ngeom
    edge = plant.elastic.flex_edge[flex]
    least = _LEAST_DEPTH * edge
    share = state.work.contact_share
    for i in range(first, last):
        total = 0.0
        for j in range(first, last):
            square = 0.0
            for n in range(3):
                square += (contacts.point[i, n] - contacts.point[j, n]) ** 2
            if square < edge * edge:
                depth = max(-contacts.signed_distance[j], least)
                total += (1.0 - np.sqrt(square) / edge) * depth
        share[i] = max(-contacts.signed_distance[i], least) / total
    for i in range(first, last):
        contacts.stiffness[i] *= share[i]


@compiled
def _share_surfaces(plant: Table, state: Table) -> None:
    contacts = state.contacts
    first = 0
    while first < contacts.count:
        last = first + 1
        if contacts.element[first, 0] < 0 and contacts.element[first, 1] < 0:
            first = last
            continue
        while (
            last < contacts.count
            and contacts.geom[last, 0] == contacts.geom[first, 0]
            and contacts.geom[last, 1] == contacts.geom[first, 1]
            and (contacts.element[last, 0] >= 0 or contacts.element[last, 1] >= 0)
        ):
            last += 1
        _share_surface(plant, state, first, last)
        first = last


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
    friction = load_double(address + offsets.contact_friction)
    if make_links(plant, state, a, b) < 0:
        return False
    share = combine_materials(plant, state, a, b, friction)
    c = state.contacts.count
    add_mujoco_contact(plant, state, index, address, (a, b), share)
    if state.contacts.count > c:
        links = state.contacts.link_count
        if not _set_sides(plant, state, c, address):
            if state.contacts.link_count == links:
                # Nothing of it can move.
                state.contacts.count = c
                return state.contacts.link_count + 2 < state.contacts.link_tree.size
            return False
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
    for index in range(found):
        address = contact_address(plant, state, index)
        if not counts_as_contact(plant, address):
            continue
        room = True
        flexes = address + plant.offsets.contact_flex
        if load_int(flexes) >= 0 or load_int(flexes + 4) >= 0:
            room = _add_flex_contact(plant, state, index, address)
        else:
            c = contacts.count
            pair = follow_pair(plant, state, address, pair)
            a, b, _, moving, share = pair
            room = moving >= 0
            if moving == 1:
                add_mujoco_contact(plant, state, index, address, (a, b), share)
            for side in range(2):
                contacts.element[c, side] = -1
                contacts.vertex[c, side] = -1
        if not room:
            contacts.count = 0
            return CONTACTS_FULL
    _share_surfaces(plant, state)
    return EVALUATED
