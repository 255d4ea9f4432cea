"""States that are given: free of intersections, within limits, or made so."""

from __future__ import annotations

import math

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.errors import ModelError
from asperity.geometry.surfaces import is_closed
from asperity.midas.crossings import crossing_pairs
from asperity.midas.engine import Engine
from asperity.midas.engine_contacts import survey
from asperity.midas.engine_layout import FREE, LIMIT
from asperity.plant.names import element

__all__ = ["check_clearance"]

_OBJ = mujoco.mjtObj

# Share of the activation distance that surfaces must be apart at least.
_LEAST_GAP = 1e-4
# Share that separation aims at.
_AIM = 0.5
# No activation distance is chosen below this [m], nor above this share of a shape's extent.
_SMALLEST_ACTIVATION = 1e-5
_EXTENT_SHARE = 0.05
_ROUNDS = 200
# What a joint may be beyond a limit [rad or m] to be taken for being at it.
_AT_LIMIT = 1e-6


def check_clearance(engine: Engine, *, separate: bool, adapt_activation: bool) -> bool:
    """Check the engine's state, and correct what may be corrected.

    Parameters
    ----------
    engine : Engine
    separate : bool
        Whether free bodies that touch or overlap are moved apart, and joints brought back to their
        limits.
    adapt_activation : bool
        Whether the activation distance is lowered to the smallest clearance, on the first state.

    Returns
    -------
    bool
        Whether the state was changed.

    Raises
    ------
    ModelError
        If geoms intersect or touch, or a joint is beyond a limit.
    """
    changed = _enter_limits(engine, separate)
    changed = _enter_ball_limits(engine, separate) or changed
    flagged = _touching(engine)
    if flagged and separate:
        _separate(engine, flagged)
        changed = True
        flagged = _touching(engine)
    if flagged:
        _refuse(engine, flagged)
    if adapt_activation and not engine.adapted:
        _adapt(engine)
    engine.adapted = True
    return changed


def _enter_limits(engine: Engine, separate: bool) -> bool:
    """Bring joints at a limit a little inside it; refuse those beyond, or bring them back too."""
    table, model = engine.table, engine.model
    limit, joint = table.joint_limit, table.joint
    room = np.minimum(1e-3 * table.joint_activation, 1e-5)
    low, high = limit[:, 0] + room, limit[:, 1] - room
    beyond = (joint < limit[:, 0] - _AT_LIMIT) | (joint > limit[:, 1] + _AT_LIMIT)
    for k in np.flatnonzero(beyond & (not separate)):
        name = element(model, _OBJ.mjOBJ_JOINT, engine.links.links[table.joint_link[k]].joint)
        ends = limit[k] + table.joint_reference[k]
        raise ModelError(
            f"{name} is at {joint[k] + table.joint_reference[k]:g}, outside its range "
            f"{ends[0]:g} to {ends[1]:g}; the Midas integrator never passes a limit, so that a "
            "state must be within them. Midas(separate=True) brings joints back."
        )
    inside = np.clip(joint, low, high)
    if np.array_equal(inside, joint):
        return False
    qpos = table.qpos.copy()
    qpos[table.joint_qpos] = inside + table.joint_reference
    engine.set_state(qpos, table.qvel.copy())
    return True


def _enter_ball_limits(engine: Engine, separate: bool) -> bool:
    """The same for ball joints."""
    table, model = engine.table, engine.model
    qpos = table.qpos.copy()
    for term in np.flatnonzero(table.turn_kind == LIMIT):
        joint = engine.links.links[table.turn_link[term]].joint
        at = int(model.jnt_qposadr[joint])
        quaternion = qpos[at : at + 4] / np.linalg.norm(qpos[at : at + 4])
        angle = 2.0 * math.atan2(float(np.linalg.norm(quaternion[1:])), abs(quaternion[0]))
        limit = 2.0 * math.asin(math.sqrt(table.turn_bound[term]))
        end = float(model.jnt_range[joint].max())
        if angle > end + _AT_LIMIT and not separate:
            raise ModelError(
                f"{element(model, _OBJ.mjOBJ_JOINT, joint)} is turned by {angle:g} rad, and its "
                f"range ends at {end:g}; the Midas integrator never passes a limit, so that a "
                "state must be within them. Midas(separate=True) brings joints back."
            )
        inside = limit - min(1e-3 * limit, 1e-4)
        if angle > inside:
            sign = 1.0 if quaternion[0] >= 0.0 else -1.0
            axis = sign * quaternion[1:] / np.linalg.norm(quaternion[1:])
            qpos[at] = math.cos(0.5 * inside)
            qpos[at + 1 : at + 4] = math.sin(0.5 * inside) * axis
    if np.array_equal(qpos, table.qpos):
        return False
    engine.set_state(qpos, table.qvel.copy())
    return True


def _touching(engine: Engine) -> dict[int, float]:
    """Pairs that intersect, or are nearer than they may be, with the distance between [m]."""
    table = engine.table
    found = np.zeros(len(table.pair_shape), np.int64)
    x = engine.positions
    closed = np.array([is_closed(surface) for surface in engine.shapes.surface], dtype=np.int64)
    crossing_pairs(table, x, closed, found)
    flagged = {int(pair): _depth(engine, int(pair), x) for pair in np.flatnonzero(found)}
    while engine.grow(int(survey(table))):
        pass
    count = int(table.candidates)
    least = _LEAST_GAP * float(table.activation)
    square = table.candidate_square[:count]
    for i in np.flatnonzero(square < least**2):
        flagged.setdefault(int(table.candidate_pair[i]), math.sqrt(max(float(square[i]), 0.0)))
    return flagged


def _depth(engine: Engine, pair: int, x: NDArray[np.float64]) -> float:
    """Signed distance of two geoms that intersect [m]: exactly for half-spaces, else MuJoCo's."""
    table, shapes = engine.table, engine.shapes
    a, b = (int(i) for i in table.pair_shape[pair])
    if b < 0:
        vertices = slice(int(table.shape_vertex[a]), int(table.shape_vertex[a + 1]))
        plane = table.plane[-1 - b]
        return float(np.min(x[vertices] @ plane[:3]) - plane[3])
    data = mujoco.MjData(engine.model)
    data.qpos[:] = table.qpos
    data.mocap_pos[:], data.mocap_quat[:] = engine.data.mocap_pos, engine.data.mocap_quat
    mujoco.mj_kinematics(engine.model, data)
    line = np.zeros(6)
    one, other = int(shapes.geom[a]), int(shapes.geom[b])
    return min(float(mujoco.mj_geomDistance(engine.model, data, one, other, 1.0, line)), 0.0)


def _refuse(engine: Engine, flagged: dict[int, float]) -> None:
    pair = min(flagged, key=lambda key: flagged[key])
    one, other = (element(engine.model, _OBJ.mjOBJ_GEOM, g) for g in engine.pair_geoms(pair))
    distance = flagged[pair]
    what = (
        f"{one} and {other} intersect by {-1e3 * distance:.3g} mm"
        if distance < 0.0
        else f"{one} and {other} touch"
    )
    more = f" (and {len(flagged) - 1} more pairs)" if len(flagged) > 1 else ""
    raise ModelError(
        f"{what}{more}; the Midas integrator needs a state in which surfaces are apart. Move them, "
        "exclude the pair from contact (<exclude>, contype and conaffinity), or let "
        "Midas(separate=True) move free bodies apart."
    )


def _separate(engine: Engine, flagged: dict[int, float]) -> None:
    """Push free bodies apart along the normals of MuJoCo's contacts until none is flagged."""
    data = mujoco.MjData(engine.model)
    data.mocap_pos[:], data.mocap_quat[:] = engine.data.mocap_pos, engine.data.mocap_quat
    gap = _AIM * float(engine.table.activation)
    qvel = engine.table.qvel.copy()
    pairs = set(flagged)
    for _ in range(_ROUNDS):
        data.qpos[:] = engine.table.qpos
        close = {tuple(sorted(engine.pair_geoms(pair))) for pair in pairs}
        for geoms, distance, normal in _deepest_contacts(engine, data, gap):
            if tuple(sorted(geoms)) in close and distance < gap:
                _push(engine, data.qpos, geoms, (gap - distance) * normal)
        engine.set_state(data.qpos, qvel)
        found = _touching(engine)
        if not found:
            return
        pairs |= set(found)


def _deepest_contacts(
    engine: Engine, data: mujoco.MjData, gap: float
) -> list[tuple[tuple[int, int], float, NDArray[np.float64]]]:
    """Geoms, signed distance and normal of MuJoCo's deepest contact of every pair of geoms."""
    with engine.own_options as lent:
        lent.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_OVERRIDE)
        lent.opt.o_margin = 4.0 * gap
        mujoco.mj_kinematics(lent, data)
        mujoco.mj_comPos(lent, data)
        mujoco.mj_collision(lent, data)
    deepest: dict[tuple[int, int], tuple[float, NDArray[np.float64]]] = {}
    for contact in data.contact:
        geoms = (int(contact.geom[0]), int(contact.geom[1]))
        if geoms not in deepest or contact.dist < deepest[geoms][0]:
            deepest[geoms] = (float(contact.dist), np.array(contact.frame[:3]))
    return [(geoms, *found) for geoms, found in deepest.items()]


def _push(
    engine: Engine, qpos: NDArray[np.float64], geoms: tuple[int, int], move: NDArray[np.float64]
) -> None:
    """Move the free bodies that carry two geoms apart by a vector in all."""
    links, model = engine.links, engine.model
    free = [_free_root(engine, int(links.body_link[model.geom_bodyid[geom]])) for geom in geoms]
    if free[0] == free[1]:
        return
    movers = sum(link >= 0 for link in free)
    for link, sign in zip(free, (-1.0, 1.0), strict=True):
        if link >= 0:
            at = int(model.jnt_qposadr[links.links[link].joint])
            qpos[at : at + 3] += sign / movers * move


def _free_root(engine: Engine, link: int) -> int:
    """The free body that carries a link, or −1."""
    links = engine.links.links
    while link >= 0 and links[link].parent >= 0:
        link = links[link].parent
    return link if link >= 0 and links[link].kind == FREE and not links[link].is_mocap else -1


def _adapt(engine: Engine) -> None:
    """Lower the activation distance to the smallest clearance and the smallest shape."""
    table = engine.table
    count = int(table.candidates)
    wanted = float(table.activation)
    for shape in engine.shapes.surface:
        wanted = min(wanted, _EXTENT_SHARE * float(np.ptp(shape.vertices, axis=0).max()))
    if count:
        wanted = min(wanted, math.sqrt(float(table.candidate_square[:count].min())))
    table.activation = max(wanted, _SMALLEST_ACTIVATION)
