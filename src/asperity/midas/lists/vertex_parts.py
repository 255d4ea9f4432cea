"""Vertices that candidates have, part by part: where they are and where they go."""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled, entry_point
from asperity.midas.parts import PART, count_parts
from asperity.midas.pose.link_kinematics import place_vertex

__all__ = [
    "VERTEX_KERNELS",
    "listed_parts",
    "place_now_vertices",
    "place_start_vertices",
    "place_trial_vertices",
]

# Vertices of a part.
_VERTICES = 512


@compiled
def listed_parts(vertices: Table) -> int:
    """How many parts the listed vertices have."""
    return count_parts(vertices.listed_count, _VERTICES)


@compiled
def _end(vertices: Table, part: int) -> int:
    return min((part + 1) * _VERTICES, vertices.listed_count)


@compiled
def _place_listed_vertices(
    shapes: Table, vertices: Table, part: int, q: np.ndarray, x: np.ndarray
) -> None:
    for i in range(part * _VERTICES, _end(vertices, part)):
        place_vertex(shapes, vertices.listed[i], q, x)


@compiled
def _place_trial(engine: Table, part: int) -> None:
    _place_listed_vertices(
        engine.shapes, engine.vertices, part, engine.poses.q_trial, engine.vertices.trial
    )
    for i in range(part * _VERTICES, _end(engine.vertices, part)):
        vertex = engine.vertices.listed[i]
        for k in range(3):
            engine.vertices.move[vertex, k] = (
                engine.vertices.trial[vertex, k] - engine.vertices.now[vertex, k]
            )


@entry_point(PART)
def place_now_vertices(engine: Table, part: int, _member: int, _unused: int) -> int:
    """Place vertices of the iterate."""
    _place_listed_vertices(
        engine.shapes, engine.vertices, part, engine.poses.q_now, engine.vertices.now
    )
    return 0


@entry_point(PART)
def place_start_vertices(engine: Table, part: int, _member: int, _unused: int) -> int:
    """Place vertices where paths begin, and at the trial state."""
    _place_listed_vertices(
        engine.shapes, engine.vertices, part, engine.boxes.path_begin, engine.vertices.now
    )
    _place_trial(engine, part)
    return 0


@entry_point(PART)
def place_trial_vertices(engine: Table, part: int, _member: int, _unused: int) -> int:
    """Place vertices of the trial state, and fill their moves from the iterate to there."""
    _place_trial(engine, part)
    return 0


VERTEX_KERNELS = (
    place_now_vertices,
    place_start_vertices,
    place_trial_vertices,
)
