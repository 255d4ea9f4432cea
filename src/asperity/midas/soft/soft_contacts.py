"""Contacts of deformable bodies at the engine's state, with the forces of its last step."""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, compiled_loop
from asperity.midas.energy.potentials import friction_slope
from asperity.midas.engine_layout import MIDAS
from asperity.midas.geometry.stencil import EDGE_EDGE, VERTEX_PLANE
from asperity.midas.soft.contacts import contact_force
from asperity.midas.soft.friction import freeze, slip_of
from asperity.midas.soft.soft_layout import SOFT

__all__ = ["COLUMNS", "fill_contacts"]

COLUMNS = 14
"""Point, normal, distance, force on the second side, slip speed, pair, a vertex of either side."""


@compiled
def _heaviest(soft: Table, i: int, first: int, end: int) -> int:
    """The vertex of a side that the closest point is nearest to."""
    best = first
    for corner in range(first, end):
        if abs(soft.coefficient[i, corner]) > abs(soft.coefficient[i, best]):
            best = corner
    return soft.vertex[i, best]


@compiled_loop(types.int64(MIDAS.type, types.float64[:, ::1]))
def fill_contacts(engine: Table, out: np.ndarray) -> int:
    """Fill a row for every surveyed candidate that pushes; returns how many."""
    soft = SOFT.at(engine.soft.bodies)
    h = engine.time.step
    spare = soft.kind.size
    count = 0
    for i in range(soft.count):
        push = contact_force(engine, soft, i)
        if push <= 0.0:
            continue
        row = out[count]
        distance = np.sqrt(soft.square[i])
        depth = 0.5 * distance + soft.vertex_radius[soft.vertex[i, 0]]
        for k in range(3):
            row[k] = 0.0
            for corner in range(4):
                c = soft.coefficient[i, corner]
                if c > 0.0:
                    row[k] += c * soft.now[soft.vertex[i, corner], k]
            n = soft.arm[i, k] / distance
            row[k] -= depth * n
            row[3 + k] = -n
            row[7 + k] = -push * n
        row[6] = distance
        row[10] = 0.0
        if h > 0.0:
            pair = soft.pair[i]
            freeze(engine, soft, i, spare, engine.poses.q, push)
            one, other = slip_of(engine, soft, spare, engine.poses.q)
            size = np.sqrt(one * one + other * other)
            per_slip, _ = friction_slope(size, soft.pair_stiction[pair] * h)
            drag = soft.pair_friction[pair] * push * per_slip
            for k in range(3):
                row[7 + k] += drag * (
                    one * soft.rub_frame[spare, 0, k] + other * soft.rub_frame[spare, 1, k]
                )
            row[10] = size / h
        first = 2 if soft.kind[i] == EDGE_EDGE else 1
        row[11] = soft.pair[i]
        row[12] = _heaviest(soft, i, 0, first)
        row[13] = -1 if soft.kind[i] == VERTEX_PLANE else _heaviest(soft, i, first, 4)
        count += 1
    return count
