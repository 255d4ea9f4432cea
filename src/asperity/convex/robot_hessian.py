"""Hessians of contacts of articulated trees, joint by joint.

All links of a tree have the same reference point (`asperity.contact.contact_set`), so the 6 × 6
spatial Hessians of all contacts beyond a joint add up.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.compiled.row_kernels import add_row, copy_row, subtract_rows
from asperity.convex.spatial_hessian import Full, Symmetric, keep_hessian

__all__ = ["add_paths", "add_within", "gather_hessian"]


@compiled
def gather_hessian(
    paths: Table, hessian: Table, link: int, p: Symmetric, q: Full, g: Symmetric
) -> None:
    """Add the Hessian (P, Q; Qᵀ, G) of a link's own contacts to those of its joint."""
    tip = paths.link_tip[link]
    total = hessian.path_hessian
    if hessian.path_active[tip] == 0:
        hessian.path_active[tip] = 1
        keep_hessian(total, tip, 0, p, q, g)
        return
    for k in range(6):
        total[tip, k] += p[k]
        total[tip, 15 + k] += g[k]
    for k in range(9):
        total[tip, 6 + k] += q[k]


@compiled
def _spatial_product(
    h: np.ndarray, i: int, column: np.ndarray, e: int
) -> tuple[float, float, float, float, float, float]:
    """(P, Q; Qᵀ, G) times a column."""
    x, y, z = column[e, 0], column[e, 1], column[e, 2]
    u = column[e, 3]
    v = column[e, 4]
    w = column[e, 5]
    return (
        h[i, 0] * x + h[i, 1] * y + h[i, 2] * z + h[i, 6] * u + h[i, 7] * v + h[i, 8] * w,
        h[i, 1] * x + h[i, 3] * y + h[i, 4] * z + h[i, 9] * u + h[i, 10] * v + h[i, 11] * w,
        h[i, 2] * x + h[i, 4] * y + h[i, 5] * z + h[i, 12] * u + h[i, 13] * v + h[i, 14] * w,
        h[i, 6] * x + h[i, 9] * y + h[i, 12] * z + h[i, 15] * u + h[i, 16] * v + h[i, 17] * w,
        h[i, 7] * x + h[i, 10] * y + h[i, 13] * z + h[i, 16] * u + h[i, 18] * v + h[i, 19] * w,
        h[i, 8] * x + h[i, 11] * y + h[i, 14] * z + h[i, 17] * u + h[i, 19] * v + h[i, 20] * w,
    )


@compiled
def add_paths(
    graph: Table, hessian: Table, scratch: Table, contacts: Table, first: int, last: int
) -> None:
    """Add what `gather_hessian` has gathered on some paths to the blocks of their trees.

    All links of a tree have the same reference point, so that Hessians of contacts beyond a joint
    add up, as inertias do in the composite rigid body algorithm: S_jᵀ (Σ H) S_i for each dof i and
    those before it, j.
    """
    paths = graph.paths
    column = contacts.chain_column
    total = hessian.path_hessian
    factor = hessian.factor
    force = scratch.path_force
    columns = paths.columns.ctypes.data
    stride = 8 * paths.columns.shape[1]
    for i in range(last - 1, first - 1, -1):
        if hessian.path_active[i] == 0:
            continue
        hessian.path_active[i] = 0
        dof = paths.dof[i]
        tree = graph.dof_tree[dof]
        start = graph.tree_start[tree]
        row = graph.block_start[tree] + (dof - start) * graph.tree_size[tree] - start
        f = _spatial_product(total, i, column, paths.entry[i])
        for a in range(6):
            force[a] = -f[a]
        j = i
        while j >= 0:
            # Dofs that follow each other have their columns and their places in the row side by
            # side.
            run = paths.run[j]
            at = factor.ctypes.data + 8 * (row + paths.dof[run])
            subtract_rows(at, force.ctypes.data, 8, columns + 8 * run, stride, 6, j - run + 1)
            j = paths.parent[run]
        parent = paths.parent[i]
        if parent < 0:
            continue
        origin = total.ctypes.data + 8 * 21 * i
        target = total.ctypes.data + 8 * 21 * parent
        if hessian.path_active[parent] == 0:
            hessian.path_active[parent] = 1
            copy_row(target, origin, 21)
        else:
            add_row(target, origin, 1.0, 21)


@compiled
def add_within(
    problem: Table, contacts: Table, a: int, b: int, p: Symmetric, q: Full, g: Symmetric
) -> None:
    """Add the Hessian of contacts between two links of one articulated tree.

    Joints that both links hang on do not move one against the other: only those between the links
    and the first that they share count.
    """
    graph, hessian, scratch = problem.graph, problem.hessian, problem.scratch
    start_a = contacts.link_start[a]
    start_b = contacts.link_start[b]
    size_a = contacts.link_size[a]
    size_b = contacts.link_size[b]
    dof = contacts.chain_dof
    own_a = contacts.link_own[a]
    own_b = contacts.link_own[b]
    while (
        size_a > own_a and size_b > own_b and dof[start_a + size_a - 1] == dof[start_b + size_b - 1]
    ):
        size_a -= 1
        size_b -= 1
    keep_hessian(scratch.pair_hessian, 0, 0, p, q, g)
    _add_branches(graph, hessian, scratch, contacts, (start_a, size_a), (start_a, size_a), 1.0)
    _add_branches(graph, hessian, scratch, contacts, (start_b, size_b), (start_b, size_b), 1.0)
    _add_branches(graph, hessian, scratch, contacts, (start_a, size_a), (start_b, size_b), -1.0)


@compiled
def _add_branches(
    graph: Table,
    hessian: Table,
    scratch: Table,
    contacts: Table,
    left: tuple[int, int],
    right: tuple[int, int],
    sign: float,
) -> None:
    """Add ± S_iᵀ H S_j for the dofs of two parts of chains, in the lower triangle of their tree."""
    column = contacts.chain_column
    factor = hessian.factor
    for e in range(left[0], left[0] + left[1]):
        i = contacts.chain_dof[e]
        tree = graph.dof_tree[i]
        start = graph.tree_start[tree]
        n = graph.tree_size[tree]
        block = graph.block_start[tree] - start
        f = _spatial_product(scratch.pair_hessian, 0, column, e)
        # Of one part with itself each pair once, the larger dof first: chains begin at the link.
        begin = e if left == right else right[0]
        for c in range(begin, right[0] + right[1]):
            j = contacts.chain_dof[c]
            value = sign * (
                (column[c, 0] * f[0] + column[c, 1] * f[1])
                + (column[c, 2] * f[2] + column[c, 3] * f[3])
                + (column[c, 4] * f[4] + column[c, 5] * f[5])
            )
            if i >= j:
                factor[block + (i - start) * n + j] += value
            else:
                factor[block + (j - start) * n + i] += value
