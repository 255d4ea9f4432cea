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
from asperity.compiled.vector_rows import subtract_four
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


@compiled
def _update(
    graph: Table, values: np.ndarray, scratch: Table, panel: int, source: int, entry: int
) -> None:
    """Subtract what the elimination of one panel leaves in another."""
    panels = graph.panels
    run = scratch.run
    count = _find_runs(graph, scratch.tree_column, source, entry, run)
    last = last_tree_of(graph, source)
    begin = panels.stride[source]
    end = graph.column_start[last] + graph.column_size[last]
    for e in range(entry, end):
        begin -= graph.tree_size[graph.entry_tree[e]]
    n = panels.width[source]
    width = panels.width[panel]
    stride = 8 * panels.stride[panel]
    step = 8 * panels.stride[source]
    base = values.ctypes.data + 8 * panels.at[panel]
    rows = values.ctypes.data + 8 * (panels.at[source] + begin)
    for r in range(count):
        if run[r, 1] >= width:
            break
        rows_of_run = min(run[r, 2], width - run[r, 1])
        k = 0
        # Below the diagonal numbers are void.
        while k + 4 <= rows_of_run:
            left = rows + 8 * (run[r, 0] + k)
            row = run[r, 1] + k
            target = base + row * stride
            _subtract_four(target + 8 * row, stride, left, step, left, n, run[r, 2] - k)
            for s in range(r + 1, count):
                right = rows + 8 * run[s, 0]
                _subtract_four(target + 8 * run[s, 1], stride, left, step, right, n, run[s, 2])
            k += 4
        while k < rows_of_run:
            left = rows + 8 * (run[r, 0] + k)
            row = run[r, 1] + k
            target = base + row * stride
            subtract_rows(target + 8 * row, left, step, left, step, n, run[r, 2] - k)
            for s in range(r + 1, count):
                right = rows + 8 * run[s, 0]
                subtract_rows(target + 8 * run[s, 1], left, step, right, step, n, run[s, 2])
            k += 1


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
    stride = 8 * length
    base = values.ctypes.data + 8 * panels.at[panel]
    width = panels.width[panel]
    done = 0
    for i in range(width):
        left = base + 8 * i
        row = left + i * stride
        if i % 4 == 0:
            # What rows before four of them leave is subtracted from all at once.
            done = 0
            if i + 4 <= width:
                _subtract_four(row, stride, left, stride, left, i, length - i)
                done = i
        rest = left + done * stride
        subtract_rows(row, rest, stride, rest, stride, i - done, length - i)
        pivot = load_double(row)
        if not pivot > 0.0:
            return False
        inverse = 1.0 / np.sqrt(pivot)
        scale_row(row + 8, inverse, length - i - 1)
        store_double(row, inverse)
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
