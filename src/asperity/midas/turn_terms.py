"""Springs, dampers and limits of ball and free joints.

The angle α of a link's rotation from where it belongs on its parent, A_parent W, is measured by

    u = ‖A − A_parent W‖²/8 = sin²(α/2)

of rigid links, a convex quadratic function of the links' coordinates. All energies are convex and
increasing functions ψ(u): ½ k α² of a spring, 2 d/h u of a damper, where W is the rotation at the
beginning of the step, and a barrier of a limit. So they are convex functions of the coordinates,
and their Hessians positive as they are. Springs and dampers also hold the origin of a free body.
"""

from __future__ import annotations

import math

from asperity.compiled import compiled
from asperity.midas.contact_terms import add_outer
from asperity.midas.joint_terms import limit_barrier
from asperity.midas.layouts import DAMPER, FREE, LIMIT, MIDAS, SPRING, STEP

__all__ = [
    "add_turn_terms",
    "begin_turns",
    "share_to_turn_limits",
    "turn_columns",
    "turn_energy",
]

_midas = MIDAS.get

# u of a spring beyond which its energy goes on with a constant slope: nearly half a turn, where
# the shortest way back changes its side.
_FARTHEST = 0.9999


@compiled
def _measure(engine, term, q, r):
    """Fill the rows of Aᵀ − Wᵀ A_parentᵀ, shape (3, 3), and return u."""
    link = _midas(engine, "turn_link")[term]
    p = _midas(engine, "link_parent")[link]
    frame = _midas(engine, "turn_frame")[term]
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
def _slopes(engine, term, u):
    """ψ [J], ψ′ and ψ″."""
    kind = _midas(engine, "turn_kind")[term]
    scale = _midas(engine, "turn_scale")[term]
    if kind == DAMPER:
        slope = 2.0 * scale / _midas(engine, "reals")[STEP]
        return slope * u, slope, 0.0
    if kind == LIMIT:
        gap = _midas(engine, "turn_bound")[term] - u
        energy, slope, curvature = limit_barrier(gap, _midas(engine, "turn_width")[term])
        return scale * energy, -scale * slope, scale * curvature
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
def begin_turns(engine):
    """At the beginning of a step, let dampers start from where displacements count."""
    start = _midas(engine, "q_slip")
    parent = _midas(engine, "link_parent")
    kind = _midas(engine, "turn_kind")
    turn_link = _midas(engine, "turn_link")
    frame = _midas(engine, "turn_frame")
    for term in range(kind.size):
        if kind[term] != DAMPER:
            continue
        link = turn_link[term]
        p = parent[link]
        for m in range(3):
            for b in range(3):
                frame[term, m, b] = 0.0
                for k in range(3):
                    frame[term, m, b] += start[p, 1 + m, k] * start[link, 1 + b, k]
    kind = _midas(engine, "hold_kind")
    hold_link = _midas(engine, "hold_link")
    side = _midas(engine, "hold_side")
    target = _midas(engine, "hold_target")
    for term in range(kind.size):
        if kind[term] != DAMPER:
            continue
        for k in range(3):
            target[term, k] = 0.0
            for j in range(4):
                target[term, k] += side[term, j] * start[hold_link[term], j, k]


@compiled
def _hold_stiffness(engine, term):
    scale = _midas(engine, "hold_scale")[term]
    if _midas(engine, "hold_kind")[term] == SPRING:
        return scale
    return scale / _midas(engine, "reals")[STEP]


@compiled
def _hold_gap(engine, term, q, k):
    side = _midas(engine, "hold_side")
    link = _midas(engine, "hold_link")[term]
    gap = -_midas(engine, "hold_target")[term, k]
    for j in range(4):
        gap += side[term, j] * q[link, j, k]
    return gap


@compiled
def turn_energy(engine, q):
    """Energy of all these terms [J s²]; infinite beyond a limit."""
    r = _midas(engine, "turn_rows")
    total = 0.0
    for term in range(_midas(engine, "turn_link").size):
        energy, _, _ = _slopes(engine, term, _measure(engine, term, q, r))
        total += energy
    for term in range(_midas(engine, "hold_link").size):
        for k in range(3):
            gap = _hold_gap(engine, term, q, k)
            total += 0.5 * _hold_stiffness(engine, term) * gap * gap
    h = _midas(engine, "reals")[STEP]
    return h * h * total


@compiled
def add_turn_terms(engine, q):
    """Add gradients, and Hessian blocks without what ψ″ gives, to those of links."""
    turn_link = _midas(engine, "turn_link")
    parent = _midas(engine, "link_parent")
    frame = _midas(engine, "turn_frame")
    block = _midas(engine, "turn_block")
    block_slot = _midas(engine, "block_slot")
    gradient = _midas(engine, "link_gradient")
    sums = _midas(engine, "link_sums")
    slot_sums = _midas(engine, "slot_sums")
    r = _midas(engine, "turn_rows")
    y = _midas(engine, "side_weight")
    h = _midas(engine, "reals")[STEP]
    links = gradient.shape[0]
    for term in range(turn_link.size):
        _, slope, _ = _slopes(engine, term, _measure(engine, term, q, r))
        s = 0.25 * h * h * slope
        if s == 0.0:
            continue
        link = turn_link[term]
        p = parent[link]
        for b in range(3):
            for j in range(4):
                y[0, j] = 1.0 if j == 1 + b else 0.0
                y[1, j] = 0.0 if j == 0 else -frame[term, j - 1, b]
            for side in range(2):
                body = link if side == 0 else p
                if body == links:
                    continue
                for j in range(4):
                    for k in range(3):
                        gradient[body, j, k] += s * y[side, j] * r[b, k]
                add_outer(sums[body], y[side], y[side], s, 0.0, 0.0, s, 0.0, s)
            if block[term] >= 0:
                # Parents come first.
                add_outer(slot_sums[block_slot[block[term]]], y[1], y[0], s, 0.0, 0.0, s, 0.0, s)
    side = _midas(engine, "hold_side")
    hold_link = _midas(engine, "hold_link")
    for term in range(hold_link.size):
        s = h * h * _hold_stiffness(engine, term)
        link = hold_link[term]
        for k in range(3):
            push = s * _hold_gap(engine, term, q, k)
            for j in range(4):
                gradient[link, j, k] += push * side[term, j]
        add_outer(sums[link], side[term], side[term], s, 0.0, 0.0, s, 0.0, s)


@compiled
def turn_columns(engine, term, q, out):
    """Fill ∂u/∂z over the variables that move the term's link; returns h² ψ″."""
    link = _midas(engine, "turn_link")[term]
    p = _midas(engine, "link_parent")[link]
    kind = _midas(engine, "link_kind")
    frame = _midas(engine, "turn_frame")[term]
    chain = _midas(engine, "chain_start")
    jacobian = _midas(engine, "jacobian")
    r = _midas(engine, "turn_rows")
    _, _, curvature = _slopes(engine, term, _measure(engine, term, q, r))
    ancestors = 0
    if p < kind.size:
        ancestors = chain[p + 1] - chain[p]
    for column in range(chain[link + 1] - chain[link]):
        total = 0.0
        for b in range(3):
            for k in range(3):
                if kind[link] == FREE:
                    total += r[b, k] * (1.0 if column == 3 * (1 + b) + k else 0.0)
                    continue
                by_z = jacobian[chain[link] + column, 1 + b, k]
                if column < ancestors:
                    for m in range(3):
                        if kind[p] == FREE:
                            turned = 1.0 if column == 3 * (1 + m) + k else 0.0
                        else:
                            turned = jacobian[chain[p] + column, 1 + m, k]
                        by_z -= frame[m, b] * turned
                total += r[b, k] * by_z
        out[column] = 0.25 * total
    h = _midas(engine, "reals")[STEP]
    return h * h * curvature


@compiled
def share_to_turn_limits(engine, now, trial):
    """Share of the way to a trial state that keeps a tenth of the way to every limit.

    Exact enough because u is convex along it.
    """
    kind = _midas(engine, "turn_kind")
    bound = _midas(engine, "turn_bound")
    r = _midas(engine, "turn_rows")
    time = 1.0
    for term in range(kind.size):
        if kind[term] == LIMIT:
            here = _measure(engine, term, now, r)
            move = _measure(engine, term, trial, r) - here
            room = 0.9 * (bound[term] - here)
            if move > room:
                time = min(time, room / move)
    return time
