"""The *similar* potential of irrotational contact fields (ICF): normal and tangential coupled.

With the soft norm ‖v_t‖_ε = √(‖v_t‖² + ε²) − ε, n the Hunt–Crossley normal impulse of the lagged
law and N its antiderivative (docs/equations.md, ‘Similar’):

    z = v_n − μ ‖v_t‖_ε,   ℓ = −N(z),   γ_n = n(z),   γ_t = −μ n(z) t,   t = v_t/√(‖v_t‖² + ε²).

Friction follows the normal impulse of the step's end, at the price of gliding: sliding pushes
the bodies apart by about δt μ ‖v_t‖. The coefficient is that at the slip of the step's beginning,
ε = max(v_s, σ w μ n_0) as in the lagged law.

Per contact the kernels keep ``friction`` = μ, ``soft_slip_square`` = ε², and the lagged law's
``cutoff``, ``normal_slope`` and ``normal_bend``.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled, entry_point, inlined
from asperity.contact.laws import friction_of_contact
from asperity.convex.ellipsoids import slip_square
from asperity.convex.potentials.contact_driver import (
    ALONG_SIGNATURE,
    EVALUATE_SIGNATURE,
    PREPARE_SIGNATURE,
    Response,
    along_each,
    cost_along_each,
    evaluate_each,
)
from asperity.convex.potentials.lagged import prepare_lagged
from asperity.convex.potentials.law_table import ContactLaw
from asperity.convex.potentials.normal import normal_impulse

__all__ = ["SIMILAR_LAW"]


@entry_point(PREPARE_SIGNATURE)
def _prepare(problem: Table, contacts: Table, step: float, ncontact: int) -> int:
    """Fill the law's numbers from ``v1, v2, vn``, the contact velocities before the step."""
    graph = problem.graph
    prepare_lagged(graph, problem.law, problem.iterate, contacts, step, ncontact, 0.0)
    for i in range(ncontact):
        c = graph.contact[i]
        slip = np.sqrt(slip_square(graph, problem.iterate, i, 0.0))
        problem.law.friction[i] = friction_of_contact(contacts, c, slip)
    return 0


@compiled
def _normal(speed: float, slope: float, bend: float) -> tuple[float, float, float]:
    """n, −n' and cost at any speed below the cutoff."""
    if speed <= 0.0:
        return 0.0, 0.0, 0.0
    return normal_impulse(speed, slope, bend)


@inlined
def _respond(law: Table, i: int, x: float, y: float, vn: float) -> Response:
    """Cost, impulses and curvatures."""
    mu = law.friction[i]
    square = law.soft_slip_square[i]
    norm = np.sqrt(x * x + y * y + square)
    x /= norm
    y /= norm
    z = vn - mu * (norm - np.sqrt(square))
    n, h, cost = _normal(law.cutoff[i] - z, law.normal_slope[i], law.normal_bend[i])
    f = mu * n / norm
    curvature = mu * mu * h - f
    return (
        cost,
        (-mu * n * x, -mu * n * y, n),
        (
            f + curvature * x * x,
            curvature * x * y,
            f + curvature * y * y,
            -mu * h * x,
            -mu * h * y,
            h,
        ),
    )


@inlined
def _along(
    law: Table, i: int, x: float, y: float, vn: float, dx: float, dy: float, dn: float
) -> tuple[float, float]:
    """First and second derivative of the cost along a direction."""
    mu = law.friction[i]
    square = law.soft_slip_square[i]
    norm = np.sqrt(x * x + y * y + square)
    z = vn - mu * (norm - np.sqrt(square))
    n, h, _ = _normal(law.cutoff[i] - z, law.normal_slope[i], law.normal_bend[i])
    w = (x * dx + y * dy) / norm
    dz = dn - mu * w
    return -n * dz, h * dz * dz + mu * n * (dx * dx + dy * dy - w * w) / norm


@entry_point(EVALUATE_SIGNATURE)
def _evaluate(problem: Table, first: int, last: int) -> float:
    return evaluate_each(_respond, problem.graph, problem.law, problem.iterate, first, last)


@entry_point(ALONG_SIGNATURE)
def _slopes(problem: Table, first: int, last: int, alpha: float) -> float:
    return along_each(_along, problem, first, last, alpha)


@entry_point(ALONG_SIGNATURE)
def _costs(problem: Table, first: int, last: int, alpha: float) -> float:
    graph, law, iterate = problem.graph, problem.law, problem.iterate
    return cost_along_each(_respond, graph, law, iterate, first, last, alpha)


SIMILAR_LAW = ContactLaw(_prepare, _evaluate, _slopes, _costs, coupled=True)
