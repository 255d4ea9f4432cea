"""What a simulator needs of an integrator, and the checks of its options."""

from __future__ import annotations

import abc
import math
from collections.abc import Iterable

from asperity.compiled import Kernel
from asperity.errors import ModelError
from asperity.integrators.own_results import OwnResults
from asperity.integrators.world import World

__all__ = [
    "ERROR_NORMS",
    "Integrator",
    "require_non_negative",
    "require_one_of",
    "require_positive",
]


ERROR_NORMS = {"position": 0.0, "state": 1.0}
"""Time [s] by which an error of velocity counts as one of position."""


def require_positive(name: str, value: float) -> None:
    """Refuse an option that is not a positive number."""
    if not (isinstance(value, int | float) and math.isfinite(value) and value > 0):
        raise ModelError(f"{name} must be a positive, finite number, got {value!r}.")


def require_one_of(name: str, value: str, known: Iterable[str]) -> None:
    """Refuse an option that is not among the known ones."""
    if value not in known:
        raise ModelError(f"{name} {value!r} is unknown; use one of {', '.join(sorted(known))}.")


def require_non_negative(name: str, value: float) -> None:
    """Refuse an option that is negative or not finite."""
    if not (isinstance(value, int | float) and math.isfinite(value) and value >= 0):
        raise ModelError(f"{name} must be non-negative and finite, got {value!r}.")


class Integrator(abc.ABC):
    """What a `Simulator` needs of an integrator."""

    time_step: float | None
    """The fixed step [s], or None under error control."""

    @property
    def takes_systems(self) -> bool:
        """Whether steps are coupled with external systems (`asperity.integrators.external`)."""
        return False

    @property
    def evaluates_systems(self) -> bool:
        """Whether external systems are evaluated with the dynamics, and not linearised in a step.

        Their forces and rates are then functions of the state like all others.
        """
        return False

    @property
    def solves_convex_problems(self) -> bool:
        """Whether steps, or the publication of states, solve convex problems.

        An integrator that does neither needs the kernels for it neither compiled nor loaded.
        """
        return True

    @property
    @abc.abstractmethod
    def kernels(self) -> tuple[Kernel, ...]:
        """What the integrator needs compiled; what takes longest to compile comes first."""

    @abc.abstractmethod
    def prepare(self, world: World) -> None:
        """Write the options into a world."""

    @abc.abstractmethod
    def advance(self, world: World, end: float, budget: int) -> int:
        """Advance the world's current state to time ``end`` [s]; returns a stepping's reason."""

    def own_results(self, world: World) -> OwnResults | None:
        """Results of the last step, if the integrator does not keep them in the world."""
        return None

    def fallbacks(self, world: World) -> tuple[int, int]:
        """Steps that took other friction than asked, and those among them that took none."""
        return 0, 0

    def clearance(self, world: World) -> float | None:
        """Smallest distance of surfaces over all steps [m], if the integrator keeps them apart."""
        return None
