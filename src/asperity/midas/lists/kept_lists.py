"""Candidates of pairs of links that keep their paths, put aside while others are listed anew."""

from __future__ import annotations

from asperity.compiled import Table, compiled
from asperity.midas.geometry.stencil import Stencil
from asperity.midas.lists.link_pair_paths import is_seen_from_base
from asperity.midas.lists.shared_lists import THIRDS
from asperity.midas.lists.stencils import LIST_FULL, append_stencil

__all__ = ["put_kept_aside", "take_kept"]


@compiled
def put_kept_aside(engine: Table) -> None:
    """Copy the candidates of pairs of links that keep them."""
    found = engine.search.found
    kept = 0
    for number in range(THIRDS * engine.pairs.shape.shape[0]):
        engine.kept.found[number, 0] = kept
        pair = number // THIRDS
        if (
            is_seen_from_base(engine.pairs, engine.relative, pair)
            and engine.relative.kept[engine.pairs.block[pair]] == 1
        ):
            for i in range(found[number, 1], found[number, 2]):
                engine.kept.kind[kept] = engine.candidates.kind[i]
                engine.kept.weight[kept] = engine.candidates.weight[i]
                engine.kept.threshold[kept] = engine.candidates.threshold[i]
                for k in range(4):
                    engine.kept.vertex[kept, k] = engine.candidates.vertex[i, k]
                kept += 1
        engine.kept.found[number, 1] = kept


@compiled
def take_kept(engine: Table, pair: int, number: int, count: int) -> int:
    """Add the candidates of a third of a pair that were put aside; as `append_stencil`."""
    kept = engine.kept
    for i in range(kept.found[number, 0], kept.found[number, 1]):
        v = kept.vertex[i]
        stencil = Stencil(kept.kind[i], v[0], v[1], v[2], v[3])
        after = append_stencil(engine.shapes, engine.candidates, count, pair, stencil)
        if after == LIST_FULL:
            return after
        engine.candidates.weight[count] = kept.weight[i]
        engine.candidates.threshold[count] = kept.threshold[i]
        count = after
    return count
