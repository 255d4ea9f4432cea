"""Stepping loops: who chooses the step size, and what is accepted.

The loops run whole stretches of time without Python. They return with a reason: the end is reached,
a buffer must be emptied or enlarged, the budget of steps is used up (so that Python can show
progress or honour an interrupt), or something failed. In every case the current state is the last
accepted one.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, compiled_loop
from asperity.compiled.calls import call_method, call_p_status, call_pp_status, call_ppdpp
from asperity.integrators.layout import (
    NON_FINITE,
    NOT_CONVERGED,
    OK,
    PREVIOUS_VELOCITY,
    WORLD,
)
from asperity.integrators.missed_contacts import (
    passed_before_sample,
    step_without_missed_contacts,
)

__all__ = [
    "BUDGET_USED",
    "RECORD_FULL",
    "STEP_TOO_SMALL",
    "advance_error_controlled",
    "advance_fixed",
    "error_norm",
]

# Reasons to return, besides the codes of methods.
BUDGET_USED = 16
RECORD_FULL = 17
STEP_TOO_SMALL = 18

_LARGEST = 1.7976931348623157e308
_SAFETY = 0.9
_LOW = 0.9
_HIGH = 1.2
_MAX_GROW = 5.0
_MIN_SHRINK = 0.1
_STRETCH = 1.001
_ARTIFICIAL = 0.95


@compiled
def _all_finite(values: np.ndarray) -> bool:
    # Not np.isfinite, which the reassociation of sums can turn into a constant. Numba compiles no
    # all() over a generator.
    for value in values:  # noqa: SIM110
        if not abs(value) <= _LARGEST:
            return False
    return True


@compiled
def _is_finite(state: Table) -> bool:
    return (
        _all_finite(state.qpos)
        and _all_finite(state.qvel)
        and _all_finite(state.act)
        and _all_finite(state.system_state)
    )


@compiled
def _exchange(first: np.ndarray, second: np.ndarray) -> None:
    for i in range(first.size):
        value = first[i]
        first[i] = second[i]
        second[i] = value


@compiled
def _exchange_states(world: Table, time: float) -> None:
    """Exchange the current and the following state; the current one gets a time."""
    current = world.current
    following = world.following
    _exchange(current.qpos, following.qpos)
    _exchange(current.qvel, following.qvel)
    _exchange(current.act, following.act)
    _exchange(current.system_state, following.system_state)
    current.time = time
    current.valid = 0


@compiled
def _record(world: Table, step: float) -> None:
    """Count and record the current state as the end of an accepted step, with its results."""
    current = world.current
    time = current.time
    # A remainder of a step, to meet a time, says nothing about the steps that are being taken.
    world.last_step = max(step, 0.1 * world.last_step)
    world.steps += 1
    if world.deliver != 0:
        call_p_status(world.deliver, world)
    if world.records >= 0:
        n = world.records
        world.record_time[n] = time
        for i in range(current.qpos.size):
            world.record_qpos[n, i] = current.qpos[i]
        for i in range(current.qvel.size):
            world.record_qvel[n, i] = current.qvel[i]
        for i in range(current.act.size):
            world.record_act[n, i] = current.act[i]
        world.records = n + 1


@compiled_loop(types.int64(WORLD.type, types.int64, types.float64, types.float64, types.int64))
def advance_fixed(world: Table, method: int, step: float, end: float, budget: int) -> int:
    """Advance the current state to time ``end`` in steps of ``step``; the last may be shorter."""
    current = world.current
    following = world.following
    capacity = world.record_time.size
    steps = 0
    while current.time < end:
        if world.records >= capacity:
            return RECORD_FULL
        if steps >= budget:
            return BUDGET_USED
        remaining = end - current.time
        h = step
        time = current.time + step
        if remaining <= step * (1.0 + 1e-9):
            h = remaining
            time = end
        if world.has_history == 1:
            # `following` still holds the state before the current one.
            for i in range(world.guess.size):
                world.guess[i] = following.qvel[i]
            world.guess_kind = PREVIOUS_VELOCITY
        code = call_method(method, world, current, following, h)
        if code != OK:
            return code
        if not _is_finite(following):
            return NON_FINITE
        _exchange_states(world, time)
        _record(world, h)
        world.has_history = 1
        steps += 1
    return OK


@compiled
def error_norm(world: Table, step: float) -> float:
    """Largest scaled position error, max |S (q ⊖ q̂)|, of the last attempted step.

    With a velocity weight w and a velocity time T, errors of velocity count as (w·δt + T)·|v − v̂|
    as well, and errors of the states of external systems by weights of their own.
    """
    plant = world.plant
    norm = 0.0
    for i in range(world.error.size):
        value = abs(world.error[i]) * plant.error_weight[i]
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


@compiled_loop(types.int64(WORLD.type, types.int64, types.int64, types.float64, types.int64))
def advance_error_controlled(world: Table, method: int, order: int, end: float, budget: int) -> int:
    """Advance the current state to time ``end`` under error control.

    A step whose error exceeds the accuracy, whose solver does not converge, whose result is not
    finite or that has missed a contact is rejected and tried again with a smaller step.
    """
    current = world.current
    following = world.following
    capacity = world.record_time.size
    accuracy = world.accuracy
    attempts = 0
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
        world.geom_sample = 0
        code = call_method(method, world, current, following, h)
        if code in (NOT_CONVERGED, NON_FINITE):
            error = np.inf
        elif code != OK:
            return code
        elif world.has_error == 0:
            error = 0.0 if _is_finite(following) else np.inf
        else:
            error = error_norm(world, h) if _is_finite(following) else np.inf
        new = next_step_size(h, error, accuracy, order)
        accepted = error <= accuracy
        if accepted and passed_before_sample(world):
            accepted = False
            new = 0.5 * h
        if accepted:
            before = current.time
            _exchange_states(world, time)
            code = call_pp_status(world.evaluate, world.plant, current)
            if code == OK:
                shorter = step_without_missed_contacts(world, h, accuracy)
                accepted = shorter == h
                if not accepted:
                    new = shorter
            if code != OK or not accepted:
                # The state before comes back; a code wants more memory and the same step again.
                _exchange_states(world, before)
                if code != OK:
                    return code
        if accepted:
            _record(world, h)
            # A step cut short by the end says little about the size that error control wants.
            if not limited or new > ideal:
                world.next_step = min(new, world.largest_step)
            continue
        world.rejections += 1
        if h <= smallest:
            if code in (NON_FINITE, NOT_CONVERGED):
                return code
            return STEP_TOO_SMALL
        world.next_step = max(new, smallest)
    return OK


@compiled
def position_difference(plant: Table, first: Table, second: Table, out: np.ndarray) -> None:
    """``out = second.qpos ⊖ first.qpos`` in the tangent space."""
    call_ppdpp(
        plant.differentiate_positions,
        plant.model,
        out.ctypes.data,
        1.0,
        first.qpos.ctypes.data,
        second.qpos.ctypes.data,
    )
