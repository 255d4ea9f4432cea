"""Reports of advances and counters of work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from asperity.errors import Status
from asperity.shown import Shown

__all__ = ["Report", "Statistics", "reached"]

# To look up a member takes longer.
_SUCCESS = Status.SUCCESS


@dataclass(frozen=True)
class Statistics:
    """Work done since the simulator was made or reset.

    Parameters
    ----------
    steps : int
        Accepted steps.
    rejections : int
        Attempted steps that error control refused.
    solves : int
        Convex problems solved.
    iterations : int
        Newton iterations, summed over the islands of every problem.
    longest_iterations : int
        Newton iterations of the island that took most, summed over problems, as a solver without
        islands would count.
    factorizations : int
        Factorizations of an island's Hessian.
    line_search_evaluations : int
        Evaluations of the cost's derivative along a direction.
    evaluations : int
        Evaluations of kinematics, collisions and forces by MuJoCo.
    substeps : int
        Parts of steps whose solver did not converge at once (`Tamsi`, `Midas`).
    fallbacks : int
        `Midas`: steps that did not find the friction of an impact, and take it by normal forces of
        the step's beginning or leave it out. `Icf` and `Sap`: solves of islands whose friction
        differs by more than a tenth from what the delivered normal impulses allow. `Icf`, `Tamsi`
        and `Sap`: steps in which a body spins too fast for the gyroscopic forces in the middle of
        the step.
    frictionless : int
        Steps that leave it out (`Midas`).
    yielding : int
        Steps in which something, such as a contact, holds an equality constraint open, which then
        pulls with a bounded force (`Midas`).
    impact_rejections : int
        Refused attempts that were too long for an impact (`Cenic`, ``resolve_impacts``); they are
        among the ``rejections``.
    rebounds : int
        Contacts that got their rebound because fixed steps would have damped it (`Icf`, `Tamsi`,
        ``resolve_impacts``), summed over steps.
    wall_time : float
        Wall time inside the stepping loops [s].
    """

    steps: int = 0
    rejections: int = 0
    solves: int = 0
    iterations: int = 0
    longest_iterations: int = 0
    factorizations: int = 0
    line_search_evaluations: int = 0
    evaluations: int = 0
    substeps: int = 0
    fallbacks: int = 0
    frictionless: int = 0
    yielding: int = 0
    impact_rejections: int = 0
    rebounds: int = 0
    wall_time: float = 0.0

    def __sub__(self, other: Statistics) -> Statistics:
        return Statistics(
            *(a - b for a, b in zip(vars(self).values(), vars(other).values(), strict=True))
        )


@dataclass(frozen=True)
class Report(Shown):
    """How an advance ended.

    Parameters
    ----------
    status : Status
    time : float
        Simulated time reached [s].
    stats : Statistics
        Work of this advance alone.
    residual : float
        Largest relative residual ‖D∇ℓ‖/s of a convex solve that did not converge; 0 if all did.
    detail : str
        A sentence on what was not finite, or why a step did not converge, where that is known.
    """

    status: Status
    time: float
    stats: Statistics
    residual: float = 0.0
    detail: str = ""

    if not TYPE_CHECKING:
        # Calls in compiled code do not wait for what nobody may ask for.
        def __getattr__(self, name: str) -> Statistics:
            if name != "stats" or "_counts" not in vars(self):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            fields = vars(self)
            fields["stats"] = Statistics(*fields.pop("_counts"))
            return fields["stats"]

    @property
    def success(self) -> bool:
        """`Status.success` of its status: whether the requested time was reached."""
        return self.status.success

    @property
    def message(self) -> str:
        """A sentence for the user."""
        message = self.status.message
        if self.residual > 0:
            message += f" Largest relative residual: {self.residual:.1e}."
        if self.detail:
            message += f" {self.detail}"
        return message


def reached(time: float, counts: list[float]) -> Report:
    """Report of a time that was reached; `Statistics` are made of these numbers when read."""
    report = object.__new__(Report)
    # To set the fields of a frozen dataclass takes longer.
    vars(report).update(status=_SUCCESS, time=time, _counts=counts)
    return report
