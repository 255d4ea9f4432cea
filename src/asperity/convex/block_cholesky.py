"""Block-sparse Cholesky factorization over kinematic trees.

The Hessian has a dense diagonal block per tree (its lower triangle is used) and, for every pair of
coupled trees, a block with the rows of the tree that is eliminated first. With the factor H = L Lᵀ
the diagonal blocks become L_ii and the couplings L_jiᵀ, in place. Blocks of two free bodies, 6 × 6,
have their own kernels, in `asperity.convex.free_body_blocks`.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, entry_point
from asperity.convex.free_body_blocks import (
    backward_6,
    cholesky_6,
    downdate_6,
    forward_6,
    pull_6,
    push_6,
    substitute_6,
)
from asperity.convex.problem import PROBLEM

__all__ = ["cholesky", "cholesky_solve", "factorize", "solve_factors"]


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
def cholesky_solve(
    factor: np.ndarray, block: int, n: int, inverse: np.ndarray, vector: np.ndarray, start: int
) -> None:
    """Solve L Lᵀ x = b in place, for the part of a vector that starts at ``start``."""
    for i in range(n):
        value = vector[start + i]
        for k in range(i):
            value -= factor[block + i * n + k] * vector[start + k]
        vector[start + i] = value * inverse[start + i]
    for i in range(n - 1, -1, -1):
        value = vector[start + i]
        for k in range(i + 1, n):
            value -= factor[block + k * n + i] * vector[start + k]
        vector[start + i] = value * inverse[start + i]


@compiled
def _substitute(
    block: np.ndarray,
    start: int,
    n: int,
    inverse: np.ndarray,
    dof: int,
    coupling: np.ndarray,
    at: int,
    m: int,
) -> None:
    """Replace an n × m coupling U by L⁻¹ U."""
    for i in range(n):
        row = at + i * m
        for k in range(i):
            value = block[start + i * n + k]
            other = at + k * m
            for c in range(m):
                coupling[row + c] -= value * coupling[other + c]
        scale = inverse[dof + i]
        for c in range(m):
            coupling[row + c] *= scale


@compiled
def _downdate(
    coupling: np.ndarray, a: int, na: int, b: int, nb: int, n: int, target: np.ndarray, at: int
) -> None:
    """target(na × nb) −= U_aᵀ U_b, with U_a (n × na) and U_b (n × nb)."""
    for q in range(na):
        row = at + q * nb
        for k in range(n):
            value = coupling[a + k * na + q]
            other = b + k * nb
            for r in range(nb):
                target[row + r] -= value * coupling[other + r]


@entry_point(types.int64(PROBLEM.type, types.int64))
def factorize(problem: Table, _unused: int) -> int:
    """Factorize the island's blocks; returns 1, or 0 if they are not positive definite."""
    first = problem.first_tree
    last = problem.last_tree
    tree_size = problem.tree_size
    entry_block = problem.entry_block
    factor = problem.factor
    inverse = problem.factor_inverse_diagonal
    coupling = problem.coupling
    for index in range(first, last):
        tree = problem.island_tree[index]
        n = tree_size[tree]
        dof = problem.tree_start[tree]
        start = problem.block_start[tree]
        if n == 6:
            if not cholesky_6(factor, start, inverse, dof):
                return 0
        elif not cholesky(factor, start, n, inverse, dof):
            return 0
        entries = problem.column_start[tree]
        end = entries + problem.column_size[tree]
        for entry in range(entries, end):
            m = tree_size[problem.entry_tree[entry]]
            if n == 6 and m == 6:
                substitute_6(factor, start, inverse, dof, coupling, entry_block[entry])
            else:
                _substitute(factor, start, n, inverse, dof, coupling, entry_block[entry], m)
        for entry in range(entries, end):
            other = problem.entry_tree[entry]
            m = tree_size[other]
            a = entry_block[entry]
            if n == 6 and m == 6:
                downdate_6(coupling, a, a, factor, problem.block_start[other])
            else:
                _downdate(coupling, a, m, a, m, n, factor, problem.block_start[other])
            for later in range(entry + 1, end):
                third = problem.entry_tree[later]
                target = entry_block[problem.pair_entry[other, third]]
                p = tree_size[third]
                b = entry_block[later]
                if n == 6 and m == 6 and p == 6:
                    downdate_6(coupling, a, b, coupling, target)
                else:
                    _downdate(coupling, a, m, b, p, n, coupling, target)
    return 1


@entry_point(types.int64(PROBLEM.type, types.int64))
def solve_factors(problem: Table, _unused: int) -> int:
    """Solve H x = b in place for the island's part of ``direction``."""
    first = problem.first_tree
    last = problem.last_tree
    x = problem.direction
    tree_start = problem.tree_start
    tree_size = problem.tree_size
    column_start = problem.column_start
    factor = problem.factor
    inverse = problem.factor_inverse_diagonal
    coupling = problem.coupling
    for index in range(first, last):
        tree = problem.island_tree[index]
        n = tree_size[tree]
        dof = tree_start[tree]
        start = problem.block_start[tree]
        if n == 6:
            forward_6(factor, start, inverse, dof, x)
        else:
            for i in range(n):
                value = x[dof + i]
                row = start + i * n
                for k in range(i):
                    value -= factor[row + k] * x[dof + k]
                x[dof + i] = value * inverse[dof + i]
        for entry in range(column_start[tree], column_start[tree] + problem.column_size[tree]):
            other = problem.entry_tree[entry]
            m = tree_size[other]
            at = problem.entry_block[entry]
            target = tree_start[other]
            if n == 6 and m == 6:
                push_6(coupling, at, x, dof, target)
                continue
            for k in range(n):
                value = x[dof + k]
                row = at + k * m
                for r in range(m):
                    x[target + r] -= coupling[row + r] * value
    for index in range(last - 1, first - 1, -1):
        tree = problem.island_tree[index]
        n = tree_size[tree]
        dof = tree_start[tree]
        start = problem.block_start[tree]
        for entry in range(column_start[tree], column_start[tree] + problem.column_size[tree]):
            other = problem.entry_tree[entry]
            m = tree_size[other]
            at = problem.entry_block[entry]
            source = tree_start[other]
            if n == 6 and m == 6:
                pull_6(coupling, at, x, dof, source)
                continue
            for k in range(n):
                value = 0.0
                row = at + k * m
                for r in range(m):
                    value += coupling[row + r] * x[source + r]
                x[dof + k] -= value
        if n == 6:
            backward_6(factor, start, inverse, dof, x)
            continue
        for i in range(n - 1, -1, -1):
            value = x[dof + i]
            for k in range(i + 1, n):
                value -= factor[start + k * n + i] * x[dof + k]
            x[dof + i] = value * inverse[dof + i]
    return 0
