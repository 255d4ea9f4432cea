"""Cholesky factorization of the reduced Hessian, island by island, and solves with it."""

from __future__ import annotations

from asperity.compiled import Table, compiled, entry_point
from asperity.convex.particles.panel_cholesky import (
    factorize_panel,
    solve_backward,
    solve_forward,
)
from asperity.midas.parts import PART, do_parts

__all__ = ["CHOLESKY_KERNELS", "factorize", "solve"]


@entry_point(PART)
def factorize_part(engine: Table, island: int, _member: int, _unused: int) -> int:
    """Replace an island's panels by those of its factor; 1 if a pivot is not positive."""
    factor = engine.factor
    for panel in range(factor.island_panel[island], factor.island_panel[island + 1]):
        if not factorize_panel(factor, factor.values, engine.work, panel):
            return 1
    return 0


@entry_point(PART)
def solve_part(engine: Table, island: int, _member: int, _unused: int) -> int:
    """Replace an island's part of the direction, which is the right-hand side, by the solution."""
    factor = engine.factor
    x = engine.newton.direction
    first = factor.island_panel[island]
    end = factor.island_panel[island + 1]
    for panel in range(first, end):
        solve_forward(factor, factor.values, engine.work, panel, x)
    for back in range(end - first):
        solve_backward(factor, factor.values, engine.work, end - 1 - back, x)
    return 0


@compiled
def factorize(engine: Table) -> int:
    """Replace the Hessian by its Cholesky factor; returns 1 if a pivot is not positive."""
    return do_parts(engine, engine.entries.factorize_part, engine.factor.islands)


@compiled
def solve(engine: Table) -> None:
    """Replace the direction, which is the right-hand side, by the solution."""
    do_parts(engine, engine.entries.solve_part, engine.factor.islands)


CHOLESKY_KERNELS = (factorize_part, solve_part)
