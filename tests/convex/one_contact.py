"""One contact of a contact law, whose numbers and velocity are set directly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

import numpy as np
from convex_problems import Case, curvature, empty_case

from asperity.convex.potentials.contact_driver import (
    along_contacts,
    contact_cost_along,
    evaluate_contacts,
    prepare_contacts,
)
from asperity.convex.potentials.law_table import ContactLaw, install_law

STEP = 0.01
DEFAULTS = {
    "signed_distance": -1e-3,
    "stiffness": 1e5,
    "dissipation": 2.0,
    "static_friction": 0.8,
    "dynamic_friction": 0.8,
    "stiction_tolerance": 1e-3,
    "inverse_mass": 1.0,
}


class OneContact:
    """A contact of a free body with the world, under a law."""

    def __init__(self, law: ContactLaw) -> None:
        self.case: Case = empty_case([6], [True], contacts=1, links=1, chain=1, rows=1, entries=6)
        self.case.contacts.link[0] = -1, 0
        self.case.contacts.count = self.case.contacts.link_count = 1
        assert self.case.build() >= 0
        install_law(self.case.problem, law)

    def give(self, before: np.ndarray, given: dict[str, float]) -> None:
        """Set the contact's numbers, and its velocity before the step."""
        for name, value in {**DEFAULTS, **given}.items():
            getattr(self.case.contacts, name)[0] = value
        self.set_velocity(before)

    def prepare(self, before: np.ndarray, step: float = STEP, **given: float) -> Self:
        """Let the law prepare a step of the contact with these numbers."""
        self.give(before, given)
        prepare_contacts(*self.case.tables[:2], step, 1)
        return self

    def set_velocity(self, v: np.ndarray, prefix: str = "v") -> None:
        """Set the contact's velocity, or by ``prefix`` "dv" its change."""
        for name, value in zip(("1", "2", "n"), v, strict=True):
            getattr(self.case.problem.iterate, prefix + name)[0] = value

    def cost(self, v: np.ndarray) -> float:
        """ℓ(v)."""
        self.set_velocity(v)
        return float(evaluate_contacts(self.case.problem, 0, 1))

    def impulse(self, v: np.ndarray) -> np.ndarray:
        """−∂ℓ/∂v."""
        self.cost(v)
        p = self.case.problem
        return np.array([p.iterate.g1[0], p.iterate.g2[0], p.iterate.gn[0]])

    def hessian(self, v: np.ndarray) -> np.ndarray:
        """∂²ℓ/∂v²."""
        self.cost(v)
        return curvature(self.case.problem, 0)

    def along(self, v: np.ndarray, dv: np.ndarray, alpha: float) -> tuple[float, float, float]:
        """Cost at v + α Δv, and its first and second derivative by α."""
        self.set_velocity(v)
        self.set_velocity(dv, "dv")
        problem = self.case.problem
        return contact_cost_along(problem, 0, 1, alpha), *along_contacts(problem, 0, 1, alpha)


def slope(f: Callable[[float], np.ndarray | float], h: float) -> np.ndarray | float:
    """f'(0) by central differences of fourth order."""
    return (8.0 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12.0 * h)
