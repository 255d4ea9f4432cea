"""Directions of Newton's method, from the assembled gradient and Hessian."""

from __future__ import annotations

from numba import types

from asperity.compiled import Table, compiled, entry_point
from asperity.compiled.calls import call_pp_status
from asperity.midas.engine_layout import MIDAS
from asperity.midas.newton.envelope import factorize, solve
from asperity.midas.soft.calls import ARRANGE, ask_soft

__all__ = [
    "MOST_DAMPING",
    "choose_direction",
    "find_direction",
    "set_damping",
    "slope_along",
    "solve_again",
]

# Iterations in a row that go less than this share of their way before directions are damped.
_SHORT = 0.05
_PATIENCE = 3
# Share that damped directions shall have free.
_ROOM = 0.9
_GROWTH = 4.0
_DECAY = 1.5
MOST_DAMPING = 1e12
"""Damping beyond which nothing is left to gain from it."""


@entry_point(types.int64(MIDAS.type, types.int64))
def find_direction(engine: Table, _unused: int) -> int:
    """Fill the direction from the assembled gradient and Hessian; returns 0, or 1 if that fails."""
    gradient = engine.newton.gradient
    # Massless links between the joints of a body may leave a variable without stiffness.
    for i in range(gradient.size):
        at = engine.factor.row_start[i + 1] - 1
        engine.factor.values[at] += 1e-13 * engine.factor.values[at]
    engine.counts.factorizations += 1
    if factorize(engine) != 0:
        return 1
    solve_again(engine)
    return 0


@compiled
def solve_again(engine: Table) -> None:
    """Fill the direction from the gradient and the factor at hand."""
    for i in range(engine.newton.gradient.size):
        engine.factor.right[engine.factor.variable_row[i]] = -engine.newton.gradient[i]
    solve(engine)
    for i in range(engine.newton.gradient.size):
        engine.newton.direction[i] = engine.factor.right[engine.factor.variable_row[i]]


@compiled
def choose_direction(engine: Table) -> int:
    """Fill Newton's direction, or one that is downhill if that is not; returns 0, or 1 if none is.

    A solution whose Hessian is once indefinite goes on without the terms that may make it so: it
    would be so again at most iterates, and each trial costs a factorization.
    """
    if ask_soft(engine, ARRANGE) != 0:
        return 1
    call_pp_status(engine.entries.assemble, engine, 0)
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


@compiled
def set_damping(newton: Table, free: float, short: int) -> int:
    """Choose the damping of the next direction; returns the number of short steps in a row.

    ``free`` is the part of the way that surfaces and limits have left.

    Surfaces that have come much nearer than they belong, along paths that turn, allow steps of the
    square root of their distance only, too short for the barrier to part them. Shorter directions
    it can follow: damped ones (Levenberg 1944), by inertia.
    """
    damping = newton.inertia_damping
    short = short + 1 if free < _SHORT else 0
    if damping == 0.0:
        if short > _PATIENCE:
            newton.inertia_damping = 1.0
    elif free < _ROOM:
        newton.inertia_damping = min(_GROWTH * damping, MOST_DAMPING)
    else:
        newton.inertia_damping = damping / _DECAY if damping > 1.0 else 0.0
    return short
