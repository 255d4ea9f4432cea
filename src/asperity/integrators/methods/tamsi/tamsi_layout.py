"""Memory of TAMSI's solver beside the convex problem's: what is not symmetric, and options."""

from __future__ import annotations

from asperity.compiled import Layout, Table

__all__ = ["TAMSI", "new_tamsi_table"]

TAMSI = Layout(
    "tamsi",
    transition_aware="i8 = 1",  # whether updates are cut
    parabolic="i8",  # the friction law: a parabola (Drake), or a ramp (the paper)
    # change of contact velocities, in stiction tolerances, that counts as none
    relative="f8 = 1e-2",
    # blocks below the diagonal, beside the problem's ``coupling`` above it
    lower="f8[coupling_room]",
    pivot="i8[nv]",  # row exchanges within diagonal blocks
    patch="f8[4, 36]",  # 6 × 6 Jacobians of two bodies: AA, AB, BA, BB
    projection="f8[6, largest_tree]",  # of these onto a chain of dofs
    line="f8[largest_tree]",  # and one line of what they are between two chains
    limited="i8",  # updates that the transition-aware line search has cut
)


def new_tamsi_table(problem: Table) -> Table:
    """Allocate the memory that goes with a problem, and join the two."""
    graph = problem.graph
    table = Table(
        TAMSI,
        nv=graph.nv,
        coupling_room=problem.hessian.coupling.size,
        largest_tree=int(graph.tree_size.max(initial=6)),
    )
    problem.law.extension = table.address
    return table
