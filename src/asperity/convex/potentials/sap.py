"""The contact potential of SAP: compliant contact by projection onto the friction cone.

With the contact velocity v_c, the friction cone F = {γ: ‖γ_t‖ ≤ μ γ_n}, its analytic projection P
in the norm of R = diag(R_t, R_t, R_n) (SAP III-B, V-A, appendix C; equations 3.2 – 3.4 of the
design) and y = R⁻¹(v̂ − v_c), v̂ = (0, 0, v̂_n):

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

from asperity.compiled import compiled
from asperity.contact.contact_set import CONTACT_SET
from asperity.convex.mobility import fill_inverse_masses
from asperity.convex.problem import (
    NEAR_RIGID,
    PROBLEM,
    RELAXATION_TIME,
    SLIP_REGULARIZATION,
)

__all__ = ["along_sap", "evaluate_sap", "prepare_sap", "sap_cost_along"]

# Added to the slip before dividing by it; smaller than any slip that matters.
_TINY = 1e-200

# Least inverse mass [1/kg]: a contact on the axis of its only hinge has none at all.
_LEAST_INVERSE_MASS = 1e-12

_problem = PROBLEM.get
_contacts = CONTACT_SET.get


@compiled
def prepare_sap(problem, contacts, step, ncontact):
    """Fill the law's numbers; needs the problem's A, and uses the memory of its factors."""
    order = _problem(problem, "contact")
    friction = _problem(problem, "friction")
    target = _problem(problem, "target")
    normal_gain = _problem(problem, "normal_gain")
    tangential_gain = _problem(problem, "tangential_gain")
    signed_distance = _contacts(contacts, "signed_distance")
    stiffness = _contacts(contacts, "stiffness")
    dynamic_friction = _contacts(contacts, "dynamic_friction")
    relaxation_time = _contacts(contacts, "relaxation_time")
    regularization = _problem(problem, "regularization")
    sigma = _problem(problem, "tolerance")[SLIP_REGULARIZATION]
    near_rigid = regularization[NEAR_RIGID] / (2.0 * np.pi)
    default = regularization[RELAXATION_TIME]
    if default < 0.0:
        default = step
    # Inverse masses first, in the place of the gains that are made of them.
    fill_inverse_masses(problem, contacts, ncontact, normal_gain)
    for i in range(ncontact):
        c = order[i]
        w = max(normal_gain[i], _LEAST_INVERSE_MASS)
        reach = step + (relaxation_time[c] if relaxation_time[c] >= 0.0 else default)
        friction[i] = dynamic_friction[c]
        target[i] = -signed_distance[c] / reach
        normal_gain[i] = 1.0 / max(near_rigid * near_rigid * w, 1.0 / (step * stiffness[c] * reach))
        tangential_gain[i] = 1.0 / (sigma * w)


@compiled
def evaluate_sap(problem, first, last):
    """Fill impulses and curvatures of contacts ``first .. last``; return their cost."""
    v1 = _problem(problem, "v1")
    v2 = _problem(problem, "v2")
    vn = _problem(problem, "vn")
    g1 = _problem(problem, "g1")
    g2 = _problem(problem, "g2")
    gn = _problem(problem, "gn")
    h11 = _problem(problem, "h11")
    h12 = _problem(problem, "h12")
    h22 = _problem(problem, "h22")
    hnn = _problem(problem, "hnn")
    h1n = _problem(problem, "h1n")
    h2n = _problem(problem, "h2n")
    friction = _problem(problem, "friction")
    target = _problem(problem, "target")
    normal_gain = _problem(problem, "normal_gain")
    tangential_gain = _problem(problem, "tangential_gain")
    cost = 0.0
    for i in range(first, last):
        x = v1[i]
        y = v2[i]
        mu = friction[i]
        kn = normal_gain[i]
        kt = tangential_gain[i]
        approach = target[i] - vn[i]
        s = np.sqrt(x * x + y * y)
        z = approach + mu * s
        h12[i] = 0.0
        h1n[i] = 0.0
        h2n[i] = 0.0
        if z <= 0.0:
            g1[i] = 0.0
            g2[i] = 0.0
            gn[i] = 0.0
            h11[i] = 0.0
            h22[i] = 0.0
            hnn[i] = 0.0
        elif mu > 0.0 and kt * s <= mu * kn * approach:
            g1[i] = -kt * x
            g2[i] = -kt * y
            gn[i] = kn * approach
            h11[i] = kt
            h22[i] = kt
            hnn[i] = kn
            cost += 0.5 * (kt * s * s + kn * approach * approach)
        else:
            # Without friction a contact may slide at no speed; its direction does not matter then.
            x /= s + _TINY
            y /= s + _TINY
            h = kn / (1.0 + mu * mu * kn / kt)
            n = h * z
            f = mu * n / (s + _TINY)
            curvature = mu * mu * h - f
            gn[i] = n
            g1[i] = -mu * n * x
            g2[i] = -mu * n * y
            h11[i] = f + curvature * x * x
            h12[i] = curvature * x * y
            h22[i] = f + curvature * y * y
            h1n[i] = -mu * h * x
            h2n[i] = -mu * h * y
            hnn[i] = h
            cost += 0.5 * n * z
    return cost


@compiled
def along_sap(problem, first, last, alpha):
    """First and second derivative of the contacts' cost at ``v + α Δv`` along Δv."""
    v1 = _problem(problem, "v1")
    v2 = _problem(problem, "v2")
    vn = _problem(problem, "vn")
    dv1 = _problem(problem, "dv1")
    dv2 = _problem(problem, "dv2")
    dvn = _problem(problem, "dvn")
    friction = _problem(problem, "friction")
    target = _problem(problem, "target")
    normal_gain = _problem(problem, "normal_gain")
    tangential_gain = _problem(problem, "tangential_gain")
    first_derivative = 0.0
    second_derivative = 0.0
    for i in range(first, last):
        dx = dv1[i]
        dy = dv2[i]
        dn = dvn[i]
        x = v1[i] + alpha * dx
        y = v2[i] + alpha * dy
        mu = friction[i]
        kn = normal_gain[i]
        kt = tangential_gain[i]
        approach = target[i] - vn[i] - alpha * dn
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
def sap_cost_along(problem, first, last, alpha):
    """Cost of the contacts at ``v + α Δv``."""
    v1 = _problem(problem, "v1")
    v2 = _problem(problem, "v2")
    vn = _problem(problem, "vn")
    dv1 = _problem(problem, "dv1")
    dv2 = _problem(problem, "dv2")
    dvn = _problem(problem, "dvn")
    friction = _problem(problem, "friction")
    target = _problem(problem, "target")
    normal_gain = _problem(problem, "normal_gain")
    tangential_gain = _problem(problem, "tangential_gain")
    cost = 0.0
    for i in range(first, last):
        x = v1[i] + alpha * dv1[i]
        y = v2[i] + alpha * dv2[i]
        mu = friction[i]
        kn = normal_gain[i]
        kt = tangential_gain[i]
        approach = target[i] - vn[i] - alpha * dvn[i]
        s = np.sqrt(x * x + y * y)
        z = approach + mu * s
        if z <= 0.0:
            continue
        if mu > 0.0 and kt * s <= mu * kn * approach:
            cost += 0.5 * (kt * s * s + kn * approach * approach)
        else:
            cost += 0.5 * kn / (1.0 + mu * mu * kn / kt) * z * z
    return cost
