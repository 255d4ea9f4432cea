"""Fields of a problem for divided islands: large ones, whose solves several threads share.

What is computed may not depend on how many threads there are. So all that an island of many trees
is divided into depends on the island alone: *chunks* of contacts, whose sums are added up in their
order, *blocks* of trees, and *parts*, subtrees of the elimination tree
(`asperity.convex.division`).
"""

from __future__ import annotations

__all__ = ["DIVIDED_FIELDS", "MOST_CHUNK", "TREE_BLOCK"]

# Contacts after which a chunk ends with the pair at hand, and trees of a block.
MOST_CHUNK = 48
TREE_BLOCK = 32

DIVIDED_FIELDS = {
    "fewest_divided": "i8",  # trees from which on an island is divided
    # the elimination tree, while islands are ordered
    "elimination_parent": "i8[ntree]",
    "elimination_work": "f8[ntree]",
    "tree_part": "i8[ntree]",
    # parts: an island's subtrees come first in its part of `island_tree`, then what they hang on
    "island_part_start": "i8[ntree + 2]",
    "part_first": "i8[ntree]",  # places [first, last) in `order`
    "part_last": "i8[ntree]",
    # couplings by the tree that is eliminated later, in the order of the other one
    "source_start": "i8[ntree]",  # per tree
    "source_size": "i8[ntree]",
    "source_tree": "i8[tree_pairs]",
    "source_entry": "i8[tree_pairs]",
    # pairs: contacts of the same two links that follow each other
    "pair_contact": "i8[contacts, 2]",  # [first, last)
    # of two free bodies, or of one and the world (−1); −2: of any others
    "pair_tree": "i8[contacts, 2]",
    "pair_block": "i8[contacts]",  # of two free bodies: their block in `coupling`
    # 1 if there are curvatures, then P, Q, G and from A's arm to B's
    "pair_sum": "f8[contacts, 25]",
    "tree_pair_start": "i8[ntree + 2]",  # pairs of a free body
    "tree_pair": "i8[2 * contacts]",
    "island_chunk_start": "i8[ntree + 2]",
    "chunk_contact": "i8[contacts, 2]",  # [first, last)
    "chunk_pair": "i8[contacts, 2]",
    "chunk_sum": "f8[contacts, 6]",  # see `asperity.convex.divided_island`
    "block_sum": f"f8[ntree // {TREE_BLOCK} + 1, 5]",  # the same of blocks of the island's trees
    "island_mixed": "i8[ntree + 1]",  # pairs of other links than free bodies'
    # the island at hand: [first, last) of its parts and chunks; no parts if it is not divided
    "first_part": "i8",
    "last_part": "i8",
    "first_chunk": "i8",
    "last_chunk": "i8",
    # what threads do at present (`asperity.convex.divided_phases`)
    "team": "i8",  # address of their table, 0 where there is one thread
    "members": "i8[:]",  # addresses of problems with numbers of their own, one for each
    "begun": "i8",  # 1: ``direction`` is −g, and blocks have sums of it
    "fused": "i8",  # 1: blocks are filled when they are factorized, where nothing else fills them
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
