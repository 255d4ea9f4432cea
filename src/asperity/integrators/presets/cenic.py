"""`Cenic`: convex steps under error control."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from asperity.errors import ArgumentError
from asperity.integrators.integrator import (
    Integrator,
    error_control,
    refuse_unused,
    require_choices,
    require_count,
    require_error_control,
    require_positive,
)
from asperity.integrators.registry import Variant, register
from asperity.integrators.steppings.stepping import ErrorControl, ErrorNorm

if TYPE_CHECKING:
    from asperity.integrators.methods.method import Method, WrappingMethod

__all__ = ["Cenic"]


# Of the convex solver, however rough the accuracy (CENIC VI-B).
_TIGHTEST_TOLERANCE = 1e-8

# Of bounds of friction, over the accuracy, and however rough that is.
_FRICTION_TOLERANCE = 10.0
_LOOSEST_FRICTION_TOLERANCE = 1e-2


@register(
    "cenic",
    variants=(Variant("accuracy"), Variant("accuracy", "trapezoid", error_estimate="trapezoid")),
)
@dataclass(frozen=True, kw_only=True)
class Cenic(Integrator):
    """Error-controlled convex integration (CENIC, algorithm 1).

    Parameters
    ----------
    accuracy : float
        Largest estimated error of a step in any coordinate: metres, radians. 1e-3 by default, which
        the paper found sufficient against discretisation artifacts (section VIII).
    max_step : float
        Largest step [s]; 0.1 as in the paper. The first attempt is a tenth of it, or
        √(accuracy/10) seconds if that is shorter.
    min_step : float
        Smallest step [s]. If a step of this size is refused, the simulation ends with
        ``Status.STEP_TOO_SMALL``.
    error_estimate : {"extrapolation", "step-doubling", "trapezoid"}
        How a step estimates its error, and of which order it is. ``"extrapolation"``: step doubling
        whose two solutions are combined to one of second order wherever the active set does not
        change within the step. Swings keep their energy. ``"step-doubling"``: the paper's
        first-order scheme. ``"trapezoid"``: the paper's second-order scheme, which conserves energy
        in free motion and in contacts that a step resolves (sections V-B, VII-A). Elsewhere it
        would ring, and extrapolation replaces it. With ``friction_bound="lagged"`` it is the
        paper's everywhere: at 1e-3 a stack at rest then rises, and sliding bodies creep.
    friction_bound : {"delivered", "lagged"}
        What limits friction. ``"delivered"``: the normal impulse that a step delivers, with the
        coefficient at the resulting slip. A step in which both do not agree is refused.
        ``"lagged"``: the state before the step predicts both (the paper's law, sections IV-B and
        V-D). It is wrong by a multiple in short impacts, and bodies break loose a step late.
    error_norm : {"position", "state"}
        What the accuracy bounds: positions, as in the paper, or velocities as well, in m/s and
        rad/s, for comparisons with general-purpose integrators.
    velocity_weight : float
        Errors of velocity count as w·δt times their size: as the error of position that they lead
        to within w more steps, or w/4 where the active set of contacts and constraints changes.
        With 0, the paper's norm, only positions count, and a step may lose any velocity that moves
        nothing by more than the accuracy.
    tolerance_ratio : float
        κ of equation 34: the convex solver's tolerance relative to the accuracy.
    max_iterations : int
        Newton iterations after which a solve counts as not converged and the step is retried
        smaller.
    friction_passes : int
        Largest number of changes of the bounds of friction in a solve. A step in which they then
        differ from those of the solution by more than a tenth is refused. For
        ``friction_bound="delivered"`` alone, like the next option.
    friction_tolerance : float
        Largest relative difference of friction's bounds from those of the solution. By default ten
        times the accuracy, but at most 1e-2.
    hessian_reuse : bool
        Keep a factorization for further iterations while it converges fast enough (equation 35).
        Off by default: the block factorization costs no more than the extra iterations.
    resolve_impacts : bool
        Whether steps resolve impacts whose rebound exceeds the accuracy. The contact law predicts
        how fast a closing contact will part again, which the estimated error does not show. Not in
        the paper. ``Statistics.impact_rejections`` counts the refused steps.
    sleep : bool, optional
        Whether islands at rest keep their last solution for as long as a bound of their motion
        allows it (docs/models.md, ‘Sleep’). By default the model decides, by its option flag. Not
        with the trapezoid.

    Notes
    -----
    ``docs/verification.md`` shows which cases of known outcome it gets right, and which wrong.
    """

    takes_every_actuator = True
    takes_every_friction = True

    accuracy: float = 1e-3
    max_step: float = 0.1
    min_step: float = 1e-9
    error_estimate: Literal["extrapolation", "step-doubling", "trapezoid"] = "extrapolation"
    friction_bound: Literal["delivered", "lagged"] = "delivered"
    error_norm: ErrorNorm = "position"
    velocity_weight: float = 4.0
    tolerance_ratio: float = 1e-3
    max_iterations: int = 100
    friction_passes: int = 15
    friction_tolerance: float | None = None
    hessian_reuse: bool = False
    resolve_impacts: bool = True
    sleep: bool | None = None

    time_step = None

    def __post_init__(self) -> None:
        require_choices(self)
        if self.sleep and self.error_estimate == "trapezoid":
            raise ArgumentError(
                "sleep=True is not for error_estimate='trapezoid'; use 'extrapolation'."
            )
        require_positive("accuracy", self.accuracy)
        require_error_control(self)
        require_positive("tolerance_ratio", self.tolerance_ratio)
        require_count("max_iterations", self.max_iterations)
        require_count("friction_passes", self.friction_passes)
        if self.friction_tolerance is not None:
            require_positive("friction_tolerance", self.friction_tolerance)
        if self.friction_bound == "lagged":
            refuse_unused(
                self,
                ("friction_passes", "friction_tolerance"),
                "has no effect with friction_bound='lagged', whose bounds are known before the "
                "solve; omit it, or take friction_bound='delivered'.",
            )

    @property
    def takes_sleep(self) -> bool:  # type: ignore[override]
        return self.error_estimate != "trapezoid"

    @property
    def no_flexes(self) -> str | None:
        if self.error_estimate == "trapezoid":
            return "Cenic with error_estimate='trapezoid'"
        return None

    @property
    def stepping(self) -> ErrorControl:
        return error_control(self, self.resolve_impacts)

    def make_method(self) -> Method:
        from asperity.integrators.methods.extrapolation import Extrapolation
        from asperity.integrators.methods.icf import ICF_LAWS, IcfMethod
        from asperity.integrators.methods.step_doubling import StepDoubling
        from asperity.integrators.methods.trapezoid import DampedTrapezoid, Trapezoid

        tolerance = self.friction_tolerance
        if tolerance is None:
            tolerance = min(_FRICTION_TOLERANCE * self.accuracy, _LOOSEST_FRICTION_TOLERANCE)
        method = IcfMethod(
            law=ICF_LAWS[self.friction_bound],
            tolerance=max(self.tolerance_ratio * self.accuracy, _TIGHTEST_TOLERANCE),
            max_iterations=int(self.max_iterations),
            hessian_reuse=self.hessian_reuse,
            friction_passes=int(self.friction_passes),
            friction_tolerance=tolerance,
            refuse_unsettled=True,
            center_robots=False,
            explicit_springs=False,
            looks_ahead=False,
        )
        estimates: dict[str, type[WrappingMethod]] = {
            "extrapolation": Extrapolation,
            "step-doubling": StepDoubling,
            "trapezoid": Trapezoid if self.friction_bound == "lagged" else DampedTrapezoid,
        }
        return estimates[self.error_estimate](method)
