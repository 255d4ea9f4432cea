"""Elimination order and symbolic factorization, component by component.

The order is minimum degree, weighted by the trees' sizes, then that of the parts of islands that
are divided (`asperity.convex.division`). Which trees couple is kept in bits.
"""

from __future__ import annotations

from asperity.compiled import Table, compiled
from asperity.compiled.bits import lowest_bit
from asperity.convex.division import list_sources, order_by_parts, weigh

__all__ = [
    "clear_couplings",
    "couple",
    "eliminate",
    "eliminate_islands",
    "have_block",
    "order_by_subtrees",
    "sort_column",
]


@compiled
def clear_couplings(graph: Table) -> None:
    """Forget the couplings of the last symbolic factorization, which are all that there are."""
    words = graph.adjacency.shape[1]
    for tree in range(graph.ntree):
        for word in range(words):
            graph.adjacency[tree, word] = 0
        # With itself, so that it is not among what a neighbour brings.
        graph.adjacency[tree, tree >> 6] = 1 << (tree & 63)
        graph.degree[tree] = 0


@compiled
def couple(graph: Table, a: int, b: int) -> None:
    """Note that two trees couple."""
    if a < 0 or b < 0 or graph.adjacency[a, b >> 6] >> (b & 63) & 1:
        return
    graph.adjacency[a, b >> 6] |= 1 << (b & 63)
    graph.adjacency[b, a >> 6] |= 1 << (a & 63)
    graph.degree[a] += graph.tree_size[b]
    graph.degree[b] += graph.tree_size[a]


@compiled
def have_block(graph: Table, a: int, b: int) -> bool:
    """Whether two trees couple in the last symbolic factorization."""
    forth = graph.adjacency[a, b >> 6] >> (b & 63)
    back = graph.adjacency[b, a >> 6] >> (a & 63)
    return (forth | back) & 1 == 1


@compiled
def _later_neighbours(graph: Table, tree: int, begin: int) -> int:
    """List the neighbours of a tree that wait; returns where the list ends.

    Leaves them in the tree's row of bits, too.
    """
    row = graph.adjacency[tree]
    for word in range(row.size):
        bits = row[word] & graph.waiting[word]
        row[word] = bits
        while bits != 0:
            graph.entry_tree[begin] = 64 * word + lowest_bit(bits)
            begin += 1
            bits &= bits - 1
    return begin


@compiled
def _join(graph: Table, tree: int, row: int) -> None:
    """Couple a tree with all neighbours of another one."""
    degree = 0
    for word in range(graph.adjacency.shape[1]):
        bits = graph.adjacency[row, word] & ~graph.adjacency[tree, word]
        graph.adjacency[tree, word] |= bits
        while bits != 0:
            degree += graph.tree_size[64 * word + lowest_bit(bits)]
            bits &= bits - 1
    graph.degree[tree] += degree


@compiled
def eliminate(graph: Table, first: int, last: int, entries: int) -> int:
    """Order the trees of one component by minimum degree, in its part of ``order``.

    Lists the later neighbours of every tree in the factor. Of equal degrees the first tree is
    taken. Returns where the lists end, or −1 if they may have no room.
    """
    order, degree, ntree = graph.order, graph.degree, graph.ntree
    key = graph.elimination_key
    slot = graph.elimination_slot
    for i in range(first, last):
        tree = order[i]
        # Of a tree that waits: its degree, and among equals the tree itself.
        key[i] = degree[tree] * ntree + tree
        slot[tree] = i
        graph.waiting[tree >> 6] |= 1 << (tree & 63)
    for step in range(first, last):
        if entries + last - 1 - step > graph.entry_tree.size:
            return -1
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
        graph.position[best] = step
        graph.waiting[best >> 6] &= ~(1 << (best & 63))
        begin = entries
        entries = _later_neighbours(graph, best, begin)
        graph.column_start[best] = begin
        graph.column_size[best] = entries - begin
        for entry in range(begin, entries):
            tree = graph.entry_tree[entry]
            degree[tree] -= graph.tree_size[best]
            _join(graph, tree, best)
            key[slot[tree]] = degree[tree] * ntree + tree
    return entries


@compiled
def order_by_subtrees(graph: Table, first: int, last: int) -> None:
    """Reorder the trees of one component, so that those of every subtree are side by side.

    It is a postorder of the elimination tree, which leaves the number of entries as it is
    (J. W. H. Liu, The role of elimination trees in sparse factorization, SIAM J. Matrix Anal. Appl.
    11, 1990). Of a tree's children the one that was eliminated last comes right before it.
    """
    order, position = graph.order, graph.position
    parent = graph.elimination_slot
    # How many trees a subtree has; later where the next subtree below it ends.
    size = graph.elimination_key
    for place in range(first, last):
        size[place] = 1
    for place in range(first, last):
        tree = order[place]
        begin = graph.column_start[tree]
        above = last
        for entry in range(begin, begin + graph.column_size[tree]):
            above = min(above, position[graph.entry_tree[entry]])
        parent[place] = above
        if above < last:
            size[above] += size[place]
    end = last
    for place in range(last - 1, first - 1, -1):
        above = parent[place]
        count = size[place]
        stop = end if above == last else size[above]
        if above == last:
            end -= count
        else:
            size[above] -= count
        size[place] = stop - 1
        position[order[place]] = stop - 1
    for place in range(first, last):
        size[place] = order[place]
    for place in range(first, last):
        order[position[size[place]]] = size[place]


@compiled
def sort_column(graph: Table, tree: int) -> None:
    """Sort a tree's couplings with later ones by position."""
    begin = graph.column_start[tree]
    end = begin + graph.column_size[tree]
    for entry in range(begin, end):
        other = graph.entry_tree[entry]
        position = graph.position[other]
        place = entry
        while place > begin and graph.position[graph.entry_tree[place - 1]] > position:
            graph.entry_tree[place] = graph.entry_tree[place - 1]
            place -= 1
        graph.entry_tree[place] = other


@compiled
def _number_column(graph: Table, tree: int, blocks: int) -> int:
    """Give a tree's couplings with later ones blocks; size of all blocks then."""
    begin = graph.column_start[tree]
    for entry in range(begin, begin + graph.column_size[tree]):
        other = graph.entry_tree[entry]
        graph.entry_block[entry] = blocks
        blocks += graph.tree_size[tree] * graph.tree_size[other]
    return blocks


@compiled
def eliminate_islands(graph: Table, islands: int) -> int:
    """Order the trees of all islands, and list couplings and parts; returns all blocks' size."""
    entries = 0
    blocks = 0
    parts = 0
    sources = 0
    for k in range(islands):
        first = graph.island_start[k]
        last = graph.island_start[k + 1]
        entries = eliminate(graph, first, last, entries)
        divided = last - first >= graph.divided.fewest_trees
        if divided:
            for step in range(first, last):
                weigh(graph, graph.order[step])
            parts = order_by_parts(graph, first, last, parts)
        graph.divided.island_part_start[k + 1] = parts
        for step in range(first, last):
            sort_column(graph, graph.order[step])
            blocks = _number_column(graph, graph.order[step], blocks)
        if divided:
            sources = list_sources(graph, first, last, sources)
    graph.entries = entries
    return blocks
