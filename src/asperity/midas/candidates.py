"""Broad phase: the pairs of primitives that may touch while vertices stay in given boxes.

Every vertex has a box that holds its expected path (`asperity.midas.vertex_boxes`). As long as none
leaves its box, only primitives whose boxes come within the activation distance of each other can
touch; the solver cuts its steps at the boxes and asks for new ones when it must. Resting bodies
thus get small boxes and short lists, and a fast body a long, thin one along its path.
"""

from __future__ import annotations

from asperity.compiled import Table, compiled
from asperity.midas.candidate_runs import divide_into_runs
from asperity.midas.distances import RIM_PLANE, VERTEX_PLANE
from asperity.midas.engine_layout import CANDIDATES_FULL
from asperity.midas.placed_boxes import box_shape
from asperity.midas.round_planes import add_round_stencils
from asperity.midas.stencils import FEW, add_edges, add_faces, apart
from asperity.midas.tree_search import search_edges, search_faces, search_half_space
from asperity.midas.tubes import is_in_tube
from asperity.midas.vertex_boxes import box_vertex

__all__ = ["find_candidates"]


@compiled
def _use_slot(engine: Table, block: int) -> bool:
    """Give a pair of links a Hessian block; returns False if there is no room."""
    if block < 0:
        return True
    if engine.block_slot[block] >= 0:
        return True
    slot = engine.slots
    if slot >= engine.slot_link.shape[0]:
        return False
    engine.slot_link[slot, 0] = engine.block_link[block, 0]
    engine.slot_link[slot, 1] = engine.block_link[block, 1]
    engine.block_slot[block] = slot
    engine.slots = slot + 1
    return True


@compiled
def _move_together(engine: Table, one: int, other: int) -> int:
    """1 if two shapes are on links of one tree, whose vertices stay in tubes."""
    a = engine.vertex_link[engine.shape_vertex[one]]
    b = engine.vertex_link[engine.shape_vertex[other]]
    if not is_in_tube(engine, a) or not is_in_tube(engine, b):
        return 0
    return 1 if engine.link_tree[a] == engine.link_tree[b] else 0


@compiled
def _are_few(engine: Table, one: int, other: int) -> bool:
    """Whether two shapes have so few pairs of edges that primitives are looked at one by one."""
    edges = engine.shape_edge[one + 1] - engine.shape_edge[one]
    edges_too = engine.shape_edge[other + 1] - engine.shape_edge[other]
    faces = engine.shape_face[one + 1] - engine.shape_face[one]
    faces_too = engine.shape_face[other + 1] - engine.shape_face[other]
    return edges * edges_too <= FEW and max(edges, edges_too, faces, faces_too) <= FEW


@compiled
def _list_vertices(engine: Table) -> None:
    """List the moving vertices of a new list's candidates."""
    count = 0
    for i in range(engine.candidates):
        kind = engine.candidate_kind[i]
        corners = 4
        if kind == VERTEX_PLANE:
            corners = 1
        elif kind == RIM_PLANE:
            corners = 3
        for corner in range(corners):
            vertex = engine.candidate_vertex[i, corner]
            if vertex < engine.moving_vertices and engine.vertex_mark[vertex] != engine.list_number:
                engine.vertex_mark[vertex] = engine.list_number
                engine.listed_vertex[count] = vertex
                count += 1
    engine.listed_vertices = count


@compiled
def find_candidates(engine: Table, keep_slots: bool) -> int:
    """List all stencils that may touch in the vertices' boxes; returns 0 or `CANDIDATES_FULL`.

    They are measured where the paths begin. With ``keep_slots`` Hessian blocks in use stay in use
    (those of friction outlive a list).
    """
    x = engine.vertex_start
    starts = engine.shape_vertex
    margin = engine.activation
    shapes = starts.size - 1
    if not keep_slots:
        engine.slots = 0
        for i in range(engine.block_slot.size):
            engine.block_slot[i] = -1
    for block in engine.tie_block:
        if not _use_slot(engine, block):
            return CANDIDATES_FULL
    for block in engine.turn_block:
        if not _use_slot(engine, block):
            return CANDIDATES_FULL
    engine.list_number += 1
    engine.relative = 0
    hull = engine.shape_box
    for shape in range(shapes):
        box_shape(engine, shape, hull[shape])
    region = engine.region
    count = 0
    for pair in range(engine.pair_shape.shape[0]):
        a = engine.pair_shape[pair, 0]
        b = engine.pair_shape[pair, 1]
        before = count
        if b < 0 and engine.shape_anchor[a, 0, 0] >= 0:
            for v in range(starts[a], starts[a + 1]):
                box_vertex(engine, v)
            count = add_round_stencils(engine, x, count, pair, a, -1 - b, margin)
            if count < 0:
                return CANDIDATES_FULL
            continue
        if b < 0:
            count = search_half_space(engine, x, count, pair, a, -1 - b, margin)
            if count < 0:
                return CANDIDATES_FULL
            continue
        if apart(hull[a], hull[b], margin):
            continue
        engine.relative = _move_together(engine, a, b)
        if engine.relative == 1 or not _are_few(engine, a, b):
            count = search_faces(engine, x, count, pair, a, b, margin)
            if count >= 0:
                count = search_faces(engine, x, count, pair, b, a, margin)
            if count >= 0:
                count = search_edges(engine, x, count, pair, a, b, margin)
            engine.relative = 0
            if count < 0 or (count > before and not _use_slot(engine, engine.pair_block[pair])):
                return CANDIDATES_FULL
            continue
        for shape in (a, b):
            for v in range(starts[shape], starts[shape + 1]):
                box_vertex(engine, v)
        for k in range(3):
            region[0, k] = max(hull[a, 0, k], hull[b, 0, k]) - margin
            region[1, k] = min(hull[a, 1, k], hull[b, 1, k]) + margin
        count = add_faces(engine, x, count, pair, a, b, region, margin)
        if count >= 0:
            count = add_faces(engine, x, count, pair, b, a, region, margin)
        if count >= 0:
            count = add_edges(engine, x, count, pair, a, b, region, margin)
        if count < 0:
            return CANDIDATES_FULL
        if count > before and not _use_slot(engine, engine.pair_block[pair]):
            return CANDIDATES_FULL
    engine.candidates = count
    engine.anchored = 0
    _list_vertices(engine)
    divide_into_runs(engine)
    return 0
