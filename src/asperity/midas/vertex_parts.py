"""Vertices of moving links, part by part: where they are, where they go, and how far they may."""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled, entry_point
from asperity.midas.link_kinematics import place_vertex
from asperity.midas.parts import PART, count_parts, do_parts, least

__all__ = [
    "ROUNDING",
    "VERTEX_KERNELS",
    "VERTICES",
    "accept_vertices",
    "place_now_vertices",
    "place_target_vertices",
    "place_trial_vertices",
    "time_in_boxes",
    "vertex_parts",
]

VERTICES = 1024
"""Vertices of a part."""

ROUNDING = 1e-12
"""Relative round-off of a time, and more."""


@compiled
def vertex_parts(engine: Table) -> int:
    """How many parts the moving vertices have."""
    return count_parts(engine.moving_vertices, VERTICES)


@compiled
def _end(engine: Table, part: int) -> int:
    return min((part + 1) * VERTICES, engine.moving_vertices)


@compiled
def _place(engine: Table, part: int, q: np.ndarray, x: np.ndarray) -> None:
    for vertex in range(part * VERTICES, _end(engine, part)):
        place_vertex(engine, vertex, q, x)


@compiled
def _set_moves(engine: Table, part: int) -> None:
    for vertex in range(part * VERTICES, _end(engine, part)):
        for k in range(3):
            engine.vertex_move[vertex, k] = (
                engine.vertex_trial[vertex, k] - engine.vertex_now[vertex, k]
            )


@entry_point(PART)
def place_now_vertices(engine: Table, part: int, _member: int, _unused: int) -> int:
    """Place vertices of the iterate."""
    _place(engine, part, engine.q_now, engine.vertex_now)
    return 0


@entry_point(PART)
def place_trial_vertices(engine: Table, part: int, _member: int, _unused: int) -> int:
    """Place vertices of the trial state, and fill their moves from the iterate to there."""
    _place(engine, part, engine.q_trial, engine.vertex_trial)
    _set_moves(engine, part)
    return 0


@entry_point(PART)
def place_target_vertices(engine: Table, part: int, _member: int, _unused: int) -> int:
    """The same where inertia leads."""
    _place(engine, part, engine.q_target, engine.vertex_trial)
    _set_moves(engine, part)
    return 0


@entry_point(PART)
def accept_vertices(engine: Table, part: int, _member: int, _unused: int) -> int:
    """Make the trial state's vertices those of the iterate."""
    for vertex in range(part * VERTICES, _end(engine, part)):
        for k in range(3):
            engine.vertex_now[vertex, k] = engine.vertex_trial[vertex, k]
    return 0


@entry_point(PART)
def boxes_part(engine: Table, part: int, _member: int, _unused: int) -> int:
    """Find the largest time for which vertices stay in their boxes.

    It is a minimum over all of them, whatever their order: a vertex is only passed over if its time
    cannot be less.
    """
    x = engine.vertex_now
    p = engine.vertex_move
    time = 1.0
    reach = 1.0 + ROUNDING
    for vertex in range(part * VERTICES, _end(engine, part)):
        for k in range(3):
            move = p[vertex, k]
            side = engine.vertex_high[vertex, k] if move > 0.0 else engine.vertex_low[vertex, k]
            room = side - x[vertex, k]
            if abs(room) < reach * abs(move):
                time = min(time, max(room / move, 0.0))
                reach = time * (1.0 + ROUNDING)
    engine.part_value[part] = time
    return 0


@compiled
def time_in_boxes(engine: Table) -> float:
    """Largest time τ ≤ 1 for which the iterate's vertices stay in the boxes on the trial path."""
    parts = vertex_parts(engine)
    do_parts(engine, engine.boxes_part, parts)
    return least(engine, parts, 1.0)


VERTEX_KERNELS = (
    place_now_vertices,
    place_trial_vertices,
    place_target_vertices,
    accept_vertices,
    boxes_part,
)
