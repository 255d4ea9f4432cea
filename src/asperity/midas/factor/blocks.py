"""Where entries of the reduced Hessian are in the factor.

Panels of links that are eliminated together hold their rows from the diagonal on, without the
columns that are zero (`asperity.convex.particles.panels`). Numbers below the diagonal are void.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled, inlined
from asperity.compiled.bits import count_bits

__all__ = ["add_block", "add_entry", "find_block", "find_row", "find_shared", "place_within"]


@inlined
def find_block(factor: Table, one: int, other: int) -> int:
    """Where the block of two links begins; between its rows is the first one's ``row_step``.

    The first link must be eliminated no later than the other one, and have entries with it.
    """
    if one == other:
        return factor.diagonal_at[one]
    row = factor.adjacency[one]
    last = other >> 6
    entry = factor.column_start[one] + count_bits(row[last] & ((1 << (other & 63)) - 1))
    for word in range(last):
        entry += count_bits(row[word])
    return factor.block_at[entry]


@inlined
def find_row(factor: Table, variable: int, other: int) -> tuple[int, int]:
    """Where a variable's entries with a link begin, and how far they are apart.

    With its own link it has those of later variables.
    """
    one = factor.variable_link[variable]
    i = variable - factor.tree_start[one]
    if factor.position[one] <= factor.position[other]:
        return find_block(factor, one, other) + i * factor.row_step[one], 1
    return find_block(factor, other, one) + i, factor.row_step[other]


@inlined
def find_shared(factor: Table, variable: int, other: int) -> int:
    """Where the block of two variables' links begins."""
    one = factor.variable_link[variable]
    two = factor.variable_link[other]
    if factor.position[one] <= factor.position[two]:
        return find_block(factor, one, two)
    return find_block(factor, two, one)


@inlined
def place_within(factor: Table, variable: int, other: int) -> int:
    """The place of the entry of two variables within the block of their links."""
    one = factor.variable_link[variable]
    two = factor.variable_link[other]
    i = variable - factor.tree_start[one]
    j = other - factor.tree_start[two]
    if one == two:
        return min(i, j) * factor.row_step[one] + max(i, j)
    if factor.position[one] <= factor.position[two]:
        return i * factor.row_step[one] + j
    return j * factor.row_step[two] + i


@compiled
def add_entry(factor: Table, variable: int, other: int, value: float) -> None:
    """Add to the entry of two variables, which has one place in the factor."""
    place = find_shared(factor, variable, other) + place_within(factor, variable, other)
    factor.values[place] += value


@compiled
def add_block(factor: Table, one: int, other: int, scale: float, block: np.ndarray) -> None:
    """Add a multiple of a 3 × 3 block of two vertices, or the lower triangle of that of one."""
    values = factor.values
    if factor.position[one] < factor.position[other]:
        at = find_block(factor, one, other)
        step = factor.row_step[one]
        for i in range(3):
            for j in range(3):
                values[at + i * step + j] += scale * block[i, j]
    else:
        at = find_block(factor, other, one)
        step = factor.row_step[other]
        for j in range(3):
            for i in range(3):
                values[at + j * step + i] += scale * block[i, j]
