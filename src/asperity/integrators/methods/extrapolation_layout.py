"""What extrapolated steps remember of the last one."""

from __future__ import annotations

import numpy as np

from asperity.compiled import Layout, Table

__all__ = ["EXTRAPOLATION", "extrapolation_table"]

EXTRAPOLATION = Layout(
    "extrapolation",
    # Modes of the contacts and of the rows of every tree, per solution: before the step (contacts
    # only), of the whole step, and of the two half steps.
    contact_modes="i8[:,:]",
    row_modes="i8[:,:]",
    closing="f8[:,:]",  # and the fastest closing speeds, times dissipation
    # Slip before the step of contacts that stick in it, and what is left of the velocity after the
    # first half step in the directions of contacts there: slip of what sticks, closing speeds.
    doubtful="f8[:]",
    turned_slip="f8[:]",
    turned_closing="f8[:]",
    island="i8[:]",  # of every tree, at the beginning of the step
    smooth="i8[:]",
    rough="i8[:]",  # per island: 1 if modes differ in one of its trees
    stiff="f8[:]",  # of the contacts of every tree, for a half step
    # Of the forces in the middle (`asperity.integrators.methods.middle_forces`): islands in which
    # something is held, the shares of trees, 0 of those whose forces were not corrected in the last
    # step, and of islands by how much these change a velocity, and the fastest.
    held="i8[:]",
    corrected="f8[:]",
    changed="f8[:]",
    fastest="f8[:]",
    middle_force="f8[:]",  # and what these forces change by
    # Of the positions (`asperity.integrators.methods.undamped`): of every tree whether, and what
    # share of the damping of extrapolation they are to lack, the displacement that takes it away,
    # and a compiled entry point.
    undamps="i8[:]",
    undamped_share="f8[:]",
    displacement="f8[:]",
    velocity_response="i8",
)


def extrapolation_table(trees: int, dofs: int, velocity_response: int) -> Table:
    """The memory for so many trees and degrees of freedom."""
    return Table(
        EXTRAPOLATION,
        contact_modes=np.zeros((4, trees), np.int64),
        row_modes=np.zeros((4, trees), np.int64),
        closing=np.zeros((4, trees)),
        doubtful=np.zeros(trees),
        turned_slip=np.zeros(trees),
        turned_closing=np.zeros(trees),
        island=np.zeros(trees, np.int64),
        smooth=np.zeros(trees, np.int64),
        rough=np.zeros(trees, np.int64),
        stiff=np.zeros(trees),
        held=np.zeros(trees, np.int64),
        corrected=np.zeros(trees),
        changed=np.zeros(trees),
        fastest=np.zeros(trees),
        middle_force=np.zeros(dofs),
        undamps=np.zeros(trees, np.int64),
        undamped_share=np.zeros(trees),
        displacement=np.zeros(dofs),
        velocity_response=velocity_response,
    )
