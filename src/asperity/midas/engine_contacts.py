"""Contacts of the engine's present state, with the forces at the end of the last step."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from asperity.compiled import Table, compiled_loop
from asperity.compiled.calls import call_pp_status
from asperity.midas.energy.contact_terms import add_round_arms, contact_sides
from asperity.midas.energy.friction_kinds import (
    SLIPS,
    fill_kinds,
    model_tangents,
    place_arrows,
)
from asperity.midas.energy.friction_stencils import normal_force, surface_drift, tangents
from asperity.midas.energy.potentials import friction_slope
from asperity.midas.engine import Engine
from asperity.midas.engine_layout import MIDAS, STARTED
from asperity.midas.geometry.round_planes import link_of_side
from asperity.midas.geometry.stencil import VERTEX_PLANE
from asperity.midas.lists.candidate_runs import measure_candidates
from asperity.midas.lists.vertex_boxes import holds_present
from asperity.midas.model.contact_numbers import PLAIN
from asperity.midas.pose.link_kinematics import move_listed

__all__ = ["SURVEY_KERNELS", "EngineContacts", "read_contacts", "survey"]


# Columns of the kernel's output: point, arm, force on the second side, slip, squared distance,
# pair, a vertex of the first side, the first tangent, and the torque on the second side.
_COLUMNS = 19


class EngineContacts(NamedTuple):
    """Contacts; see `asperity.simulator.Contacts`. Flexes count after geoms."""

    geom: NDArray[np.int64]
    point: NDArray[np.float64]
    normal: NDArray[np.float64]
    signed_distance: NDArray[np.float64]
    force: NDArray[np.float64]
    slip_speed: NDArray[np.float64]
    vertex: NDArray[np.int64]
    """Of flexes, as counted within them, −1 elsewhere."""
    slip_scale: NDArray[np.float64]
    """Ratios of other friction to the first coefficient (`contact_numbers`)."""
    tangent: NDArray[np.float64]
    """First tangents, where there is other friction."""
    torque: NDArray[np.float64]
    """Of this on the second side [Nm]."""


@compiled_loop(types.int64(MIDAS.type))
def survey(engine: Table) -> int:
    """List and measure the candidates of the present state; returns a code."""
    move_listed(engine.shapes, engine.vertices, engine.poses.q, engine.vertices.now)
    engine.boxes.longest_move = 0.0
    code = 0
    # To look at contacts must not change the steps to come.
    if not holds_present(engine):
        code = call_pp_status(engine.entries.rebuild, engine, STARTED)
        engine.boxes.listed = 0
    else:
        measure_candidates(engine)
    return code


@compiled_loop(types.int64(MIDAS.type, types.float64[:, ::1]))
def _measure(engine: Table, out: np.ndarray) -> int:
    """Fill one row for every candidate that pushes; returns how many."""
    candidates = engine.candidates
    vertex = candidates.vertex
    arm = candidates.arm
    h = engine.time.step
    frame = np.empty((2, 3))
    slip = np.empty(SLIPS)
    arrow = np.empty((2, 2, 4))
    world = engine.poses.q.shape[0] - 1
    count = 0
    for i in range(candidates.count):
        push = normal_force(engine, i, engine.vertices.now)
        if push <= 0.0:
            continue
        distance = math.sqrt(candidates.square[i])
        pair = candidates.pair[i]
        every = engine.pairs.every_friction[pair] == 1
        if every:
            model_tangents(engine, pair, arm[i], engine.poses.q, frame)
        else:
            tangents(arm[i], frame)
        contact_sides(engine.shapes, candidates, i, engine.work.side_weight)
        add_round_arms(engine.shapes, candidates, i, engine.poses.q, engine.work.side_weight)
        radius = engine.shapes.vertex_radius[vertex[i, 0]]
        surface_drift(engine, i, engine.poses.q, engine.work.side_weight, frame, slip)
        slip[0] *= h
        slip[1] *= h
        for side in range(2):
            link = link_of_side(engine, i, side)
            if link == world:
                continue
            for j in range(4):
                for k in range(3):
                    move = engine.work.side_weight[side, j] * (
                        engine.poses.q[link, j, k] - engine.poses.q_slip[link, j, k]
                    )
                    slip[0] += move * frame[0, k]
                    slip[1] += move * frame[1, k]
        size = math.sqrt(slip[0] * slip[0] + slip[1] * slip[1])
        drag = 0.0
        if h > 0.0:
            out[count, 9] = size / h
            one = link_of_side(engine, i, 0)
            other = link_of_side(engine, i, 1)
            scale = engine.pairs.slip_scale[pair]
            if every:
                place_arrows(engine.poses, one, other, engine.poses.q, frame, arrow)
                size = fill_kinds(
                    engine.poses, one, other, scale, frame, arrow, engine.poses.q, slip
                )
                slip[1] *= scale[0]
            per_slip, _ = friction_slope(size, engine.pairs.stiction[pair] * h)
            drag = engine.pairs.friction[pair] * push * per_slip
            for k in range(3 if every else 0):
                out[count, 13 + k] = frame[0, k]
                out[count, 16 + k] = drag * (
                    scale[2] * slip[3] * frame[1, k]
                    - scale[1] * slip[2] * frame[0, k]
                    + scale[3] * slip[4] * arm[i, k] / distance
                )
        is_round = candidates.kind[i] > VERTEX_PLANE
        for k in range(3):
            on_first = 0.0
            for j in range(4):
                if candidates.coefficient[i, j] > 0.0 or is_round:
                    on_first += candidates.coefficient[i, j] * engine.vertices.now[vertex[i, j], k]
            out[count, k] = on_first - (0.5 + radius / distance) * arm[i, k]
            out[count, 3 + k] = -arm[i, k] / distance
            out[count, 6 + k] = -push * arm[i, k] / distance + drag * (
                slip[0] * frame[0, k] + slip[1] * frame[1, k]
            )
        out[count, 10] = distance
        out[count, 11] = pair
        out[count, 12] = vertex[i, 0]
        count += 1
    return count


SURVEY_KERNELS = (survey, _measure)
"""What looks at the contacts of a state needs compiled."""


def read_contacts(engine: Engine) -> tuple[EngineContacts, NDArray[np.float64]]:
    """Contacts of the engine's state, and their coefficients of friction.

    All pairs of primitives within the activation distance count.
    """
    table, shapes = engine.table, engine.shapes
    while engine.grow(int(survey(table))):
        pass
    rows = np.zeros((int(table.candidates.count), _COLUMNS))
    rows = rows[: int(_measure(table, rows))]
    pair = rows[:, 11].astype(np.int64)
    ends = table.pairs.shape[pair].reshape(-1, 2)
    # The first side's vertex says which of the pair's shapes it is.
    first_shape = (
        np.searchsorted(table.shapes.vertex_start, rows[:, 12].astype(np.int64), side="right") - 1
    )
    other = np.where(first_shape == ends[:, 0], ends[:, 1], ends[:, 0])
    geoms = np.append(shapes.geom, 0)
    planes = np.append(shapes.plane_geom, 0)
    second = np.where(other >= 0, geoms[np.maximum(other, 0)], planes[np.maximum(-1 - other, 0)])
    contacts = EngineContacts(
        geom=np.column_stack([geoms[first_shape], second]).astype(np.int64),
        point=rows[:, :3].copy(),
        normal=rows[:, 3:6].copy(),
        signed_distance=rows[:, 10].copy(),
        force=rows[:, 6:9].copy(),
        slip_speed=rows[:, 9].copy(),
        vertex=np.full((len(pair), 2), -1, np.int64),
        slip_scale=table.pairs.slip_scale[pair].reshape(-1, len(PLAIN)),
        tangent=rows[:, 13:16].copy(),
        torque=rows[:, 16:].copy(),
    )
    friction = table.pairs.friction[pair]
    if engine.soft is None:
        return contacts, friction
    soft = engine.soft.contacts()
    both = zip(
        contacts,
        (
            soft.sides,
            soft.rows[:, :3],
            soft.rows[:, 3:6],
            soft.rows[:, 6],
            soft.rows[:, 7:10],
            soft.rows[:, 10],
            soft.vertex,
            np.tile(PLAIN, (len(soft.rows), 1)),
            np.zeros((len(soft.rows), 3)),
            np.zeros((len(soft.rows), 3)),
        ),
        strict=True,
    )
    whole = EngineContacts(*(np.concatenate(parts) for parts in both))
    return whole, np.concatenate([friction, soft.friction])
