"""Pairs of vertices that elements couple, by which their blocks of the Hessian are summed.

An edge belongs to many elements. With their sums the place of a block in the factor is looked up
once, and what stays the same over a step is summed once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from asperity.compiled import Table, compiled, inlined
from asperity.midas.factor.blocks import find_block
from asperity.midas.soft.sites import add_vertex_block

__all__ = ["add_couple", "begin_couples", "couples_of", "enter_couples"]


def couples_of(*every_corner: np.ndarray) -> tuple[np.ndarray, Sequence[np.ndarray]]:
    """Number the pairs of vertices of elements.

    Parameters
    ----------
    *every_corner : array, shape (n, m)
        Vertices of elements, −1 for corners that are not there.

    Returns
    -------
    couples : array, shape (c, 2)
        The second vertex is not after the first one; every vertex is with itself, too.
    numbers : sequence of array, shape (n, m (m + 1)/2)
        Of the pairs of corners a and b ≤ a of elements, at a (a + 1)/2 + b.
    """
    sizes = []
    found = [np.zeros((0, 2), np.int64)]
    for corners in every_corner:
        a, b = np.tril_indices(corners.shape[1])
        found.append(np.stack([corners[:, a], corners[:, b]], axis=2).reshape(-1, 2))
        sizes.append((len(corners), len(a)))
    couples, label = np.unique(
        -np.sort(-np.concatenate(found), axis=1), axis=0, return_inverse=True
    )
    there = couples[:, 1] >= 0
    kept = np.cumsum(there) - 1
    ends = np.cumsum([0] + [n * m for n, m in sizes])
    numbers = [
        kept[label.reshape(-1)[ends[i] : ends[i + 1]]].reshape(size) for i, size in enumerate(sizes)
    ]
    return np.ascontiguousarray(couples[there]), numbers


@inlined
def add_couple(
    blocks: np.ndarray, couple: int, one: int, other: int, block: np.ndarray, a: int, b: int
) -> None:
    """Add to a couple's block that of two vertices, which begins at a row and a column."""
    for i in range(3):
        for j in range(3):
            if one >= other:
                blocks[couple, i, j] += block[a + i, b + j]
            else:
                blocks[couple, j, i] += block[a + i, b + j]


@compiled
def begin_couples(soft: Table) -> None:
    """Begin with what is the same over the step."""
    for couple in range(soft.couple.shape[0]):
        for i in range(3):
            for j in range(3):
                soft.couple_block[couple, i, j] = soft.couple_steady[couple, i, j]


@compiled
def _place_couples(factor: Table, soft: Table) -> None:
    """Look up where blocks begin in the factor, and how far rows and columns are apart."""
    for couple in range(soft.couple.shape[0]):
        one = soft.couple[couple, 0]
        other = soft.couple[couple, 1]
        place = soft.couple_place[couple]
        place[0] = -1
        if soft.vertex_variable[one] < 0 or soft.vertex_variable[other] < 0:
            continue
        a = soft.vertex_link[one]
        b = soft.vertex_link[other]
        if factor.position[a] < factor.position[b]:
            place[0] = find_block(factor, a, b)
            place[1] = factor.row_step[a]
            place[2] = 1
        else:
            place[0] = find_block(factor, b, a)
            place[1] = 1
            place[2] = factor.row_step[b]
    factor.knows_couples = 1


@compiled
def enter_couples(engine: Table, soft: Table) -> None:
    """Add the blocks to the Hessian, times h²."""
    square = engine.time.step * engine.time.step
    if engine.factor.knows_couples == 0:
        _place_couples(engine.factor, soft)
    values = engine.factor.values
    for couple in range(soft.couple.shape[0]):
        block = soft.couple_block[couple]
        for i in range(3):
            for j in range(3):
                block[i, j] *= square
        at = soft.couple_place[couple, 0]
        if at < 0:
            add_vertex_block(engine, soft, soft.couple[couple, 0], soft.couple[couple, 1], block)
            continue
        down = soft.couple_place[couple, 1]
        along = soft.couple_place[couple, 2]
        for i in range(3):
            for j in range(3):
                values[at + i * down + j * along] += block[i, j]
