"""Candidates of pairs of links that keep their paths, put aside while others are listed anew."""

from __future__ import annotations

from asperity.compiled import Table, compiled
from asperity.midas.lists.relative_paths import is_relative
from asperity.midas.lists.shared_lists import THIRDS
from asperity.midas.lists.stencils import append_stencil

__all__ = ["put_kept_aside", "take_kept"]


@compiled
def put_kept_aside(engine: Table) -> None:
    """Copy the candidates of pairs of links that keep them."""
    found = engine.pair_found
    kept = 0
    for number in range(THIRDS * engine.pair_shape.shape[0]):
        engine.kept_found[number, 0] = kept
        pair = number // THIRDS
        if is_relative(engine, pair) and engine.relative_kept[engine.pair_block[pair]] == 1:
            for i in range(found[number, 1], found[number, 2]):
                engine.kept_kind[kept] = engine.candidate_kind[i]
                engine.kept_weight[kept] = engine.candidate_weight[i]
                engine.kept_threshold[kept] = engine.candidate_threshold[i]
                for k in range(4):
                    engine.kept_vertex[kept, k] = engine.candidate_vertex[i, k]
                kept += 1
        engine.kept_found[number, 1] = kept


@compiled
def take_kept(engine: Table, pair: int, number: int, count: int) -> int:
    """Add the candidates of a third of a pair that were put aside; −1 if the list is full."""
    for i in range(engine.kept_found[number, 0], engine.kept_found[number, 1]):
        v = engine.kept_vertex[i]
        after = append_stencil(engine, count, pair, engine.kept_kind[i], v[0], v[1], v[2], v[3])
        if after < 0:
            return after
        engine.candidate_weight[count] = engine.kept_weight[i]
        engine.candidate_threshold[count] = engine.kept_threshold[i]
        count = after
    return count
