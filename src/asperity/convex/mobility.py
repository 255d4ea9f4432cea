"""Inverse masses of contacts: the size of the diagonal blocks of the Delassus operator.

For a contact with Jacobian J, W_ii = Σ_trees J_t A_t⁻¹ J_tᵀ is a 3 × 3 matrix, and its root mean
square ‖W_ii‖_F/3 estimates the inverse of the mass that the contact feels (SAP V-B; A is block
diagonal, so that nothing is neglected).
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.convex.block_cholesky import cholesky, cholesky_solve

__all__ = ["fill_inverse_masses"]

# Marks of trees, in `neighbours`.
_UNTOUCHED = 0
_FACTORIZED = 1  # the tree's factor is in `factor`
_INVERTED = 2  # a free body's 6 × 6 inverse is there
_DECOUPLED = 3  # the same; rotation and translation do not couple, translation is isotropic


@compiled
def _invert_rotation(matrix: np.ndarray, factor: np.ndarray, block: int) -> None:
    """Invert the 3 × 3 rotational block of a free body whose blocks do not couple."""
    xx = matrix[block]
    xy = matrix[block + 1]
    xz = matrix[block + 2]
    yy = matrix[block + 7]
    yz = matrix[block + 8]
    zz = matrix[block + 14]
    a = yy * zz - yz * yz
    b = xz * yz - xy * zz
    c = xy * yz - xz * yy
    scale = 1.0 / (xx * a + xy * b + xz * c)
    factor[block] = a * scale
    factor[block + 1] = b * scale
    factor[block + 2] = c * scale
    factor[block + 6] = b * scale
    factor[block + 7] = (xx * zz - xz * xz) * scale
    factor[block + 8] = (xy * xz - xx * yz) * scale
    factor[block + 12] = c * scale
    factor[block + 13] = (xy * xz - xx * yz) * scale
    factor[block + 14] = (xx * yy - xy * xy) * scale
    factor[block + 21] = 1.0 / matrix[block + 21]


@compiled
def _prepare_tree(problem: Table, tree: int) -> int:
    """Factorize or invert a tree's block of A into the memory of its factor; returns its mark."""
    iterate, hessian = problem.iterate, problem.hessian
    scratch, graph = problem.scratch, problem.graph
    matrix = problem.smooth.matrix
    factor = hessian.factor
    block = graph.block_start[tree]
    start = graph.tree_start[tree]
    n = graph.tree_size[tree]
    spatial = graph.tree_spatial[tree]
    if spatial:
        coupling = 0.0
        for i in range(3, 6):
            for j in range(6):
                if i != j:
                    coupling += abs(matrix[block + 6 * i + j])
        m = matrix[block + 21]
        if coupling == 0.0 and matrix[block + 28] == m and matrix[block + 35] == m:
            _invert_rotation(matrix, factor, block)
            return _DECOUPLED
    for k in range(block, block + n * n):
        factor[k] = matrix[k]
    cholesky(factor, block, n, hessian.factor_inverse_diagonal, start)
    if not spatial:
        return _FACTORIZED
    for i in range(6):
        for j in range(6):
            iterate.direction[start + j] = 1.0 if i == j else 0.0
        cholesky_solve(
            factor,
            block,
            6,
            hessian.factor_inverse_diagonal,
            iterate.direction,
            start,
        )
        for j in range(6):
            scratch.patch[0, 6 * i + j] = iterate.direction[start + j]
    for k in range(36):
        factor[block + k] = scratch.patch[0, k]
    return _INVERTED


@compiled
def _link_mobility(
    graph: Table,
    iterate: Table,
    hessian: Table,
    contacts: Table,
    link: int,
    other: int,
    mobility: np.ndarray,
    which: int,
) -> None:
    """mobility[which] = C_link A⁻¹ C_otherᵀ for two links of one articulated tree."""
    tree = contacts.link_tree[link]
    block = graph.block_start[tree]
    first = graph.tree_start[tree]
    n = graph.tree_size[tree]
    link_start = contacts.link_start
    work = iterate.direction
    for k in range(6):
        for i in range(first, first + n):
            work[i] = 0.0
        for e in range(link_start[link], link_start[link] + contacts.link_size[link]):
            work[contacts.chain_dof[e]] = contacts.chain_column[e, k]
        cholesky_solve(hessian.factor, block, n, hessian.factor_inverse_diagonal, work, first)
        for j in range(6):
            value = 0.0
            for e in range(link_start[other], link_start[other] + contacts.link_size[other]):
                value += contacts.chain_column[e, j] * work[contacts.chain_dof[e]]
            mobility[which, 6 * k + j] = value


@compiled
def _fill_jacobian(frame: np.ndarray, arm: np.ndarray, c: int, out: np.ndarray, side: int) -> None:
    """out[side] = R (−[r]×, 1), the 3 × 6 Jacobian of one side of a contact."""
    for i in range(3):
        x, y, z = frame[c, 3 * i], frame[c, 3 * i + 1], frame[c, 3 * i + 2]
        out[side, i, 0] = arm[c, 1] * z - arm[c, 2] * y
        out[side, i, 1] = arm[c, 2] * x - arm[c, 0] * z
        out[side, i, 2] = arm[c, 0] * y - arm[c, 1] * x
        out[side, i, 3] = x
        out[side, i, 4] = y
        out[side, i, 5] = z


@compiled
def _add_block(
    jacobian: np.ndarray,
    left: int,
    right: int,
    mobility: np.ndarray,
    which: int,
    sign: float,
    out: np.ndarray,
) -> None:
    """out += sign · J_left Λ J_rightᵀ for the sides of one contact."""
    for i in range(3):
        for k in range(6):
            value = 0.0
            for m in range(6):
                value += jacobian[left, i, m] * mobility[which, 6 * m + k]
            value *= sign
            for j in range(3):
                out[i, j] += value * jacobian[right, j, k]


@compiled
def _add_decoupled(
    jacobian: np.ndarray, side: int, factor: np.ndarray, block: int, out: np.ndarray
) -> None:
    """Add the side of a free body with a diagonal of blocks; a contact's axes are orthonormal."""
    for i in range(3):
        for k in range(3):
            value = 0.0
            for m in range(3):
                value += jacobian[side, i, m] * factor[block + 6 * m + k]
            for j in range(3):
                out[i, j] += value * jacobian[side, j, k]
        out[i, i] += factor[block + 21]


@compiled
def _link_matrix(
    graph: Table,
    iterate: Table,
    hessian: Table,
    contacts: Table,
    link: int,
    mark: int,
    mobility: np.ndarray,
    which: int,
) -> None:
    """mobility[which] of one link with itself, unless its tree is decoupled."""
    if mark == _FACTORIZED:
        _link_mobility(graph, iterate, hessian, contacts, link, link, mobility, which)
    elif mark == _INVERTED:
        block = graph.block_start[contacts.link_tree[link]]
        for k in range(36):
            mobility[which, k] = hessian.factor[block + k]


@compiled
def fill_inverse_masses(problem: Table, contacts: Table, ncontact: int, out: np.ndarray) -> None:
    """``out[i] = ‖W_ii‖_F/3`` [1/kg] for the problem's contacts.

    Uses the memory of the factors, which are void afterwards, ``direction`` and ``patch``.
    """
    iterate, hessian = problem.iterate, problem.hessian
    scratch, graph = problem.scratch, problem.graph
    mark = graph.neighbours
    mobility = scratch.patch
    w = scratch.projection
    jacobian = scratch.jacobian
    for tree in range(graph.ntree):
        mark[tree] = _UNTOUCHED
        hessian.factor_island[tree] = 0
    last_a = -2
    last_b = -2
    for i in range(ncontact):
        c = graph.contact[i]
        a = contacts.link[c, 0]
        b = contacts.link[c, 1]
        tree_a = contacts.link_tree[a] if a >= 0 else -1
        tree_b = contacts.link_tree[b] if b >= 0 else -1
        same = tree_a >= 0 and tree_a == tree_b
        if a != last_a or b != last_b:
            last_a = a
            last_b = b
            if tree_a >= 0 and mark[tree_a] == _UNTOUCHED:
                mark[tree_a] = _prepare_tree(problem, tree_a)
            if tree_b >= 0 and mark[tree_b] == _UNTOUCHED:
                mark[tree_b] = _prepare_tree(problem, tree_b)
            if a >= 0:
                _link_matrix(graph, iterate, hessian, contacts, a, mark[tree_a], mobility, 0)
            if b >= 0:
                _link_matrix(graph, iterate, hessian, contacts, b, mark[tree_b], mobility, 1)
            if same and mark[tree_a] == _FACTORIZED:
                _link_mobility(graph, iterate, hessian, contacts, a, b, mobility, 2)
        for j in range(3):
            for k in range(3):
                w[j, k] = 0.0
        if a >= 0:
            _fill_jacobian(contacts.frame, contacts.arm_a, c, jacobian, 0)
            if mark[tree_a] == _DECOUPLED:
                _add_decoupled(jacobian, 0, hessian.factor, graph.block_start[tree_a], w)
            else:
                _add_block(jacobian, 0, 0, mobility, 0, 1.0, w)
        if b >= 0:
            _fill_jacobian(contacts.frame, contacts.arm_b, c, jacobian, 1)
            if mark[tree_b] == _DECOUPLED:
                _add_decoupled(jacobian, 1, hessian.factor, graph.block_start[tree_b], w)
            else:
                _add_block(jacobian, 1, 1, mobility, 1, 1.0, w)
        if same and mark[tree_a] == _FACTORIZED:
            _add_block(jacobian, 0, 1, mobility, 2, -2.0, w)
        total = 0.0
        for j in range(3):
            for k in range(3):
                value = 0.5 * (w[j, k] + w[k, j])
                total += value * value
        out[i] = np.sqrt(total) / 3.0
