"""Elimination order and symbolic factorization, component by component.

The order is minimum degree, weighted by the trees' sizes, then that of the parts of islands that
are divided (`asperity.convex.division`). Which trees couple is kept in bits.
"""

from __future__ import annotations

from asperity.compiled import Table, compiled
from asperity.compiled.bits import lowest_bit
from asperity.convex.division import list_sources, order_by_parts, weigh

__all__ = ["clear_couplings", "couple", "eliminate_islands", "have_block"]


@compiled
def clear_couplings(problem: Table) -> None:
    """Forget the couplings of the last symbolic factorization, which are all that there are."""
    words = problem.adjacency.shape[1]
    for tree in range(problem.ntree):
        for word in range(words):
            problem.adjacency[tree, word] = 0
        # With itself, so that it is not among what a neighbour brings.
        problem.adjacency[tree, tree >> 6] = 1 << (tree & 63)
        problem.degree[tree] = 0


@compiled
def couple(problem: Table, a: int, b: int) -> None:
    """Note that two trees couple."""
    if a < 0 or b < 0 or problem.adjacency[a, b >> 6] >> (b & 63) & 1:
        return
    problem.adjacency[a, b >> 6] |= 1 << (b & 63)
    problem.adjacency[b, a >> 6] |= 1 << (a & 63)
    problem.degree[a] += problem.tree_size[b]
    problem.degree[b] += problem.tree_size[a]


@compiled
def have_block(problem: Table, a: int, b: int) -> bool:
    """Whether two trees couple in the last symbolic factorization."""
    forth = problem.adjacency[a, b >> 6] >> (b & 63)
    back = problem.adjacency[b, a >> 6] >> (a & 63)
    return (forth | back) & 1 == 1


@compiled
def _later_neighbours(problem: Table, tree: int, begin: int) -> int:
    """List the neighbours of a tree that wait; returns where the list ends.

    Leaves them in the tree's row of bits, too.
    """
    row = problem.adjacency[tree]
    for word in range(row.size):
        bits = row[word] & problem.waiting[word]
        row[word] = bits
        while bits != 0:
            problem.entry_tree[begin] = 64 * word + lowest_bit(bits)
            begin += 1
            bits &= bits - 1
    return begin


@compiled
def _join(problem: Table, tree: int, row: int) -> None:
    """Couple a tree with all neighbours of another one."""
    degree = 0
    for word in range(problem.adjacency.shape[1]):
        bits = problem.adjacency[row, word] & ~problem.adjacency[tree, word]
        problem.adjacency[tree, word] |= bits
        while bits != 0:
            degree += problem.tree_size[64 * word + lowest_bit(bits)]
            bits &= bits - 1
    problem.degree[tree] += degree


@compiled
def _eliminate(problem: Table, first: int, last: int, entries: int) -> int:
    """Order the trees of one component by minimum degree, in its part of ``order``.

    Lists the later neighbours of every tree in the factor. Of equal degrees the first tree is
    taken. Returns where the lists end.
    """
    order = problem.order
    degree = problem.degree
    ntree = problem.ntree
    key = problem.elimination_key
    slot = problem.elimination_slot
    for i in range(first, last):
        tree = order[i]
        # Of a tree that waits: its degree, and among equals the tree itself.
        key[i] = degree[tree] * ntree + tree
        slot[tree] = i
        problem.waiting[tree >> 6] |= 1 << (tree & 63)
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
        problem.waiting[best >> 6] &= ~(1 << (best & 63))
        begin = entries
        entries = _later_neighbours(problem, best, begin)
        problem.column_start[best] = begin
        problem.column_size[best] = entries - begin
        for entry in range(begin, entries):
            tree = problem.entry_tree[entry]
            degree[tree] -= problem.tree_size[best]
            _join(problem, tree, best)
            key[slot[tree]] = degree[tree] * ntree + tree
    return entries


@compiled
def _number_column(problem: Table, tree: int, blocks: int) -> int:
    """Sort a tree's couplings with later ones by position; size of all blocks then."""
    begin = problem.column_start[tree]
    end = begin + problem.column_size[tree]
    for entry in range(begin, end):
        other = problem.entry_tree[entry]
        position = problem.position[other]
        place = entry
        while place > begin and problem.position[problem.entry_tree[place - 1]] > position:
            problem.entry_tree[place] = problem.entry_tree[place - 1]
            place -= 1
        problem.entry_tree[place] = other
    for entry in range(begin, end):
        other = problem.entry_tree[entry]
        problem.entry_block[entry] = blocks
        blocks += problem.tree_size[tree] * problem.tree_size[other]
    return blocks


@compiled
def eliminate_islands(problem: Table, islands: int) -> int:
    """Order the trees of all islands, and list couplings and parts; returns all blocks' size."""
    entries = 0
    blocks = 0
    parts = 0
    sources = 0
    for k in range(islands):
        first = problem.island_start[k]
        last = problem.island_start[k + 1]
        entries = _eliminate(problem, first, last, entries)
        divided = last - first >= problem.fewest_divided
        if divided:
            for step in range(first, last):
                weigh(problem, problem.order[step])
            parts = order_by_parts(problem, first, last, parts)
        problem.island_part_start[k + 1] = parts
        for step in range(first, last):
            blocks = _number_column(problem, problem.order[step], blocks)
        if divided:
            sources = list_sources(problem, first, last, sources)
    problem.entries = entries
    return blocks
