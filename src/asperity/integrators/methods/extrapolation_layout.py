"""What extrapolated steps remember of the last one."""

from __future__ import annotations

from asperity.compiled import Layout

__all__ = ["EXTRAPOLATION"]

EXTRAPOLATION = Layout(
    "extrapolation",
    # Modes of the contacts and of the rows of every tree, per solution: before the step (contacts
    # only), of the whole step, and of the two half steps.
    contact_modes="i8[4, trees]",
    row_modes="i8[4, trees]",
    closing="f8[4, trees]",  # and the fastest closing speeds, times dissipation
    # Slip before the step of contacts that stick in it, and what is left of the velocity after the
    # first half step in the directions of contacts there: slip of what sticks, closing speeds.
    doubtful="f8[trees]",
    turned_slip="f8[trees]",
    turned_closing="f8[trees]",
    island="i8[trees]",  # of every tree, at the beginning of the step
    smooth="i8[trees]",
    rough="i8[trees]",  # per island: 1 if modes differ in one of its trees
    stiff="f8[trees]",  # of the contacts of every tree, for a half step
    # Of the forces in the middle (`asperity.integrators.methods.middle_forces`): islands in which
    # something is held, the shares of trees, 0 of those whose forces were not corrected in the last
    # step, and of islands by how much these change a velocity, and the fastest.
    held="i8[trees]",
    corrected="f8[trees]",
    changed="f8[trees]",
    fastest="f8[trees]",
    middle_force="f8[dofs]",  # and what these forces change by
    # Of the positions (`asperity.integrators.methods.undamped`): of every tree whether, and what
    # share of the damping of extrapolation they are to lack, the displacement that takes it away,
    # and a compiled entry point.
    undamps="i8[trees]",
    undamped_share="f8[trees]",
    displacement="f8[dofs]",
    velocity_response="i8",
)
