"""The *similar* potential of irrotational contact fields (ICF): normal and tangential coupled.

With the soft norm ‖v_t‖_ε = √(‖v_t‖² + ε²) − ε, n the Hunt–Crossley normal impulse of the lagged
law and N its antiderivative (docs/equations.md, ‘Similar’):

    z = v_n − μ ‖v_t‖_ε,   ℓ = −N(z),   γ_n = n(z),   γ_t = −μ n(z) t,   t = v_t/√(‖v_t‖² + ε²).

Friction follows the normal impulse of the step's end, at the price of gliding: sliding pushes
the bodies apart by about δt μ ‖v_t‖. The coefficient is that at the slip of the step's beginning,
ε = max(v_s, σ w μ n_0) as in the lagged law.

Per contact the kernels keep ``friction`` = μ, ``softness`` = ε², and the lagged law's ``cutoff``,
``normal_slope`` and ``normal_bend``.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.contact.laws import friction_coefficient
from asperity.convex.potentials.lagged import prepare_lagged
from asperity.convex.potentials.normal import normal_impulse

__all__ = ["along_similar", "evaluate_similar", "prepare_similar", "similar_cost_along"]


@compiled
def prepare_similar(problem: Table, contacts: Table, step: float, ncontact: int) -> None:
    """Fill the law's numbers from ``v1, v2, vn``, the contact velocities before the step."""
    prepare_lagged(problem, contacts, step, ncontact, 0.0)
    for i in range(ncontact):
        c = problem.contact[i]
        slip = np.sqrt(problem.v1[i] * problem.v1[i] + problem.v2[i] * problem.v2[i])
        problem.friction[i] = friction_coefficient(
            contacts.static_friction[c],
            contacts.dynamic_friction[c],
            slip,
            contacts.stiction_tolerance[c],
        )


@compiled
def _normal(speed: float, slope: float, bend: float) -> tuple[float, float, float]:
    """n, −n' and cost at any speed below the cutoff."""
    if speed <= 0.0:
        return 0.0, 0.0, 0.0
    return normal_impulse(speed, slope, bend)


@compiled
def evaluate_similar(problem: Table, first: int, last: int) -> float:
    """Fill impulses and curvatures of contacts ``first .. last``; return their cost."""
    cost = 0.0
    for i in range(first, last):
        x = problem.v1[i]
        y = problem.v2[i]
        mu = problem.friction[i]
        norm = np.sqrt(x * x + y * y + problem.softness[i])
        x /= norm
        y /= norm
        z = problem.vn[i] - mu * (norm - np.sqrt(problem.softness[i]))
        n, h, one = _normal(problem.cutoff[i] - z, problem.normal_slope[i], problem.normal_bend[i])
        cost += one
        f = mu * n / norm
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
    return cost


@compiled
def along_similar(problem: Table, first: int, last: int, alpha: float) -> tuple[float, float]:
    """First and second derivative of the contacts' cost at ``v + α Δv`` along Δv."""
    dv1 = problem.dv1
    dv2 = problem.dv2
    first_derivative = 0.0
    second_derivative = 0.0
    for i in range(first, last):
        x = problem.v1[i] + alpha * dv1[i]
        y = problem.v2[i] + alpha * dv2[i]
        mu = problem.friction[i]
        norm = np.sqrt(x * x + y * y + problem.softness[i])
        z = problem.vn[i] + alpha * problem.dvn[i] - mu * (norm - np.sqrt(problem.softness[i]))
        n, h, _ = _normal(problem.cutoff[i] - z, problem.normal_slope[i], problem.normal_bend[i])
        w = (x * dv1[i] + y * dv2[i]) / norm
        dz = problem.dvn[i] - mu * w
        first_derivative -= n * dz
        second_derivative += (
            h * dz * dz + mu * n * (dv1[i] * dv1[i] + dv2[i] * dv2[i] - w * w) / norm
        )
    return first_derivative, second_derivative


@compiled
def similar_cost_along(problem: Table, first: int, last: int, alpha: float) -> float:
    """Cost of the contacts at ``v + α Δv``."""
    cost = 0.0
    for i in range(first, last):
        x = problem.v1[i] + alpha * problem.dv1[i]
        y = problem.v2[i] + alpha * problem.dv2[i]
        slip = np.sqrt(x * x + y * y + problem.softness[i]) - np.sqrt(problem.softness[i])
        z = problem.vn[i] + alpha * problem.dvn[i] - problem.friction[i] * slip
        _, _, one = _normal(problem.cutoff[i] - z, problem.normal_slope[i], problem.normal_bend[i])
        cost += one
    return cost
