"""Steps of one size."""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled, entry_point
from asperity.compiled.arrays import copy_numbers
from asperity.compiled.calls import call_method, call_p_status
from asperity.integrators.steppings.accepted import (
    BUDGET_USED,
    RECORD_FULL,
    count_step,
    exchange_states,
    is_finite,
    record,
)
from asperity.integrators.steppings.attempts import VERDICT, keep_attempt, verdict_of
from asperity.integrators.steppings.resting import everything_rests, wake_overdue
from asperity.integrators.world_layout import (
    NON_FINITE,
    NOT_CONVERGED,
    OK,
    PREVIOUS_VELOCITY,
    STEPPING_SIGNATURE,
)
from asperity.plant.plant_layouts import GLIDING, NOT_AHEAD
from asperity.plant.resting_layout import RESTING

__all__ = ["fixed_steps"]

# Relative error of a difference of times that is a step.
_ROUND_OFF = 1e-9


@entry_point(STEPPING_SIGNATURE)
def fixed_steps(world: Table, method: int, step: float, end: float, budget: int) -> int:
    """Advance the current state to time ``end`` in steps of ``step``; the last may be shorter."""
    if world.resting == 0:
        return _take_steps(world, method, step, end, budget)
    resting = RESTING.at(world.resting)
    call_p_status(resting.wake_changed, world)
    code = _take_steps(world, method, step, end, budget)
    call_p_status(resting.remember, world)
    return code


@compiled
def _take_steps(world: Table, method: int, step: float, end: float, budget: int) -> int:
    current = world.current
    following = world.following
    capacity = world.record_time.size
    steps = 0
    while current.time < end:
        if world.records >= capacity or world.attempts >= world.attempt.shape[0]:
            return RECORD_FULL
        if steps >= budget:
            return BUDGET_USED
        remaining = end - current.time
        h = step
        time = current.time + step
        if remaining <= step * (1.0 + _ROUND_OFF):
            # The bits must not depend on how the way to `end` was divided into calls.
            h = step if remaining >= step * (1.0 - _ROUND_OFF) else remaining
            time = end
        if world.resting != 0:
            wake_overdue(world)
            if everything_rests(world):
                world.has_history = 0
                current.time = time
                count_step(world, h)
                steps += 1
                continue
        if world.has_history == 1:
            # `following` still holds the state before the current one.
            copy_numbers(following.qvel, world.guess)
            world.guess_kind = PREVIOUS_VELOCITY
        code = call_method(method, world, current, following, h)
        if (
            code == NOT_CONVERGED
            and current.widened == 1
            and GLIDING.at(current.gliding).looks_ahead == 1
        ):
            # Once more with the contacts that are there, and none of those that are to come.
            current.valid = NOT_AHEAD
            code = call_method(method, world, current, following, h)
        if code == OK and not is_finite(following):
            code = NON_FINITE
        if world.attempts >= 0 and code in (OK, NON_FINITE, NOT_CONVERGED):
            keep_attempt(world, h, np.nan)
            if code != OK:
                world.attempt[world.attempts - 1, VERDICT] = verdict_of(code)
        if code != OK:
            return code
        if world.add_rebounds != 0:
            call_method(world.add_rebounds, world, current, following, h)
            if not is_finite(following):
                return NON_FINITE
        if world.resting != 0:
            call_method(RESTING.at(world.resting).fall_asleep, world, current, following, h)
        exchange_states(world, time)
        record(world, h)
        world.has_history = 1
        steps += 1
    return OK
