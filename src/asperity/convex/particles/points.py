"""Points of elements: links of contacts that hang on the dofs of several trees.

Such a link does not turn. Its columns are those of the vertices' slides, with their weights:
v = Σ chain_column[i] · v[chain_dof[i]], the angular part being zero. Three follow each other for
every vertex.
"""

from __future__ import annotations

from numba import types

from asperity.compiled import Table, compiled, entry_point
from asperity.compiled.calls import load_double, store_double
from asperity.contact.contact_set import CONTACT_SET
from asperity.convex.elimination import couple, have_block
from asperity.convex.problem import PROBLEM

__all__ = ["couple_points", "gather_from_points", "prepare_order", "spread_to_points"]

_SPREAD_SIGNATURE = types.int64(PROBLEM.type, CONTACT_SET.type, *[types.int64] * 3)


@compiled
def _tree_of_side(graph: Table, contacts: Table, link: int, place: int) -> int:
    """The tree of a link at one of the places 0, 3, 6, ... of its chain."""
    if contacts.link_soft[link] == 0:
        return contacts.link_tree[link]
    return graph.dof_tree[contacts.chain_dof[contacts.link_start[link] + place]]


@compiled
def _visit(graph: Table, contacts: Table, contact: int, couples: bool) -> bool:
    """Couple all trees of a contact, if told to; returns whether all couple with each other."""
    a = contacts.link[contact, 0]
    b = contacts.link[contact, 1]
    if a < 0 or b < 0 or (contacts.link_soft[a] == 0 and contacts.link_soft[b] == 0):
        return True
    known = True
    for e in range(0, contacts.link_size[a] if contacts.link_soft[a] == 1 else 1, 3):
        tree_a = _tree_of_side(graph, contacts, a, e)
        for f in range(0, contacts.link_size[b] if contacts.link_soft[b] == 1 else 1, 3):
            tree_b = _tree_of_side(graph, contacts, b, f)
            if tree_a == tree_b:
                continue
            if couples:
                couple(graph, tree_a, tree_b)
            known = known and have_block(graph, tree_a, tree_b)
    return known


@entry_point(types.int64(PROBLEM.type, CONTACT_SET.type))
def couple_points(problem: Table, contacts: Table) -> int:
    """Whether the symbolic factorization serves all contacts with points, and these islands."""
    graph = problem.graph
    for tree in range(graph.ntree):
        if graph.tree_island[tree] != graph.component[graph.ntree + tree]:
            return 0
    for contact in range(contacts.count):
        if not _visit(graph, contacts, contact, False):
            return 0
    return 1


@entry_point(types.int64(PROBLEM.type, CONTACT_SET.type))
def prepare_order(problem: Table, contacts: Table) -> int:
    """Couple trees by points and bonds, and let trees with bonds come first, in their order.

    Their degrees become numbers that are less than those of others, and ascend by rank.
    """
    graph = problem.graph
    for contact in range(contacts.count):
        _visit(graph, contacts, contact, True)
    for bond in range(graph.bonds):
        couple(graph, graph.bond_tree[bond, 0], graph.bond_tree[bond, 1])
    apart = 2 * graph.nv + 1
    for tree in range(graph.ntree):
        rank = graph.bond_rank[tree]
        graph.degree[tree] += apart * (rank if rank >= 0 else graph.ntree)
    return 0


@entry_point(_SPREAD_SIGNATURE)
def spread_to_points(problem: Table, contacts: Table, first: int, last: int, vector: int) -> int:
    """Fill the velocities of points of the islands ``first .. last`` in a vector at an address."""
    graph = problem.graph
    for index in range(graph.island_link_start[first], graph.island_link_start[last]):
        link = graph.link_order[index]
        if contacts.link_soft[link] == 0:
            continue
        x = 0.0
        y = 0.0
        z = 0.0
        start = contacts.link_start[link]
        for e in range(start, start + contacts.link_size[link]):
            v = load_double(vector + 8 * contacts.chain_dof[e])
            x += contacts.chain_column[e, 3] * v
            y += contacts.chain_column[e, 4] * v
            z += contacts.chain_column[e, 5] * v
        base = vector + 8 * (graph.nv + 6 * link)
        for a in range(3):
            store_double(base + 8 * a, 0.0)
        store_double(base + 24, x)
        store_double(base + 32, y)
        store_double(base + 40, z)
    return 0


@entry_point(_SPREAD_SIGNATURE)
def gather_from_points(problem: Table, contacts: Table, first: int, last: int, vector: int) -> int:
    """Add the forces on such points, in a vector, to the dofs of their vertices."""
    graph = problem.graph
    for index in range(graph.island_link_start[first], graph.island_link_start[last]):
        link = graph.link_order[index]
        if contacts.link_soft[link] == 0:
            continue
        base = vector + 8 * (graph.nv + 6 * link)
        x = load_double(base + 24)
        y = load_double(base + 32)
        z = load_double(base + 40)
        start = contacts.link_start[link]
        for e in range(start, start + contacts.link_size[link]):
            at = vector + 8 * contacts.chain_dof[e]
            column = contacts.chain_column[e]
            store_double(at, load_double(at) + column[3] * x + column[4] * y + column[5] * z)
    return 0
