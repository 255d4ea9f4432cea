"""The graph of trees: islands, and the contacts and rows of each.

Two trees couple when a contact or a constraint joins them. Islands are its components: they are
solved one by one, so each converges and ends on its own. The symbolic factorization
(`asperity.convex.elimination`) is kept as long as every coupling has a block in it and the
components are the same ones.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, entry_point, inlined
from asperity.compiled.calls import call_pp_status, call_ppp_status
from asperity.contact.constraint_set import CONSTRAINT_SET
from asperity.contact.contact_set import CONTACT_SET
from asperity.convex.chains import fill_chains
from asperity.convex.division import list_pairs
from asperity.convex.elimination import clear_couplings, couple, eliminate_islands, have_block
from asperity.convex.paths import make_paths
from asperity.convex.problem import PROBLEM

__all__ = ["build_graph"]


OK = 0
PATTERN_CHANGED = 1
COUPLING_TOO_SMALL = -1


@compiled
def _root(parent: np.ndarray, tree: int) -> int:
    while parent[tree] != tree:
        parent[tree] = parent[parent[tree]]
        tree = parent[tree]
    return tree


@compiled
def _trees_of_contact(link: np.ndarray, link_tree: np.ndarray, contact: int) -> tuple[int, int]:
    a = link[contact, 0]
    b = link[contact, 1]
    return link_tree[a] if a >= 0 else -1, link_tree[b] if b >= 0 else -1


@compiled
def _is_next(link: np.ndarray, contact: int) -> bool:
    """Whether a contact is of the same links as the one before, as most are."""
    if contact == 0:
        return False
    same_a = link[contact, 0] == link[contact - 1, 0]
    return same_a and link[contact, 1] == link[contact - 1, 1]


@compiled
def _join(graph: Table, a: int, b: int) -> tuple[bool, bool]:
    """Join the components of two trees; returns (has a block, joined two components)."""
    if a < 0 or b < 0 or a == b:
        return True, False
    parent = graph.component
    root_a = _root(parent, a)
    root_b = _root(parent, b)
    joined = root_a != root_b
    if joined:
        if root_a < root_b:
            parent[root_b] = root_a
        else:
            parent[root_a] = root_b
    return have_block(graph, a, b), joined


@compiled
def _symbolic(problem: Table, contacts: Table, rows: Table, islands: int) -> int:
    """Recompute order and structure, component by component; returns the size of all blocks."""
    graph = problem.graph
    ntree = graph.ntree
    clear_couplings(graph)
    for contact in range(contacts.count):
        if not _is_next(contacts.link, contact):
            a, b = _trees_of_contact(contacts.link, contacts.link_tree, contact)
            couple(graph, a, b)
    for row in range(rows.count):
        couple(graph, rows.tree[row, 0], rows.tree[row, 1])
    if graph.bonds.count > 0:
        call_pp_status(problem.entries.prepare_order, problem, contacts)
    for tree in range(ntree):
        graph.order[tree] = tree
    _list_islands(graph, islands)
    for tree in range(ntree):
        graph.order[tree] = graph.island_tree[tree]
    size = eliminate_islands(graph, islands)
    if graph.bonds.count > 0:
        size = call_pp_status(problem.entries.list_panels, problem, islands)
    return size


@compiled
def _number_islands(graph: Table, parent: np.ndarray) -> int:
    """Number the components in the order of their first tree; returns how many there are."""
    island = graph.component[graph.ntree : 2 * graph.ntree]
    islands = 0
    for tree in range(graph.ntree):
        root = _root(parent, tree)
        if root == tree:
            island[tree] = islands
            islands += 1
        else:
            # The root is the smallest tree of its component and has its number already.
            island[tree] = island[root]
    return islands


@compiled
def _list_islands(graph: Table, islands: int) -> None:
    """List the trees of every component by position."""
    ntree = graph.ntree
    island = graph.component[ntree : 2 * ntree]
    start = graph.island_start
    for k in range(islands + 1):
        start[k] = 0
    for tree in range(ntree):
        start[island[tree]] += 1
    total = 0
    for k in range(islands):
        count = start[k]
        start[k] = total
        total += count
    start[islands] = total
    for step in range(ntree):
        tree = graph.order[step]
        k = island[tree]
        graph.island_tree[start[k]] = tree
        start[k] += 1
    for k in range(islands, 0, -1):
        start[k] = start[k - 1]
    start[0] = 0


@compiled
def _base(tree: int, link: int, nv: int, tree_start: np.ndarray, tree_spatial: np.ndarray) -> int:
    """Where a link's spatial velocity starts in the problem's vectors; −1 for the world."""
    if tree < 0:
        return -1
    return tree_start[tree] if tree_spatial[tree] else nv + 6 * link


@compiled
def _mark_ellipsoids(graph: Table, contacts: Table) -> None:
    graph.ellipsoids = contacts.ellipsoids
    if contacts.ellipsoids != 0:
        for i in range(contacts.count):
            graph.ellipsoidal[i] = contacts.ellipsoidal[graph.contact[i]]


@inlined
def _row_entry(rows: Table, row: int) -> int:
    """Where the only entry of a row's Jacobian is, if it has one: see ``row_entry``."""
    if rows.start[row, 2] == rows.start[row, 0] + 1:
        return int(rows.start[row, 0])
    return -1 if rows.tree[row, 1] < 0 else -2


@compiled
def _list_all(graph: Table, contacts: Table, rows: Table) -> None:
    """List contacts and rows of the only tree, which is the only island, as they are."""
    fill_chains(graph, contacts, rows)
    make_paths(graph, contacts, 1, graph.component[1:2])
    spatial = graph.tree_spatial[0] == 1
    for i in range(contacts.count):
        graph.contact[i] = i
        a = contacts.link[i, 0]
        b = contacts.link[i, 1]
        # As `_base`, of one tree that begins at 0.
        graph.base_a[i] = a if a < 0 else (0 if spatial else graph.nv + 6 * a)
        graph.base_b[i] = b if b < 0 else (0 if spatial else graph.nv + 6 * b)
    _mark_ellipsoids(graph, contacts)
    graph.island_contact_start[1] = contacts.count
    for i in range(rows.count):
        graph.row[i] = i
        graph.row_entry[i] = _row_entry(rows, i)
    graph.island_row_start[1] = rows.count


@entry_point(types.int64(PROBLEM.type, CONTACT_SET.type, CONSTRAINT_SET.type))
def build_graph(problem: Table, contacts: Table, rows: Table) -> int:
    """Find islands and order, sort contacts and rows by island.

    Returns ``OK``, ``PATTERN_CHANGED`` (blocks and factors of earlier solves are void) or
    ``COUPLING_TOO_SMALL`` (the needed size is in ``coupling_size``; grow and call again).
    """
    graph = problem.graph
    bonds, ntree = graph.bonds, graph.ntree
    if ntree == 1 and graph.components == 1:
        _list_all(graph, contacts, rows)
        return OK
    parent = graph.component
    link = contacts.link
    row_tree = rows.tree
    ncontact = contacts.count
    nrow = rows.count

    for tree in range(ntree):
        parent[tree] = bonds.root[tree]
    components = bonds.groups
    known = True
    for contact in range(ncontact):
        if _is_next(link, contact):
            continue
        a, b = _trees_of_contact(link, contacts.link_tree, contact)
        has_block, joined = _join(graph, a, b)
        known = known and has_block
        if joined:
            components -= 1
    for row in range(nrow):
        a = row_tree[row, 0]
        b = row_tree[row, 1]
        has_block, joined = _join(graph, a, b)
        known = known and has_block
        if joined:
            components -= 1

    islands = _number_islands(graph, parent)
    status = OK
    if bonds.count > 0:
        known = known and call_pp_status(problem.entries.couple_points, problem, contacts) == 1
    if not known or components != graph.components:
        graph.coupling_size = _symbolic(problem, contacts, rows, islands)
        graph.components = components
        status = PATTERN_CHANGED
    if graph.coupling_size > problem.hessian.coupling.size:
        graph.components = -1  # come back here after the memory has grown
        return COUPLING_TOO_SMALL

    _list_islands(graph, islands)
    if bonds.count > 0:
        call_ppp_status(problem.entries.touch_panels, problem, contacts, rows)
    graph.islands = islands
    island = parent[ntree : 2 * ntree]
    fill_chains(graph, contacts, rows)
    make_paths(graph, contacts, islands, island)
    nv = graph.nv
    order = graph.contact
    start = graph.island_contact_start
    for k in range(islands + 2):
        start[k] = 0
    k = 0
    for contact in range(ncontact):
        if not _is_next(link, contact):
            a, b = _trees_of_contact(link, contacts.link_tree, contact)
            k = island[a if a >= 0 else b] + 2
        start[k] += 1
    for k in range(2, islands + 2):
        start[k] += start[k - 1]
    base_a = base_b = -1
    for contact in range(ncontact):
        if not _is_next(link, contact):
            a, b = _trees_of_contact(link, contacts.link_tree, contact)
            k = island[a if a >= 0 else b] + 1
            base_a = _base(a, link[contact, 0], nv, graph.tree_start, graph.tree_spatial)
            base_b = _base(b, link[contact, 1], nv, graph.tree_start, graph.tree_spatial)
        i = start[k]
        order[i] = contact
        graph.base_a[i] = base_a
        graph.base_b[i] = base_b
        start[k] += 1
    _mark_ellipsoids(graph, contacts)
    order = graph.row
    start = graph.island_row_start
    for k in range(islands + 2):
        start[k] = 0
    for row in range(nrow):
        start[island[row_tree[row, 0]] + 2] += 1
    for k in range(2, islands + 2):
        start[k] += start[k - 1]
    for row in range(nrow):
        k = island[row_tree[row, 0]] + 1
        order[start[k]] = row
        graph.row_entry[start[k]] = _row_entry(rows, row)
        start[k] += 1
    list_pairs(graph, contacts)
    return status
