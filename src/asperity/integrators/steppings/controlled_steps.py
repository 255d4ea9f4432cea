"""Steps whose estimated error is within the accuracy (CENIC V-F, algorithm 1)."""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled, entry_point
from asperity.compiled.calls import call_method, call_pp_status
from asperity.integrators.steppings.accepted import (
    BUDGET_USED,
    RECORD_FULL,
    STEP_TOO_SMALL,
    exchange_states,
    is_finite,
    record,
)
from asperity.integrators.steppings.impacts import REFUSED
from asperity.integrators.steppings.missed_contacts import (
    passed_before_sample,
    step_without_missed_contacts,
)
from asperity.integrators.world_layout import (
    HOPELESS,
    NON_FINITE,
    NOT_CONVERGED,
    OK,
    STEPPING_SIGNATURE,
)
from asperity.plant.plant_layouts import STATE

__all__ = ["controlled_steps", "error_norm", "next_step_size"]

_LARGEST = 1.7976931348623157e308
_SAFETY = 0.9
_LOW = 0.9
_HIGH = 1.2
_MAX_GROW = 5.0
_MIN_SHRINK = 0.1
_STRETCH = 1.001
_ARTIFICIAL = 0.95
# Of an estimate before a step is done, over the accuracy. Half of what is refused shows so soon.
_HOPELESS = 2.0


@compiled
def error_norm(world: Table, step: float) -> float:
    """Largest scaled position error, max |S (q ⊖ q̂)|, of the last attempted step.

    With a velocity weight w and a velocity time T, errors of velocity count as (w·δt + T)·|v − v̂|
    as well, and errors of the states of external systems by weights of their own.
    """
    plant = world.plant
    norm = 0.0
    for i in range(world.result.error.size):
        value = abs(world.result.error[i]) * plant.error_weight[i]
        # Written so that NaN is not lost.
        if not value <= norm:
            norm = value
    share = world.velocity_weight * step + world.velocity_time
    if share > 0.0:
        a = world.following.qvel
        b = world.full.qvel
        for i in range(a.size):
            value = share * abs(a[i] - b[i]) * plant.error_weight[i]
            if not value <= norm:
                norm = value
    if world.system_weight.size > 0:
        a = world.following.system_state
        b = world.full.system_state
        for i in range(world.system_weight.size):
            value = world.system_weight[i] * abs(a[i] - b[i])
            if not value <= norm:
                norm = value
    return norm


@compiled
def next_step_size(step: float, error: float, accuracy: float, order: int) -> float:
    """Step size for the next attempt (CENIC V-F; docs/equations.md, ‘Step-size control’)."""
    if not error <= _LARGEST:
        return _MIN_SHRINK * step
    if error == 0.0:
        new = _MAX_GROW * step
    else:
        new = _SAFETY * step * (accuracy / error) ** (1.0 / order)
    if step < new < _HIGH * step:
        new = step
    if new < step:
        new = step if error <= accuracy else min(new, _LOW * step)
    return min(max(new, _MIN_SHRINK * step), _MAX_GROW * step)


@compiled
def _is_too_long_for_impacts(world: Table, step: float) -> bool:
    """Whether a step is too long for impacts in it; `impact_step` is what they allow."""
    current = world.current
    if call_method(world.known_impacts, world, current, world.following, step) == REFUSED:
        return True
    longest = world.impact_step
    sample = STATE.at(world.result.sample)
    if sample.address == 0 or sample.address == current.address:
        return False
    refused = call_method(world.beginning_impacts, world, sample, current, step) == REFUSED
    if not refused:
        world.impact_step = min(longest, world.impact_step)
    return refused


@compiled
def _keep_attempt(world: Table, code: int, step: float) -> None:
    """Keep what a refused attempt has found, for the guesses of the next one."""
    world.tried = 0.0
    if code not in (OK, HOPELESS):
        return
    world.tried = step
    for i in range(world.guess.size):
        world.tried_half[i] = world.half.qvel[i]
        world.tried_end[i] = world.full.qvel[i]


@entry_point(STEPPING_SIGNATURE)
def controlled_steps(world: Table, method: int, _step: float, end: float, budget: int) -> int:
    """Advance the current state to time ``end`` under error control.

    A step whose error exceeds the accuracy, whose solver does not converge, whose result is not
    finite or that has missed a contact is rejected and tried again with a smaller step.
    """
    current = world.current
    following = world.following
    capacity = world.record_time.size
    accuracy = world.accuracy
    attempts = 0
    counts_positions_alone = (
        world.velocity_weight == 0.0
        and world.velocity_time == 0.0
        and world.system_weight.size == 0
    )
    while current.time < end:
        if world.records >= capacity:
            return RECORD_FULL
        if attempts >= budget:
            return BUDGET_USED
        attempts += 1
        ideal = min(world.next_step, world.largest_step)
        remaining = end - current.time
        h = ideal
        time = current.time + h
        limited = False
        if remaining <= _STRETCH * ideal:
            h = remaining
            time = end
            limited = remaining < _ARTIFICIAL * ideal
        smallest = max(world.smallest_step, 1e-14 * max(1.0, abs(current.time)))
        world.result.sample = 0
        if counts_positions_alone:
            world.hopeless_error = _HOPELESS * accuracy
        code = call_method(method, world, current, following, h)
        world.hopeless_error = 0.0
        if code in (NOT_CONVERGED, NON_FINITE):
            error = np.inf
        elif code == HOPELESS:
            error = error_norm(world, h)
        elif code != OK:
            return code
        elif world.result.error_order == 0:
            error = 0.0 if is_finite(following) else np.inf
        else:
            error = error_norm(world, h) if is_finite(following) else np.inf
        new = next_step_size(h, error, accuracy, world.result.error_order)
        accepted = error <= accuracy
        if accepted and passed_before_sample(world):
            accepted = False
            new = 0.5 * h
        # The smallest step is taken whatever impacts would need.
        sees_impacts = world.known_impacts != 0 and h > smallest
        longest = np.inf
        if accepted and sees_impacts:
            accepted = not _is_too_long_for_impacts(world, h)
            longest = world.impact_step
            if not accepted:
                new = longest
                world.impact_rejections += 1
        if accepted:
            before = current.time
            exchange_states(world, time)
            code = call_pp_status(world.evaluate, world.plant, current)
            if code == OK:
                shorter = step_without_missed_contacts(world, h, accuracy)
                accepted = shorter == h
                if not accepted:
                    new = shorter
                elif sees_impacts:
                    code = call_method(world.beginning_impacts, world, current, following, h)
                    if code == REFUSED:
                        code = OK
                        accepted = False
                        new = world.impact_step
                        world.impact_rejections += 1
                    longest = min(longest, world.impact_step)
            if code != OK or not accepted:
                # The state before comes back; a code wants more memory and the same step again.
                exchange_states(world, before)
                if code != OK:
                    return code
        if accepted:
            world.tried = 0.0
            record(world, h)
            # A step cut short by the end says little about the size that error control wants.
            if not limited or new > ideal:
                world.next_step = min(new, max(longest, smallest), world.largest_step)
            continue
        _keep_attempt(world, code, h)
        world.rejections += 1
        if h <= smallest:
            if code in (NON_FINITE, NOT_CONVERGED):
                return code
            return STEP_TOO_SMALL
        world.next_step = max(new, smallest)
    return OK
