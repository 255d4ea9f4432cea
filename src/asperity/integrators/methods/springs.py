"""Springs of joints: explicit where a step resolves them, implicit where it does not.

Implicit springs add δt² K to a step's matrix. They are stable at every step size, and lose energy
in every step that is not extrapolated. Explicit springs are unstable from ω δt = 2 on. So the whole
step and its halves have κ δt² K with

    κ = (1 − w)(1/4 + s)/(1 + s),       s = δt² tr(M⁻¹ K) ≥ (ω δt)²
    w = 1 up to s = 1/2, 0 from s = 3/2, smooth between

For fast springs κ goes to 1, which is L-stable. M is that at the beginning of the step. Whatever κ
is, extrapolated steps keep energy and phase of an oscillator that they resolve
(`asperity.integrators.methods.swings`).
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.convex.block_cholesky import cholesky, forward

__all__ = ["fill_spring_shares", "has_fast_springs"]

# s up to which springs are explicit, and from which they are L-stable.
_RESOLVED = 0.5
_FAST = 1.5


@compiled
def has_fast_springs(plant: Table, tree: int, step: float) -> bool:
    """Whether explicit springs of a tree's joints might gain energy.

    Symplectic Euler is stable up to 4/δt² of the largest square of a frequency. M is that of the
    initial pose, of whose inverse MuJoCo knows the diagonal.
    """
    trees = plant.trees
    total = 0.0
    for i in range(trees.start[tree], trees.start[tree] + trees.size[tree]):
        total += plant.dofs.stiffness[i] * plant.dofs.inverse_weight[i]
    return step * step * total > 1.0


@compiled
def _fastness(plant: Table, state: Table, tree: int, factor: np.ndarray, row: np.ndarray) -> float:
    """tr(M⁻¹ K) of a tree: squares of the frequencies of its springs, summed [1/s²]."""
    trees = plant.trees
    dofs = plant.dofs
    start = trees.start[tree]
    n = trees.size[tree]
    springs = 0.0
    for i in range(n):
        springs += dofs.stiffness[start + i]
    if trees.spatial[tree] or springs == 0.0:
        return 0.0
    block = trees.block_start[tree]
    for i in range(n * n):
        factor[i] = state.mass[block + i]
    if not cholesky(factor, 0, n, row, 0):
        return np.inf
    total = 0.0
    for dof in range(n):
        if dofs.stiffness[start + dof] > 0.0:
            for i in range(dof, n):
                row[n + i] = 1.0 if i == dof else 0.0
            square = forward(factor, 0, n, row, 0, row, n, dof)
            total += dofs.stiffness[start + dof] * square
    return total


@compiled
def fill_spring_shares(
    plant: Table,
    state: Table,
    step: float,
    implicit: np.ndarray,
    factor: np.ndarray,
    row: np.ndarray,
) -> None:
    """Fill κ of every degree of freedom, in a step that is to be extrapolated.

    Needs the mass matrix of the state at the step's beginning, and room for the factor of a tree's
    and for twice its size.
    """
    for tree in range(plant.ntree):
        fastness = step * step * _fastness(plant, state, tree, factor, row)
        between = min(max((fastness - _RESOLVED) / (_FAST - _RESOLVED), 0.0), 1.0)
        share = between * between * (3.0 - 2.0 * between)
        if fastness < np.inf:
            share *= (0.25 + fastness) / (1.0 + fastness)
        start = plant.trees.start[tree]
        for i in range(start, start + plant.trees.size[tree]):
            implicit[i] = share
