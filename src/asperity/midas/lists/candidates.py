"""Broad phase: the pairs of primitives that may touch while vertices stay in given boxes.

Every vertex has a box that holds its expected path (`asperity.midas.lists.vertex_boxes`). As long
as none leaves its box, only primitives whose boxes come within the activation distance of their
pair can touch; the solver cuts its steps at the boxes and asks for new ones when it must. Resting
bodies thus get small boxes and short lists, and a fast body a long, thin one along its path.
"""

from __future__ import annotations

from asperity.compiled import Table, compiled, entry_point
from asperity.midas.engine_layout import CANDIDATES_FULL
from asperity.midas.geometry.stencil import RIM_PLANE, VERTEX_PLANE, plane_number
from asperity.midas.lists.candidate_runs import divide_into_runs
from asperity.midas.lists.link_pair_paths import is_seen_from_base
from asperity.midas.lists.link_pair_search import search_link_pair
from asperity.midas.lists.shared_lists import THIRDS, search_pairs
from asperity.midas.lists.stencils import LIST_FULL, add_round_stencils
from asperity.midas.lists.tree_search import search_half_space, search_trees
from asperity.midas.model.flat_faces import box_round, choose_faces, release_faces, round_side
from asperity.midas.parts import PART

__all__ = ["SEARCH_KERNELS", "find_candidates"]


@compiled
def _use_slot(pairs: Table, hessian: Table, block: int) -> bool:
    """Give a pair of links a Hessian block; returns False if there is no room."""
    if block < 0:
        return True
    if hessian.block_slot[block] >= 0:
        return True
    slot = hessian.slots
    if slot >= hessian.slot_link.shape[0]:
        return False
    hessian.slot_link[slot, 0] = pairs.block_link[block, 0]
    hessian.slot_link[slot, 1] = pairs.block_link[block, 1]
    hessian.block_slot[block] = slot
    hessian.slots = slot + 1
    return True


@compiled
def _list_vertex(engine: Table, vertex: int) -> None:
    """List a vertex, if it moves and is not there yet."""
    if (
        vertex < engine.shapes.moving_vertices
        and engine.vertices.mark[vertex] != engine.boxes.list_number
    ):
        engine.vertices.mark[vertex] = engine.boxes.list_number
        engine.vertices.listed[engine.vertices.listed_count] = vertex
        engine.vertices.listed_count += 1


@compiled
def _list_vertices(engine: Table) -> None:
    """List the moving vertices of a new list's candidates."""
    engine.vertices.listed_count = 0
    for i in range(engine.candidates.count):
        kind = engine.candidates.kind[i]
        corners = 4
        if kind == VERTEX_PLANE:
            corners = 1
        elif kind == RIM_PLANE:
            corners = 3
        for corner in range(corners):
            _list_vertex(engine, engine.candidates.vertex[i, corner])
        if kind > VERTEX_PLANE:
            face = engine.shapes.plane_corner[plane_number(kind, engine.candidates.vertex[i, 3])]
            for corner in range(3 if face[0] >= 0 else 0):
                _list_vertex(engine, face[corner])


@compiled
def _search_plane(engine: Table, pair: int, count: int) -> int:
    """Add the stencils of a pair's shape and half-space."""
    plane = engine.pairs.plane[pair]
    a = round_side(engine.shapes, engine.pairs, pair)
    if engine.shapes.anchor[a, 0, 0] < 0:
        return search_half_space(engine, count, pair, a, plane)
    box_round(engine.shapes, engine.boxes, a, plane)
    return add_round_stencils(engine, count, pair, a, plane)


@compiled
def _search_third(engine: Table, pair: int, third: int, count: int) -> int:
    """Add a third of the stencils of two shapes; returns the new count, or `LIST_FULL`."""
    if engine.pairs.plane[pair] >= 0:
        return _search_plane(engine, pair, count)
    if is_seen_from_base(engine.pairs, engine.relative, pair):
        return search_link_pair(engine, pair, third, count)
    return search_trees(engine, count, pair, third)


@entry_point(PART)
def search_part(engine: Table, part: int, member: int, _unused: int) -> int:
    """List the stencils of a third of a pair, after those that are listed; returns a code."""
    number = engine.search.third[part]
    begin = engine.candidates.count
    end = _search_third(engine, number // THIRDS, number % THIRDS, begin)
    if end == LIST_FULL:
        return CANDIDATES_FULL
    engine.search.found[part, 0] = member
    engine.search.found[part, 1] = begin
    engine.search.found[part, 2] = end
    engine.candidates.count = end
    return 0


@compiled
def find_candidates(engine: Table, kept: int, keep_slots: bool) -> int:
    """List all stencils that may touch in the vertices' boxes; returns 0 or `CANDIDATES_FULL`.

    The first ``kept`` of the list stay. The others are measured where the paths begin. With
    ``keep_slots`` Hessian blocks in use stay in use (those of friction outlive a list).
    """
    if not keep_slots:
        engine.hessian.slots = 0
        for i in range(engine.hessian.block_slot.size):
            engine.hessian.block_slot[i] = -1
    for block in engine.ties.block:
        if not _use_slot(engine.pairs, engine.hessian, block):
            return CANDIDATES_FULL
    for i in range(kept):
        if not _use_slot(
            engine.pairs, engine.hessian, engine.pairs.block[engine.candidates.pair[i]]
        ):
            return CANDIDATES_FULL
    engine.boxes.list_number += 1
    if keep_slots:
        release_faces(engine)
    else:
        choose_faces(engine)
    code = search_pairs(engine, kept)
    if code != 0:
        return code
    found = engine.search.found
    for part in range(engine.search.count):
        block = engine.pairs.block[engine.search.third[part] // THIRDS]
        if found[part, 2] > found[part, 1] and not _use_slot(engine.pairs, engine.hessian, block):
            return CANDIDATES_FULL
    engine.newton.anchored = 0
    _list_vertices(engine)
    divide_into_runs(engine)
    return 0


SEARCH_KERNELS = (search_part,)
