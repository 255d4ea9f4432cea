"""Where 3 × 3 parts of stiffnesses belong in the matrix of a step."""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled, inlined

__all__ = ["add_at", "add_inner_bonds", "own_block"]


@inlined
def add_at(bond: np.ndarray, mirrored: int, values: np.ndarray) -> None:
    """Add a 3 × 3 matrix, row by row, to a bond whose first tree is that of rows, or of columns."""
    for i in range(3):
        for j in range(3):
            bond[3 * i + j] += values[3 * j + i if mirrored else 3 * i + j]


@inlined
def own_block(elastic: Table, graph: Table, particle: int) -> tuple[int, int]:
    """Where a particle's own numbers begin in ``smooth.matrix``, and from a row to the next."""
    tree = elastic.particle_tree[particle]
    size = graph.tree_size[tree]
    dof = elastic.particle_dof[particle] - graph.tree_start[tree]
    return graph.block_start[tree] + dof * (size + 1), size


@compiled
def add_inner_bonds(elastic: Table, graph: Table, smooth: Table) -> None:
    """Add bonds of particles of one tree, which is that of the body they are in, to its block."""
    for bond in range(len(elastic.bond_tree), elastic.bonds):
        one = elastic.bond_dof[bond, 0]
        other = elastic.bond_dof[bond, 1]
        tree = graph.dof_tree[one]
        size = graph.tree_size[tree]
        start = graph.tree_start[tree]
        block = graph.block_start[tree]
        upper = block + (one - start) * size + other - start
        lower = block + (other - start) * size + one - start
        for i in range(3):
            for j in range(3):
                smooth.matrix[upper + i * size + j] += smooth.bond[bond, 3 * i + j]
                smooth.matrix[lower + j * size + i] += smooth.bond[bond, 3 * i + j]
