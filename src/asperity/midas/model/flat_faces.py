"""Flat faces of boxes and meshes, which are half-spaces to round shapes above them.

A surface that is nowhere above one of its faces is part of the half-space below. So a cylinder or
an ellipsoid that keeps clear of the half-space keeps clear of the surface, as round as it is
(`round_planes`), and where all of it stays above the face, the distance is the same. Where it
reaches beyond the face, it is a polyhedron again, which lies inside of it: nothing is nearer than
it was.

Which of both it is, is chosen when candidates are listed for a step. It does not become round below
half of the activation distance, where a facet may have brought it nearer than that. What a face
moves with says nothing of the half-space far from the face; where a shape leaves a face that moves
within a step, it is a polyhedron from the next list on.
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled
from asperity.midas.geometry.box_trees import apart
from asperity.midas.geometry.round_heights import half_space, plane_through, round_height
from asperity.midas.geometry.stencil import ELLIPSOID_PLANE, RIM_PLANE, Stencil
from asperity.midas.lists.placed_boxes import shape_box
from asperity.midas.lists.vertex_boxes import box_vertex, vertex_slack
from asperity.plant.rotations import between

__all__ = ["box_round", "choose_faces", "keep_faces", "release_faces", "round_side"]

# What a shape was to a surface at the end of the last step, if it is known.
_ROUND = 1
_POLYHEDRON = 2
# Height in activation distances above which a polyhedron may become round.
_CLEAR = 0.5


@compiled
def round_side(shapes: Table, pairs: Table, pair: int) -> int:
    """The shape of a pair that half-spaces are of, or that may be above a face of the other."""
    first = pairs.shape[pair, 0]
    if pairs.faces[pair, 0] >= 0 and shapes.anchor[first, 0, 0] < 0:
        return pairs.shape[pair, 1]
    return first


@compiled
def box_round(shapes: Table, boxes: Table, shape: int, plane: int) -> None:
    """Make the boxes of the vertices that tell where a round shape and a half-space are."""
    for which in range(2):
        for k in range(4):
            if shapes.anchor[shape, which, k] >= 0:
                box_vertex(shapes, boxes, shapes.anchor[shape, which, k])
    for k in range(3):
        if shapes.plane_corner[plane, k] >= 0:
            box_vertex(shapes, boxes, shapes.plane_corner[plane, k])


@compiled
def _vertex_on_path(shapes: Table, boxes: Table, vertex: int, time: float, out: np.ndarray) -> None:
    """Fill where a vertex is on the path of its box, shape (3,)."""
    box_vertex(shapes, boxes, vertex)
    for k in range(3):
        out[k] = boxes.start[vertex, k] + time * boxes.path[vertex, k]


@compiled
def _plane_on_path(engine: Table, plane: int, time: float) -> tuple[float, float, float, float]:
    """Outward normal and offset [m] of a half-space at a time of its path."""
    face = engine.shapes.plane_corner[plane]
    if face[0] < 0:
        return half_space(engine.boxes.start, engine.shapes, plane)
    corner = engine.work.corner
    for k in range(3):
        _vertex_on_path(engine.shapes, engine.boxes, face[k], time, corner[4 + k])
    return plane_through(corner, 4, 5, 6)


@compiled
def _lowest(
    engine: Table,
    shape: int,
    plane: tuple[float, float, float, float],
    time: float,
    activation: float,
) -> float:
    """Height [m] of a round shape over a half-space, at a time of its path."""
    corner = engine.work.corner
    lowest = math.inf
    for which in range(2):
        anchor = engine.shapes.anchor[shape, which]
        if anchor[0] < 0:
            break
        is_rim = anchor[3] < 0
        for k in range(3 if is_rim else 4):
            _vertex_on_path(engine.shapes, engine.boxes, anchor[k], time, corner[k])
        c = engine.work.side_weight[0]
        stencil = Stencil(RIM_PLANE if is_rim else ELLIPSOID_PLANE, 0, 1, 2, 3)
        height = round_height(stencil, corner, plane, activation, c)
        lowest = min(lowest, height)
    return lowest


@compiled
def _is_above(engine: Table, shape: int, plane: int, time: float) -> bool:
    """Whether a round shape is above a face, not beyond its border, at a time of their paths."""
    shapes = engine.shapes
    corner = engine.work.corner
    n0, n1, n2, _ = _plane_on_path(engine, plane, time)
    slack = vertex_slack(shapes, engine.boxes, shapes.anchor[shape, 0, 0])
    for edge in range(shapes.plane_border[plane], shapes.plane_border[plane + 1]):
        begin = shapes.border_vertex[edge, 0]
        _vertex_on_path(shapes, engine.boxes, begin, time, corner[4])
        _vertex_on_path(shapes, engine.boxes, shapes.border_vertex[edge, 1], time, corner[5])
        d0, d1, d2 = between(corner, 5, corner, 4)
        m0 = n1 * d2 - n2 * d1
        m1 = n2 * d0 - n0 * d2
        m2 = n0 * d1 - n1 * d0
        size = math.sqrt(m0 * m0 + m1 * m1 + m2 * m2)
        m0 /= size
        m1 /= size
        m2 /= size
        offset = m0 * corner[4, 0] + m1 * corner[4, 1] + m2 * corner[4, 2]
        inside = _lowest(engine, shape, (m0, m1, m2, offset), time, engine.options.activation)
        if inside < slack + vertex_slack(shapes, engine.boxes, begin):
            return False
    return True


@compiled
def _stays_above(engine: Table, shape: int, plane: int) -> bool:
    """Whether a round shape is above a face at both ends of their paths."""
    return _is_above(engine, shape, plane, 0.0) and _is_above(engine, shape, plane, 1.0)


@compiled
def _choose_face(engine: Table, pair: int, shape: int) -> int:
    """The half-space that a round shape meets the other of a pair as, or −1."""
    pairs = engine.pairs
    box = shape_box(engine, shape)
    best = 0.0
    if pairs.form[pair] == _POLYHEDRON:
        best = _CLEAR * pairs.activation[pair]
    if pairs.may_overlap == 1:
        best = -math.inf
    chosen = -1
    for plane in range(pairs.faces[pair, 0], pairs.faces[pair, 1]):
        there = _plane_on_path(engine, plane, 0.0)
        middle = -there[3]
        middle += 0.5 * (box[0, 0] + box[1, 0]) * there[0]
        middle += 0.5 * (box[0, 1] + box[1, 1]) * there[1]
        middle += 0.5 * (box[0, 2] + box[1, 2]) * there[2]
        if middle <= 0.0:
            continue
        height = _lowest(engine, shape, there, 0.0, pairs.activation[pair])
        if height > best and _stays_above(engine, shape, plane):
            best = height
            chosen = plane
    return chosen


@compiled
def choose_faces(engine: Table) -> None:
    """Choose, for a new list, which faces are half-spaces.

    Of a state that may overlap, any shape that has its middle above a face is round there.
    """
    pairs = engine.pairs
    if pairs.flat == 0:
        return
    for pair in range(pairs.faces.shape[0]):
        if pairs.faces[pair, 0] < 0:
            continue
        pairs.plane[pair] = -1
        shape = round_side(engine.shapes, pairs, pair)
        other = pairs.shape[pair, 0] + pairs.shape[pair, 1] - shape
        box = shape_box(engine, shape)
        least = pairs.activation[pair]
        margin = least
        for k in range(3):
            # That box is the polyhedron's, which has at least four sides.
            margin = max(margin, least + 0.5 * (box[1, k] - box[0, k]))
        if not apart(box, shape_box(engine, other), margin):
            pairs.plane[pair] = _choose_face(engine, pair, shape)


@compiled
def release_faces(engine: Table) -> None:
    """For another list within a step, let shapes go that are leaving faces that move."""
    if engine.pairs.flat == 0:
        return
    for pair in range(engine.pairs.faces.shape[0]):
        plane = engine.pairs.plane[pair]
        if plane < 0 or engine.shapes.plane_corner[plane, 0] < 0:
            continue
        shape = round_side(engine.shapes, engine.pairs, pair)
        if not _stays_above(engine, shape, plane):
            engine.pairs.plane[pair] = -1


@compiled
def keep_faces(pairs: Table) -> None:
    """At the end of a step, remember what shapes were to surfaces."""
    if pairs.flat == 0:
        return
    for pair in range(pairs.faces.shape[0]):
        pairs.form[pair] = _ROUND if pairs.plane[pair] >= 0 else _POLYHEDRON
