"""Fields of the table of bonds, which couple trees (`asperity.convex.particles`)."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["bond_fields"]


def bond_fields(
    tree_start: np.ndarray,
    tree_size: np.ndarray,
    bond_tree: np.ndarray | None,
    bond_rank: np.ndarray | None,
) -> dict[str, Any]:
    """Fields for pairs of trees, shape (bonds, 2), and their ranks, shape (ntree,)."""
    ntree = len(tree_size)
    pairs = np.zeros((0, 2), np.int64) if bond_tree is None else bond_tree.astype(np.int64)
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
    second = (rank[pairs[:, 0]] > rank[pairs[:, 1]]).astype(np.int64)
    owner = pairs[np.arange(len(pairs)), second]
    order = np.lexsort((second, owner))
    own = np.argsort(pairs[:, 0], kind="stable").astype(np.int64)
    three = np.ones(ntree, np.int64)
    three[pairs[(tree_size[pairs] != 3).any(axis=1), 0]] = 0
    return {
        "count": len(pairs),
        "rank": rank,
        "tree": pairs,
        "first": np.searchsorted(owner[order], np.arange(ntree + 1)).astype(np.int64),
        "own_first": np.searchsorted(np.sort(pairs[:, 0]), np.arange(ntree + 1)).astype(np.int64),
        "own": own,
        "own_column": tree_start[pairs[own, 1]].astype(np.int64),
        "own_three": three,
        "end": 2 * order + second[order],
        "root": root,
        "groups": len(np.unique(root)),
    }
