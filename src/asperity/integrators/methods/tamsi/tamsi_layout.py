"""Memory of TAMSI's solver beside the convex problem's: what is not symmetric, and options."""

from __future__ import annotations

import numpy as np

from asperity.compiled import Layout, Table

__all__ = ["TAMSI", "grow_lower", "new_tamsi_table"]

TAMSI = Layout(
    "tamsi",
    transition_aware="i8",  # whether updates are cut
    parabolic="i8",  # the friction law: a parabola (Drake), or a ramp (the paper)
    relative="f8",  # change of contact velocities, in stiction tolerances, that counts as none
    lower="f8[:]",  # blocks below the diagonal, beside the problem's ``coupling`` above it
    pivot="i8[:]",  # row exchanges within diagonal blocks
    patch="f8[:,:]",  # 6 × 6 Jacobians of two bodies: AA, AB, BA, BB
    projection="f8[:,:]",  # of these onto a chain of dofs
    line="f8[:]",  # and one line of what they are between two chains
    limited="i8",  # updates that the transition-aware line search has cut
)


def new_tamsi_table(problem: Table) -> Table:
    """Allocate the memory that goes with a problem, and join the two."""
    longest = int(problem.tree_size.max(initial=6))
    table = Table(
        TAMSI,
        transition_aware=1,
        parabolic=0,
        relative=1e-2,
        lower=np.zeros(problem.coupling.size),
        pivot=np.zeros(problem.nv, np.int64),
        patch=np.zeros((4, 36)),
        projection=np.zeros((6, longest)),
        line=np.zeros(longest),
    )
    problem.extension = table.address
    return table


def grow_lower(table: Table, problem: Table) -> None:
    """Make as much room below the diagonal as the problem has above it."""
    table.lower = np.zeros(problem.coupling.size)
