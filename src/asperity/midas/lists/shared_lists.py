"""Lists of candidates that the members of a team have found, put together in the pairs' order."""

from __future__ import annotations

from numba import types

from asperity.compiled import Table, compiled, entry_point
from asperity.compiled.calls import call_pp_status, call_pppn_status
from asperity.compiled.team import TEAM
from asperity.midas.engine_layout import CANDIDATES_FULL, MIDAS
from asperity.midas.lists.relative_paths import is_relative, may_meet
from asperity.midas.parts import PART, copy_words, do_parts

__all__ = ["LIST_KERNELS", "THIRDS", "search_pairs"]

THIRDS = 3
"""What a pair of shapes is searched for: vertices and faces, faces and vertices, edges."""

# Parts that those make at most which are looked at in boxes: most are apart, and a few take all the
# time. Links that may meet on their path are searched each by itself, others are passed over.
_PARTS = 512
_PASSED = 64


@compiled
def _divide(engine: Table) -> int:
    """Cut the thirds of pairs of shapes into parts of about the same work; returns how many."""
    count = THIRDS * engine.pair_shape.shape[0]
    boxed = max(_PASSED // (1 + count // _PARTS), 1)
    parts = 0
    work = _PASSED
    for number in range(count):
        pair = number // THIRDS
        own = boxed
        if is_relative(engine, pair):
            block = engine.pair_block[pair]
            met = may_meet(engine, block) and engine.relative_kept[block] == 0
            own = _PASSED if met else 1
        if work + own > _PASSED:
            engine.search_begin[parts] = number
            parts += 1
            work = 0
        work += own
    engine.search_begin[parts] = count
    return parts


@entry_point(PART)
def do_search(engine: Table, part: int, member: int, _unused: int) -> int:
    """Let a member of the team search some thirds of pairs, for its own list."""
    own = MIDAS.at(engine.search_table[member])
    return call_pppn_status(engine.search_part, own, part, member, 0)


@compiled
def _copy(source: Table, i: int, target: Table, count: int) -> None:
    target.candidate_kind[count] = source.candidate_kind[i]
    target.candidate_pair[count] = source.candidate_pair[i]
    target.candidate_weight[count] = source.candidate_weight[i]
    target.candidate_threshold[count] = source.candidate_threshold[i]
    target.candidate_square[count] = source.candidate_square[i]
    target.candidate_anchor[count] = source.candidate_anchor[i]
    for k in range(4):
        target.candidate_vertex[count, k] = source.candidate_vertex[i, k]
    for k in range(6):
        target.candidate_coefficient[count, k] = source.candidate_coefficient[i, k]
    for k in range(3):
        target.candidate_arm[count, k] = source.candidate_arm[i, k]


@entry_point(types.int64(MIDAS.type, types.int64))
def merge_lists(engine: Table, _unused: int) -> int:
    """Put the members' lists together; returns a code."""
    found = engine.pair_found
    count = 0
    for number in range(THIRDS * engine.pair_shape.shape[0]):
        own = MIDAS.at(engine.search_table[found[number, 0]])
        begin = count
        for i in range(found[number, 1], found[number, 2]):
            if count >= engine.candidate_kind.size:
                return CANDIDATES_FULL
            _copy(own, i, engine, count)
            count += 1
        found[number, 1] = begin
        found[number, 2] = count
    engine.candidates = count
    return 0


@compiled
def search_pairs(engine: Table) -> int:
    """List the stencils of all pairs of shapes; returns a code."""
    parts = _divide(engine)
    engine.candidates = 0
    if engine.team == 0 or parts < 2:
        return do_parts(engine, engine.search_part, parts)
    team = TEAM.at(engine.team)
    for member in range(team.threads):
        copy_words(engine, MIDAS.at(engine.search_table[member]), engine.search_words)
    code = call_pppn_status(team.share, team, engine.do_search, engine, parts)
    if code != 0:
        return code
    return call_pp_status(engine.merge_lists, engine, 0)


LIST_KERNELS = (do_search, merge_lists)
