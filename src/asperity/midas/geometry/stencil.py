"""A stencil: two primitives that may touch, by their vertices."""

from __future__ import annotations

from typing import NamedTuple

from asperity.compiled import Table, compiled

__all__ = [
    "EDGE_EDGE",
    "ELLIPSOID_PLANE",
    "RIM_PLANE",
    "VERTEX_FACE",
    "VERTEX_PLANE",
    "Stencil",
    "candidate_stencil",
    "plane_number",
]

# Kinds of stencils; the first side has 1, 2 and 1 vertices.
VERTEX_FACE = 0
EDGE_EDGE = 1
VERTEX_PLANE = 2
# Round shapes against half-spaces (`asperity.midas.geometry.round_planes`): a circle by three of
# its points, and an ellipsoid by the ends of its axes; the kind of the latter is this and the
# half-space's number.
RIM_PLANE = 3
ELLIPSOID_PLANE = 4


class Stencil(NamedTuple):
    """A vertex and a face, two edges, or a vertex, a rim or an ellipsoid and a half-space.

    ``kind`` is one of the constants of this file, the others are numbers of vertices. The last one
    of a vertex or a rim and a half-space is the number of the half-space.
    """

    kind: int
    i0: int
    i1: int
    i2: int
    i3: int


@compiled
def candidate_stencil(candidates: Table, i: int) -> Stencil:
    """The stencil of a candidate."""
    v = candidates.vertex[i]
    return Stencil(candidates.kind[i], v[0], v[1], v[2], v[3])


@compiled
def plane_number(kind: int, last: int) -> int:
    """The half-space of a stencil of a round shape, or of a vertex, by its kind and last number."""
    return kind - ELLIPSOID_PLANE if kind >= ELLIPSOID_PLANE else last
