"""Cholesky factorization and substitution of an articulated tree's block, by chains.

The block is n × n, row by row; what `asperity.convex.chains` says is zero is neither read nor
written. From the last chain c of the tree to its first, with H_cc its triangle and H_ca its rows in
the columns of its neighbours a before it,

    H_cc = L Lᵀ,   U_a = L⁻¹ H_ca,   H_ab −= U_aᵀ U_b   for all pairs of neighbours.

The tree's couplings with other trees are further columns of the same rows.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled, consistent
from asperity.compiled.calls import load_double, store_double
from asperity.compiled.row_kernels import add_row, copy_row, dot_rows, scale_row, subtract_rows

__all__ = [
    "backward_chains",
    "copy_chains",
    "downdate_blocks",
    "factorize_chains",
    "forward_chains",
    "multiply_chains",
    "pull_rows",
    "push_rows",
    "substitute_rows",
    "subtract_block",
]


# Up to here whole rows, eight numbers at a time, are faster to multiply than those of ancestors.
_DENSE = 96


@compiled
def _has_no_rows(chains: Table, tree: int, chain: int) -> bool:
    """Whether a chain's rows of the tree's couplings are zero."""
    return not chains.rows[tree] >> chain & 1


@compiled
def copy_chains(graph: Table, hessian: Table, source: np.ndarray, tree: int) -> None:
    """Copy those blocks of a tree that its factor has from a matrix into ``factor``."""
    chains = graph.chains
    stride = graph.tree_size[tree]
    for chain in range(chains.start[tree], chains.start[tree + 1]):
        first = chains.first[chain]
        spans = chains.span_start[chain]
        for i in range(chains.size[chain]):
            row = graph.block_start[tree] + (first + i) * stride
            target = hessian.factor.ctypes.data + 8 * row
            origin = source.ctypes.data + 8 * row
            copy_row(target + 8 * first, origin + 8 * first, i + 1)
            for s in range(spans, spans + chains.fill_spans[chain]):
                at = 8 * chains.fill_span[s, 0]
                copy_row(target + at, origin + at, chains.fill_span[s, 1])


@compiled
def multiply_chains(
    graph: Table, matrix: np.ndarray, tree: int, x: np.ndarray, out: np.ndarray
) -> None:
    """``out = A x`` for one tree and a symmetric matrix with the structure of M, whole."""
    chains = graph.chains
    n = graph.tree_size[tree]
    start = graph.tree_start[tree]
    given = x.ctypes.data + 8 * start
    result = out.ctypes.data + 8 * start
    for i in range(start, start + n):
        out[i] = 0.0
    if n <= _DENSE:
        block = matrix.ctypes.data + 8 * graph.block_start[tree]
        subtract_rows(result, given, 8, block, 8 * n, n, n)
        for i in range(start, start + n):
            out[i] = -out[i]
        return
    for chain in range(chains.start[tree], chains.start[tree + 1]):
        first = chains.first[chain]
        spans = chains.span_start[chain]
        for i in range(first, first + chains.size[chain]):
            row = matrix.ctypes.data + 8 * (graph.block_start[tree] + i * n)
            own = x[start + i]
            # Both triangles of the chain's own square; of other chains the one before it.
            value = dot_rows(row + 8 * first, given + 8 * first, chains.size[chain])
            for s in range(spans, spans + chains.mass_spans[chain]):
                at = 8 * chains.mass_span[s, 0]
                width = chains.mass_span[s, 1]
                value += dot_rows(row + at, given + at, width)
                add_row(result + at, row + at, own, width)
            out[start + i] += value


@consistent
def _inverse_root(root: float, value: float) -> float:
    """1/root of a value's root, at the same time: neither waits for the other.

    The optimiser would make one quotient of it, which waits for the root.
    """
    return root * (1.0 / value)


@compiled
def _factorize_triangle(corner: int, stride: int, n: int, inverse: int) -> bool:
    """Factorize an n × n triangle in place, with the inverse diagonal at an address."""
    row_i = corner
    for i in range(n):
        row_j = corner
        for j in range(i):
            value = load_double(row_i + 8 * j)
            for k in range(0, 8 * j, 8):
                value -= load_double(row_i + k) * load_double(row_j + k)
            store_double(row_i + 8 * j, value * load_double(inverse + 8 * j))
            row_j += stride
        value = load_double(row_i + 8 * i)
        for k in range(0, 8 * i, 8):
            one = load_double(row_i + k)
            value -= one * one
        if not value > 0.0:
            return False
        root = np.sqrt(value)
        store_double(row_i + 8 * i, root)
        store_double(inverse + 8 * i, _inverse_root(root, value))
        row_i += stride
    return True


@compiled
def substitute_rows(
    triangle: int,
    stride: int,
    n: int,
    inverse: int,
    rows: int,
    row_stride: int,
    width: int,
) -> None:
    """Replace n rows U by L⁻¹ U."""
    for i in range(n):
        row = rows + i * row_stride
        if i > 0:
            subtract_rows(row, triangle + i * stride, 8, rows, row_stride, i, width)
        scale_row(row, load_double(inverse + 8 * i), width)


@compiled
def subtract_block(
    target: int,
    target_stride: int,
    left: int,
    left_stride: int,
    count: int,
    right: int,
    right_stride: int,
    width: int,
    n: int,
) -> None:
    """target(count × width) −= leftᵀ right, of n rows."""
    for q in range(count):
        subtract_rows(
            target + q * target_stride, left + 8 * q, left_stride, right, right_stride, n, width
        )


@compiled
def _downdate_tree(chains: Table, chain: int, block: int, size: int) -> None:
    """H_ab −= U_aᵀ U_b for the neighbours of a chain."""
    stride = 8 * size
    rows = block + chains.first[chain] * stride
    n = chains.size[chain]
    begin = chains.span_start[chain]
    for a in range(begin, begin + chains.fill_spans[chain]):
        first = chains.fill_span[a, 0]
        for i in range(first, first + chains.fill_span[a, 1]):
            target = block + i * stride
            for b in range(begin, a):
                at = 8 * chains.fill_span[b, 0]
                subtract_rows(
                    target + at,
                    rows + 8 * i,
                    stride,
                    rows + at,
                    stride,
                    n,
                    chains.fill_span[b, 1],
                )
            # Up to the diagonal, and beyond to a whole vector: nobody reads the upper triangle.
            at = 8 * first
            width = i - first + 1
            whole = (width + 3) // 4 * 4
            if first + whole <= size:
                width = whole
            subtract_rows(target + at, rows + 8 * i, stride, rows + at, stride, n, width)


@compiled
def factorize_chains(graph: Table, hessian: Table, tree: int, couplings: int) -> bool:
    """Factorize a tree's block in place, and replace so many of its couplings U by L⁻¹ U.

    Returns False if the block is not positive definite.
    """
    chains = graph.chains
    stride = 8 * graph.tree_size[tree]
    block = hessian.factor.ctypes.data + 8 * graph.block_start[tree]
    inverse = hessian.factor_inverse_diagonal.ctypes.data + 8 * graph.tree_start[tree]
    base = chains.start[tree]
    entries = graph.column_start[tree]
    end = entries + couplings
    for chain in range(chains.start[tree + 1] - 1, base - 1, -1):
        first = chains.first[chain]
        n = chains.size[chain]
        rows = block + first * stride
        triangle = rows + 8 * first
        if not _factorize_triangle(triangle, stride, n, inverse + 8 * first):
            return False
        spans = chains.span_start[chain]
        for s in range(spans, spans + chains.fill_spans[chain]):
            substitute_rows(
                triangle,
                stride,
                n,
                inverse + 8 * first,
                rows + 8 * chains.fill_span[s, 0],
                stride,
                chains.fill_span[s, 1],
            )
        _downdate_tree(chains, chain, block, graph.tree_size[tree])
        if _has_no_rows(chains, tree, chain - base):
            continue
        for entry in range(entries, end):
            m = graph.tree_size[graph.entry_tree[entry]]
            coupling = hessian.coupling.ctypes.data + 8 * graph.entry_block[entry]
            own = coupling + 8 * first * m
            substitute_rows(triangle, stride, n, inverse + 8 * first, own, 8 * m, m)
            for s in range(spans, spans + chains.fill_spans[chain]):
                at = chains.fill_span[s, 0]
                subtract_block(
                    coupling + 8 * at * m,
                    8 * m,
                    rows + 8 * at,
                    stride,
                    chains.fill_span[s, 1],
                    own,
                    8 * m,
                    m,
                    n,
                )
    return True


@compiled
def downdate_blocks(
    problem: Table, tree: int, a: int, na: int, b: int, nb: int, target: np.ndarray, at: int
) -> None:
    """target(na × nb) −= U_aᵀ U_b for two couplings of a tree, those of their rows that count."""
    graph = problem.graph
    chains = graph.chains
    base = chains.start[tree]
    coupling = problem.hessian.coupling.ctypes.data
    chain = base
    while chain < chains.start[tree + 1]:
        if _has_no_rows(chains, tree, chain - base):
            chain += 1
            continue
        first = chains.first[chain]
        n = 0
        while chain < chains.start[tree + 1] and not _has_no_rows(chains, tree, chain - base):
            n += chains.size[chain]
            chain += 1
        subtract_block(
            target.ctypes.data + 8 * at,
            8 * nb,
            coupling + 8 * (a + first * na),
            8 * na,
            na,
            coupling + 8 * (b + first * nb),
            8 * nb,
            nb,
            n,
        )


@compiled
def push_rows(
    hessian: Table, x: np.ndarray, dof: int, n: int, at: int, target: int, m: int
) -> None:
    """x(target) −= Uᵀ x(dof), of n rows."""
    data = x.ctypes.data
    coupling = hessian.coupling.ctypes.data + 8 * at
    subtract_rows(data + 8 * target, data + 8 * dof, 8, coupling, 8 * m, n, m)


@compiled
def pull_rows(
    hessian: Table, x: np.ndarray, dof: int, n: int, at: int, source: int, m: int
) -> None:
    """x(dof) −= U x(source), of n rows."""
    coupling = hessian.coupling.ctypes.data + 8 * at
    for k in range(n):
        x[dof + k] -= dot_rows(coupling + 8 * k * m, x.ctypes.data + 8 * source, m)


@compiled
def forward_chains(graph: Table, hessian: Table, tree: int, x: np.ndarray) -> None:
    """x = L⁻¹ x for the part of a tree."""
    chains = graph.chains
    size = graph.tree_size[tree]
    dof = graph.tree_start[tree]
    factor = hessian.factor.ctypes.data + 8 * graph.block_start[tree]
    inverse = hessian.factor_inverse_diagonal.ctypes.data + 8 * dof
    data = x.ctypes.data + 8 * dof
    for chain in range(chains.start[tree + 1] - 1, chains.start[tree] - 1, -1):
        first = chains.first[chain]
        n = chains.size[chain]
        rows = factor + 8 * first * size
        for i in range(first, first + n):
            value = load_double(data + 8 * i)
            row = factor + 8 * i * size
            for k in range(8 * first, 8 * i, 8):
                value -= load_double(row + k) * load_double(data + k)
            store_double(data + 8 * i, value * load_double(inverse + 8 * i))
        spans = chains.span_start[chain]
        for s in range(spans, spans + chains.fill_spans[chain]):
            at = 8 * chains.fill_span[s, 0]
            subtract_rows(
                data + at, data + 8 * first, 8, rows + at, 8 * size, n, chains.fill_span[s, 1]
            )


@compiled
def backward_chains(graph: Table, hessian: Table, tree: int, x: np.ndarray) -> None:
    """x = L⁻ᵀ x for the part of a tree."""
    chains = graph.chains
    size = graph.tree_size[tree]
    dof = graph.tree_start[tree]
    factor = hessian.factor.ctypes.data + 8 * graph.block_start[tree]
    inverse = hessian.factor_inverse_diagonal.ctypes.data + 8 * dof
    data = x.ctypes.data + 8 * dof
    for chain in range(chains.start[tree], chains.start[tree + 1]):
        first = chains.first[chain]
        last = first + chains.size[chain] - 1
        spans = chains.span_start[chain]
        for i in range(first, last + 1):
            row = factor + 8 * i * size
            value = load_double(data + 8 * i)
            for s in range(spans, spans + chains.fill_spans[chain]):
                at = 8 * chains.fill_span[s, 0]
                value -= dot_rows(row + at, data + at, chains.fill_span[s, 1])
            store_double(data + 8 * i, value)
        for i in range(last, first - 1, -1):
            value = load_double(data + 8 * i)
            for k in range(i + 1, last + 1):
                value -= load_double(factor + 8 * (k * size + i)) * load_double(data + 8 * k)
            store_double(data + 8 * i, value * load_double(inverse + 8 * i))
