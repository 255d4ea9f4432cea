"""The contact laws as a problem holds them: entry points, of which it has one set.

A simulation compiles the law that it uses and no other.
"""

from __future__ import annotations

from typing import NamedTuple

from asperity.compiled import EntryPoint, Table, entry_point
from asperity.convex.potentials.contacts import (
    ALONG_SIGNATURE,
    EVALUATE_SIGNATURE,
    PREPARE_SIGNATURE,
)
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
from asperity.convex.problem import LAGGED, SAP, SIMILAR

__all__ = ["LAGGED_LAW", "SAP_LAW", "SIMILAR_LAW", "ContactLaw", "install_law"]


class ContactLaw(NamedTuple):
    """Entry points of a law; `asperity.convex.potentials.contacts` says what they do."""

    number: int
    """`LAGGED`, `SIMILAR` or `SAP`."""
    prepare: EntryPoint
    evaluate: EntryPoint
    along: EntryPoint
    cost_along: EntryPoint

    @property
    def kernels(self) -> tuple[EntryPoint, ...]:
        """What must be compiled."""
        return self[1:]


def install_law(problem: Table, law: ContactLaw) -> None:
    """Let a problem use a law."""
    problem.law = law.number
    problem.prepare_contacts = law.prepare.address
    problem.evaluate_contacts = law.evaluate.address
    problem.along_contacts = law.along.address
    problem.contact_cost_along = law.cost_along.address


@entry_point(PREPARE_SIGNATURE)
def _prepare_lagged(problem: Table, contacts: Table, step: float, ncontact: int) -> int:
    prepare_lagged(problem, contacts, step, ncontact, 0.0)
    return 0


@entry_point(EVALUATE_SIGNATURE)
def _evaluate_lagged(problem: Table, first: int, last: int) -> float:
    return evaluate_lagged(problem, first, last)


@entry_point(ALONG_SIGNATURE)
def _along_lagged(problem: Table, first: int, last: int, alpha: float) -> float:
    slope, problem.contact_curvature = along_lagged(problem, first, last, alpha)
    return slope


@entry_point(ALONG_SIGNATURE)
def _lagged_cost_along(problem: Table, first: int, last: int, alpha: float) -> float:
    return lagged_cost_along(problem, first, last, alpha)


@entry_point(PREPARE_SIGNATURE)
def _prepare_similar(problem: Table, contacts: Table, step: float, ncontact: int) -> int:
    prepare_similar(problem, contacts, step, ncontact)
    return 0


@entry_point(EVALUATE_SIGNATURE)
def _evaluate_similar(problem: Table, first: int, last: int) -> float:
    return evaluate_similar(problem, first, last)


@entry_point(ALONG_SIGNATURE)
def _along_similar(problem: Table, first: int, last: int, alpha: float) -> float:
    slope, problem.contact_curvature = along_similar(problem, first, last, alpha)
    return slope


@entry_point(ALONG_SIGNATURE)
def _similar_cost_along(problem: Table, first: int, last: int, alpha: float) -> float:
    return similar_cost_along(problem, first, last, alpha)


@entry_point(PREPARE_SIGNATURE)
def _prepare_sap(problem: Table, contacts: Table, step: float, ncontact: int) -> int:
    prepare_sap(problem, contacts, step, ncontact)
    return 0


@entry_point(EVALUATE_SIGNATURE)
def _evaluate_sap(problem: Table, first: int, last: int) -> float:
    return evaluate_sap(problem, first, last)


@entry_point(ALONG_SIGNATURE)
def _along_sap(problem: Table, first: int, last: int, alpha: float) -> float:
    slope, problem.contact_curvature = along_sap(problem, first, last, alpha)
    return slope


@entry_point(ALONG_SIGNATURE)
def _sap_cost_along(problem: Table, first: int, last: int, alpha: float) -> float:
    return sap_cost_along(problem, first, last, alpha)


LAGGED_LAW = ContactLaw(
    LAGGED, _prepare_lagged, _evaluate_lagged, _along_lagged, _lagged_cost_along
)
SIMILAR_LAW = ContactLaw(
    SIMILAR, _prepare_similar, _evaluate_similar, _along_similar, _similar_cost_along
)
SAP_LAW = ContactLaw(SAP, _prepare_sap, _evaluate_sap, _along_sap, _sap_cost_along)
