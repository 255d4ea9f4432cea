"""Block-sparse Cholesky factorization over kinematic trees.

The Hessian has a diagonal block per tree (its lower triangle is used) and, for every pair of
coupled trees, a block with the rows of the tree that is eliminated first. With the factor H = L Lᵀ
the diagonal blocks become L_ii and the couplings L_jiᵀ, in place. Within an articulated tree's
block chains are eliminated from the last to the first (`asperity.convex.chain_cholesky`). Blocks of
two free bodies, 6 × 6, have their own kernels, in `asperity.convex.free_body_blocks`.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, entry_point, inlined
from asperity.compiled.calls import call_pp_status
from asperity.compiled.vector_rows import subtract_product_6
from asperity.convex.chain_cholesky import (
    backward_chains,
    downdate_blocks,
    factorize_chains,
    forward_chains,
    pull_rows,
    push_rows,
    substitute_rows,
)
from asperity.convex.chains import has_branches
from asperity.convex.free_body_blocks import (
    backward_6,
    cholesky_6,
    forward_6,
    pull_6,
    push_6,
    substitute_6,
)
from asperity.convex.problem import PROBLEM, UNCOUPLED

__all__ = [
    "backward_column",
    "cholesky",
    "cholesky_solve",
    "downdate",
    "factorize",
    "factorize_tree",
    "forward",
    "forward_tree",
    "push",
    "solve_factors",
]


@compiled
def cholesky(block: np.ndarray, start: int, n: int, inverse: np.ndarray, dof: int) -> bool:
    """Factorize a dense block in place; False if it is not positive definite."""
    for i in range(n):
        row_i = start + i * n
        for j in range(i):
            row_j = start + j * n
            value = block[row_i + j]
            for k in range(j):
                value -= block[row_i + k] * block[row_j + k]
            block[row_i + j] = value * inverse[dof + j]
        value = block[row_i + i]
        for k in range(i):
            value -= block[row_i + k] * block[row_i + k]
        if not value > 0.0:
            return False
        root = np.sqrt(value)
        block[row_i + i] = root
        inverse[dof + i] = 1.0 / root
    return True


@compiled
def forward(
    factor: np.ndarray,
    block: int,
    n: int,
    inverse: np.ndarray,
    dof: int,
    vector: np.ndarray,
    start: int,
    first: int,
) -> float:
    """Solve L x = b in place, for the part of a vector that starts at ``start``; returns ‖x‖².

    All before the element ``first`` of b is zero.
    """
    square = 0.0
    for i in range(first, n):
        value = vector[start + i]
        for k in range(first, i):
            value -= factor[block + i * n + k] * vector[start + k]
        value *= inverse[dof + i]
        vector[start + i] = value
        square += value * value
    return square


@compiled
def cholesky_solve(
    factor: np.ndarray, block: int, n: int, inverse: np.ndarray, vector: np.ndarray, start: int
) -> None:
    """Solve L Lᵀ x = b in place, for the part of a vector that starts at ``start``."""
    forward(factor, block, n, inverse, start, vector, start, 0)
    for i in range(n - 1, -1, -1):
        value = vector[start + i]
        for k in range(i + 1, n):
            value -= factor[block + k * n + i] * vector[start + k]
        vector[start + i] = value * inverse[start + i]


@compiled
def _substitute(graph: Table, hessian: Table, tree: int, at: int, m: int) -> None:
    """Replace an n × m coupling U of a tree of one chain by L⁻¹ U."""
    n = graph.tree_size[tree]
    substitute_rows(
        hessian.factor.ctypes.data + 8 * graph.block_start[tree],
        8 * n,
        n,
        hessian.factor_inverse_diagonal.ctypes.data + 8 * graph.tree_start[tree],
        hessian.coupling.ctypes.data + 8 * at,
        8 * m,
        m,
    )


@compiled
def factorize_tree(graph: Table, hessian: Table, tree: int, couplings: int) -> bool:
    """Factorize a tree's block, and replace so many of its couplings U by L⁻¹ U."""
    if graph.tree_size[tree] != 6 or has_branches(graph.chains, tree):
        return factorize_chains(graph, hessian, tree, couplings)
    dof = graph.tree_start[tree]
    start = graph.block_start[tree]
    inverse = hessian.factor_inverse_diagonal
    if not cholesky_6(hessian.factor, start, inverse, dof):
        return False
    entries = graph.column_start[tree]
    for entry in range(entries, entries + couplings):
        at = graph.entry_block[entry]
        m = graph.tree_size[graph.entry_tree[entry]]
        if m == 6:
            substitute_6(hessian.factor, start, inverse, dof, hessian.coupling, at)
        else:
            _substitute(graph, hessian, tree, at, m)
    return True


@inlined
def downdate(
    problem: Table, tree: int, a: int, m: int, b: int, p: int, target: np.ndarray, at: int
) -> None:
    """target(m × p) −= U_aᵀ U_b for two couplings of a tree."""
    if problem.graph.tree_size[tree] == 6 and m == 6 and p == 6:
        base = problem.hessian.coupling.ctypes.data
        subtract_product_6(target.ctypes.data + 8 * at, base + 8 * a, base + 8 * b)
    else:
        downdate_blocks(problem, tree, a, m, b, p, target, at)


@entry_point(types.int64(PROBLEM.type, types.int64))
def factorize(problem: Table, filled: int) -> int:
    """Factorize the island's blocks; returns 1, or 0 if they are not positive definite.

    ``filled`` is `ASSEMBLED`, `PAIRS` or `UNCOUPLED`.
    """
    hessian, at_hand, graph = problem.hessian, problem.at_hand, problem.graph
    if at_hand.last_part > at_hand.first_part:
        return call_pp_status(problem.entries.factorize_divided, problem, filled)
    tree_size, entry_block = graph.tree_size, graph.entry_block
    factor = hessian.factor
    coupling = hessian.coupling
    for index in range(at_hand.first_tree, at_hand.last_tree):
        tree = graph.island_tree[index]
        couplings = 0 if filled == UNCOUPLED else graph.column_size[tree]
        if not factorize_tree(graph, hessian, tree, couplings):
            return 0
        entries = graph.column_start[tree]
        end = entries + couplings
        for entry in range(entries, end):
            other = graph.entry_tree[entry]
            m = tree_size[other]
            a = entry_block[entry]
            downdate(problem, tree, a, m, a, m, factor, graph.block_start[other])
            # Couplings of both are in the order of elimination.
            target = graph.column_start[other]
            for later in range(entry + 1, end):
                third = graph.entry_tree[later]
                while graph.entry_tree[target] != third:
                    target += 1
                p = tree_size[third]
                downdate(problem, tree, a, m, entry_block[later], p, coupling, entry_block[target])
    return 1


@inlined
def forward_tree(graph: Table, hessian: Table, tree: int, x: np.ndarray) -> None:
    """x = L⁻¹ x for the part of a tree."""
    if graph.tree_size[tree] == 6 and not has_branches(graph.chains, tree):
        block = graph.block_start[tree]
        inverse = hessian.factor_inverse_diagonal
        forward_6(hessian.factor, block, inverse, graph.tree_start[tree], x)
    else:
        forward_chains(graph, hessian, tree, x)


@inlined
def push(graph: Table, hessian: Table, tree: int, entry: int, other: int, x: np.ndarray) -> None:
    """x(other) −= Uᵀ x(tree) for a coupling of a tree with another."""
    n = graph.tree_size[tree]
    m = graph.tree_size[other]
    at = graph.entry_block[entry]
    dof = graph.tree_start[tree]
    if n == 6 and m == 6:
        push_6(hessian.coupling, at, x, dof, graph.tree_start[other])
    else:
        push_rows(hessian, x, dof, n, at, graph.tree_start[other], m)


@inlined
def backward_column(graph: Table, hessian: Table, tree: int, x: np.ndarray) -> None:
    """x = L⁻ᵀ (x − U x(others)) for the part of a tree and its couplings with later ones."""
    n = graph.tree_size[tree]
    dof = graph.tree_start[tree]
    first = graph.column_start[tree]
    for entry in range(first, first + graph.column_size[tree]):
        other = graph.entry_tree[entry]
        at = graph.entry_block[entry]
        m = graph.tree_size[other]
        if n == 6 and m == 6:
            pull_6(hessian.coupling, at, x, dof, graph.tree_start[other])
        else:
            pull_rows(hessian, x, dof, n, at, graph.tree_start[other], m)
    if n == 6 and not has_branches(graph.chains, tree):
        inverse = hessian.factor_inverse_diagonal
        backward_6(hessian.factor, graph.block_start[tree], inverse, dof, x)
    else:
        backward_chains(graph, hessian, tree, x)


@entry_point(types.int64(PROBLEM.type, types.int64))
def solve_factors(problem: Table, _unused: int) -> int:
    """Solve H x = b in place for the island's part of ``direction``."""
    hessian, at_hand, graph = problem.hessian, problem.at_hand, problem.graph
    if at_hand.last_part > at_hand.first_part:
        return call_pp_status(problem.entries.solve_divided, problem, 0)
    first = at_hand.first_tree
    last = at_hand.last_tree
    x = problem.iterate.direction
    for index in range(first, last):
        tree = graph.island_tree[index]
        forward_tree(graph, hessian, tree, x)
        for entry in range(
            graph.column_start[tree], graph.column_start[tree] + graph.column_size[tree]
        ):
            push(graph, hessian, tree, entry, graph.entry_tree[entry], x)
    for index in range(last - 1, first - 1, -1):
        backward_column(graph, hessian, graph.island_tree[index], x)
    return 0
