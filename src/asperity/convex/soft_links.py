"""Hessians of contacts with points of elements, whose links hang on the dofs of several trees.

Such a link does not turn. Its columns are those of the vertices' slides, with their weights:
v = Σ chain_column[i] · v[chain_dof[i]], the angular part being zero.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled, inlined
from asperity.convex.couplings import block_of

__all__ = ["add_soft_own", "is_soft", "subtract_soft_cross"]


@inlined
def is_soft(contacts: Table, link: int) -> bool:
    """Whether a link is a point of an element."""
    return link >= 0 and contacts.link_soft[link] == 1


@compiled
def _add_at(problem: Table, i: int, j: int, value: float) -> None:
    """Add to the Hessian at two dofs: both triangles, of which the factor has one."""
    graph = problem.graph
    t = graph.dof_tree[i]
    s = graph.dof_tree[j]
    p = i - graph.tree_start[t]
    q = j - graph.tree_start[s]
    if t == s:
        n = graph.tree_size[t]
        block = graph.block_start[t]
        if i > j:
            problem.factor[block + p * n + q] += value
        elif i < j:
            problem.factor[block + q * n + p] += value
        else:
            problem.factor[block + p * n + p] += 2.0 * value
        return
    at = block_of(graph, t, s)
    if graph.position[t] < graph.position[s]:
        problem.coupling[at + p * graph.tree_size[s] + q] += value
    else:
        problem.coupling[at + q * graph.tree_size[t] + p] += value


@compiled
def add_soft_own(
    problem: Table,
    contacts: Table,
    link: int,
    g: tuple[float, float, float, float, float, float],
) -> None:
    """Add Jᵀ G J of a link's own contacts, G being (xx, xy, xz, yy, yz, zz)."""
    column = contacts.chain_column
    begin = contacts.link_start[link]
    end = begin + contacts.link_size[link]
    for e in range(begin, end):
        x = column[e, 3]
        y = column[e, 4]
        z = column[e, 5]
        u = g[0] * x + g[1] * y + g[2] * z
        v = g[1] * x + g[3] * y + g[4] * z
        w = g[2] * x + g[4] * y + g[5] * z
        i = contacts.chain_dof[e]
        for f in range(begin, e):
            value = u * column[f, 3] + v * column[f, 4] + w * column[f, 5]
            _add_at(problem, i, contacts.chain_dof[f], value)
        _add_at(problem, i, i, 0.5 * (u * x + v * y + w * z))


@compiled
def subtract_soft_cross(problem: Table, contacts: Table, a: int, b: int, patch: np.ndarray) -> None:
    """Subtract J_aᵀ S J_b, and its transpose, for a 6 × 6 matrix S."""
    graph = problem.graph
    free_a = graph.tree_spatial[contacts.link_tree[a]] == 1
    free_b = graph.tree_spatial[contacts.link_tree[b]] == 1
    start_a = graph.tree_start[contacts.link_tree[a]] if free_a else contacts.link_start[a]
    start_b = graph.tree_start[contacts.link_tree[b]] if free_b else contacts.link_start[b]
    product = problem.scratch.path_force
    column = contacts.chain_column
    for f in range(6 if free_b else contacts.link_size[b]):
        for i in range(6):
            product[i] = patch[6 * i + f] if free_b else 0.0
            if not free_b:
                for k in range(6):
                    product[i] += patch[6 * i + k] * column[start_b + f, k]
        j = start_b + f if free_b else contacts.chain_dof[start_b + f]
        for e in range(6 if free_a else contacts.link_size[a]):
            value = product[e] if free_a else 0.0
            if not free_a:
                for k in range(6):
                    value += column[start_a + e, k] * product[k]
            i = start_a + e if free_a else contacts.chain_dof[start_a + e]
            _add_at(problem, i, j, -value)
