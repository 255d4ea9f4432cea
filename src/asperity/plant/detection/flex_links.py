"""Links of contacts of flexes: the particles that move a side's point, with their weights.

MuJoCo says of a contact which vertex, or which tetrahedron or edge of a rope, is a side of it. The
side is then a point of the element, the mean of its vertices with the contact point's weights,
which are cut off at zero; force and lever arms are those of that point.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled

__all__ = ["FACE", "first_face", "flex_link", "vertex_position"]

FACE = -2
"""The vertex of a contact at a known point of a face, until all contacts are known."""

# Of the points to work with, that of a node.
_NODE = 11
# Of a vertex: an interior one would take part in every factorization for less.
_LEAST_WEIGHT = 1e-9


@compiled
def first_face(elastic: Table, flex: int) -> int:
    """The first of a flex's faces, or after the last one where it is the number of flexes."""
    return elastic.element_face[elastic.flex_first_element[flex]]


@compiled
def _particle_position(plant: Table, state: Table, p: int, out: np.ndarray, row: int) -> None:
    body = plant.elastic.particle_body[p]
    rotation = state.mj_xmat[body]
    for i in range(3):
        out[row, i] = state.mj_xpos[body, i]
        for j in range(3):
            out[row, i] += rotation[3 * i + j] * plant.elastic.particle_offset[p, j]


@compiled
def vertex_position(plant: Table, state: Table, p: int, out: np.ndarray, row: int) -> None:
    """Where a vertex is, in world axes; overwrites row 11 of ``work_points`` if it has nodes."""
    elastic = plant.elastic
    first = elastic.vertex_first[p]
    last = elastic.vertex_first[p + 1]
    if first == last:
        _particle_position(plant, state, p, out, row)
        return
    node = state.soft.work_points
    for i in range(3):
        out[row, i] = 0.0
    for k in range(first, last):
        _particle_position(plant, state, elastic.vertex_particle[k], node, _NODE)
        for i in range(3):
            out[row, i] += elastic.vertex_weight[k] * node[_NODE, i]


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
def _add_area(work: np.ndarray, a: int, normal: np.ndarray) -> float:
    """Write the weight of a triangle's corner: the area of the point and the others along n."""
    b = (a + 1) % 3
    c = (a + 2) % 3
    weight = 0.0
    for n in range(3):
        u = (n + 1) % 3
        v = (n + 2) % 3
        cross = (work[b, u] - work[4, u]) * (work[c, v] - work[4, v])
        cross -= (work[b, v] - work[4, v]) * (work[c, u] - work[4, u])
        weight += cross * normal[n]
    work[5, a] = max(weight, 0.0)
    return max(weight, 0.0)


@compiled
def _end_weights(work: np.ndarray, corners: int, total: float) -> None:
    """Let weights, row 5, be one together, and leave out what is only rounding."""
    for a in range(corners):
        share = work[5, a] / total if total > 0.0 else 1.0 / corners
        work[5, a] = share if share > _LEAST_WEIGHT else 0.0


@compiled
def _fill_weights(work: np.ndarray, corners: int) -> None:
    """Fill weights, row 5, of a point, row 4, with respect to the element of rows 0 and on."""
    if corners == 2:
        square = 0.0
        along = 0.0
        for n in range(3):
            square += (work[1, n] - work[0, n]) ** 2
            along += (work[1, n] - work[0, n]) * (work[4, n] - work[0, n])
        share = min(max(along, 0.0), square) / square if square > 0.0 else 0.5
        work[5, 0] = 1.0 - share
        work[5, 1] = share
        return
    total = 0.0
    if corners == 3:
        normal = work[6]
        _cross(work, 0, 1, 2, normal)
        for a in range(3):
            total += _add_area(work, a, normal)
        _end_weights(work, corners, total)
        return
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
    _end_weights(work, corners, total)


@compiled
def _add_particle(plant: Table, state: Table, p: int, weight: float, place: int, last: int) -> int:
    """Add a particle's slides to a link's chain, the last one first or last; returns its end."""
    dof = plant.elastic.contact_dof[p]
    if dof < 0 or weight == 0.0:
        return place
    contacts = state.contacts
    slides = plant.elastic.contact_dofs[p]
    for i in range(slides):
        k = slides - 1 - i if last else i
        contacts.chain_dof[place] = dof + k
        for n in range(3):
            contacts.chain_column[place, n] = 0.0
            contacts.chain_column[place, 3 + n] = weight * state.cdof[dof + k, 3 + n]
        place += 1
    return place


@compiled
def _gather(plant: Table, state: Table, p: int, weight: float, count: int) -> int:
    """Add what moves a vertex to the particles of a side, of which there are ``count``."""
    elastic = plant.elastic
    soft = state.soft
    first = elastic.vertex_first[p]
    last = elastic.vertex_first[p + 1]
    if first == last:
        soft.side_particle[count] = p
        soft.side_weight[count] = weight
        return count + 1
    for k in range(first, last):
        node = elastic.vertex_particle[k]
        at = 0
        while at < count and soft.side_particle[at] != node:
            at += 1
        if at == count:
            soft.side_particle[at] = node
            soft.side_weight[at] = 0.0
            count += 1
        soft.side_weight[at] += weight * elastic.vertex_weight[k]
    return count


@compiled
def _add_particles(plant: Table, state: Table, count: int, place: int, inner: bool) -> int:
    """Add the slides of a side's particles, with their weights; from the last dof on if inner.

    Returns where the chain ends then.
    """
    elastic = plant.elastic
    particle = state.soft.side_particle
    weight = state.soft.side_weight
    if not inner:
        for a in range(count):
            place = _add_particle(plant, state, particle[a], weight[a], place, 0)
        return place
    before = plant.nv
    for _ in range(count):
        latest = -1
        for a in range(count):
            dof = elastic.contact_dof[particle[a]]
            if dof < before and (latest < 0 or dof > elastic.contact_dof[particle[latest]]):
                latest = a
        if latest < 0:
            break
        before = elastic.contact_dof[particle[latest]]
        place = _add_particle(plant, state, particle[latest], weight[latest], place, 1)
    return place


@compiled
def flex_link(
    plant: Table, state: Table, flex: int, element: int, vertex: int, point: np.ndarray
) -> int:
    """Make the link of a flex's side and fill its point; −1 if it is fixed, −2 without room."""
    elastic = plant.elastic
    contacts = state.contacts
    link = contacts.link_count
    start = 0
    if link > 0:
        start = contacts.link_start[link - 1] + contacts.link_size[link - 1]
    room = start + 3 * state.soft.side_particle.size
    if link >= contacts.link_tree.size or room > contacts.chain_dof.size:
        return -2
    frame = elastic.flex_frame[flex]
    inner = elastic.flex_inner[flex] == 1
    work = state.soft.work_points
    first = elastic.flex_first_vertex[flex]
    count = 0
    if vertex >= 0:
        vertex_position(plant, state, first + vertex, work, 5)
        for n in range(3):
            point[n] = work[5, n]
        count = _gather(plant, state, first + vertex, 1.0, count)
    else:
        corners = elastic.flex_corners[flex]
        corner = elastic.flex_first_corner[flex] + corners * element
        for a in range(corners):
            vertex_position(plant, state, first + elastic.corner[corner + a], work, a)
        for n in range(3):
            work[4, n] = point[n]
            point[n] = 0.0
        _fill_weights(work, corners)
        for a in range(corners):
            for n in range(3):
                point[n] += work[5, a] * work[a, n]
            count = _gather(plant, state, first + elastic.corner[corner + a], work[5, a], count)
    end = _add_particles(plant, state, count, start, inner)
    contacts.link_own[link] = end - start
    if inner:
        # Whatever the weights, they are one together: the point moves with the body besides.
        dof = plant.bodies.last_dof[frame]
        while dof >= 0:
            if end >= contacts.chain_dof.size:
                return -2
            contacts.chain_dof[end] = dof
            for n in range(6):
                contacts.chain_column[end, n] = state.cdof[dof, n]
            end += 1
            dof = plant.dofs.parent[dof]
    if end == start:
        return -1
    contacts.link_tree[link] = plant.dofs.tree[contacts.chain_dof[start]]
    contacts.link_start[link] = start
    contacts.link_size[link] = end - start
    contacts.link_soft[link] = 0 if inner else 1
    contacts.link_count = link + 1
    return link
