"""Fields of a problem for divided islands: large ones, whose solves several threads share.

What is computed may not depend on how many threads there are. So all that an island of many trees
is divided into depends on the island alone: *chunks* of contacts, whose sums are added up in their
order, *blocks* of trees, and *parts*, subtrees of the elimination tree
(`asperity.convex.division`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["DIVIDED_FIELDS", "MOST_CHUNK", "TREE_BLOCK", "contact_lists", "division_lists"]

# Contacts after which a chunk ends with the pair at hand, and trees of a block.
MOST_CHUNK = 48
TREE_BLOCK = 32

DIVIDED_FIELDS = {
    "fewest_divided": "i8",  # trees from which on an island is divided
    # the elimination tree, while islands are ordered
    "elimination_parent": "i8[:]",
    "elimination_work": "f8[:]",
    "tree_part": "i8[:]",
    # parts: an island's subtrees come first in its part of `island_tree`, then what they hang on
    "island_part_start": "i8[:]",
    "part_first": "i8[:]",  # places [first, last) in `order`
    "part_last": "i8[:]",
    # couplings by the tree that is eliminated later, in the order of the other one
    "source_start": "i8[:]",  # per tree
    "source_size": "i8[:]",
    "source_tree": "i8[:]",
    "source_entry": "i8[:]",
    # pairs: contacts of the same two links that follow each other
    "pair_contact": "i8[:,:]",  # [first, last)
    "pair_tree": "i8[:,:]",  # of two free bodies, or of one and the world (−1); −2: of any others
    "pair_block": "i8[:]",  # of two free bodies: their block in `coupling`
    "pair_sum": "f8[:,:]",  # 1 if there are curvatures, then P, Q, G and from A's arm to B's
    "tree_pair_start": "i8[:]",  # pairs of a free body
    "tree_pair": "i8[:]",
    "island_chunk_start": "i8[:]",
    "chunk_contact": "i8[:,:]",  # [first, last)
    "chunk_pair": "i8[:,:]",
    "chunk_sum": "f8[:,:]",  # see `asperity.convex.divided_island`
    "block_sum": "f8[:,:]",  # the same of blocks of the island's trees
    "island_mixed": "i8[:]",  # pairs of other links than free bodies'
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
    "column_done": "i8[:]",  # the number of the last factorization that a tree is done with
    "factorization": "i8",
    # compiled entry points
    "share_phase": "i8",
    "do_phase": "i8",
    "assemble_divided": "i8",
    "factorize_divided": "i8",
    "solve_divided": "i8",
}


def division_lists(trees: int) -> dict[str, Any]:
    """Allocate what depends on the number of trees alone; no island is divided at first."""
    couplings = max(1, trees * (trees - 1) // 2)
    return {
        "fewest_divided": trees + 1,
        "elimination_parent": np.zeros(trees, np.int64),
        "elimination_work": np.zeros(trees),
        "tree_part": np.zeros(trees, np.int64),
        "island_part_start": np.zeros(trees + 2, np.int64),
        "part_first": np.zeros(trees, np.int64),
        "part_last": np.zeros(trees, np.int64),
        "source_start": np.zeros(trees, np.int64),
        "source_size": np.zeros(trees, np.int64),
        "source_tree": np.zeros(couplings, np.int64),
        "source_entry": np.zeros(couplings, np.int64),
        "tree_pair_start": np.zeros(trees + 2, np.int64),
        "island_chunk_start": np.zeros(trees + 2, np.int64),
        "block_sum": np.zeros((trees // TREE_BLOCK + 1, 5)),
        "island_mixed": np.zeros(trees + 1, np.int64),
        "column_done": np.zeros(trees, np.int64),
        "members": np.zeros(1, np.int64),
    }


def contact_lists(contacts: int) -> dict[str, Any]:
    """Allocate what depends on the room for contacts."""
    return {
        "pair_contact": np.zeros((contacts, 2), np.int64),
        "pair_tree": np.zeros((contacts, 2), np.int64),
        "pair_block": np.zeros(contacts, np.int64),
        "pair_sum": np.zeros((contacts, 25)),
        "tree_pair": np.zeros(2 * contacts, np.int64),
        "chunk_contact": np.zeros((contacts, 2), np.int64),
        "chunk_pair": np.zeros((contacts, 2), np.int64),
        "chunk_sum": np.zeros((contacts, 6)),
    }
