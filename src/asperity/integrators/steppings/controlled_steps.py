"""Steps whose estimated error is within the accuracy (CENIC V-F, algorithm 1)."""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled, entry_point
from asperity.compiled.calls import call_method, call_p_status, call_pp_status
from asperity.integrators.steppings.accepted import (
    BUDGET_USED,
    RECORD_FULL,
    STEP_TOO_SMALL,
    count_step,
    exchange_states,
    is_finite,
    record,
)
from asperity.integrators.steppings.attempts import (
    IMPACT,
    MISSED,
    NO_SOLUTION,
    VERDICT,
    keep_attempt,
    verdict_of,
)
from asperity.integrators.steppings.impacts import REFUSED
from asperity.integrators.steppings.missed_contacts import step_without_missed_contacts
from asperity.integrators.steppings.resting import (
    everything_rests,
    rest_after_step,
    stay_at_rest,
    wake_overdue,
)
from asperity.integrators.world_layout import (
    NON_FINITE,
    NOT_CONVERGED,
    OK,
    STEPPING_SIGNATURE,
)
from asperity.plant.plant_layouts import STATE, WOKEN
from asperity.plant.resting_layout import RESTING

__all__ = ["controlled_steps", "error_norm", "next_step_size"]

_LARGEST = 1.7976931348623157e308
_SAFETY = 0.9
_LOW = 0.9
_HIGH = 1.2
_MAX_GROW = 5.0
_MIN_SHRINK = 0.1
_STRETCH = 1.001
_ARTIFICIAL = 0.95


@compiled
def error_norm(world: Table, step: float) -> float:
    """Largest scaled position error, max |S (q ⊖ q̂)|, of the last attempted step.

    With a velocity weight w and a velocity time T, errors of velocity count as (s·w·δt + T)·|v − v̂|
    as well, with a share s of what does not move smoothly, and errors of the states of external
    systems by weights of their own. What has yielded counts by the length that it is longer.
    """
    plant = world.plant
    norm = 0.0
    for i in range(world.result.error.size):
        value = abs(world.result.error[i]) * plant.error_weight[i]
        # Written so that NaN is not lost.
        if not value <= norm:
            norm = value
    weight = world.velocity_weight * step
    if weight + world.velocity_time > 0.0:
        a = world.following.qvel
        b = world.full.qvel
        for i in range(a.size):
            share = weight * world.result.velocity_share[i] + world.velocity_time
            value = share * abs(a[i] - b[i]) * plant.error_weight[i]
            if not value <= norm:
                norm = value
    for i in range(world.full.plastic.size):
        change = world.following.plastic[i] - world.full.plastic[i]
        value = plant.elastic.plastic_length[i] * abs(change)
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
def _attempt(world: Table, method: int, step: float) -> tuple[int, float]:
    """Try a step; its code, and the error, infinite if there is no finite solution."""
    world.result.sample = 0
    code = call_method(method, world, world.current, world.following, step)
    if code == OK and world.resting != 0:
        stay_at_rest(world)
    if code != OK or not is_finite(world.following):
        return code, np.inf
    if world.result.error_order == 0:
        return code, 0.0
    return code, error_norm(world, step)


@compiled
def _judge_impacts(world: Table, judge: int, state: Table, source: Table, step: float) -> bool:
    """Ask one of `asperity.integrators.steppings.impacts`; fills `impact_step`."""
    if call_method(judge, world, state, source, step) != REFUSED:
        return True
    world.impact_rejections += 1
    return False


@compiled
def _judge_solution(world: Table, step: float, sees_impacts: bool) -> tuple[bool, float]:
    """Judge a step by its solution: whether it is accepted, and the longest step to take next."""
    current = world.current
    sample = STATE.at(world.result.sample)
    is_within = sample.address != 0 and sample.address != current.address
    if is_within:
        shorter = step_without_missed_contacts(world, current, sample, step, world.accuracy)
        if shorter < step:
            return False, shorter
    if not sees_impacts:
        return True, np.inf
    accepted = _judge_impacts(world, world.known_impacts, current, world.following, step)
    longest = world.impact_step
    if accepted and is_within:
        accepted = _judge_impacts(world, world.beginning_impacts, sample, current, step)
        # A refusal says which step to try instead.
        longest = min(longest, world.impact_step) if accepted else world.impact_step
    return accepted, longest


@compiled
def _judge_end(world: Table, step: float, sees_impacts: bool) -> tuple[bool, float]:
    """Judge a step by the contacts of its end, which is the current state and evaluated."""
    sample = STATE.at(world.result.sample)
    if sample.address != 0:
        shorter = step_without_missed_contacts(world, sample, world.current, step, world.accuracy)
        if shorter < step:
            return False, shorter
    if not sees_impacts:
        return True, np.inf
    accepted = _judge_impacts(world, world.beginning_impacts, world.current, world.following, step)
    return accepted, world.impact_step


@compiled
def _keep_refused(world: Table, code: int, step: float) -> None:
    """Keep what a refused attempt has found, for the guesses of the next one."""
    world.tried = 0.0
    if code != OK:
        return
    world.tried = step
    for i in range(world.guess.size):
        world.tried_half[i] = world.half.qvel[i]
        world.tried_end[i] = world.full.qvel[i]


@entry_point(STEPPING_SIGNATURE)
def controlled_steps(world: Table, method: int, _step: float, end: float, budget: int) -> int:
    """Advance the current state to time ``end`` under error control, as `_take_steps` does."""
    if world.resting == 0:
        return _take_steps(world, method, end, budget)
    resting = RESTING.at(world.resting)
    call_p_status(resting.wake_changed, world)
    code = _take_steps(world, method, end, budget)
    call_p_status(resting.remember, world)
    return code


@compiled
def _take_steps(world: Table, method: int, end: float, budget: int) -> int:
    """Advance the current state to time ``end``.

    Judges say in turn whether they accept an attempt, and how long the next step may be: the
    estimated error, geoms that have passed through each other, impacts that the beginning knows,
    contacts that were missed, and impacts that have begun. The first that refuses it has it tried
    again with a shorter step; so has a solver that does not converge.
    """
    current = world.current
    attempts = 0
    while current.time < end:
        if world.records >= world.record_time.size or world.attempts >= world.attempt.shape[0]:
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
        if world.resting != 0:
            wake_overdue(world)
            if everything_rests(world):
                current.time = time
                count_step(world, h)
                continue
        smallest = max(world.smallest_step, 1e-14 * max(1.0, abs(current.time)))
        code, error = _attempt(world, method, h)
        if code == WOKEN:
            current.valid = 0
            continue
        if code not in (OK, NOT_CONVERGED, NON_FINITE):
            return code
        impacts = world.impact_rejections
        if world.attempts >= 0:
            keep_attempt(world, h, error)
        new = next_step_size(h, error, world.accuracy, world.result.error_order)
        accepted = error <= world.accuracy
        longest = np.inf
        # The smallest step is taken whatever impacts would need.
        sees_impacts = world.known_impacts != 0 and h > smallest
        if accepted:
            accepted, longest = _judge_solution(world, h, sees_impacts)
        if accepted:
            before = current.time
            exchange_states(world, time)
            evaluated = call_pp_status(world.evaluate, world.plant, current)
            if evaluated == OK:
                accepted, following = _judge_end(world, h, sees_impacts)
                longest = min(longest, following) if accepted else following
            if evaluated != OK or not accepted:
                # The state before comes back; a code wants more memory and the same step again.
                exchange_states(world, before)
                if evaluated != OK:
                    # The same step is tried again, with more memory.
                    world.attempts -= 1 if world.attempts > 0 else 0
                    return evaluated
        if accepted:
            world.tried = 0.0
            if world.resting != 0:
                rest_after_step(world)
            record(world, h)
            # A step cut short by the end says little about the size that error control wants.
            if not limited or new > ideal:
                world.next_step = min(new, max(longest, smallest), world.largest_step)
            continue
        if world.attempts > 0:
            verdict = verdict_of(code)
            if error <= world.accuracy:
                verdict = IMPACT if world.impact_rejections > impacts else MISSED
            elif code == OK and not is_finite(world.following):
                verdict = NO_SOLUTION
            world.attempt[world.attempts - 1, VERDICT] = verdict
        _keep_refused(world, code, h)
        world.rejections += 1
        if h <= smallest:
            if code in (NON_FINITE, NOT_CONVERGED):
                return code
            return STEP_TOO_SMALL
        world.next_step = max(longest if error <= world.accuracy else new, smallest)
    return OK
