"""The *lagged* and *delivered* potentials of irrotational contact fields (ICF), CENIC's contact.

With the step size δt, contact velocity (v_t, v_n) at the end of the step and subscript 0 for its
beginning (CENIC IV-A, IV-B, V-D; equations 7, 8, 13, 14):

    normal      γ_n = δt (f_e0 − δt k v_n)₊ (1 − d v_n)₊,            f_e0 = −k φ_0
    tangential  γ_t = −μ(‖v_t0‖/v_s) n_0 v_t / √(‖v_t‖² + v_s²),     n_0 = δt (f_e0)₊ (1 − d v_n0)₊
    friction    μ(s) = (μ_s − μ_d) σ(s) + μ_d,  σ(s) = ½ (1 − f(|s| − Δ)/f(Δ)),  f(s) = s/√(s² + 1)

Normal and tangential parts do not mix, because n_0 and μ are those of the beginning of the step:
that is what makes the law convex and free of gliding. The cost is

    ℓ = μ n_0 (√(‖v_t‖² + v_s²) − v_s) − N(v_n),   N' = γ_n.

For v_s the kernels take max(v_s, σ μ n_0 w) with w the inverse mass at the contact, the bound of
SAP V-B and of the ICF paper on how stiff friction gets against inertia: a contact sticks to within
σ g δt. CENIC has σ = 0.

Per contact the kernels keep ``friction_limit`` = μ n_0, ``soft_slip_square`` = v_s², and the
numbers of `potentials.normal`: ``cutoff`` v̂, ``normal_slope`` G and ``normal_bend`` C.

Friction that stops a slip is what makes the problem hard for Newton's method: it resists with a
nearly constant force, which has no curvature along the slip, until within v_s it turns around. The
step then passes far beyond, the line search cuts it to a few percent, and all contacts wait for
one. TAMSI stops such steps at the transition, contact by contact; a convex line search cannot. The
norm ‖v_t‖ of total-variation problems has the same trouble, and its cure (T. F. Chan, G. H. Golub
and P. Mulet, A nonlinear primal-dual method for total variation-based image restoration, SIAM J.
Sci. Comput. 20, 1999) serves here: with η = √(‖v_t‖² + v_s²) the direction of friction becomes a
variable w of its own, Newton's method linearises w η = v_t, and without w the curvature is left as

    f (1 − ½ (w v_tᵀ + v_t wᵀ)/η),   f = μ n_0/η,   w ← (v_t + Δv_t − w (v_t·Δv_t)/η)/η, ‖w‖ ≤ 1.

It is positive definite for every such w, so the direction is one of descent. With w = v_t/η, which
it tends to, it is the Hessian; with w = 0 the secant from this slip to none, whose step ends where
the slip does. That is where w begins if friction could stop the slip within the step, being below
μ n_0 times the contact's inverse mass (``stoppable``).

The damper makes the normal impulse a quadratic function, whose tangent at the speed of an impact is
twice as steep as its secant to the end: every step of Newton's method goes half the way. So this
curvature is a secant, too, from the present speed p below the cutoff to an estimate q of the final
one (``dual_n``), positive for every q ≥ 0 and the tangent for q = p, with which it begins:

    G + C (p + q),   n(q) ← (n(p) − (G + C (p + q)) Δv_n)₊.

The new q is where the law gives the impulse that the momentum balance of the step has asked for.

What the step's beginning predicts of the normal impulse is in a short impact a multiple of what the
step delivers, and in the first step of a contact nothing. `DELIVERED_LAW` therefore takes n_0 and μ
from the solution: as the iterates of Newton's method follow the cost, the cost follows them, with
n(v_n) for n_0 and ‖v_t‖ for ‖v_t0‖ (`asperity.convex.convex_newton`). Every iteration minimises a
convex cost, and the last one is that of the law with both at the end of the step. Until then n(v_n)
is far off, since a velocity that is nearly right may press a stiff contact by a multiple of what
it should, or not at all. So the bounds follow n(q) instead, what momentum asks for, which ends as
the same and is nearly right after one iteration. Whether they agree is asked of n(v_n).
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled, entry_point, inlined
from asperity.contact.laws import friction_of_contact
from asperity.convex.ellipsoids import slip_square
from asperity.convex.potentials.contact_driver import (
    ALONG_SIGNATURE,
    BEGIN_SIGNATURE,
    EVALUATE_SIGNATURE,
    PREPARE_SIGNATURE,
    SETTLE_SIGNATURE,
    Response,
    along_each,
    cost_along_each,
    evaluate_each,
)
from asperity.convex.potentials.friction_duals import begin_dual, follow_dual
from asperity.convex.potentials.law_table import ContactLaw
from asperity.convex.potentials.normal import (
    normal_impulse,
    normal_numbers,
    speed_of_impulse,
)

__all__ = ["DELIVERED_LAW", "LAGGED_LAW", "limit_friction", "prepare_lagged"]

# Growth of a bound from which a slip that friction could now stop is expected to end anew.
_MUCH = 2.0
# Changes of the bounds in one solve after which they are damped.
_FREE_CHANGES = 8
# Of a patch's last change: the share of it that is taken back from which it goes to and fro.
_OVERSHOOTS = 0.4


@inlined
def _coefficient(graph: Table, contacts: Table, i: int, square: float) -> float:
    """μ at a slip."""
    return friction_of_contact(contacts, graph.contact[i], np.sqrt(square))


@inlined
def _delivered_normal(law: Table, iterate: Table, i: int) -> float:
    """The law's n at the present velocity."""
    speed = max(law.cutoff[i] - iterate.vn[i], 0.0)
    normal, _, _ = normal_impulse(speed, law.normal_slope[i], law.normal_bend[i])
    return normal


@inlined
def _balanced_normal(law: Table, iterate: Table, i: int, ahead: int) -> float:
    """The n that the momentum balance has asked for along the last direction, or this one's."""
    if ahead == 1:
        return max(iterate.gn[i] - iterate.hnn[i] * iterate.dvn[i], 0.0)
    normal, _, _ = normal_impulse(law.dual_n[i], law.normal_slope[i], law.normal_bend[i])
    return normal


@inlined
def _balanced_limit(
    graph: Table, law: Table, iterate: Table, contacts: Table, i: int, ahead: int
) -> float:
    """The bound of friction that goes with that n."""
    coefficient = _coefficient(graph, contacts, i, slip_square(graph, iterate, i, float(ahead)))
    return coefficient * _balanced_normal(law, iterate, i, ahead)


@inlined
def limit_friction(graph: Table, law: Table, contacts: Table, i: int, limit: float) -> None:
    """Set the bound of friction, and what depends on it."""
    c = graph.contact[i]
    law.friction_limit[i] = limit
    law.stoppable[i] = limit * contacts.inverse_mass[c]
    law.soft_slip_square[i] = contacts.stiction_tolerance[c] * contacts.stiction_tolerance[c]


@compiled
def prepare_lagged(
    graph: Table,
    law: Table,
    iterate: Table,
    contacts: Table,
    step: float,
    ncontact: int,
    elastic_shift: float,
) -> None:
    """Fill the law's numbers from ``v1, v2, vn``, the contact velocities at the lagged state.

    ``elastic_shift`` is added to −φ per unit of v_n: 0 for a step from this configuration, δt where
    the configuration is that of the step's end (docs/equations.md, ‘Trapezoid’). What of the normal
    velocity presses nothing in over a step is added, too (docs/equations.md, ‘Pressure fields’).
    """
    for i in range(ncontact):
        c = graph.contact[i]
        k = contacts.stiffness[c]
        d = contacts.dissipation[c]
        present = -k * contacts.signed_distance[c]
        force = present + elastic_shift * k * iterate.vn[i]
        force += (step - elastic_shift) * k * contacts.carried[c]
        lagged = step * max(present, 0.0) * max(1.0 - d * iterate.vn[i], 0.0)
        slip = np.sqrt(slip_square(graph, iterate, i, 0.0))
        coefficient = friction_of_contact(contacts, c, slip)
        law.friction[i] = coefficient
        limit_friction(graph, law, contacts, i, lagged * coefficient)
        law.expected_impulse[i] = -1.0
        law.cutoff[i], law.normal_slope[i], law.normal_bend[i] = normal_numbers(force, k, d, step)


@compiled
def _settle_contact(
    problem: Table, contacts: Table, i: int, meets_halfway: bool, ahead: int
) -> None:
    """Bound a contact's friction anew."""
    graph, law = problem.graph, problem.law
    square = slip_square(graph, problem.iterate, i, float(ahead))
    law.friction[i] = _coefficient(graph, contacts, i, square)
    limit = law.friction[i] * _balanced_normal(law, problem.iterate, i, ahead)
    difference = limit - law.friction_limit[i]
    before = law.friction_change[i]
    law.friction_change[i] = difference
    if meets_halfway:
        limit -= 0.5 * difference
    elif (
        problem.newton.changes > 1
        and problem.newton.changes % 2 == 1
        and abs(difference) < 0.9 * abs(before)
    ):
        # Aitken's extrapolation of what shrinks by a factor from one change to the next.
        limit = max(limit + difference * difference / (before - difference), 0.0)
    grows = limit > _MUCH * law.friction_limit[i]
    limit_friction(graph, law, contacts, i, limit)
    if grows and square < law.stoppable[i] * law.stoppable[i]:
        law.dual1[i] = 0.0
        law.dual2[i] = 0.0


@compiled
def _patch_end(graph: Table, contacts: Table, i: int, last: int) -> int:
    """Where the points of a contact's patch end."""
    patch = contacts.patch[graph.contact[i]]
    end = i + 1
    while patch >= 0 and end < last and contacts.patch[graph.contact[end]] == patch:
        end += 1
    return end


@compiled
def _goes_to_and_fro(problem: Table, contacts: Table, first: int, last: int, ahead: int) -> bool:
    """Whether the bounds of a patch change to and fro, by about as much as the last time.

    Friction tilts the body, which presses one side of the patch more and the other less: that may
    overshoot by more than it corrects, for ever.
    """
    law = problem.law
    if problem.newton.changes < 2:
        return False
    along = 0.0
    square = 0.0
    for i in range(first, last):
        limit = _balanced_limit(problem.graph, law, problem.iterate, contacts, i, ahead)
        difference = limit - law.friction_limit[i]
        along += difference * law.friction_change[i]
        square += law.friction_change[i] * law.friction_change[i]
    return along < -_OVERSHOOTS * square


@compiled
def _anticipate_contact(graph: Table, law: Table, iterate: Table, contacts: Table, i: int) -> None:
    """Let a bound be that of the end of Newton's direction.

    Whether a contact breaks loose is not to depend on what a direction goes beyond.
    """
    c = graph.contact[i]
    if contacts.static_friction[c] != contacts.dynamic_friction[c]:
        return
    limit = _balanced_limit(graph, law, iterate, contacts, i, 1)
    law.friction_change[i] = limit - law.friction_limit[i]
    limit_friction(graph, law, contacts, i, limit)


@entry_point(SETTLE_SIGNATURE)
def _measure(problem: Table, contacts: Table, first: int, last: int, ahead: int) -> int:
    """Measure how far bounds of friction are from those of the velocities.

    That is as velocity at the contacts, in the root mean square, so that what is light and what is
    heavy count alike.
    """
    iterate, law, graph = problem.iterate, problem.law, problem.graph
    total = 0.0
    change = 0.0
    for i in range(first, last):
        w = contacts.inverse_mass[graph.contact[i]]
        normal = (
            _balanced_normal(law, iterate, i, 1)
            if ahead == 1
            else _delivered_normal(law, iterate, i)
        )
        square = slip_square(graph, iterate, i, float(ahead))
        limit = _coefficient(graph, contacts, i, square) * normal
        mobilised = w * w * square / (square + law.soft_slip_square[i])
        largest = max(limit, law.friction_limit[i])
        difference = limit - law.friction_limit[i]
        total += mobilised * largest * largest
        change += mobilised * difference * difference
    problem.newton.bounds_square = total
    problem.newton.changes_square = change
    return 0


@entry_point(SETTLE_SIGNATURE)
def _settle(problem: Table, contacts: Table, first: int, last: int, ahead: int) -> int:
    """Bound friction by normal impulses. Needs the estimates of the present velocities."""
    law, newton = problem.law, problem.newton
    if law.damps_linearly == 1 and newton.residual <= newton.wanted_residual:
        # A linear law may converge at once, in a step that begins without contact: what momentum
        # has asked for along it is then nothing.
        for k in range(first, last):
            law.dual_n[k] = max(law.cutoff[k] - problem.iterate.vn[k], 0.0)
    i = first
    while i < last:
        end = _patch_end(problem.graph, contacts, i, last)
        # What goes to and fro, as a foot between sticking and slipping may, meets halfway.
        meets_halfway = problem.newton.changes >= _FREE_CHANGES and ahead == 0
        if end > i + 1 and not meets_halfway:
            if problem.newton.changes == 0:
                law.to_and_fro[i] = 0.0
            elif _goes_to_and_fro(problem, contacts, i, end, ahead):
                law.to_and_fro[i] = 1.0
            meets_halfway = law.to_and_fro[i] == 1.0
        if ahead == 1 and end == i + 1:
            _anticipate_contact(problem.graph, law, problem.iterate, contacts, i)
        else:
            for point in range(i, end):
                _settle_contact(problem, contacts, point, meets_halfway, ahead)
        i = end
    return 0


@inlined
def _respond(law: Table, i: int, x: float, y: float, vn: float) -> Response:
    """Cost, impulses, and the curvatures of the estimates ``dual1``, ``dual2`` and ``dual_n``."""
    limit = law.friction_limit[i]
    slope = law.normal_slope[i]
    bend = law.normal_bend[i]
    norm = np.sqrt(x * x + y * y + law.soft_slip_square[i])
    inverse = 1.0 / norm
    f = limit * inverse
    x *= inverse
    y *= inverse
    speed = max(law.cutoff[i] - vn, 0.0)
    active = 1.0 if speed > 0.0 else 0.0
    normal, _, normal_cost = normal_impulse(speed, slope, bend)
    # Both parts of the cost vanish without contact.
    return (
        normal_cost + limit * (norm - np.sqrt(law.soft_slip_square[i])),
        (-limit * x, -limit * y, normal),
        (
            f * (1.0 - law.dual1[i] * x),
            -0.5 * f * (law.dual1[i] * y + law.dual2[i] * x),
            f * (1.0 - law.dual2[i] * y),
            0.0,
            0.0,
            active * (slope + bend * (speed + law.dual_n[i])),
        ),
    )


@inlined
def _along(
    law: Table, i: int, x: float, y: float, vn: float, dx: float, dy: float, dn: float
) -> tuple[float, float]:
    """First and second derivative of the cost along a direction."""
    speed = max(law.cutoff[i] - vn, 0.0)
    inverse_square = 1.0 / (x * x + y * y + law.soft_slip_square[i])
    f = law.friction_limit[i] * np.sqrt(inverse_square)
    w = x * dx + y * dy
    active = dn if speed > 0.0 else 0.0
    normal, curvature, _ = normal_impulse(speed, law.normal_slope[i], law.normal_bend[i])
    return (
        f * w - active * normal,
        f * (dx * dx + dy * dy - w * w * inverse_square) + active * active * curvature,
    )


@entry_point(PREPARE_SIGNATURE)
def _prepare(problem: Table, contacts: Table, step: float, ncontact: int) -> int:
    prepare_lagged(problem.graph, problem.law, problem.iterate, contacts, step, ncontact, 0.0)
    return 0


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
    """Fill the estimates w and q for the first Newton step from the present velocities."""
    graph, iterate, law = problem.graph, problem.iterate, problem.law
    for i in range(first, last):
        square = slip_square(graph, iterate, i, 0.0)
        begin_dual(graph, law, iterate, i, square, law.soft_slip_square[i])
        law.dual_n[i] = max(law.cutoff[i] - iterate.vn[i], 0.0)
        if law.expected_impulse[i] >= 0.0:
            law.dual_n[i] = speed_of_impulse(
                law.expected_impulse[i], law.normal_slope[i], law.normal_bend[i]
            )
    return 0


@entry_point(ALONG_SIGNATURE)
def _update_estimates(problem: Table, first: int, last: int, alpha: float) -> float:
    """Let the estimates w and q follow a Newton step Δv, of which α has been taken."""
    graph, iterate, law = problem.graph, problem.iterate, problem.law
    for i in range(first, last):
        follow_dual(graph, law, iterate, i, alpha, law.soft_slip_square[i], 0.0)
        impulse = max(iterate.gn[i] - iterate.hnn[i] * iterate.dvn[i], 0.0)
        law.expected_impulse[i] = -1.0
        law.dual_n[i] = speed_of_impulse(impulse, law.normal_slope[i], law.normal_bend[i])
    return 0.0


LAGGED_LAW = ContactLaw(
    _prepare,
    _evaluate,
    _slopes,
    _costs,
    coupled=False,
    begin_estimates=_begin_estimates,
    update_estimates=_update_estimates,
)

DELIVERED_LAW = LAGGED_LAW._replace(measure=_measure, settle=_settle)
"""The law whose friction is bounded by the normal impulse of the solution, not a prediction."""
