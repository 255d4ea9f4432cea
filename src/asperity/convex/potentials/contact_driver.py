"""Contact laws over the contacts of a problem.

A law is written once, as functions of one contact i, whose numbers it reads from the problem, and
of a contact velocity (v_t, v_n):

- ``respond(law, i, v1, v2, vn)``: its cost, impulses (γ_1, γ_2, γ_n) and curvatures −∂γ/∂v,
  (h_11, h_12, h_22, h_1n, h_2n, h_nn); those of an uncoupled law have h_1n = h_2n = 0,
- ``along(law, i, v1, v2, vn, d1, d2, dn)``: the first and second derivative of the cost along
  the direction d there.

Of an ellipsoidal contact they are asked in the plane of its scaled slip, and their answers spread
from there (`asperity.convex.ellipsoids`). `evaluate_each`, `along_each` and `cost_along_each` take
them over the contacts of an island. A law's entry points are these with its functions, and
`asperity.convex.potentials.law_table` puts their addresses into the problem. A call serves all
contacts of an island, so that the indirection costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, consistent, higher_order
from asperity.compiled.calls import (
    call_ppdp_status,
    call_ppp_double,
    call_ppp_status,
    call_pppd_double,
    call_ppppn_status,
)
from asperity.contact.contact_set import CONTACT_SET
from asperity.convex.ellipsoids import scaled_slip, slip_square, spread_response
from asperity.convex.problem import PROBLEM

__all__ = [
    "ALONG_SIGNATURE",
    "BEGIN_SIGNATURE",
    "EVALUATE_SIGNATURE",
    "PREPARE_SIGNATURE",
    "SETTLE_SIGNATURE",
    "Response",
    "along_contacts",
    "along_each",
    "begin_estimates",
    "change_numbers",
    "contact_cost_along",
    "cost_along_each",
    "evaluate_contacts",
    "evaluate_each",
    "evaluate_exactly",
    "expect_impulses",
    "measure_disagreement",
    "numbers_agree",
    "prepare_contacts",
    "update_estimates",
]

# (ω δt)² up to which a step resolves a contact.
_RESOLVED = 1.0

# Of a law's entry points.
PREPARE_SIGNATURE = types.int64(PROBLEM.type, CONTACT_SET.type, types.float64, types.int64)
EVALUATE_SIGNATURE = types.float64(PROBLEM.type, types.int64, types.int64)
ALONG_SIGNATURE = types.float64(PROBLEM.type, types.int64, types.int64, types.float64)
BEGIN_SIGNATURE = types.int64(PROBLEM.type, types.int64, types.int64)

SETTLE_SIGNATURE = types.int64(
    PROBLEM.type, CONTACT_SET.type, types.int64, types.int64, types.int64
)
"""Contacts [first, last), at the present velocities (0) or at the prepared direction's end (1)."""

_Kernel = Callable[..., Any]

Response = tuple[float, tuple[float, float, float], tuple[float, float, float, float, float, float]]
"""Cost, impulses and curvatures of one contact."""


@higher_order
def evaluate_each(
    respond: _Kernel, graph: Table, law: Table, iterate: Table, first: int, last: int
) -> float:
    """`evaluate_contacts` of the law with this response."""
    total = 0.0
    if graph.ellipsoids != 0:
        for i in range(first, last):
            x = iterate.v1[i]
            y = iterate.v2[i]
            if graph.ellipsoidal[i] != 0:
                x = np.sqrt(slip_square(graph, iterate, i, 0.0))
                y = 0.0
            cost, impulse, curvature = respond(law, i, x, y, iterate.vn[i])
            iterate.g1[i], iterate.g2[i], iterate.gn[i] = impulse
            iterate.h11[i], iterate.h12[i], iterate.h22[i] = curvature[:3]
            iterate.h1n[i], iterate.h2n[i], iterate.hnn[i] = curvature[3:]
            if graph.ellipsoidal[i] != 0:
                spread_response(iterate, i, x, impulse[0], curvature[0], curvature[2], curvature[3])
            total += cost
        return total
    for i in range(first, last):
        cost, impulse, curvature = respond(law, i, iterate.v1[i], iterate.v2[i], iterate.vn[i])
        iterate.g1[i], iterate.g2[i], iterate.gn[i] = impulse
        iterate.h11[i], iterate.h12[i], iterate.h22[i] = curvature[:3]
        iterate.h1n[i], iterate.h2n[i], iterate.hnn[i] = curvature[3:]
        total += cost
    return total


@higher_order
def along_each(along: _Kernel, problem: Table, first: int, last: int, alpha: float) -> float:
    """First derivative of `along_contacts` for a law; the second goes to ``contact_curvature``."""
    iterate = problem.iterate
    slope = 0.0
    curvature = 0.0
    for i in range(first, last):
        dx = iterate.dv1[i]
        dy = iterate.dv2[i]
        dn = iterate.dvn[i]
        x = iterate.v1[i] + alpha * dx
        y = iterate.v2[i] + alpha * dy
        if problem.graph.ellipsoids != 0 and problem.graph.ellipsoidal[i] != 0:
            x, dx, dy = scaled_slip(iterate, i, alpha)
            y = 0.0
        one, two = along(problem.law, i, x, y, iterate.vn[i] + alpha * dn, dx, dy, dn)
        slope += one
        curvature += two
    problem.newton.contact_curvature = curvature
    return slope


@higher_order
def cost_along_each(
    respond: _Kernel, graph: Table, law: Table, iterate: Table, first: int, last: int, alpha: float
) -> float:
    """`contact_cost_along` of the law with this response."""
    total = 0.0
    for i in range(first, last):
        x = iterate.v1[i] + alpha * iterate.dv1[i]
        y = iterate.v2[i] + alpha * iterate.dv2[i]
        if graph.ellipsoids != 0 and graph.ellipsoidal[i] != 0:
            x = np.sqrt(slip_square(graph, iterate, i, alpha))
            y = 0.0
        cost, _, _ = respond(law, i, x, y, iterate.vn[i] + alpha * iterate.dvn[i])
        total += cost
    return total


@compiled
def prepare_contacts(problem: Table, contacts: Table, step: float, ncontact: int) -> None:
    """Fill the law's numbers for a step from this configuration.

    Needs contact velocities at the beginning of the step in ``v1, v2, vn``, and the problem's A.
    """
    call_ppdp_status(problem.law.prepare_contacts, problem, contacts, step, ncontact)


@consistent
def expect_impulses(
    graph: Table, law: Table, contacts: Table, step: float, interval: float
) -> None:
    """Let a law begin with normal impulses that have acted in another interval [s] of this state.

    These are the contact set's. A guess of the velocity says more of a contact that the step
    resolves, and nothing of a stiffer one, which a velocity that is nearly right presses by a
    multiple of what it should.
    """
    for i in range(contacts.count):
        c = graph.contact[i]
        if step * step * contacts.stiffness[c] * contacts.inverse_mass[c] > _RESOLVED:
            law.expected_impulse[i] = contacts.impulse[c, 2] * step / interval


@compiled
def evaluate_contacts(problem: Table, first: int, last: int) -> float:
    """Fill impulses and curvatures of contacts ``first .. last``; return their cost."""
    return call_ppp_double(problem.law.evaluate_contacts, problem, first, last)


@compiled
def along_contacts(problem: Table, first: int, last: int, alpha: float) -> tuple[float, float]:
    """First and second derivative of the contacts' cost at ``v + α Δv`` along Δv."""
    slope = call_pppd_double(problem.law.along_contacts, problem, first, last, alpha)
    return slope, problem.newton.contact_curvature


@compiled
def contact_cost_along(problem: Table, first: int, last: int, alpha: float) -> float:
    """Cost of the contacts at ``v + α Δv``."""
    return call_pppd_double(problem.law.contact_cost_along, problem, first, last, alpha)


@compiled
def begin_estimates(problem: Table, first: int, last: int) -> None:
    """Let the law estimate, from the present velocities, what shapes its curvatures, if it does."""
    law = problem.law
    if law.begin_estimates != 0:
        call_ppp_status(law.begin_estimates, problem, first, last)


@compiled
def evaluate_exactly(problem: Table, first: int, last: int) -> float:
    """`evaluate_contacts` with the law's own curvatures, those of the present velocities."""
    if problem.law.begin_estimates != 0:
        for i in range(first, last):
            problem.law.stoppable[i] = 0.0
        begin_estimates(problem, first, last)
    return evaluate_contacts(problem, first, last)


@compiled
def update_estimates(problem: Table, first: int, last: int, alpha: float) -> None:
    """Let the law's estimates follow a Newton step Δv, of which α has been taken."""
    law = problem.law
    if law.update_estimates != 0:
        call_pppd_double(law.update_estimates, problem, first, last, alpha)


@compiled
def measure_disagreement(
    problem: Table, contacts: Table, first: int, last: int, ahead: bool
) -> None:
    """Fill ``bounds_square`` and ``changes_square``, what `numbers_agree` is asked about."""
    call_ppppn_status(problem.law.measure_contacts, problem, contacts, first, last, int(ahead))


@compiled
def change_numbers(problem: Table, contacts: Table, first: int, last: int, ahead: bool) -> None:
    """Let the law's numbers follow the present velocities, or those where the direction leads."""
    call_ppppn_status(problem.law.settle_contacts, problem, contacts, first, last, int(ahead))


@compiled
def numbers_agree(
    newton: Table, bounds_square: float, changes_square: float, tolerance: float
) -> bool:
    """Whether the law's numbers are those of the velocities that were measured.

    Notes the disagreement.
    """
    total = bounds_square
    change = changes_square
    newton.disagreement = np.sqrt(change / total) if total > 0.0 else 0.0
    return change <= tolerance * tolerance * total
