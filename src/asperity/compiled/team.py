"""A team: threads that share the parts of a job within compiled code.

A job is a compiled function and a number of parts. Whoever has a job calls `share`, which puts it
where the other threads look, does parts itself, and returns when all are done. Parts are claimed
one by one from a counter, so that a thread that comes late, or never, is not waited for: without
any other thread the caller does everything. The members' numbers tell threads apart, for memory
that each needs for itself; which parts a member gets is not known beforehand, and nothing that is
computed may depend on it.

Other threads wait for jobs in a loop for a moment, since jobs of a step follow each other within
microseconds, and then sleep until they are woken. They are in compiled code all the time, without
Python's lock.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
import weakref

import numpy as np
from numba import types

from asperity.compiled.addresses import HoldsAddresses
from asperity.compiled.atomics import atomic_load, atomic_store, exchange_if
from asperity.compiled.calls import (
    atomic_add,
    call_p_status,
    call_pp_status,
    call_pppn_status,
)
from asperity.compiled.decorators import compiled, compiled_loop, entry_point
from asperity.compiled.tables import Layout, Table

__all__ = ["TEAM", "TEAM_KERNELS", "Team", "available_threads", "over_ranges", "share"]

_LINE = 8  # numbers of a cache line
# Looks at the counter before a thread gives way to others, and such turns before it sleeps: a
# millisecond or two, in which a step does what one thread does alone.
_LOOKS = 200
_TURNS = 3000
# Ranges per thread.
_RANGES = 4

TEAM = Layout(
    "team",
    # Numbers that threads write at once, each in a cache line of its own: parts that nobody has
    # claimed, parts that are done, threads that sleep, and whether they are to end.
    numbers=f"i8[4, {_LINE}]",
    codes=f"i8[threads, {_LINE}]",  # the largest code of each member's parts, a cache line each
    # zeros are what a mutex and a condition of Linux begin with; neither is as large
    mutex="i8[16]",
    condition="i8[16]",
    # C functions
    lock="i8",
    unlock="i8",
    wait="i8",
    wake="i8",
    give_way="i8",
    # the job
    task="i8",
    context="i8",
    own="i8 = -1",  # a part more that the first member does, before others, or −1
    threads="i8",
    share="i8",
    # a job whose parts are ranges, see `over_ranges`
    do_range="i8",
    range_task="i8",
    range_context="i8",
    range_size="i8",
    range_length="i8",
)
_UNCLAIMED, _DONE, _SLEEPING, _ENDING = range(4)


@compiled
def _at(team: Table, which: int) -> int:
    return team.numbers.ctypes.data + 8 * _LINE * which


@compiled
def _do_part(team: Table, member: int) -> bool:
    """Claim a part and do it; False if there is none."""
    unclaimed = _at(team, _UNCLAIMED)
    count = atomic_load(unclaimed)
    while count > 0:
        if exchange_if(unclaimed, count, count - 1):
            # The job stays as it is until this part is done.
            code = call_pppn_status(team.task, team.context, count - 1, member, 0)
            team.codes[member, 0] = max(team.codes[member, 0], code)
            atomic_add(_at(team, _DONE), 1)
            return True
        count = atomic_load(unclaimed)
    return False


@compiled
def _sleep(team: Table) -> None:
    """Sleep until there is a job, or an end."""
    call_p_status(team.lock, team.mutex.ctypes.data)
    atomic_add(_at(team, _SLEEPING), 1)
    while atomic_load(_at(team, _UNCLAIMED)) == 0 and atomic_load(_at(team, _ENDING)) == 0:
        call_pp_status(team.wait, team.condition.ctypes.data, team.mutex.ctypes.data)
    atomic_add(_at(team, _SLEEPING), -1)
    call_p_status(team.unlock, team.mutex.ctypes.data)


@compiled_loop(types.int64(types.int64, types.int64))
def _serve(team_address: int, member: int) -> int:
    """Do parts of all jobs until the team ends."""
    team = TEAM.at(team_address)
    turns = 0
    while atomic_load(_at(team, _ENDING)) == 0:
        if _do_part(team, member):
            turns = 0
            continue
        for _ in range(_LOOKS):
            if atomic_load(_at(team, _UNCLAIMED)) > 0:
                break
        else:
            turns += 1
            if turns > _TURNS:
                _sleep(team)
                turns = 0
            else:
                call_p_status(team.give_way, 0)
    return 0


@entry_point(types.int64(TEAM.type, types.int64, types.int64, types.int64))
def share(team: Table, task: int, context: int, parts: int) -> int:
    """Do all parts of a job, ``code = task(context, part, member, 0)``; returns the largest code.

    Parts are begun from the last to the first; ``own`` names one more, for the caller alone. A job
    must not share another one.
    """
    team.task = task
    team.context = context
    for member in range(team.threads):
        team.codes[member, 0] = 0
    atomic_store(_at(team, _DONE), 0)
    atomic_store(_at(team, _UNCLAIMED), parts)
    if parts > 0 and atomic_load(_at(team, _SLEEPING)) > 0:
        call_p_status(team.lock, team.mutex.ctypes.data)
        call_p_status(team.wake, team.condition.ctypes.data)
        call_p_status(team.unlock, team.mutex.ctypes.data)
    if team.own >= 0:
        team.codes[0, 0] = call_pppn_status(task, context, team.own, 0, 0)
        team.own = -1
    while _do_part(team, 0):
        pass
    looks = 0
    while atomic_load(_at(team, _DONE)) < parts:
        looks += 1
        if looks > _LOOKS:
            call_p_status(team.give_way, 0)
            looks = 0
    code = 0
    for member in range(team.threads):
        code = max(code, team.codes[member, 0])
    return code


@entry_point(types.int64(TEAM.type, types.int64, types.int64, types.int64))
def _do_range(team: Table, part: int, _member: int, _unused: int) -> int:
    first = part * team.range_length
    if first >= team.range_size:
        return call_pppn_status(team.range_task, team.range_context, -1, -1, 0)
    last = min(first + team.range_length, team.range_size)
    return call_pppn_status(team.range_task, team.range_context, first, last, 0)


@compiled
def over_ranges(
    team_address: int, task: int, context: int, size: int, fewest: int, alongside: bool
) -> int:
    """Let a team do something for all numbers below a size, range by range; the largest code.

    Parameters
    ----------
    team_address : int
        0 where there is no team.
    task : int
        Address of an entry point, ``code = task(context, first, last, 0)``, for ranges that are not
        empty. What it does for one number may not depend on what it does for another: ranges
        differ with the team.
    context : int
    size : int
    fewest : int
        Numbers that are worth a thread's while.
    alongside : bool
        Whether the task has something else to do, of which ranges are independent: it then is
        called for −1, too, first, by this thread.
    """
    if team_address == 0 or size < 2 * fewest:
        code = 0
        if alongside:
            code = call_pppn_status(task, context, -1, -1, 0)
        if size > 0:
            code = max(code, call_pppn_status(task, context, 0, size, 0))
        return code
    team = TEAM.at(team_address)
    length = max(fewest, 1 + size // (_RANGES * team.threads))
    parts = (size + length - 1) // length
    team.range_task = task
    team.range_context = context
    team.range_size = size
    team.range_length = length
    if alongside:
        team.own = parts
    return call_pppn_status(team.share, team, team.do_range, team, parts)


TEAM_KERNELS = (_serve, share, _do_range)
"""What teams need compiled."""


def available_threads() -> int:
    """How many threads this process may run at once."""
    with contextlib.suppress(AttributeError):  # not everywhere
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _c_function(name: str) -> int:
    """Address of a function of the C library."""
    address = ctypes.cast(getattr(ctypes.CDLL(None), name), ctypes.c_void_p).value
    assert address is not None
    return address


_TEAMS: weakref.WeakSet[Team] = weakref.WeakSet()


class Team(HoldsAddresses):
    """Threads for the jobs of one simulation; they begin with `start`.

    Parameters
    ----------
    threads : int
        With the one that has the jobs.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.table = Table(
            TEAM,
            lock=_c_function("pthread_mutex_lock"),
            unlock=_c_function("pthread_mutex_unlock"),
            wait=_c_function("pthread_cond_wait"),
            wake=_c_function("pthread_cond_broadcast"),
            give_way=_c_function("sched_yield"),
            threads=threads,
            share=share.address,
            do_range=_do_range.address,
        )
        self._begin_anew()
        _TEAMS.add(self)

    def _begin_anew(self) -> None:
        """Make memory for threads that do not run yet, of which others know nothing."""
        table = self.table
        table.numbers = np.zeros((4, _LINE), np.int64)
        table.codes = np.zeros((self.threads, _LINE), np.int64)
        # Zeros are what a mutex and a condition of Linux begin with; neither is as large.
        table.mutex = np.zeros(16, np.int64)
        table.condition = np.zeros(16, np.int64)
        self._started = False

    def start(self) -> None:
        """Let the threads run, if they do not."""
        if self._started:
            return
        self._started = True
        for member in range(1, self.threads):
            # Not waited for at the end of the process: a thread that sleeps in compiled code ends
            # with it.
            thread = threading.Thread(
                target=_run, args=(self.table, member), name=f"asperity-{member}", daemon=True
            )
            # Where none can be had, at the end of a process for instance, the caller does it all.
            with contextlib.suppress(RuntimeError):
                thread.start()
        weakref.finalize(self, _end, self.table).atexit = False


def _run(table: Table, member: int) -> None:
    _serve.call(table.address, member)


def _end(table: Table) -> None:
    """Let a team's threads return."""
    table.numbers[_ENDING, 0] = 1
    library = ctypes.CDLL(None)
    library.pthread_mutex_lock(ctypes.c_void_p(table.mutex.ctypes.data))
    library.pthread_cond_broadcast(ctypes.c_void_p(table.condition.ctypes.data))
    library.pthread_mutex_unlock(ctypes.c_void_p(table.mutex.ctypes.data))


def _forget_threads() -> None:
    """After a fork there are no other threads, and one may have held the mutex."""
    for team in list(_TEAMS):
        team._begin_anew()


os.register_at_fork(after_in_child=_forget_threads)
