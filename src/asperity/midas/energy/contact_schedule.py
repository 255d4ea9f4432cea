"""In which order contacts add to gradients and Hessian blocks of their links.

Links are divided into `_GROUPS` groups, each of neighbours by number. What touches a single group,
or one and the world, is a part of the first round; what touches two is a part of the round of the
tournament in which these two meet: in no round a group is in two parts. So parts of a round are
done at once, and every sum is taken in an order that is the model's and the list's.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled, entry_point
from asperity.compiled.calls import call_pppn_status
from asperity.midas.parts import PART, do_parts

__all__ = [
    "SCHEDULE_KERNELS",
    "SCHEDULE_SIZE",
    "do_schedule",
    "meeting_fields",
    "schedule_friction",
    "schedule_runs",
]

_GROUPS = 8
_MEETINGS = _GROUPS // 2
_ROUNDS = _GROUPS - 1

SCHEDULE_SIZE = _GROUPS + _ROUNDS * _MEETINGS
"""How many parts there are in all rounds."""


@compiled
def part_of_links(schedule: Table, one: int, other: int) -> int:
    """The part of two links, of which the second may be the world."""
    a = schedule.link_group[one]
    return schedule.meeting[
        a, schedule.link_group[other] if other < schedule.link_group.size else a
    ]


def meeting_fields(links: int) -> dict[str, np.ndarray]:
    """Groups of links, and parts of pairs of groups."""
    meeting = np.zeros((_GROUPS, _GROUPS), np.int64)
    for a in range(_GROUPS):
        meeting[a, a] = a
        for b in range(a + 1, _GROUPS):
            # In round r group r meets the last one, and r + k meets r − k modulo the rounds.
            last = b == _GROUPS - 1
            turn = a if last else (a + b) * (_GROUPS // 2) % _ROUNDS
            k = 0 if last else min((a - turn) % _ROUNDS, (turn - a) % _ROUNDS)
            meeting[a, b] = meeting[b, a] = _GROUPS + _MEETINGS * turn + k
    return {"link_group": np.arange(links) * _GROUPS // links, "meeting": meeting}


@compiled
def _order(own: np.ndarray, size: int, begin: np.ndarray, order: np.ndarray) -> None:
    """List numbers below a size by their parts; part p has begin[p] to begin[p + 1]."""
    for part in range(SCHEDULE_SIZE + 1):
        begin[part] = 0
    for i in range(size):
        begin[own[i]] += 1
    total = 0
    for part in range(SCHEDULE_SIZE + 1):
        count = begin[part]
        begin[part] = total
        total += count
    for i in range(size):
        part = own[i]
        order[begin[part]] = i
        begin[part] += 1
    for back in range(SCHEDULE_SIZE):
        begin[SCHEDULE_SIZE - back] = begin[SCHEDULE_SIZE - back - 1]
    begin[0] = 0


@compiled
def schedule_runs(runs: Table, schedule: Table) -> None:
    """Put the runs of a new list into their parts."""
    link = runs.link
    for run in range(runs.count):
        schedule.run_part[run] = part_of_links(schedule, link[run, 0], link[run, 1])
    _order(schedule.run_part, runs.count, schedule.run_schedule, schedule.run_order)


@compiled
def schedule_friction(friction: Table, schedule: Table) -> None:
    """Put the stencils of friction into the parts that they have got from their runs."""
    _order(
        schedule.friction_part, friction.count, schedule.friction_schedule, schedule.friction_order
    )


@entry_point(PART)
def do_meeting(engine: Table, meeting: int, member: int, _unused: int) -> int:
    """Do a part of a round."""
    part = engine.schedule.first_meeting + meeting
    return call_pppn_status(engine.entries.contacts_part, engine, part, member, 0)


@compiled
def do_schedule(engine: Table) -> None:
    """Let contacts and friction add to gradients and Hessian blocks."""
    do_parts(engine, engine.entries.contacts_part, _GROUPS)
    runs = engine.schedule.run_schedule
    friction = engine.schedule.friction_schedule
    for turn in range(_ROUNDS):
        first = _GROUPS + turn * _MEETINGS
        end = first + _MEETINGS
        if runs[end] > runs[first] or friction[end] > friction[first]:
            engine.schedule.first_meeting = first
            do_parts(engine, engine.entries.do_meeting, _MEETINGS)


SCHEDULE_KERNELS = (do_meeting,)
