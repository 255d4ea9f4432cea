"""Lagged, smoothed friction (IPC, section 5.5).

Normal forces, contact points and tangent planes are those of a given state, so that friction has
the potential Σ μλ f₀(‖u‖) with slips u that are linear in the links' coordinates.
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled, entry_point
from asperity.midas.energy.friction_kinds import SLIPS, add_kinds, fill_kinds, turn_kinds
from asperity.midas.energy.potentials import friction, friction_slope
from asperity.midas.factor.outer_products import add_outer
from asperity.midas.parts import PART, STENCILS, count_parts, do_parts, sum_of_parts
from asperity.midas.soft.calls import TURN, ask_soft

__all__ = [
    "FRICTION_KERNELS",
    "add_friction_terms",
    "fill_slip",
    "friction_energy",
    "friction_scale",
    "friction_stiffness",
    "slip_change",
    "slips",
    "turn_dual",
    "turn_friction",
]


@compiled
def friction_scale(friction: Table) -> float:
    """Sum of the forces that friction can bear [N]."""
    total = 0.0
    for i in range(friction.count):
        total += friction.force[i]
    return total


@compiled
def slips(engine: Table, i: int) -> int:
    """How many components the slip of a friction stencil has."""
    return SLIPS if engine.pairs.every_friction[engine.friction.pair[i]] == 1 else 2


@compiled
def _fill_slide(engine: Table, i: int, q: np.ndarray, u: np.ndarray) -> None:
    """Fill the slip [m] along the tangents."""
    friction = engine.friction
    u[0] = engine.time.step * friction.drift[i, 0]
    u[1] = engine.time.step * friction.drift[i, 1]
    for side in range(2):
        body = friction.link[i, side]
        for j in range(4):
            w = friction.weight[i, side, j]
            for k in range(3):
                move = w * (q[body, j, k] - engine.poses.q_slip[body, j, k])
                u[0] += move * friction.frame[i, 0, k]
                u[1] += move * friction.frame[i, 1, k]


@compiled
def fill_slip(engine: Table, i: int, q: np.ndarray, u: np.ndarray) -> float:
    """Fill the slip [m] of a friction stencil from the start of the step, shape (2,) or (5,).

    Returns its size [m].
    """
    _fill_slide(engine, i, q, u)
    friction = engine.friction
    if slips(engine, i) == SLIPS:
        return fill_kinds(
            engine.poses,
            friction.link[i, 0],
            friction.link[i, 1],
            engine.pairs.slip_scale[friction.pair[i]],
            friction.frame[i],
            friction.arrow[i],
            q,
            u,
        )
    return math.sqrt(u[0] * u[0] + u[1] * u[1])


@compiled
def _end(friction: Table, part: int) -> int:
    return min((part + 1) * STENCILS, friction.count)


@entry_point(PART)
def friction_energy_part(engine: Table, part: int, _member: int, _unused: int) -> int:
    """Sum the energy of some stencils, without its factor h²."""
    q = engine.poses.q_trial if engine.newton.at_trial == 1 else engine.poses.q_now
    u = engine.work.slips[0]
    h = engine.time.step
    total = 0.0
    for i in range(part * STENCILS, _end(engine.friction, part)):
        width = engine.pairs.stiction[engine.friction.pair[i]] * h
        total += engine.friction.force[i] * friction(fill_slip(engine, i, q, u), width)
    engine.parts.value[part] = total
    return 0


@compiled
def friction_energy(engine: Table) -> float:
    """Energy of friction [J s²]."""
    parts = count_parts(engine.friction.count, STENCILS)
    do_parts(engine, engine.entries.friction_energy_part, parts)
    return engine.time.step * engine.time.step * sum_of_parts(engine, parts)


@entry_point(PART)
def slip_change_part(engine: Table, part: int, _member: int, _unused: int) -> int:
    """Find the largest relative change of a slip of some stencils."""
    u = engine.work.slips[0]
    e = engine.work.slips[1]
    largest = 0.0
    for i in range(part * STENCILS, _end(engine.friction, part)):
        fill_slip(engine, i, engine.poses.q_trial, e)
        width = engine.pairs.stiction[engine.friction.pair[i]] * engine.time.step
        size = max(fill_slip(engine, i, engine.poses.q_now, u), width)
        square = (e[0] - u[0]) ** 2 + (e[1] - u[1]) ** 2
        for k in range(2, slips(engine, i)):
            square += (e[k] - u[k]) ** 2
        largest = max(largest, math.sqrt(square) / size)
    engine.parts.value[part] = largest
    return 0


@compiled
def slip_change(engine: Table) -> float:
    """Largest change of a slip from the iterate to the trial state, relative to what it is."""
    parts = count_parts(engine.friction.count, STENCILS)
    do_parts(engine, engine.entries.slip_change_part, parts)
    largest = 0.0
    for part in range(parts):
        largest = max(largest, engine.parts.value[part])
    return largest


@compiled
def turn_dual(
    w: np.ndarray, u0: float, u1: float, d0: float, d1: float, width: float, share: float
) -> None:
    """Move a dual by a share of what a direction gives, along which the slip u changes by d.

    With w for f₁ u/y, the equation w y/f₁ = u has the linear solution
    w + dw = f₁/y (u + du) + (f₁′ y − f₁)/y³ y/f₁ (u · du) w.
    """
    per_slip, bend = friction_slope(math.sqrt(u0 * u0 + u1 * u1), width)
    turn = bend / per_slip * (u0 * d0 + u1 * d1)
    w0 = w[0] + share * (per_slip * (u0 + d0) + (turn - 1.0) * w[0])
    w1 = w[1] + share * (per_slip * (u1 + d1) + (turn - 1.0) * w[1])
    size = max(math.sqrt(w0 * w0 + w1 * w1), 1.0)
    w[0] = w0 / size
    w[1] = w1 / size


@compiled
def friction_stiffness(
    scale: float,
    u0: float,
    u1: float,
    width: float,
    w: np.ndarray,
    frame: np.ndarray,
    h: np.ndarray,
) -> tuple[float, float]:
    """Fill the upper triangle of friction's Hessian; returns the force along its tangents.

    Friction that slides has no curvature along its slip, so that a direction may lead far beyond
    where it would stop. The Hessian has a dual w in place of u/|u|, which goes there as the
    iteration does (Chan, Golub and Mulet 1999).
    """
    per_slip, bend = friction_slope(math.sqrt(u0 * u0 + u1 * u1), width)
    turn = bend / per_slip
    a0 = scale * (per_slip + turn * w[0] * u0)
    a1 = scale * turn * 0.5 * (w[0] * u1 + w[1] * u0)
    a2 = scale * (per_slip + turn * w[1] * u1)
    p = frame[0]
    o = frame[1]
    at = 0
    for i in range(3):
        for j in range(i, 3):
            h[at] = a0 * p[i] * p[j] + a1 * (p[i] * o[j] + p[j] * o[i]) + a2 * o[i] * o[j]
            at += 1
    return scale * per_slip * u0, scale * per_slip * u1


@entry_point(PART)
def turn_friction_part(engine: Table, part: int, _member: int, _unused: int) -> int:
    """Move the duals of some stencils; as `turn_friction`."""
    u = engine.work.slips[0]
    ahead = engine.work.slips[1]
    share = engine.friction.turn_share
    for i in range(part * STENCILS, _end(engine.friction, part)):
        fill_slip(engine, i, engine.poses.q_trial, ahead)
        size = fill_slip(engine, i, engine.poses.q_now, u)
        width = engine.pairs.stiction[engine.friction.pair[i]] * engine.time.step
        if slips(engine, i) == SLIPS:
            turn_kinds(engine.friction.dual[i], u, ahead, size, width, share)
            continue
        d0 = (ahead[0] - u[0]) / share
        d1 = (ahead[1] - u[1]) / share
        turn_dual(engine.friction.dual[i], u[0], u[1], d0, d1, width, share)
    return 0


@compiled
def turn_friction(engine: Table, share: float) -> None:
    """Move the duals by the share of the direction that the trial state is ahead by."""
    engine.friction.turn_share = share
    do_parts(
        engine, engine.entries.turn_friction_part, count_parts(engine.friction.count, STENCILS)
    )
    ask_soft(engine, TURN)


@compiled
def add_friction_terms(engine: Table, part: int, q: np.ndarray) -> None:
    """Add gradients and Hessian blocks of friction, of a part of the schedule."""
    friction = engine.friction
    u = engine.work.slips[0]
    h = engine.work.upper
    step = engine.time.step
    whole = engine.newton.only_slopes == 0
    links = engine.newton.link_gradient.shape[0]
    for at in range(
        engine.schedule.friction_schedule[part], engine.schedule.friction_schedule[part + 1]
    ):
        i = engine.schedule.friction_order[at]
        size = fill_slip(engine, i, q, u)
        frame = friction.frame[i]
        width = engine.pairs.stiction[friction.pair[i]] * step
        if slips(engine, i) == SLIPS:
            add_kinds(engine, i, step * step * friction.force[i], width, size, u)
            continue
        along, across = friction_stiffness(
            step * step * friction.force[i], u[0], u[1], width, friction.dual[i], frame, h
        )
        for side in range(2):
            body = friction.link[i, side]
            if body >= links:
                continue
            y = friction.weight[i, side]
            for j in range(4):
                for k in range(3):
                    engine.newton.link_gradient[body, j, k] += y[j] * (
                        along * frame[0, k] + across * frame[1, k]
                    )
            if whole:
                add_outer(engine.hessian.link_sums[body], y, y, h)
        a = friction.link[i, 0]
        b = friction.link[i, 1]
        if whole and a < links and b < links:
            target = engine.hessian.slot_sums[
                engine.hessian.block_slot[engine.pairs.block[friction.pair[i]]]
            ]
            one = 0 if a < b else 1
            add_outer(target, friction.weight[i, one], friction.weight[i, 1 - one], h)


FRICTION_KERNELS = (friction_energy_part, slip_change_part, turn_friction_part)
