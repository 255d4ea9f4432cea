"""Assembly of a divided island's Hessian, by several threads.

Each pair of free bodies is summed first, by one thread. Then each free body adds its pairs to its
own block and to its couplings with later bodies, which no other thread writes. Contacts of
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
from asperity.convex.spatial_hessian import keep_hessian, other_side

__all__ = ["add_pairs_of_tree", "assemble_divided", "sum_pairs"]


@compiled
def sum_pairs(problem: Table, contacts: Table, first: int, last: int) -> None:
    """Add up the Hessians of pairs of free bodies, or of one and the world."""
    division, graph = problem.division, problem.graph
    divided = graph.divided
    for pair in range(first, last):
        if divided.pair_tree[pair, 0] == NOT_FREE:
            continue
        begin = divided.pair_contact[pair, 0]
        end = divided.pair_contact[pair, 1]
        about_a = divided.pair_tree[pair, 0] >= 0
        active, p, q, g = sum_of_contacts(
            graph, problem.law, problem.iterate, contacts, begin, end, about_a
        )
        d = between_arms(contacts, graph.contact[begin])
        division.pair_sum[pair, 0] = 1.0 if active else 0.0
        keep_hessian(division.pair_sum, pair, 1, p, q, g)
        for k in range(3):
            division.pair_sum[pair, 22 + k] = d[k]


@compiled
def add_pairs_of_tree(problem: Table, tree: int) -> None:
    """Fill the block of a tree, and its couplings with later ones, with A and its pairs."""
    hessian, graph = problem.hessian, problem.graph
    divided = graph.divided
    begin_tree(graph, problem.smooth, hessian, tree)
    clear_column(graph, tree, hessian.coupling)
    block = graph.block_start[tree]
    s = problem.division.pair_sum
    for k in range(divided.tree_pair_start[tree], divided.tree_pair_start[tree + 1]):
        pair = divided.tree_pair[k]
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
        a = divided.pair_tree[pair, 0]
        b = divided.pair_tree[pair, 1]
        if a < 0 or b < 0:
            add_lower(hessian.factor, block, p, q, g)
            continue
        d = (s[pair, 22], s[pair, 23], s[pair, 24])
        q_b, between, p_b = other_side(d, g, q, p)
        if tree == a:
            add_lower(hessian.factor, block, p, q, g)
            if graph.position[a] < graph.position[b]:
                at = divided.pair_block[pair]
                subtract_spatial(hessian.coupling, at, 6, 1, between, q, q_b, g)
        else:
            add_lower(hessian.factor, block, p_b, q_b, g)
            if graph.position[b] < graph.position[a]:
                at = divided.pair_block[pair]
                subtract_spatial(hessian.coupling, at, 1, 6, between, q, q_b, g)


@entry_point(types.int64(PROBLEM.type, CONTACT_SET.type, CONSTRAINT_SET.type))
def assemble_divided(problem: Table, contacts: Table, rows: Table) -> int:
    """Fill the blocks of the island's Hessian from the present curvatures; returns `ASSEMBLED`.

    Where nothing but pairs fills them these are only summed up, for `PAIRS`.
    """
    at_hand, graph = problem.at_hand, problem.graph
    divided = graph.divided
    problem.division.phase_contacts = contacts.address
    share_phase(problem, SUM_PAIRS, at_hand.last_chunk - at_hand.first_chunk)
    if only_pairs(graph, at_hand):
        return PAIRS
    share_phase(problem, ADD_PAIRS, tree_blocks(at_hand))
    if at_hand.last_chunk > at_hand.first_chunk:
        first = divided.chunk_pair[at_hand.first_chunk, 0]
        for pair in range(first, divided.chunk_pair[at_hand.last_chunk - 1, 1]):
            if divided.pair_tree[pair, 0] == NOT_FREE:
                begin = divided.pair_contact[pair, 0]
                add_contacts(problem, contacts, begin, divided.pair_contact[pair, 1])
        end_paths(problem, contacts)
    add_rows(graph, problem.iterate, problem.hessian, rows, at_hand.first_row, at_hand.last_row)
    return ASSEMBLED
