"""Block LU factorization over trees, for Jacobians that are not symmetric.

The order of elimination and the places of blocks are those of the block Cholesky factorization
(`asperity.convex.graph`). Rows are exchanged within diagonal blocks only: these are the mass matrix
with an implicit part whose symmetric share is positive, so pivots from outside are not needed. With
D the diagonal block of a tree t when its turn comes, U_o its couplings above and L_o those below:

    D = Pᵀ L U;    X_o = D⁻¹ U_o replaces U_o;    block(o, p) −= L_o X_p for the later trees o, p.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, entry_point
from asperity.convex.problem import PROBLEM
from asperity.integrators.methods.tamsi.tamsi_layout import TAMSI

__all__ = ["factorize_jacobian", "lu", "lu_solve", "solve_jacobian"]


_LARGEST = 1.7976931348623157e308


@compiled
def lu(block: np.ndarray, start: int, n: int, pivot: np.ndarray, first: int) -> bool:
    """Factorize a dense block in place, rows exchanged as ``pivot`` says; False if singular."""
    for k in range(n):
        best = k
        size = abs(block[start + k * n + k])
        for i in range(k + 1, n):
            value = abs(block[start + i * n + k])
            if value > size:
                size = value
                best = i
        if not 0.0 < size <= _LARGEST:
            return False
        pivot[first + k] = best
        if best != k:
            for j in range(n):
                value = block[start + k * n + j]
                block[start + k * n + j] = block[start + best * n + j]
                block[start + best * n + j] = value
        inverse = 1.0 / block[start + k * n + k]
        for i in range(k + 1, n):
            row = start + i * n
            share = block[row + k] * inverse
            block[row + k] = share
            if share != 0.0:
                for j in range(k + 1, n):
                    block[row + j] -= share * block[start + k * n + j]
    return True


@compiled
def lu_solve(
    block: np.ndarray,
    start: int,
    n: int,
    pivot: np.ndarray,
    first: int,
    x: np.ndarray,
    at: int,
    width: int,
) -> None:
    """Solve D X = B in place for ``width`` columns, which lie row by row from ``at``."""
    for k in range(n):
        other = pivot[first + k]
        if other != k:
            for c in range(width):
                value = x[at + k * width + c]
                x[at + k * width + c] = x[at + other * width + c]
                x[at + other * width + c] = value
    for i in range(n):
        for k in range(i):
            share = block[start + i * n + k]
            for c in range(width):
                x[at + i * width + c] -= share * x[at + k * width + c]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            share = block[start + i * n + k]
            for c in range(width):
                x[at + i * width + c] -= share * x[at + k * width + c]
        inverse = 1.0 / block[start + i * n + i]
        for c in range(width):
            x[at + i * width + c] *= inverse


@compiled
def _subtract_product(
    left: np.ndarray,
    a: int,
    right: np.ndarray,
    b: int,
    target: np.ndarray,
    at: int,
    sizes: tuple[int, int, int],
) -> None:
    """target(rows × columns) −= left(rows × inner) · right(inner × columns)."""
    rows, inner, columns = sizes
    for i in range(rows):
        for k in range(inner):
            share = left[a + i * inner + k]
            if share != 0.0:
                for j in range(columns):
                    target[at + i * columns + j] -= share * right[b + k * columns + j]


@entry_point(types.int64(PROBLEM.type, types.int64))
def factorize_jacobian(problem: Table, _unused: int) -> int:
    """Factorize the blocks of the island at hand in place; 0 if a diagonal block is singular."""
    tamsi = TAMSI.at(problem.extension)
    tree_size = problem.tree_size
    entry_block = problem.entry_block
    upper = problem.coupling
    lower = tamsi.lower
    for index in range(problem.first_tree, problem.last_tree):
        tree = problem.island_tree[index]
        n = tree_size[tree]
        start = problem.block_start[tree]
        if not lu(problem.factor, start, n, tamsi.pivot, problem.tree_start[tree]):
            return 0
        first = problem.column_start[tree]
        last = first + problem.column_size[tree]
        for entry in range(first, last):
            width = tree_size[problem.entry_tree[entry]]
            at = entry_block[entry]
            lu_solve(
                problem.factor, start, n, tamsi.pivot, problem.tree_start[tree], upper, at, width
            )
        for left in range(first, last):
            o = problem.entry_tree[left]
            for right in range(first, last):
                p = problem.entry_tree[right]
                sizes = (tree_size[o], n, tree_size[p])
                a = entry_block[left]
                b = entry_block[right]
                if o == p:
                    _subtract_product(
                        lower, a, upper, b, problem.factor, problem.block_start[o], sizes
                    )
                elif problem.position[o] < problem.position[p]:
                    at = entry_block[problem.pair_entry[o, p]]
                    _subtract_product(lower, a, upper, b, upper, at, sizes)
                else:
                    at = entry_block[problem.pair_entry[o, p]]
                    _subtract_product(lower, a, upper, b, lower, at, sizes)
    return 1


@entry_point(types.int64(PROBLEM.type, types.int64))
def solve_jacobian(problem: Table, _unused: int) -> int:
    """Solve for the island's part of ``direction`` in place."""
    tamsi = TAMSI.at(problem.extension)
    tree_start = problem.tree_start
    tree_size = problem.tree_size
    column_start = problem.column_start
    x = problem.direction
    for index in range(problem.first_tree, problem.last_tree):
        tree = problem.island_tree[index]
        n = tree_size[tree]
        dof = tree_start[tree]
        lu_solve(problem.factor, problem.block_start[tree], n, tamsi.pivot, dof, x, dof, 1)
        for entry in range(column_start[tree], column_start[tree] + problem.column_size[tree]):
            other = problem.entry_tree[entry]
            _subtract_product(
                tamsi.lower,
                problem.entry_block[entry],
                x,
                dof,
                x,
                tree_start[other],
                (tree_size[other], n, 1),
            )
    for index in range(problem.last_tree - 1, problem.first_tree - 1, -1):
        tree = problem.island_tree[index]
        n = tree_size[tree]
        dof = tree_start[tree]
        for entry in range(column_start[tree], column_start[tree] + problem.column_size[tree]):
            other = problem.entry_tree[entry]
            _subtract_product(
                problem.coupling,
                problem.entry_block[entry],
                x,
                tree_start[other],
                x,
                dof,
                (n, tree_size[other], 1),
            )
    return 1
