"""Stages of a step's derivative: compiled functions of one signature, called by their address.

Trajectories run through them in compiled code, and steps by themselves from Python: each is
compiled once.
"""

from __future__ import annotations

from numba import types

from asperity.compiled import Table, compiled, compiled_loop, entry_point
from asperity.compiled.calls import call_ppdp_status
from asperity.derivatives.layout import DERIVATIVE
from asperity.integrators.world_layout import WORLD

__all__ = ["ALL", "call_stage", "run_stage", "stage"]

# What a stage is about, as its number; less than zero are so many directions.
ALL = 0

stage = entry_point(
    types.int64(WORLD.type, DERIVATIVE.type, types.float64, types.int64),
)
"""Decorator of a function of world, derivative, step size and a number, which returns a code."""


@compiled
def call_stage(address: int, world: Table, work: Table, step: float, number: int) -> int:
    """Call a stage by its address."""
    return int(call_ppdp_status(address, world, work, step, number))


_I = types.int64


@compiled_loop(_I(_I, _I, _I, types.float64, _I))
def run_stage(address: int, world_address: int, work_address: int, step: float, number: int) -> int:
    """Call a stage from Python."""
    return int(
        call_ppdp_status(
            address, WORLD.at(world_address), DERIVATIVE.at(work_address), step, number
        )
    )
