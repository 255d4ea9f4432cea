"""A contact law as a problem holds it: the addresses of one set of entry points.

A simulation compiles the law that it uses, and no other.
"""

from __future__ import annotations

from typing import NamedTuple

from asperity.compiled import EntryPoint, Table

__all__ = ["ContactLaw", "has_law", "install_law"]


class ContactLaw(NamedTuple):
    """Entry points of a law; `asperity.convex.potentials.contact_driver` says what they do."""

    prepare: EntryPoint
    evaluate: EntryPoint
    along: EntryPoint
    cost_along: EntryPoint
    coupled: bool
    """Whether the curvatures h_1n and h_2n of normal with tangential are other than zero."""
    damps_linearly: bool = False
    """Whether dissipation is linear, and not that of Hunt and Crossley."""
    begin_estimates: EntryPoint | None = None
    """Of a law whose curvatures are those of estimates, not of the present velocities alone."""
    update_estimates: EntryPoint | None = None
    measure: EntryPoint | None = None
    settle: EntryPoint | None = None
    """Of a law with numbers that depend on the solution, and are to agree with it at the end."""

    @property
    def kernels(self) -> tuple[EntryPoint, ...]:
        """What must be compiled."""
        return tuple(one for one in self if isinstance(one, EntryPoint))


def install_law(problem: Table, law: ContactLaw) -> None:
    """Let a problem use a law."""
    problem.law.prepare_contacts = law.prepare.address
    problem.law.evaluate_contacts = law.evaluate.address
    problem.law.along_contacts = law.along.address
    problem.law.contact_cost_along = law.cost_along.address
    problem.law.coupled = int(law.coupled)
    problem.law.damps_linearly = int(law.damps_linearly)
    problem.law.begin_estimates = law.begin_estimates.address if law.begin_estimates else 0
    problem.law.update_estimates = law.update_estimates.address if law.update_estimates else 0
    problem.law.measure_contacts = law.measure.address if law.measure else 0
    problem.law.settle_contacts = law.settle.address if law.settle else 0


def has_law(problem: Table, law: ContactLaw) -> bool:
    """Whether a problem uses this law."""
    return bool(problem.law.evaluate_contacts == law.evaluate.address)
