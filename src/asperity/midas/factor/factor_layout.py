"""The table of the reduced Hessian's factor."""

from __future__ import annotations

from asperity.compiled import Layout
from asperity.convex.graph_layout import PANELS

__all__ = ["FACTOR"]

FACTOR = Layout(
    "factor",
    code="i8",  # `FACTOR_FULL` if there was no room, or 0
    size="i8",  # of all panels, if there was room for the entries
    # Pairs of links that have been arranged for, −1 if there is no structure.
    pairs="i8 = -1",
    pair_link="i8[slot_room + soft_pair_room, 2]",
    variable_link="i8[variables]",
    # Place of vertices of deformable bodies in the order of elimination, and what comes after them.
    rank="i8[links]",
    # Links and how they are eliminated, as `asperity.convex.graph_layout.GRAPH` has it for trees.
    ntree="i8",
    tree_start="i8[links]",
    tree_size="i8[links]",
    adjacency="i8[links, (links + 63) // 64]",  # bits of those that are eliminated later
    waiting="i8[(links + 63) // 64]",
    degree="i8[links]",
    elimination_key="i8[links]",
    elimination_slot="i8[links]",
    order="i8[links]",
    position="i8[links]",
    column_start="i8[links]",
    column_size="i8[links]",
    entry_tree="i8[panel_pairs]",
    # Where blocks begin in the panels: of links with themselves, and with those that are eliminated
    # later, in the order of links; and the step between rows.
    diagonal_at="i8[links]",
    block_at="i8[panel_pairs]",
    row_step="i8[links]",
    knows_couples="i8",  # 1 if `asperity.midas.soft.couples` has looked up its places in these
    panels=PANELS,
    # Parts that hang together, by places in the order.
    component_start="i8[links + 1]",
    # Islands, by their panels and links: island_panel[i] to island_panel[i + 1].
    islands="i8",
    island_panel="i8[links + 1]",
    island_link="i8[links + 1]",
    island_order="i8[links]",
    link_island="i8[links]",
    values="f8[factor_room]",
)
"""The reduced Hessian in panels, island by island, and how they are found."""
