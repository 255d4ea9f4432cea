"""Stages of a step's derivative: compiled functions of one signature, called by their address.

Steps and trajectories run through them in compiled code, and each is compiled once.
"""

from __future__ import annotations

from numba import types

from asperity.compiled import Table, compiled, entry_point
from asperity.compiled.calls import call_ppdp_status
from asperity.derivatives.layout import DERIVATIVE
from asperity.integrators.world_layout import OK, WORLD

__all__ = ["call_stage", "differentiate", "fill_columns", "stage"]

stage = entry_point(
    types.int64(WORLD.type, DERIVATIVE.type, types.float64, types.int64),
)
"""Decorator of a function of world, derivative, step size and a number, which returns a code."""


@compiled
def call_stage(address: int, world: Table, work: Table, step: float, number: int) -> int:
    """Call a stage by its address."""
    return int(call_ppdp_status(address, world, work, step, number))


@compiled
def fill_columns(world: Table, work: Table, step: float, number: int, with_parameters: bool) -> int:
    """Fill ``columns`` for the step whose root has been found; returns a code.

    By so many coordinates of state, inputs and parameters, or with −count along ``directions``.
    The last columns are those by the parameters, or along directions with which these change, if
    that is wanted.
    """
    parameters = work.parameters
    first = abs(number) - parameters.displaced.shape[0]
    code = call_stage(work.fill_columns, world, work, step, min(number, 0))
    if code == OK and with_parameters and parameters.displaced.shape[0] > 0:
        if number > 0:
            for j in range(first, number):
                for i in range(work.columns.shape[1]):
                    work.columns[j, i] = 0.0
        code = call_stage(parameters.add_parameters, world, work, step, first)
    work.ends.parameters = first if with_parameters else abs(number)
    if code == OK and work.ends.acts == 1:
        code = call_stage(work.ends.differentiate, world, work, step, 0)
    return int(code)


@compiled
def differentiate(
    world: Table, work: Table, step: float, number: int, with_parameters: bool
) -> int:
    """Fill ``result`` for the step whose root has been found, as `fill_columns`; returns a code."""
    code = fill_columns(world, work, step, number, with_parameters)
    if code == OK:
        code = call_stage(work.assemble, world, work, step, number)
    return int(code)
