"""Equality constraints: points held together (*ties*), and couplings of joint coordinates.

A tie holds a point of one link at one of another, φ = y₁Q₁ − y₂Q₂, as `connect` does; a weld is
four ties. A coupling is φ = θ₁ − p(θ₂) with a polynomial p. Both are augmented Lagrangians,

    h² (λ·φ + ½ ρ φ²),    λ ← λ + ρ φ,

(Hestenes 1969, Powell 1969): after every minimization multipliers are raised by what their
penalties held, until no gap is left. Penalties are ten thousand times the inertia that a constraint
feels, so that each of these rounds reduces gaps by that factor, unless something stiffer holds
against it; then penalties grow.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.midas.energy.outer_products import add_outer

__all__ = [
    "add_coupling_slopes",
    "add_tie_terms",
    "begin_equalities",
    "coupling_cross",
    "equality_energy",
    "equality_rounding",
    "keep_multipliers",
    "largest_gap",
    "raise_multipliers",
]


# Penalty in units of inertia/h².
_PENALTY = 1e4
# Share of a gap that a round may leave; else penalties grow by the next number, up to the last.
_PROGRESS = 0.25
_GROWTH = 10.0
_LARGEST_GROWTH = 1e6
# A gap that is no more than round-off needs no time to be closed.
_CLOSED = 1e-9


@compiled
def _tie_gap(ties: Table, tie: int, q: np.ndarray, k: int) -> float:
    """Coordinate k of a tie's gap [m], less what is left for later steps."""
    one = ties.link[tie, 0]
    other = ties.link[tie, 1]
    gap = -ties.rest[tie, k]
    for j in range(4):
        gap += ties.side[tie, 0, j] * q[one, j, k] - ties.side[tie, 1, j] * q[other, j, k]
    return gap


@compiled
def _polynomial(couplings: Table, coupling: int, angle: np.ndarray) -> tuple[float, float, float]:
    """What a coupling makes of its second joint: p, p′ and p″."""
    c = couplings.polynomial[coupling]
    joint = couplings.joint[coupling, 1]
    if joint < 0:
        return c[0], 0.0, 0.0
    x = angle[joint]
    return (
        c[0] + x * (c[1] + x * (c[2] + x * (c[3] + x * c[4]))),
        c[1] + x * (2.0 * c[2] + x * (3.0 * c[3] + x * 4.0 * c[4])),
        2.0 * c[2] + x * (6.0 * c[3] + x * 12.0 * c[4]),
    )


@compiled
def _coupling_gap(couplings: Table, coupling: int, angle: np.ndarray) -> float:
    """A coupling's gap [m or rad], less what is left for later steps."""
    value, _, _ = _polynomial(couplings, coupling, angle)
    own = angle[couplings.joint[coupling, 0]]
    return own - value - couplings.rest[coupling]


@compiled
def _rest(gap: float, recovery: float, h: float) -> float:
    """What of a gap is left at the end of a step of h [s]: it decays with a time constant."""
    if abs(gap) <= _CLOSED:
        return 0.0
    return gap * recovery / (recovery + h)


@compiled
def begin_equalities(engine: Table, h: float) -> None:
    """At the beginning of a step, decide what gaps it leaves, and take up the last multipliers."""
    ties = engine.ties
    couplings = engine.couplings
    step = engine.time.step
    inertia = ties.inertia
    penalty = ties.penalty
    rest = ties.rest
    recovery = ties.recovery
    force = ties.force
    start = ties.force_start
    for tie in range(inertia.size):
        penalty[tie] = _PENALTY * inertia[tie] / (step * step)
        for k in range(3):
            rest[tie, k] = 0.0
            force[tie, k] = start[tie, k]
            rest[tie, k] = _rest(_tie_gap(ties, tie, engine.poses.q, k), recovery[tie], h)
    inertia = couplings.inertia
    penalty = couplings.penalty
    rest = couplings.rest
    recovery = couplings.recovery
    force = couplings.force
    start = couplings.force_start
    for i in range(inertia.size):
        penalty[i] = _PENALTY * inertia[i] / (step * step)
        rest[i] = 0.0
        force[i] = start[i]
        rest[i] = _rest(_coupling_gap(couplings, i, engine.joints.value), recovery[i], h)


@compiled
def largest_gap(ties: Table, couplings: Table, q: np.ndarray, angle: np.ndarray) -> float:
    """Largest gap of all constraints [m or rad]."""
    largest = 0.0
    active = ties.active
    for tie in range(active.size):
        if active[tie]:
            for k in range(3):
                largest = max(largest, abs(_tie_gap(ties, tie, q, k)))
    active = couplings.active
    for i in range(active.size):
        if active[i]:
            largest = max(largest, abs(_coupling_gap(couplings, i, angle)))
    return largest


@compiled
def raise_multipliers(engine: Table, q: np.ndarray, angle: np.ndarray, before: float) -> float:
    """Let multipliers take over what penalties hold; penalties grow if gaps have not shrunk.

    Parameters
    ----------
    engine : int
    q, angle : arrays
        Where the last minimization ended.
    before : float
        Largest gap [m or rad] before it, or infinity.

    Returns
    -------
    float
        Largest gap after it.
    """
    gap = largest_gap(engine.ties, engine.couplings, q, angle)
    growth = _GROWTH if gap > _PROGRESS * before else 1.0
    active = engine.ties.active
    inertia = engine.ties.inertia
    penalty = engine.ties.penalty
    force = engine.ties.force
    step = engine.time.step
    most = _PENALTY * _LARGEST_GROWTH / (step * step)
    for tie in range(active.size):
        if active[tie]:
            for k in range(3):
                force[tie, k] += penalty[tie] * _tie_gap(engine.ties, tie, q, k)
            penalty[tie] = min(growth * penalty[tie], most * inertia[tie])
    active = engine.couplings.active
    inertia = engine.couplings.inertia
    penalty = engine.couplings.penalty
    force = engine.couplings.force
    for i in range(active.size):
        if active[i]:
            force[i] += penalty[i] * _coupling_gap(engine.couplings, i, angle)
            penalty[i] = min(growth * penalty[i], most * inertia[i])
    return gap


@compiled
def keep_multipliers(ties: Table, couplings: Table) -> None:
    """At the end of a step, keep the constraints' forces for the next one."""
    force = ties.force
    start = ties.force_start
    for tie in range(force.shape[0]):
        for k in range(3):
            start[tie, k] = force[tie, k]
    force = couplings.force
    start = couplings.force_start
    for i in range(force.size):
        start[i] = force[i]


@compiled
def equality_energy(engine: Table, q: np.ndarray, angle: np.ndarray) -> float:
    """Energy of all constraints [J s²]."""
    total = 0.0
    active = engine.ties.active
    penalty = engine.ties.penalty
    for tie in range(active.size):
        if active[tie]:
            for k in range(3):
                gap = _tie_gap(engine.ties, tie, q, k)
                total += gap * (engine.ties.force[tie, k] + 0.5 * penalty[tie] * gap)
    active = engine.couplings.active
    penalty = engine.couplings.penalty
    for i in range(active.size):
        if active[i]:
            gap = _coupling_gap(engine.couplings, i, angle)
            total += gap * (engine.couplings.force[i] + 0.5 * penalty[i] * gap)
    h = engine.time.step
    return h * h * total


@compiled
def equality_rounding(engine: Table, q: np.ndarray, angle: np.ndarray) -> float:
    """What round-off of coordinates does to `equality_energy` [J s²], in units of itself."""
    total = 0.0
    active = engine.ties.active
    penalty = engine.ties.penalty
    for tie in range(active.size):
        if active[tie]:
            for k in range(3):
                size = 1e-3 + abs(q[engine.ties.link[tie, 0], 0, k])
                gap = _tie_gap(engine.ties, tie, q, k)
                total += size * abs(engine.ties.force[tie, k] + penalty[tie] * gap)
    active = engine.couplings.active
    penalty = engine.couplings.penalty
    for i in range(active.size):
        if active[i]:
            gap = _coupling_gap(engine.couplings, i, angle)
            total += (1e-3 + abs(angle[engine.couplings.joint[i, 0]])) * abs(
                engine.couplings.force[i] + penalty[i] * gap
            )
    h = engine.time.step
    return h * h * total


@compiled
def add_tie_terms(engine: Table, q: np.ndarray) -> None:
    """Add gradients and Hessian blocks of ties to those of links."""
    ties = engine.ties
    h = engine.time.step
    links = engine.newton.link_gradient.shape[0]
    for tie in range(ties.active.size):
        if not ties.active[tie]:
            continue
        stiffness = h * h * ties.penalty[tie]
        for number in range(2):
            body = ties.link[tie, number]
            if body >= links:
                continue
            y = ties.side[tie, number]
            sign = 1.0 - 2.0 * number
            for k in range(3):
                gap = _tie_gap(ties, tie, q, k)
                push = sign * (h * h * ties.force[tie, k] + stiffness * gap)
                for j in range(4):
                    engine.newton.link_gradient[body, j, k] += push * y[j]
            add_outer(
                engine.hessian.link_sums[body], y, y, stiffness, 0.0, 0.0, stiffness, 0.0, stiffness
            )
        if ties.block[tie] >= 0:
            one = 0 if ties.link[tie, 0] < ties.link[tie, 1] else 1
            add_outer(
                engine.hessian.slot_sums[engine.hessian.block_slot[ties.block[tie]]],
                ties.side[tie, one],
                ties.side[tie, 1 - one],
                -stiffness,
                0.0,
                0.0,
                -stiffness,
                0.0,
                -stiffness,
            )


@compiled
def add_coupling_slopes(
    couplings: Table,
    time: Table,
    angle: np.ndarray,
    slopes: np.ndarray,
    curvatures: np.ndarray,
    curved: int,
) -> None:
    """Add what couplings add to ψ′ and ψ″ of their joints."""
    h = time.step
    for i in range(couplings.active.size):
        if not couplings.active[i]:
            continue
        stiffness = h * h * couplings.penalty[i]
        push = h * h * couplings.force[i] + stiffness * _coupling_gap(couplings, i, angle)
        slopes[couplings.joint[i, 0]] += push
        curvatures[couplings.joint[i, 0]] += stiffness
        other = couplings.joint[i, 1]
        if other >= 0:
            _, first, second = _polynomial(couplings, i, angle)
            slopes[other] -= push * first
            curvatures[other] += stiffness * first * first
            # Without second derivatives the Hessian must be positive.
            bend = -push * second
            curvatures[other] += bend if curved == 1 else max(bend, 0.0)


@compiled
def coupling_cross(couplings: Table, time: Table, coupling: int, angle: np.ndarray) -> float:
    """∂²/∂θ₁∂θ₂ of a coupling's energy."""
    h = time.step
    _, first, _ = _polynomial(couplings, coupling, angle)
    return -h * h * couplings.penalty[coupling] * first
