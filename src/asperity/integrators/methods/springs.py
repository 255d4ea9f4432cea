"""How implicit the springs of joints are.

Implicit springs, with δt² K in a step's matrix, are stable in steps of any length, and lose energy
in all of them; explicit ones, without, are unstable from ω δt = 2 on, and keep their energy as
everything does that swings (`asperity.integrators.methods.swings`). With κ δt² K, of both the
whole step and its halves, κ is 0 of springs that are slow against the step and goes to 1, which is
L-stable, of those that are fast:

    κ = s²/(16 + s²),      s = δt² Σ k_i (M⁻¹)_ii ≥ (ω δt)²

On average over its phases an oscillator then loses a third of a millionth of its amplitude in a
step of ω δt = 0.3, and 0.4 % of it at ω δt = 1. M⁻¹ is that of the initial pose.
"""

from __future__ import annotations

from asperity.compiled import Table, compiled

__all__ = ["has_fast_springs", "implicit_share"]


@compiled
def _fastness(plant: Table, tree: int, step: float) -> float:
    """Squares of the frequencies of a tree's springs, times δt², summed.

    That is the trace of δt² M⁻¹ K, of which MuJoCo knows the diagonal of M⁻¹ in the initial pose.
    """
    total = 0.0
    for i in range(plant.tree_start[tree], plant.tree_start[tree] + plant.tree_size[tree]):
        total += plant.dof_stiffness[i] * plant.dof_inverse_weight[i]
    return step * step * total


@compiled
def has_fast_springs(plant: Table, tree: int, step: float) -> bool:
    """Whether explicit springs of a tree's joints might gain energy.

    Symplectic Euler is stable up to 4/δt² of the largest square of a frequency.
    """
    return _fastness(plant, tree, step) > 1.0


@compiled
def implicit_share(plant: Table, tree: int, step: float) -> float:
    """κ of a tree, in a step that is to be extrapolated."""
    fastness = _fastness(plant, tree, step)
    square = fastness * fastness
    return square / (16.0 + square)
