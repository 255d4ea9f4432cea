"""The contact potential of SAP: compliant contact by projection onto the friction cone.

With the contact velocity v_c, the friction cone F = {γ: ‖γ_t‖ ≤ μ γ_n}, its analytic projection P
in the norm of R = diag(R_t, R_t, R_n) (SAP III-B, V-A, appendix C; docs/equations.md,
‘SAP’) and y = R⁻¹(v̂ − v_c), v̂ = (0, 0, v̂_n):

    γ = P(y),   ℓ = ½ γᵀ R γ,   v̂_n = −φ_0/(δt + τ_d)

With s = ‖v_t‖, t = v_t/s and f = 1/(1 + μ² R_t/R_n) the regions are

    stiction     s/R_t ≤ μ (v̂_n − v_n)/R_n     γ_t = −v_t/R_t,  γ_n = (v̂_n − v_n)/R_n
    sliding                                     γ_n = f z/R_n,   γ_t = −μ γ_n t
    no contact   z ≤ 0                          γ = 0,                z = v̂_n − v_n + μ s

so that ℓ = ½ f z²/R_n where the contact slides. Sliding couples normal and tangential parts: z is
the approach that the law sees, and its term μ s is what lets sliding bodies glide.

Parameters (SAP V-B, equations 29 and 30; w estimates the contact's inverse mass):

    R_n = max(β² w/(4π²), 1/(δt k (δt + τ_d))),   R_t = σ w

A contact too stiff for the step to resolve becomes near-rigid, of period β δt. Dissipation is
linear in the penetration's rate (Kelvin–Voigt), by the relaxation time τ_d: Hunt–Crossley
dissipation plays no part. Friction has one coefficient, the dynamic one.

Per contact the kernels keep ``friction`` = μ, ``target`` = v̂_n, ``normal_gain`` = 1/R_n and
``tangential_gain`` = 1/R_t.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.convex.mobility import fill_inverse_masses

__all__ = ["along_sap", "evaluate_sap", "prepare_sap", "sap_cost_along"]

# Added to the slip before dividing by it; smaller than any slip that matters.
_TINY = 1e-200

# Least inverse mass [1/kg]: a contact on the axis of its only hinge has none at all.
_LEAST_INVERSE_MASS = 1e-12


@compiled
def prepare_sap(problem: Table, contacts: Table, step: float, ncontact: int) -> None:
    """Fill the law's numbers; needs the problem's A, and uses the memory of its factors."""
    sigma = problem.slip_regularization
    near_rigid = problem.near_rigid / (2.0 * np.pi)
    default = problem.relaxation_time
    if default < 0.0:
        default = step
    # Inverse masses first, in the place of the gains that are made of them.
    fill_inverse_masses(problem, contacts, ncontact, problem.normal_gain)
    for i in range(ncontact):
        c = problem.contact[i]
        w = max(problem.normal_gain[i], _LEAST_INVERSE_MASS)
        reach = step + (
            contacts.relaxation_time[c] if contacts.relaxation_time[c] >= 0.0 else default
        )
        problem.friction[i] = contacts.dynamic_friction[c]
        problem.target[i] = -contacts.signed_distance[c] / reach
        problem.normal_gain[i] = 1.0 / max(
            near_rigid * near_rigid * w, 1.0 / (step * contacts.stiffness[c] * reach)
        )
        problem.tangential_gain[i] = 1.0 / (sigma * w)


@compiled
def evaluate_sap(problem: Table, first: int, last: int) -> float:
    """Fill impulses and curvatures of contacts ``first .. last``; return their cost."""
    cost = 0.0
    for i in range(first, last):
        x = problem.v1[i]
        y = problem.v2[i]
        mu = problem.friction[i]
        kn = problem.normal_gain[i]
        kt = problem.tangential_gain[i]
        approach = problem.target[i] - problem.vn[i]
        s = np.sqrt(x * x + y * y)
        z = approach + mu * s
        problem.h12[i] = 0.0
        problem.h1n[i] = 0.0
        problem.h2n[i] = 0.0
        if z <= 0.0:
            problem.g1[i] = 0.0
            problem.g2[i] = 0.0
            problem.gn[i] = 0.0
            problem.h11[i] = 0.0
            problem.h22[i] = 0.0
            problem.hnn[i] = 0.0
        elif mu > 0.0 and kt * s <= mu * kn * approach:
            problem.g1[i] = -kt * x
            problem.g2[i] = -kt * y
            problem.gn[i] = kn * approach
            problem.h11[i] = kt
            problem.h22[i] = kt
            problem.hnn[i] = kn
            cost += 0.5 * (kt * s * s + kn * approach * approach)
        else:
            # Without friction a contact may slide at no speed; its direction does not matter then.
            x /= s + _TINY
            y /= s + _TINY
            h = kn / (1.0 + mu * mu * kn / kt)
            n = h * z
            f = mu * n / (s + _TINY)
            curvature = mu * mu * h - f
            problem.gn[i] = n
            problem.g1[i] = -mu * n * x
            problem.g2[i] = -mu * n * y
            problem.h11[i] = f + curvature * x * x
            problem.h12[i] = curvature * x * y
            problem.h22[i] = f + curvature * y * y
            problem.h1n[i] = -mu * h * x
            problem.h2n[i] = -mu * h * y
            problem.hnn[i] = h
            cost += 0.5 * n * z
    return cost


@compiled
def along_sap(problem: Table, first: int, last: int, alpha: float) -> tuple[float, float]:
    """First and second derivative of the contacts' cost at ``v + α Δv`` along Δv."""
    first_derivative = 0.0
    second_derivative = 0.0
    for i in range(first, last):
        dx = problem.dv1[i]
        dy = problem.dv2[i]
        dn = problem.dvn[i]
        x = problem.v1[i] + alpha * dx
        y = problem.v2[i] + alpha * dy
        mu = problem.friction[i]
        kn = problem.normal_gain[i]
        kt = problem.tangential_gain[i]
        approach = problem.target[i] - problem.vn[i] - alpha * dn
        s = np.sqrt(x * x + y * y)
        z = approach + mu * s
        if z <= 0.0:
            continue
        if mu > 0.0 and kt * s <= mu * kn * approach:
            first_derivative += kt * (x * dx + y * dy) - kn * approach * dn
            second_derivative += kt * (dx * dx + dy * dy) + kn * dn * dn
        else:
            h = kn / (1.0 + mu * mu * kn / kt)
            w = (x * dx + y * dy) / (s + _TINY)
            dz = mu * w - dn
            first_derivative += h * z * dz
            second_derivative += h * (dz * dz + mu * z * (dx * dx + dy * dy - w * w) / (s + _TINY))
    return first_derivative, second_derivative


@compiled
def sap_cost_along(problem: Table, first: int, last: int, alpha: float) -> float:
    """Cost of the contacts at ``v + α Δv``."""
    cost = 0.0
    for i in range(first, last):
        x = problem.v1[i] + alpha * problem.dv1[i]
        y = problem.v2[i] + alpha * problem.dv2[i]
        mu = problem.friction[i]
        kn = problem.normal_gain[i]
        kt = problem.tangential_gain[i]
        approach = problem.target[i] - problem.vn[i] - alpha * problem.dvn[i]
        s = np.sqrt(x * x + y * y)
        z = approach + mu * s
        if z <= 0.0:
            continue
        if mu > 0.0 and kt * s <= mu * kn * approach:
            cost += 0.5 * (kt * s * s + kn * approach * approach)
        else:
            cost += 0.5 * kn / (1.0 + mu * mu * kn / kt) * z * z
    return cost
