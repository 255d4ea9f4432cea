"""Directions of Newton's method, from the assembled gradient and Hessian."""

from __future__ import annotations

from numba import types

from asperity.compiled import Table, compiled, entry_point
from asperity.compiled.calls import call_pp_status
from asperity.midas.engine_layout import MIDAS
from asperity.midas.factor.cholesky import factorize, solve
from asperity.midas.soft.calls import ARRANGE, ask_soft
from asperity.midas.time.sleep import keep_still

__all__ = [
    "choose_direction",
    "find_direction",
    "slope_along",
    "solve_again",
]


@entry_point(types.int64(MIDAS.type, types.int64))
def find_direction(engine: Table, _unused: int) -> int:
    """Fill the direction from the assembled gradient and Hessian; returns 0, or 1 if that fails."""
    factor = engine.factor
    if factor.code != 0:
        return 1
    # Massless links between the joints of a body may leave a variable without stiffness.
    for link in range(factor.tree_size.size):
        at = factor.diagonal_at[link]
        for _ in range(factor.tree_size[link]):
            factor.values[at] += 1e-13 * factor.values[at]
            at += factor.row_step[link] + 1
    engine.counts.factorizations += 1
    if factorize(engine) != 0:
        return 1
    solve_again(engine)
    return 0


@compiled
def solve_again(engine: Table) -> None:
    """Fill the direction from the gradient and the factor at hand."""
    for i in range(engine.newton.gradient.size):
        engine.newton.direction[i] = -engine.newton.gradient[i]
    keep_still(engine, engine.newton.direction)
    solve(engine)
    # What is about to touch them would move them.
    keep_still(engine, engine.newton.direction)


@compiled
def choose_direction(engine: Table) -> int:
    """Fill Newton's direction, or one that is downhill if that is not; returns 0, or 1 if none is.

    A solution whose Hessian is once indefinite goes on without the terms that may make it so: it
    would be so again at most iterates, and each trial costs a factorization.
    """
    if ask_soft(engine, ARRANGE) != 0:
        return 1
    if call_pp_status(engine.entries.assemble, engine, 0) != 0:
        return 1
    if call_pp_status(engine.entries.find_direction, engine, 0) == 0:
        return 0
    engine.newton.curved = 0
    call_pp_status(engine.entries.assemble, engine, 0)
    return call_pp_status(engine.entries.find_direction, engine, 0)


@compiled
def slope_along(newton: Table) -> float:
    """Derivative of the energy along the direction."""
    total = 0.0
    for i in range(newton.gradient.size):
        total += newton.gradient[i] * newton.direction[i]
    return total
