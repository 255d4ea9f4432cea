"""Block LU factorization over trees, for Jacobians that are not symmetric.

The order of elimination and the places of blocks are those of the block Cholesky factorization
(`asperity.convex.graph`). Rows are exchanged within diagonal blocks only: these are the mass matrix
with an implicit part whose symmetric share is positive, so pivots from outside are not needed. With
D the diagonal block of a tree t when its turn comes, U_o its couplings above and L_o those below:

    D = Pᵀ L U;    X_o = D⁻¹ U_o replaces U_o;    block(o, p) −= L_o X_p for the later trees o, p.
"""

from __future__ import annotations

from numba import types

from asperity.compiled import compiled, entry_point
from asperity.convex.problem import PROBLEM
from asperity.integrators.tamsi.layout import TAMSI

__all__ = ["factorize_jacobian", "lu", "lu_solve", "solve_jacobian"]

_problem = PROBLEM.get
_tamsi = TAMSI.get

_LARGEST = 1.7976931348623157e308


@compiled
def lu(block, start, n, pivot, first):
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
def lu_solve(block, start, n, pivot, first, x, at, width):
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
def _subtract_product(left, a, right, b, target, at, sizes):
    """target(rows × columns) −= left(rows × inner) · right(inner × columns)."""
    rows, inner, columns = sizes
    for i in range(rows):
        for k in range(inner):
            share = left[a + i * inner + k]
            if share != 0.0:
                for j in range(columns):
                    target[at + i * columns + j] -= share * right[b + k * columns + j]


@entry_point(types.int64(types.int64, types.int64))
def factorize_jacobian(problem, _unused):
    """Factorize the blocks of the island at hand in place; 0 if a diagonal block is singular."""
    tamsi = _problem(problem, "extension")
    island = _problem(problem, "island")
    listed = _problem(problem, "island_tree")
    tree_start = _problem(problem, "tree_start")
    tree_size = _problem(problem, "tree_size")
    block_start = _problem(problem, "block_start")
    column_start = _problem(problem, "column_start")
    column_size = _problem(problem, "column_size")
    entry_tree = _problem(problem, "entry_tree")
    entry_block = _problem(problem, "entry_block")
    pair_entry = _problem(problem, "pair_entry")
    position = _problem(problem, "position")
    factor = _problem(problem, "factor")
    upper = _problem(problem, "coupling")
    lower = _tamsi(tamsi, "lower")
    pivot = _tamsi(tamsi, "pivot")
    for index in range(island[0], island[1]):
        tree = listed[index]
        n = tree_size[tree]
        start = block_start[tree]
        if not lu(factor, start, n, pivot, tree_start[tree]):
            return 0
        first = column_start[tree]
        last = first + column_size[tree]
        for entry in range(first, last):
            width = tree_size[entry_tree[entry]]
            at = entry_block[entry]
            lu_solve(factor, start, n, pivot, tree_start[tree], upper, at, width)
        for left in range(first, last):
            o = entry_tree[left]
            for right in range(first, last):
                p = entry_tree[right]
                sizes = (tree_size[o], n, tree_size[p])
                a = entry_block[left]
                b = entry_block[right]
                if o == p:
                    _subtract_product(lower, a, upper, b, factor, block_start[o], sizes)
                elif position[o] < position[p]:
                    at = entry_block[pair_entry[o, p]]
                    _subtract_product(lower, a, upper, b, upper, at, sizes)
                else:
                    at = entry_block[pair_entry[o, p]]
                    _subtract_product(lower, a, upper, b, lower, at, sizes)
    return 1


@entry_point(types.int64(types.int64, types.int64))
def solve_jacobian(problem, _unused):
    """Solve for the island's part of ``direction`` in place."""
    tamsi = _problem(problem, "extension")
    island = _problem(problem, "island")
    listed = _problem(problem, "island_tree")
    tree_start = _problem(problem, "tree_start")
    tree_size = _problem(problem, "tree_size")
    block_start = _problem(problem, "block_start")
    column_start = _problem(problem, "column_start")
    column_size = _problem(problem, "column_size")
    entry_tree = _problem(problem, "entry_tree")
    entry_block = _problem(problem, "entry_block")
    factor = _problem(problem, "factor")
    upper = _problem(problem, "coupling")
    lower = _tamsi(tamsi, "lower")
    pivot = _tamsi(tamsi, "pivot")
    x = _problem(problem, "direction")
    for index in range(island[0], island[1]):
        tree = listed[index]
        n = tree_size[tree]
        dof = tree_start[tree]
        lu_solve(factor, block_start[tree], n, pivot, dof, x, dof, 1)
        for entry in range(column_start[tree], column_start[tree] + column_size[tree]):
            other = entry_tree[entry]
            _subtract_product(
                lower, entry_block[entry], x, dof, x, tree_start[other], (tree_size[other], n, 1)
            )
    for index in range(island[1] - 1, island[0] - 1, -1):
        tree = listed[index]
        n = tree_size[tree]
        dof = tree_start[tree]
        for entry in range(column_start[tree], column_start[tree] + column_size[tree]):
            other = entry_tree[entry]
            _subtract_product(
                upper, entry_block[entry], x, tree_start[other], x, dof, (n, tree_size[other], 1)
            )
    return 1
