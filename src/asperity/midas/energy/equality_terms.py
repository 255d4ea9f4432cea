"""Equality constraints: points held together (*ties*), and couplings of joint coordinates.

A tie holds a point of one link at one of another, φ = y₁Q₁ − y₂Q₂, as `connect` does; a weld is
four ties. A coupling is φ = θ₁ − p(θ₂) with a polynomial p. Ties have three scalar gaps, couplings
one. All are augmented Lagrangians,

    h² (λ·φ + ½ ρ φ²),    λ ← λ + ρ φ,

(Hestenes 1969, Powell 1969): after every minimization multipliers are raised by what their
penalties held, until no gap is left. Penalties are ten thousand times the inertia that a constraint
feels, so that each of these rounds reduces gaps by that factor, unless something stiffer holds
against it; then penalties grow.

Gaps close with a time constant. The part of a tie's gap that a step leaves is added to the second
point, in the coordinates of its link. A gap that is fixed in the world would hold both links
against turning, because forces on points that are apart exert a torque.

What holds against it may never give way, as a floor that a welded body is pulled through. Such
constraints *yield*: their multipliers are bounded, |λ + ρ φ| ≤ F, beyond which the energy is linear
in |φ|, and what of a gap is left at the bound is left for later steps. F is four times what gives
links the acceleration φ/τ², with the time constant τ that gaps close with, or the force of the last
step if that is more, which decays with τ while it is at its bound.

Springs and dampers that act on the origin of a free body are ties
to the world, too, with a penalty that is theirs and no multipliers.
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled
from asperity.midas.factor.outer_products import add_isotropic, add_outer, fill_square
from asperity.midas.time.sleep import gap_sleeps

__all__ = [
    "add_coupling_slopes",
    "add_tie_terms",
    "begin_equalities",
    "coupling_cross",
    "equality_energy",
    "equality_rounding",
    "keep_multipliers",
    "raise_multipliers",
    "reach_bound",
]


# Penalty in units of inertia/h².
_PENALTY = 1e4
# Share of a gap that a round may leave; else penalties grow by the next number, up to the last.
_PROGRESS = 0.25
_GROWTH = 10.0
_LARGEST_GROWTH = 1e6
# A gap that is no more than round-off needs no time to be closed.
_CLOSED = 1e-9
# Of a constraint that yields, the acceleration that it may give its links, in gaps over their
# squared time constant, and the least of it [m/s² or rad/s²].
_STRENGTH = 4.0
# Relative, of a force that is at its bound.
_ROUNDING = 1e-9
_LEAST = 100.0


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
def _gap(engine: Table, i: int, q: np.ndarray, angle: np.ndarray) -> float:
    """A gap [m or rad], less what is left for later steps."""
    tie = i // 3
    k = i % 3
    if tie < engine.ties.block.size:
        gap = 0.0
        one = engine.ties.link[tie, 0]
        other = engine.ties.link[tie, 1]
        side = engine.ties.side[tie]
        for j in range(4):
            gap += side[0, j] * q[one, j, k] - side[1, j] * q[other, j, k]
        return gap
    coupling = i - 3 * engine.ties.block.size
    value, _, _ = _polynomial(engine.couplings, coupling, angle)
    return angle[engine.couplings.joint[coupling, 0]] - value - engine.gaps.rest[i]


@compiled
def _first(engine: Table, i: int) -> int:
    """The first gap of the constraint that a gap belongs to."""
    return i - i % 3 if i < 3 * engine.ties.block.size else i


@compiled
def _last(engine: Table, first: int) -> int:
    """One beyond the last gap of a constraint."""
    return first + 3 if first < 3 * engine.ties.block.size else first + 1


@compiled
def _share(engine: Table, first: int, q: np.ndarray, angle: np.ndarray) -> float:
    """Share of λ + ρ φ that a constraint's bound allows."""
    gaps = engine.gaps
    if gaps.bound[first] == math.inf:
        return 1.0
    square = 0.0
    for i in range(first, _last(engine, first)):
        pull = gaps.force[i] + gaps.penalty[i] * _gap(engine, i, q, angle)
        square += pull * pull
    return min(1.0, gaps.bound[first] / max(math.sqrt(square), 1e-300))


@compiled
def _bound(engine: Table, first: int, h: float) -> float:
    """Largest force of a constraint in a step of h [s] [N or N m], of that in the step before."""
    gaps = engine.gaps
    # What is told where to be at the end of the step, as mocap bodies are, yields to nothing.
    if gaps.yields == 0 or not _is_closed(gaps, first) or gaps.recovery[first] == 0.0:
        return math.inf
    gap = 0.0
    force = 0.0
    for i in range(first, _last(engine, first)):
        one = _gap(engine, i, engine.poses.q, engine.joints.value) + gaps.rest[i]
        gap += one * one
        force += gaps.force_start[i] * gaps.force_start[i]
    force = math.sqrt(force)
    if force >= (1.0 - _ROUNDING) * gaps.bound[first]:
        force *= gaps.recovery[first] / (gaps.recovery[first] + h)
    rate = _LEAST + _STRENGTH * math.sqrt(gap) / gaps.recovery[first] ** 2
    return max(force, rate * gaps.inertia[first])


@compiled
def _rest(gap: float, recovery: float, h: float) -> float:
    """What of a gap is left at the end of a step of h [s]: it decays with a time constant."""
    return 0.0 if abs(gap) <= _CLOSED else gap * recovery / (recovery + h)


@compiled
def _follow(engine: Table, i: int) -> None:
    """Let what resists motion hold its point from where displacements count."""
    tie = i // 3
    k = i % 3
    side = engine.ties.side[tie]
    side[1, 1 + k] = 0.0
    for j in range(4):
        side[1, 1 + k] += side[0, j] * engine.poses.q_slip[engine.ties.link[tie, 0], j, k]


@compiled
def begin_equalities(engine: Table, h: float) -> None:
    """At the beginning of a step, decide what gaps it leaves, and take up the last multipliers."""
    gaps = engine.gaps
    ties = engine.ties
    q = engine.poses.q
    step = engine.time.step
    ties.side[:] = ties.given
    for i in range(gaps.active.size):
        gaps.penalty[i] = (
            _PENALTY * gaps.inertia[i] / (step * step) + gaps.stiffness[i] + gaps.damping[i] / step
        )
        gaps.rest[i] = 0.0
        gaps.force[i] = gaps.force_start[i]
        if gaps.damping[i] > 0.0:
            _follow(engine, i)
        gap = _gap(engine, i, q, engine.joints.value)
        gaps.rest[i] = gap if gap_sleeps(engine, i) else _rest(gap, gaps.recovery[i], h)
    for tie in range(ties.block.size):
        other = ties.link[tie, 1]
        for j in range(1, 4):
            for k in range(3):
                ties.side[tie, 1, j] += gaps.rest[3 * tie + k] * q[other, j, k]
    for i in range(gaps.active.size):
        if _first(engine, i) == i:
            gaps.bound[i] = _bound(engine, i, h)


@compiled
def _is_closed(gaps: Table, i: int) -> bool:
    """Whether a gap is that of a constraint, which is on, and not of a spring or damper."""
    return bool(gaps.active[i]) and gaps.inertia[i] > 0.0


@compiled
def _largest_gap(engine: Table, q: np.ndarray, angle: np.ndarray) -> float:
    """Largest gap that is to be closed, of all constraints [m or rad].

    Of one at its bound it is what multipliers lack over the penalty.
    """
    gaps = engine.gaps
    largest = 0.0
    for i in range(gaps.active.size):
        if not _is_closed(gaps, i):
            continue
        gap = _gap(engine, i, q, angle)
        share = _share(engine, _first(engine, i), q, angle)
        if share < 1.0:
            pull = gaps.force[i] + gaps.penalty[i] * gap
            gap = (share * pull - gaps.force[i]) / gaps.penalty[i]
        largest = max(largest, abs(gap))
    return largest


@compiled
def reach_bound(engine: Table) -> int:
    """Mark, and count, constraints whose force is as large as it may be where the iterate is."""
    count = 0
    for i in range(engine.gaps.active.size):
        if _first(engine, i) != i or not _is_closed(engine.gaps, i):
            continue
        if _share(engine, i, engine.poses.q_now, engine.joints.now) < 1.0:
            engine.gaps.yielded[i] = 1
            count += 1
    return count


@compiled
def raise_multipliers(engine: Table, q: np.ndarray, angle: np.ndarray, before: float) -> float:
    """Let multipliers take over what penalties hold; penalties grow if gaps have not shrunk.

    Parameters
    ----------
    engine : Table
    q, angle : arrays
        Where the last minimization ended.
    before : float
        Largest gap [m or rad] before it, or infinity.

    Returns
    -------
    float
        Largest gap after it.
    """
    gaps = engine.gaps
    largest = _largest_gap(engine, q, angle)
    growth = _GROWTH if largest > _PROGRESS * before else 1.0
    most = _PENALTY * _LARGEST_GROWTH / (engine.time.step * engine.time.step)
    share = 1.0
    for i in range(gaps.active.size):
        if _first(engine, i) == i:
            share = _share(engine, i, q, angle)
        if _is_closed(gaps, i):
            gaps.force[i] += gaps.penalty[i] * _gap(engine, i, q, angle)
            if share < 1.0:
                gaps.force[i] *= share
    for i in range(gaps.active.size):
        if _is_closed(gaps, i):
            gaps.penalty[i] = min(growth * gaps.penalty[i], most * gaps.inertia[i])
    return largest


@compiled
def keep_multipliers(gaps: Table) -> None:
    """At the end of a step, keep the constraints' forces for the next one."""
    for i in range(gaps.force.size):
        gaps.force_start[i] = gaps.force[i]


@compiled
def _energy_beyond(engine: Table, first: int, q: np.ndarray, angle: np.ndarray) -> float:
    """Energy of a constraint whose force is at its bound, (F |λ + ρ φ| − ½ F² − ½ λ²)/ρ."""
    gaps = engine.gaps
    bound = gaps.bound[first]
    square = 0.0
    force = 0.0
    for i in range(first, _last(engine, first)):
        pull = gaps.force[i] + gaps.penalty[i] * _gap(engine, i, q, angle)
        square += pull * pull
        force += gaps.force[i] * gaps.force[i]
    return (bound * (math.sqrt(square) - 0.5 * bound) - 0.5 * force) / gaps.penalty[first]


@compiled
def equality_energy(engine: Table, q: np.ndarray, angle: np.ndarray) -> float:
    """Energy of all gaps [J s²]."""
    gaps = engine.gaps
    total = 0.0
    share = 1.0
    for i in range(gaps.active.size):
        if _first(engine, i) == i:
            share = _share(engine, i, q, angle)
            if share < 1.0 and gaps.active[i]:
                total += _energy_beyond(engine, i, q, angle)
        if gaps.active[i] and share == 1.0:
            gap = _gap(engine, i, q, angle)
            total += gap * (gaps.force[i] + 0.5 * gaps.penalty[i] * gap)
    return engine.time.step * engine.time.step * total


@compiled
def equality_rounding(engine: Table, q: np.ndarray, angle: np.ndarray) -> float:
    """What round-off of coordinates does to `equality_energy` [J s²], in units of itself."""
    gaps = engine.gaps
    ties = engine.ties.block.size
    total = 0.0
    for i in range(gaps.active.size):
        if not gaps.active[i]:
            continue
        if i < 3 * ties:
            size = abs(q[engine.ties.link[i // 3, 0], 0, i % 3])
        else:
            size = abs(angle[engine.couplings.joint[i - 3 * ties, 0]])
        pull = gaps.force[i] + gaps.penalty[i] * _gap(engine, i, q, angle)
        pull *= _share(engine, _first(engine, i), q, angle)
        total += (1e-3 + size) * abs(pull)
    return engine.time.step * engine.time.step * total


@compiled
def _fill_transverse(engine: Table, tie: int, q: np.ndarray, stiffness: float) -> None:
    """Fill the Hessian of a tie at its bound, which has none along its force."""
    h = engine.work.upper
    pull = engine.work.normal
    square = 0.0
    for k in range(3):
        i = 3 * tie + k
        pull[k] = engine.gaps.force[i] + engine.gaps.penalty[i] * _gap(
            engine, i, q, engine.joints.now
        )
        square += pull[k] * pull[k]
    fill_square(-stiffness / square, pull, h)
    for row in (0, 3, 5):
        h[row] += stiffness


@compiled
def _add_curvature(
    engine: Table, sums: np.ndarray, ya: np.ndarray, yb: np.ndarray, stiffness: float, share: float
) -> None:
    """Add a tie's Hessian of two points of a link, or less that of points of two of them."""
    if share == 1.0:
        add_isotropic(sums, ya, yb, stiffness)
    else:
        add_outer(sums, ya, yb, engine.work.upper)


@compiled
def add_tie_terms(engine: Table, q: np.ndarray) -> None:
    """Add gradients and Hessian blocks of ties to those of links."""
    ties = engine.ties
    gaps = engine.gaps
    h = engine.time.step
    links = engine.newton.link_gradient.shape[0]
    for tie in range(ties.block.size):
        first = 3 * tie
        if not gaps.active[first]:
            continue
        share = _share(engine, first, q, engine.joints.now)
        stiffness = h * h * gaps.penalty[first]
        if share < 1.0:
            _fill_transverse(engine, tie, q, share * stiffness)
        for number in range(2):
            body = ties.link[tie, number]
            if body >= links:
                continue
            y = ties.side[tie, number]
            sign = 1.0 - 2.0 * number
            for k in range(3):
                gap = _gap(engine, first + k, q, engine.joints.now)
                push = sign * (h * h * gaps.force[first + k] + stiffness * gap)
                if share < 1.0:
                    push *= share
                for j in range(4):
                    engine.newton.link_gradient[body, j, k] += push * y[j]
            _add_curvature(engine, engine.hessian.link_sums[body], y, y, stiffness, share)
        if ties.block[tie] >= 0:
            if share < 1.0:
                _fill_transverse(engine, tie, q, -share * stiffness)
            _add_curvature(
                engine,
                engine.hessian.slot_sums[engine.hessian.block_slot[ties.block[tie]]],
                ties.side[tie, 0 if ties.link[tie, 0] < ties.link[tie, 1] else 1],
                ties.side[tie, 1 if ties.link[tie, 0] < ties.link[tie, 1] else 0],
                -stiffness,
                share,
            )


@compiled
def add_coupling_slopes(
    engine: Table, angle: np.ndarray, slopes: np.ndarray, curvatures: np.ndarray
) -> None:
    """Add what couplings add to ψ′ and ψ″ of their joints."""
    couplings = engine.couplings
    gaps = engine.gaps
    h = engine.time.step
    ties = engine.ties.block.size
    for coupling in range(couplings.joint.shape[0]):
        i = 3 * ties + coupling
        if not gaps.active[i]:
            continue
        stiffness = h * h * gaps.penalty[i]
        push = h * h * gaps.force[i] + stiffness * _gap(engine, i, engine.poses.q_now, angle)
        share = _share(engine, i, engine.poses.q_now, angle)
        if share < 1.0:
            push *= share
            stiffness = 0.0
        slopes[couplings.joint[coupling, 0]] += push
        curvatures[couplings.joint[coupling, 0]] += stiffness
        other = couplings.joint[coupling, 1]
        if other >= 0:
            _, first, second = _polynomial(couplings, coupling, angle)
            slopes[other] -= push * first
            curvatures[other] += stiffness * first * first
            # Without second derivatives the Hessian must be positive.
            bend = -push * second
            curvatures[other] += bend if engine.newton.curved == 1 else max(bend, 0.0)


@compiled
def coupling_cross(engine: Table, coupling: int, angle: np.ndarray) -> float:
    """∂²/∂θ₁∂θ₂ of a coupling's energy; 0 of one that is off."""
    i = 3 * engine.ties.block.size + coupling
    h = engine.time.step
    _, first, _ = _polynomial(engine.couplings, coupling, angle)
    if not engine.gaps.active[i] or _share(engine, i, engine.poses.q_now, angle) < 1.0:
        return 0.0
    return -h * h * engine.gaps.penalty[i] * first
