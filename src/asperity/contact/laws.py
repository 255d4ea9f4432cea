"""Contact forces as functions of the state: what every method converges to as its step shrinks.

With the signed distance φ, the stiffness k, Hunt–Crossley dissipation d, the contact velocity
(v_t, v_n), the stiction tolerance v_s and s = ‖v_t‖/v_s:

    normal       f_n = k (−φ)₊ (1 − d v_n)₊                     (TAMSI equation 5, CENIC equation 6)
    tangential   f_t = −μ(s) f(s) f_n v_t/‖v_t‖
    coefficient  μ(s) = (μ_s − μ_d) σ(s) + μ_d,  σ(s) = ½ (1 − g(s − Δ)/g(Δ)),  g(s) = s/√(s² + 1)
                                                                            (CENIC equations 7, 8)

and one of three regularisations f of Coulomb's law, each of them 0 at rest and (nearly) 1 beyond
the stiction tolerance:

    `SMOOTH`     f(s) = s/√(s² + 1)                                             (CENIC equation 5)
    `LINEAR`     f(s) = min(s, 1)                                               (TAMSI equation 7)
    `PARABOLIC`  f(s) = s (2 − s) for s < 1, else 1                             (Drake's TAMSI)
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled, inlined

__all__ = [
    "LINEAR",
    "PARABOLIC",
    "SMOOTH",
    "STRIBECK_WIDTH",
    "friction_coefficient",
    "friction_of_contact",
    "friction_per_speed",
    "friction_slope",
    "normal_force",
]

SMOOTH = 0
LINEAR = 1
PARABOLIC = 2

STRIBECK_WIDTH = 10.0
"""Δ of equation 8: slip, in stiction tolerances, where μ is midway between static and dynamic."""


@compiled
def normal_force(
    stiffness: float, dissipation: float, signed_distance: float, normal_velocity: float
) -> float:
    """Normal force [N] that pushes the bodies apart."""
    elastic = stiffness * max(-signed_distance, 0.0)
    return elastic * max(1.0 - dissipation * normal_velocity, 0.0)


@compiled
def friction_coefficient(
    static: float, dynamic: float, slip: float, stiction_tolerance: float
) -> float:
    """Coefficient of friction at a slip speed [m/s] (CENIC, equation 8)."""
    if static == dynamic:
        return static
    width = STRIBECK_WIDTH
    s = slip / stiction_tolerance - width
    ratio = (s / np.sqrt(s * s + 1.0)) / (width / np.sqrt(width * width + 1.0))
    # σ ends 0.25 % below zero; that must not make friction negative where μ_d is (nearly) zero.
    return max((static - dynamic) * 0.5 * (1.0 - ratio) + dynamic, 0.0)


@inlined
def friction_of_contact(contacts: Table, c: int, slip: float) -> float:
    """Coefficient of friction of a contact of a contact set at a slip speed [m/s]."""
    return friction_coefficient(
        contacts.static_friction[c],
        contacts.dynamic_friction[c],
        slip,
        contacts.stiction_tolerance[c],
    )


@compiled
def friction_slope(
    static: float, dynamic: float, slip: float, stiction_tolerance: float
) -> tuple[float, float]:
    """`friction_coefficient`, and its derivative by the slip speed [s/m]."""
    coefficient = friction_coefficient(static, dynamic, slip, stiction_tolerance)
    if static == dynamic or coefficient == 0.0:
        return coefficient, 0.0
    width = STRIBECK_WIDTH
    s = slip / stiction_tolerance - width
    ratio = (s * s + 1.0) ** -1.5 / (width / np.sqrt(width * width + 1.0))
    return coefficient, -0.5 * (static - dynamic) * ratio / stiction_tolerance


@compiled
def friction_per_speed(law: int, slip: float, stiction_tolerance: float) -> float:
    """f(s)/‖v_t‖ [s/m] of a regularisation, which is finite at rest."""
    if law == LINEAR:
        return 1.0 / max(slip, stiction_tolerance)
    if law == PARABOLIC:
        if slip < stiction_tolerance:
            return (2.0 - slip / stiction_tolerance) / stiction_tolerance
        return 1.0 / slip
    return 1.0 / np.sqrt(slip * slip + stiction_tolerance * stiction_tolerance)
