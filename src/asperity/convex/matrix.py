"""Products with A, the smooth part's matrix: block diagonal over kinematic trees."""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, inlined
from asperity.convex.chain_cholesky import multiply_chains

__all__ = ["multiply"]


@inlined
def multiply(
    graph: Table, smooth: Table, first: int, last: int, x: np.ndarray, out: np.ndarray
) -> None:
    """``out = A x`` for the trees listed at ``first .. last``."""
    matrix = smooth.matrix
    plain = smooth.plain_mass == 1
    for index in range(first, last):
        tree = graph.island_tree[index]
        start = graph.tree_start[tree]
        block = graph.block_start[tree]
        if graph.tree_spatial[tree]:
            a = x[start]
            b = x[start + 1]
            c = x[start + 2]
            d = x[start + 3]
            e = x[start + 4]
            f = x[start + 5]
            if plain:
                mass = matrix[block + 21]
                for i in range(3):
                    k = block + 6 * i
                    out[start + i] = matrix[k] * a + matrix[k + 1] * b + matrix[k + 2] * c
                out[start + 3] = mass * d
                out[start + 4] = mass * e
                out[start + 5] = mass * f
                continue
            for i in range(6):
                k = block + 6 * i
                out[start + i] = (
                    (matrix[k] * a + matrix[k + 1] * b)
                    + (matrix[k + 2] * c + matrix[k + 3] * d)
                    + (matrix[k + 4] * e + matrix[k + 5] * f)
                )
            continue
        multiply_chains(graph, matrix, tree, x, out)
