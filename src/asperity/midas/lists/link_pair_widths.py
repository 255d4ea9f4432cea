"""Widths of paths of links of one tree: wider ones serve longer, if nothing comes near in them."""

from __future__ import annotations

from asperity.compiled import Table, compiled, entry_point
from asperity.midas.lists.link_pair_paths import may_meet, part_for_now
from asperity.midas.lists.link_pair_search import WIDTH_FACTOR, narrow_link_pair
from asperity.midas.lists.shared_lists import THIRDS
from asperity.midas.parts import PART, count_parts, do_parts

__all__ = ["WIDENING_KERNELS", "widen"]

# How many times paths are tried to be wider than they must be, by a factor each.
_LEVELS = 2
# Pairs of links that make a part.
_PAIRS = 8


@compiled
def _level(engine: Table, block: int) -> int:
    """How many times wider the path of two links may be; −1 if something comes near anyway."""
    level = _LEVELS
    for k in range(2):
        engine.relative.width[block, k] *= WIDTH_FACTOR**_LEVELS
    pair = engine.relative.first[block]
    while pair >= 0:
        for third in range(THIRDS):
            level = narrow_link_pair(engine, pair, third, level)
            if level < 0:
                return level
        pair = engine.relative.next[pair]
    return level


@entry_point(PART)
def widen_part(engine: Table, part: int, _member: int, _unused: int) -> int:
    """Widen the paths of some pairs of links, as far as nothing comes near then."""
    for block in range(part * _PAIRS, min((part + 1) * _PAIRS, engine.relative.state.size)):
        # What had some stencils is likely to have some again.
        if (
            may_meet(engine.relative, block)
            and engine.relative.kept[block] == 0
            and engine.relative.found[block] == 0
            and _level(engine, block) >= 0
        ):
            part_for_now(engine.relative, block)
    return 0


@compiled
def widen(engine: Table) -> None:
    """Widen the paths of pairs of links, as far as nothing comes near then.

    What stays in wider paths is listed anew less often.
    """
    do_parts(engine, engine.entries.widen_part, count_parts(engine.relative.state.size, _PAIRS))


WIDENING_KERNELS = (widen_part,)
