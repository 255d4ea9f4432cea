"""Block Cholesky factorization and substitution of a divided island, by several threads.

Columns are computed left-looking: one thread writes a column, from the earlier columns that couple
with it, in their order. A part is a subtree of the elimination tree and needs no column of another
part, so parts are independent. The columns above the parts follow one by one. A thread that takes
such a column waits for each column that it needs when it comes to it. The last terms of one column
are therefore added while the next one is begun.
"""

from __future__ import annotations

from numba import types

from asperity.compiled import Table, compiled, entry_point
from asperity.compiled.atomics import atomic_load, atomic_store
from asperity.compiled.calls import call_p_status
from asperity.compiled.team import TEAM
from asperity.convex.block_cholesky import (
    backward_column,
    downdate,
    factorize_tree,
    forward_tree,
    push,
)
from asperity.convex.divided_assembly import add_pairs_of_tree
from asperity.convex.divided_island import (
    BACKWARD,
    FACTORIZE,
    FILL_AND_FACTORIZE,
    FORWARD,
    in_order,
    share_phase,
)
from asperity.convex.problem import PAIRS, PROBLEM

__all__ = ["backward_part", "factorize_divided", "factorize_item", "forward_part", "solve_divided"]

# Looks at a column before a thread gives way to others.
_LOOKS = 2000


@compiled
def _wait_for(division: Table, tree: int) -> None:
    """Wait until a tree's column is there."""
    flag = division.column_done.ctypes.data + 8 * tree
    looks = 0
    while atomic_load(flag) != division.factorization:
        looks += 1
        if looks > _LOOKS:
            call_p_status(TEAM.at(division.team).give_way, 0)
            looks = 0


@compiled
def _compute_column(problem: Table, tree: int, fills: bool) -> bool:
    """Subtract what earlier columns have to do with a tree's, and factorize it.

    It is first filled with its pairs, or has been.
    """
    hessian, division, graph = problem.hessian, problem.division, problem.graph
    divided = graph.divided
    if fills:
        add_pairs_of_tree(problem, tree)
    factor = hessian.factor
    coupling = hessian.coupling
    m = graph.tree_size[tree]
    begin = divided.source_start[tree]
    for k in range(begin, begin + divided.source_size[tree]):
        source = divided.source_tree[k]
        entry = divided.source_entry[k]
        _wait_for(division, source)
        a = graph.entry_block[entry]
        downdate(problem, source, a, m, a, m, factor, graph.block_start[tree])
        # Couplings of both are in the order of elimination, and the source's are among the tree's.
        target = graph.column_start[tree]
        for later in range(entry + 1, graph.column_start[source] + graph.column_size[source]):
            third = graph.entry_tree[later]
            while graph.entry_tree[target] != third:
                target += 1
            p = graph.tree_size[third]
            b = graph.entry_block[later]
            downdate(problem, source, a, m, b, p, coupling, graph.entry_block[target])
    whole = factorize_tree(graph, hessian, tree, graph.column_size[tree])
    # Also if it failed: others wait for it.
    atomic_store(division.column_done.ctypes.data + 8 * tree, division.factorization)
    return whole


@compiled
def factorize_item(problem: Table, item: int, fills: bool) -> int:
    """Factorize a part, or one column of what parts hang on; returns 1 if that fails."""
    at_hand, graph = problem.at_hand, problem.graph
    divided = graph.divided
    parts = at_hand.last_part - at_hand.first_part
    if item < parts:
        first = divided.part_first[at_hand.first_part + item]
        last = divided.part_last[at_hand.first_part + item]
    else:
        first = divided.part_last[at_hand.last_part - 1] + item - parts
        last = first + 1
    code = 0
    for index in range(first, last):
        if not _compute_column(problem, graph.island_tree[index], fills):
            code = 1
    return code


@entry_point(types.int64(PROBLEM.type, types.int64))
def factorize_divided(problem: Table, filled: int) -> int:
    """Factorize the island's blocks; returns 1, or 0 if they are not positive definite.

    ``filled`` is `ASSEMBLED` or `PAIRS`.
    """
    at_hand = problem.at_hand
    problem.division.factorization += 1
    parts = at_hand.last_part - at_hand.first_part
    columns = at_hand.last_tree - problem.graph.divided.part_last[at_hand.last_part - 1]
    phase = FILL_AND_FACTORIZE if filled == PAIRS else FACTORIZE
    return 1 - in_order(problem, phase, parts + columns)


@compiled
def forward_part(graph: Table, iterate: Table, hessian: Table, part: int) -> None:
    """x = L⁻¹ x for a part."""
    _forward(graph, iterate, hessian, graph.divided.part_first[part], graph.divided.part_last[part])


@compiled
def _forward(graph: Table, iterate: Table, hessian: Table, first: int, last: int) -> None:
    divided = graph.divided
    x = iterate.direction
    for index in range(first, last):
        tree = graph.island_tree[index]
        begin = divided.source_start[tree]
        for k in range(begin, begin + divided.source_size[tree]):
            push(graph, hessian, divided.source_tree[k], divided.source_entry[k], tree, x)
        forward_tree(graph, hessian, tree, x)


@compiled
def _backward(graph: Table, iterate: Table, hessian: Table, first: int, last: int) -> None:
    for index in range(last - 1, first - 1, -1):
        backward_column(graph, hessian, graph.island_tree[index], iterate.direction)


@compiled
def backward_part(graph: Table, iterate: Table, hessian: Table, part: int) -> None:
    """x = L⁻ᵀ x for a part, after what it hangs on."""
    _backward(
        graph, iterate, hessian, graph.divided.part_first[part], graph.divided.part_last[part]
    )


@entry_point(types.int64(PROBLEM.type, types.int64))
def solve_divided(problem: Table, _unused: int) -> int:
    """Solve H x = b in place for the island's part of ``direction``."""
    graph, at_hand = problem.graph, problem.at_hand
    parts = at_hand.last_part - at_hand.first_part
    above = graph.divided.part_last[at_hand.last_part - 1]
    share_phase(problem, FORWARD, parts)
    _forward(graph, problem.iterate, problem.hessian, above, at_hand.last_tree)
    _backward(graph, problem.iterate, problem.hessian, above, at_hand.last_tree)
    share_phase(problem, BACKWARD, parts)
    return 0
