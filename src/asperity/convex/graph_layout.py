"""The structure of a convex problem: its trees and chains, and how contacts and rows couple them.

Trees and chains are those of the model. When contacts or rows change, `asperity.convex.graph` finds
the rest again. Solves only read it.
"""

from __future__ import annotations

from asperity.compiled import Layout

__all__ = ["BONDS", "CHAINS", "DIVIDED", "GRAPH", "MOST_CHUNK", "NOT_FREE", "PANELS", "PATHS"]

MOST_CHUNK = 48
"""Contacts after which a chunk ends with the pair at hand."""

NOT_FREE = -2
"""In the place of a pair's trees, where these are not those of two free bodies or of one."""

CHAINS = Layout(
    "chains of trees",
    start="i8[ntree + 1]",  # of a tree's chains
    of_dof="i8[nv]",
    first="i8[chains]",  # first dof, from that of the tree
    size="i8[chains]",
    ancestors="i8[chains]",
    neighbours="i8[chains]",  # chains before it with which it couples in the factor
    span_start="i8[chains]",  # of a chain's spans
    mass_spans="i8[chains]",  # number of spans of ancestors
    mass_span="i8[spans, 2]",  # first dof from that of the tree, number of dofs
    fill_spans="i8[chains]",  # and of neighbours
    fill_span="i8[spans, 2]",
    touched="i8[ntree]",  # chains that couple with other trees
    # chains whose rows of couplings with other trees are not zero; a chain alone has all rows
    rows="i8[ntree] = 1",
)
"""Chains of trees (`asperity.convex.chains`). Numbers and masks are those within a tree."""

PATHS = Layout(
    "paths to the world",
    dof="i8[places]",
    entry="i8[places]",  # its column in the contact set's chains
    parent="i8[places]",  # the place of the dof before it, −1 for the first of a tree
    # first place of those that follow each other, with dofs that do, to this one
    run="i8[places]",
    columns="f8[6, places]",  # (angular, linear) of all places, component by component
    of_dof="i8[nv] = -1",  # place of a dof, −1 if it has none
    link_tip="i8[links]",  # place of a link's last dof
    island_start="i8[ntree + 1]",
    link_order="i8[links]",  # links of articulated trees by island
    island_link_start="i8[ntree + 2]",
)
"""Dofs of articulated trees between links and the world (`asperity.convex.paths`).

They are sorted by island, and each one comes after those before it.
"""

BONDS = Layout(
    "bonds between trees",
    count="i8",
    tree="i8[bonds, 2]",
    at="i8[bonds]",  # offset of the block in `coupling`
    own_first="i8[ntree + 1]",  # bonds of which a tree is the first one, in the list of all
    own="i8[bonds]",
    own_column="i8[bonds]",  # the first dofs of their second trees
    own_three="i8[ntree]",  # 1 where all these trees, and it, have three dofs
    first="i8[ntree + 1]",  # a tree's bonds with those eliminated later, in the list of all,
    end="i8[bonds]",  # each the bond, doubled, and 1 more if the tree is its second one
    root="i8[ntree]",  # the first of all trees that hang together by bonds
    rank="i8[ntree]",  # its place in the order of elimination, −1 of trees without bonds
    groups="i8",  # number of such groups, single trees included
)
"""Bonds of trees of three dofs, which A couples (`asperity.convex.particles`)."""

PANELS = Layout(
    "panels of trees",
    count="i8",
    of_tree="i8[bonded_trees] = -1",
    tree_row="i8[bonded_trees]",  # of its first dof in its panel
    tree_island="i8[bonded_trees] = -1",  # when panels were listed
    first="i8[bonded_trees]",  # places [first, last) in `order`
    last="i8[bonded_trees]",
    width="i8[bonded_trees]",  # dofs of its own trees,
    length="i8[bonded_trees]",  # and of later neighbours as well: the numbers of a row,
    stride="i8[bonded_trees]",  # in eights, the last of which are zero
    at="i8[bonded_trees]",  # offset in `coupling`, of the set at hand,
    to_other="i8",  # and from there to the other set
    touched="i8[bonded_trees]",  # 1 if contacts and rows change its factor
    update_start="i8[bonded_trees + 2]",  # per panel, those before it that change it,
    update_panel="i8[panel_pairs]",
    update_entry="i8[panel_pairs]",  # and the entry of the first of its trees that they couple with
)
"""Trees of islands with bonds that are eliminated together (`asperity.convex.particles.panels`)."""

DIVIDED = Layout(
    "division of large islands",
    fewest_trees="i8",  # trees from which on an island is divided
    # the elimination tree, while islands are ordered
    elimination_parent="i8[ntree]",
    elimination_work="f8[ntree]",
    tree_part="i8[ntree]",
    # parts: an island's subtrees come first in its part of `island_tree`, then what they hang on
    island_part_start="i8[ntree + 2]",
    part_first="i8[ntree]",  # places [first, last) in `order`
    part_last="i8[ntree]",
    # couplings by the tree that is eliminated later, in the order of the other one
    source_start="i8[ntree]",  # per tree
    source_size="i8[ntree]",
    source_tree="i8[tree_pairs]",
    source_entry="i8[tree_pairs]",
    # pairs: contacts of the same two links that follow each other
    pair_contact="i8[contacts, 2]",  # [first, last)
    # of two free bodies, or of one and the world (−1); `NOT_FREE`: of any others
    pair_tree="i8[contacts, 2]",
    pair_block="i8[contacts]",  # of two free bodies: their block in `coupling`
    tree_pair_start="i8[ntree + 2]",  # pairs of a free body
    tree_pair="i8[2 * contacts]",
    island_chunk_start="i8[ntree + 2]",
    chunk_contact="i8[contacts, 2]",  # [first, last)
    chunk_pair="i8[contacts, 2]",
    island_mixed="i8[ntree + 1]",  # pairs of other links than free bodies'
)
"""Divided islands: large ones, whose solves several threads share (`asperity.convex.division`).

What is computed may not depend on how many threads there are. So all of this depends on the island
alone: chunks of contacts, and parts, which are subtrees of the elimination tree.
"""

GRAPH = Layout(
    "graph of a convex problem",
    chains=CHAINS,
    paths=PATHS,
    bonds=BONDS,
    panels=PANELS,
    divided=DIVIDED,
    nv="i8",
    ntree="i8",
    tree_start="i8[ntree]",
    tree_size="i8[ntree]",
    tree_spatial="i8[ntree]",
    dof_tree="i8[nv]",
    block_start="i8[:]",  # of a tree's dense block in `matrix` and `factor`
    # graph of trees
    islands="i8",
    components="i8 = -1",  # of the symbolic factorization, −1 if there is none
    coupling_size="i8",  # numbers in its blocks
    entries="i8",  # blocks
    order="i8[ntree]",
    position="i8[ntree]",
    column_start="i8[ntree + 1]",  # per tree, into the entry arrays
    column_size="i8[ntree]",
    entry_tree="i8[tree_pairs]",
    entry_block="i8[tree_pairs]",  # offset of the entry's block in `coupling`
    # bits of the trees with which a tree couples and that are eliminated later
    adjacency="i8[ntree, (ntree + 63) // 64]",
    waiting="i8[(ntree + 63) // 64]",  # bits of trees that are yet to be eliminated
    neighbours="i8[ntree]",  # marks and lists of trees, for whoever needs them next
    degree="i8[ntree]",  # sizes of all trees with which a tree couples
    elimination_key="i8[ntree]",  # by place: see `asperity.convex.elimination`
    elimination_slot="i8[ntree]",  # a tree's place
    component="i8[2 * ntree + 1]",  # union-find parents, then island of a tree
    island_start="i8[ntree + 1]",
    island_tree="i8[ntree]",
    island_contact_start="i8[ntree + 2]",
    island_row_start="i8[ntree + 2]",
    # contacts and rows, sorted by island
    contact="i8[contacts]",  # index into the contact set
    base_a="i8[contacts]",  # where the spatial velocity of side A or B starts in a vector, or −1
    base_b="i8[contacts]",
    ellipsoids="i8",  # 0 if no contact is ellipsoidal (`asperity.contact.contact_set`)
    ellipsoidal="i8[contacts]",  # impulses that one has, or 0; void where none is
    row="i8[rows]",
    # of its Jacobian, of a row of one dof; otherwise −1, or −2 of a row between trees
    row_entry="i8[rows] = -1",
    large_tree="i8",  # the one tree that may fit contact space, −1 where there are none or several
)
