"""How implicit the springs of joints are.

Implicit springs, with δt² K in a step's matrix, are stable in steps of any length, and lose energy
in all of them; explicit ones, without, are unstable from ω δt = 2 on. With κ δt² K, of both the
whole step and its halves, extrapolation (docs/equations.md, ‘Extrapolation’) multiplies the
amplitude of an oscillator of frequency ω by

    1 − (1 − 2 κ + 5 κ²) (ω δt)⁴/16

in a step and lets it run ahead by (3 κ − 1) (ω δt)³/12: for κ = 1 by (ω δt)³/6, with 1 − (ω δt)⁴/4;
for κ = 1/4 it lags by an eighth of that, and loses a fifth. So κ is 1/4 of springs that are slow
against the step, and goes to 1, which is L-stable, of those that are fast:

    κ = (1/4 + s)/(1 + s),      s = δt² Σ k_i (M⁻¹)_ii ≥ (ω δt)²

Then every step, however long, takes energy from the oscillator, whatever its phase, so that steps
which follow its motion cannot feed it. M⁻¹ is that of the initial pose, and may be thirty times as
large elsewhere without changing this.
"""

from __future__ import annotations

from asperity.compiled import Table, compiled

__all__ = ["has_fast_springs", "implicit_share"]

_SHARE = 0.25
"""κ of springs that are slow against the step."""


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
    return (_SHARE + fastness) / (1.0 + fastness)
