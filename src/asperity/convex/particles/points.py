"""Points of elements: links of contacts that depend on the dofs of several trees.

Such a link does not turn. Its columns are those of the vertices' slides, times their weights:
v = Σ chain_column[i] · v[chain_dof[i]], with an angular part of zero. Every vertex has three.
"""

from __future__ import annotations

from numba import types

from asperity.compiled import Table, compiled, entry_point
from asperity.contact.contact_set import CONTACT_SET
from asperity.convex.elimination import couple, have_block
from asperity.convex.problem import PROBLEM

__all__ = ["couple_points", "prepare_order"]

# Dofs of a tetrahedron's vertices.
_ELEMENT = 12


@compiled
def _tree_of_side(graph: Table, contacts: Table, link: int, place: int) -> int:
    """The tree of a link at one of the places 0, 3, 6, ... of its chain."""
    if contacts.link_soft[link] == 0:
        return contacts.link_tree[link]
    return graph.dof_tree[contacts.chain_dof[contacts.link_start[link] + place]]


@compiled
def _places(contacts: Table, link: int) -> int:
    """Up to which place of its chain a link has trees."""
    return contacts.link_size[link] if contacts.link_soft[link] == 1 else 1


@compiled
def _join(graph: Table, contacts: Table, a: int, b: int, couples: bool) -> bool:
    """Couple all trees of two links, if told to; returns whether all couple with each other."""
    known = True
    for e in range(0, _places(contacts, a), 3):
        tree_a = _tree_of_side(graph, contacts, a, e)
        for f in range(e + 3 if a == b else 0, _places(contacts, b), 3):
            tree_b = _tree_of_side(graph, contacts, b, f)
            if tree_a == tree_b:
                continue
            if couples:
                couple(graph, tree_a, tree_b)
            known = known and have_block(graph, tree_a, tree_b)
    return known


@compiled
def _visit(graph: Table, contacts: Table, contact: int, couples: bool) -> bool:
    """Couple all trees of a contact, if told to; returns whether all couple with each other.

    The vertices of one element do, by its bonds. Nodes that an element is between need not.
    """
    a = contacts.link[contact, 0]
    b = contacts.link[contact, 1]
    known = True
    for side in range(2):
        link = contacts.link[contact, side]
        if link >= 0 and contacts.link_soft[link] == 1 and contacts.link_size[link] > _ELEMENT:
            known = _join(graph, contacts, link, link, couples) and known
    if a < 0 or b < 0 or (contacts.link_soft[a] == 0 and contacts.link_soft[b] == 0):
        return known
    return _join(graph, contacts, a, b, couples) and known


@entry_point(types.int64(PROBLEM.type, CONTACT_SET.type))
def couple_points(problem: Table, contacts: Table) -> int:
    """Whether the symbolic factorization serves all contacts with points, and these islands."""
    graph = problem.graph
    for tree in range(graph.ntree):
        if graph.panels.tree_island[tree] != graph.component[graph.ntree + tree]:
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
    bonds = graph.bonds
    for contact in range(contacts.count):
        _visit(graph, contacts, contact, True)
    for bond in range(bonds.count):
        couple(graph, bonds.tree[bond, 0], bonds.tree[bond, 1])
    apart = 2 * graph.nv + 1
    for tree in range(graph.ntree):
        rank = bonds.rank[tree]
        graph.degree[tree] += apart * (rank if rank >= 0 else graph.ntree)
    return 0
