"""Potentials of scalar constraints (equalities, limits, dry friction, actuators) in ICF form.

With the step size δt and row velocity u = ċ at the end of the step:

equality, limit (CENIC IV-D, near-rigid regularisation of SAP V-B; w estimates J M⁻¹ Jᵀ)
    v̂ = −c_0 / (δt + τ),  τ = β δt_e/π,  R = β² δt_e² w / (4π² δt (δt + τ)),  β = 0.1
    equality ℓ = (u − v̂)²/(2R);  limit ℓ = (v̂ − u)₊²/(2R)
    The paper's equation 18 prints the stiffness with 4π² in the denominator; this is the form whose
    period is β δt, as the text says. A limit that is violated already is restored in no less than
    `LIMIT_RECOVERY`, which replaces δt + τ in v̂. δt_e = max(δt, 10⁻⁴ s) bounds the stiffness of
    tiny steps.
dry friction  ℓ = δt f (√(u² + v_s²) − v_s), the scalar case of the contacts' friction law
actuator (CENIC IV-E, equations 19 and 20, written so that the cost is continuous)
    y(u) = b − c u,  c = δt k_p + k_d,  γ = δt clamp(y; e_l, e_u)
    ℓ = δt F(y)/c,  F' = clamp;   for c = 0  ℓ = −δt clamp(b) u

Per row the kernels keep ``target`` (v̂, v_s² or b), ``gain`` (1/R, δt f or c), ``lower`` and
``upper`` (effort limits [N] times δt).
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import compiled
from asperity.contact.constraint_set import ACTUATOR, CONSTRAINT_SET, EQUALITY, FRICTION, LIMIT
from asperity.convex.problem import PROBLEM

__all__ = ["NEAR_RIGID_PERIOD", "along_rows", "evaluate_rows", "prepare_rows", "row_cost_along"]

NEAR_RIGID_PERIOD = 0.1
"""β: period of a near-rigid constraint in steps (CENIC IV-D)."""

LIMIT_RECOVERY = 0.02
"""Shortest time [s] in which a violated limit is restored.

A limit only pushes: restored within one step, a joint that starts beyond its range would leave at
the speed of that correction. 20 ms is the time constant of MuJoCo's default constraints.
"""

STIFFEST_STEP = 1e-4
"""Step size [s] below which limits and equalities do not get stiffer."""

_problem = PROBLEM.get
_rows = CONSTRAINT_SET.get


@compiled
def prepare_rows(problem, rows, step, nrow, backward):
    """Fill the numbers of every row from ``u``, the row velocities at the rows' own state.

    That state is the beginning of the step, or, with ``backward``, an estimate of its end. Then the
    constraints are stepped back, c_0 = ĉ − δt û, as the contacts' elastic forces are, and servos
    see the position of the trapezoid rule, ĉ + ½ δt (u + u_0) − δt û with ``du`` holding u_0.
    """
    order = _problem(problem, "row")
    kind = _problem(problem, "row_kind")
    u = _problem(problem, "row_u")
    du = _problem(problem, "row_du")
    target = _problem(problem, "row_target")
    gain = _problem(problem, "row_gain")
    lower = _problem(problem, "row_lower")
    upper = _problem(problem, "row_upper")
    row_kind = _rows(rows, "kind")
    position = _rows(rows, "position")
    force = _rows(rows, "force")
    proportional = _rows(rows, "proportional")
    derivative = _rows(rows, "derivative")
    row_lower = _rows(rows, "lower")
    row_upper = _rows(rows, "upper")
    inverse_mass = _rows(rows, "inverse_mass")
    beta = NEAR_RIGID_PERIOD
    stiff_step = max(step, STIFFEST_STEP)
    tau = beta * stiff_step / np.pi
    for i in range(nrow):
        r = order[i]
        what = row_kind[r]
        kind[i] = what
        if what in (EQUALITY, LIMIT):
            start = position[r] - step * u[i] if backward else position[r]
            reach = step + tau
            if what == LIMIT and start < 0.0 and row_lower[r] != 1.0:
                reach = max(reach, LIMIT_RECOVERY)
            target[i] = -start / reach
            compliance = (
                beta
                * beta
                * stiff_step
                * stiff_step
                * inverse_mass[r]
                / (4.0 * np.pi * np.pi * step * (step + tau))
            )
            gain[i] = 1.0 / compliance
        elif what == FRICTION:
            target[i] = row_lower[r] * row_lower[r]
            gain[i] = step * row_upper[r]
        else:
            reach = 0.5 * step if backward else step
            shift = 0.5 * step * du[i] - step * u[i] if backward else 0.0
            slope = reach * proportional[r] + derivative[r]
            gain[i] = max(slope, 0.0)
            target[i] = force[r]
            if slope > 0.0:
                target[i] += derivative[r] * u[i] - proportional[r] * shift
        if what == ACTUATOR:
            gain[i] *= step
            target[i] *= step
            lower[i] = step * row_lower[r]
            upper[i] = step * row_upper[r]


@compiled
def _actuator_cost(y, gain, lower, upper):
    """F(y)/c with F' = clamp."""
    if y > upper:
        return (upper * y - 0.5 * upper * upper) / gain
    if y < lower:
        return (lower * y - 0.5 * lower * lower) / gain
    return 0.5 * y * y / gain


@compiled
def _row(kind, u, target, gain, lower, upper):
    """Cost, impulse and curvature of one row at velocity u."""
    if kind in (EQUALITY, LIMIT):
        gap = target - u
        if kind == LIMIT and gap <= 0.0:
            return 0.0, 0.0, 0.0
        return 0.5 * gain * gap * gap, gain * gap, gain
    if kind == FRICTION:
        norm = np.sqrt(u * u + target)
        return (
            gain * (norm - np.sqrt(target)),
            -gain * u / norm,
            gain * target / (norm * norm * norm),
        )
    y = target - gain * u
    clamped = min(max(y, lower), upper)
    if gain <= 0.0:
        return -clamped * u, clamped, 0.0
    curvature = gain if lower < y < upper else 0.0
    return _actuator_cost(y, gain, lower, upper), clamped, curvature


@compiled
def evaluate_rows(problem, first, last):
    """Fill impulses and curvatures of rows ``first .. last``; return their cost."""
    kind = _problem(problem, "row_kind")
    u = _problem(problem, "row_u")
    impulse = _problem(problem, "row_impulse")
    curvature = _problem(problem, "row_curvature")
    target = _problem(problem, "row_target")
    gain = _problem(problem, "row_gain")
    lower = _problem(problem, "row_lower")
    upper = _problem(problem, "row_upper")
    cost = 0.0
    for i in range(first, last):
        one, impulse[i], curvature[i] = _row(kind[i], u[i], target[i], gain[i], lower[i], upper[i])
        cost += one
    return cost


@compiled
def along_rows(problem, first, last, alpha):
    """First and second derivative of the rows' cost at ``u + α Δu`` along Δu."""
    kind = _problem(problem, "row_kind")
    u = _problem(problem, "row_u")
    du = _problem(problem, "row_du")
    target = _problem(problem, "row_target")
    gain = _problem(problem, "row_gain")
    lower = _problem(problem, "row_lower")
    upper = _problem(problem, "row_upper")
    first_derivative = 0.0
    second_derivative = 0.0
    for i in range(first, last):
        _, impulse, curvature = _row(
            kind[i], u[i] + alpha * du[i], target[i], gain[i], lower[i], upper[i]
        )
        first_derivative -= impulse * du[i]
        second_derivative += curvature * du[i] * du[i]
    return first_derivative, second_derivative


@compiled
def row_cost_along(problem, first, last, alpha):
    """Cost of the rows at ``u + α Δu``."""
    kind = _problem(problem, "row_kind")
    u = _problem(problem, "row_u")
    du = _problem(problem, "row_du")
    target = _problem(problem, "row_target")
    gain = _problem(problem, "row_gain")
    lower = _problem(problem, "row_lower")
    upper = _problem(problem, "row_upper")
    cost = 0.0
    for i in range(first, last):
        one, _, _ = _row(kind[i], u[i] + alpha * du[i], target[i], gain[i], lower[i], upper[i])
        cost += one
    return cost
