"""Newton's method: the iteration at hand."""

from __future__ import annotations

from asperity.compiled import Layout

__all__ = ["NEWTON"]

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
