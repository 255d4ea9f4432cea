"""Bonds: what A couples of trees of three degrees of freedom, the particles of deformable bodies.

A is block diagonal over kinematic trees but for these blocks, which are the same ones in every
step. Trees that hang together by bonds are one island whatever touches them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from asperity.compiled import Table, compiled
from asperity.convex.couplings import block_of

__all__ = ["add_bonds", "bond_fields", "multiply_bonds", "place_bonds"]


def bond_fields(
    ntree: int, bond_tree: np.ndarray | None, bond_rank: np.ndarray | None
) -> dict[str, Any]:
    """Fields of the graph for pairs of trees, shape (bonds, 2), and their ranks, shape (ntree,)."""
    pairs = np.zeros((0, 2), np.int64) if bond_tree is None else bond_tree.astype(np.int64)
    ends = pairs.ravel()
    root = np.arange(ntree, dtype=np.int64)
    if len(pairs):
        # Loading it takes as long as all else that a problem needs.
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        ones = np.ones(len(pairs))
        graph = coo_array((ones, (pairs[:, 0], pairs[:, 1])), shape=(ntree, ntree))
        _, label = connected_components(graph, directed=False)
        _, first, inverse = np.unique(label, return_index=True, return_inverse=True)
        root = first[inverse].astype(np.int64)
    rank = np.full(ntree, -1, np.int64)
    if bond_rank is not None and len(pairs):
        rank = bond_rank.astype(np.int64)
    return {
        "bond_rank": rank,
        "bond_tree": pairs,
        "bond_first": np.searchsorted(np.sort(ends), np.arange(ntree + 1)).astype(np.int64),
        "bond_end": np.argsort(ends, kind="stable").astype(np.int64),
        "bond_root": root,
        "bond_groups": len(np.unique(root)),
    }


@compiled
def place_bonds(graph: Table) -> None:
    """Find the blocks of all bonds after a symbolic factorization."""
    for bond in range(graph.bonds):
        a = graph.bond_tree[bond, 0]
        b = graph.bond_tree[bond, 1]
        graph.bond_at[bond] = block_of(graph, a, b)
        graph.bond_turned[bond] = 0 if graph.position[a] < graph.position[b] else 1


@compiled
def multiply_bonds(problem: Table, tree: int, x: np.ndarray, out: np.ndarray) -> None:
    """Add to a tree's part of A x what its bonds contribute."""
    graph = problem.graph
    value = problem.bond
    start = graph.tree_start[tree]
    u = 0.0
    v = 0.0
    w = 0.0
    for place in range(graph.bond_first[tree], graph.bond_first[tree + 1]):
        bond = graph.bond_end[place] >> 1
        if graph.bond_end[place] & 1 == 0:
            other = graph.tree_start[graph.bond_tree[bond, 1]]
            a = x[other]
            b = x[other + 1]
            c = x[other + 2]
            u += value[bond, 0] * a + value[bond, 1] * b + value[bond, 2] * c
            v += value[bond, 3] * a + value[bond, 4] * b + value[bond, 5] * c
            w += value[bond, 6] * a + value[bond, 7] * b + value[bond, 8] * c
        else:
            other = graph.tree_start[graph.bond_tree[bond, 0]]
            a = x[other]
            b = x[other + 1]
            c = x[other + 2]
            u += value[bond, 0] * a + value[bond, 3] * b + value[bond, 6] * c
            v += value[bond, 1] * a + value[bond, 4] * b + value[bond, 7] * c
            w += value[bond, 2] * a + value[bond, 5] * b + value[bond, 8] * c
    out[start] += u
    out[start + 1] += v
    out[start + 2] += w


@compiled
def add_bonds(problem: Table, tree: int) -> None:
    """Add a tree's bonds with later ones in the list to the blocks of the Hessian."""
    graph = problem.graph
    coupling = problem.coupling
    for place in range(graph.bond_first[tree], graph.bond_first[tree + 1]):
        if graph.bond_end[place] & 1 == 1:
            continue
        bond = graph.bond_end[place] >> 1
        at = graph.bond_at[bond]
        if graph.bond_turned[bond] == 0:
            for k in range(9):
                coupling[at + k] += problem.bond[bond, k]
        else:
            for i in range(3):
                for j in range(3):
                    coupling[at + 3 * j + i] += problem.bond[bond, 3 * i + j]
