"""Cholesky factorization H = Uᵀ U of an island with bonds, panel by panel, and solves with it.

A panel subtracts from its rows the terms Σ_K U_Kᵀ U_K of earlier panels, and is then factorized as
a dense matrix (left-looking, supernodal; E. G. Ng, B. W. Peyton, Block sparse Cholesky algorithms,
SIAM J. Sci. Comput. 14, 1993). On the diagonal is 1/U_ii. Panels that no contact changes are
factorized once in a solve. Rows are found three at a time, in eights of columns: what the eight of
the diagonal holds before it is void, but finite.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, entry_point, inlined
from asperity.compiled.calls import call_pp_status, load_double, store_double
from asperity.compiled.row_kernels import add_row, dot_rows, scale_row, subtract_rows
from asperity.compiled.vector_rows import (
    dot_three,
    eliminate_three,
    negated_three,
    subtract_three,
)
from asperity.convex.particles.panels import find_columns, first_panel, in_eights, last_tree_of
from asperity.convex.problem import PROBLEM

__all__ = [
    "factorize_panel",
    "factorize_panels",
    "solve_backward",
    "solve_forward",
    "solve_panels",
]


# Rows whose product with what follows is found while they are in the cache.
_BLOCK = 30
# Rows that are found together: vertices have as many dofs.
_ROWS = 3

# Names that compiled code can look up.
_subtract_16 = subtract_three[16]
_subtract_8 = subtract_three[8]
_negated_16 = negated_three[16]
_negated_8 = negated_three[8]


@compiled
def _find_runs(graph: Table, column: np.ndarray, source: int, entry: int, run: np.ndarray) -> int:
    """List the runs of a panel's columns that are side by side in another panel, too.

    Of the trees from an entry on: where they are, from the first of them, where they are in the
    other panel, and how long. Returns how many there are.
    """
    last = last_tree_of(graph, source)
    end = graph.column_start[last] + graph.column_size[last]
    count = 0
    place = 0
    for e in range(entry, end):
        tree = graph.entry_tree[e]
        size = graph.tree_size[tree]
        if count > 0 and run[count - 1, 1] + run[count - 1, 2] == column[tree]:
            run[count - 1, 2] += size
        else:
            run[count, 0] = place
            run[count, 1] = column[tree]
            run[count, 2] = size
            count += 1
        place += size
    return count


@inlined
def _eight_of(column: int) -> int:
    """Where the eight begins that a column is in."""
    return column // 8 * 8


@inlined
def _multiply_three(product: int, pitch: int, left: int, step: int, n: int) -> None:
    """Fill three rows, ``product[r][:pitch] = −Σ_k left[k][r] · left[k][:pitch]``, in eights."""
    end = 8 * pitch
    at = 0
    while at + 64 < end:
        _negated_16(product + at, end, left, step, left + at, step, n)
        at += 128
    if at < end:
        _negated_8(product + at, end, left, step, left + at, step, n)


@compiled
def _update(
    graph: Table, values: np.ndarray, scratch: Table, panel: int, source: int, entry: int
) -> None:
    """Subtract what the elimination of one panel leaves in another.

    Products of three columns with all that follow are found as a whole, and a little more of them
    than is wanted, so that their loops need no remainders. Their pieces then go to where runs are.
    """
    panels = graph.panels
    run = scratch.run
    count = _find_runs(graph, scratch.tree_column, source, entry, run)
    columns = run[count - 1, 0] + run[count - 1, 2]
    width = panels.width[panel]
    stride = 8 * panels.stride[panel]
    step = 8 * panels.stride[source]
    base = values.ctypes.data + 8 * panels.at[panel]
    left = values.ctypes.data + 8 * (panels.at[source] + panels.length[source] - columns)
    product = scratch.panel_part.ctypes.data
    first = 0
    for r in range(count):
        if run[r, 1] >= width:
            break
        first = r
    own = run[first, 0] + min(run[first, 2], width - run[first, 1])
    first = 0
    for k in range(0, own, _ROWS):
        pitch = in_eights(columns - k)
        _multiply_three(product, pitch, left + 8 * k, step, panels.width[source])
        for row in range(k, min(k + _ROWS, own)):
            while run[first, 0] + run[first, 2] <= row:
                first += 1
            target = base + (run[first, 1] + row - run[first, 0]) * stride
            piece = product + 8 * ((row - k) * pitch + row - k)
            begin = row
            for r in range(first, count):
                length = run[r, 0] + run[r, 2] - begin
                add_row(target + 8 * (run[r, 1] + begin - run[r, 0]), piece, 1.0, length)
                piece += 8 * length
                begin += length


@compiled
def _copy_trees(graph: Table, hessian: Table, scratch: Table, panel: int) -> None:
    """Copy the Hessian of trees without bonds into their panel."""
    panels = graph.panels
    coupling = hessian.coupling
    found = False
    for index in range(panels.first[panel], panels.last[panel]):
        tree = graph.order[index]
        if graph.bonds.rank[tree] >= 0:
            continue
        if not found:
            found = True
            find_columns(graph, panel, scratch.tree_column)
        n = graph.tree_size[tree]
        block = graph.block_start[tree]
        stride = panels.stride[panel]
        at = panels.at[panel] + panels.tree_row[tree] * (stride + 1)
        for i in range(n):
            for j in range(i, n):
                coupling[at + i * stride + j] = hessian.factor[block + j * n + i]
        at -= panels.tree_row[tree]
        begin = graph.column_start[tree]
        for entry in range(begin, begin + graph.column_size[tree]):
            other = graph.entry_tree[entry]
            m = graph.tree_size[other]
            target = at + scratch.tree_column[other]
            source = graph.entry_block[entry]
            for i in range(n):
                for j in range(m):
                    coupling[target + i * stride + j] = coupling[source + i * m + j]


@inlined
def _subtract_rows(base: int, length: int, row: int, end: int, first: int, last: int) -> None:
    """Subtract from three rows of a panel, or fewer, what rows ``first .. last`` of U leave.

    From the eight on that the diagonal is in: numbers before that are void.
    """
    stride = 8 * length
    left = base + first * stride + 8 * row
    n = last - first
    at = 8 * _eight_of(row)
    right = base + first * stride
    target = base + row * stride
    if row + _ROWS == end:
        while at + 64 < stride:
            _subtract_16(target + at, stride, left, stride, right + at, stride, n)
            at += 128
        if at < stride:
            _subtract_8(target + at, stride, left, stride, right + at, stride, n)
        return
    for i in range(end - row):
        begin = target + i * stride + at
        subtract_rows(begin, left + 8 * i, stride, right + at, stride, n, length - at // 8)


@inlined
def _factorize_three(base: int, length: int, row: int) -> bool:
    """Replace three rows of H, of which all before have been subtracted, by those of U."""
    stride = 8 * length
    at = base + row * (stride + 8)
    last = at + 2 * stride
    pivot = load_double(at)
    if not pivot > 0.0:
        return False
    p = 1.0 / np.sqrt(pivot)
    u = load_double(at + 8) * p
    v = load_double(at + 16) * p
    pivot = load_double(at + stride + 8) - u * u
    if not pivot > 0.0:
        return False
    q = 1.0 / np.sqrt(pivot)
    w = (load_double(at + stride + 16) - u * v) * q
    pivot = load_double(last + 16) - v * v - w * w
    if not pivot > 0.0:
        return False
    r = 1.0 / np.sqrt(pivot)
    begin = _eight_of(row)
    start = base + row * stride + 8 * begin
    eliminate_three(start, stride, (length - begin) // 8, p, q, r, u, v, w)
    store_double(at, p)
    store_double(at + stride + 8, q)
    store_double(last + 16, r)
    return True


@inlined
def _factorize_row(base: int, length: int, first: int, row: int) -> bool:
    """Replace a row of H by that of U, with rows ``first .. row`` still to be subtracted."""
    stride = 8 * length
    _subtract_rows(base, length, row, row + 1, first, row)
    at = base + row * (stride + 8)
    pivot = load_double(at)
    if not pivot > 0.0:
        return False
    inverse = 1.0 / np.sqrt(pivot)
    scale_row(at + 8, inverse, length - row - 1)
    store_double(at, inverse)
    return True


@inlined
def _factorize_rows(base: int, length: int, first: int, last: int) -> bool:
    """Replace rows ``first .. last`` of H by those of U; False without these."""
    for row in range(first, last, _ROWS):
        if row + _ROWS <= last:
            _subtract_rows(base, length, row, row + _ROWS, first, row)
            if not _factorize_three(base, length, row):
                return False
        else:
            for i in range(row, last):
                if not _factorize_row(base, length, first, i):
                    return False
    return True


@compiled
def factorize_panel(graph: Table, values: np.ndarray, scratch: Table, panel: int) -> bool:
    """Replace a panel of H, in its place in ``values``, by that of U; False without one.

    Those before it must have been. ``scratch`` has ``tree_column``, ``run`` and ``panel_part``, to
    work in, of which each thread needs its own.
    """
    panels = graph.panels
    begin = panels.update_start[panel]
    end = panels.update_start[panel + 1]
    if begin < end:
        find_columns(graph, panel, scratch.tree_column)
    for k in range(begin, end):
        source = panels.update_panel[k]
        _update(graph, values, scratch, panel, source, panels.update_entry[k])
    length = panels.stride[panel]
    base = values.ctypes.data + 8 * panels.at[panel]
    width = panels.width[panel]
    for first in range(0, width, _BLOCK):
        last = min(first + _BLOCK, width)
        if not _factorize_rows(base, length, first, last):
            return False
        # While these rows are in the cache, they are subtracted from all that follow.
        for row in range(last, width, _ROWS):
            _subtract_rows(base, length, row, min(row + _ROWS, width), first, last)
    return True


@entry_point(types.int64(PROBLEM.type, types.int64))
def factorize_panels(problem: Table, filled: int) -> int:
    """`asperity.convex.block_cholesky.factorize` where there are bonds."""
    hessian, scratch, graph = problem.hessian, problem.scratch, problem.graph
    panels = graph.panels
    panel = first_panel(graph, problem.at_hand)
    if panel < 0:
        return call_pp_status(problem.entries.factorize_trees, problem, filled)
    while panel < panels.count and panels.first[panel] < problem.at_hand.last_tree:
        if hessian.panel_kept[panel] == 0:
            _copy_trees(graph, hessian, scratch, panel)
            if not factorize_panel(graph, hessian.coupling, scratch, panel):
                return 0
            hessian.panel_kept[panel] = 1 - panels.touched[panel]
        panel += 1
    return 1


@entry_point(types.int64(PROBLEM.type, types.int64))
def solve_panels(problem: Table, unused: int) -> int:
    """`asperity.convex.block_cholesky.solve_factors` where there are bonds."""
    graph, scratch = problem.graph, problem.scratch
    values, x = problem.hessian.coupling, problem.iterate.direction
    first = first_panel(graph, problem.at_hand)
    if first < 0:
        return call_pp_status(problem.entries.solve_trees, problem, unused)
    panel = first
    while panel < graph.panels.count and graph.panels.first[panel] < problem.at_hand.last_tree:
        solve_forward(graph, values, scratch, panel, x)
        panel += 1
    while panel > first:
        panel -= 1
        solve_backward(graph, values, scratch, panel, x)
    return 0


@compiled
def _gather(graph: Table, part: np.ndarray, panel: int, x: np.ndarray, later: bool) -> None:
    """Copy the dofs of a panel's own trees, and of later ones or else zeros, and add zeros."""
    place = 0
    for index in range(graph.panels.first[panel], graph.panels.last[panel]):
        tree = graph.order[index]
        start = graph.tree_start[tree]
        for i in range(graph.tree_size[tree]):
            part[place] = x[start + i]
            place += 1
    if later:
        last = last_tree_of(graph, panel)
        begin = graph.column_start[last]
        for entry in range(begin, begin + graph.column_size[last]):
            tree = graph.entry_tree[entry]
            start = graph.tree_start[tree]
            for i in range(graph.tree_size[tree]):
                part[place] = x[start + i]
                place += 1
    for k in range(place, graph.panels.stride[panel]):
        part[k] = 0.0


@compiled
def _return_own(graph: Table, part: int, panel: int, x: np.ndarray) -> None:
    """Copy numbers at an address to the dofs of a panel's own trees."""
    for index in range(graph.panels.first[panel], graph.panels.last[panel]):
        tree = graph.order[index]
        start = graph.tree_start[tree]
        for i in range(graph.tree_size[tree]):
            x[start + i] = load_double(part)
            part += 8


@compiled
def solve_forward(
    graph: Table, values: np.ndarray, scratch: Table, panel: int, x: np.ndarray
) -> None:
    """x = U⁻ᵀ x for the rows of a panel."""
    panels = graph.panels
    part = scratch.panel_part
    _gather(graph, part, panel, x, False)
    length = panels.stride[panel]
    stride = 8 * length
    width = panels.width[panel]
    rest = part.ctypes.data
    # What is left of columns up to the diagonal does not matter.
    own = rest + stride
    row = values.ctypes.data + 8 * panels.at[panel]
    for at in range(0, width, _ROWS):
        rows = min(_ROWS, width - at)
        diagonal = row + 8 * at
        found = own + 8 * at
        for i in range(rows):
            value = load_double(rest + 8 * (at + i))
            for k in range(i):
                value -= load_double(found + 8 * k) * load_double(diagonal + k * stride + 8 * i)
            store_double(found + 8 * i, value * load_double(diagonal + i * (stride + 8)))
        first = 8 * _eight_of(at)
        subtract_rows(rest + first, found, 8, row + first, stride, rows, length - first // 8)
        row += rows * stride
    _return_own(graph, own, panel, x)
    last = last_tree_of(graph, panel)
    begin = graph.column_start[last]
    place = width
    for entry in range(begin, begin + graph.column_size[last]):
        tree = graph.entry_tree[entry]
        start = graph.tree_start[tree]
        for i in range(graph.tree_size[tree]):
            x[start + i] += part[place]
            place += 1


@compiled
def solve_backward(
    graph: Table, values: np.ndarray, scratch: Table, panel: int, x: np.ndarray
) -> None:
    """x = U⁻¹ x for the rows of a panel."""
    panels = graph.panels
    part = scratch.panel_part
    _gather(graph, part, panel, x, True)
    length = panels.stride[panel]
    stride = 8 * length
    width = panels.width[panel]
    # Zero up to the row at hand, as the eight of its diagonal is multiplied as a whole.
    known = part.ctypes.data + stride
    sums = known + stride
    for k in range(length):
        part[length + k] = part[k] if k >= width else 0.0
    row = values.ctypes.data + 8 * panels.at[panel] + width * stride
    at = width
    while at > 0:
        rows = _ROWS if at >= _ROWS else 1
        at -= rows
        row -= rows * stride
        first = 8 * _eight_of(at)
        if rows == _ROWS:
            dot_three(sums, row + first, stride, known + first, length // 8 - first // 64)
        else:
            store_double(sums, dot_rows(row + first, known + first, length - first // 8))
        diagonal = row + 8 * at
        found = known + 8 * at
        for i in range(rows - 1, -1, -1):
            value = part[at + i] - load_double(sums + 8 * i)
            for k in range(i + 1, rows):
                value -= load_double(found + 8 * k) * load_double(diagonal + i * stride + 8 * k)
            store_double(found + 8 * i, value * load_double(diagonal + i * (stride + 8)))
    _return_own(graph, known, panel, x)
