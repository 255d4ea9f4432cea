"""Widths of paths of links of one tree: wider ones serve longer, if nothing comes near in them."""

from __future__ import annotations

from asperity.compiled import Table, compiled, entry_point
from asperity.midas.lists.relative_paths import may_meet, part_for_now
from asperity.midas.lists.relative_search import search_relative
from asperity.midas.lists.shared_lists import THIRDS
from asperity.midas.parts import PART, count_parts, do_parts

__all__ = ["WIDENING_KERNELS", "widen"]

# How much wider than they must be paths are tried to be, from the first to the last, and stencils
# of the last list with which they are not.
_WIDEST = 16.0
_FACTOR = 4.0
_LEVELS = 2
_MANY = 64
# Pairs of links that make a part.
_PAIRS = 8


@compiled
def _may_meet(engine: Table, block: int) -> bool:
    """Whether anything of two links comes near on their path."""
    pair = engine.relative_first[block]
    while pair >= 0:
        for third in range(THIRDS):
            if search_relative(engine, pair, third, 0, 0) > 0:
                return True
        pair = engine.relative_next[pair]
    return False


@entry_point(PART)
def widen_part(engine: Table, part: int, _member: int, _unused: int) -> int:
    """Widen the paths of some pairs of links of which nothing comes near then."""
    for block in range(part * _PAIRS, min((part + 1) * _PAIRS, engine.relative_state.size)):
        if not may_meet(engine, block) or engine.relative_kept[block] == 1:
            continue
        # What had many is likely to have some.
        if engine.relative_found[block] > _MANY:
            continue
        width = engine.relative_width[block]
        wide = width[0]
        turn = width[1]
        for level in range(_LEVELS):
            more = _WIDEST / _FACTOR**level
            width[0] = more * wide
            width[1] = more * turn
            if not _may_meet(engine, block):
                part_for_now(engine, block)
                break
            width[0] = wide
            width[1] = turn
    return 0


@compiled
def widen(engine: Table) -> None:
    """Widen the paths of pairs of links, as far as nothing comes near then.

    What stays in wider paths is listed anew less often.
    """
    do_parts(engine, engine.widen_part, count_parts(engine.relative_state.size, _PAIRS))


WIDENING_KERNELS = (widen_part,)
