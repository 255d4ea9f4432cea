"""Threads that share jobs within compiled code."""

from __future__ import annotations

import gc
import os
import threading
import time

import numpy as np
from numba import types

from asperity.compiled import Layout, Table, entry_point
from asperity.compiled.atomics import atomic_load
from asperity.compiled.calls import atomic_add
from asperity.compiled.team import Team, share

JOB = Layout("job of a test", counts="i8[:]", codes="i8[:]", begun="i8[:]")

# Looks at a counter that takes some tens of seconds: longer than a thread waits for a processor.
_MOST_LOOKS = 10**10


@entry_point(types.int64(JOB.type, types.int64, types.int64, types.int64))
def count_part(job: Table, part: int, _member: int, _unused: int) -> int:
    job.counts[part] += 1
    return job.codes[part]


@entry_point(types.int64(JOB.type, types.int64, types.int64, types.int64))
def meet(job: Table, _part: int, _member: int, _unused: int) -> int:
    """Return 0 once all parts have been begun, which takes as many threads."""
    begun = job.begun.ctypes.data
    atomic_add(begun, 1)
    for _ in range(_MOST_LOOKS):
        if atomic_load(begun) >= job.counts.size:
            return 0
    return 1


def _call(team: Team, task: int, job: Table, parts: int) -> int:
    import ctypes

    kind = ctypes.CFUNCTYPE(ctypes.c_int64, *4 * [ctypes.c_int64])
    return int(kind(share.address)(team.table.address, task, job.address, parts))


def _job(parts: int) -> Table:
    numbers = {name: np.zeros(parts, np.int64) for name in ("counts", "codes", "begun")}
    return Table(JOB, **numbers)


def test_every_part_is_done_once_and_the_largest_code_returned() -> None:
    team = Team(3)
    team.start()
    for parts in (0, 1, 2, 7, 1000):
        job = _job(parts)
        for repeat in range(1, 20):
            job.codes[:] = 0
            if parts > 0:
                job.codes[repeat % parts] = repeat
            assert _call(team, count_part.address, job, parts) == (repeat if parts > 0 else 0)
            assert np.all(job.counts == repeat)


def test_threads_that_have_slept_take_parts() -> None:
    team = Team(3)
    team.start()
    for pause in (0.0, 0.2, 0.0):
        time.sleep(pause)
        assert _call(team, meet.address, _job(3), 3) == 0


def test_without_other_threads_the_caller_does_everything() -> None:
    team = Team(4)  # never started
    job = _job(50)
    assert _call(team, count_part.address, job, 50) == 0
    assert np.all(job.counts == 1)


def test_a_part_of_ones_own_is_done_by_the_caller() -> None:
    team = Team(2)
    job = _job(5)
    team.table.own = 4
    job.codes[4] = 9
    assert _call(team, count_part.address, job, 4) == 9
    assert np.all(job.counts == 1)
    assert team.table.own == -1


def test_threads_end_with_their_team() -> None:
    team = Team(2)
    team.start()
    assert _call(team, meet.address, _job(2), 2) == 0
    mine = [one for one in threading.enumerate() if one.name.startswith("asperity-")]
    assert mine
    number = threading.active_count()
    del team
    gc.collect()
    deadline = time.monotonic() + 60.0
    while threading.active_count() >= number and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() < number


def test_a_forked_process_has_a_team_of_its_own() -> None:
    team = Team(2)
    team.start()
    assert _call(team, meet.address, _job(2), 2) == 0
    child = os.fork()
    if child == 0:
        job = _job(10)
        done = _call(team, count_part.address, job, 10) == 0 and bool(np.all(job.counts == 1))
        team.start()
        done = done and _call(team, meet.address, _job(2), 2) == 0
        os._exit(0 if done else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert _call(team, meet.address, _job(2), 2) == 0
