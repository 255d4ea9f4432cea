"""The reduced Hessian in envelope form, and its Cholesky factorization.

Variables of a kinematic tree stay together; trees are ordered by reverse Cuthill and McKee (1969)
over the contacts between them, so that the rows of the factor are short: in a tower a tree reaches
to its neighbour only. Within a tree children come before their parents, so that the rows of a
finger know nothing of the other fingers (Featherstone 2005, branch-induced sparsity), unless they
touch. Rows are stored from their first non-zero to the diagonal, which is where the
factor of the matrix has its non-zeros too (George and Liu 1981, chapter 4), so that the innermost
loop is a product of two contiguous rows.

There is room for all pairs of links that are listed, most of which do not touch. What they leave
zero at the beginning of a row stays so, and is passed over.
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled, entry_point
from asperity.convex.row_kernels import add_row, dot_four_rows, dot_rows
from asperity.midas.engine_layout import FACTOR_FULL
from asperity.midas.model.islands import divide_into_islands
from asperity.midas.parts import PART, do_parts

__all__ = ["ENVELOPE_KERNELS", "arrange", "factorize", "solve"]

# Products of rows add up so many sums at once; leaving out whole rounds of zeros leaves their bits.
_LANES = 4


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
def _join_trees(tree: np.ndarray, pairs: np.ndarray, count: int, near: np.ndarray) -> None:
    """Mark the trees of pairs of links as neighbours."""
    for pair in range(count):
        a = tree[pairs[pair, 0]]
        b = tree[pairs[pair, 1]]
        if a != b:
            near[a, b] = 1
            near[b, a] = 1


@compiled
def arrange(engine: Table) -> int:
    """Lay out the factor for the pairs of links in use; returns 0 or `FACTOR_FULL`."""
    factor = engine.factor
    near = factor.tree_near
    order = factor.tree_order
    tree = engine.links.tree
    for i in range(order.size):
        for j in range(order.size):
            near[i, j] = 0
    pairs = engine.joints.crossing_link
    _join_trees(tree, engine.hessian.slot_link, engine.hessian.slots, near)
    _join_trees(tree, pairs, pairs.shape[0], near)
    _join_trees(tree, engine.soft.pair_link, engine.soft.pairs, near)
    _order_trees(near, order, factor.tree_place)
    row = 0
    for position in range(order.size):
        t = order[position]
        last = engine.links.tree_variable[t + 1] - 1
        for back in range(engine.links.tree_variable[t + 1] - engine.links.tree_variable[t]):
            factor.variable_row[last - back] = row
            row += 1
    _begin_rows(engine)
    size = 0
    for i in range(row):
        factor.row_start[i] = size
        # What is there is of another layout.
        factor.row_used[i] = factor.row_first[i]
        size += i - factor.row_first[i] + 1
    factor.row_start[row] = size
    divide_into_islands(engine)
    return FACTOR_FULL if size > factor.values.size else 0


@compiled
def _own_first(links: Table, factor: Table, link: int) -> int:
    """First row of a link's own variables, which comes before those of all its ancestors."""
    return factor.variable_row[links.variable[link + 1] - 1]


@compiled
def _reach(links: Table, factor: Table, link: int, row: int) -> None:
    """Let the rows of all variables that move a link begin at a row that comes before them."""
    for c in range(links.chain_start[link], links.chain_start[link + 1]):
        own = factor.variable_row[links.chain_variable[c]]
        factor.row_first[own] = min(factor.row_first[own], row)


@compiled
def _join_links(links: Table, factor: Table, pairs: np.ndarray, count: int) -> None:
    """Let the rows of pairs of links reach to each other's."""
    for pair in range(count):
        for side in range(2):
            other = _own_first(links, factor, pairs[pair, 1 - side])
            _reach(links, factor, pairs[pair, side], other)


@compiled
def _begin_rows(engine: Table) -> None:
    """Fill the first column of every row."""
    for i in range(engine.factor.row_first.size):
        engine.factor.row_first[i] = i
    for link in range(engine.links.kind.size):
        _reach(engine.links, engine.factor, link, _own_first(engine.links, engine.factor, link))
    pairs = engine.joints.crossing_link
    _join_links(engine.links, engine.factor, engine.hessian.slot_link, engine.hessian.slots)
    _join_links(engine.links, engine.factor, pairs, pairs.shape[0])
    _join_links(engine.links, engine.factor, engine.soft.pair_link, engine.soft.pairs)


@compiled
def _begin(used: int, first: int) -> int:
    """Where to begin with a product from ``first`` on that is zero up to ``used``."""
    return first + (used - first) // _LANES * _LANES


@compiled
def _divide_row(factor: Table, i: int, begin: int, end: int, used: int) -> None:
    """Fill the columns from ``begin`` up to ``end`` of a row of the factor, before its diagonal."""
    values = factor.values
    base = values.ctypes.data
    fi = factor.row_first[i]
    bi = factor.row_start[i] - fi
    row = base + 8 * bi
    for j in range(begin, end):
        fj = factor.row_first[j]
        bj = factor.row_start[j] - fj
        low = _begin(max(used, factor.row_used[j]), max(fi, fj))
        total = 0.0
        if low < j:
            total = dot_rows(row + 8 * low, base + 8 * (bj + low), j - low)
        values[bi + j] = (values[bi + j] - total) / values[bj + j]


@compiled
def _divide_rows(factor: Table, i: int, count: int, used: int, dots: np.ndarray) -> None:
    """Fill the columns before row ``i`` of that row and the next ones, which begin where it does.

    A row before them is read once for all. Of less than four rows the last one counts again.
    """
    values = factor.values
    start = factor.row_start
    base = values.ctypes.data
    fi = factor.row_first[i]
    last = i + count - 1
    b0 = start[i] - fi
    b1 = start[min(i + 1, last)] - fi
    b2 = start[min(i + 2, last)] - fi
    b3 = start[last] - fi
    for j in range(used, i):
        fj = factor.row_first[j]
        bj = start[j] - fj
        low = _begin(max(used, factor.row_used[j]), max(fi, fj))
        pivot = values[bj + j]
        dots[:] = 0.0
        if low < j:
            at = base + 8 * low
            dot_four_rows(
                dots, at + 8 * b0, at + 8 * b1, at + 8 * b2, at + 8 * b3, at + 8 * bj, j - low
            )
        values[b0 + j] = (values[b0 + j] - dots[0]) / pivot
        if count > 1:
            values[b1 + j] = (values[b1 + j] - dots[1]) / pivot
        if count > 2:
            values[b2 + j] = (values[b2 + j] - dots[2]) / pivot
        if count > 3:
            values[b3 + j] = (values[b3 + j] - dots[3]) / pivot


@compiled
def _first_used(factor: Table, i: int) -> int:
    """The first column of a row that is not zero, or its diagonal."""
    used = factor.row_first[i]
    at = factor.row_start[i] - used
    while used < i and factor.values[at + used] == 0.0:
        used += 1
    return used


@entry_point(PART)
def factorize_part(engine: Table, island: int, _member: int, _unused: int) -> int:
    """Replace an island's lower triangle by its Cholesky factor; 1 if a pivot is not positive."""
    factor = engine.factor
    values = factor.values
    base = values.ctypes.data
    end = factor.island_row[island + 1]
    i = factor.island_row[island]
    while i < end:
        fi = factor.row_first[i]
        count = 1
        while count < 4 and i + count < end and factor.row_first[i + count] == fi:
            count += 1
        used = i
        for r in range(count):
            factor.row_used[i + r] = _first_used(factor, i + r)
            used = min(used, factor.row_used[i + r])
        if count == 1:
            _divide_row(factor, i, used, i, used)
        else:
            _divide_rows(factor, i, count, used, engine.work.dots)
        for r in range(i, i + count):
            used = factor.row_used[r]
            _divide_row(factor, r, max(used, i), r, used)
            bi = factor.row_start[r] - fi
            low = _begin(used, fi)
            row = base + 8 * (bi + low)
            pivot = values[bi + r] - dot_rows(row, row, r - low)
            if not pivot > 0.0:
                return 1
            values[bi + r] = math.sqrt(pivot)
        i += count
    return 0


@entry_point(PART)
def solve_part(engine: Table, island: int, _member: int, _unused: int) -> int:
    """Replace an island's part of the right-hand side by the solution."""
    factor = engine.factor
    first = factor.row_first
    values = factor.values
    right = factor.right
    begin = factor.island_row[island]
    end = factor.island_row[island + 1]
    unknown = right.ctypes.data
    for i in range(begin, end):
        fi = first[i]
        row = values.ctypes.data + 8 * (factor.row_start[i] - fi)
        last = values[factor.row_start[i] + i - fi]
        low = _begin(factor.row_used[i], fi)
        right[i] = (right[i] - dot_rows(row + 8 * low, unknown + 8 * low, i - low)) / last
    for back in range(end - begin):
        i = end - 1 - back
        fi = first[i]
        row = values.ctypes.data + 8 * (factor.row_start[i] - fi)
        value = right[i] / values[factor.row_start[i] + i - fi]
        right[i] = value
        low = factor.row_used[i]
        add_row(unknown + 8 * low, row + 8 * low, -value, i - low)
    return 0


@compiled
def factorize(engine: Table) -> int:
    """Replace the lower triangle by its Cholesky factor; returns 1 if a pivot is not positive."""
    return do_parts(engine, engine.entries.factorize_part, engine.factor.islands)


@compiled
def solve(engine: Table) -> None:
    """Replace the right-hand side, in the factor's order, by the solution."""
    do_parts(engine, engine.entries.solve_part, engine.factor.islands)


ENVELOPE_KERNELS = (factorize_part, solve_part)
