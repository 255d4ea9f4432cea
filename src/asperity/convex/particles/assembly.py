"""The Hessian of an island with bonds, in panels (`.panels`).

Links of free bodies and joints add to it as anywhere else (`asperity.convex.hessian_assembly`), and
so do their constraints.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, entry_point, inlined
from asperity.compiled.calls import call_ppp_status
from asperity.contact.constraint_set import CONSTRAINT_SET
from asperity.contact.contact_set import CONTACT_SET
from asperity.convex.couplings import block_of
from asperity.convex.hessian_assembly import (
    add_own,
    add_pair,
    add_rows,
    between_arms,
    end_of_pair,
    end_paths,
    sum_of_contacts,
)
from asperity.convex.particles.bonds import add_bonds
from asperity.convex.particles.panels import first_panel, last_tree_of
from asperity.convex.problem import ASSEMBLED, PROBLEM
from asperity.convex.spatial_hessian import Full, Symmetric, other_side, write_patch

__all__ = ["assemble_panels"]


@inlined
def _is_soft(contacts: Table, link: int) -> bool:
    """Whether a link is a point of an element."""
    return link >= 0 and contacts.link_soft[link] == 1


@compiled
def _block(graph: Table, t: int, s: int) -> tuple[int, int, int]:
    """Where the block of two trees is, the step to its next row, and that to its next column.

    One of the trees has bonds. Rows are those of the first one.
    """
    panels = graph.panels
    first = t if graph.position[t] < graph.position[s] else s
    later = t + s - first
    panel = panels.of_tree[first]
    stride = panels.stride[panel]
    at = panels.at[panel] + panels.tree_row[first] * stride
    if panels.of_tree[later] == panel:
        at += panels.tree_row[later]
    else:
        at += panels.width[panel]
        entry = graph.column_start[last_tree_of(graph, panel)]
        while graph.entry_tree[entry] != later:
            at += graph.tree_size[graph.entry_tree[entry]]
            entry += 1
    return (at, stride, 1) if first == t else (at, 1, stride)


@inlined
def _add_at(
    hessian: Table, block: tuple[int, int, int], same: bool, p: int, q: int, value: float
) -> None:
    """Add to the Hessian at two places of a block, and at the mirrored ones.

    In a tree's own block the upper triangle is kept.
    """
    at, row, column = block
    if not same:
        hessian.coupling[at + p * row + q * column] += value
    elif p == q:
        hessian.coupling[at + p * (row + 1)] += 2.0 * value
    else:
        hessian.coupling[at + min(p, q) * row + max(p, q)] += value


@compiled
def _add_soft_own(graph: Table, hessian: Table, contacts: Table, link: int, g: Symmetric) -> None:
    """Add Jᵀ G J of a link's own contacts, G being (xx, xy, xz, yy, yz, zz)."""
    column = contacts.chain_column
    begin = contacts.link_start[link]
    for e in range(begin, begin + contacts.link_size[link], 3):
        t = graph.dof_tree[contacts.chain_dof[e]]
        for f in range(begin, e + 1, 3):
            s = graph.dof_tree[contacts.chain_dof[f]]
            block = _block(graph, t, s)
            factor = 0.5 if t == s else 1.0
            for p in range(3):
                x, y, z = column[e + p, 3], column[e + p, 4], column[e + p, 5]
                u = factor * (g[0] * x + g[1] * y + g[2] * z)
                v = factor * (g[1] * x + g[3] * y + g[4] * z)
                w = factor * (g[2] * x + g[4] * y + g[5] * z)
                for q in range(3):
                    value = u * column[f + q, 3] + v * column[f + q, 4] + w * column[f + q, 5]
                    _add_at(hessian, block, t == s, p, q, value)


@compiled
def _part(graph: Table, contacts: Table, link: int, place: int) -> tuple[int, int, int]:
    """The tree of a link from a place of its chain on, how many dofs it has, and their column."""
    if contacts.link_soft[link] == 1:
        start = contacts.link_start[link] + place
        return graph.dof_tree[contacts.chain_dof[start]], 3, start
    tree = contacts.link_tree[link]
    if graph.tree_spatial[tree] == 1:
        return tree, 6, -1
    return tree, contacts.link_size[link], contacts.link_start[link]


@compiled
def _places(contacts: Table, link: int) -> int:
    """Where the places end that `_part` is to be asked for, each third one."""
    return contacts.link_size[link] if contacts.link_soft[link] == 1 else 1


@compiled
def _subtract_cross(
    graph: Table, hessian: Table, scratch: Table, contacts: Table, a: int, b: int, patch: np.ndarray
) -> None:
    """Subtract J_aᵀ S J_b, and its transpose, for a 6 × 6 matrix S."""
    product = scratch.path_force
    column = contacts.chain_column
    for place_b in range(0, _places(contacts, b), 3):
        s, size_b, start_b = _part(graph, contacts, b, place_b)
        for place_a in range(0, _places(contacts, a), 3):
            t, size_a, start_a = _part(graph, contacts, a, place_a)
            block = _block(graph, t, s)
            for f in range(size_b):
                for i in range(6):
                    product[i] = patch[6 * i + f] if start_b < 0 else 0.0
                    if start_b >= 0:
                        for k in range(6):
                            product[i] += patch[6 * i + k] * column[start_b + f, k]
                q = f
                if start_b >= 0:
                    q = contacts.chain_dof[start_b + f] - graph.tree_start[s]
                for e in range(size_a):
                    p = e
                    value = product[e] if start_a < 0 else 0.0
                    if start_a >= 0:
                        p = contacts.chain_dof[start_a + e] - graph.tree_start[t]
                        for k in range(6):
                            value += column[start_a + e, k] * product[k]
                    _add_at(hessian, block, t == s, p, q, -value)


@compiled
def _add_soft_pair(
    problem: Table,
    contacts: Table,
    a: int,
    b: int,
    d: tuple[float, float, float],
    p: Symmetric,
    q: Full,
    g: Symmetric,
) -> None:
    """`add_pair` where one side at least is a point of an element."""
    graph, hessian = problem.graph, problem.hessian
    if a < 0 or b < 0:
        _add_soft_own(graph, hessian, contacts, max(a, b), g)
        return
    q_b, between, p_b = other_side(d, g, q, p)
    if _is_soft(contacts, a):
        _add_soft_own(graph, hessian, contacts, a, g)
    else:
        add_own(graph, hessian, contacts, a, p, q, g)
    if _is_soft(contacts, b):
        _add_soft_own(graph, hessian, contacts, b, g)
    else:
        add_own(graph, hessian, contacts, b, p_b, q_b, g)
    patch = problem.scratch.patch[0]
    write_patch(patch, between, q, q_b, g)
    _subtract_cross(graph, hessian, problem.scratch, contacts, a, b, patch)


@compiled
def _add_contacts(problem: Table, contacts: Table) -> None:
    """`asperity.convex.hessian_assembly.add_contacts` of the island at hand."""
    at_hand, graph = problem.at_hand, problem.graph
    link = contacts.link
    begin = at_hand.first_contact
    while begin < at_hand.last_contact:
        c = graph.contact[begin]
        a = link[c, 0]
        b = link[c, 1]
        end = end_of_pair(graph, link, begin, at_hand.last_contact)
        active, p, q, g = sum_of_contacts(
            graph, problem.law, problem.iterate, contacts, begin, end, a >= 0
        )
        if active:
            d = between_arms(contacts, c)
            if _is_soft(contacts, a) or _is_soft(contacts, b):
                _add_soft_pair(problem, contacts, a, b, d, p, q, g)
            else:
                add_pair(problem, contacts, a, b, d, p, q, g)
        begin = end


@compiled
def _add_row(graph: Table, iterate: Table, hessian: Table, rows: Table, i: int) -> None:
    """Add the Hessian of a row of which a tree at least has bonds."""
    r = graph.row[i]
    g = iterate.row_curvature[i]
    begin = rows.start[r, 0]
    for e in range(begin, rows.start[r, 2]):
        t = graph.dof_tree[rows.dof[e]]
        p = rows.dof[e] - graph.tree_start[t]
        for f in range(begin, e + 1):
            s = graph.dof_tree[rows.dof[f]]
            q = rows.dof[f] - graph.tree_start[s]
            value = g * rows.jacobian[e] * rows.jacobian[f]
            if graph.bonds.rank[t] >= 0 or graph.bonds.rank[s] >= 0:
                factor = 0.5 if e == f else 1.0
                _add_at(hessian, _block(graph, t, s), t == s, p, q, factor * value)
            elif t == s:
                n = graph.tree_size[t]
                hessian.factor[graph.block_start[t] + max(p, q) * n + min(p, q)] += value
            elif graph.position[t] < graph.position[s]:
                hessian.coupling[block_of(graph, t, s) + p * graph.tree_size[s] + q] += value
            else:
                hessian.coupling[block_of(graph, t, s) + q * graph.tree_size[t] + p] += value


@compiled
def _has_bonds(graph: Table, rows: Table, i: int) -> bool:
    for part in range(2):
        tree = rows.tree[graph.row[i], part]
        if tree >= 0 and graph.bonds.rank[tree] >= 0:
            return True
    return False


@compiled
def _begin_tree(graph: Table, smooth: Table, hessian: Table, tree: int) -> None:
    """Fill the part of a tree's panel, or the blocks of a tree without bonds, with A."""
    panels = graph.panels
    n = graph.tree_size[tree]
    block = graph.block_start[tree]
    if graph.bonds.rank[tree] < 0:
        for k in range(block, block + n * n):
            hessian.factor[k] = smooth.matrix[k]
        begin = graph.column_start[tree]
        for entry in range(begin, begin + graph.column_size[tree]):
            at = graph.entry_block[entry]
            for k in range(at, at + n * graph.tree_size[graph.entry_tree[entry]]):
                hessian.coupling[k] = 0.0
        return
    panel = panels.of_tree[tree]
    stride = panels.stride[panel]
    at = panels.at[panel] + panels.tree_row[tree] * (stride + 1)
    for i in range(n):
        for j in range(i, n):
            hessian.coupling[at + i * stride + j] = smooth.matrix[block + i * n + j]
    add_bonds(graph, smooth, hessian, tree)


@entry_point(types.int64(PROBLEM.type, CONTACT_SET.type, CONSTRAINT_SET.type))
def assemble_panels(problem: Table, contacts: Table, rows: Table) -> int:
    """`asperity.convex.hessian_assembly.assemble` where there are bonds.

    Panels that are as they were in the last iteration stay factorized.
    """
    iterate, hessian = problem.iterate, problem.hessian
    at_hand, graph = problem.at_hand, problem.graph
    panels = graph.panels
    panel = first_panel(graph, at_hand)
    if panel < 0:
        return call_ppp_status(problem.entries.assemble_trees, problem, contacts, rows)
    while panel < panels.count and panels.first[panel] < at_hand.last_tree:
        if hessian.panel_kept[panel] == 0:
            at = panels.at[panel]
            for k in range(at, at + panels.width[panel] * panels.stride[panel]):
                hessian.coupling[k] = 0.0
            for index in range(panels.first[panel], panels.last[panel]):
                _begin_tree(graph, problem.smooth, hessian, graph.order[index])
        panel += 1
    _add_contacts(problem, contacts)
    end_paths(problem, contacts)
    for i in range(at_hand.first_row, at_hand.last_row):
        if iterate.row_curvature[i] == 0.0:
            continue
        if _has_bonds(graph, rows, i):
            _add_row(graph, iterate, hessian, rows, i)
        else:
            add_rows(graph, iterate, hessian, rows, i, i + 1)
    return ASSEMBLED
