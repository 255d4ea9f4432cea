"""The contact potentials of SAP's compliant contact, with its projection or Coulomb's friction.

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

With R_t = σ w what sticks creeps at σ w γ_t, the faster the heavier its load. Without a σ,

    R_t = min(10⁻³ w, v_s/(μ n_0)),   n_0 = (v̂_n − |v_n0|)₊/R_n,

where v_n0 is the normal velocity at the beginning. A contact at rest carries the impulse n_0 in
every step, so that friction reaches its limit at the stiction tolerance v_s, as in the other laws.
In an impact n_0 is 0, and little of friction is as stiff. R_t is a number that is known before the
step: the cost is that of SAP, with another R of single contacts, and as convex.

Newton's matrix has estimates w of the direction of friction
(`asperity.convex.potentials.friction_duals`), with η = max(s, μ R_t γ_n): sharper friction then
hardly takes more iterations. What couples normal and tangential parts is the Hessian's, f/R_n times
the square of μ u · Δv_t − Δv_n, so the matrix is positive semidefinite for any ‖w‖ ≤ 1.

Per contact the kernels keep ``friction`` = μ, ``normal_target`` = v̂_n, ``normal_gain`` = 1/R_n
and ``tangential_gain`` = 1/R_t, ``dual1`` and ``dual2`` = w, and ``stoppable``.

`COULOMB_LAW` has the same normal law, γ_n = (v̂_n − v_n)₊/R_n, without gliding: friction is that of
`asperity.convex.potentials.lagged`, bounded by the normal impulse of the solution. Its friction
reaches the bound at the stiction tolerance, whatever the bound is, and may be static and dynamic.

It was chosen from two laws with Coulomb's friction. The other one subtracts μ s from v̂_n in the
projection, with the slip s of the solution (the fixed point of G. de Saxcé and Z.-Q. Feng, 1998).
There a wrong s is a wrong normal velocity, which a stack of bodies that slip on one another adds
up: ten boxes that spin lose their support, and the fixed point is not found in a dozen steps.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled, entry_point, inlined
from asperity.contact.laws import friction_of_contact
from asperity.convex.ellipsoids import slip_square
from asperity.convex.mobility import fill_inverse_masses
from asperity.convex.potentials.contact_driver import (
    ALONG_SIGNATURE,
    BEGIN_SIGNATURE,
    EVALUATE_SIGNATURE,
    PREPARE_SIGNATURE,
    Response,
    along_each,
    cost_along_each,
    evaluate_each,
)
from asperity.convex.potentials.friction_duals import begin_dual, follow_dual
from asperity.convex.potentials.lagged import DELIVERED_LAW, limit_friction
from asperity.convex.potentials.law_table import ContactLaw

__all__ = ["COULOMB_LAW", "SAP_LAW"]

# Added to the slip before dividing by it; smaller than any slip that matters.
_TINY = 1e-200

# Inverse mass [1/kg] below which a contact moves nothing, like one on the axis of its only hinge.
# It gets no impulse: that of round-off in its Jacobian would be without bounds.
_LEAST_INVERSE_MASS = 1e-12

# σ of contacts that carry no load yet, where there is none: the paper's.
_SIGMA = 1e-3


@compiled
def _fill_numbers(problem: Table, contacts: Table, step: float, ncontact: int) -> None:
    """Fill the law's numbers; needs the problem's A, and uses the memory of its factors."""
    law, options = problem.law, problem.options
    sigma = options.slip_regularization if options.slip_regularization > 0.0 else _SIGMA
    near_rigid = options.near_rigid / (2.0 * np.pi)
    default = options.relaxation_time
    if default < 0.0:
        default = step
    # Inverse masses first, in the place of the gains that are made of them.
    fill_inverse_masses(problem, contacts, ncontact, law.normal_gain)
    for i in range(ncontact):
        c = problem.graph.contact[i]
        w = law.normal_gain[i]
        if not w > _LEAST_INVERSE_MASS:
            law.friction[i] = law.normal_target[i] = law.normal_gain[i] = 0.0
            law.tangential_gain[i] = 1.0
            law.stoppable[i] = 0.0
            continue
        reach = step + (
            contacts.relaxation_time[c] if contacts.relaxation_time[c] >= 0.0 else default
        )
        law.friction[i] = contacts.dynamic_friction[c]
        overlap = step * contacts.carried[c] - contacts.signed_distance[c]
        law.normal_target[i] = overlap / reach
        law.normal_gain[i] = 1.0 / max(
            near_rigid * near_rigid * w, 1.0 / (step * contacts.stiffness[c] * reach)
        )
        law.tangential_gain[i] = 1.0 / (sigma * w)
        limit = law.friction[i] * law.normal_gain[i]
        vn = problem.iterate.vn[i]
        if options.slip_regularization <= 0.0:
            bound = limit * max(law.normal_target[i] - abs(vn), 0.0)
            law.tangential_gain[i] = max(
                law.tangential_gain[i], bound / contacts.stiction_tolerance[c]
            )
        law.stoppable[i] = w * limit * max(law.normal_target[i] - vn, 0.0)


@entry_point(PREPARE_SIGNATURE)
def _prepare(problem: Table, contacts: Table, step: float, ncontact: int) -> int:
    _fill_numbers(problem, contacts, step, ncontact)
    return 0


@entry_point(PREPARE_SIGNATURE)
def _prepare_coulomb(problem: Table, contacts: Table, step: float, ncontact: int) -> int:
    """Fill the numbers of the lagged law that belong to the normal law of SAP."""
    graph, law, iterate = problem.graph, problem.law, problem.iterate
    _fill_numbers(problem, contacts, step, ncontact)
    for i in range(ncontact):
        law.cutoff[i] = law.normal_target[i]
        law.normal_slope[i] = law.normal_gain[i]
        law.normal_bend[i] = 0.0
        law.expected_impulse[i] = -1.0
        slip = np.sqrt(slip_square(graph, iterate, i, 0.0))
        law.friction[i] = friction_of_contact(contacts, graph.contact[i], slip)
        # What has been carried; of an impact the solve finds out.
        carried = law.normal_gain[i] * max(law.cutoff[i] - abs(iterate.vn[i]), 0.0)
        limit_friction(graph, law, contacts, i, law.friction[i] * carried)
    return 0


@inlined
def _respond(law: Table, i: int, x: float, y: float, vn: float) -> Response:
    """Cost, impulses, and the curvatures of the estimates ``dual1`` and ``dual2``."""
    mu = law.friction[i]
    kn = law.normal_gain[i]
    kt = law.tangential_gain[i]
    approach = law.normal_target[i] - vn
    s = np.sqrt(x * x + y * y)
    z = approach + mu * s
    if z <= 0.0:
        return 0.0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    if mu > 0.0 and kt * s <= mu * kn * approach:
        return (
            0.5 * (kt * s * s + kn * approach * approach),
            (-kt * x, -kt * y, kn * approach),
            (kt, 0.0, kt, 0.0, 0.0, kn),
        )
    # Without friction a contact may slide at no speed; its direction does not matter then.
    x /= s + _TINY
    y /= s + _TINY
    h = kn / (1.0 + mu * mu * kn / kt)
    n = h * z
    f = mu * n / (s + _TINY)
    coupled = mu * mu * h
    return (
        0.5 * n * z,
        (-mu * n * x, -mu * n * y, n),
        (
            f + (coupled * x - f * law.dual1[i]) * x,
            coupled * x * y - 0.5 * f * (law.dual1[i] * y + law.dual2[i] * x),
            f + (coupled * y - f * law.dual2[i]) * y,
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
    kn = law.normal_gain[i]
    kt = law.tangential_gain[i]
    approach = law.normal_target[i] - vn
    s = np.sqrt(x * x + y * y)
    z = approach + mu * s
    if z <= 0.0:
        return 0.0, 0.0
    if mu > 0.0 and kt * s <= mu * kn * approach:
        slope = kt * (x * dx + y * dy) - kn * approach * dn
        return slope, kt * (dx * dx + dy * dy) + kn * dn * dn
    h = kn / (1.0 + mu * mu * kn / kt)
    inverse = 1.0 / (s + _TINY)
    w = (x * dx + y * dy) * inverse
    dz = mu * w - dn
    return h * z * dz, h * (dz * dz + mu * z * (dx * dx + dy * dy - w * w) * inverse)


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


@entry_point(BEGIN_SIGNATURE)
def _begin_estimates(problem: Table, first: int, last: int) -> int:
    """Fill w for the first Newton step from the present velocities."""
    graph, iterate = problem.graph, problem.iterate
    for i in range(first, last):
        begin_dual(graph, problem.law, iterate, i, slip_square(graph, iterate, i, 0.0), 0.0)
    return 0


@entry_point(ALONG_SIGNATURE)
def _update_estimates(problem: Table, first: int, last: int, alpha: float) -> float:
    """Let w follow a Newton step Δv, of which α has been taken."""
    iterate, law = problem.iterate, problem.law
    for i in range(first, last):
        least = law.friction[i] * iterate.gn[i] / law.tangential_gain[i]
        follow_dual(problem.graph, law, iterate, i, alpha, 0.0, least)
    return 0.0


SAP_LAW = ContactLaw(
    _prepare,
    _evaluate,
    _slopes,
    _costs,
    coupled=True,
    damps_linearly=True,
    begin_estimates=_begin_estimates,
    update_estimates=_update_estimates,
)

COULOMB_LAW = DELIVERED_LAW._replace(prepare=_prepare_coulomb, damps_linearly=True)
"""The same normal law with Coulomb's friction, bounded by the normal impulse of the solution."""
