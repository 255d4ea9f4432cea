"""Division of large islands: subtrees of the elimination tree, and chunks of pairs and contacts.

Columns of a Cholesky factorization depend only on those of their subtree in the elimination tree
(J. W. H. Liu, The role of elimination trees in sparse factorization, SIAM J. Matrix Anal. Appl. 11,
1990), and any order in which children come before their parents has the same fill. So subtrees of
about equal work become parts, one after the other, and the columns above them come at the end.
Minimum degree gives wide trees for piles on a floor. A dissection by position gains less there than
its fill costs (twice the operations in a heap of 650 bodies).
"""

from __future__ import annotations

from asperity.compiled import Table, compiled
from asperity.convex.couplings import block_of
from asperity.convex.graph_layout import MOST_CHUNK, NOT_FREE

__all__ = ["list_pairs", "list_sources", "order_by_parts", "weigh"]

# An island's work over that of its largest part: two threads, or four, have parts to choose from.
_PARTS = 12


@compiled
def weigh(graph: Table, tree: int) -> None:
    """Note a tree's parent, and about what its elimination takes."""
    own = graph.tree_size[tree]
    width = own
    parent = -1
    begin = graph.column_start[tree]
    for entry in range(begin, begin + graph.column_size[tree]):
        other = graph.entry_tree[entry]
        width += graph.tree_size[other]
        if parent < 0 or graph.position[other] < graph.position[parent]:
            parent = other
    graph.divided.elimination_parent[tree] = parent
    graph.divided.elimination_work[tree] = 1.0 * own * width * width


@compiled
def _number_parts(graph: Table, first: int, last: int, parts: int) -> int:
    """Number the parts of an island and write them to its trees, −1 to what they hang on.

    Returns how many parts there are then.
    """
    divided, order = graph.divided, graph.order
    parent = divided.elimination_parent
    work = divided.elimination_work
    total = 0.0
    for step in range(first, last):
        tree = order[step]
        # Children come first: this is the work of its whole subtree.
        if parent[tree] >= 0:
            work[parent[tree]] += work[tree]
        else:
            total += work[tree]
    largest = total / _PARTS
    filled = 0.0
    begun = False
    for step in range(first, last):
        tree = order[step]
        above = parent[tree]
        if work[tree] > largest or (above >= 0 and work[above] <= largest):
            continue
        if not begun or filled + work[tree] > largest:
            begun = True
            parts += 1
            filled = 0.0
        filled += work[tree]
        divided.tree_part[tree] = parts - 1
    for step in range(last - 1, first - 1, -1):
        tree = order[step]
        above = parent[tree]
        if work[tree] > largest:
            divided.tree_part[tree] = -1
        elif above >= 0 and work[above] <= largest:
            divided.tree_part[tree] = divided.tree_part[above]
    return parts


@compiled
def order_by_parts(graph: Table, first: int, last: int, parts: int) -> int:
    """Bring an island's part of ``order`` into that of its parts; how many there are up to it.

    `weigh` has noted parents and work of all its trees.
    """
    divided = graph.divided
    before = parts
    parts = _number_parts(graph, first, last, parts)
    order = graph.order
    place = first
    for part in range(before, parts + 1):
        wanted = part if part < parts else -1
        if part < parts:
            divided.part_first[part] = place
        for step in range(first, last):
            tree = order[step]
            if divided.tree_part[tree] == wanted:
                graph.neighbours[place - first] = tree
                place += 1
        if part < parts:
            divided.part_last[part] = place
    for step in range(first, last):
        tree = graph.neighbours[step - first]
        order[step] = tree
        graph.position[tree] = step
    return parts


@compiled
def list_sources(graph: Table, first: int, last: int, begin: int) -> int:
    """List the couplings of an island's trees by the later tree; where the list then ends."""
    divided, order = graph.divided, graph.order
    for step in range(first, last):
        divided.source_size[order[step]] = 0
    for step in range(first, last):
        start = graph.column_start[order[step]]
        for entry in range(start, start + graph.column_size[order[step]]):
            divided.source_size[graph.entry_tree[entry]] += 1
    for step in range(first, last):
        tree = order[step]
        divided.source_start[tree] = begin
        begin += divided.source_size[tree]
        divided.source_size[tree] = 0
    for step in range(first, last):
        tree = order[step]
        start = graph.column_start[tree]
        for entry in range(start, start + graph.column_size[tree]):
            other = graph.entry_tree[entry]
            at = divided.source_start[other] + divided.source_size[other]
            divided.source_tree[at] = tree
            divided.source_entry[at] = entry
            divided.source_size[other] += 1
    return begin


@compiled
def _free_body(graph: Table, contacts: Table, link: int) -> int:
    """The tree of a link that is a free body; −1 for the world, `NOT_FREE` for any other link."""
    if link < 0:
        return -1
    tree = contacts.link_tree[link]
    return tree if graph.tree_spatial[tree] == 1 else NOT_FREE


@compiled
def _list_pairs_of(graph: Table, contacts: Table, k: int, pairs: int, chunks: int) -> int:
    """List pairs and chunks of an island; returns how many pairs there are then."""
    divided = graph.divided
    link = contacts.link
    i = graph.island_contact_start[k]
    end = graph.island_contact_start[k + 1]
    divided.island_mixed[k] = 0
    begun = i
    begun_pair = pairs
    while i < end:
        c = graph.contact[i]
        a = link[c, 0]
        b = link[c, 1]
        first = i
        while i < end:
            c = graph.contact[i]
            if link[c, 0] != a or link[c, 1] != b:
                break
            i += 1
        divided.pair_contact[pairs, 0] = first
        divided.pair_contact[pairs, 1] = i
        tree_a = _free_body(graph, contacts, a)
        tree_b = _free_body(graph, contacts, b)
        if NOT_FREE in (tree_a, tree_b) or tree_a == tree_b:
            tree_a = NOT_FREE
            tree_b = NOT_FREE
            divided.island_mixed[k] += 1
        divided.pair_tree[pairs, 0] = tree_a
        divided.pair_tree[pairs, 1] = tree_b
        if tree_a >= 0 and tree_b >= 0:
            divided.pair_block[pairs] = block_of(graph, tree_a, tree_b)
        if tree_a >= 0:
            divided.tree_pair_start[tree_a + 2] += 1
        if tree_b >= 0:
            divided.tree_pair_start[tree_b + 2] += 1
        pairs += 1
        if i - begun >= MOST_CHUNK or i == end:
            divided.chunk_contact[chunks, 0] = begun
            divided.chunk_contact[chunks, 1] = i
            divided.chunk_pair[chunks, 0] = begun_pair
            divided.chunk_pair[chunks, 1] = pairs
            chunks += 1
            begun = i
            begun_pair = pairs
    divided.island_chunk_start[k + 1] = chunks
    return pairs


@compiled
def list_pairs(graph: Table, contacts: Table) -> None:
    """List pairs and chunks of contacts of all divided islands, and the pairs of free bodies."""
    divided = graph.divided
    part = divided.island_part_start
    chunk = divided.island_chunk_start
    if part[graph.islands] == 0:
        return
    start = divided.tree_pair_start
    for tree in range(graph.ntree + 2):
        start[tree] = 0
    chunk[0] = 0
    pairs = 0
    for k in range(graph.islands):
        chunk[k + 1] = chunk[k]
        if part[k + 1] > part[k]:
            pairs = _list_pairs_of(graph, contacts, k, pairs, chunk[k])
    for tree in range(2, graph.ntree + 2):
        start[tree] += start[tree - 1]
    for pair in range(pairs):
        for side in range(2):
            tree = divided.pair_tree[pair, side]
            if tree >= 0:
                divided.tree_pair[start[tree + 1]] = pair
                start[tree + 1] += 1
