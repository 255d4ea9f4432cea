"""Potentials of scalar constraints (equalities, limits, dry friction, actuators) in ICF form.

With the step size δt and row velocity u = ċ at the end of the step:

equality, limit (CENIC IV-D, near-rigid regularisation of SAP V-B; w estimates J M⁻¹ Jᵀ)
    τ = β δt_e/π,  R = β² δt_e² w / (4π² δt (δt + τ)),  β = 0.1
    v̂ = −c_0/(δt + τ)
    equality ℓ = (u − v̂)²/(2R)
    limits   ℓ = ((v̂_l − u − R p)₊² + (u − v̂_u + R p)₊²)/(2R) − p u,  p = 0 within the limits
    The paper's equation 18 prints the stiffness with 4π² in the denominator; this is the form whose
    period is β δt, as the text says. δt_e = max(δt, 10⁻⁴ s) bounds the stiffness of tiny steps.
    An edge of a rope that turns within the step becomes longer: v̂ is less by its `turning_speed`.
    Violations beyond what a step leaves behind are restored more slowly than within a step:
    equality |v̂| = min(|c_0|/(δt + τ), max(|c_0|/T_e, v_d)), with T_e = `EQUALITY_RECOVERY` and
        v_d = `DRIFT_SPEED`: drift is taken back at once, a body that was put elsewhere is pulled
        home exponentially.
    lower limit with c_0 < c_g: v̂_l = −c_0/T, T = max(2(δt + τ), `LIMIT_RECOVERY`), exponential too,
        and the upper limit likewise. A limit that can only push would let the joint leave with the
        speed of the first push, for a robot that starts far beyond a limit an explosion. So where
        u > v̂_l the row pulls with the impulse p = −4 δt |c_0|/(T² w), or less if that stops the
        joint at v̂_l: four times what braking along the exponential needs, because steps grow on
        the way and T with them. That is a spring of 400/w N/m at the most: a joint that rests on a
        limit, some 10⁻⁶ rad beyond it, leaves it freely. c_g, the problem's ``limit_gap``, is a
        part of the accuracy under error control, and 0 in fixed steps.
    limit of velocity v:  both v̂ are within ±v.
dry friction  ℓ = δt f (√(u² + v_s²) − v_s), the scalar case of the contacts' friction law
actuator (CENIC IV-E, equations 19 and 20, written so that the cost is continuous)
    y(u) = b − c u,  c = δt k_p + k_d,  γ = δt clamp(y; e_l, e_u)
    ℓ = δt F(y)/c,  F' = clamp;   for c = 0  ℓ = −δt clamp(b) u

Per row the kernels keep ``target`` (v̂, v_s² or b), ``gain`` (1/R, δt f or c), ``lower`` and
``upper`` (effort limits [N] times δt). Limits keep v̂_l in ``target``, v̂_u in ``upper`` and p in
``lower``, dry friction v_s in ``lower``.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled, inlined
from asperity.contact.constraint_laws import (
    EQUALITY_RECOVERY,
    LIMIT_RECOVERY,
    NEAR_RIGID_PERIOD,
    STIFFEST_STEP,
    restoring_speed,
)
from asperity.contact.constraint_set import ACTUATOR, EQUALITY, FRICTION, LIMIT, PASSIVE
from asperity.soft.strands import turning_speed

__all__ = [
    "along_rows",
    "evaluate_rows",
    "prepare_rows",
    "row_cost_along",
    "row_is_linear",
]

# By which impulses may differ from those that curvatures foretell, relative to their sizes.
_ROUND_OFF = 1e-12
# (ω δt)² up to which passive springs are explicit, and from which they are implicit. Explicit ones
# are stable up to 4, and several may pull together.
_RESOLVED, _FAST = 0.25, 1.0


@compiled
def _implicit_share(step: float, stiffness: float, inverse_mass: float) -> float:
    """Share of a spring that is implicit: none that a step resolves, all of a fast one."""
    fastness = step * step * stiffness * inverse_mass
    between = min(max((fastness - _RESOLVED) / (_FAST - _RESOLVED), 0.0), 1.0)
    return between * between * (3.0 - 2.0 * between)


@compiled
def prepare_rows(
    problem: Table,
    rows: Table,
    step: float,
    limit_step: float,
    equality_step: float,
    drift_speed: float,
    nrow: int,
    backward: bool,
) -> None:
    """Fill the numbers of every row from ``u``, the row velocities at the rows' own state.

    ``limit_step`` and ``equality_step`` are those whose part β limits and equalities have as their
    period. Equalities are restored in ``step`` up to ``drift_speed`` [m/s or rad/s], and give way
    to a force by as much as in steps of ``equality_step``.

    That state is the beginning of the step, or, with ``backward``, an estimate of its end. Then the
    constraints are stepped back, c_0 = ĉ − δt û, as the contacts' elastic forces are, and servos
    see the position of the trapezoid rule, ĉ + ½ δt (u + u_0) − δt û with ``du`` holding u_0.
    """
    iterate, law = problem.iterate, problem.law
    target = law.row_target
    gain = law.row_gain
    beta = NEAR_RIGID_PERIOD
    for i in range(nrow):
        r = problem.graph.row[i]
        what = rows.kind[r]
        law.row_kind[i] = what
        if what in (EQUALITY, LIMIT):
            stiff_step = max(limit_step if what == LIMIT else equality_step, STIFFEST_STEP)
            tau = beta * stiff_step / np.pi
            moved = step * iterate.row_u[i] if backward else 0.0
            start = rows.position[r] - moved
            reach = step + tau
            if what == EQUALITY:
                target[i] = restoring_speed(start, reach, drift_speed)
                target[i] -= turning_speed(rows.turning[r, 0], rows.turning[r, 1], step)
            else:
                remaining = rows.upper[r] + moved
                recovery = max(2.0 * reach, LIMIT_RECOVERY)
                pull = 4.0 * step / (recovery * recovery * rows.inverse_mass[r])
                gap = problem.options.limit_gap
                fastest = rows.lower[r]
                low = -start / (recovery if start < gap else reach)
                high = remaining / (recovery if remaining < gap else reach)
                target[i] = min(max(low, -fastest), fastest)
                law.row_upper[i] = min(max(high, -fastest), fastest)
                law.row_lower[i] = pull * (min(start, 0.0) - min(remaining, 0.0))
            compliance = (
                beta
                * beta
                * stiff_step
                * stiff_step
                * rows.inverse_mass[r]
                / (4.0 * np.pi * np.pi * step * (step + tau))
            )
            if what == EQUALITY and equality_step != step:
                own = equality_step + tau
                compliance *= reach * max(own, EQUALITY_RECOVERY)
                compliance /= own * max(reach, EQUALITY_RECOVERY)
            gain[i] = 1.0 / compliance
        elif what == FRICTION:
            target[i] = rows.lower[r] * rows.lower[r]
            law.row_lower[i] = rows.lower[r]
            gain[i] = step * rows.upper[r]
        else:
            reach = 0.5 * step if backward else step
            shift = 0.5 * step * iterate.row_du[i] - step * iterate.row_u[i] if backward else 0.0
            stiffness = rows.proportional[r]
            share = 1.0
            # Error control sees what a step runs into only if the step feels all of it.
            runs = rows.force[r] != 0.0 and problem.options.limit_gap > 0.0
            if what == PASSIVE and not runs:
                share = _implicit_share(limit_step, stiffness, rows.inverse_mass[r])
            stiffness *= share
            slope = reach * stiffness + rows.derivative[r]
            gain[i] = max(slope, 0.0)
            target[i] = share * rows.force[r]
            if slope > 0.0:
                target[i] += rows.derivative[r] * iterate.row_u[i] - stiffness * shift
        if what in (ACTUATOR, PASSIVE):
            gain[i] *= step
            target[i] *= step
            law.row_lower[i] = step * rows.lower[r]
            law.row_upper[i] = step * rows.upper[r]


@compiled
def _actuator_cost(y: float, gain: float, lower: float, upper: float) -> float:
    """F(y)/c with F' = clamp."""
    if y > upper:
        return (upper * y - 0.5 * upper * upper) / gain
    if y < lower:
        return (lower * y - 0.5 * lower * lower) / gain
    return 0.5 * y * y / gain


@inlined
def _row(law: Table, i: int, u: float) -> tuple[float, float, float]:
    """Cost, impulse and curvature of row i at velocity u."""
    kind = law.row_kind[i]
    target = law.row_target[i]
    gain = law.row_gain[i]
    lower = law.row_lower[i]
    upper = law.row_upper[i]
    if kind == EQUALITY:
        gap = target - u
        return 0.5 * gain * gap * gap, gain * gap, gain
    if kind == LIMIT:
        # ``lower`` is the impulse p between the velocities ``target`` and ``upper``.
        below = max(gain * (target - u) - lower, 0.0)
        above = max(gain * (u - upper) + lower, 0.0)
        curvature = (gain if below > 0.0 else 0.0) + (gain if above > 0.0 else 0.0)
        cost = 0.5 * (below * below + above * above) / gain - lower * u
        return cost, lower + below - above, curvature
    if kind == FRICTION:
        # ``lower`` is the root of ``target``.
        square = u * u + target
        inverse = 1.0 / np.sqrt(square)
        force = gain * inverse
        return gain * (square * inverse - lower), -force * u, force * target * inverse * inverse
    y = target - gain * u
    clamped = min(max(y, lower), upper)
    if gain <= 0.0:
        return -clamped * u, clamped, 0.0
    curvature = gain if lower < y < upper else 0.0
    return _actuator_cost(y, gain, lower, upper), clamped, curvature


@compiled
def evaluate_rows(law: Table, iterate: Table, first: int, last: int) -> float:
    """Fill impulses and curvatures of rows ``first .. last``; return their cost."""
    cost = 0.0
    for i in range(first, last):
        one, iterate.row_impulse[i], iterate.row_curvature[i] = _row(law, i, iterate.row_u[i])
        cost += one
    return cost


@compiled
def along_rows(
    law: Table, iterate: Table, first: int, last: int, alpha: float
) -> tuple[float, float]:
    """First and second derivative of the rows' cost at ``u + α Δu`` along Δu."""
    du = iterate.row_du
    first_derivative = 0.0
    second_derivative = 0.0
    for i in range(first, last):
        _, impulse, curvature = _row(law, i, iterate.row_u[i] + alpha * du[i])
        first_derivative -= impulse * du[i]
        second_derivative += curvature * du[i] * du[i]
    return first_derivative, second_derivative


@compiled
def row_cost_along(law: Table, iterate: Table, first: int, last: int, alpha: float) -> float:
    """Cost of the rows at ``u + α Δu``."""
    cost = 0.0
    for i in range(first, last):
        one, _, _ = _row(law, i, iterate.row_u[i] + alpha * iterate.row_du[i])
        cost += one
    return cost


@compiled
def row_is_linear(law: Table, iterate: Table, i: int) -> bool:
    """Whether the impulse at ``u + Δu`` is that at ``u`` without the curvature's share, κ Δu."""
    du = iterate.row_du[i]
    _, impulse, curvature = _row(law, i, iterate.row_u[i] + du)
    share = iterate.row_curvature[i] * du
    difference = impulse - iterate.row_impulse[i] + share
    scale = abs(impulse) + abs(iterate.row_impulse[i]) + abs(share)
    return curvature == iterate.row_curvature[i] and abs(difference) <= _ROUND_OFF * scale
