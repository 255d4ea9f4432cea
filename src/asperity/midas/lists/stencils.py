"""Stencils for the list of candidates: pairs of primitives that may touch."""

from __future__ import annotations

from asperity.compiled import Table, compiled
from asperity.midas.geometry.distances import separation
from asperity.midas.geometry.stencil import (
    EDGE_EDGE,
    ELLIPSOID_PLANE,
    RIM_PLANE,
    VERTEX_FACE,
    VERTEX_PLANE,
    Stencil,
)

__all__ = [
    "LIST_FULL",
    "add_pair_of_edges",
    "add_round_stencils",
    "add_stencil",
    "append_stencil",
    "sum_of_radii",
    "weigh_edges",
]

# Sum of |c_k| at most, which is how much faster than vertices the nearest point may move.
_REACH = 4.0
# The same of a point of a face: it is at most opposite to the first of three corners of a square.
_FACE_REACH = 3.0

LIST_FULL = -1
"""In place of the count of candidates: there is no room for another one."""


@compiled
def sum_of_radii(shapes: Table, pairs: Table, pair: int, stencil: Stencil) -> float:
    """Sum of the radii of a stencil's sides [m].

    The activation distance of a pair of a round shape and a half-space, as `separation` wants it.
    """
    if stencil.kind > VERTEX_PLANE:
        return pairs.activation[pair]
    radius = shapes.vertex_radius[stencil.i0]
    return radius if stencil.kind == VERTEX_PLANE else radius + shapes.vertex_radius[stencil.i3]


@compiled
def append_stencil(
    shapes: Table, candidates: Table, count: int, pair: int, stencil: Stencil
) -> int:
    """Add a stencil that is not measured yet; returns the new count, or `LIST_FULL`."""
    kind, i0, i1, i2, i3 = stencil
    vertices = candidates.vertex
    if count >= candidates.kind.size:
        return LIST_FULL
    candidates.anchor[count] = 0.0
    candidates.final[count] = 1.0
    candidates.kind[count] = kind
    candidates.pair[count] = pair
    vertices[count, 0] = i0
    vertices[count, 1] = i1
    vertices[count, 2] = i2
    vertices[count, 3] = i3
    candidates.threshold[count] = 0.0
    # Each of a surface's area counts once: over vertices and edges of both sides (IPC with area
    # weights as in ipctk), or over the vertices alone against a half-space.
    if kind == EDGE_EDGE:
        return count + 1
    candidates.weight[count] = (
        shapes.vertex_area[i0] if kind == VERTEX_PLANE else 0.25 * shapes.vertex_area[i0]
    )
    return count + 1


@compiled
def add_stencil(engine: Table, count: int, pair: int, stencil: Stencil) -> int:
    """Add a stencil if its distance allows; returns the new count, or `LIST_FULL`."""
    kind, i0, i1, i2, i3 = stencil
    reach = engine.boxes.reach
    margin = engine.pairs.activation[pair]
    square = separation(
        stencil,
        engine.boxes.start,
        engine.shapes,
        sum_of_radii(engine.shapes, engine.pairs, pair, stencil),
        engine.candidates.coefficient[count],
        engine.candidates.arm[count],
    )
    if kind == VERTEX_PLANE:
        margin += reach[i0]
    elif kind == VERTEX_FACE:
        margin += reach[i0] + max(reach[i1], reach[i2], reach[i3])
    else:
        margin += max(reach[i0], reach[i1]) + max(reach[i2], reach[i3])
    if square > margin * margin:
        return count
    after = append_stencil(engine.shapes, engine.candidates, count, pair, stencil)
    if after > count:
        engine.candidates.square[count] = square
    return after


@compiled
def add_pair_of_edges(engine: Table, count: int, pair: int, one: int, other: int) -> int:
    """Add the stencil of two edges; as `add_stencil`."""
    a = engine.shapes.edge[one]
    b = engine.shapes.edge[other]
    stencil = Stencil(EDGE_EDGE, a[0], a[1], b[0], b[1])
    after = add_stencil(engine, count, pair, stencil)
    if after > count:
        weigh_edges(engine.shapes, engine.candidates, count, one, other)
    return after


@compiled
def add_round_stencils(engine: Table, count: int, pair: int, shape: int, plane: int) -> int:
    """Add those of a round shape and a half-space; as `add_stencil`."""
    shapes = engine.shapes
    candidates = engine.candidates
    face = shapes.plane_corner[plane]
    for which in range(2):
        v = shapes.anchor[shape, which]
        if v[0] < 0:
            break
        is_rim = v[3] < 0
        kind = RIM_PLANE if is_rim else ELLIPSOID_PLANE + plane
        stencil = Stencil(kind, v[0], v[1], v[2], plane if is_rim else v[3])
        square = separation(
            stencil,
            engine.boxes.start,
            shapes,
            engine.pairs.activation[pair],
            candidates.coefficient[count],
            candidates.arm[count],
        )
        reach = 0.0
        for k in range(3 if is_rim else 4):
            reach = max(reach, engine.boxes.reach[v[k]])
        most = engine.pairs.activation[pair] + _REACH * reach
        if face[0] >= 0:
            reach = 0.0
            for k in range(3):
                reach = max(reach, engine.boxes.reach[face[k]])
            most += _FACE_REACH * reach
        if square > most * most:
            continue
        after = append_stencil(shapes, candidates, count, pair, stencil)
        if after == LIST_FULL:
            return after
        candidates.square[count] = square
        candidates.weight[count] = shapes.area[shape]
        count = after
    return count


@compiled
def weigh_edges(shapes: Table, candidates: Table, i: int, one: int, other: int) -> None:
    """Fill the weight and the mollifier's threshold of a stencil of two edges."""
    candidates.weight[i] = 0.25 * (shapes.edge_area[one] + shapes.edge_area[other])
    candidates.threshold[i] = 1e-3 * shapes.edge_square[one] * shapes.edge_square[other]
