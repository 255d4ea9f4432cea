"""Lagged, smoothed friction (IPC, section 5.5).

Normal forces, contact points and tangent planes are those of a given state, so that friction has
the potential Σ μλ f₀(‖u‖) with slips u that are linear in the links' coordinates.
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled, entry_point
from asperity.midas.contact_schedule import schedule_friction
from asperity.midas.contact_terms import add_round_arms, contact_sides
from asperity.midas.distances import EDGE_EDGE, RIM_PLANE, VERTEX_FACE, VERTEX_PLANE, mollifier
from asperity.midas.outer_products import add_outer
from asperity.midas.parts import PART, RUNS, STENCILS, count_parts, do_parts, sum_of_parts
from asperity.midas.potentials import barrier_slopes, friction, friction_slope
from asperity.midas.round_planes import further_stencils, place_on_round, spread_friction

__all__ = [
    "FRICTION_KERNELS",
    "add_friction_terms",
    "collect_friction",
    "forget_friction",
    "friction_energy",
    "friction_scale",
    "normal_force",
    "slip_change",
    "tangents",
    "turn_friction",
]

# Change of a unit length, squared, that leaves a link nearly rigid.
_STRAIN = 0.1


@compiled
def normal_force(engine: Table, i: int, x: np.ndarray) -> float:
    """Normal force [N] of a candidate measured at ``x``."""
    activation = engine.activation
    square = engine.candidate_square[i]
    if square >= activation * activation or square <= 0.0:
        return 0.0
    slope, _ = barrier_slopes(square, activation)
    force = -engine.barrier_stiffness * engine.candidate_weight[i] * slope
    if engine.candidate_kind[i] == EDGE_EDGE:
        v = engine.candidate_vertex[i]
        threshold = engine.candidate_threshold[i]
        force *= mollifier(v[0], v[1], v[2], v[3], x, threshold, engine.mollifier_slope)
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
    link = engine.vertex_link[engine.candidate_vertex[i, 3]]
    if link >= engine.link_gradient.shape[0] or not _is_rigid(q[link]):
        return
    own = q[engine.vertex_link[engine.candidate_vertex[i, 0]]]
    for j in range(1, 4):
        weight[1, j] = 0.0
        for k in range(3):
            place = -q[link, 0, k]
            for m in range(4):
                place += weight[0, m] * own[m, k]
            weight[1, j] -= q[link, j, k] * place


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
    x = engine.vertex_now
    weight = engine.side_weight
    count = 0
    for run in range(part * RUNS, min((part + 1) * RUNS, engine.runs)):
        first = engine.run_begin[run]
        mu = engine.pair_friction[engine.candidate_pair[first]]
        if mu == 0.0 or engine.run_least[run] >= engine.activation:
            for i in range(first, engine.run_begin[run + 1]):
                engine.friction_bound[i] = 0.0
            continue
        for i in range(first, engine.run_begin[run + 1]):
            value = mu * normal_force(engine, i, x)
            engine.friction_bound[i] = value
            if value > 0.0:
                count += 1
                if engine.candidate_kind[i] == RIM_PLANE:
                    count += further_stencils(place_on_round(engine, i, _lead(engine), weight))
    engine.part_value[part] = count
    return 0


@compiled
def _lead(engine: Table) -> np.ndarray:
    """The links' coordinates at which friction acts."""
    return engine.q_now if engine.friction_now == 1 else engine.q_target


@entry_point(PART)
def collect_friction_part(engine: Table, part: int, _member: int, _unused: int) -> int:
    """Fill the stencils of some runs, from where the part's value says."""
    world = engine.link_parent.size
    q = _lead(engine)
    count = int(engine.part_value[part])
    for run in range(part * RUNS, min((part + 1) * RUNS, engine.runs)):
        for i in range(engine.run_begin[run], engine.run_begin[run + 1]):
            value = engine.friction_bound[i]
            # Written so that NaN is left out, as it was counted.
            if not value > 0.0:
                continue
            engine.friction_force[count] = value
            engine.friction_pair[count] = engine.candidate_pair[i]
            engine.friction_part[count] = engine.run_part[run]
            engine.friction_link[count, 0] = engine.vertex_link[engine.candidate_vertex[i, 0]]
            engine.friction_link[count, 1] = (
                world
                if engine.candidate_kind[i] >= VERTEX_PLANE
                else engine.vertex_link[engine.candidate_vertex[i, 3]]
            )
            weight = engine.friction_weight[count]
            contact_sides(
                engine,
                engine.candidate_kind[i],
                engine.candidate_vertex[i],
                engine.candidate_coefficient[i],
                weight,
            )
            add_round_arms(engine, i, q, weight)
            if engine.candidate_kind[i] == VERTEX_FACE:
                _bring_along(engine, i, q, weight)
            pointed = 1.0
            if engine.candidate_kind[i] > VERTEX_PLANE:
                pointed = place_on_round(engine, i, q, weight)
            tangents(engine.candidate_arm[i], engine.friction_frame[count])
            engine.friction_dual[count, 0] = 0.0
            engine.friction_dual[count, 1] = 0.0
            count += 1
            if engine.candidate_kind[i] == RIM_PLANE:
                count = spread_friction(engine, i, count, pointed)
    return 0


@compiled
def collect_friction(engine: Table, now: int) -> None:
    """Freeze friction at the iterate's candidates, which are measured.

    Friction acts by velocities at a step's end, on the points of surfaces that touch then: with
    links where they are if ``now`` is 1, and else where inertia leads.
    """
    engine.friction_now = now
    parts = count_parts(engine.runs, RUNS)
    do_parts(engine, engine.count_friction_part, parts)
    total = 0.0
    for part in range(parts):
        count = engine.part_value[part]
        engine.part_value[part] = total
        total += count
    engine.friction_pairs = int(total)
    do_parts(engine, engine.collect_friction_part, parts)
    schedule_friction(engine)


@compiled
def forget_friction(engine: Table) -> None:
    """Let there be no friction."""
    engine.friction_pairs = 0
    schedule_friction(engine)


@compiled
def friction_scale(engine: Table) -> float:
    """Sum of the forces that friction can bear [N]."""
    total = 0.0
    for i in range(engine.friction_pairs):
        total += engine.friction_force[i]
    return total


@compiled
def _slip(engine: Table, i: int, q: np.ndarray, u: np.ndarray) -> None:
    """Fill the slip [m] of a friction stencil from the start of the step, shape (2,)."""
    u[0] = 0.0
    u[1] = 0.0
    for side in range(2):
        body = engine.friction_link[i, side]
        for j in range(4):
            w = engine.friction_weight[i, side, j]
            for k in range(3):
                move = w * (q[body, j, k] - engine.q_slip[body, j, k])
                u[0] += move * engine.friction_frame[i, 0, k]
                u[1] += move * engine.friction_frame[i, 1, k]


@compiled
def _end(engine: Table, part: int) -> int:
    return min((part + 1) * STENCILS, engine.friction_pairs)


@entry_point(PART)
def friction_energy_part(engine: Table, part: int, _member: int, _unused: int) -> int:
    """Sum the energy of some stencils, without its factor h²."""
    q = engine.q_trial if engine.at_trial == 1 else engine.q_now
    u = engine.slip
    h = engine.step
    total = 0.0
    for i in range(part * STENCILS, _end(engine, part)):
        _slip(engine, i, q, u)
        width = engine.pair_stiction[engine.friction_pair[i]] * h
        total += engine.friction_force[i] * friction(math.sqrt(u[0] * u[0] + u[1] * u[1]), width)
    engine.part_value[part] = total
    return 0


@compiled
def friction_energy(engine: Table) -> float:
    """Energy of friction [J s²]."""
    parts = count_parts(engine.friction_pairs, STENCILS)
    do_parts(engine, engine.friction_energy_part, parts)
    return engine.step * engine.step * sum_of_parts(engine, parts)


@entry_point(PART)
def slip_change_part(engine: Table, part: int, _member: int, _unused: int) -> int:
    """Find the largest relative change of a slip of some stencils."""
    u = engine.slip
    largest = 0.0
    for i in range(part * STENCILS, _end(engine, part)):
        _slip(engine, i, engine.q_trial, u)
        e0 = u[0]
        e1 = u[1]
        _slip(engine, i, engine.q_now, u)
        width = engine.pair_stiction[engine.friction_pair[i]] * engine.step
        size = max(math.sqrt(u[0] * u[0] + u[1] * u[1]), width)
        largest = max(largest, math.sqrt((e0 - u[0]) ** 2 + (e1 - u[1]) ** 2) / size)
    engine.part_value[part] = largest
    return 0


@compiled
def slip_change(engine: Table) -> float:
    """Largest change of a slip from the iterate to the trial state, relative to what it is."""
    parts = count_parts(engine.friction_pairs, STENCILS)
    do_parts(engine, engine.slip_change_part, parts)
    largest = 0.0
    for part in range(parts):
        largest = max(largest, engine.part_value[part])
    return largest


@entry_point(PART)
def turn_friction_part(engine: Table, part: int, _member: int, _unused: int) -> int:
    """Move the duals of some stencils; as `turn_friction`."""
    u = engine.slip
    share = engine.turn_share
    for i in range(part * STENCILS, _end(engine, part)):
        _slip(engine, i, engine.q_trial, u)
        e0 = u[0]
        e1 = u[1]
        _slip(engine, i, engine.q_now, u)
        d0 = (e0 - u[0]) / share
        d1 = (e1 - u[1]) / share
        width = engine.pair_stiction[engine.friction_pair[i]] * engine.step
        per_slip, bend = friction_slope(math.sqrt(u[0] * u[0] + u[1] * u[1]), width)
        turn = bend / per_slip * (u[0] * d0 + u[1] * d1)
        w = engine.friction_dual[i]
        w0 = w[0] + share * (per_slip * (u[0] + d0) + (turn - 1.0) * w[0])
        w1 = w[1] + share * (per_slip * (u[1] + d1) + (turn - 1.0) * w[1])
        size = max(math.sqrt(w0 * w0 + w1 * w1), 1.0)
        w[0] = w0 / size
        w[1] = w1 / size
    return 0


@compiled
def turn_friction(engine: Table, share: float) -> None:
    """Move the duals by a share of what the direction of which the trial state is that share gives.

    With w for f₁ u/y, the equation w y/f₁ = u has the linear solution
    w + dw = f₁/y (u + du) + (f₁′ y − f₁)/y³ y/f₁ (u · du) w.
    """
    engine.turn_share = share
    do_parts(engine, engine.turn_friction_part, count_parts(engine.friction_pairs, STENCILS))


@compiled
def add_friction_terms(engine: Table, part: int, q: np.ndarray) -> None:
    """Add gradients and Hessian blocks of friction, of a part of the schedule.

    Friction that slides has no curvature along its slip, so that a direction may lead far beyond
    where it would stop. The Hessian has a dual w in place of u/|u|, which goes there as the
    iteration does (Chan, Golub and Mulet 1999).
    """
    u = engine.slip
    h = engine.step
    whole = engine.only_slopes == 0
    links = engine.link_gradient.shape[0]
    for at in range(engine.friction_schedule[part], engine.friction_schedule[part + 1]):
        i = engine.friction_order[at]
        _slip(engine, i, q, u)
        width = engine.pair_stiction[engine.friction_pair[i]] * h
        per_slip, bend = friction_slope(math.sqrt(u[0] * u[0] + u[1] * u[1]), width)
        s = h * h * engine.friction_force[i]
        w = engine.friction_dual[i]
        turn = bend / per_slip
        a0 = s * (per_slip + turn * w[0] * u[0])
        a1 = s * turn * 0.5 * (w[0] * u[1] + w[1] * u[0])
        a2 = s * (per_slip + turn * w[1] * u[1])
        p = engine.friction_frame[i, 0]
        o = engine.friction_frame[i, 1]
        h00 = a0 * p[0] * p[0] + 2.0 * a1 * p[0] * o[0] + a2 * o[0] * o[0]
        h11 = a0 * p[1] * p[1] + 2.0 * a1 * p[1] * o[1] + a2 * o[1] * o[1]
        h22 = a0 * p[2] * p[2] + 2.0 * a1 * p[2] * o[2] + a2 * o[2] * o[2]
        h01 = a0 * p[0] * p[1] + a1 * (p[0] * o[1] + p[1] * o[0]) + a2 * o[0] * o[1]
        h02 = a0 * p[0] * p[2] + a1 * (p[0] * o[2] + p[2] * o[0]) + a2 * o[0] * o[2]
        h12 = a0 * p[1] * p[2] + a1 * (p[1] * o[2] + p[2] * o[1]) + a2 * o[1] * o[2]
        for side in range(2):
            body = engine.friction_link[i, side]
            if body >= links:
                continue
            y = engine.friction_weight[i, side]
            for j in range(4):
                for k in range(3):
                    engine.link_gradient[body, j, k] += (
                        s * per_slip * y[j] * (u[0] * p[k] + u[1] * o[k])
                    )
            if whole:
                add_outer(engine.link_sums[body], y, y, h00, h01, h02, h11, h12, h22)
        a = engine.friction_link[i, 0]
        b = engine.friction_link[i, 1]
        if whole and a < links and b < links:
            target = engine.slot_sums[engine.block_slot[engine.pair_block[engine.friction_pair[i]]]]
            one = 0 if a < b else 1
            add_outer(
                target,
                engine.friction_weight[i, one],
                engine.friction_weight[i, 1 - one],
                h00,
                h01,
                h02,
                h11,
                h12,
                h22,
            )


FRICTION_KERNELS = (
    count_friction_part,
    collect_friction_part,
    friction_energy_part,
    slip_change_part,
    turn_friction_part,
)
