"""Step doubling: an error estimate for any method (CENIC V-A).

One step of size h and two of h/2 start from the same state; the two half steps are propagated, the
difference estimates their error. The full step and the first half step share one evaluation of the
model, which also survives a rejection. Warm starts are those of CENIC VI-A: the half step from the
mean of beginning and full step, the second half step from the full step.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.compiled.calls import call_method
from asperity.integrators.methods.method import WrappingMethod
from asperity.integrators.methods.motion import position_difference
from asperity.integrators.world_layout import END_VELOCITY, OK, compiled_method

__all__ = [
    "StepDoubling",
    "guess_first_half",
    "guess_second_half",
    "guess_whole",
    "step_doubling_method",
]


@compiled
def guess_whole(world: Table, source: Table, step: float) -> None:
    """Let the next solve begin with what a refused longer attempt has found for this time."""
    world.guess_kind = 0
    if not world.tried > step:
        return
    share = 2.0 * step / world.tried
    for i in range(world.guess.size):
        half = world.tried_half[i]
        if share < 1.0:
            world.guess[i] = source.qvel[i] + share * (half - source.qvel[i])
        else:
            world.guess[i] = half + (share - 1.0) * (world.tried_end[i] - half)
    world.guess_kind = END_VELOCITY


@compiled
def guess_first_half(world: Table, source: Table, full: Table) -> None:
    """Let the next solve begin with the mean of a step's beginning and end."""
    for i in range(world.guess.size):
        world.guess[i] = 0.5 * (source.qvel[i] + full.qvel[i])
    world.guess_kind = END_VELOCITY


@compiled
def guess_second_half(world: Table, velocity: np.ndarray) -> None:
    """Let the next solve begin with generalized velocities at the step's end."""
    for i in range(world.guess.size):
        world.guess[i] = velocity[i]
    world.guess_kind = END_VELOCITY


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
    guess_first_half(world, source, full)
    code = call_method(method, world, source, half, 0.5 * step)
    if code != OK:
        return code
    guess_second_half(world, full.qvel)
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
