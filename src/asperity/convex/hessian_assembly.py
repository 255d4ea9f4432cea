"""Assembly of the Hessian ``A + Jᵀ G J`` into the blocks of the factorization.

Contacts of the same two bodies are gathered first: their 6 × 6 spatial Hessians add up, and only
the sum goes through the bodies' chains of joints. For free bodies it is added as it is.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, entry_point, inlined
from asperity.compiled.calls import call_ppp_status
from asperity.compiled.row_kernels import copy_row
from asperity.contact.constraint_set import CONSTRAINT_SET
from asperity.contact.contact_set import CONTACT_SET
from asperity.convex.chain_cholesky import copy_chains
from asperity.convex.couplings import block_of
from asperity.convex.ellipsoids import ellipsoid_hessian
from asperity.convex.problem import ASSEMBLED, PROBLEM
from asperity.convex.robot_hessian import add_paths, add_within, gather_hessian
from asperity.convex.spatial_hessian import (
    Full,
    Symmetric,
    add_full,
    add_symmetric,
    full,
    other_side,
    spatial_hessian,
    write_patch,
)

__all__ = [
    "add_contacts",
    "add_lower",
    "add_own",
    "add_pair",
    "add_rows",
    "assemble",
    "begin_blocks",
    "begin_tree",
    "between_arms",
    "clear_column",
    "clear_couplings",
    "end_of_pair",
    "end_paths",
    "subtract_spatial",
    "sum_of_contacts",
]


@compiled
def _project(
    patch: np.ndarray, column: np.ndarray, start: int, size: int, projection: np.ndarray
) -> None:
    """projection(6 × size) = patch · columns."""
    for e in range(size):
        for i in range(6):
            value = 0.0
            for j in range(6):
                value += patch[6 * i + j] * column[start + e, j]
            projection[i, e] = value


@inlined
def add_lower(factor: np.ndarray, at: int, p: Symmetric, q: Full, g: Symmetric) -> None:
    """Add the lower triangle of (P, Q; Qᵀ, G) to a 6 × 6 block."""
    factor[at] += p[0]
    factor[at + 6] += p[1]
    factor[at + 7] += p[3]
    factor[at + 12] += p[2]
    factor[at + 13] += p[4]
    factor[at + 14] += p[5]
    for i in range(3):
        row = at + 18 + 6 * i
        factor[row] += q[i]
        factor[row + 1] += q[3 + i]
        factor[row + 2] += q[6 + i]
    factor[at + 21] += g[0]
    factor[at + 27] += g[1]
    factor[at + 28] += g[3]
    factor[at + 33] += g[2]
    factor[at + 34] += g[4]
    factor[at + 35] += g[5]


@inlined
def subtract_spatial(
    coupling: np.ndarray,
    at: int,
    rows: int,
    columns: int,
    corner: Full,
    right: Full,
    low: Full,
    g: Symmetric,
) -> None:
    """Subtract (corner, right; lowᵀ, G) from a 6 × 6 block with these strides."""
    numbers = full(g)
    for i in range(3):
        for j in range(3):
            upper = at + i * rows + j * columns
            lower = upper + 3 * rows
            coupling[upper] -= corner[3 * i + j]
            coupling[upper + 3 * columns] -= right[3 * i + j]
            coupling[lower] -= low[3 * j + i]
            coupling[lower + 3 * columns] -= numbers[3 * i + j]


@inlined
def add_own(
    graph: Table, hessian: Table, contacts: Table, link: int, p: Symmetric, q: Full, g: Symmetric
) -> None:
    """Add a Hessian (P, Q; Qᵀ, G) to what one link's tree has of its own contacts."""
    tree = contacts.link_tree[link]
    if graph.tree_spatial[tree]:
        add_lower(hessian.factor, graph.block_start[tree], p, q, g)
        return
    gather_hessian(graph.paths, hessian, link, p, q, g)


@inlined
def _add_cross(
    problem: Table,
    contacts: Table,
    a: int,
    b: int,
    corner: Full,
    right: Full,
    low: Full,
    g: Symmetric,
) -> None:
    """Subtract J_aᵀ S J_b with S = (corner, right; lowᵀ, G) where the links' trees meet.

    Links of one articulated tree are `_add_within`'s.
    """
    scratch, graph = problem.scratch, problem.graph
    factor = problem.hessian.factor
    coupling = problem.hessian.coupling
    tree_a = contacts.link_tree[a]
    tree_b = contacts.link_tree[b]
    if tree_a == tree_b and graph.tree_spatial[tree_a]:
        block = graph.block_start[tree_a]
        subtract_spatial(factor, block, 6, 1, corner, right, low, g)
        subtract_spatial(factor, block, 1, 6, corner, right, low, g)
        return
    first_a = graph.tree_start[tree_a]
    first_b = graph.tree_start[tree_b]
    na = graph.tree_size[tree_a]
    nb = graph.tree_size[tree_b]
    a_first = graph.position[tree_a] < graph.position[tree_b]
    at = block_of(graph, tree_a, tree_b)
    spatial_a = graph.tree_spatial[tree_a]
    spatial_b = graph.tree_spatial[tree_b]
    if spatial_a and spatial_b:
        if a_first:
            subtract_spatial(coupling, at, 6, 1, corner, right, low, g)
        else:
            subtract_spatial(coupling, at, 1, 6, corner, right, low, g)
        return
    patch = scratch.patch[0]
    write_patch(patch, corner, right, low, g)
    size_a = 6 if spatial_a else contacts.link_size[a]
    size_b = 6 if spatial_b else contacts.link_size[b]
    start_a = contacts.link_start[a]
    start_b = contacts.link_start[b]
    if not spatial_b:
        _project(patch, contacts.chain_column, start_b, size_b, scratch.projection)
    for i in range(size_a):
        row = i if spatial_a else contacts.chain_dof[start_a + i] - first_a
        for j in range(size_b):
            value = 0.0
            for k in range(6):
                column = patch[6 * k + j] if spatial_b else scratch.projection[k, j]
                if spatial_a:
                    if k == i:
                        value = column
                else:
                    value += contacts.chain_column[start_a + i, k] * column
            col = j if spatial_b else contacts.chain_dof[start_b + j] - first_b
            if a_first:
                coupling[at + row * nb + col] -= value
            else:
                coupling[at + col * na + row] -= value


@inlined
def add_pair(
    problem: Table,
    contacts: Table,
    a: int,
    b: int,
    d: tuple[float, float, float],
    p: Symmetric,
    q: Full,
    g: Symmetric,
) -> None:
    """Add the Hessian (P, Q; Qᵀ, G) of two bodies' contacts, about the end of A's (or B's) arm."""
    graph, hessian = problem.graph, problem.hessian
    if a < 0 or b < 0:
        add_own(graph, hessian, contacts, max(a, b), p, q, g)
        return
    tree = contacts.link_tree[a]
    if tree == contacts.link_tree[b] and not graph.tree_spatial[tree]:
        add_within(problem, contacts, a, b, p, q, g)
        return
    q_b, between, p_b = other_side(d, g, q, p)
    add_own(graph, hessian, contacts, a, p, q, g)
    add_own(graph, hessian, contacts, b, p_b, q_b, g)
    _add_cross(problem, contacts, a, b, between, q, q_b, g)


@inlined
def between_arms(contacts: Table, c: int) -> tuple[float, float, float]:
    """From the end of A's arm to that of B's, as the arms of a contact are."""
    arm_a = contacts.arm_a
    arm_b = contacts.arm_b
    return arm_b[c, 0] - arm_a[c, 0], arm_b[c, 1] - arm_a[c, 1], arm_b[c, 2] - arm_a[c, 2]


@inlined
def sum_of_contacts(
    graph: Table, law: Table, iterate: Table, contacts: Table, begin: int, end: int, about_a: bool
) -> tuple[bool, Symmetric, Full, Symmetric]:
    """Spatial Hessian (P, Q; Qᵀ, G) of two bodies' contacts, about the end of A's (or B's) arm.

    The first number tells whether any of them has a Hessian.
    """
    coupled = law.coupled == 1
    curvature = (iterate.h11, iterate.h12, iterate.h22, iterate.h1n, iterate.h2n, iterate.hnn)
    arm = contacts.arm_a if about_a else contacts.arm_b
    g = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    p = g
    q = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    active = False
    for i in range(begin, end):
        if iterate.hnn[i] != 0.0 or iterate.h11[i] != 0.0 or iterate.h22[i] != 0.0:
            active = True
            c = graph.contact[i]
            if graph.ellipsoids != 0 and graph.ellipsoidal[i] != 0:
                one = ellipsoid_hessian(graph, iterate, contacts, i, arm)
            else:
                one = spatial_hessian(c, i, contacts.frame, arm, curvature, coupled)
            g = add_symmetric(g, one[0])
            q = add_full(q, one[1])
            p = add_symmetric(p, one[2])
    return active, p, q, g


@inlined
def end_of_pair(graph: Table, link: np.ndarray, begin: int, last: int) -> int:
    """Where contacts end that are between the same two links as the first one."""
    c = graph.contact[begin]
    end = begin + 1
    while end < last:
        other = graph.contact[end]
        if link[other, 0] != link[c, 0] or link[other, 1] != link[c, 1]:
            break
        end += 1
    return end


@inlined
def add_contacts(problem: Table, contacts: Table, first: int, last: int) -> None:
    """Add the Hessians of some contacts; those of articulated trees' links wait for `end_paths`."""
    graph = problem.graph
    link = contacts.link
    begin = first
    while begin < last:
        c = graph.contact[begin]
        a = link[c, 0]
        b = link[c, 1]
        end = end_of_pair(graph, link, begin, last)
        active, p, q, g = sum_of_contacts(
            graph, problem.law, problem.iterate, contacts, begin, end, a >= 0
        )
        if active:
            add_pair(problem, contacts, a, b, between_arms(contacts, c), p, q, g)
        begin = end


@compiled
def end_paths(problem: Table, contacts: Table) -> None:
    """Add what `add_contacts` has left on the joints of the island's articulated trees."""
    graph = problem.graph
    island = graph.component[graph.ntree + graph.island_tree[problem.at_hand.first_tree]]
    add_paths(
        graph,
        problem.hessian,
        problem.scratch,
        contacts,
        graph.paths.island_start[island],
        graph.paths.island_start[island + 1],
    )


@compiled
def add_rows(
    graph: Table, iterate: Table, hessian: Table, rows: Table, first: int, last: int
) -> None:
    start = rows.start
    dof = rows.dof
    jacobian = rows.jacobian
    for i in range(first, last):
        g = iterate.row_curvature[i]
        if g == 0.0:
            continue
        alone = graph.row_entry[i]
        if alone >= 0:
            t = graph.dof_tree[dof[alone]]
            diagonal = (graph.tree_size[t] + 1) * (dof[alone] - graph.tree_start[t])
            hessian.factor[graph.block_start[t] + diagonal] += g * jacobian[alone] ** 2
            continue
        r = graph.row[i]
        for part in range(2):
            t = rows.tree[r, part]
            if t < 0:
                continue
            n = graph.tree_size[t]
            offset = graph.tree_start[t]
            for e in range(start[r, part], start[r, part + 1]):
                row = graph.block_start[t] + (dof[e] - offset) * n - offset
                value = g * jacobian[e]
                # Dofs ascend within a part: the lower triangle.
                for f in range(start[r, part], e + 1):
                    hessian.factor[row + dof[f]] += value * jacobian[f]
        t = rows.tree[r, 0]
        s = rows.tree[r, 1]
        if s < 0:
            continue
        at = block_of(graph, t, s)
        t_first = graph.position[t] < graph.position[s]
        for e in range(start[r, 0], start[r, 1]):
            for f in range(start[r, 1], start[r, 2]):
                value = g * jacobian[e] * jacobian[f]
                p = dof[e] - graph.tree_start[t]
                q = dof[f] - graph.tree_start[s]
                if t_first:
                    hessian.coupling[at + p * graph.tree_size[s] + q] += value
                else:
                    hessian.coupling[at + q * graph.tree_size[t] + p] += value


@inlined
def clear_column(graph: Table, tree: int, coupling: np.ndarray) -> None:
    """Set a tree's couplings with later ones to 0."""
    n = graph.tree_size[tree]
    first = graph.column_start[tree]
    for entry in range(first, first + graph.column_size[tree]):
        at = graph.entry_block[entry]
        for k in range(at, at + n * graph.tree_size[graph.entry_tree[entry]]):
            coupling[k] = 0.0


@inlined
def clear_couplings(graph: Table, at_hand: Table, coupling: np.ndarray) -> None:
    """Set the couplings of the island to 0, in an array of the problem's structure."""
    for index in range(at_hand.first_tree, at_hand.last_tree):
        clear_column(graph, graph.island_tree[index], coupling)


@compiled
def begin_blocks(problem: Table) -> None:
    """Fill the island's diagonal blocks with A, whole, and its couplings with 0."""
    at_hand, graph = problem.at_hand, problem.graph
    for index in range(at_hand.first_tree, at_hand.last_tree):
        tree = graph.island_tree[index]
        block = graph.block_start[tree]
        for k in range(block, block + graph.tree_size[tree] * graph.tree_size[tree]):
            problem.hessian.factor[k] = problem.smooth.matrix[k]
    clear_couplings(graph, at_hand, problem.hessian.coupling)


@inlined
def begin_tree(graph: Table, smooth: Table, hessian: Table, tree: int) -> None:
    """Fill what the factor of a tree's block has with A: its lower triangle."""
    if not graph.tree_spatial[tree]:
        copy_chains(graph, hessian, smooth.matrix, tree)
        return
    at = 8 * graph.block_start[tree]
    copy_row(hessian.factor.ctypes.data + at, smooth.matrix.ctypes.data + at, 36)


@entry_point(types.int64(PROBLEM.type, CONTACT_SET.type, CONSTRAINT_SET.type))
def assemble(problem: Table, contacts: Table, rows: Table) -> int:
    """Fill the blocks of the island's Hessian from the present curvatures.

    Returns what `asperity.convex.block_cholesky.factorize` is to know of them.
    """
    graph, hessian, at_hand = problem.graph, problem.hessian, problem.at_hand
    if at_hand.last_part > at_hand.first_part:
        return call_ppp_status(problem.entries.assemble_divided, problem, contacts, rows)
    for index in range(at_hand.first_tree, at_hand.last_tree):
        begin_tree(graph, problem.smooth, hessian, graph.island_tree[index])
    clear_couplings(graph, at_hand, hessian.coupling)
    add_contacts(problem, contacts, at_hand.first_contact, at_hand.last_contact)
    end_paths(problem, contacts)
    add_rows(graph, problem.iterate, hessian, rows, at_hand.first_row, at_hand.last_row)
    return ASSEMBLED
