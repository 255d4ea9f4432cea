"""Block-sparse Cholesky factorization over kinematic trees.

The Hessian has a dense diagonal block per tree (its lower triangle is used) and, for every pair of
coupled trees, a block with the rows of the tree that is eliminated first. With the factor H = L Lᵀ
the diagonal blocks become L_ii and the couplings L_jiᵀ, in place. Blocks of two free bodies, 6 × 6,
have their own unrolled kernels, because most scenes consist of them.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import compiled, entry_point
from asperity.convex.problem import PROBLEM

__all__ = ["cholesky", "cholesky_solve", "factorize", "solve_factors"]

_problem = PROBLEM.get


@compiled
def cholesky(block, start, n, inverse, dof):
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
def cholesky_solve(factor, block, n, inverse, vector, start):
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
def _cholesky_6(block, start, inverse, dof):
    """The same for a free body, written out: its loops are too short to be loops."""
    a00 = block[start + 0]
    a10 = block[start + 6]
    a11 = block[start + 7]
    a20 = block[start + 12]
    a21 = block[start + 13]
    a22 = block[start + 14]
    a30 = block[start + 18]
    a31 = block[start + 19]
    a32 = block[start + 20]
    a33 = block[start + 21]
    a40 = block[start + 24]
    a41 = block[start + 25]
    a42 = block[start + 26]
    a43 = block[start + 27]
    a44 = block[start + 28]
    a50 = block[start + 30]
    a51 = block[start + 31]
    a52 = block[start + 32]
    a53 = block[start + 33]
    a54 = block[start + 34]
    a55 = block[start + 35]
    pivot_0 = a00
    root_0 = np.sqrt(pivot_0)
    d0 = 1.0 / root_0
    a10 *= d0
    pivot_1 = a11 - a10 * a10
    root_1 = np.sqrt(pivot_1)
    d1 = 1.0 / root_1
    a20 *= d0
    a21 = (a21 - a20 * a10) * d1
    pivot_2 = a22 - a20 * a20 - a21 * a21
    root_2 = np.sqrt(pivot_2)
    d2 = 1.0 / root_2
    a30 *= d0
    a31 = (a31 - a30 * a10) * d1
    a32 = (a32 - a30 * a20 - a31 * a21) * d2
    pivot_3 = a33 - a30 * a30 - a31 * a31 - a32 * a32
    root_3 = np.sqrt(pivot_3)
    d3 = 1.0 / root_3
    a40 *= d0
    a41 = (a41 - a40 * a10) * d1
    a42 = (a42 - a40 * a20 - a41 * a21) * d2
    a43 = (a43 - a40 * a30 - a41 * a31 - a42 * a32) * d3
    pivot_4 = a44 - a40 * a40 - a41 * a41 - a42 * a42 - a43 * a43
    root_4 = np.sqrt(pivot_4)
    d4 = 1.0 / root_4
    a50 *= d0
    a51 = (a51 - a50 * a10) * d1
    a52 = (a52 - a50 * a20 - a51 * a21) * d2
    a53 = (a53 - a50 * a30 - a51 * a31 - a52 * a32) * d3
    a54 = (a54 - a50 * a40 - a51 * a41 - a52 * a42 - a53 * a43) * d4
    pivot_5 = a55 - a50 * a50 - a51 * a51 - a52 * a52 - a53 * a53 - a54 * a54
    root_5 = np.sqrt(pivot_5)
    d5 = 1.0 / root_5
    if not (pivot_0 > 0.0 and pivot_1 > 0.0 and pivot_2 > 0.0):
        return False
    if not (pivot_3 > 0.0 and pivot_4 > 0.0 and pivot_5 > 0.0):
        return False
    block[start + 0] = root_0
    inverse[dof + 0] = d0
    block[start + 6] = a10
    block[start + 7] = root_1
    inverse[dof + 1] = d1
    block[start + 12] = a20
    block[start + 13] = a21
    block[start + 14] = root_2
    inverse[dof + 2] = d2
    block[start + 18] = a30
    block[start + 19] = a31
    block[start + 20] = a32
    block[start + 21] = root_3
    inverse[dof + 3] = d3
    block[start + 24] = a40
    block[start + 25] = a41
    block[start + 26] = a42
    block[start + 27] = a43
    block[start + 28] = root_4
    inverse[dof + 4] = d4
    block[start + 30] = a50
    block[start + 31] = a51
    block[start + 32] = a52
    block[start + 33] = a53
    block[start + 34] = a54
    block[start + 35] = root_5
    inverse[dof + 5] = d5
    return True


@compiled
def _forward_6(block, start, inverse, dof, x):
    """x = L⁻¹ x for a free body."""
    x0 = x[dof] * inverse[dof]
    x1 = (x[dof + 1] - block[start + 6] * x0) * inverse[dof + 1]
    x2 = (x[dof + 2] - block[start + 12] * x0 - block[start + 13] * x1) * inverse[dof + 2]
    x3 = (
        x[dof + 3] - block[start + 18] * x0 - block[start + 19] * x1 - block[start + 20] * x2
    ) * inverse[dof + 3]
    x4 = (
        x[dof + 4]
        - block[start + 24] * x0
        - block[start + 25] * x1
        - block[start + 26] * x2
        - block[start + 27] * x3
    ) * inverse[dof + 4]
    x5 = (
        x[dof + 5]
        - block[start + 30] * x0
        - block[start + 31] * x1
        - block[start + 32] * x2
        - block[start + 33] * x3
        - block[start + 34] * x4
    ) * inverse[dof + 5]
    x[dof + 0] = x0
    x[dof + 1] = x1
    x[dof + 2] = x2
    x[dof + 3] = x3
    x[dof + 4] = x4
    x[dof + 5] = x5


@compiled
def _backward_6(block, start, inverse, dof, x):
    """x = L⁻ᵀ x for a free body."""
    x5 = x[dof + 5] * inverse[dof + 5]
    x4 = (x[dof + 4] - block[start + 34] * x5) * inverse[dof + 4]
    x3 = (x[dof + 3] - block[start + 27] * x4 - block[start + 33] * x5) * inverse[dof + 3]
    x2 = (
        x[dof + 2] - block[start + 20] * x3 - block[start + 26] * x4 - block[start + 32] * x5
    ) * inverse[dof + 2]
    x1 = (
        x[dof + 1]
        - block[start + 13] * x2
        - block[start + 19] * x3
        - block[start + 25] * x4
        - block[start + 31] * x5
    ) * inverse[dof + 1]
    x0 = (
        x[dof + 0]
        - block[start + 6] * x1
        - block[start + 12] * x2
        - block[start + 18] * x3
        - block[start + 24] * x4
        - block[start + 30] * x5
    ) * inverse[dof + 0]
    x[dof + 0] = x0
    x[dof + 1] = x1
    x[dof + 2] = x2
    x[dof + 3] = x3
    x[dof + 4] = x4
    x[dof + 5] = x5


@compiled
def _substitute(block, start, n, inverse, dof, coupling, at, m):
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
def _substitute_6(block, start, inverse, dof, coupling, at):
    for i in range(6):
        row = at + 6 * i
        c0 = coupling[row]
        c1 = coupling[row + 1]
        c2 = coupling[row + 2]
        c3 = coupling[row + 3]
        c4 = coupling[row + 4]
        c5 = coupling[row + 5]
        for k in range(i):
            value = block[start + 6 * i + k]
            other = at + 6 * k
            c0 -= value * coupling[other]
            c1 -= value * coupling[other + 1]
            c2 -= value * coupling[other + 2]
            c3 -= value * coupling[other + 3]
            c4 -= value * coupling[other + 4]
            c5 -= value * coupling[other + 5]
        scale = inverse[dof + i]
        coupling[row] = c0 * scale
        coupling[row + 1] = c1 * scale
        coupling[row + 2] = c2 * scale
        coupling[row + 3] = c3 * scale
        coupling[row + 4] = c4 * scale
        coupling[row + 5] = c5 * scale


@compiled
def _downdate(coupling, a, na, b, nb, n, target, at):
    """target(na × nb) −= U_aᵀ U_b, with U_a (n × na) and U_b (n × nb)."""
    for q in range(na):
        row = at + q * nb
        for k in range(n):
            value = coupling[a + k * na + q]
            other = b + k * nb
            for r in range(nb):
                target[row + r] -= value * coupling[other + r]


@compiled
def _downdate_6(coupling, a, b, target, at):
    for q in range(6):
        row = at + 6 * q
        t0 = 0.0
        t1 = 0.0
        t2 = 0.0
        t3 = 0.0
        t4 = 0.0
        t5 = 0.0
        for k in range(6):
            value = coupling[a + 6 * k + q]
            other = b + 6 * k
            t0 += value * coupling[other]
            t1 += value * coupling[other + 1]
            t2 += value * coupling[other + 2]
            t3 += value * coupling[other + 3]
            t4 += value * coupling[other + 4]
            t5 += value * coupling[other + 5]
        target[row] -= t0
        target[row + 1] -= t1
        target[row + 2] -= t2
        target[row + 3] -= t3
        target[row + 4] -= t4
        target[row + 5] -= t5


@compiled
def _push_6(coupling, at, x, dof, target):
    """x[target] −= Uᵀ x[dof] for two free bodies."""
    t0 = x[target]
    t1 = x[target + 1]
    t2 = x[target + 2]
    t3 = x[target + 3]
    t4 = x[target + 4]
    t5 = x[target + 5]
    for k in range(6):
        value = x[dof + k]
        row = at + 6 * k
        t0 -= coupling[row] * value
        t1 -= coupling[row + 1] * value
        t2 -= coupling[row + 2] * value
        t3 -= coupling[row + 3] * value
        t4 -= coupling[row + 4] * value
        t5 -= coupling[row + 5] * value
    x[target] = t0
    x[target + 1] = t1
    x[target + 2] = t2
    x[target + 3] = t3
    x[target + 4] = t4
    x[target + 5] = t5


@compiled
def _pull_6(coupling, at, x, dof, source):
    """x[dof] −= U x[source] for two free bodies."""
    s0 = x[source]
    s1 = x[source + 1]
    s2 = x[source + 2]
    s3 = x[source + 3]
    s4 = x[source + 4]
    s5 = x[source + 5]
    for k in range(6):
        row = at + 6 * k
        x[dof + k] -= (
            coupling[row] * s0
            + coupling[row + 1] * s1
            + coupling[row + 2] * s2
            + coupling[row + 3] * s3
            + coupling[row + 4] * s4
            + coupling[row + 5] * s5
        )


@entry_point(types.int64(types.int64, types.int64))
def factorize(problem, _unused):
    """Factorize the island's blocks; returns 1, or 0 if they are not positive definite."""
    island = _problem(problem, "island")
    first = island[0]
    last = island[1]
    listed = _problem(problem, "island_tree")
    tree_start = _problem(problem, "tree_start")
    tree_size = _problem(problem, "tree_size")
    block_start = _problem(problem, "block_start")
    column_start = _problem(problem, "column_start")
    column_size = _problem(problem, "column_size")
    entry_tree = _problem(problem, "entry_tree")
    entry_block = _problem(problem, "entry_block")
    pair_entry = _problem(problem, "pair_entry")
    factor = _problem(problem, "factor")
    inverse = _problem(problem, "factor_inverse_diagonal")
    coupling = _problem(problem, "coupling")
    for index in range(first, last):
        tree = listed[index]
        n = tree_size[tree]
        dof = tree_start[tree]
        start = block_start[tree]
        if n == 6:
            if not _cholesky_6(factor, start, inverse, dof):
                return 0
        elif not cholesky(factor, start, n, inverse, dof):
            return 0
        entries = column_start[tree]
        end = entries + column_size[tree]
        for entry in range(entries, end):
            m = tree_size[entry_tree[entry]]
            if n == 6 and m == 6:
                _substitute_6(factor, start, inverse, dof, coupling, entry_block[entry])
            else:
                _substitute(factor, start, n, inverse, dof, coupling, entry_block[entry], m)
        for entry in range(entries, end):
            other = entry_tree[entry]
            m = tree_size[other]
            a = entry_block[entry]
            if n == 6 and m == 6:
                _downdate_6(coupling, a, a, factor, block_start[other])
            else:
                _downdate(coupling, a, m, a, m, n, factor, block_start[other])
            for later in range(entry + 1, end):
                third = entry_tree[later]
                target = entry_block[pair_entry[other, third]]
                p = tree_size[third]
                b = entry_block[later]
                if n == 6 and m == 6 and p == 6:
                    _downdate_6(coupling, a, b, coupling, target)
                else:
                    _downdate(coupling, a, m, b, p, n, coupling, target)
    return 1


@entry_point(types.int64(types.int64, types.int64))
def solve_factors(problem, _unused):
    """Solve H x = b in place for the island's part of ``direction``."""
    island = _problem(problem, "island")
    first = island[0]
    last = island[1]
    x = _problem(problem, "direction")
    listed = _problem(problem, "island_tree")
    tree_start = _problem(problem, "tree_start")
    tree_size = _problem(problem, "tree_size")
    block_start = _problem(problem, "block_start")
    column_start = _problem(problem, "column_start")
    column_size = _problem(problem, "column_size")
    entry_tree = _problem(problem, "entry_tree")
    entry_block = _problem(problem, "entry_block")
    factor = _problem(problem, "factor")
    inverse = _problem(problem, "factor_inverse_diagonal")
    coupling = _problem(problem, "coupling")
    for index in range(first, last):
        tree = listed[index]
        n = tree_size[tree]
        dof = tree_start[tree]
        start = block_start[tree]
        if n == 6:
            _forward_6(factor, start, inverse, dof, x)
        else:
            for i in range(n):
                value = x[dof + i]
                row = start + i * n
                for k in range(i):
                    value -= factor[row + k] * x[dof + k]
                x[dof + i] = value * inverse[dof + i]
        for entry in range(column_start[tree], column_start[tree] + column_size[tree]):
            other = entry_tree[entry]
            m = tree_size[other]
            at = entry_block[entry]
            target = tree_start[other]
            if n == 6 and m == 6:
                _push_6(coupling, at, x, dof, target)
                continue
            for k in range(n):
                value = x[dof + k]
                row = at + k * m
                for r in range(m):
                    x[target + r] -= coupling[row + r] * value
    for index in range(last - 1, first - 1, -1):
        tree = listed[index]
        n = tree_size[tree]
        dof = tree_start[tree]
        start = block_start[tree]
        for entry in range(column_start[tree], column_start[tree] + column_size[tree]):
            other = entry_tree[entry]
            m = tree_size[other]
            at = entry_block[entry]
            source = tree_start[other]
            if n == 6 and m == 6:
                _pull_6(coupling, at, x, dof, source)
                continue
            for k in range(n):
                value = 0.0
                row = at + k * m
                for r in range(m):
                    value += coupling[row + r] * x[source + r]
                x[dof + k] -= value
        if n == 6:
            _backward_6(factor, start, inverse, dof, x)
            continue
        for i in range(n - 1, -1, -1):
            value = x[dof + i]
            for k in range(i + 1, n):
                value -= factor[start + k * n + i] * x[dof + k]
            x[dof + i] = value * inverse[dof + i]
    return 0
