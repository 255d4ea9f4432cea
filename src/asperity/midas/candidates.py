"""Broad phase: the pairs of primitives that may touch while vertices stay in given boxes.

Every vertex gets a box that holds its expected path. As long as no vertex leaves its box, only
primitives whose boxes come within the activation distance of each other can touch; the solver cuts
its steps at the boxes and asks for new ones when it must. Resting bodies thus get small boxes and
short lists, and a fast body a long, thin one along its path.
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled, entry_point
from asperity.midas.candidate_runs import SLACK, divide_into_runs
from asperity.midas.distances import VERTEX_PLANE
from asperity.midas.engine_layout import CANDIDATES_FULL
from asperity.midas.parts import PART, count_parts, do_parts
from asperity.midas.round_planes import add_round_stencils
from asperity.midas.shared_lists import THIRDS, search_pairs, thirds_of_part
from asperity.midas.stencils import add_edges, add_faces, add_stencil, apart
from asperity.midas.tree_search import search_edges, search_faces
from asperity.midas.tubes import FIRMNESS, LEAST_WIDTH, is_in_tube, measure_tubes, tube_width
from asperity.midas.vertex_parts import VERTICES, vertex_parts

__all__ = ["SEARCH_KERNELS", "are_kept", "box_vertices", "find_candidates"]


# Length of paths, slack included, up to which a list serves later steps, in activation distances.
_KEPT = 1.0
# Shapes whose boxes make a part.
_SHAPES = 4
# Pairs of edges of two shapes that are looked at one by one; more of them by trees.
_FEW = 4096


@entry_point(PART)
def box_part(engine: Table, part: int, _member: int, _unused: int) -> int:
    """Box the paths of some vertices; returns 1 if one is long."""
    x = engine.vertex_now
    p = engine.vertex_move
    longest = engine.longest_move
    least = engine.least_slack
    widening = engine.widening
    longest_path = 0.0
    for vertex in range(part * VERTICES, min((part + 1) * VERTICES, engine.moving_vertices)):
        length = math.sqrt(p[vertex, 0] ** 2 + p[vertex, 1] ** 2 + p[vertex, 2] ** 2)
        share = longest / length if length > longest else 1.0
        slack = least + widening * share * length
        engine.vertex_slack[vertex] = slack
        link = engine.vertex_link[vertex]
        if is_in_tube(engine, link):
            share = engine.common_share
            slack = max(least, LEAST_WIDTH) + FIRMNESS * widening * share * length
            engine.vertex_slack[vertex] = tube_width(engine, link, share, p[vertex])
        for k in range(3):
            move = share * p[vertex, k]
            engine.vertex_low[vertex, k] = x[vertex, k] + min(move, 0.0) - slack
            engine.vertex_high[vertex, k] = x[vertex, k] + max(move, 0.0) + slack
            engine.vertex_start[vertex, k] = x[vertex, k]
            engine.vertex_path[vertex, k] = move
        engine.vertex_reach[vertex] = share * length + 1.7320508075688772 * slack
        longest_path = max(longest_path, share * length + slack)
    return 0 if longest_path <= _KEPT * engine.activation else 1


@compiled
def box_vertices(engine: Table) -> None:
    """Box the trial paths of the iterate's vertices, each no longer than the longest move."""
    engine.least_slack = SLACK * engine.activation
    measure_tubes(engine, engine.longest_move)
    long = do_parts(engine, engine.box_part, vertex_parts(engine))
    # Nor do tubes last. Larger boxes would go on holding candidates that are none any more.
    engine.listed = 1 if long == 0 and engine.tubes == 0 else 0


@entry_point(PART)
def kept_part(engine: Table, part: int, _member: int, _unused: int) -> int:
    """Look whether paths of some vertices leave half of their boxes' slack; 1 if one does not."""
    x = engine.vertex_now
    p = engine.vertex_move
    slack = 0.5 * SLACK * engine.activation
    for vertex in range(part * VERTICES, min((part + 1) * VERTICES, engine.moving_vertices)):
        for k in range(3):
            low = engine.vertex_low[vertex, k] + slack
            high = engine.vertex_high[vertex, k] - slack
            end = x[vertex, k] + p[vertex, k]
            # Written so that NaN is not kept.
            if not (low <= x[vertex, k] <= high and low <= end <= high):
                return 1
    return 0


@compiled
def are_kept(engine: Table) -> bool:
    """Whether the trial paths leave half of the boxes' slack, so that these hold."""
    if engine.listed == 0:
        return False
    return do_parts(engine, engine.kept_part, vertex_parts(engine)) == 0


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


@entry_point(PART)
def hull_part(engine: Table, part: int, _member: int, _unused: int) -> int:
    """Fill the boxes of some shapes."""
    starts = engine.shape_vertex
    hull = engine.shape_hull
    for shape in range(part * _SHAPES, min((part + 1) * _SHAPES, hull.shape[0])):
        for k in range(3):
            hull[shape, 0, k] = math.inf
            hull[shape, 1, k] = -math.inf
            for v in range(starts[shape], starts[shape + 1]):
                hull[shape, 0, k] = min(hull[shape, 0, k], engine.vertex_low[v, k])
                hull[shape, 1, k] = max(hull[shape, 1, k], engine.vertex_high[v, k])
            hull[shape, 0, k] -= engine.shape_radius[shape]
            hull[shape, 1, k] += engine.shape_radius[shape]
    return 0


@compiled
def _search_trees(
    engine: Table, x: np.ndarray, pair: int, a: int, b: int, third: int, count: int
) -> int:
    """Add a third of the stencils of two shapes, by their trees of boxes."""
    margin = engine.activation
    space = (engine.search_stack, engine.search_box, engine.search_item)
    engine.relative = _move_together(engine, a, b)
    if third == 0:
        count = search_faces(engine, x, count, pair, a, b, margin, space)
    elif third == 1:
        count = search_faces(engine, x, count, pair, b, a, margin, space)
    else:
        count = search_edges(engine, x, count, pair, a, b, margin, space)
    engine.relative = 0
    return count


@compiled
def _search_all(engine: Table, x: np.ndarray, pair: int, a: int, b: int, count: int) -> int:
    """Add the stencils of two small shapes."""
    margin = engine.activation
    hull = engine.shape_hull
    region = engine.search_region
    for k in range(3):
        region[0, k] = max(hull[a, 0, k], hull[b, 0, k]) - margin
        region[1, k] = min(hull[a, 1, k], hull[b, 1, k]) + margin
    box = engine.corner[:2]
    work = (engine.near_item[0], engine.near_box[0], box)
    work_too = (engine.near_item[1], engine.near_box[1], box)
    count = add_faces(engine, x, count, pair, a, b, region, margin, work)
    if count >= 0:
        count = add_faces(engine, x, count, pair, b, a, region, margin, work)
    if count >= 0:
        count = add_edges(engine, x, count, pair, a, b, region, margin, work, work_too)
    return count


@compiled
def _search_plane(engine: Table, x: np.ndarray, pair: int, a: int, plane: int, count: int) -> int:
    """Add the stencils of a shape and a half-space."""
    margin = engine.activation
    if engine.shape_anchor[a, 0, 0] >= 0:
        return add_round_stencils(engine, x, count, pair, a, plane, margin)
    for v in range(engine.shape_vertex[a], engine.shape_vertex[a + 1]):
        count = add_stencil(engine, x, count, pair, VERTEX_PLANE, v, v, v, plane, margin)
        if count < 0:
            break
    return count


@compiled
def _search_third(engine: Table, x: np.ndarray, pair: int, third: int, count: int) -> int:
    """Add a third of the stencils of a pair of shapes, or with the first one all if these are few.

    Returns the new count, or −1 if the list is full.
    """
    a = engine.pair_shape[pair, 0]
    b = engine.pair_shape[pair, 1]
    if b < 0:
        return _search_plane(engine, x, pair, a, -1 - b, count) if third == 0 else count
    if apart(engine.shape_hull[a], engine.shape_hull[b], engine.activation):
        return count
    edges = engine.shape_edge[a + 1] - engine.shape_edge[a]
    if (
        edges * (engine.shape_edge[b + 1] - engine.shape_edge[b]) > _FEW
        or _move_together(engine, a, b) == 1
    ):
        return _search_trees(engine, x, pair, a, b, third, count)
    return _search_all(engine, x, pair, a, b, count) if third == 0 else count


@entry_point(PART)
def search_part(engine: Table, part: int, member: int, _unused: int) -> int:
    """List the stencils of some thirds of pairs, after those that are listed; returns a code."""
    length = thirds_of_part(engine)
    count = engine.candidates
    end = min((part + 1) * length, THIRDS * engine.pair_shape.shape[0])
    for number in range(part * length, end):
        engine.pair_found[number, 0] = member
        engine.pair_found[number, 1] = count
        count = _search_third(engine, engine.vertex_now, number // THIRDS, number % THIRDS, count)
        if count < 0:
            return CANDIDATES_FULL
        engine.pair_found[number, 2] = count
    engine.candidates = count
    return 0


@compiled
def find_candidates(engine: Table, keep_slots: bool) -> int:
    """List all stencils that may touch in the vertices' boxes; returns 0 or `CANDIDATES_FULL`.

    Parameters
    ----------
    engine : Table
        With the iterate's vertices inside of their boxes.
    keep_slots : bool
        Whether Hessian blocks in use stay in use (those of friction outlive a list).
    """
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
    do_parts(engine, engine.hull_part, count_parts(engine.shape_hull.shape[0], _SHAPES))
    code = search_pairs(engine)
    if code != 0:
        return code
    found = engine.pair_found
    for number in range(THIRDS * engine.pair_shape.shape[0]):
        if found[number, 2] > found[number, 1] and not _use_slot(
            engine, engine.pair_block[number // THIRDS]
        ):
            return CANDIDATES_FULL
    engine.anchored = 0
    divide_into_runs(engine)
    return 0


SEARCH_KERNELS = (box_part, kept_part, hull_part, search_part)
