"""Cholesky factorization H = Uᵀ U of an island with bonds, panel by panel, and solves with it.

A panel subtracts from its rows the terms Σ_K U_Kᵀ U_K of earlier panels, and is then factorized as
a dense matrix (left-looking, supernodal; E. G. Ng, B. W. Peyton, Block sparse Cholesky algorithms,
SIAM J. Sci. Comput. 14, 1993). On the diagonal is 1/U_ii. Panels that no contact changes are
factorized once in a solve.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, entry_point, inlined
from asperity.compiled.calls import call_pp_status, load_double, store_double
from asperity.compiled.vector_rows import negated_four_8, subtract_four
from asperity.convex.particles.panels import find_columns, first_panel, last_tree_of
from asperity.convex.problem import PROBLEM
from asperity.convex.row_kernels import add_row, dot_rows, scale_row, subtract_rows

__all__ = [
    "factorize_panel",
    "factorize_panels",
    "solve_backward",
    "solve_forward",
    "solve_panels",
]


# Rows whose product with what follows is found while they are in the cache.
_BLOCK = 32

# Names that compiled code can look up.
_four_8 = subtract_four[8]
_four_4 = subtract_four[4]
_four_2 = subtract_four[2]
_four_1 = subtract_four[1]


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
def _subtract_four(
    target: int, length: int, left: int, step: int, right: int, n: int, width: int
) -> None:
    """Subtract from four rows, ``target[r][:width] −= Σ_k left[k][r] · right[k][:width]``.

    ``length`` is the step between these, and ``step`` that between the n rows of factors.
    """
    end = target + 8 * width
    while target + 64 <= end:
        _four_8(target, length, left, step, right, step, n)
        target += 64
        right += 64
    if target + 32 <= end:
        _four_4(target, length, left, step, right, step, n)
        target += 32
        right += 32
    if target + 16 <= end:
        _four_2(target, length, left, step, right, step, n)
        target += 16
        right += 16
    if target < end:
        _four_1(target, length, left, step, right, step, n)


@inlined
def _multiply_four(product: int, pitch: int, left: int, step: int, n: int) -> None:
    """Fill four rows, ``product[r][:pitch] = −Σ_k left[k][r] · left[k][:pitch]``, in eights."""
    for at in range(0, 8 * pitch, 64):
        negated_four_8(product + at, 8 * pitch, left, step, left + at, step, n)


@compiled
def _update(
    graph: Table, values: np.ndarray, scratch: Table, panel: int, source: int, entry: int
) -> None:
    """Subtract what the elimination of one panel leaves in another.

    Products of four columns with all that follow are found as a whole, and a little more of them
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
    left = values.ctypes.data + 8 * panels.at[source] + step - 8 * columns
    product = scratch.panel_part.ctypes.data
    first = 0
    for r in range(count):
        if run[r, 1] >= width:
            break
        first = r
    own = run[first, 0] + min(run[first, 2], width - run[first, 1])
    first = 0
    for k in range(0, own, 4):
        pitch = (columns - k + 7) // 8 * 8
        _multiply_four(product, pitch, left + 8 * k, step, panels.width[source])
        for row in range(k, min(k + 4, own)):
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
    """Subtract from four rows of a panel, or fewer, what rows ``first .. last`` of U leave."""
    stride = 8 * length
    if row + 4 == end:
        left = base + first * stride + 8 * row
        target = base + row * (stride + 8)
        _subtract_four(target, stride, left, stride, left, last - first, length - row)
        return
    for i in range(row, end):
        left = base + first * stride + 8 * i
        target = base + i * (stride + 8)
        subtract_rows(target, left, stride, left, stride, last - first, length - i)


@inlined
def _factorize_rows(base: int, length: int, first: int, last: int) -> bool:
    """Replace rows ``first .. last`` of H by those of U; False without these."""
    stride = 8 * length
    for begin in range(first, last, 4):
        end = min(begin + 4, last)
        _subtract_rows(base, length, begin, end, first, begin)
        for i in range(begin, end):
            row = base + i * (stride + 8)
            left = base + begin * stride + 8 * i
            subtract_rows(row, left, stride, left, stride, i - begin, length - i)
            pivot = load_double(row)
            if not pivot > 0.0:
                return False
            inverse = 1.0 / np.sqrt(pivot)
            scale_row(row + 8, inverse, length - i - 1)
            store_double(row, inverse)
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
        for row in range(last, width, 4):
            _subtract_rows(base, length, row, min(row + 4, width), first, last)
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
    """Copy the dofs of a panel's own trees, and of later ones or else zeros."""
    place = 0
    for index in range(graph.panels.first[panel], graph.panels.last[panel]):
        tree = graph.order[index]
        start = graph.tree_start[tree]
        for i in range(graph.tree_size[tree]):
            part[place] = x[start + i]
            place += 1
    last = last_tree_of(graph, panel)
    begin = graph.column_start[last]
    for entry in range(begin, begin + graph.column_size[last]):
        tree = graph.entry_tree[entry]
        start = graph.tree_start[tree]
        for i in range(graph.tree_size[tree]):
            part[place] = x[start + i] if later else 0.0
            place += 1


@compiled
def _return_own(graph: Table, part: np.ndarray, panel: int, x: np.ndarray) -> None:
    place = 0
    for index in range(graph.panels.first[panel], graph.panels.last[panel]):
        tree = graph.order[index]
        start = graph.tree_start[tree]
        for i in range(graph.tree_size[tree]):
            x[start + i] = part[place]
            place += 1


@compiled
def solve_forward(
    graph: Table, values: np.ndarray, scratch: Table, panel: int, x: np.ndarray
) -> None:
    """x = U⁻ᵀ x for the rows of a panel."""
    panels = graph.panels
    part = scratch.panel_part
    _gather(graph, part, panel, x, False)
    length = panels.stride[panel]
    width = panels.width[panel]
    row = values.ctypes.data + 8 * panels.at[panel]
    for i in range(width):
        part[i] *= load_double(row)
        add_row(part.ctypes.data + 8 * (i + 1), row + 8, -part[i], length - i - 1)
        row += 8 * (length + 1)
    _return_own(graph, part, panel, x)
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
    width = panels.width[panel]
    row = values.ctypes.data + 8 * (panels.at[panel] + width * (length + 1))
    for i in range(width - 1, -1, -1):
        row -= 8 * (length + 1)
        rest = dot_rows(row + 8, part.ctypes.data + 8 * (i + 1), length - i - 1)
        part[i] = (part[i] - rest) * load_double(row)
    _return_own(graph, part, panel, x)
