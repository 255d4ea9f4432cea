"""Step doubling: an error estimate for any method (CENIC V-A).

One step of size h and two of h/2 start from the same state; the two half steps are propagated, the
difference estimates their error. The full step and the first half step share one evaluation of the
model, which also survives a rejection. Warm starts are those of CENIC VI-A: the half step from the
mean of beginning and full step, the second half step from the full step.
"""

from __future__ import annotations

from asperity.compiled import Table
from asperity.compiled.calls import call_method
from asperity.integrators.methods.guesses import guess_end, guess_middle
from asperity.integrators.methods.method import WrappingMethod
from asperity.integrators.methods.motion import position_difference
from asperity.integrators.world_layout import OK, compiled_method

__all__ = ["StepDoubling", "step_doubling_method"]


@compiled_method
def step_doubling_method(world: Table, source: Table, target: Table, step: float) -> int:
    """Two half steps of ``base_method``, compared with one full step."""
    method = world.base_method
    half = world.half
    full = world.full
    world.guess_kind = 0
    code = call_method(method, world, source, full, step)
    if code != OK:
        return code
    guess_middle(world, source, full)
    code = call_method(method, world, source, half, 0.5 * step)
    if code != OK:
        return code
    guess_end(world, full.qvel)
    code = call_method(method, world, half, target, 0.5 * step)
    if code != OK:
        return code
    position_difference(world.plant, full, target, world.result.error)
    # Of a method of order p the difference is of order p + 1. The sample is the last half step's.
    world.result.error_order = world.base_order + 1
    return OK


class StepDoubling(WrappingMethod):
    """Any method without an error estimate, with one."""

    kernel = step_doubling_method
    estimates_error = True
