"""The graph of trees: islands, elimination order and symbolic factorization.

Two trees couple when a contact or a constraint joins them. Islands are its components: they are
solved one by one, so each converges and ends on its own. The order is minimum degree, weighted by
the trees' sizes. The symbolic factorization is kept as long as every coupling has a block in it and
the components are the same ones.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, entry_point
from asperity.compiled.calls import load_address
from asperity.contact.constraint_set import CONSTRAINT_SET
from asperity.contact.contact_set import CONTACT_SET
from asperity.convex.chains import fill_chains
from asperity.convex.division import list_pairs, list_sources, order_by_parts, weigh
from asperity.convex.paths import make_paths
from asperity.convex.problem import PROBLEM

__all__ = ["build_graph"]


OK = 0
PATTERN_CHANGED = 1
COUPLING_TOO_SMALL = -1


@compiled
def _root(parent: np.ndarray, tree: int) -> int:
    while parent[tree] != tree:
        parent[tree] = parent[parent[tree]]
        tree = parent[tree]
    return tree


@compiled
def _trees_of_contact(link: np.ndarray, link_tree: np.ndarray, contact: int) -> tuple[int, int]:
    a = link[contact, 0]
    b = link[contact, 1]
    return link_tree[a] if a >= 0 else -1, link_tree[b] if b >= 0 else -1


@compiled
def _is_next(link: np.ndarray, contact: int) -> bool:
    """Whether a contact is of the same links as the one before, as most are."""
    if contact == 0:
        return False
    same_a = link[contact, 0] == link[contact - 1, 0]
    return same_a and link[contact, 1] == link[contact - 1, 1]


@compiled
def _couple(
    a: int, b: int, parent: np.ndarray, pair_stamp: np.ndarray, stamp: int, pair_entry: np.ndarray
) -> tuple[bool, bool, bool]:
    """Join two trees; returns (is a new pair, has a block, joined two components)."""
    if a < 0 or b < 0 or a == b:
        return False, True, False
    if pair_stamp[a, b] == stamp:
        return False, True, False
    pair_stamp[a, b] = stamp
    pair_stamp[b, a] = stamp
    root_a = _root(parent, a)
    root_b = _root(parent, b)
    joined = root_a != root_b
    if joined:
        if root_a < root_b:
            parent[root_b] = root_a
        else:
            parent[root_a] = root_b
    return True, pair_entry[a, b] >= 0, joined


@compiled
def _mark(problem: Table, a: int, b: int) -> None:
    """Note that two trees couple."""
    if a >= 0 and b >= 0 and a != b and not problem.adjacency[a, b]:
        problem.adjacency[a, b] = 1
        problem.adjacency[b, a] = 1
        problem.degree[a] += problem.tree_size[b]
        problem.degree[b] += problem.tree_size[a]


@compiled
def _later_neighbours(problem: Table, tree: int, step: int, last: int) -> int:
    """List the neighbours of a tree that are eliminated after a step; how many there are.

    They are those in ``order`` from there to ``last``, where the tree's component ends.
    """
    ntree = problem.ntree
    count = 0
    if 8 * (last - step) <= ntree:
        for i in range(step + 1, last):
            if problem.adjacency[tree, problem.order[i]]:
                problem.neighbours[count] = problem.order[i]
                count += 1
        return count
    row = problem.adjacency.ctypes.data + tree * ntree
    other = 0
    while other < ntree:
        # Rows are nearly empty: eight bytes at once.
        if other + 8 <= ntree and load_address(row + other) == 0:
            other += 8
            continue
        last = min(other + 8, ntree)
        while other < last:
            if problem.adjacency[tree, other] and problem.position[other] > step:
                problem.neighbours[count] = other
                count += 1
            other += 1
    return count


@compiled
def _eliminate(problem: Table, first: int, last: int) -> None:
    """Order the trees of one component by minimum degree, in its part of ``order``.

    Fills `adjacency` with the couplings of the factor. Of equal degrees the first tree is taken.
    """
    order = problem.order
    size = problem.tree_size
    degree = problem.degree
    ntree = problem.ntree
    key = problem.elimination_key
    slot = problem.elimination_slot
    for i in range(first, last):
        problem.position[order[i]] = last
        # Of a tree that is still there: its degree, and among equals the tree itself.
        key[i] = degree[order[i]] * ntree + order[i]
        slot[order[i]] = i
    for step in range(first, last):
        least = key[step]
        for i in range(step + 1, last):
            least = min(least, key[i])
        best = least % ntree
        # What was first takes the place of what goes.
        at = slot[best]
        order[at] = order[step]
        key[at] = key[step]
        slot[order[at]] = at
        order[step] = best
        problem.position[best] = step
        count = _later_neighbours(problem, best, step, last)
        for i in range(count):
            a = problem.neighbours[i]
            degree[a] -= size[best]
            for j in range(i + 1, count):
                b = problem.neighbours[j]
                _mark(problem, a, b)
        for i in range(count):
            a = problem.neighbours[i]
            key[slot[a]] = degree[a] * ntree + a


@compiled
def _list_column(problem: Table, tree: int, last: int, entries: int, blocks: int) -> int:
    """List the couplings of a tree with later ones by position; size of all blocks then."""
    count = _later_neighbours(problem, tree, problem.position[tree], last)
    problem.column_start[tree] = entries
    problem.column_size[tree] = count
    for i in range(count):
        other = problem.neighbours[i]
        place = entries + i
        while (
            place > entries
            and problem.position[problem.entry_tree[place - 1]] > problem.position[other]
        ):
            problem.entry_tree[place] = problem.entry_tree[place - 1]
            place -= 1
        problem.entry_tree[place] = other
    for entry in range(entries, entries + count):
        other = problem.entry_tree[entry]
        problem.entry_block[entry] = blocks
        problem.pair_entry[tree, other] = entry
        problem.pair_entry[other, tree] = entry
        blocks += problem.tree_size[tree] * problem.tree_size[other]
    return blocks


@compiled
def _clear_entries(problem: Table) -> None:
    """Forget the couplings of the last symbolic factorization, which are all that there are."""
    for tree in range(problem.ntree):
        first = problem.column_start[tree]
        for entry in range(first, first + problem.column_size[tree]):
            other = problem.entry_tree[entry]
            problem.pair_entry[tree, other] = -1
            problem.pair_entry[other, tree] = -1
            problem.adjacency[tree, other] = 0
            problem.adjacency[other, tree] = 0


@compiled
def _symbolic(problem: Table, contacts: Table, rows: Table, islands: int) -> int:
    """Recompute order and structure, component by component; returns the size of all blocks."""
    ntree = problem.ntree
    _clear_entries(problem)
    for tree in range(ntree):
        problem.degree[tree] = 0
    for contact in range(contacts.count):
        if not _is_next(contacts.link, contact):
            a, b = _trees_of_contact(contacts.link, contacts.link_tree, contact)
            _mark(problem, a, b)
    for row in range(rows.count):
        _mark(problem, rows.tree[row, 0], rows.tree[row, 1])
    for tree in range(ntree):
        problem.order[tree] = tree
    _list_islands(problem, islands)
    for tree in range(ntree):
        problem.order[tree] = problem.island_tree[tree]
    entries = 0
    blocks = 0
    parts = 0
    sources = 0
    for k in range(islands):
        first = problem.island_start[k]
        last = problem.island_start[k + 1]
        _eliminate(problem, first, last)
        divided = last - first >= problem.fewest_divided
        if divided:
            for step in range(first, last):
                tree = problem.order[step]
                weigh(problem, tree, _later_neighbours(problem, tree, step, last))
            parts = order_by_parts(problem, first, last, parts)
        problem.island_part_start[k + 1] = parts
        for step in range(first, last):
            tree = problem.order[step]
            blocks = _list_column(problem, tree, last, entries, blocks)
            entries += problem.column_size[tree]
        if divided:
            sources = list_sources(problem, first, last, sources)
    problem.entries = entries
    return blocks


@compiled
def _number_islands(problem: Table, parent: np.ndarray) -> int:
    """Number the components in the order of their first tree; returns how many there are."""
    island = problem.component[problem.ntree : 2 * problem.ntree]
    islands = 0
    for tree in range(problem.ntree):
        root = _root(parent, tree)
        if root == tree:
            island[tree] = islands
            islands += 1
        else:
            # The root is the smallest tree of its component and has its number already.
            island[tree] = island[root]
    return islands


@compiled
def _list_islands(problem: Table, islands: int) -> None:
    """List the trees of every component by position."""
    ntree = problem.ntree
    island = problem.component[ntree : 2 * ntree]
    start = problem.island_start
    for k in range(islands + 1):
        start[k] = 0
    for tree in range(ntree):
        start[island[tree]] += 1
    total = 0
    for k in range(islands):
        count = start[k]
        start[k] = total
        total += count
    start[islands] = total
    for step in range(ntree):
        tree = problem.order[step]
        k = island[tree]
        problem.island_tree[start[k]] = tree
        start[k] += 1
    for k in range(islands, 0, -1):
        start[k] = start[k - 1]
    start[0] = 0


@compiled
def _base(tree: int, link: int, nv: int, tree_start: np.ndarray, tree_spatial: np.ndarray) -> int:
    """Where a link's spatial velocity starts in the problem's vectors; −1 for the world."""
    if tree < 0:
        return -1
    return tree_start[tree] if tree_spatial[tree] else nv + 6 * link


@compiled
def _list_all(problem: Table, contacts: Table, rows: Table) -> None:
    """List contacts and rows of the only tree, which is the only island, as they are."""
    fill_chains(problem, contacts, rows)
    make_paths(problem, contacts, 1, problem.component[1:2])
    spatial = problem.tree_spatial[0] == 1
    for i in range(contacts.count):
        problem.contact[i] = i
        a = contacts.link[i, 0]
        b = contacts.link[i, 1]
        # As `_base`, of one tree that begins at 0.
        problem.base_a[i] = a if a < 0 else (0 if spatial else problem.nv + 6 * a)
        problem.base_b[i] = b if b < 0 else (0 if spatial else problem.nv + 6 * b)
    problem.island_contact_start[1] = contacts.count
    for i in range(rows.count):
        problem.row[i] = i
        first = rows.start[i, 0]
        problem.row_entry[i] = first if rows.start[i, 2] == first + 1 else -1
    problem.island_row_start[1] = rows.count


@entry_point(types.int64(PROBLEM.type, CONTACT_SET.type, CONSTRAINT_SET.type))
def build_graph(problem: Table, contacts: Table, rows: Table) -> int:
    """Find islands and order, sort contacts and rows by island.

    Returns ``OK``, ``PATTERN_CHANGED`` (blocks and factors of earlier solves are void) or
    ``COUPLING_TOO_SMALL`` (the needed size is in ``coupling_size``; grow and call again).
    """
    ntree = problem.ntree
    if ntree == 1 and problem.components == 1:
        _list_all(problem, contacts, rows)
        return OK
    parent = problem.component
    link = contacts.link
    row_tree = rows.tree
    ncontact = contacts.count
    nrow = rows.count

    problem.stamp += 1
    stamp = problem.stamp
    for tree in range(ntree):
        parent[tree] = tree
    components = ntree
    known = True
    for contact in range(ncontact):
        if _is_next(link, contact):
            continue
        a, b = _trees_of_contact(link, contacts.link_tree, contact)
        _, has_block, joined = _couple(a, b, parent, problem.pair_stamp, stamp, problem.pair_entry)
        known = known and has_block
        if joined:
            components -= 1
    for row in range(nrow):
        a = row_tree[row, 0]
        b = row_tree[row, 1]
        _, has_block, joined = _couple(a, b, parent, problem.pair_stamp, stamp, problem.pair_entry)
        known = known and has_block
        if joined:
            components -= 1

    islands = _number_islands(problem, parent)
    status = OK
    if not known or components != problem.components:
        problem.coupling_size = _symbolic(problem, contacts, rows, islands)
        problem.components = components
        status = PATTERN_CHANGED
    if problem.coupling_size > problem.coupling.size:
        problem.components = -1  # come back here after the memory has grown
        return COUPLING_TOO_SMALL

    _list_islands(problem, islands)
    problem.islands = islands
    island = parent[ntree : 2 * ntree]
    fill_chains(problem, contacts, rows)
    make_paths(problem, contacts, islands, island)
    nv = problem.nv
    order = problem.contact
    start = problem.island_contact_start
    for k in range(islands + 2):
        start[k] = 0
    k = 0
    for contact in range(ncontact):
        if not _is_next(link, contact):
            a, b = _trees_of_contact(link, contacts.link_tree, contact)
            k = island[a if a >= 0 else b] + 2
        start[k] += 1
    for k in range(2, islands + 2):
        start[k] += start[k - 1]
    base_a = base_b = -1
    for contact in range(ncontact):
        if not _is_next(link, contact):
            a, b = _trees_of_contact(link, contacts.link_tree, contact)
            k = island[a if a >= 0 else b] + 1
            base_a = _base(a, link[contact, 0], nv, problem.tree_start, problem.tree_spatial)
            base_b = _base(b, link[contact, 1], nv, problem.tree_start, problem.tree_spatial)
        i = start[k]
        order[i] = contact
        problem.base_a[i] = base_a
        problem.base_b[i] = base_b
        start[k] += 1
    order = problem.row
    start = problem.island_row_start
    for k in range(islands + 2):
        start[k] = 0
    for row in range(nrow):
        start[island[row_tree[row, 0]] + 2] += 1
    for k in range(2, islands + 2):
        start[k] += start[k - 1]
    for row in range(nrow):
        k = island[row_tree[row, 0]] + 1
        order[start[k]] = row
        first = rows.start[row, 0]
        problem.row_entry[start[k]] = first if rows.start[row, 2] == first + 1 else -1
        start[k] += 1
    list_pairs(problem, contacts)
    return status
