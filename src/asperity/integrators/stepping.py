"""Stepping loops: who chooses the step size, and what is accepted.

The loops run whole stretches of time without Python. They return with a reason: the end is reached,
a buffer must be emptied or enlarged, the budget of steps is used up (so that Python can show
progress or honour an interrupt), or something failed. In every case the current state is the last
accepted one.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import compiled, compiled_loop
from asperity.compiled.calls import call_method, call_pp_status, call_ppdpp
from asperity.integrators.layout import (
    ACCURACY,
    GEOM_SAMPLE,
    HAS_ERROR,
    HAS_GUESS,
    HISTORY,
    LARGEST_STEP,
    LAST_STEP,
    NEXT_STEP,
    NON_FINITE,
    NOT_CONVERGED,
    OK,
    PREVIOUS_VELOCITY,
    RECORDS,
    REJECTIONS,
    SMALLEST_STEP,
    STEPS,
    VELOCITY_TIME,
    VELOCITY_WEIGHT,
    WORLD,
)
from asperity.integrators.missed_contacts import (
    passed_before_sample,
    step_without_missed_contacts,
)
from asperity.plant.layouts import PLANT, STATE, TIME

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

_world = WORLD.get
_plant = PLANT.get
_state = STATE.get


@compiled
def _all_finite(values):
    # Not np.isfinite, which the reassociation of sums can turn into a constant. Numba compiles no
    # all() over a generator.
    for value in values:  # noqa: SIM110
        if not abs(value) <= _LARGEST:
            return False
    return True


@compiled
def _is_finite(state):
    return (
        _all_finite(_state(state, "qpos"))
        and _all_finite(_state(state, "qvel"))
        and _all_finite(_state(state, "act"))
        and _all_finite(_state(state, "system_state"))
    )


@compiled
def _exchange(first, second):
    for i in range(first.size):
        value = first[i]
        first[i] = second[i]
        second[i] = value


@compiled
def _exchange_states(world, time):
    """Exchange the current and the following state; the current one gets a time."""
    current = _world(world, "current")
    following = _world(world, "following")
    _exchange(_state(current, "qpos"), _state(following, "qpos"))
    _exchange(_state(current, "qvel"), _state(following, "qvel"))
    _exchange(_state(current, "act"), _state(following, "act"))
    _exchange(_state(current, "system_state"), _state(following, "system_state"))
    _state(current, "reals")[TIME] = time
    _state(current, "ints")[0] = 0


@compiled
def _record(world, step):
    """Count and record the current state as the end of an accepted step."""
    current = _world(world, "current")
    time = _state(current, "reals")[TIME]
    qpos = _state(current, "qpos")
    qvel = _state(current, "qvel")
    act = _state(current, "act")
    options = _world(world, "reals")
    # A remainder of a step, to meet a time, says nothing about the steps that are being taken.
    options[LAST_STEP] = max(step, 0.1 * options[LAST_STEP])
    ints = _world(world, "ints")
    ints[STEPS] += 1
    if ints[RECORDS] >= 0:
        n = ints[RECORDS]
        _world(world, "record_time")[n] = time
        record_qpos = _world(world, "record_qpos")
        record_qvel = _world(world, "record_qvel")
        record_act = _world(world, "record_act")
        for i in range(qpos.size):
            record_qpos[n, i] = qpos[i]
        for i in range(qvel.size):
            record_qvel[n, i] = qvel[i]
        for i in range(act.size):
            record_act[n, i] = act[i]
        ints[RECORDS] = n + 1


@compiled_loop(types.int64(types.int64, types.int64, types.float64, types.float64, types.int64))
def advance_fixed(world, method, step, end, budget):
    """Advance the current state to time ``end`` in steps of ``step``; the last may be shorter."""
    current = _world(world, "current")
    following = _world(world, "following")
    reals = _state(current, "reals")
    ints = _world(world, "ints")
    capacity = _world(world, "record_time").size
    steps = 0
    while reals[TIME] < end:
        if ints[RECORDS] >= capacity:
            return RECORD_FULL
        if steps >= budget:
            return BUDGET_USED
        remaining = end - reals[TIME]
        h = step
        time = reals[TIME] + step
        if remaining <= step * (1.0 + 1e-9):
            h = remaining
            time = end
        if ints[HISTORY] == 1:
            # `following` still holds the state before the current one.
            guess = _world(world, "guess")
            before = _state(following, "qvel")
            for i in range(guess.size):
                guess[i] = before[i]
            ints[HAS_GUESS] = PREVIOUS_VELOCITY
        code = call_method(method, world, current, following, h)
        if code != OK:
            return code
        if not _is_finite(following):
            return NON_FINITE
        _exchange_states(world, time)
        _record(world, h)
        ints[HISTORY] = 1
        steps += 1
    return OK


@compiled
def error_norm(world, step):
    """Largest scaled position error, max |S (q ⊖ q̂)|, of the last attempted step.

    With a velocity weight w and a velocity time T, errors of velocity count as (w·δt + T)·|v − v̂|
    as well, and errors of the states of external systems by weights of their own.
    """
    plant = _world(world, "plant")
    weight = _plant(plant, "error_weight")
    error = _world(world, "error")
    norm = 0.0
    for i in range(error.size):
        value = abs(error[i]) * weight[i]
        # Written so that NaN is not lost.
        if not value <= norm:
            norm = value
    options = _world(world, "reals")
    share = options[VELOCITY_WEIGHT] * step + options[VELOCITY_TIME]
    if share > 0.0:
        a = _state(_world(world, "following"), "qvel")
        b = _state(_world(world, "full"), "qvel")
        for i in range(a.size):
            value = share * abs(a[i] - b[i]) * weight[i]
            if not value <= norm:
                norm = value
    system_weight = _world(world, "system_weight")
    if system_weight.size > 0:
        a = _state(_world(world, "following"), "system_state")
        b = _state(_world(world, "full"), "system_state")
        for i in range(system_weight.size):
            value = system_weight[i] * abs(a[i] - b[i])
            if not value <= norm:
                norm = value
    return norm


@compiled
def next_step_size(step, error, accuracy, order):
    """Step size for the next attempt (CENIC V-F with Drake's safety checks; equations 6.5)."""
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


@compiled_loop(types.int64(types.int64, types.int64, types.int64, types.float64, types.int64))
def advance_error_controlled(world, method, order, end, budget):
    """Advance the current state to time ``end`` under error control.

    A step whose error exceeds the accuracy, whose solver does not converge, whose result is not
    finite or that has missed a contact is rejected and tried again with a smaller step.
    """
    current = _world(world, "current")
    following = _world(world, "following")
    reals = _state(current, "reals")
    ints = _world(world, "ints")
    options = _world(world, "reals")
    capacity = _world(world, "record_time").size
    accuracy = options[ACCURACY]
    attempts = 0
    while reals[TIME] < end:
        if ints[RECORDS] >= capacity:
            return RECORD_FULL
        if attempts >= budget:
            return BUDGET_USED
        attempts += 1
        ideal = min(options[NEXT_STEP], options[LARGEST_STEP])
        remaining = end - reals[TIME]
        h = ideal
        time = reals[TIME] + h
        limited = False
        if remaining <= _STRETCH * ideal:
            h = remaining
            time = end
            limited = remaining < _ARTIFICIAL * ideal
        smallest = max(options[SMALLEST_STEP], 1e-14 * max(1.0, abs(reals[TIME])))
        ints[GEOM_SAMPLE] = 0
        code = call_method(method, world, current, following, h)
        if code in (NOT_CONVERGED, NON_FINITE):
            error = np.inf
        elif code != OK:
            return code
        elif ints[HAS_ERROR] == 0:
            error = 0.0 if _is_finite(following) else np.inf
        else:
            error = error_norm(world, h) if _is_finite(following) else np.inf
        new = next_step_size(h, error, accuracy, order)
        accepted = error <= accuracy
        if accepted and passed_before_sample(world):
            accepted = False
            new = 0.5 * h
        if accepted:
            before = reals[TIME]
            _exchange_states(world, time)
            code = call_pp_status(_world(world, "evaluate"), _world(world, "plant"), current)
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
                options[NEXT_STEP] = min(new, options[LARGEST_STEP])
            continue
        ints[REJECTIONS] += 1
        if h <= smallest:
            if code in (NON_FINITE, NOT_CONVERGED):
                return code
            return STEP_TOO_SMALL
        options[NEXT_STEP] = max(new, smallest)
    return OK


@compiled
def position_difference(plant, first, second, out):
    """``out = second.qpos ⊖ first.qpos`` in the tangent space."""
    call_ppdpp(
        _plant(plant, "differentiate_positions"),
        _plant(plant, "model"),
        out.ctypes.data,
        1.0,
        _state(first, "qpos").ctypes.data,
        _state(second, "qpos").ctypes.data,
    )
