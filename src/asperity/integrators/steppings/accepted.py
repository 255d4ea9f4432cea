"""What all steppings do with a result: check that it is finite, and keep what was accepted.

Steppings run whole stretches of time without Python. They return with a reason: the end is reached,
a buffer must be emptied or enlarged, the budget of steps is used up (so that Python can show
progress or honour an interrupt), or something failed. In every case the current state is the last
accepted one.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.compiled.calls import call_p_status

__all__ = [
    "BUDGET_USED",
    "RECORD_FULL",
    "STEP_TOO_SMALL",
    "count_step",
    "exchange_states",
    "is_finite",
    "record",
]

# Reasons to return, besides the codes of methods.
BUDGET_USED = 16
RECORD_FULL = 17
STEP_TOO_SMALL = 18

_LARGEST = 1.7976931348623157e308


@compiled
def _all_finite(values: np.ndarray) -> bool:
    # Not np.isfinite, which the reassociation of sums can turn into a constant. Numba compiles no
    # all() over a generator.
    for value in values:  # noqa: SIM110
        if not abs(value) <= _LARGEST:
            return False
    return True


@compiled
def is_finite(state: Table) -> bool:
    return (
        _all_finite(state.qpos)
        and _all_finite(state.qvel)
        and _all_finite(state.act)
        and _all_finite(state.system_state)
        and _all_finite(state.plastic)
    )


@compiled
def _exchange(first: np.ndarray, second: np.ndarray) -> None:
    for i in range(first.size):
        value = first[i]
        first[i] = second[i]
        second[i] = value


@compiled
def exchange_states(world: Table, time: float) -> None:
    """Exchange the current and the following state; the current one gets a time."""
    current = world.current
    following = world.following
    _exchange(current.qpos, following.qpos)
    _exchange(current.qvel, following.qvel)
    _exchange(current.act, following.act)
    _exchange(current.system_state, following.system_state)
    _exchange(current.tension, following.tension)
    _exchange(current.plastic, following.plastic)
    current.time = time
    current.valid = 0


@compiled
def record(world: Table, step: float) -> None:
    """Count and record the current state as the end of an accepted step, with its results."""
    if world.deliver != 0:
        call_p_status(world.deliver, world)
    count_step(world, step)


@compiled
def count_step(world: Table, step: float) -> None:
    """`record` of a step in which nothing has happened: results stay."""
    current = world.current
    time = current.time
    # A remainder of a step, to meet a time, says nothing about the steps that are being taken.
    world.last_step = max(step, 0.1 * world.last_step)
    world.steps += 1
    if world.records >= 0:
        n = world.records
        world.record_time[n] = time
        for i in range(current.qpos.size):
            world.record_qpos[n, i] = current.qpos[i]
        for i in range(current.qvel.size):
            world.record_qvel[n, i] = current.qvel[i]
        for i in range(current.act.size):
            world.record_act[n, i] = current.act[i]
        for i in range(current.plastic.size):
            world.record_plastic[n, i] = current.plastic[i]
        world.records = n + 1
