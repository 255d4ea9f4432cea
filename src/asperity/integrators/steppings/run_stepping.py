"""Python's way into a stepping."""

from __future__ import annotations

from numba import types

from asperity.compiled import compiled_loop
from asperity.compiled.calls import call_stepping

__all__ = ["run_stepping"]

_INT = types.int64


# The world as its address: Numba needs two microseconds to see what a table is.
@compiled_loop(_INT(_INT, _INT, _INT, types.float64, types.float64, _INT))
def run_stepping(
    stepping: int, world: int, method: int, step: float, end: float, budget: int
) -> int:
    """Call the stepping at an address; see `asperity.integrators.steppings.stepping`."""
    return call_stepping(stepping, world, method, step, end, budget)
