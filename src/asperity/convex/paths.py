"""Paths from links to the world: velocities of links, and what acts on them, joint by joint.

All links of a kinematic tree have the same reference point (`asperity.contact.contact_set`), so
that spatial velocities add up from joint to joint, and forces are those of the joints beyond:

    V_i = V_parent(i) + S_i v_i,        f_i = Σ forces on links beyond i,   τ_i = S_i · f_i.

Only dofs between links and the world have a place, once each, however many links are beyond.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.compiled.row_kernels import add_row, copy_row, dot_rows, scale_row

__all__ = ["gather_forces", "make_paths", "spread_velocities"]


@compiled
def _place_link(paths: Table, contacts: Table, link: int, count: int) -> int:
    """Give places to the dofs of a link that have none; returns how many there are then.

    Vertices of points of elements share none with other links: their columns have weights.
    """
    start = contacts.link_start[link]
    own = contacts.link_size[link] if contacts.link_soft[link] == 1 else contacts.link_own[link]
    parent = -1
    # Chains begin at the link.
    for e in range(start + contacts.link_size[link] - 1, start - 1, -1):
        dof = contacts.chain_dof[e]
        place = paths.of_dof[dof]
        apart = e < start + own
        if place < 0 or apart:
            place = count
            if not apart:
                paths.of_dof[dof] = place
            paths.dof[place] = dof
            paths.entry[place] = e
            paths.parent[place] = parent
            follows = parent >= 0 and parent == place - 1 and paths.dof[parent] == dof - 1
            paths.run[place] = paths.run[parent] if follows else place
            for a in range(6):
                paths.columns[a, place] = contacts.chain_column[e, a]
            count += 1
        parent = place
    paths.link_tip[link] = parent
    return count


@compiled
def make_paths(graph: Table, contacts: Table, islands: int, island: np.ndarray) -> None:
    """Sort links of articulated trees by island (of each tree), and place their dofs."""
    paths = graph.paths
    start = paths.island_link_start
    for k in range(islands + 2):
        start[k] = 0
    articulated = 0
    for link in range(contacts.link_count):
        tree = contacts.link_tree[link]
        if not graph.tree_spatial[tree]:
            start[island[tree] + 2] += 1
            articulated += 1
    for k in range(2, islands + 2):
        start[k] += start[k - 1]
    for k in range(islands + 1):
        paths.island_start[k] = 0
    if articulated == 0:
        return
    for link in range(contacts.link_count):
        tree = contacts.link_tree[link]
        if not graph.tree_spatial[tree]:
            k = island[tree] + 1
            paths.link_order[start[k]] = link
            start[k] += 1
    for dof in range(paths.of_dof.size):
        paths.of_dof[dof] = -1
    count = 0
    for k in range(islands):
        for index in range(start[k], start[k + 1]):
            count = _place_link(paths, contacts, paths.link_order[index], count)
        paths.island_start[k + 1] = count


@compiled
def spread_velocities(
    graph: Table, iterate: Table, contacts: Table, first: int, last: int, vector: np.ndarray
) -> None:
    """Fill a vector's end with the velocities of the links of articulated trees, some islands'."""
    paths = graph.paths
    velocity = iterate.path_velocity
    data = velocity.ctypes.data
    columns = contacts.chain_column.ctypes.data
    for i in range(paths.island_start[first], paths.island_start[last]):
        v = vector[paths.dof[i]]
        column = columns + 48 * paths.entry[i]
        parent = paths.parent[i]
        if parent < 0:
            copy_row(data + 48 * i, column, 6)
            scale_row(data + 48 * i, v, 6)
        else:
            copy_row(data + 48 * i, data + 48 * parent, 6)
            add_row(data + 48 * i, column, v, 6)
    for index in range(paths.island_link_start[first], paths.island_link_start[last]):
        link = paths.link_order[index]
        tip = paths.link_tip[link]
        base = graph.nv + 6 * link
        for a in range(6):
            vector[base + a] = velocity[tip, a]


@compiled
def gather_forces(
    graph: Table, iterate: Table, contacts: Table, first: int, last: int, vector: np.ndarray
) -> None:
    """Add to a vector the generalized forces of the spatial ones at its end, some islands'."""
    paths = graph.paths
    force = iterate.path_velocity
    begin = paths.island_start[first]
    end = paths.island_start[last]
    for i in range(begin, end):
        for a in range(6):
            force[i, a] = 0.0
    for index in range(paths.island_link_start[first], paths.island_link_start[last]):
        link = paths.link_order[index]
        tip = paths.link_tip[link]
        base = graph.nv + 6 * link
        for a in range(6):
            force[tip, a] += vector[base + a]
    data = force.ctypes.data
    columns = contacts.chain_column.ctypes.data
    for i in range(end - 1, begin - 1, -1):
        column = columns + 48 * paths.entry[i]
        parent = paths.parent[i]
        vector[paths.dof[i]] += dot_rows(column, data + 48 * i, 6)
        if parent >= 0:
            add_row(data + 48 * parent, data + 48 * i, 1.0, 6)
