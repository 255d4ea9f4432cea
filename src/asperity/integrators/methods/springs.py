"""Which springs of joints a step resolves.

An implicit spring is stable in steps of any length, and loses energy in all of them: extrapolation
of implicit Euler multiplies the amplitude of an oscillator by 1 − (ω δt)⁴/4 per step and is behind
by (ω δt)³/6. Explicit springs, which are those of a step's beginning, leave 1 − (ω δt)⁴/24 and a
quarter of that lag (docs/equations.md, ‘Extrapolation’), and symplectic Euler loses nothing; but
both are unstable from ω δt = 2 on.
"""

from __future__ import annotations

from asperity.compiled import Table, compiled

__all__ = ["has_fast_springs"]

_RESOLVED = 1.0
"""δt² times the squares of frequencies, up to which springs are explicit: a quarter of the bound of
stability, since links may fold to a fraction of the inertia of their initial pose."""


@compiled
def has_fast_springs(plant: Table, tree: int, step: float) -> bool:
    """Whether explicit springs of a tree's joints might gain energy.

    The squares of its frequencies sum to the trace of M⁻¹ K, of which MuJoCo knows the diagonal of
    M⁻¹ in the initial pose.
    """
    total = 0.0
    for i in range(plant.tree_start[tree], plant.tree_start[tree] + plant.tree_size[tree]):
        total += plant.dof_stiffness[i] * plant.dof_inverse_weight[i]
    return step * step * total > _RESOLVED
