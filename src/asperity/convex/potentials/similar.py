"""The *similar* potential of irrotational contact fields (ICF): normal and tangential coupled.

With the soft norm ‖v_t‖_ε = √(‖v_t‖² + ε²) − ε, n the Hunt–Crossley normal impulse of the lagged
law and N its antiderivative (equations 4.2 of the design):

    z = v_n − μ ‖v_t‖_ε,   ℓ = −N(z),   γ_n = n(z),   γ_t = −μ n(z) t,   t = v_t/√(‖v_t‖² + ε²).

Friction follows the normal impulse of the step's end, at the price of gliding: sliding pushes
the bodies apart by about δt μ ‖v_t‖. The coefficient is that at the slip of the step's beginning,
ε = max(v_s, σ w μ n_0) as in the lagged law.

Per contact the kernels keep ``friction`` = μ, ``softness`` = ε², and the lagged law's ``cutoff``,
``normal_slope`` and ``normal_bend``.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import compiled
from asperity.contact.contact_set import CONTACT_SET
from asperity.contact.laws import friction_coefficient
from asperity.convex.potentials.lagged import prepare_lagged
from asperity.convex.potentials.normal import normal_impulse
from asperity.convex.problem import PROBLEM

__all__ = ["along_similar", "evaluate_similar", "prepare_similar", "similar_cost_along"]

_problem = PROBLEM.get
_contacts = CONTACT_SET.get


@compiled
def prepare_similar(problem, contacts, step, ncontact):
    """Fill the law's numbers from ``v1, v2, vn``, the contact velocities before the step."""
    prepare_lagged(problem, contacts, step, ncontact, 0.0)
    order = _problem(problem, "contact")
    v1 = _problem(problem, "v1")
    v2 = _problem(problem, "v2")
    friction = _problem(problem, "friction")
    static_friction = _contacts(contacts, "static_friction")
    dynamic_friction = _contacts(contacts, "dynamic_friction")
    stiction_tolerance = _contacts(contacts, "stiction_tolerance")
    for i in range(ncontact):
        c = order[i]
        slip = np.sqrt(v1[i] * v1[i] + v2[i] * v2[i])
        friction[i] = friction_coefficient(
            static_friction[c], dynamic_friction[c], slip, stiction_tolerance[c]
        )


@compiled
def _normal(speed, slope, bend):
    """n, −n' and cost at any speed below the cutoff."""
    if speed <= 0.0:
        return 0.0, 0.0, 0.0
    return normal_impulse(speed, slope, bend)


@compiled
def evaluate_similar(problem, first, last):
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
    softness = _problem(problem, "softness")
    cutoff = _problem(problem, "cutoff")
    normal_slope = _problem(problem, "normal_slope")
    normal_bend = _problem(problem, "normal_bend")
    cost = 0.0
    for i in range(first, last):
        x = v1[i]
        y = v2[i]
        mu = friction[i]
        norm = np.sqrt(x * x + y * y + softness[i])
        x /= norm
        y /= norm
        z = vn[i] - mu * (norm - np.sqrt(softness[i]))
        n, h, one = _normal(cutoff[i] - z, normal_slope[i], normal_bend[i])
        cost += one
        f = mu * n / norm
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
    return cost


@compiled
def along_similar(problem, first, last, alpha):
    """First and second derivative of the contacts' cost at ``v + α Δv`` along Δv."""
    v1 = _problem(problem, "v1")
    v2 = _problem(problem, "v2")
    vn = _problem(problem, "vn")
    dv1 = _problem(problem, "dv1")
    dv2 = _problem(problem, "dv2")
    dvn = _problem(problem, "dvn")
    friction = _problem(problem, "friction")
    softness = _problem(problem, "softness")
    cutoff = _problem(problem, "cutoff")
    normal_slope = _problem(problem, "normal_slope")
    normal_bend = _problem(problem, "normal_bend")
    first_derivative = 0.0
    second_derivative = 0.0
    for i in range(first, last):
        x = v1[i] + alpha * dv1[i]
        y = v2[i] + alpha * dv2[i]
        mu = friction[i]
        norm = np.sqrt(x * x + y * y + softness[i])
        z = vn[i] + alpha * dvn[i] - mu * (norm - np.sqrt(softness[i]))
        n, h, _ = _normal(cutoff[i] - z, normal_slope[i], normal_bend[i])
        w = (x * dv1[i] + y * dv2[i]) / norm
        dz = dvn[i] - mu * w
        first_derivative -= n * dz
        second_derivative += (
            h * dz * dz + mu * n * (dv1[i] * dv1[i] + dv2[i] * dv2[i] - w * w) / norm
        )
    return first_derivative, second_derivative


@compiled
def similar_cost_along(problem, first, last, alpha):
    """Cost of the contacts at ``v + α Δv``."""
    v1 = _problem(problem, "v1")
    v2 = _problem(problem, "v2")
    vn = _problem(problem, "vn")
    dv1 = _problem(problem, "dv1")
    dv2 = _problem(problem, "dv2")
    dvn = _problem(problem, "dvn")
    friction = _problem(problem, "friction")
    softness = _problem(problem, "softness")
    cutoff = _problem(problem, "cutoff")
    normal_slope = _problem(problem, "normal_slope")
    normal_bend = _problem(problem, "normal_bend")
    cost = 0.0
    for i in range(first, last):
        x = v1[i] + alpha * dv1[i]
        y = v2[i] + alpha * dv2[i]
        slip = np.sqrt(x * x + y * y + softness[i]) - np.sqrt(softness[i])
        z = vn[i] + alpha * dvn[i] - friction[i] * slip
        _, _, one = _normal(cutoff[i] - z, normal_slope[i], normal_bend[i])
        cost += one
    return cost
