"""Work that is done part by part, by the threads of a team if there is one.

Parts are cut by the model and the state, never by the number of threads, and a part's sums are put
together in their order: results have the same bits for any number. What is done for one part is
an entry point, the very same code for one thread and for several. Each member of the team does it
on an engine of its own, whose tables are the same but for space to work in.
"""

from __future__ import annotations

from numba import types

from asperity.compiled import Table, compiled, entry_point
from asperity.compiled.calls import call_pppn_status
from asperity.compiled.team import TEAM
from asperity.midas.engine_layout import MIDAS

__all__ = ["LINKS", "PART", "RUNS", "STENCILS", "count_parts", "do_parts", "least", "sum_of_parts"]

PART = types.int64(MIDAS.type, types.int64, types.int64, types.int64)
"""Signature of what does a part: ``code = task(engine, part, member, 0)``."""

# Sizes of parts: some microseconds each.
RUNS = 8
STENCILS = 64
LINKS = 16


@compiled
def count_parts(size: int, length: int) -> int:
    """How many parts of a length there are."""
    return (size + length - 1) // length


@entry_point(PART)
def do_part(engine: Table, part: int, member: int, _unused: int) -> int:
    """Let a member of the team do a part."""
    own = engine if member == 0 else MIDAS.at(engine.parts.members[member])
    return call_pppn_status(engine.parts.task, own, part, member, 0)


@compiled
def do_parts(engine: Table, task: int, parts: int) -> int:
    """Do all parts of some work; returns the largest code.

    Parameters
    ----------
    engine : Table
    task : int
        Address of an entry point with the signature `PART`. It may write what belongs to its part,
        and no number of a table.
    parts : int
    """
    if engine.parts.team == 0 or parts < 2:
        code = 0
        for part in range(parts):
            code = max(code, call_pppn_status(task, engine, part, 0, 0))
        return code
    team = TEAM.at(engine.parts.team)
    engine.parts.task = task
    return call_pppn_status(team.share, team, engine.entries.do_part, engine, parts)


@compiled
def sum_of_parts(engine: Table, parts: int) -> float:
    """Sum of the parts' values, in their order."""
    total = 0.0
    for part in range(parts):
        total += engine.parts.value[part]
    return total


@compiled
def least(engine: Table, parts: int, value: float) -> float:
    """Least of a value and those of the parts; NaN if one of them is."""
    for part in range(parts):
        if value != value:
            break
        if not engine.parts.value[part] >= value:
            value = engine.parts.value[part]
    return value
