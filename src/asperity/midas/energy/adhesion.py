"""Adhesion actuators: a force that presses a body to all that it touches.

As in MuJoCo, an actuator on a body pulls its contacts together with a force that they share. Here a
contact is a vertex of one surface that is nearer to another than 1.5 activation distances, so that
what is put at that distance is held; it counts by its area. The forces are those of a step's
beginning, and have no effect on what touches nothing.
"""

from __future__ import annotations

import mujoco
import numpy as np
from numba import types
from numpy.typing import NDArray

from asperity.compiled import Table, compiled_loop
from asperity.midas.engine import Engine
from asperity.midas.engine_contacts import survey
from asperity.midas.engine_layout import MIDAS
from asperity.midas.geometry.round_planes import second_link
from asperity.midas.geometry.stencil import EDGE_EDGE, VERTEX_PLANE
from asperity.midas.lists.candidate_runs import SLACK

__all__ = ["adhering", "press"]

# Distance at which surfaces count as touching, in activation distances: as far as all are listed.
_REACH = 1.0 + SLACK


def adhering(model: mujoco.MjModel) -> list[int]:
    """Actuators that act on bodies."""
    kind = int(mujoco.mjtTrn.mjTRN_BODY)
    return [i for i in range(model.nactuator) if int(model.actuator_trntype[i]) == kind]


def press(engine: Engine, activation: NDArray[np.float64]) -> None:
    """Add the forces of adhesion to what is applied to links.

    Parameters
    ----------
    engine : Engine
        With the inputs of the coming step.
    activation : ndarray
        ``act``.
    """
    model, table = engine.model, engine.table
    pull: dict[int, float] = {}
    for i in adhering(model):
        motor = int(model.actuator_outadr[i])
        force = float(table.motors.feed[motor])
        if table.motors.states[motor] > 0:
            state = table.motors.activation[motor]
            before = activation[state] - table.motors.state_start[state]
            force = float(table.motors.bias[motor] + table.motors.state_gain[motor, 0] * before)
        low, high = table.motors.limit[motor]
        force = min(max(force, float(low)), float(high))
        body = int(model.actuator_trnid[i, 0])
        pull[body] = pull.get(body, 0.0) + force
    if not any(pull.values()):
        return
    while engine.grow(int(survey(table))):
        pass
    count = int(table.candidates.count)
    reach = _REACH * np.asarray(table.pairs.activation)[table.candidates.pair[:count]]
    near = np.asarray(table.candidates.square[:count]) < reach**2
    near &= np.asarray(table.candidates.weight[:count]) > 0.0
    touching = np.flatnonzero(near)
    bodies = _bodies(engine, np.asarray(table.candidates.pair)[touching])
    edges = np.asarray(table.candidates.kind)[touching] == EDGE_EDGE
    for body, force in pull.items():
        own = np.any(bodies == body, axis=1)
        # Edges that cross count where no vertex touches.
        chosen = touching[own & ~edges] if np.any(own & ~edges) else touching[own]
        if force != 0.0 and len(chosen):
            weight = np.asarray(table.candidates.weight)[chosen]
            for candidate, share in zip(chosen, weight / weight.sum(), strict=True):
                _pull_together(engine, int(candidate), force * float(share))


def _bodies(engine: Engine, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Bodies of the geoms of pairs of shapes, shape (n, 2)."""
    geoms = np.array([engine.pair_geoms(int(pair)) for pair in pairs], dtype=np.int64)
    return np.asarray(engine.model.geom_bodyid[geoms.reshape(-1, 2)], dtype=np.int64)


@compiled_loop(types.int64(MIDAS.type, types.int64))
def _second_link(engine: Table, candidate: int) -> int:
    """See `second_link`."""
    return second_link(engine, candidate)


def _pull_together(engine: Engine, candidate: int, force: float) -> None:
    """Pull the two sides of a candidate towards each other, at the point between them."""
    table = engine.table
    vertex = table.candidates.vertex[candidate]
    coefficient = np.asarray(table.candidates.coefficient[candidate])[:4]
    arm = np.asarray(table.candidates.arm[candidate])
    kind = int(table.candidates.kind[candidate])
    first = coefficient if kind > VERTEX_PLANE else np.maximum(coefficient, 0.0)
    used = first != 0.0
    distance = float(np.linalg.norm(arm))
    depth = 0.5 + float(table.shapes.vertex_radius[vertex[0]]) / distance
    point = first[used] @ np.asarray(table.vertices.now)[vertex[used]] - depth * arm
    push = -force * arm / distance
    world = len(engine.links.links)
    ends = [int(table.shapes.vertex_link[vertex[0]]), world]
    if kind != VERTEX_PLANE:
        ends[1] = int(_second_link(table, candidate))
    for link, sign in zip(ends, (1.0, -1.0), strict=True):
        if link < world:
            table.forces.wrench[link, :3] += sign * push
            table.forces.wrench[link, 3:] += sign * np.cross(point - table.poses.q[link, 0], push)
