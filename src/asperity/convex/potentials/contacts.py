"""The contact law of a problem: one call for all contacts, whatever the law.

The law is reached through the addresses that `asperity.convex.potentials.laws` has put into the
problem. A call serves all contacts of an island, so that the indirection costs nothing.
"""

from __future__ import annotations

from numba import types

from asperity.compiled import Table, compiled
from asperity.compiled.calls import call_ppdp_status, call_ppp_double, call_pppd_double
from asperity.contact.contact_set import CONTACT_SET
from asperity.convex.problem import PROBLEM

__all__ = [
    "ALONG_SIGNATURE",
    "EVALUATE_SIGNATURE",
    "PREPARE_SIGNATURE",
    "along_contacts",
    "contact_cost_along",
    "evaluate_contacts",
    "prepare_contacts",
]

# Of a law's entry points.
PREPARE_SIGNATURE = types.int64(PROBLEM.type, CONTACT_SET.type, types.float64, types.int64)
EVALUATE_SIGNATURE = types.float64(PROBLEM.type, types.int64, types.int64)
ALONG_SIGNATURE = types.float64(PROBLEM.type, types.int64, types.int64, types.float64)


@compiled
def prepare_contacts(problem: Table, contacts: Table, step: float, ncontact: int) -> None:
    """Fill the law's numbers for a step from this configuration.

    Needs contact velocities at the beginning of the step in ``v1, v2, vn``, and the problem's A.
    """
    call_ppdp_status(problem.prepare_contacts, problem, contacts, step, ncontact)


@compiled
def evaluate_contacts(problem: Table, first: int, last: int) -> float:
    """Fill impulses and curvatures of contacts ``first .. last``; return their cost."""
    return call_ppp_double(problem.evaluate_contacts, problem, first, last)


@compiled
def along_contacts(problem: Table, first: int, last: int, alpha: float) -> tuple[float, float]:
    """First and second derivative of the contacts' cost at ``v + α Δv`` along Δv."""
    slope = call_pppd_double(problem.along_contacts, problem, first, last, alpha)
    return slope, problem.contact_curvature


@compiled
def contact_cost_along(problem: Table, first: int, last: int, alpha: float) -> float:
    """Cost of the contacts at ``v + α Δv``."""
    return call_pppd_double(problem.contact_cost_along, problem, first, last, alpha)
