"""Stencils for the list of candidates: pairs of primitives that may touch."""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.midas.geometry.distances import separation
from asperity.midas.geometry.stencil import EDGE_EDGE, VERTEX_FACE, VERTEX_PLANE, Stencil

__all__ = [
    "add_pair_of_edges",
    "add_stencil",
    "apart",
    "append_stencil",
    "primitive_box",
    "sum_of_radii",
    "weigh_edges",
]


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
def primitive_box(
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
def apart(one: np.ndarray, other: np.ndarray, margin: float) -> bool:
    for k in range(3):
        if one[0, k] > other[1, k] + margin or other[0, k] > one[1, k] + margin:
            return True
    return False


@compiled
def append_stencil(
    shapes: Table, candidates: Table, count: int, pair: int, stencil: Stencil
) -> int:
    """Add a stencil that is not measured yet; returns the new count, or −1 if the list is full."""
    kind, i0, i1, i2, i3 = stencil
    vertices = candidates.vertex
    if count >= candidates.kind.size:
        return -1
    candidates.anchor[count] = 0.0
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
def add_stencil(
    engine: Table, x: np.ndarray, count: int, pair: int, stencil: Stencil, margin: float
) -> int:
    """Add a stencil if its distance allows; returns the new count, or −1 if the list is full."""
    kind, i0, i1, i2, i3 = stencil
    reach = engine.boxes.reach
    square = separation(
        stencil,
        x,
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
def add_pair_of_edges(
    engine: Table, x: np.ndarray, count: int, pair: int, one: int, other: int, margin: float
) -> int:
    """Add the stencil of two edges; as `add_stencil`."""
    a = engine.shapes.edge[one]
    b = engine.shapes.edge[other]
    stencil = Stencil(EDGE_EDGE, a[0], a[1], b[0], b[1])
    after = add_stencil(engine, x, count, pair, stencil, margin)
    if after > count:
        weigh_edges(engine.shapes, engine.candidates, count, one, other)
    return after


@compiled
def weigh_edges(shapes: Table, candidates: Table, i: int, one: int, other: int) -> None:
    """Fill the weight and the mollifier's threshold of a stencil of two edges."""
    candidates.weight[i] = 0.25 * (shapes.edge_area[one] + shapes.edge_area[other])
    candidates.threshold[i] = 1e-3 * shapes.edge_square[one] * shapes.edge_square[other]
