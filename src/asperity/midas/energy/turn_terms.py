"""Springs, dampers and limits of ball and free joints.

The angle α of a link's rotation from where it belongs on its parent, A_parent W, is measured by

    u = ‖A − A_parent W‖²/8 = sin²(α/2)

of rigid links, a convex quadratic function of the links' coordinates. All energies are convex and
increasing functions ψ(u): ½ k α² of a spring, 2 d/h u of a damper, where W is the rotation at the
beginning of the step, and a barrier of a limit. So they are convex functions of the coordinates,
and their Hessians positive as they are. Springs and dampers of a free body also hold its origin
(`asperity.midas.energy.equality_terms`).
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled
from asperity.midas.energy.joint_terms import LIMIT_DISSIPATION
from asperity.midas.energy.potentials import barrier, barrier_slopes, dissipation_factor
from asperity.midas.engine_layout import DAMPER, LIMIT

__all__ = [
    "add_turn_blocks",
    "add_turn_gradients",
    "begin_turns",
    "meets_turn_limit",
    "share_to_turn_limits",
    "turn_energy",
]


# u of a spring beyond which its energy goes on with a constant slope: nearly half a turn, where
# the shortest way back changes its side.
_FARTHEST = 0.9999


@compiled
def _measure(links: Table, turns: Table, term: int, q: np.ndarray, r: np.ndarray) -> float:
    """Fill the rows of Aᵀ − Wᵀ A_parentᵀ, shape (3, 3), and return u."""
    link = turns.link[term]
    p = links.parent[link]
    frame = turns.frame[term]
    total = 0.0
    for b in range(3):
        for k in range(3):
            value = q[link, 1 + b, k]
            for m in range(3):
                value -= frame[m, b] * q[p, 1 + m, k]
            r[b, k] = value
            total += value * value
    return 0.125 * total


@compiled
def _slopes(turns: Table, time: Table, term: int, u: float) -> tuple[float, float, float]:
    """ψ [J], ψ′ and ψ″."""
    kind = turns.kind[term]
    scale = turns.scale[term]
    if kind == DAMPER:
        slope = 2.0 * scale / time.step
        return slope * u, slope, 0.0
    if kind == LIMIT:
        gap = turns.bound[term] - u
        if gap <= 0.0:
            return math.inf, 0.0, 0.0
        width = turns.width[term]
        force = turns.factor[term] * scale
        slope, curvature = barrier_slopes(gap * gap, width)
        return force * barrier(gap * gap, width), -force * slope, force * curvature
    x = min(u, _FARTHEST)
    if x < 1e-4:
        # α² = 4 (u + u²/3 + 8u³/45 + ...)
        energy = 2.0 * x * (1.0 + x * (1.0 / 3.0 + 8.0 / 45.0 * x))
        slope = 2.0 * (1.0 + x * (2.0 / 3.0 + 8.0 / 15.0 * x))
        curvature = 2.0 * (2.0 / 3.0 + 16.0 / 15.0 * x)
    else:
        sine = 2.0 * math.sqrt(x * (1.0 - x))
        angle = 2.0 * math.asin(math.sqrt(x))
        energy = 0.5 * angle * angle
        slope = 2.0 * angle / sine
        # dα/du = 2/sin α
        curvature = 4.0 * (sine - angle * (1.0 - 2.0 * x)) / (sine * sine * sine)
    if u > x:
        energy += slope * (u - x)
        curvature = 0.0
    return scale * energy, scale * slope, scale * curvature


@compiled
def _closing_speed(engine: Table, term: int, r: np.ndarray) -> float:
    """Rate of a ball joint's angle at the step's beginning [rad/s], as near its limit."""
    link = engine.turns.link[term]
    p = engine.links.parent[link]
    frame = engine.turns.frame[term]
    _measure(engine.links, engine.turns, term, engine.poses.q, r)
    rate = 0.0
    for b in range(3):
        for k in range(3):
            change = engine.poses.v[link, 1 + b, k]
            for m in range(3):
                change -= frame[m, b] * engine.poses.v[p, 1 + m, k]
            rate += 0.25 * r[b, k] * change
    # dα/du = 2/sin α
    bound = engine.turns.bound[term]
    return rate / math.sqrt(bound * (1.0 - bound))


@compiled
def begin_turns(engine: Table) -> None:
    """At the beginning of a step, let what dissipates start from where displacements count."""
    turns = engine.turns
    kind = turns.kind
    for term in range(kind.size):
        if kind[term] == LIMIT:
            gap = turns.bound[term] - _measure(
                engine.links, turns, term, engine.poses.q, turns.rows
            )
            if gap > turns.width[term]:
                turns.width[term] = min(gap, turns.activation[term])
            before = turns.factor[term] if gap < turns.width[term] else math.inf
            closing = _closing_speed(engine, term, turns.rows)
            turns.factor[term] = dissipation_factor(before, closing, LIMIT_DISSIPATION)
        if kind[term] != DAMPER:
            continue
        link = turns.link[term]
        p = engine.links.parent[link]
        for m in range(3):
            for b in range(3):
                turns.frame[term, m, b] = 0.0
                for k in range(3):
                    turns.frame[term, m, b] += (
                        engine.poses.q_slip[p, 1 + m, k] * engine.poses.q_slip[link, 1 + b, k]
                    )


@compiled
def turn_energy(engine: Table, q: np.ndarray) -> float:
    """Energy of all these terms [J s²]; infinite beyond a limit."""
    total = 0.0
    for term in range(engine.turns.link.size):
        energy, _, _ = _slopes(
            engine.turns,
            engine.time,
            term,
            _measure(engine.links, engine.turns, term, q, engine.turns.rows),
        )
        total += energy
    h = engine.time.step
    return h * h * total


@compiled
def add_turn_gradients(engine: Table, q: np.ndarray) -> None:
    """Add gradients of all these terms to those of links."""
    turns = engine.turns
    gradient = engine.newton.link_gradient
    h = engine.time.step
    for term in range(turns.link.size):
        u = _measure(engine.links, turns, term, q, turns.rows)
        _, slope, _ = _slopes(turns, engine.time, term, u)
        link = turns.link[term]
        p = engine.links.parent[link]
        for b in range(3):
            for k in range(3):
                push = 0.25 * h * h * slope * turns.rows[b, k]
                gradient[link, 1 + b, k] += push
                for m in range(3 if p < gradient.shape[0] else 0):
                    gradient[p, 1 + m, k] -= turns.frame[term, m, b] * push


@compiled
def add_turn_blocks(engine: Table, link: int, q: np.ndarray, cross: np.ndarray) -> None:
    """Add the Hessian of a link's terms to blocks of its and its parent's.

    That between the parent's coordinates, in rows, and the link's is added to ``cross``, shape
    (12, 12).
    """
    turns = engine.turns
    square = engine.time.step * engine.time.step
    own = engine.work.moments_work
    above = engine.work.directions
    p = engine.links.parent[link]
    jointed = p < engine.links.kind.size
    for term in range(turns.first[link], turns.first[link + 1]):
        u = _measure(engine.links, turns, term, q, own)
        _, slope, curvature = _slopes(turns, engine.time, term, u)
        frame = turns.frame[term]
        for i in range(3):
            for k in range(3):
                above[i, k] = 0.0
                for b in range(3):
                    above[i, k] -= frame[i, b] * own[b, k]
        for row in range(9):
            i, k = row // 3, row % 3
            for column in range(9):
                j, m = column // 3, column % 3
                bend = square * curvature / 16.0 * own[j, m]
                hold = 0.25 * square * slope if k == m else 0.0
                engine.hessian.link_block[link, 3 + row, 3 + column] += bend * own[i, k] + (
                    hold if i == j else 0.0
                )
                if not jointed:
                    continue
                cross[3 + row, 3 + column] += bend * above[i, k] - hold * frame[i, j]
                product = 0.0
                for b in range(3):
                    product += frame[i, b] * frame[j, b]
                engine.hessian.link_block[p, 3 + row, 3 + column] += (
                    square * curvature / 16.0 * above[i, k] * above[j, m] + hold * product
                )


@compiled
def meets_turn_limit(engine: Table) -> bool:
    """Whether a step reaches a ball joint's limit, as `meets_limit`."""
    turns = engine.turns
    for term in range(turns.kind.size):
        if turns.kind[term] != LIMIT:
            continue
        now = _measure(engine.links, turns, term, engine.poses.q_now, turns.rows)
        begin = _measure(engine.links, turns, term, engine.poses.q, turns.rows)
        near = turns.bound[term] - max(now, begin) < turns.width[term]
        closing = _closing_speed(engine, term, turns.rows)
        if near and closing * LIMIT_DISSIPATION > 1.0:
            return True
    return False


@compiled
def share_to_turn_limits(links: Table, turns: Table, now: np.ndarray, trial: np.ndarray) -> float:
    """Share of the way to a trial state that keeps a tenth of the way to every limit.

    Exact enough because u is convex along it.
    """
    time = 1.0
    for term in range(turns.kind.size):
        if turns.kind[term] == LIMIT:
            here = _measure(links, turns, term, now, turns.rows)
            move = _measure(links, turns, term, trial, turns.rows) - here
            room = 0.9 * (turns.bound[term] - here)
            if move > room:
                time = min(time, room / move)
    return time
