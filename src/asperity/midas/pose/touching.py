"""Surfaces of a given state that intersect or touch, and how deep."""

from __future__ import annotations

import math

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.geometry.surfaces import is_closed
from asperity.midas.engine import Engine
from asperity.midas.engine_contacts import SURVEY_KERNELS, survey
from asperity.midas.geometry.crossings import crossing_pairs
from asperity.plant.model.sleep import awake_data

__all__ = ["TOUCHING_KERNELS", "find_touching", "merely_touch", "state_data"]

TOUCHING_KERNELS = (crossing_pairs, *SURVEY_KERNELS)
"""What `find_touching` needs compiled."""

# Depth up to which surfaces count as touching, as a share of their activation distance.
_TOUCHING = 0.5
# Share of the activation distance that surfaces must be apart at least.
_LEAST_GAP = 1e-4


def find_touching(engine: Engine) -> dict[int, float]:
    """Pairs that intersect, or are nearer than they may be, with the distance between [m]."""
    table = engine.table
    found = np.zeros(len(table.pairs.shape), np.int64)
    x = engine.positions
    closed = np.array([is_closed(surface) for surface in engine.shapes.surface], dtype=np.int64)
    crossing_pairs(table, x, closed, found)
    crossing = np.flatnonzero(found)
    data = state_data(engine) if len(crossing) else None
    flagged = {int(pair): _depth(engine, int(pair), x, data) for pair in crossing}
    table.pairs.may_overlap = 1
    while engine.grow(int(survey(table))):
        pass
    table.pairs.may_overlap = 0
    count = int(table.candidates.count)
    least = _LEAST_GAP * np.asarray(table.pairs.activation)[table.candidates.pair[:count]]
    square = np.asarray(table.candidates.square[:count])
    # What is inside of a round shape has a negative square.
    for i in np.flatnonzero(square < least**2):
        pair, distance = int(table.candidates.pair[i]), math.sqrt(abs(float(square[i])))
        flagged.setdefault(pair, distance)
        if square[i] < 0.0:
            flagged[pair] = min(flagged[pair], -distance)
    return flagged


def merely_touch(engine: Engine, pair: int, distance: float) -> bool:
    """Whether the surfaces of a flagged pair, with this distance between [m], do not overlap."""
    return distance >= -_TOUCHING * float(engine.table.pairs.activation[pair])


def state_data(engine: Engine) -> mujoco.MjData:
    """MuJoCo's kinematics at the engine's given state."""
    data = awake_data(engine.model)
    data.qpos[:] = engine.table.poses.qpos
    data.mocap_pos[:], data.mocap_quat[:] = engine.data.mocap_pos, engine.data.mocap_quat
    mujoco.mj_kinematics(engine.model, data)
    mujoco.mj_comPos(engine.model, data)
    return data


def _depth(engine: Engine, pair: int, x: NDArray[np.float64], data: mujoco.MjData | None) -> float:
    """Signed distance of two geoms that intersect [m]: exactly for half-spaces, else MuJoCo's."""
    table, shapes = engine.table, engine.shapes
    a, b = (int(i) for i in table.pairs.shape[pair])
    if b < 0:
        vertices = slice(int(table.shapes.vertex_start[a]), int(table.shapes.vertex_start[a + 1]))
        plane = table.shapes.plane[-1 - b]
        return float(np.min(x[vertices] @ plane[:3]) - plane[3] - table.shapes.radius[a])
    one, other = int(shapes.geom[a]), int(shapes.geom[b])
    line = np.zeros(6)
    return min(float(mujoco.mj_geomDistance(engine.model, data, one, other, 1.0, line)), 0.0)
