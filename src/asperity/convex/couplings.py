"""Look up the off-diagonal block of two coupled trees."""

from __future__ import annotations

from asperity.compiled import Table, inlined

__all__ = ["block_of"]


@inlined
def block_of(graph: Table, a: int, b: int) -> int:
    """Offset in ``coupling`` of the block of two trees, which must couple.

    It is looked for in the column of the one that is eliminated first: columns have few couplings,
    and are in the cache wherever blocks are filled. A table of all pairs of trees would not be.
    """
    first = a if graph.position[a] < graph.position[b] else b
    later = a + b - first
    entry = graph.column_start[first]
    while graph.entry_tree[entry] != later:
        entry += 1
    return graph.entry_block[entry]
