"""Friction's stencils: normal forces, points and tangent planes that are frozen over a solution."""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled, entry_point
from asperity.midas.energy.contact_schedule import schedule_friction
from asperity.midas.energy.contact_terms import add_round_arms, contact_sides
from asperity.midas.energy.friction_kinds import SLIPS, model_tangents, place_arrows
from asperity.midas.energy.potentials import barrier_slopes
from asperity.midas.geometry.distances import mollifier
from asperity.midas.geometry.round_planes import (
    further_stencils,
    link_of_side,
    place_on_round,
    second_link,
    spread_friction,
)
from asperity.midas.geometry.stencil import (
    EDGE_EDGE,
    RIM_PLANE,
    VERTEX_FACE,
    VERTEX_PLANE,
    candidate_stencil,
)
from asperity.midas.parts import PART, RUNS, count_parts, do_parts

__all__ = [
    "STENCIL_KERNELS",
    "collect_friction",
    "forget_friction",
    "normal_force",
    "surface_drift",
    "tangents",
]

# Change of a unit length, squared, that leaves a link nearly rigid.
_STRAIN = 0.1


@compiled
def normal_force(engine: Table, i: int, x: np.ndarray) -> float:
    """Normal force [N] of a candidate measured at ``x``."""
    candidates = engine.candidates
    activation = engine.pairs.activation[candidates.pair[i]]
    square = candidates.square[i]
    if square >= activation * activation or square <= 0.0:
        return 0.0
    slope, _ = barrier_slopes(square, activation)
    force = -engine.options.barrier_stiffness * candidates.weight[i] * slope
    if candidates.kind[i] == EDGE_EDGE:
        stencil = candidate_stencil(candidates, i)
        force *= mollifier(stencil, x, candidates.threshold[i], engine.work.mollifier_slope)
    return force


@compiled
def tangents(normal: np.ndarray, frame: np.ndarray) -> None:
    """Fill two unit vectors across a normal (of any length), shape (2, 3)."""
    k = 0
    if abs(normal[1]) < abs(normal[k]):
        k = 1
    if abs(normal[2]) < abs(normal[k]):
        k = 2
    i = (k + 1) % 3
    j = (k + 2) % 3
    length = math.sqrt(normal[i] * normal[i] + normal[j] * normal[j])
    frame[0, k] = 0.0
    frame[0, i] = -normal[j] / length
    frame[0, j] = normal[i] / length
    size = math.sqrt(length * length + normal[k] * normal[k])
    # normal × first tangent
    frame[1, k] = (normal[i] * frame[0, j] - normal[j] * frame[0, i]) / size
    frame[1, i] = (normal[j] * frame[0, k] - normal[k] * frame[0, j]) / size
    frame[1, j] = (normal[k] * frame[0, i] - normal[i] * frame[0, k]) / size


@compiled
def _bring_along(engine: Table, i: int, q: np.ndarray, weight: np.ndarray) -> None:
    """Move y of a candidate's second side to the point that its first side's y will be at.

    A vertex that slides over a face meets with another point of it at the end of a step than at its
    beginning; of a fast turntable that has a quite different velocity.
    """
    link = second_link(engine, i)
    if link >= engine.newton.link_gradient.shape[0] or not _is_rigid(q[link]):
        return
    own = q[engine.shapes.vertex_link[engine.candidates.vertex[i, 0]]]
    for j in range(1, 4):
        weight[1, j] = 0.0
        for k in range(3):
            place = -q[link, 0, k]
            for m in range(4):
                place += weight[0, m] * own[m, k]
            weight[1, j] -= q[link, j, k] * place


@compiled
def surface_drift(
    engine: Table, i: int, q: np.ndarray, weight: np.ndarray, frame: np.ndarray, out: np.ndarray
) -> None:
    """Fill the velocity [m/s] along two tangents that surfaces have besides their links'.

    A surface runs like a belt, as ``geom_surfacevel`` says, and stays where it is. ``weight`` has
    y of both sides of candidate ``i``, ``frame`` the tangents.
    """
    out[0] = 0.0
    out[1] = 0.0
    shapes = engine.shapes.radius.size
    if engine.shapes.surface_velocity.shape[0] == 0:
        return
    first = engine.candidates.vertex[i, 0]
    pair = engine.pairs.shape[engine.candidates.pair[i]]
    is_first = (
        engine.shapes.vertex_start[pair[0]] <= first < engine.shapes.vertex_start[pair[0] + 1]
    )
    own = q[engine.shapes.vertex_link[first]]
    for side in range(2):
        shape = pair[0] if is_first == (side == 0) else pair[1]
        by_point = engine.shapes.surface_velocity[shape if shape >= 0 else shapes - 1 - shape]
        link = link_of_side(engine, i, side)
        for m in range(3):
            if side == 1 and link >= engine.newton.link_gradient.shape[0]:
                # Of the world there may be no y, but the point is where the first side's is.
                velocity = -by_point[0, m]
                for k in range(3):
                    for j in range(4):
                        velocity -= weight[0, j] * own[j, k] * by_point[1 + k, m]
            else:
                velocity = 0.0
                for j in range(4):
                    velocity += weight[side, j] * by_point[j, m]
            for k in range(3):
                out[0] += velocity * q[link, 1 + m, k] * frame[0, k]
                out[1] += velocity * q[link, 1 + m, k] * frame[1, k]


@compiled
def _is_rigid(q: np.ndarray) -> bool:
    """Whether Q is nearly that of a rotation: where inertia leads, some links are not."""
    for i in range(1, 4):
        if abs(q[i, 0] ** 2 + q[i, 1] ** 2 + q[i, 2] ** 2 - 1.0) > _STRAIN:
            return False
    return True


@entry_point(PART)
def count_friction_part(engine: Table, part: int, _member: int, _unused: int) -> int:
    """Find what friction can bear at some candidates, and count the stencils that it will have."""
    runs = engine.runs
    x = engine.vertices.now
    weight = engine.work.side_weight
    count = 0
    for run in range(part * RUNS, min((part + 1) * RUNS, runs.count)):
        first = runs.begin[run]
        mu = engine.pairs.friction[engine.candidates.pair[first]]
        if mu == 0.0 or runs.least[run] >= runs.activation[run]:
            for i in range(first, runs.begin[run + 1]):
                engine.friction.bound[i] = 0.0
            continue
        for i in range(first, runs.begin[run + 1]):
            value = mu * normal_force(engine, i, x)
            engine.friction.bound[i] = value
            if value > 0.0:
                count += 1
                if engine.candidates.kind[i] == RIM_PLANE:
                    count += further_stencils(
                        place_on_round(engine, i, _lead(engine.poses, engine.friction), weight)
                    )
    engine.parts.value[part] = count
    return 0


@compiled
def _lead(poses: Table, friction: Table) -> np.ndarray:
    """The links' coordinates at which friction acts."""
    return poses.q_now if friction.at_iterate == 1 else poses.q_target


@entry_point(PART)
def collect_friction_part(engine: Table, part: int, _member: int, _unused: int) -> int:
    """Fill the stencils of some runs, from where the part's value says."""
    candidates = engine.candidates
    friction = engine.friction
    q = _lead(engine.poses, friction)
    count = int(engine.parts.value[part])
    for run in range(part * RUNS, min((part + 1) * RUNS, engine.runs.count)):
        for i in range(engine.runs.begin[run], engine.runs.begin[run + 1]):
            value = friction.bound[i]
            # Written so that NaN is left out, as it was counted.
            if not value > 0.0:
                continue
            friction.force[count] = value
            friction.pair[count] = candidates.pair[i]
            engine.schedule.friction_part[count] = engine.schedule.run_part[run]
            friction.link[count, 0] = engine.shapes.vertex_link[candidates.vertex[i, 0]]
            friction.link[count, 1] = second_link(engine, i)
            weight = friction.weight[count]
            contact_sides(engine.shapes, candidates, i, weight)
            add_round_arms(engine.shapes, candidates, i, q, weight)
            first = count
            pointed = 1.0
            if candidates.kind[i] > VERTEX_PLANE:
                pointed = place_on_round(engine, i, q, weight)
            pair = candidates.pair[i]
            every = engine.pairs.every_friction[pair] == 1
            if every:
                model_tangents(engine, pair, candidates.arm[i], q, friction.frame[count])
            else:
                tangents(candidates.arm[i], friction.frame[count])
            friction.dual[count, 0] = 0.0
            friction.dual[count, 1] = 0.0
            count += 1
            if candidates.kind[i] == RIM_PLANE:
                count = spread_friction(engine, i, count, pointed)
            if candidates.kind[i] == VERTEX_FACE or candidates.kind[i] > VERTEX_PLANE:
                for stencil in range(first, count):
                    _bring_along(engine, i, q, friction.weight[stencil])
            for stencil in range(first, count if every else first):
                for k in range(2, SLIPS):
                    friction.dual[stencil, k] = 0.0
                place_arrows(
                    engine.poses,
                    friction.link[stencil, 0],
                    friction.link[stencil, 1],
                    q,
                    friction.frame[stencil],
                    friction.arrow[stencil],
                )
            for stencil in range(first, count):
                surface_drift(
                    engine,
                    i,
                    q,
                    friction.weight[stencil],
                    friction.frame[stencil],
                    friction.drift[stencil],
                )
    return 0


@compiled
def collect_friction(engine: Table, now: int) -> None:
    """Freeze friction at the iterate's candidates, which are measured.

    Friction acts by velocities at a step's end, on the points of surfaces that touch then: with
    links where they are if ``now`` is 1, and else where inertia leads.
    """
    engine.friction.at_iterate = now
    parts = count_parts(engine.runs.count, RUNS)
    do_parts(engine, engine.entries.count_friction_part, parts)
    total = 0.0
    for part in range(parts):
        count = engine.parts.value[part]
        engine.parts.value[part] = total
        total += count
    engine.friction.count = int(total)
    do_parts(engine, engine.entries.collect_friction_part, parts)
    schedule_friction(engine.friction, engine.schedule)


@compiled
def forget_friction(friction: Table, schedule: Table) -> None:
    """Let there be no friction."""
    friction.count = 0
    schedule_friction(friction, schedule)


STENCIL_KERNELS = (count_friction_part, collect_friction_part)
