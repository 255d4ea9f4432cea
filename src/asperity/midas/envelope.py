"""The reduced Hessian in envelope form, and its Cholesky factorization.

Variables of a kinematic tree stay together; trees are ordered by reverse Cuthill and McKee (1969)
over the contacts between them, so that the rows of the factor are short: in a tower a tree reaches
to its neighbour only. Rows are stored from their first non-zero to the diagonal, which is where the
factor of the matrix has its non-zeros too (George and Liu 1981, chapter 4), so that the innermost
loop is a product of two contiguous rows.
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled
from asperity.midas.engine_layout import FACTOR_FULL

__all__ = ["arrange", "factorize", "solve"]


@compiled
def _order_trees(near: np.ndarray, order: np.ndarray, place: np.ndarray) -> None:
    """Fill the elimination order of trees; ``near`` is a symmetric matrix of neighbours."""
    count = order.size
    degree = np.zeros(count, np.int64)
    for i in range(count):
        place[i] = -1
        for j in range(count):
            degree[i] += near[i, j]
    done = 0
    while done < count:
        root = -1
        for i in range(count):
            if place[i] < 0 and (root < 0 or degree[i] < degree[root]):
                root = i
        order[done] = root
        place[root] = done
        head = done
        done += 1
        while head < done:
            centre = order[head]
            head += 1
            begin = done
            for i in range(count):
                if near[centre, i] and place[i] < 0:
                    order[done] = i
                    place[i] = done
                    done += 1
            # Neighbours by increasing degree; there are few.
            for a in range(begin + 1, done):
                item = order[a]
                b = a
                while b > begin and degree[order[b - 1]] > degree[item]:
                    order[b] = order[b - 1]
                    b -= 1
                order[b] = item
    for i in range(count // 2):
        item = order[i]
        order[i] = order[count - 1 - i]
        order[count - 1 - i] = item
    for i in range(count):
        place[order[i]] = i


@compiled
def arrange(engine: Table) -> int:
    """Lay out the factor for the pairs of links in use; returns 0 or `FACTOR_FULL`."""
    near = engine.tree_near
    order = engine.tree_order
    tree = engine.link_tree
    for i in range(order.size):
        for j in range(order.size):
            near[i, j] = 0
    for slot in range(engine.slots):
        a = tree[engine.slot_link[slot, 0]]
        b = tree[engine.slot_link[slot, 1]]
        if a != b:
            near[a, b] = 1
            near[b, a] = 1
    coupled = engine.coupling_joint
    for coupling in range(coupled.shape[0]):
        if coupled[coupling, 1] >= 0:
            a = tree[engine.joint_link[coupled[coupling, 0]]]
            b = tree[engine.joint_link[coupled[coupling, 1]]]
            if a != b:
                near[a, b] = 1
                near[b, a] = 1
    _order_trees(near, order, engine.tree_place)
    row = 0
    size = 0
    for position in range(order.size):
        t = order[position]
        reach = position
        for i in range(order.size):
            if near[t, i]:
                reach = min(reach, engine.tree_place[i])
        # The first row of the farthest tree that comes before.
        column = (
            row if reach == position else engine.variable_row[engine.tree_variable[order[reach]]]
        )
        for variable in range(engine.tree_variable[t], engine.tree_variable[t + 1]):
            engine.variable_row[variable] = row
            engine.row_first[row] = column
            engine.row_start[row] = size
            size += row - column + 1
            row += 1
    engine.row_start[row] = size
    return FACTOR_FULL if size > engine.factor.size else 0


@compiled
def factorize(engine: Table) -> int:
    """Replace the lower triangle by its Cholesky factor; returns 1 if a pivot is not positive."""
    values = engine.factor
    for i in range(engine.row_first.size):
        fi = engine.row_first[i]
        bi = engine.row_start[i] - fi
        for j in range(fi, i):
            fj = engine.row_first[j]
            bj = engine.row_start[j] - fj
            low = max(fi, fj)
            total = 0.0
            for k in range(low, j):
                total += values[bi + k] * values[bj + k]
            values[bi + j] = (values[bi + j] - total) / values[bj + j]
        total = 0.0
        for k in range(fi, i):
            total += values[bi + k] * values[bi + k]
        pivot = values[bi + i] - total
        if not pivot > 0.0:
            return 1
        values[bi + i] = math.sqrt(pivot)
    return 0


@compiled
def solve(engine: Table, right: np.ndarray) -> None:
    """Replace a right-hand side in the factor's order by the solution."""
    first = engine.row_first
    values = engine.factor
    count = first.size
    for i in range(count):
        bi = engine.row_start[i] - first[i]
        total = right[i]
        for k in range(first[i], i):
            total -= values[bi + k] * right[k]
        right[i] = total / values[bi + i]
    for back in range(count):
        i = count - 1 - back
        bi = engine.row_start[i] - first[i]
        value = right[i] / values[bi + i]
        right[i] = value
        for k in range(first[i], i):
            right[k] -= values[bi + k] * value
