"""Newton's method: the iteration at hand, and the factors of the Hessian."""

from __future__ import annotations

from asperity.compiled import Layout

__all__ = [
    "FACTOR",
    "NEWTON",
]

NEWTON = Layout(
    "newton",
    iterations_left="i8",
    unlike="i8",  # 1 if contacts are expected to bear other than they do
    anchored="i8",  # candidates that have an anchor
    only_slopes="i8",  # 1 while what is assembled is the gradient alone, and the factor stays
    on_arcs="i8",  # 1 if the trial state is on arcs, off the straight way (`arcs`)
    nearly_rigid="i8",  # 1 if strains are those of forces, not of the way that links were turned
    taken_share="f8",  # of the direction, by the line search
    at_trial="i8",  # 1 while energies are those of the trial state, not of the iterate
    curved="i8",  # 1 while the Hessian has the terms that may make it indefinite
    known_time="f8",  # of the trial path, until which it is free as far as is known
    arc_work="f8[4, 3, 3]",
    link_gradient="f8[links, 4, 3]",
    gradient="f8[variables]",
    direction="f8[variables]",
)
"""The iteration at hand."""

FACTOR = Layout(
    "factor",
    tree_order="i8[trees]",
    tree_place="i8[trees]",
    tree_near="u1[trees, trees]",
    # Islands, by their rows and links: island_row[i] to island_row[i + 1].
    islands="i8",
    island_row="i8[trees + 1]",
    island_link="i8[trees + 1]",
    island_order="i8[links]",
    tree_island="i8[trees]",
    row_first="i8[variables]",
    row_start="i8[variables + 1]",
    row_used="i8[variables]",  # first column that is not zero in the factor at hand
    variable_row="i8[variables]",
    values="f8[factor_room]",
    right="f8[variables]",
)
"""The reduced Hessian in envelope form, island by island."""
