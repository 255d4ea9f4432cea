"""Assembly of TAMSI's Jacobian ``A + Jᵀ H J``, which is not symmetric (TAMSI equation 23).

Blocks on and above the diagonal (in the order of elimination) go where the convex Hessian has them,
those below it into TAMSI's own ``lower``. Contacts of the same two bodies are gathered first.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, entry_point
from asperity.compiled.calls import load_double, store_double
from asperity.compiled.row_kernels import copy_row, dot_rows, subtract_rows
from asperity.contact.constraint_set import CONSTRAINT_SET
from asperity.contact.contact_set import CONTACT_SET
from asperity.convex.couplings import block_of
from asperity.convex.ellipsoids import contact_row, slip_row
from asperity.convex.hessian_assembly import begin_blocks, clear_couplings, end_of_pair
from asperity.convex.problem import PROBLEM
from asperity.convex.spatial_hessian import Full
from asperity.integrators.methods.tamsi.tamsi_layout import TAMSI

__all__ = ["assemble_jacobian"]


@compiled
def _world_matrix(
    c: int,
    i: int,
    frame: np.ndarray,
    derivative: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray],
) -> Full:
    """H of one contact in world axes, row by row."""
    h11, h12, h22, h1n, h2n, hnn = derivative
    ax, ay, az = frame[c, 0], frame[c, 1], frame[c, 2]
    bx, by, bz = frame[c, 3], frame[c, 4], frame[c, 5]
    nx, ny, nz = frame[c, 6], frame[c, 7], frame[c, 8]
    # Rows of H in the contact's axes times the axes.
    px = h11[i] * ax + h12[i] * bx + h1n[i] * nx
    py = h11[i] * ay + h12[i] * by + h1n[i] * ny
    pz = h11[i] * az + h12[i] * bz + h1n[i] * nz
    qx = h12[i] * ax + h22[i] * bx + h2n[i] * nx
    qy = h12[i] * ay + h22[i] * by + h2n[i] * ny
    qz = h12[i] * az + h22[i] * bz + h2n[i] * nz
    mx = hnn[i] * nx
    my = hnn[i] * ny
    mz = hnn[i] * nz
    return (
        ax * px + bx * qx + nx * mx,
        ax * py + bx * qy + nx * my,
        ax * pz + bx * qz + nx * mz,
        ay * px + by * qx + ny * mx,
        ay * py + by * qy + ny * my,
        ay * pz + by * qz + ny * mz,
        az * px + bz * qx + nz * mx,
        az * py + bz * qy + nz * my,
        az * pz + bz * qz + nz * mz,
    )


@compiled
def _add_spatial(
    patch: np.ndarray, which: int, g: Full, left: np.ndarray, right: np.ndarray, c: int, sign: float
) -> None:
    """patch[which] += sign · ([r]×; 1) G (−[s]×, 1) for the arms r, s of contact c."""
    x, y, z = left[c, 0], left[c, 1], left[c, 2]
    u, v, w = right[c, 0], right[c, 1], right[c, 2]
    for i in range(3):
        a = sign * g[3 * i]
        b = sign * g[3 * i + 1]
        d = sign * g[3 * i + 2]
        # Row i of G (−[s]×, 1): (s × row, row).
        row = (v * d - w * b, w * a - u * d, u * b - v * a, a, b, d)
        # Row i of [r]× takes it to the rows i + 1 and i + 2 of the moment.
        for j in range(6):
            patch[which, 18 + 6 * i + j] += row[j]
            if i == 0:
                patch[which, 6 + j] += z * row[j]
                patch[which, 12 + j] -= y * row[j]
            elif i == 1:
                patch[which, j] -= z * row[j]
                patch[which, 12 + j] += x * row[j]
            else:
                patch[which, j] += y * row[j]
                patch[which, 6 + j] -= x * row[j]


@compiled
def _add_ellipsoidal(
    patch: np.ndarray,
    which: int,
    problem: Table,
    contacts: Table,
    i: int,
    sides: tuple[np.ndarray, np.ndarray],
    sign: float,
) -> None:
    """patch[which] += sign · Lᵀ H R, L and R rows of an ellipsoidal contact for the sides' arms.

    With the rows e_k of the scaled slip, s = Σ û_k e_k and the normal's row n,

        Lᵀ H R = h_22 Σ e_k e_kᵀ + (h_11 − h_22) s sᵀ + h_1n s nᵀ + h_nn n nᵀ.
    """
    graph, iterate = problem.graph, problem.iterate
    left, right = sides
    c = graph.contact[i]
    across = sign * iterate.slip_curvature[i, 0]
    more = sign * iterate.slip_curvature[i, 1]
    coupled = sign * iterate.slip_curvature[i, 2]
    normal = sign * iterate.hnn[i]
    for k in range(5):
        e = contact_row(contacts, c, left, k)
        f = contact_row(contacts, c, right, k)
        for p in range(6):
            for q in range(6):
                patch[which, 6 * p + q] += across * e[p] * f[q]
    s = slip_row(graph, iterate, contacts, i, left)
    t = slip_row(graph, iterate, contacts, i, right)
    n = contact_row(contacts, c, left, 5)
    m = contact_row(contacts, c, right, 5)
    for p in range(6):
        for q in range(6):
            patch[which, 6 * p + q] += (
                more * s[p] * t[q] + coupled * s[p] * m[q] + normal * n[p] * m[q]
            )


@compiled
def _add_contact(problem: Table, patch: np.ndarray, contacts: Table, i: int) -> None:
    """Add the Jacobian of one contact to the patches of its bodies."""
    graph, iterate = problem.graph, problem.iterate
    c = graph.contact[i]
    a = contacts.link[c, 0]
    b = contacts.link[c, 1]
    arm_a = contacts.arm_a
    arm_b = contacts.arm_b
    if graph.ellipsoids != 0 and graph.ellipsoidal[i] != 0:
        if a >= 0:
            _add_ellipsoidal(patch, 0, problem, contacts, i, (arm_a, arm_a), 1.0)
        if b >= 0:
            _add_ellipsoidal(patch, 3, problem, contacts, i, (arm_b, arm_b), 1.0)
        if a >= 0 and b >= 0:
            _add_ellipsoidal(patch, 1, problem, contacts, i, (arm_a, arm_b), -1.0)
            _add_ellipsoidal(patch, 2, problem, contacts, i, (arm_b, arm_a), -1.0)
        return
    derivative = (iterate.h11, iterate.h12, iterate.h22, iterate.h1n, iterate.h2n, iterate.hnn)
    g = _world_matrix(c, i, contacts.frame, derivative)
    if a >= 0:
        _add_spatial(patch, 0, g, arm_a, arm_a, c, 1.0)
    if b >= 0:
        _add_spatial(patch, 3, g, arm_b, arm_b, c, 1.0)
    if a >= 0 and b >= 0:
        _add_spatial(patch, 1, g, arm_a, arm_b, c, -1.0)
        _add_spatial(patch, 2, g, arm_b, arm_a, c, -1.0)


@compiled
def _add_block(
    graph: Table, hessian: Table, tamsi: Table, contacts: Table, p: int, q: int, which: int
) -> None:
    """Add a 6 × 6 patch between the links p (rows) and q (columns) to the block of their trees."""
    tree_spatial = graph.tree_spatial
    link_start = contacts.link_start
    rows = contacts.link_tree[p]
    columns = contacts.link_tree[q]
    width = graph.tree_size[columns]
    if rows == columns:
        target = hessian.factor
        at = graph.block_start[rows]
    else:
        at = block_of(graph, rows, columns)
        if graph.position[rows] < graph.position[columns]:
            target = hessian.coupling
        else:
            target = tamsi.lower
    if tree_spatial[rows] and tree_spatial[columns]:
        for i in range(6):
            for j in range(6):
                target[at + i * width + j] += tamsi.patch[which, 6 * i + j]
        return
    patch = tamsi.patch[which].ctypes.data
    right = tamsi.projection.ctypes.data
    stride = tamsi.projection.strides[0]
    wide = 6
    if tree_spatial[columns]:
        for i in range(6):
            copy_row(right + i * stride, patch + 48 * i, 6)
    else:
        wide = contacts.link_size[q]
        for e in range(wide):
            column = contacts.chain_column[link_start[q] + e].ctypes.data
            for i in range(6):
                store_double(right + i * stride + 8 * e, dot_rows(patch + 48 * i, column, 6))
    high = 6
    if not tree_spatial[rows]:
        high = contacts.link_size[p]
    line = tamsi.line
    sign = 1.0 if tree_spatial[rows] else -1.0  # rows are subtracted
    for f in range(high):
        i = f
        product = right + f * stride
        if not tree_spatial[rows]:
            i = contacts.chain_dof[link_start[p] + f] - graph.tree_start[rows]
            product = line.ctypes.data
            for e in range(wide):
                line[e] = 0.0
            column = contacts.chain_column[link_start[p] + f].ctypes.data
            subtract_rows(product, column, 8, right, stride, 6, wide)
        for e in range(wide):
            j = e
            if not tree_spatial[columns]:
                j = contacts.chain_dof[link_start[q] + e] - graph.tree_start[columns]
            target[at + i * width + j] += sign * load_double(product + 8 * e)


@compiled
def _add_contacts(problem: Table, tamsi: Table, contacts: Table, first: int, last: int) -> None:
    graph, iterate, hessian = problem.graph, problem.iterate, problem.hessian
    link = contacts.link
    patch = tamsi.patch
    begin = first
    while begin < last:
        c = graph.contact[begin]
        a = link[c, 0]
        b = link[c, 1]
        for which in range(4):
            for k in range(36):
                patch[which, k] = 0.0
        active = False
        end = end_of_pair(graph, link, begin, last)
        for i in range(begin, end):
            if iterate.hnn[i] != 0.0 or iterate.h11[i] != 0.0 or iterate.h22[i] != 0.0:
                active = True
                _add_contact(problem, patch, contacts, i)
        begin = end
        if not active:
            continue
        if a >= 0:
            _add_block(graph, hessian, tamsi, contacts, a, a, 0)
        if b >= 0:
            _add_block(graph, hessian, tamsi, contacts, b, b, 3)
        if a >= 0 and b >= 0:
            _add_block(graph, hessian, tamsi, contacts, a, b, 1)
            _add_block(graph, hessian, tamsi, contacts, b, a, 2)


@compiled
def _add_rows(
    graph: Table, iterate: Table, hessian: Table, tamsi: Table, rows: Table, first: int, last: int
) -> None:
    start = rows.start
    dof = rows.dof
    jacobian = rows.jacobian
    for k in range(first, last):
        g = iterate.row_curvature[k]
        if g == 0.0:
            continue
        r = graph.row[k]
        for p in range(2):
            s = rows.tree[r, p]
            if s < 0:
                continue
            for q in range(2):
                t = rows.tree[r, q]
                if t < 0:
                    continue
                width = graph.tree_size[t]
                at = graph.block_start[s] if p == q else block_of(graph, s, t)
                for e in range(start[r, p], start[r, p + 1]):
                    value = g * jacobian[e]
                    line = at + (dof[e] - graph.tree_start[s]) * width - graph.tree_start[t]
                    for f in range(start[r, q], start[r, q + 1]):
                        if p == q:
                            hessian.factor[line + dof[f]] += value * jacobian[f]
                        elif graph.position[s] < graph.position[t]:
                            hessian.coupling[line + dof[f]] += value * jacobian[f]
                        else:
                            tamsi.lower[line + dof[f]] += value * jacobian[f]


@entry_point(types.int64(PROBLEM.type, CONTACT_SET.type, CONSTRAINT_SET.type))
def assemble_jacobian(problem: Table, contacts: Table, rows: Table) -> int:
    """Fill the blocks of the island's Jacobian from the present derivatives."""
    graph, at_hand = problem.graph, problem.at_hand
    tamsi = TAMSI.at(problem.law.extension)
    begin_blocks(problem)
    clear_couplings(graph, at_hand, tamsi.lower)
    _add_contacts(problem, tamsi, contacts, at_hand.first_contact, at_hand.last_contact)
    _add_rows(
        graph, problem.iterate, problem.hessian, tamsi, rows, at_hand.first_row, at_hand.last_row
    )
    return 0
