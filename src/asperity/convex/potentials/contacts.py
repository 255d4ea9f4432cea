"""The contact law of a problem: one call for all contacts, whatever the law.

The branch is outside the loops over contacts, so that the choice costs nothing.
"""

from __future__ import annotations

from asperity.compiled import compiled
from asperity.convex.potentials.lagged import (
    along_lagged,
    evaluate_lagged,
    lagged_cost_along,
    prepare_lagged,
)
from asperity.convex.potentials.sap import along_sap, evaluate_sap, prepare_sap, sap_cost_along
from asperity.convex.potentials.similar import (
    along_similar,
    evaluate_similar,
    prepare_similar,
    similar_cost_along,
)
from asperity.convex.problem import LAGGED, PROBLEM, SIMILAR

__all__ = ["along_contacts", "contact_cost_along", "evaluate_contacts", "prepare_contacts"]

_problem = PROBLEM.get


@compiled
def prepare_contacts(problem, contacts, step, ncontact):
    """Fill the law's numbers for a step from this configuration.

    Needs contact velocities at the beginning of the step in ``v1, v2, vn``, and the problem's A.
    """
    law = _problem(problem, "law")
    if law == LAGGED:
        prepare_lagged(problem, contacts, step, ncontact, 0.0)
    elif law == SIMILAR:
        prepare_similar(problem, contacts, step, ncontact)
    else:
        prepare_sap(problem, contacts, step, ncontact)


@compiled
def evaluate_contacts(problem, first, last):
    """Fill impulses and curvatures of contacts ``first .. last``; return their cost."""
    law = _problem(problem, "law")
    if law == LAGGED:
        return evaluate_lagged(problem, first, last)
    if law == SIMILAR:
        return evaluate_similar(problem, first, last)
    return evaluate_sap(problem, first, last)


@compiled
def along_contacts(problem, first, last, alpha):
    """First and second derivative of the contacts' cost at ``v + α Δv`` along Δv."""
    law = _problem(problem, "law")
    if law == LAGGED:
        return along_lagged(problem, first, last, alpha)
    if law == SIMILAR:
        return along_similar(problem, first, last, alpha)
    return along_sap(problem, first, last, alpha)


@compiled
def contact_cost_along(problem, first, last, alpha):
    """Cost of the contacts at ``v + α Δv``."""
    law = _problem(problem, "law")
    if law == LAGGED:
        return lagged_cost_along(problem, first, last, alpha)
    if law == SIMILAR:
        return similar_cost_along(problem, first, last, alpha)
    return sap_cost_along(problem, first, last, alpha)
