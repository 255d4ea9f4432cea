"""Broad phase: the pairs of primitives that may touch while vertices stay in given boxes.

Every vertex has a box that holds its expected path (`asperity.midas.lists.vertex_boxes`). As long
as none leaves its box, only primitives whose boxes come within the activation distance of their
pair can touch; the solver cuts its steps at the boxes and asks for new ones when it must. Resting
bodies thus get small boxes and short lists, and a fast body a long, thin one along its path.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled, entry_point
from asperity.midas.engine_layout import CANDIDATES_FULL
from asperity.midas.geometry.round_planes import add_round_stencils
from asperity.midas.geometry.stencil import RIM_PLANE, VERTEX_PLANE, plane_number
from asperity.midas.lists.candidate_runs import divide_into_runs
from asperity.midas.lists.kept_lists import take_kept
from asperity.midas.lists.link_pair_paths import is_seen_from_base, may_meet
from asperity.midas.lists.link_pair_search import search_link_pair
from asperity.midas.lists.link_pair_widths import WIDENING_KERNELS, widen
from asperity.midas.lists.placed_boxes import box_shape
from asperity.midas.lists.shared_lists import THIRDS, search_pairs
from asperity.midas.lists.stencils import apart
from asperity.midas.lists.tree_search import search_edges, search_faces, search_half_space
from asperity.midas.lists.vertex_boxes import box_vertex
from asperity.midas.model.flat_faces import box_face, choose_faces, release_faces, round_side
from asperity.midas.parts import PART, count_parts, do_parts

__all__ = ["SEARCH_KERNELS", "find_candidates"]

# Shapes whose boxes make a part.
_SHAPES = 4


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


@entry_point(PART)
def hull_part(engine: Table, part: int, _member: int, _unused: int) -> int:
    """Fill the boxes of some shapes."""
    for shape in range(part * _SHAPES, min((part + 1) * _SHAPES, engine.boxes.shape_box.shape[0])):
        if engine.boxes.shape_boxed[shape] == 1:
            box_shape(engine, shape, engine.boxes.shape_box[shape])
    return 0


@compiled
def _search_trees(
    engine: Table, x: np.ndarray, pair: int, a: int, b: int, third: int, count: int
) -> int:
    """Add a third of the stencils of two shapes, by their trees of boxes."""
    margin = engine.pairs.activation[pair]
    if third == 0:
        return search_faces(engine, x, count, pair, a, b, margin)
    if third == 1:
        return search_faces(engine, x, count, pair, b, a, margin)
    return search_edges(engine, x, count, pair, a, b, margin)


@compiled
def _search_plane(engine: Table, x: np.ndarray, pair: int, a: int, plane: int, count: int) -> int:
    """Add the stencils of a shape and a half-space."""
    margin = engine.pairs.activation[pair]
    if engine.shapes.anchor[a, 0, 0] < 0:
        return search_half_space(engine, x, count, pair, a, plane, margin)
    for v in range(engine.shapes.vertex_start[a], engine.shapes.vertex_start[a + 1]):
        box_vertex(engine.shapes, engine.boxes, v)
    box_face(engine.shapes, engine.boxes, plane)
    return add_round_stencils(engine, x, count, pair, a, plane, margin)


@compiled
def _search_third(engine: Table, x: np.ndarray, pair: int, third: int, count: int) -> int:
    """Add a third of the stencils of two shapes; returns the count, or −1 if the list is full."""
    a = engine.pairs.shape[pair, 0]
    b = engine.pairs.shape[pair, 1]
    plane = engine.pairs.plane[pair]
    if plane >= 0:
        if third > 0:
            return count
        return _search_plane(
            engine, x, pair, round_side(engine.shapes, engine.pairs, pair), plane, count
        )
    if is_seen_from_base(engine.pairs, engine.relative, pair):
        block = engine.pairs.block[pair]
        if engine.relative.kept[block] == 1:
            return take_kept(engine, pair, THIRDS * pair + third, count)
        return (
            search_link_pair(engine, pair, third, count)
            if may_meet(engine.relative, block)
            else count
        )
    if apart(engine.boxes.shape_box[a], engine.boxes.shape_box[b], engine.pairs.activation[pair]):
        return count
    return _search_trees(engine, x, pair, a, b, third, count)


@entry_point(PART)
def search_part(engine: Table, part: int, member: int, _unused: int) -> int:
    """List the stencils of some thirds of pairs, after those that are listed; returns a code."""
    count = engine.candidates.count
    for number in range(engine.search.begin[part], engine.search.begin[part + 1]):
        engine.search.found[number, 0] = member
        engine.search.found[number, 1] = count
        count = _search_third(engine, engine.boxes.start, number // THIRDS, number % THIRDS, count)
        if count < 0:
            return CANDIDATES_FULL
        engine.search.found[number, 2] = count
    engine.candidates.count = count
    return 0


@compiled
def find_candidates(engine: Table, keep_slots: bool) -> int:
    """List all stencils that may touch in the vertices' boxes; returns 0 or `CANDIDATES_FULL`.

    They are measured where the paths begin. With ``keep_slots`` Hessian blocks in use stay in use
    (those of friction outlive a list).
    """
    if not keep_slots:
        engine.hessian.slots = 0
        for i in range(engine.hessian.block_slot.size):
            engine.hessian.block_slot[i] = -1
    for block in engine.ties.block:
        if not _use_slot(engine.pairs, engine.hessian, block):
            return CANDIDATES_FULL
    for block in engine.turns.block:
        if not _use_slot(engine.pairs, engine.hessian, block):
            return CANDIDATES_FULL
    engine.boxes.list_number += 1
    do_parts(
        engine, engine.entries.hull_part, count_parts(engine.boxes.shape_box.shape[0], _SHAPES)
    )
    if keep_slots:
        release_faces(engine)
    else:
        choose_faces(engine)
    if engine.relative.any == 1:
        widen(engine)
    code = search_pairs(engine)
    if code != 0:
        return code
    found = engine.search.found
    for block in range(engine.relative.found.size):
        engine.relative.found[block] = 0
    for number in range(THIRDS * engine.pairs.shape.shape[0]):
        count = found[number, 2] - found[number, 1]
        if count == 0:
            continue
        block = engine.pairs.block[number // THIRDS]
        if block >= 0:
            engine.relative.found[block] += count
        if not _use_slot(engine.pairs, engine.hessian, block):
            return CANDIDATES_FULL
    engine.newton.anchored = 0
    _list_vertices(engine)
    divide_into_runs(engine)
    return 0


SEARCH_KERNELS = (hull_part, search_part, *WIDENING_KERNELS)
