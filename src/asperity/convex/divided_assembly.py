"""Assembly of a divided island's Hessian.

Pairs of free bodies are summed up first, each once; then every free body adds those that it is part
of to its own block and to its couplings with later ones, which nobody else writes to. Contacts of
articulated trees and rows are added at the end, by one thread.
"""

from __future__ import annotations

from numba import types

from asperity.compiled import Table, compiled, entry_point
from asperity.contact.constraint_set import CONSTRAINT_SET
from asperity.contact.contact_set import CONTACT_SET
from asperity.convex.divided_island import (
    ADD_PAIRS,
    SUM_PAIRS,
    only_pairs,
    share_phase,
    tree_blocks,
)
from asperity.convex.graph_layout import NOT_FREE
from asperity.convex.hessian_assembly import (
    add_contacts,
    add_lower,
    add_rows,
    begin_tree,
    between_arms,
    clear_column,
    end_paths,
    subtract_spatial,
    sum_of_contacts,
)
from asperity.convex.problem import ASSEMBLED, PAIRS, PROBLEM
from asperity.convex.spatial_hessian import other_side

__all__ = ["add_pairs_of_tree", "assemble_divided", "sum_pairs"]


@compiled
def sum_pairs(problem: Table, contacts: Table, first: int, last: int) -> None:
    """Add up the Hessians of pairs of free bodies, or of one and the world."""
    graph = problem.graph
    for pair in range(first, last):
        if graph.divided.pair_tree[pair, 0] == NOT_FREE:
            continue
        begin = graph.divided.pair_contact[pair, 0]
        end = graph.divided.pair_contact[pair, 1]
        about_a = graph.divided.pair_tree[pair, 0] >= 0
        active, p, q, g = sum_of_contacts(problem, contacts, begin, end, about_a)
        d = between_arms(contacts, graph.contact[begin])
        problem.division.pair_sum[pair, 0] = 1.0 if active else 0.0
        for k in range(6):
            problem.division.pair_sum[pair, 1 + k] = p[k]
            problem.division.pair_sum[pair, 16 + k] = g[k]
        for k in range(9):
            problem.division.pair_sum[pair, 7 + k] = q[k]
        for k in range(3):
            problem.division.pair_sum[pair, 22 + k] = d[k]


@compiled
def add_pairs_of_tree(problem: Table, tree: int) -> None:
    """Fill the block of a tree, and its couplings with later ones, with A and its pairs."""
    graph = problem.graph
    begin_tree(problem, tree)
    clear_column(graph, tree, problem.hessian.coupling)
    block = graph.block_start[tree]
    s = problem.division.pair_sum
    for k in range(graph.divided.tree_pair_start[tree], graph.divided.tree_pair_start[tree + 1]):
        pair = graph.divided.tree_pair[k]
        if s[pair, 0] == 0.0:
            continue
        p = (s[pair, 1], s[pair, 2], s[pair, 3], s[pair, 4], s[pair, 5], s[pair, 6])
        q = (
            s[pair, 7],
            s[pair, 8],
            s[pair, 9],
            s[pair, 10],
            s[pair, 11],
            s[pair, 12],
            s[pair, 13],
            s[pair, 14],
            s[pair, 15],
        )
        g = (s[pair, 16], s[pair, 17], s[pair, 18], s[pair, 19], s[pair, 20], s[pair, 21])
        a = graph.divided.pair_tree[pair, 0]
        b = graph.divided.pair_tree[pair, 1]
        if a < 0 or b < 0:
            add_lower(problem.hessian.factor, block, p, q, g)
            continue
        d = (s[pair, 22], s[pair, 23], s[pair, 24])
        q_b, between, p_b = other_side(d, g, q, p)
        if tree == a:
            add_lower(problem.hessian.factor, block, p, q, g)
            if graph.position[a] < graph.position[b]:
                at = graph.divided.pair_block[pair]
                subtract_spatial(problem.hessian.coupling, at, 6, 1, between, q, q_b, g)
        else:
            add_lower(problem.hessian.factor, block, p_b, q_b, g)
            if graph.position[b] < graph.position[a]:
                at = graph.divided.pair_block[pair]
                subtract_spatial(problem.hessian.coupling, at, 1, 6, between, q, q_b, g)


@entry_point(types.int64(PROBLEM.type, CONTACT_SET.type, CONSTRAINT_SET.type))
def assemble_divided(problem: Table, contacts: Table, rows: Table) -> int:
    """Fill the blocks of the island's Hessian from the present curvatures; returns `ASSEMBLED`.

    Where nothing but pairs fills them these are only summed up, for `PAIRS`.
    """
    graph = problem.graph
    problem.division.phase_contacts = contacts.address
    share_phase(problem, SUM_PAIRS, problem.at_hand.last_chunk - problem.at_hand.first_chunk)
    if only_pairs(problem):
        return PAIRS
    share_phase(problem, ADD_PAIRS, tree_blocks(problem))
    if problem.at_hand.last_chunk > problem.at_hand.first_chunk:
        first = graph.divided.chunk_pair[problem.at_hand.first_chunk, 0]
        for pair in range(first, graph.divided.chunk_pair[problem.at_hand.last_chunk - 1, 1]):
            if graph.divided.pair_tree[pair, 0] == NOT_FREE:
                begin = graph.divided.pair_contact[pair, 0]
                add_contacts(problem, contacts, begin, graph.divided.pair_contact[pair, 1])
        end_paths(problem, contacts)
    add_rows(problem, rows, problem.at_hand.first_row, problem.at_hand.last_row)
    return ASSEMBLED
