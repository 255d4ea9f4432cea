"""`Tamsi`: two-way coupled contact and friction, solved by Newton's method with TALS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from asperity.integrators.integrator import (
    SteppedIntegrator,
    refuse_unused,
    require_count,
    require_positive,
)
from asperity.integrators.registry import Variant, register

if TYPE_CHECKING:
    from asperity.integrators.methods.method import Method

__all__ = ["Tamsi"]


def _reference(step: float) -> Tamsi:
    # TAMSI's friction has another form below the stiction tolerance, and one coefficient.
    return Tamsi(time_step=step, tolerance=1e-4, resolve_impacts=False)


@register(
    "tamsi",
    variants=(Variant("time_step"), Variant("accuracy", "controlled")),
    reference=_reference,
)
@dataclass(frozen=True, kw_only=True)
class Tamsi(SteppedIntegrator):
    """The transition-aware modified semi-implicit method (TAMSI), in fixed steps as in the paper.

    With ``accuracy`` instead of ``time_step`` it doubles steps under error control, like `Cenic`.

    Hunt–Crossley contact and regularised friction are coupled both ways and implicit in velocities,
    at the geometry of the step's beginning. The forces are those of the continuous law. The
    equations are not those of a minimum: Newton's method with the transition-aware line search
    nearly always converges, but nothing guarantees it. There is one coefficient of friction, the
    dynamic one. Contacts are as stiff as their material, so stiff materials with long steps cost
    iterations.

    Limits, equalities, dry friction, linear servos, joint springs, joint dampers and external
    systems are implicit, as in `Icf`.

    Parameters
    ----------
    time_step : float, optional
        Step size [s], 1e-3 if there is no ``accuracy``.
    accuracy, max_step, min_step, error_norm, velocity_weight
        Of error control, as in `Cenic`.
    coupling : {"two-way", "one-way"}
        Whether normal forces follow the velocities of the step's end (section V-C), or are those of
        its beginning: semi-implicit Euler (section V-A), unstable in stiff contact.
    friction_law : {"linear", "parabolic"}
        Friction below the stiction tolerance: the paper's ramp (equation 7), or the parabola of
        Drake, which is twice as steep at rest and smooth at its end.
    transition_aware : bool
        Whether TALS cuts Newton's updates (section III-A). Off only for comparisons.
    tolerance : float
        A step is solved when no contact velocity changes by more than this part of the stiction
        tolerance.
    max_iterations : int
        Newton iterations after which a solve counts as failed.
    substeps : bool
        Divide a fixed step that fails, down to a millionth, instead of stopping the simulation with
        ``Status.NOT_CONVERGED``. Error control tries smaller steps in any case, and refuses False.
    resolve_impacts : bool
        As in `Cenic` under error control, and as in `Icf` in fixed steps.

    Notes
    -----
    ``docs/verification.md`` shows which cases of known outcome it gets right, and which wrong.
    """

    coupling: Literal["two-way", "one-way"] = "two-way"
    friction_law: Literal["linear", "parabolic"] = "linear"
    transition_aware: bool = True
    tolerance: float = 1e-2
    max_iterations: int = 30
    substeps: bool = True

    resolve_impacts: bool = True

    default_time_step = 1e-3
    takes_every_actuator = True
    takes_every_friction = True
    starts_asleep = True

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive("tolerance", self.tolerance)
        require_count("max_iterations", self.max_iterations)
        if self.time_step is None:
            refuse_unused(
                self,
                ("substeps",),
                "belongs to fixed steps, and error control tries smaller steps in any case; omit "
                "it, or give a time_step instead of an accuracy.",
            )

    @property
    def sees_impacts(self) -> bool:
        return self.resolve_impacts

    @property
    def divides_steps(self) -> bool:  # type: ignore[override]
        return self.substeps

    def make_base_method(self) -> Method:
        from asperity.integrators.methods.tamsi.tamsi_method import TamsiMethod

        return TamsiMethod(
            two_way=self.coupling == "two-way",
            parabolic=self.friction_law == "parabolic",
            transition_aware=self.transition_aware,
            tolerance=self.tolerance,
            max_iterations=int(self.max_iterations),
            center_robots=self.time_step is not None,
            explicit_springs=self.time_step is not None,
            looks_ahead=self.time_step is not None,
        )
