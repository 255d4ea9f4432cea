"""Panels: groups of trees that are eliminated together, in islands with bonds.

Trees that follow each other in the order of elimination and have the same later neighbours are a
supernode (J. W. H. Liu, E. G. Ng, B. W. Peyton, On finding supernodes for sparse matrix
computations, SIAM J. Matrix Anal. Appl. 14, 1993). Small supernodes are joined, though that stores
zeros. The rows of H of a panel's trees, from the diagonal on and without the columns that are zero,
are a dense matrix in ``coupling``: first the dofs of the panel's own trees, then those of later
ones, in the order of elimination. There are two sets of panels, for steps of two sizes. For trees
without bonds, such as robots, H is first gathered in the blocks that all other islands have, and
then copied into panels.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, entry_point, inlined
from asperity.contact.constraint_set import CONSTRAINT_SET
from asperity.contact.contact_set import CONTACT_SET
from asperity.convex.problem import PROBLEM

__all__ = [
    "SPARE",
    "find_columns",
    "first_panel",
    "in_eights",
    "last_tree_of",
    "list_island",
    "list_panels",
    "list_updates",
    "same_step",
    "switch_panels",
    "touch_panels",
]

SPARE = 8
"""Numbers after the last panel, which may be read beside its own."""

_PARTICLE = 3  # dofs
_SAME = 1e-9  # relative difference of steps that are of one size
# Columns of a panel whose zeros do not matter.
_NARROW = 12


@inlined
def in_eights(count: int) -> int:
    """The next multiple of eight, which is how many numbers are computed at once."""
    return (count + 7) // 8 * 8


@compiled
def last_tree_of(graph: Table, panel: int) -> int:
    """The tree of a panel that is eliminated last, whose later neighbours are the panel's."""
    return graph.order[graph.panels.last[panel] - 1]


@compiled
def first_panel(graph: Table, at_hand: Table) -> int:
    """The first panel of the island at hand, −1 if it has none."""
    return graph.panels.of_tree[graph.island_tree[at_hand.first_tree]]


@compiled
def find_columns(graph: Table, panel: int, column: np.ndarray) -> None:
    """Fill the column of every tree in the rows of a panel."""
    place = 0
    for index in range(graph.panels.first[panel], graph.panels.last[panel]):
        tree = graph.order[index]
        column[tree] = place
        place += graph.tree_size[tree]
    last = last_tree_of(graph, panel)
    begin = graph.column_start[last]
    for entry in range(begin, begin + graph.column_size[last]):
        tree = graph.entry_tree[entry]
        column[tree] = place
        place += graph.tree_size[tree]


@compiled
def _number_blocks(graph: Table, first: int, last: int, paneled: bool, size: int) -> int:
    """Give couplings blocks, but those of trees with bonds; size of all blocks then."""
    for index in range(first, last):
        tree = graph.order[index]
        bonded = paneled and graph.bonds.rank[tree] >= 0
        begin = graph.column_start[tree]
        for entry in range(begin, begin + graph.column_size[tree]):
            other = graph.entry_tree[entry]
            graph.entry_block[entry] = -1
            if not bonded and not (paneled and graph.bonds.rank[other] >= 0):
                graph.entry_block[entry] = size
                size += graph.tree_size[tree] * graph.tree_size[other]
    return size


@compiled
def _may_join(columns: int, zeros: int, numbers: int) -> bool:
    """Whether a panel of so many columns may hold so many zero blocks among all.

    Much as T. A. Davis does, Direct methods for sparse linear systems, 2006, but up to 12 columns
    (four vertices) with any zeros, and of 13 to 15 with fewer. To add what a narrow panel leaves in
    later ones takes longer than to find it.
    """
    if columns <= _NARROW or zeros == 0:
        return True
    return zeros < (0.1 if columns <= 48 else 0.05) * numbers


@compiled
def list_island(graph: Table, first: int, last: int, size: int, usual: int) -> int:
    """Make panels of the trees of an island; size of all numbers then.

    For joining panels trees count as of the usual size, or of their own if that is 0.
    """
    begin = first
    while begin < last:
        end = begin + 1
        columns = usual if usual > 0 else graph.tree_size[graph.order[begin]]
        filled = graph.column_size[graph.order[begin]]
        while end < last:
            tree = graph.order[end - 1]
            following = graph.order[end]
            if graph.column_size[tree] == 0:
                break
            if graph.entry_tree[graph.column_start[tree]] != following:
                break
            trees = end + 1 - begin
            later = graph.column_size[following]
            numbers = trees * later + trees * (trees - 1) // 2
            columns += usual if usual > 0 else graph.tree_size[following]
            if not _may_join(columns, numbers - filled - later, numbers):
                break
            filled += later
            end += 1
        size = _add_panel(graph, begin, end, size)
        begin = end
    return size


@compiled
def _add_panel(graph: Table, begin: int, end: int, size: int) -> int:
    panels = graph.panels
    panel = panels.count
    panels.count = panel + 1
    panels.first[panel] = begin
    panels.last[panel] = end
    width = 0
    for index in range(begin, end):
        tree = graph.order[index]
        panels.of_tree[tree] = panel
        panels.tree_row[tree] = width
        width += graph.tree_size[tree]
    length = width
    last = graph.order[end - 1]
    start = graph.column_start[last]
    for entry in range(start, start + graph.column_size[last]):
        length += graph.tree_size[graph.entry_tree[entry]]
    panels.width[panel] = width
    panels.length[panel] = length
    panels.stride[panel] = in_eights(length)
    panels.at[panel] = in_eights(size)
    return panels.at[panel] + width * panels.stride[panel]


@compiled
def _place_bonds(graph: Table, column: np.ndarray) -> None:
    """Find where the block of every bond begins."""
    bonds, panels = graph.bonds, graph.panels
    for panel in range(panels.count):
        find_columns(graph, panel, column)
        for index in range(panels.first[panel], panels.last[panel]):
            tree = graph.order[index]
            row = panels.at[panel] + panels.tree_row[tree] * panels.stride[panel]
            for place in range(bonds.first[tree], bonds.first[tree + 1]):
                bond = bonds.end[place] >> 1
                other = bonds.tree[bond, 1 - (bonds.end[place] & 1)]
                bonds.at[bond] = row + column[other]


@compiled
def list_updates(graph: Table) -> None:
    """List, for every panel, those before it whose elimination changes it.

    Of each the first of its later trees is noted that is the panel's own.
    """
    panels = graph.panels
    start = panels.update_start
    for panel in range(panels.count + 2):
        start[panel] = 0
    for filling in range(2):
        for panel in range(panels.count):
            last = last_tree_of(graph, panel)
            begin = graph.column_start[last]
            before = -1
            for entry in range(begin, begin + graph.column_size[last]):
                target = panels.of_tree[graph.entry_tree[entry]]
                if target == before:
                    continue
                before = target
                if filling == 0:
                    start[target + 2] += 1
                else:
                    at = start[target + 1]
                    panels.update_panel[at] = panel
                    panels.update_entry[at] = entry
                    start[target + 1] = at + 1
        if filling == 0:
            for panel in range(2, panels.count + 2):
                start[panel] += start[panel - 1]


@entry_point(types.int64(PROBLEM.type, types.int64))
def list_panels(problem: Table, islands: int) -> int:
    """Make panels after a symbolic factorization; returns the size that ``coupling`` must have."""
    graph = problem.graph
    panels = graph.panels
    panels.count = 0
    size = 0
    for k in range(islands):
        first = graph.island_start[k]
        last = graph.island_start[k + 1]
        # Trees with bonds are the first ones.
        paneled = graph.bonds.rank[graph.order[first]] >= 0
        size = _number_blocks(graph, first, last, paneled, size)
        for index in range(first, last):
            panels.of_tree[graph.order[index]] = -1
            panels.tree_island[graph.order[index]] = k
        if paneled:
            size = list_island(graph, first, last, size, _PARTICLE)
    _place_bonds(graph, problem.scratch.tree_column)
    list_updates(graph)
    panels.to_other = in_eights(size)
    return panels.to_other + size + SPARE


@inlined
def same_step(a: float, b: float) -> bool:
    """Whether steps are of one size: their ends are times, which are rounded."""
    return abs(a - b) <= _SAME * b


@compiled
def switch_panels(problem: Table) -> None:
    """Switch to the other set of panels, unless the last solve was of a step of the same size.

    Error control takes steps in turn with their halves. Each set keeps the factors of one size, and
    they serve the next step of that size.
    """
    graph, hessian = problem.graph, problem.hessian
    panels, bonds = graph.panels, graph.bonds
    step = problem.smooth.bond_step
    if step == 0.0 or same_step(hessian.panels_step, step):
        return
    hessian.panels_step = step
    for panel in range(panels.count):
        panels.at[panel] += panels.to_other
        hessian.panel_kept[panel] = 0
    for bond in range(bonds.count):
        bonds.at[bond] += panels.to_other
    panels.to_other = -panels.to_other
    for tree in range(graph.ntree):
        if panels.of_tree[tree] >= 0:
            island, of_step = hessian.factor_island[tree], hessian.factor_step[tree]
            hessian.factor_island[tree] = hessian.other_island[tree]
            hessian.factor_step[tree] = hessian.other_step[tree]
            hessian.other_island[tree] = island
            hessian.other_step[tree] = of_step


@entry_point(types.int64(PROBLEM.type, CONTACT_SET.type, CONSTRAINT_SET.type))
def touch_panels(problem: Table, contacts: Table, rows: Table) -> int:
    """Mark panels that contacts and rows touch, and those that these change.

    All others are the same in every iteration of a solve.
    """
    graph = problem.graph
    panels = graph.panels
    touched = panels.touched
    for panel in range(panels.count):
        touched[panel] = 0
    for link in range(contacts.link_count):
        if contacts.link_soft[link] == 0:
            panel = panels.of_tree[contacts.link_tree[link]]
            if panel >= 0:
                touched[panel] = 1
            continue
        start = contacts.link_start[link]
        for e in range(start, start + contacts.link_size[link], 3):
            touched[panels.of_tree[graph.dof_tree[contacts.chain_dof[e]]]] = 1
    for row in range(rows.count):
        for part in range(2):
            tree = rows.tree[row, part]
            if tree >= 0 and panels.of_tree[tree] >= 0:
                touched[panels.of_tree[tree]] = 1
    for panel in range(panels.count):
        if touched[panel] == 0:
            continue
        last = last_tree_of(graph, panel)
        if graph.column_size[last] > 0:
            touched[panels.of_tree[graph.entry_tree[graph.column_start[last]]]] = 1
    return 0
