"""Broad phase: the pairs of primitives that may touch while vertices stay in given boxes.

Every vertex gets a box that holds its expected path. As long as no vertex leaves its box, only
primitives whose boxes come within the activation distance of each other can touch; the solver cuts
its steps at the boxes and asks for new ones when it must. Resting bodies thus get small boxes and
short lists, and a fast body a long, thin one along its path.
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled
from asperity.midas.distances import EDGE_EDGE, VERTEX_FACE, VERTEX_PLANE, separation
from asperity.midas.engine_layout import CANDIDATES_FULL
from asperity.midas.round_planes import add_round_stencils

__all__ = ["SLACK", "are_kept", "box_vertices", "find_candidates", "sum_of_radii", "time_in_boxes"]


SLACK = 0.5
"""How far boxes reach beyond the expected path, in activation distances."""

# Length of paths, slack included, up to which a list serves later steps, in activation distances.
_KEPT = 1.0


@compiled
def box_vertices(engine: Table, x: np.ndarray, p: np.ndarray, longest: float) -> None:
    """Box the paths from ``x`` along ``p``, of each no more than a length ``longest`` [m]."""
    least = SLACK * engine.activation
    widening = engine.widening
    longest_path = 0.0
    for vertex in range(engine.moving_vertices):
        length = math.sqrt(p[vertex, 0] ** 2 + p[vertex, 1] ** 2 + p[vertex, 2] ** 2)
        share = longest / length if length > longest else 1.0
        slack = least + widening * share * length
        for k in range(3):
            move = share * p[vertex, k]
            engine.vertex_low[vertex, k] = x[vertex, k] + min(move, 0.0) - slack
            engine.vertex_high[vertex, k] = x[vertex, k] + max(move, 0.0) + slack
        engine.vertex_reach[vertex] = min(length, longest) + 1.7320508075688772 * slack
        longest_path = max(longest_path, share * length + slack)
    # Larger boxes would go on holding candidates that are none any more.
    engine.listed = 1 if longest_path <= _KEPT * engine.activation else 0


@compiled
def are_kept(engine: Table, x: np.ndarray, p: np.ndarray) -> bool:
    """Whether paths from ``x`` along ``p`` leave half of their boxes' slack, so that these hold."""
    if engine.listed == 0:
        return False
    slack = 0.5 * SLACK * engine.activation
    for vertex in range(engine.moving_vertices):
        for k in range(3):
            low = engine.vertex_low[vertex, k] + slack
            high = engine.vertex_high[vertex, k] - slack
            end = x[vertex, k] + p[vertex, k]
            # Written so that NaN is not kept.
            if not (low <= x[vertex, k] <= high and low <= end <= high):
                return False
    return True


@compiled
def time_in_boxes(engine: Table, x: np.ndarray, p: np.ndarray) -> float:
    """Largest time τ ≤ 1 for which x + τ p stays in the boxes."""
    time = 1.0
    for vertex in range(engine.moving_vertices):
        for k in range(3):
            end = x[vertex, k] + time * p[vertex, k]
            if end > engine.vertex_high[vertex, k]:
                time = max((engine.vertex_high[vertex, k] - x[vertex, k]) / p[vertex, k], 0.0)
            elif end < engine.vertex_low[vertex, k]:
                time = max((engine.vertex_low[vertex, k] - x[vertex, k]) / p[vertex, k], 0.0)
    return time


@compiled
def sum_of_radii(engine: Table, kind: int, first: int, last: int) -> float:
    """Sum of the radii of a stencil's sides [m], by its first and its last vertex.

    The activation distance of round shapes against half-spaces, as `separation` wants it.
    """
    if kind > VERTEX_PLANE:
        return engine.activation
    radius = engine.vertex_radius[first]
    return radius if kind == VERTEX_PLANE else radius + engine.vertex_radius[last]


@compiled
def _primitive_box(
    low: np.ndarray, high: np.ndarray, primitive: np.ndarray, radius: float, box: np.ndarray
) -> None:
    """Fill the box of an edge or a face, with the radius of its shape, shape (2, 3)."""
    for k in range(3):
        box[0, k] = low[primitive[0], k]
        box[1, k] = high[primitive[0], k]
        for corner in range(1, primitive.size):
            box[0, k] = min(box[0, k], low[primitive[corner], k])
            box[1, k] = max(box[1, k], high[primitive[corner], k])
        box[0, k] -= radius
        box[1, k] += radius


@compiled
def _select(
    low: np.ndarray,
    high: np.ndarray,
    primitives: np.ndarray,
    start: int,
    end: int,
    radius: float,
    region: np.ndarray,
    chosen: np.ndarray,
    boxes: np.ndarray,
) -> int:
    """List the primitives whose boxes meet a region; returns how many."""
    count = 0
    for i in range(start, end):
        _primitive_box(low, high, primitives[i], radius, boxes[count])
        apart = False
        for k in range(3):
            if boxes[count, 0, k] > region[1, k] or boxes[count, 1, k] < region[0, k]:
                apart = True
        if not apart:
            chosen[count] = i
            count += 1
    return count


@compiled
def _apart(one: np.ndarray, other: np.ndarray, margin: float) -> bool:
    for k in range(3):
        if one[0, k] > other[1, k] + margin or other[0, k] > one[1, k] + margin:
            return True
    return False


@compiled
def _add(
    engine: Table,
    x: np.ndarray,
    count: int,
    pair: int,
    kind: int,
    i0: int,
    i1: int,
    i2: int,
    i3: int,
    margin: float,
) -> int:
    """Add a stencil if its distance allows; returns the new count, or −1 if the list is full."""
    reach = engine.vertex_reach
    vertices = engine.candidate_vertex
    if count >= vertices.shape[0]:
        return -1
    square = separation(
        kind,
        i0,
        i1,
        i2,
        i3,
        x,
        engine.plane,
        sum_of_radii(engine, kind, i0, i3),
        engine.candidate_coefficient[count],
        engine.candidate_arm[count],
    )
    if kind == VERTEX_PLANE:
        margin += reach[i0]
    elif kind == VERTEX_FACE:
        margin += reach[i0] + max(reach[i1], reach[i2], reach[i3])
    else:
        margin += max(reach[i0], reach[i1]) + max(reach[i2], reach[i3])
    if square > margin * margin:
        return count
    engine.candidate_square[count] = square
    engine.candidate_anchor[count] = 0.0
    engine.candidate_kind[count] = kind
    engine.candidate_pair[count] = pair
    vertices[count, 0] = i0
    vertices[count, 1] = i1
    vertices[count, 2] = i2
    vertices[count, 3] = i3
    engine.candidate_threshold[count] = 0.0
    # Each of a surface's area counts once: over vertices and edges of both sides (IPC with area
    # weights as in ipctk), or over the vertices alone against a half-space.
    if kind == EDGE_EDGE:
        return count + 1
    engine.candidate_weight[count] = (
        engine.vertex_area[i0] if kind == VERTEX_PLANE else 0.25 * engine.vertex_area[i0]
    )
    return count + 1


@compiled
def _add_faces(
    engine: Table,
    x: np.ndarray,
    count: int,
    pair: int,
    vertices: int,
    faces: int,
    region: np.ndarray,
    margin: float,
    work: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> int:
    """Add the vertices of one shape against the faces of another."""
    chosen, boxes, box = work
    some = _select(
        engine.vertex_low,
        engine.vertex_high,
        engine.face,
        engine.shape_face[faces],
        engine.shape_face[faces + 1],
        engine.shape_radius[faces],
        region,
        chosen,
        boxes,
    )
    for v in range(engine.shape_vertex[vertices], engine.shape_vertex[vertices + 1]):
        outside = False
        for k in range(3):
            box[0, k] = engine.vertex_low[v, k] - engine.shape_radius[vertices]
            box[1, k] = engine.vertex_high[v, k] + engine.shape_radius[vertices]
            if box[0, k] > region[1, k] or box[1, k] < region[0, k]:
                outside = True
        if outside:
            continue
        for i in range(some):
            if not _apart(box, boxes[i], margin):
                f = engine.face[chosen[i]]
                count = _add(engine, x, count, pair, VERTEX_FACE, v, f[0], f[1], f[2], margin)
                if count < 0:
                    return count
    return count


@compiled
def _add_edges(
    engine: Table,
    x: np.ndarray,
    count: int,
    pair: int,
    one: int,
    other: int,
    region: np.ndarray,
    margin: float,
    work: tuple[np.ndarray, np.ndarray, np.ndarray],
    work_too: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> int:
    edge = engine.edge
    starts = engine.shape_edge
    chosen, boxes, _ = work
    chosen_too, boxes_too, _ = work_too
    some = _select(
        engine.vertex_low,
        engine.vertex_high,
        edge,
        starts[one],
        starts[one + 1],
        engine.shape_radius[one],
        region,
        chosen,
        boxes,
    )
    more = _select(
        engine.vertex_low,
        engine.vertex_high,
        edge,
        starts[other],
        starts[other + 1],
        engine.shape_radius[other],
        region,
        chosen_too,
        boxes_too,
    )
    for i in range(some):
        a = edge[chosen[i]]
        for j in range(more):
            if _apart(boxes[i], boxes_too[j], margin):
                continue
            b = edge[chosen_too[j]]
            before = count
            count = _add(engine, x, count, pair, EDGE_EDGE, a[0], a[1], b[0], b[1], margin)
            if count < 0:
                return count
            if count > before:
                engine.candidate_weight[before] = 0.25 * (
                    engine.edge_area[chosen[i]] + engine.edge_area[chosen_too[j]]
                )
                engine.candidate_threshold[before] = (
                    1e-3 * engine.edge_square[chosen[i]] * engine.edge_square[chosen_too[j]]
                )
    return count


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
def find_candidates(engine: Table, x: np.ndarray, keep_slots: bool) -> int:
    """List all stencils that may touch in the vertices' boxes; returns 0 or `CANDIDATES_FULL`.

    Parameters
    ----------
    engine : int
    x : array, shape (p, 3)
        Positions [m], inside the boxes.
    keep_slots : bool
        Whether Hessian blocks in use stay in use (those of friction outlive a list).
    """
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
    hull = np.empty((shapes, 2, 3))
    for shape in range(shapes):
        for k in range(3):
            hull[shape, 0, k] = math.inf
            hull[shape, 1, k] = -math.inf
            for v in range(starts[shape], starts[shape + 1]):
                hull[shape, 0, k] = min(hull[shape, 0, k], engine.vertex_low[v, k])
                hull[shape, 1, k] = max(hull[shape, 1, k], engine.vertex_high[v, k])
            hull[shape, 0, k] -= engine.shape_radius[shape]
            hull[shape, 1, k] += engine.shape_radius[shape]
    most = max(engine.edge.shape[0], engine.face.shape[0])
    work = (np.empty(most, np.int64), np.empty((most + 1, 2, 3)), np.empty((2, 3)))
    work_too = (np.empty(most, np.int64), np.empty((most + 1, 2, 3)), np.empty((2, 3)))
    region = np.empty((2, 3))
    count = 0
    for pair in range(engine.pair_shape.shape[0]):
        a = engine.pair_shape[pair, 0]
        b = engine.pair_shape[pair, 1]
        before = count
        if b < 0 and engine.shape_anchor[a, 0, 0] >= 0:
            count = add_round_stencils(engine, x, count, pair, a, -1 - b, margin)
            if count < 0:
                return CANDIDATES_FULL
            continue
        if b < 0:
            for v in range(starts[a], starts[a + 1]):
                count = _add(engine, x, count, pair, VERTEX_PLANE, v, v, v, -1 - b, margin)
                if count < 0:
                    return CANDIDATES_FULL
            continue
        if _apart(hull[a], hull[b], margin):
            continue
        for k in range(3):
            region[0, k] = max(hull[a, 0, k], hull[b, 0, k]) - margin
            region[1, k] = min(hull[a, 1, k], hull[b, 1, k]) + margin
        count = _add_faces(engine, x, count, pair, a, b, region, margin, work)
        if count >= 0:
            count = _add_faces(engine, x, count, pair, b, a, region, margin, work)
        if count >= 0:
            count = _add_edges(engine, x, count, pair, a, b, region, margin, work, work_too)
        if count < 0:
            return CANDIDATES_FULL
        if count > before and not _use_slot(engine, engine.pair_block[pair]):
            return CANDIDATES_FULL
    engine.candidates = count
    engine.anchored = 0
    return 0
