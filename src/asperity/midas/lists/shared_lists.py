"""Lists of candidates that the members of a team have found, put together in the pairs' order."""

from __future__ import annotations

from numba import types

from asperity.compiled import Table, compiled, entry_point
from asperity.compiled.calls import call_pp_status, call_pppn_status
from asperity.compiled.team import TEAM
from asperity.midas.engine_layout import CANDIDATES_FULL, MIDAS
from asperity.midas.geometry.box_trees import apart
from asperity.midas.lists.link_pair_paths import is_searched, is_seen_from_base, keeps_candidates
from asperity.midas.lists.placed_boxes import shape_box
from asperity.midas.parts import PART, do_parts

__all__ = ["LIST_KERNELS", "THIRDS", "keep_candidates", "search_pairs"]

THIRDS = 3
"""What a pair of shapes is searched for: vertices and faces, faces and vertices, edges."""


@compiled
def _may_meet(engine: Table, pair: int) -> bool:
    """Whether a pair of shapes is searched, by boxes of the whole shapes or of their links."""
    if engine.pairs.plane[pair] >= 0:
        return True
    if is_seen_from_base(engine.pairs, engine.relative, pair):
        return is_searched(engine.relative, engine.pairs.seen[pair])
    one = shape_box(engine, engine.pairs.shape[pair, 0])
    other = shape_box(engine, engine.pairs.shape[pair, 1])
    return not apart(one, other, engine.pairs.activation[pair])


@compiled
def _list_thirds(engine: Table) -> None:
    """List the thirds of pairs of shapes that may meet."""
    search = engine.search
    search.count = 0
    for pair in range(engine.pairs.shape.shape[0]):
        if _may_meet(engine, pair):
            for third in range(THIRDS if engine.pairs.plane[pair] < 0 else 1):
                search.third[search.count] = THIRDS * pair + third
                search.count += 1


@entry_point(PART)
def do_search(engine: Table, part: int, member: int, _unused: int) -> int:
    """Let a member of the team search a third of a pair, for its own list."""
    own = MIDAS.at(engine.parts.searchers[member])
    return call_pppn_status(engine.entries.search_part, own, part, member, 0)


@compiled
def _copy(source: Table, i: int, target: Table, count: int) -> None:
    """Copy a candidate from one list to another."""
    target.kind[count] = source.kind[i]
    target.pair[count] = source.pair[i]
    target.weight[count] = source.weight[i]
    target.threshold[count] = source.threshold[i]
    target.square[count] = source.square[i]
    target.anchor[count] = source.anchor[i]
    target.final[count] = source.final[i]
    for k in range(4):
        target.vertex[count, k] = source.vertex[i, k]
    for k in range(6):
        target.coefficient[count, k] = source.coefficient[i, k]
    for k in range(3):
        target.arm[count, k] = source.arm[i, k]


@compiled
def keep_candidates(engine: Table) -> int:
    """Move those of pairs of links that keep theirs to the list's beginning; returns how many."""
    candidates = engine.candidates
    count = 0
    for i in range(candidates.count):
        if keeps_candidates(engine.pairs, engine.relative, candidates.pair[i]):
            _copy(candidates, i, candidates, count)
            candidates.anchor[count] = 0.0
            count += 1
    return count


@entry_point(types.int64(MIDAS.type, types.int64))
def merge_lists(engine: Table, _unused: int) -> int:
    """Put the members' lists together, after the candidates that are kept; returns a code."""
    found = engine.search.found
    count = engine.candidates.count
    for part in range(engine.search.count):
        own = MIDAS.at(engine.parts.searchers[found[part, 0]]).candidates
        for i in range(found[part, 1], found[part, 2]):
            if count >= engine.candidates.kind.size:
                return CANDIDATES_FULL
            _copy(own, i, engine.candidates, count)
            count += 1
    engine.candidates.count = count
    return 0


@compiled
def search_pairs(engine: Table, kept: int) -> int:
    """List the stencils of all pairs of shapes, after those that are kept; returns a code."""
    _list_thirds(engine)
    parts = engine.search.count
    engine.candidates.count = kept
    if engine.parts.team == 0 or parts < 2:
        return do_parts(engine, engine.entries.search_part, parts)
    team = TEAM.at(engine.parts.team)
    for member in range(team.threads):
        MIDAS.at(engine.parts.searchers[member]).candidates.count = 0
    code = call_pppn_status(team.share, team, engine.entries.do_search, engine, parts)
    if code != 0:
        return code
    return call_pp_status(engine.entries.merge_lists, engine, 0)


LIST_KERNELS = (do_search, merge_lists)
