"""Paths from links to the world: velocities of links, and what acts on them, joint by joint.

All links of a kinematic tree have the same reference point (`asperity.contact.contact_set`), so
that spatial velocities add up from joint to joint, and forces are those of the joints beyond:

    V_i = V_parent(i) + S_i v_i,        f_i = Σ forces on links beyond i,   τ_i = S_i · f_i.

Only dofs between links and the world have a place, once each, however many links are beyond.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled

__all__ = ["gather_forces", "make_paths", "spread_velocities"]


@compiled
def _place_link(problem: Table, contacts: Table, link: int, count: int) -> int:
    """Give places to the dofs of a link that have none; returns how many there are then."""
    start = contacts.link_start[link]
    parent = -1
    # Chains begin at the link.
    for e in range(start + contacts.link_size[link] - 1, start - 1, -1):
        dof = contacts.chain_dof[e]
        place = problem.dof_path[dof]
        if place < 0:
            place = count
            problem.dof_path[dof] = place
            problem.path_dof[place] = dof
            problem.path_entry[place] = e
            problem.path_parent[place] = parent
            count += 1
        parent = place
    problem.link_tip[link] = parent
    return count


@compiled
def make_paths(problem: Table, contacts: Table, islands: int, island: np.ndarray) -> None:
    """Sort links of articulated trees by island (of each tree), and place their dofs."""
    start = problem.island_link_start
    for k in range(islands + 2):
        start[k] = 0
    articulated = 0
    for link in range(contacts.link_count):
        tree = contacts.link_tree[link]
        if not problem.tree_spatial[tree]:
            start[island[tree] + 2] += 1
            articulated += 1
    for k in range(2, islands + 2):
        start[k] += start[k - 1]
    for k in range(islands + 1):
        problem.island_path_start[k] = 0
    if articulated == 0:
        return
    for link in range(contacts.link_count):
        tree = contacts.link_tree[link]
        if not problem.tree_spatial[tree]:
            k = island[tree] + 1
            problem.link_order[start[k]] = link
            start[k] += 1
    for dof in range(problem.dof_path.size):
        problem.dof_path[dof] = -1
    count = 0
    for k in range(islands):
        for index in range(start[k], start[k + 1]):
            count = _place_link(problem, contacts, problem.link_order[index], count)
        problem.island_path_start[k + 1] = count


@compiled
def spread_velocities(
    problem: Table, contacts: Table, first: int, last: int, vector: np.ndarray
) -> None:
    """Fill a vector's end with the velocities of the links of articulated trees, some islands'."""
    velocity = problem.path_velocity
    column = contacts.chain_column
    for i in range(problem.island_path_start[first], problem.island_path_start[last]):
        v = vector[problem.path_dof[i]]
        e = problem.path_entry[i]
        parent = problem.path_parent[i]
        if parent < 0:
            for a in range(6):
                velocity[i, a] = column[e, a] * v
        else:
            for a in range(6):
                velocity[i, a] = velocity[parent, a] + column[e, a] * v
    for index in range(problem.island_link_start[first], problem.island_link_start[last]):
        link = problem.link_order[index]
        tip = problem.link_tip[link]
        base = problem.nv + 6 * link
        for a in range(6):
            vector[base + a] = velocity[tip, a]


@compiled
def gather_forces(
    problem: Table, contacts: Table, first: int, last: int, vector: np.ndarray
) -> None:
    """Add to a vector the generalized forces of the spatial ones at its end, some islands'."""
    force = problem.path_velocity
    column = contacts.chain_column
    begin = problem.island_path_start[first]
    end = problem.island_path_start[last]
    for i in range(begin, end):
        for a in range(6):
            force[i, a] = 0.0
    for index in range(problem.island_link_start[first], problem.island_link_start[last]):
        link = problem.link_order[index]
        tip = problem.link_tip[link]
        base = problem.nv + 6 * link
        for a in range(6):
            force[tip, a] += vector[base + a]
    for i in range(end - 1, begin - 1, -1):
        e = problem.path_entry[i]
        parent = problem.path_parent[i]
        total = 0.0
        for a in range(6):
            total += column[e, a] * force[i, a]
        vector[problem.path_dof[i]] += total
        if parent >= 0:
            for a in range(6):
                force[parent, a] += force[i, a]
