"""TAMSI's contact impulses for one step, and their derivatives (TAMSI V).

With the step δt, the contact velocity (v_t, v_n) at the end of the step, f_e0 = −k φ_0 and
s = ‖v_t‖/v_s:

    γ_n = δt π(v_n),   π = (f_e0 − δt k v_n)₊ (1 − d v_n)₊                     equations 5 and 19
    γ_t = −δt μ̃(s) π(v_n) v_t/‖v_t‖                                           equations 6 and 7

μ̃(s) = μ min(s, 1), or with the parabola of Drake's implementation μ s (2 − s) below 1. There
‖v_t‖ is softened to √(‖v_t‖² + ε_v²), ε_v = ε v_s, because the parabola's slope is steepest where
v_t has no direction. As with SAP there is one coefficient of friction, the dynamic one.

One-way coupling takes π = k (−φ_0)₊ (1 − d v_n0)₊ of the beginning of the step: semi-implicit Euler
(equations 10 to 12), explicit in normal forces.

−∂γ/∂v is kept in ``h11, h12, h22, hnn`` and, because friction depends on v_n but γ_n not on v_t, in
the column ``h1n, h2n`` alone; the row below it is zero.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled, entry_point, inlined
from asperity.contact.laws import normal_force
from asperity.convex.potentials.contact_driver import (
    ALONG_SIGNATURE,
    EVALUATE_SIGNATURE,
    PREPARE_SIGNATURE,
    Response,
    evaluate_each,
)
from asperity.convex.potentials.law_table import ContactLaw
from asperity.convex.potentials.normal import normal_impulse, normal_numbers
from asperity.integrators.methods.tamsi.tamsi_layout import TAMSI

__all__ = ["ONE_WAY", "TWO_WAY"]


@compiled
def _prepare(
    graph: Table,
    law: Table,
    iterate: Table,
    contacts: Table,
    step: float,
    ncontact: int,
    two_way: bool,
) -> None:
    for i in range(ncontact):
        c = graph.contact[i]
        k = contacts.stiffness[c]
        d = contacts.dissipation[c]
        law.friction[i] = contacts.dynamic_friction[c]
        law.stiction_tolerance[i] = contacts.stiction_tolerance[c]
        if two_way:
            force = k * (step * contacts.carried[c] - contacts.signed_distance[c])
            law.cutoff[i], law.normal_slope[i], law.normal_bend[i] = normal_numbers(
                force, k, d, step
            )
            law.explicit_normal[i] = 0.0
        else:
            law.cutoff[i] = law.normal_slope[i] = law.normal_bend[i] = 0.0
            law.explicit_normal[i] = step * normal_force(
                k, d, contacts.signed_distance[c], iterate.vn[i]
            )


@entry_point(PREPARE_SIGNATURE)
def _prepare_two_way(problem: Table, contacts: Table, step: float, ncontact: int) -> int:
    _prepare(problem.graph, problem.law, problem.iterate, contacts, step, ncontact, True)
    return 0


@entry_point(PREPARE_SIGNATURE)
def _prepare_one_way(problem: Table, contacts: Table, step: float, ncontact: int) -> int:
    _prepare(problem.graph, problem.law, problem.iterate, contacts, step, ncontact, False)
    return 0


@inlined
def _respond(law: Table, i: int, x: float, y: float, vn: float) -> Response:
    """Impulses and their derivatives; there is no cost."""
    tamsi = TAMSI.at(law.extension)
    parabolic = tamsi.parabolic == 1
    speed = max(law.cutoff[i] - vn, 0.0)
    normal, curvature, _ = normal_impulse(speed, law.normal_slope[i], law.normal_bend[i])
    normal += law.explicit_normal[i]
    steepness = curvature if speed > 0.0 else 0.0
    tolerance = law.stiction_tolerance[i]
    square = x * x + y * y
    if parabolic:
        square += tamsi.relative * tamsi.relative * tolerance * tolerance
    slip = np.sqrt(square)
    # μ̃/‖v_t‖, and the difference of that to μ̃'/v_s over ‖v_t‖².
    if slip < tolerance:
        if parabolic:
            share = (2.0 - slip / tolerance) / tolerance
            bend = 1.0 / (tolerance * tolerance * slip)
        else:
            share = 1.0 / tolerance
            bend = 0.0
    else:
        share = 1.0 / slip
        bend = share / square
    share *= law.friction[i]
    bend *= law.friction[i] * normal
    return (
        0.0,
        (-share * normal * x, -share * normal * y, normal),
        (
            share * normal - bend * x * x,
            -bend * x * y,
            share * normal - bend * y * y,
            -share * x * steepness,
            -share * y * steepness,
            steepness,
        ),
    )


@entry_point(EVALUATE_SIGNATURE)
def _evaluate(problem: Table, first: int, last: int) -> float:
    return evaluate_each(_respond, problem.graph, problem.law, problem.iterate, first, last)


@entry_point(ALONG_SIGNATURE)
def _no_cost(_problem: Table, _first: int, _last: int, _alpha: float) -> float:
    """Stand in for costs along a direction: forces that are not a gradient have none."""
    return np.nan


TWO_WAY = ContactLaw(_prepare_two_way, _evaluate, _no_cost, _no_cost, coupled=True)
ONE_WAY = ContactLaw(_prepare_one_way, _evaluate, _no_cost, _no_cost, coupled=True)
