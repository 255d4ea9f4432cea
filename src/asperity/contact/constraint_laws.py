"""Forces of scalar constraints as functions of the state.

They are the limits of the potentials in `asperity.convex.potentials.rows` as the step shrinks while
the constraints stay as stiff as in steps of δt_e, which the potentials themselves do not exceed
below `STIFFEST_STEP`. With the row's violation or distance c, its velocity u, w ≈ J M⁻¹ Jᵀ and
β = `NEAR_RIGID_PERIOD` (CENIC IV-D):

    τ = β δt_e/π,   D = 4π² τ/(β² δt_e² w),  the damping of a spring D/τ with the period β δt_e
    equality       f = D (v̂ − u),   |v̂| = min(|c|/τ, max(|c|/T_e, v_d)), against c
    limits         f = (D (v̂_l − u) − p)₊ − (D (u − v̂_u) + p)₊ + p,     p = 0 within the limits
    dry friction   f = −f_max u/√(u² + v_s²)
    actuator       f = clamp(f_servo)

where v̂_l = −c/τ, so that the spring acts that shall stop the joint, or −c/T once the joint is
beyond its limit, with the pull p = −4 |c|/(T² w) that lets it come back without energy. Neither v̂
is larger than a joint's limit of velocity.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import compiled
from asperity.contact.constraint_set import EQUALITY, FRICTION, LIMIT

__all__ = [
    "DRIFT_SPEED",
    "EQUALITY_RECOVERY",
    "LIMIT_RECOVERY",
    "NEAR_RIGID_PERIOD",
    "STIFFEST_STEP",
    "limit_forces",
    "restoring_speed",
    "row_force",
]

NEAR_RIGID_PERIOD = 0.1
"""β: period of a near-rigid constraint in steps (CENIC IV-D)."""

EQUALITY_RECOVERY = 0.02
"""Time constant [s] in which a violated equality is restored, that of MuJoCo's constraints."""

DRIFT_SPEED = 0.1
"""Speed [m/s or rad/s] up to which an equality is restored within one step."""

LIMIT_RECOVERY = 0.1
"""Shortest time constant [s] in which a violated limit is restored.

Five times that of MuJoCo's constraints: nothing needs a robot that starts beyond a limit to be
quick about it, and the kinetic energy of its return goes with the inverse square.
"""

STIFFEST_STEP = 1e-4
"""Step size [s] below which limits and equalities do not get stiffer."""


@compiled
def restoring_speed(violation: float, reach: float, drift_speed: float) -> float:
    """v̂ of an equality that could be restored within the time ``reach`` [s].

    Up to ``drift_speed`` it is, `DRIFT_SPEED` unless violations are a method's own error; faster
    only exponentially.
    """
    size = abs(violation)
    speed = min(size / reach, max(size / EQUALITY_RECOVERY, drift_speed))
    return speed if violation < 0.0 else -speed


@compiled
def limit_forces(
    u: float,
    position: float,
    lower: float,
    upper: float,
    inverse_mass: float,
    stiff_step: float,
) -> tuple[float, float, float]:
    """Pull back, and forces of the lower and of the upper limit [N or Nm], as in `row_force`."""
    beta = NEAR_RIGID_PERIOD
    tau = beta * stiff_step / np.pi
    damping = 4.0 * np.pi * np.pi * tau / (beta * beta * stiff_step * stiff_step * inverse_mass)
    recovery = max(2.0 * tau, LIMIT_RECOVERY)
    pull = 4.0 / (recovery * recovery * inverse_mass)
    pull *= min(position, 0.0) - min(upper, 0.0)
    low = min(max(-position / (recovery if position < 0.0 else tau), -lower), lower)
    high = min(max(upper / (recovery if upper < 0.0 else tau), -lower), lower)
    below = max(damping * (low - u) - pull, 0.0)
    above = max(damping * (u - high) + pull, 0.0)
    return pull, below, above


@compiled
def row_force(
    kind: int,
    u: float,
    position: float,
    force: float,
    lower: float,
    upper: float,
    inverse_mass: float,
    stiff_step: float,
) -> float:
    """Force [N or Nm] of one row of a constraint set at its velocity u.

    ``position`` to ``inverse_mass`` are the row's fields; ``stiff_step`` is δt_e [s].
    """
    if kind == FRICTION:
        return -upper * u / np.sqrt(u * u + lower * lower)
    if kind not in (EQUALITY, LIMIT):
        return min(max(force, lower), upper)
    beta = NEAR_RIGID_PERIOD
    tau = beta * stiff_step / np.pi
    damping = 4.0 * np.pi * np.pi * tau / (beta * beta * stiff_step * stiff_step * inverse_mass)
    if kind == EQUALITY:
        return damping * (restoring_speed(position, tau, DRIFT_SPEED) - u)
    pull, below, above = limit_forces(u, position, lower, upper, inverse_mass, stiff_step)
    return pull + below - above
