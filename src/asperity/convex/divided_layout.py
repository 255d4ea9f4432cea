"""The table of divided islands: large ones, whose solves several threads share.

Results may not depend on the number of threads. So the division depends on the island alone:
*chunks* of contacts, whose sums are added up in order, *blocks* of trees, and *parts*, subtrees of
the elimination tree (`asperity.convex.division`).
"""

from __future__ import annotations

from asperity.compiled import Layout

__all__ = ["DIVISION", "TREE_BLOCK"]

TREE_BLOCK = 32
"""Trees of a block."""

DIVISION = Layout(
    "divided islands",
    # 1 if there are curvatures, then P, Q, G and from A's arm to B's
    pair_sum="f8[contacts, 25]",
    chunk_sum="f8[contacts, 6]",  # see `asperity.convex.divided_island`
    block_sum=f"f8[ntree // {TREE_BLOCK} + 1, 5]",  # the same of blocks of the island's trees
    # what threads do at present (`asperity.convex.divided_phases`)
    shared="i8",  # address of the table of `asperity.convex.shared_islands`, or 0
    team="i8",  # address of their table, 0 where there is one thread
    members="i8[:]",  # addresses of problems with tables of their own, one for each
    phase="i8",
    phase_items="i8",
    phase_parts="i8",
    phase_share="f8",  # α
    phase_contacts="i8",  # address of the contact set
    column_done="i8[ntree]",  # the number of the last factorization that a tree is done with
    factorization="i8",
)
