"""Fields of a problem for divided islands: large ones, whose solves several threads share.

What is computed may not depend on how many threads there are. So all that an island of many trees
is divided into depends on the island alone: *chunks* of contacts, whose sums are added up in their
order, *blocks* of trees, and *parts*, subtrees of the elimination tree
(`asperity.convex.division`).
"""

from __future__ import annotations

__all__ = ["DIVIDED_FIELDS", "TREE_BLOCK"]

TREE_BLOCK = 32
"""Trees of a block."""

DIVIDED_FIELDS = {
    # 1 if there are curvatures, then P, Q, G and from A's arm to B's
    "pair_sum": "f8[contacts, 25]",
    "chunk_sum": "f8[contacts, 6]",  # see `asperity.convex.divided_island`
    "block_sum": f"f8[ntree // {TREE_BLOCK} + 1, 5]",  # the same of blocks of the island's trees
    # the island at hand: [first, last) of its parts and chunks; no parts if it is not divided
    "first_part": "i8",
    "last_part": "i8",
    "first_chunk": "i8",
    "last_chunk": "i8",
    # what threads do at present (`asperity.convex.divided_phases`)
    "team": "i8",  # address of their table, 0 where there is one thread
    "members": "i8[:]",  # addresses of problems with numbers of their own, one for each
    "begun": "i8",  # 1: ``direction`` is −g, and blocks have sums of it
    "phase": "i8",
    "phase_items": "i8",
    "phase_parts": "i8",
    "phase_share": "f8",  # α
    "phase_contacts": "i8",  # address of the contact set
    "column_done": "i8[ntree]",  # the number of the last factorization that a tree is done with
    "factorization": "i8",
    # compiled entry points
    "share_phase": "i8",
    "do_phase": "i8",
    "assemble_divided": "i8",
    "factorize_divided": "i8",
    "solve_divided": "i8",
}
