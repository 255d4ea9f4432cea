"""Block LU factorization over trees and their chains, for Jacobians that are not symmetric.

The order of elimination and the places of blocks are those of the block Cholesky factorization
(`asperity.convex.graph`, `asperity.convex.chain_cholesky`); what `asperity.convex.chains` says is
zero is zero in both triangles. Rows are exchanged within the squares of chains only: these are the
mass matrix with an implicit part whose symmetric share is positive, and so is what eliminations
leave of it, so pivots from outside are not needed. From the last chain c of a tree to its first,
with D its square, H_ca its rows in the columns of its neighbours a, H_bc its columns in their rows,
U_o its rows of the couplings above with other trees, and L_o its columns of those below:

    D = Pᵀ L U;   X_a = D⁻¹ H_ca replaces H_ca, X_o = D⁻¹ U_o replaces U_o;
    H_ba −= H_bc X_a;   U_o(b) −= H_bc X_o;   L_o(a) −= L_o X_a   for all neighbours a, b.

Behind a tree's last one, block(o, p) −= L_o X_p for the later trees o, p.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, entry_point
from asperity.compiled.row_kernels import dot_rows, subtract_rows
from asperity.convex.couplings import block_of
from asperity.convex.problem import PROBLEM
from asperity.integrators.methods.square_lu import factorize_square, solve_square
from asperity.integrators.methods.tamsi.tamsi_layout import TAMSI

__all__ = ["factorize_jacobian", "solve_jacobian"]


@compiled
def _subtract_product(
    left: int,
    left_stride: int,
    right: int,
    right_stride: int,
    target: int,
    stride: int,
    sizes: tuple[int, int, int],
) -> None:
    """target(rows × columns) −= left(rows × inner) · right(inner × columns)."""
    rows, inner, columns = sizes
    for i in range(rows):
        subtract_rows(
            target + i * stride, left + i * left_stride, 8, right, right_stride, inner, columns
        )


@compiled
def _eliminate_chain(graph: Table, hessian: Table, tamsi: Table, tree: int, chain: int) -> bool:
    """Factorize a chain's square, and take the chain out of the rest of its tree's rows."""
    chains = graph.chains
    size = graph.tree_size[tree]
    stride = 8 * size
    block = hessian.factor.ctypes.data + 8 * graph.block_start[tree]
    first = chains.first[chain]
    n = chains.size[chain]
    rows = block + first * stride
    corner = rows + 8 * first
    pivot = tamsi.pivot
    place = graph.tree_start[tree] + first
    if not factorize_square(corner, stride, n, pivot, place):
        return False
    begin = chains.span_start[chain]
    end = begin + chains.fill_spans[chain]
    span = chains.fill_span
    for a in range(begin, end):
        at = rows + 8 * span[a, 0]
        solve_square(corner, stride, n, pivot, place, at, stride, span[a, 1])
    for b in range(begin, end):
        below = block + span[b, 0] * stride
        for a in range(begin, end):
            at = 8 * span[a, 0]
            sizes = (span[b, 1], n, span[a, 1])
            _subtract_product(
                below + 8 * first, stride, rows + at, stride, below + at, stride, sizes
            )
    if not chains.rows[tree] >> (chain - chains.start[tree]) & 1:
        return True
    entries = graph.column_start[tree]
    for entry in range(entries, entries + graph.column_size[tree]):
        m = graph.tree_size[graph.entry_tree[entry]]
        upper = hessian.coupling.ctypes.data + 8 * graph.entry_block[entry]
        lower = tamsi.lower.ctypes.data + 8 * graph.entry_block[entry]
        own = upper + 8 * first * m
        solve_square(corner, stride, n, pivot, place, own, 8 * m, m)
        for a in range(begin, end):
            at, width = span[a, 0], span[a, 1]
            below = block + at * stride + 8 * first
            _subtract_product(below, stride, own, 8 * m, upper + 8 * at * m, 8 * m, (width, n, m))
            _subtract_product(
                lower + 8 * first,
                stride,
                rows + 8 * at,
                stride,
                lower + 8 * at,
                stride,
                (m, n, width),
            )
    return True


@entry_point(types.int64(PROBLEM.type, types.int64))
def factorize_jacobian(problem: Table, _unused: int) -> int:
    """Factorize the blocks of the island at hand in place; 0 if a chain's square is singular."""
    hessian, graph = problem.hessian, problem.graph
    tamsi = TAMSI.at(problem.law.extension)
    tree_size, entry_block = graph.tree_size, graph.entry_block
    upper = hessian.coupling.ctypes.data
    lower = tamsi.lower.ctypes.data
    for index in range(problem.at_hand.first_tree, problem.at_hand.last_tree):
        tree = graph.island_tree[index]
        n = tree_size[tree]
        for chain in range(graph.chains.start[tree + 1] - 1, graph.chains.start[tree] - 1, -1):
            if not _eliminate_chain(graph, hessian, tamsi, tree, chain):
                return 0
        first = graph.column_start[tree]
        last = first + graph.column_size[tree]
        for left in range(first, last):
            o = graph.entry_tree[left]
            for right in range(first, last):
                p = graph.entry_tree[right]
                m = tree_size[p]
                if o == p:
                    target = hessian.factor.ctypes.data + 8 * graph.block_start[o]
                else:
                    above = graph.position[o] < graph.position[p]
                    target = upper if above else lower
                    target += 8 * block_of(graph, o, p)
                _subtract_product(
                    lower + 8 * entry_block[left],
                    8 * n,
                    upper + 8 * entry_block[right],
                    8 * m,
                    target,
                    8 * m,
                    (tree_size[o], n, m),
                )
    return 1


@compiled
def _forward(graph: Table, hessian: Table, tamsi: Table, tree: int, x: np.ndarray) -> None:
    """Solve with the squares of a tree's chains, from the last to the first."""
    chains = graph.chains
    stride = 8 * graph.tree_size[tree]
    block = hessian.factor.ctypes.data + 8 * graph.block_start[tree]
    dof = graph.tree_start[tree]
    data = x.ctypes.data + 8 * dof
    for chain in range(chains.start[tree + 1] - 1, chains.start[tree] - 1, -1):
        first = chains.first[chain]
        n = chains.size[chain]
        own = data + 8 * first
        corner = block + first * stride + 8 * first
        solve_square(corner, stride, n, tamsi.pivot, dof + first, own, 8, 1)
        begin = chains.span_start[chain]
        for a in range(begin, begin + chains.fill_spans[chain]):
            at = chains.fill_span[a, 0]
            for i in range(at, at + chains.fill_span[a, 1]):
                x[dof + i] -= dot_rows(block + i * stride + 8 * first, own, n)


@compiled
def _backward(graph: Table, hessian: Table, tree: int, x: np.ndarray) -> None:
    """Subtract what a tree's chains have in the columns of their neighbours."""
    chains = graph.chains
    stride = 8 * graph.tree_size[tree]
    block = hessian.factor.ctypes.data + 8 * graph.block_start[tree]
    dof = graph.tree_start[tree]
    data = x.ctypes.data + 8 * dof
    for chain in range(chains.start[tree], chains.start[tree + 1]):
        first = chains.first[chain]
        begin = chains.span_start[chain]
        for a in range(begin, begin + chains.fill_spans[chain]):
            at = 8 * chains.fill_span[a, 0]
            width = chains.fill_span[a, 1]
            for i in range(first, first + chains.size[chain]):
                x[dof + i] -= dot_rows(block + i * stride + at, data + at, width)


@compiled
def _subtract_coupling(
    coupling: int, x: np.ndarray, source: int, n: int, target: int, m: int
) -> None:
    """x(target) −= C x(source) of m rows with n numbers."""
    data = x.ctypes.data + 8 * source
    for i in range(m):
        x[target + i] -= dot_rows(coupling + 8 * i * n, data, n)


@entry_point(types.int64(PROBLEM.type, types.int64))
def solve_jacobian(problem: Table, _unused: int) -> int:
    """Solve for the island's part of ``direction`` in place."""
    hessian, at_hand, graph = problem.hessian, problem.at_hand, problem.graph
    tamsi = TAMSI.at(problem.law.extension)
    start = graph.tree_start
    size = graph.tree_size
    first = graph.column_start
    x = problem.iterate.direction
    lower = tamsi.lower.ctypes.data
    upper = hessian.coupling.ctypes.data
    for index in range(at_hand.first_tree, at_hand.last_tree):
        tree = graph.island_tree[index]
        _forward(graph, hessian, tamsi, tree, x)
        for entry in range(first[tree], first[tree] + graph.column_size[tree]):
            other = graph.entry_tree[entry]
            block = lower + 8 * graph.entry_block[entry]
            _subtract_coupling(block, x, start[tree], size[tree], start[other], size[other])
    for index in range(at_hand.last_tree - 1, at_hand.first_tree - 1, -1):
        tree = graph.island_tree[index]
        for entry in range(first[tree], first[tree] + graph.column_size[tree]):
            other = graph.entry_tree[entry]
            block = upper + 8 * graph.entry_block[entry]
            _subtract_coupling(block, x, start[other], size[other], start[tree], size[tree])
        _backward(graph, hessian, tree, x)
    return 1
