"""Surfaces of a given state moved apart: a little by all joints, or by free bodies alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.midas.engine import Engine
from asperity.midas.engine_layout import FREE
from asperity.midas.model.pairs import pair_ends
from asperity.midas.pose.touching import find_touching, state_data

__all__ = ["separate_free_bodies", "take_apart"]

Floats = NDArray[np.float64]

# Shares of the activation distance that surfaces are brought apart. At half of it barriers push
# hard, and throw bodies up; but it may itself be lowered to that yet.
_FAR_APART, _APART = 1.02, 0.5
# Of that distance, what is enough for free bodies, and what joints are brought to.
_ENOUGH, _MORE = 0.985, 1.1
_ROUNDS = 200
# Pushes along the last normal of a pair that MuJoCo no longer sees.
_BLIND = 8
_FEW_ROUNDS = 20
# How far anything may move, in activation distances and layers, where surfaces only touch.
_FARTHEST = 2.0


class _Close(NamedTuple):
    """One of MuJoCo's contacts."""

    geoms: tuple[int, int]
    distance: float
    normal: Floats
    point: Floats


def _shares(whole: bool) -> tuple[float, ...]:
    """Activation distances to bring surfaces apart by, the first that is possible."""
    return (_FAR_APART, _APART) if whole else (_APART,)


def _gaps(engine: Engine, share: float) -> dict[tuple[int, int], float]:
    """Distances [m] to bring geoms apart to, as a share of their activation distances."""
    table = engine.table
    one, other = pair_ends(table.pairs.shape, engine.shapes.geom, engine.shapes.plane_geom)
    first, last = np.minimum(one, other).tolist(), np.maximum(one, other).tolist()
    gaps: dict[tuple[int, int], float] = {}
    for a, b, activation in zip(first, last, table.pairs.activation.tolist(), strict=True):
        gaps[a, b] = max(share * activation, gaps.get((a, b), 0.0))
    return gaps


def take_apart(engine: Engine, pairs: Iterable[int], *, whole: bool) -> bool:
    """Part surfaces that touch by the smallest motion of all joints, measured by inertia.

    Nothing moves by more than two activation distances, and in a pile as much more as it has
    layers. If that is not enough for one of the pairs, nothing moves at all.

    Parameters
    ----------
    engine : Engine
    pairs : iterable of int
    whole : bool
        Whether they are to be an activation distance apart if that is possible, not half of one.

    Returns
    -------
    bool
        Whether the pairs are apart, and no others touch that did not before.
    """
    pairs = list(pairs)
    return any(_take_apart(engine, pairs, share) for share in _shares(whole))


def _take_apart(engine: Engine, pairs: list[int], share: float) -> bool:
    """Part them by a share of their activation distances, or move nothing."""
    gaps = _gaps(engine, share)
    farthest = _FARTHEST * float(np.asarray(engine.table.pairs.activation)[pairs].max())
    farthest *= _layers(engine, pairs)
    before, start = engine.table.poses.qpos.copy(), engine.positions
    allowed = set(find_touching(engine)) - set(pairs)
    wanted = {_sorted_geoms(engine, pair) for pair in pairs}
    for _ in range(_FEW_ROUNDS):
        data = state_data(engine)
        near = [one for one in _contacts(engine, data, gaps) if one.geoms in wanted]
        near = [one for one in near if one.distance < gaps[one.geoms]]
        # Where barriers end at the gap, no more than that: what is higher falls, and rebounds.
        more = _MORE if share < 1.0 else 1.0 / _ENOUGH
        gained = [more * gaps[one.geoms] - one.distance for one in near]
        move = _least_motion(engine, data, near, gained)
        if move is None:
            break
        qpos = engine.table.poses.qpos.copy()
        mujoco.mj_integratePos(engine.model, qpos, move, 1.0)
        engine.set_state(qpos, engine.table.poses.qvel.copy())
        moved = np.linalg.norm(engine.positions - start, axis=1).max()
        if moved > farthest:
            break
        found = set(find_touching(engine)) - allowed
        if not found:
            return True
        wanted |= {_sorted_geoms(engine, pair) for pair in found}
    engine.set_state(before, engine.table.poses.qvel.copy())
    return False


def _sorted_geoms(engine: Engine, pair: int) -> tuple[int, int]:
    one, other = sorted(engine.pair_geoms(pair))
    return one, other


def _layers(engine: Engine, pairs: list[int]) -> int:
    """How many mechanisms lie on top of each other where pairs touch, beginning at the world."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components, dijkstra

    model = engine.model
    bodies = model.geom_bodyid[np.array([engine.pair_geoms(pair) for pair in pairs])]
    one, other = (model.body_treeid[bodies] + 1).T
    count = model.ntree + 1
    graph = csr_array((np.ones(len(pairs)), (one, other)), (count, count))
    # The world is first, and else the first of those that touch.
    _, group = connected_components(graph, directed=False)
    _, first = np.unique(group, return_index=True)
    layers = dijkstra(graph, directed=False, indices=first, unweighted=True, min_only=True)
    return max(int(layers.max()), 1)


def _least_motion(
    engine: Engine, data: mujoco.MjData, near: list[_Close], gained: list[float]
) -> Floats | None:
    """The smallest motion that widens gaps and keeps joints in their ranges, shape (nv,), or None.

    Least-distance programming (Lawson and Hanson 1974, chapter 23): of all x with Gx ≥ h, the
    shortest is found by non-negative least squares on [Gᵀ; hᵀ]. Lengths are those of the inertia.
    """
    # Slow to import, and most need it not.
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    model = engine.model
    if not near:
        return None
    rows, least = [], list(gained)
    for one in near:
        row = np.zeros(model.nv)
        for geom, sign in zip(one.geoms, (-1.0, 1.0), strict=True):
            jacobian = np.zeros((3, model.nv))
            body = int(model.geom_bodyid[geom])
            mujoco.mj_jac(model, data, jacobian, None, one.point, body)
            row += sign * one.normal @ jacobian
        rows.append(row)
    _append_ranges(engine, rows, least)
    mujoco.mj_makeM(model, data)
    mujoco.mj_factorM(model, data)
    if not np.all((data.qLDiagInv > 0.0) & np.isfinite(data.qLDiagInv)):
        return None
    given = np.array(rows)
    scaled = np.zeros_like(given)
    mujoco.mj_solveM2(model, data, scaled, given, np.sqrt(data.qLDiagInv))
    # Of the order of one, as the method wants them.
    scale = np.maximum(np.linalg.norm(scaled, axis=1), 1e-12)
    matrix, gain = csr_array(scaled / scale[:, None]), np.array(least) / scale
    pushes = np.zeros(len(gain))
    # What nothing couples is a problem of its own, and much smaller.
    count, island = connected_components(abs(matrix) @ abs(matrix.T), directed=False)
    for number in range(count):
        members = np.flatnonzero(island == number)
        if np.any(gain[members] > 0.0):
            found = _least_pushes(matrix[members].toarray(), gain[members])
            if found is None:
                return None
            pushes[members] = found
    move = np.zeros((1, model.nv))
    mujoco.mj_solveM(model, data, move, ((pushes / scale) @ given)[None])
    return move[0]


def _least_pushes(matrix: Floats, gain: Floats) -> Floats | None:
    """The u ≥ 0 of the shortest x = Gᵀu with Gx ≥ h, of G and h, or None if there is no such x."""
    from scipy.optimize import nnls

    length = float(np.abs(gain).max())
    columns = np.any(matrix != 0.0, axis=0)
    stacked = np.vstack([matrix[:, columns].T, gain / length])
    wanted = np.zeros(len(stacked))
    wanted[-1] = 1.0
    try:
        weights, _ = nnls(stacked, wanted)
    except RuntimeError:
        return None
    rest = float(stacked[-1] @ weights) - 1.0
    return -length / rest * weights if rest < -1e-9 else None


def _append_ranges(engine: Engine, rows: list[Floats], least: list[float]) -> None:
    """Let joints stay within their ranges."""
    table, model = engine.table, engine.model
    room = np.minimum(1e-3 * table.joints.activation, 1e-5)
    joint = table.poses.qpos[table.joints.qpos] - table.joints.reference[: len(table.joints.qpos)]
    for k in range(len(joint)):
        dof = int(model.jnt_dofadr[engine.links.links[table.joints.link[k]].joint])
        for side, sign in ((0, 1.0), (1, -1.0)):
            if np.isfinite(table.joints.limit[k, side]):
                row = np.zeros(model.nv)
                row[dof] = sign
                rows.append(row)
                least.append(min(sign * (table.joints.limit[k, side] - joint[k]) + room[k], 0.0))


def separate_free_bodies(engine: Engine, pairs: Iterable[int], *, whole: bool) -> None:
    """Push free bodies apart along the normals of MuJoCo's contacts until no pair is too near.

    Parameters are those of `take_apart`.
    """
    before = engine.table.poses.qpos.copy()
    for share in _shares(whole):
        engine.set_state(before, engine.table.poses.qvel.copy())
        if _separate(engine, list(pairs), _gaps(engine, share)):
            return


def _separate(engine: Engine, pairs: list[int], gaps: dict[tuple[int, int], float]) -> bool:
    """Push free bodies apart by gaps [m]; returns whether they are."""
    qvel = engine.table.poses.qvel.copy()
    left = dict.fromkeys(gaps, _BLIND)
    normals: dict[tuple[int, int], Floats] = {}
    close = {_sorted_geoms(engine, pair) for pair in pairs}
    found: Iterable[int] = pairs
    for _ in range(_ROUNDS):
        data = state_data(engine)
        deepest: dict[tuple[int, int], _Close] = {}
        pushed = False
        for one in _contacts(engine, data, gaps):
            if one.geoms not in deepest or one.distance < deepest[one.geoms].distance:
                deepest[one.geoms] = one
        for geoms, one in deepest.items():
            if geoms in close and one.distance < _ENOUGH * gaps[geoms]:
                move = (gaps[geoms] - one.distance) * one.normal
                pushed |= _push(engine, data.qpos, geoms, move)
        normals |= {geoms: one.normal for geoms, one in deepest.items()}
        if not pushed:
            # MuJoCo misses contacts of signed distance fields whose surfaces cross.
            for geoms in {_sorted_geoms(engine, pair) for pair in found}:
                if left[geoms] > 0 and geoms in normals:
                    left[geoms] -= 1
                    pushed |= _push(engine, data.qpos, geoms, gaps[geoms] * normals[geoms])
        if not pushed:
            break
        engine.set_state(data.qpos, qvel)
        found = find_touching(engine)
        # What rests on others is pushed up by them, a little less each time.
        close |= {_sorted_geoms(engine, pair) for pair in found}
    return not found


def _contacts(
    engine: Engine, data: mujoco.MjData, gaps: dict[tuple[int, int], float]
) -> list[_Close]:
    """MuJoCo's contacts of all pairs of geoms that are near, with the smaller geom first."""
    with engine.own_options as lent:
        lent.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_OVERRIDE)
        lent.opt.o_margin = 4.0 * max(gaps.values())
        # All elements of flexes would be looked at, and take more memory than there may be.
        nothing = np.zeros(engine.model.nflex, np.int32)
        engine.own_options.replace("flex_contype", nothing)
        engine.own_options.replace("flex_conaffinity", nothing)
        mujoco.mj_collision(lent, data)
    found = []
    for contact in data.contact:
        one, other = (int(geom) for geom in contact.geom)
        normal = np.array(contact.frame[:3])
        if one > other:
            one, other, normal = other, one, -normal
        found.append(_Close((one, other), float(contact.dist), normal, np.array(contact.pos)))
    return found


def _push(engine: Engine, qpos: Floats, geoms: tuple[int, int], move: Floats) -> bool:
    """Move free bodies that carry two geoms apart by a vector in all; returns whether any does."""
    links, model = engine.links, engine.model
    free = [_free_root(engine, int(links.body_link[model.geom_bodyid[geom]])) for geom in geoms]
    if free[0] == free[1]:
        return False
    movers = sum(link >= 0 for link in free)
    for link, sign in zip(free, (-1.0, 1.0), strict=True):
        if link >= 0:
            at = int(model.jnt_qposadr[links.links[link].joint])
            qpos[at : at + 3] += sign / movers * move
    return True


def _free_root(engine: Engine, link: int) -> int:
    """The free body that carries a link, or −1."""
    links = engine.links.links
    while link >= 0 and links[link].parent >= 0:
        link = links[link].parent
    return link if link >= 0 and links[link].kind == FREE and not links[link].is_mocap else -1
