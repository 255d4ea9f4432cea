"""The block Cholesky factorization of a divided island, and its solutions.

Columns are computed left-looking: each is written by one thread alone, from those that it couples
with and that come before it, in their order. The columns of a part do not need those of another
one. What parts hang on follows column by column: whoever takes one waits for every column that it
needs when it comes to it, so that a column's last terms are added while the next one's first are.
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
    FORWARD,
    in_order,
    share_phase,
)
from asperity.convex.problem import PROBLEM

__all__ = ["backward_part", "factorize_divided", "factorize_item", "forward_part", "solve_divided"]

# Looks at a column before a thread gives way to others.
_LOOKS = 2000


@compiled
def _wait_for(problem: Table, tree: int) -> None:
    """Wait until a tree's column is there."""
    flag = problem.column_done.ctypes.data + 8 * tree
    looks = 0
    while atomic_load(flag) != problem.factorization:
        looks += 1
        if looks > _LOOKS:
            call_p_status(TEAM.at(problem.team).give_way, 0)
            looks = 0


@compiled
def _compute_column(problem: Table, tree: int) -> bool:
    """Subtract what earlier columns have to do with a tree's, and factorize it."""
    if problem.fused == 1:
        add_pairs_of_tree(problem, tree)
    factor = problem.factor
    coupling = problem.coupling
    m = problem.tree_size[tree]
    begin = problem.source_start[tree]
    for k in range(begin, begin + problem.source_size[tree]):
        source = problem.source_tree[k]
        entry = problem.source_entry[k]
        _wait_for(problem, source)
        a = problem.entry_block[entry]
        downdate(problem, source, a, m, a, m, factor, problem.block_start[tree])
        # Couplings of both are in the order of elimination, and the source's are among the tree's.
        target = problem.column_start[tree]
        for later in range(entry + 1, problem.column_start[source] + problem.column_size[source]):
            third = problem.entry_tree[later]
            while problem.entry_tree[target] != third:
                target += 1
            p = problem.tree_size[third]
            b = problem.entry_block[later]
            downdate(problem, source, a, m, b, p, coupling, problem.entry_block[target])
    whole = factorize_tree(problem, tree)
    # Also if it failed: others wait for it.
    atomic_store(problem.column_done.ctypes.data + 8 * tree, problem.factorization)
    return whole


@compiled
def factorize_item(problem: Table, item: int) -> int:
    """Factorize a part, or one column of what parts hang on; returns 1 if that fails."""
    parts = problem.last_part - problem.first_part
    if item < parts:
        first = problem.part_first[problem.first_part + item]
        last = problem.part_last[problem.first_part + item]
    else:
        first = problem.part_last[problem.last_part - 1] + item - parts
        last = first + 1
    code = 0
    for index in range(first, last):
        if not _compute_column(problem, problem.island_tree[index]):
            code = 1
    return code


@entry_point(types.int64(PROBLEM.type, types.int64))
def factorize_divided(problem: Table, _unused: int) -> int:
    """Factorize the island's blocks; returns 1, or 0 if they are not positive definite."""
    problem.factorization += 1
    parts = problem.last_part - problem.first_part
    columns = problem.last_tree - problem.part_last[problem.last_part - 1]
    return 1 - in_order(problem, FACTORIZE, parts + columns)


@compiled
def forward_part(problem: Table, part: int) -> None:
    """x = L⁻¹ x for a part."""
    _forward(problem, problem.part_first[part], problem.part_last[part])


@compiled
def _forward(problem: Table, first: int, last: int) -> None:
    x = problem.direction
    for index in range(first, last):
        tree = problem.island_tree[index]
        begin = problem.source_start[tree]
        for k in range(begin, begin + problem.source_size[tree]):
            push(problem, problem.source_tree[k], problem.source_entry[k], tree, x)
        forward_tree(problem, tree, x)


@compiled
def _backward(problem: Table, first: int, last: int) -> None:
    for index in range(last - 1, first - 1, -1):
        backward_column(problem, problem.island_tree[index], problem.direction)


@compiled
def backward_part(problem: Table, part: int) -> None:
    """x = L⁻ᵀ x for a part, after what it hangs on."""
    _backward(problem, problem.part_first[part], problem.part_last[part])


@entry_point(types.int64(PROBLEM.type, types.int64))
def solve_divided(problem: Table, _unused: int) -> int:
    """Solve H x = b in place for the island's part of ``direction``."""
    parts = problem.last_part - problem.first_part
    above = problem.part_last[problem.last_part - 1]
    share_phase(problem, FORWARD, parts)
    _forward(problem, above, problem.last_tree)
    _backward(problem, above, problem.last_tree)
    share_phase(problem, BACKWARD, parts)
    return 0
