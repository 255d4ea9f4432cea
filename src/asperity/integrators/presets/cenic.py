"""CENIC."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from asperity.errors import ModelError
from asperity.integrators.integrator import (
    Integrator,
    require_count,
    require_flags,
    require_non_negative,
    require_one_of,
    require_positive,
)
from asperity.integrators.registry import Variant, register
from asperity.integrators.steppings.stepping import ERROR_NORMS, ErrorControl

if TYPE_CHECKING:
    from asperity.integrators.methods.method import Method

__all__ = ["Cenic"]

_SCHEMES = ("step-doubling", "trapezoid")

# Of the convex solver, however rough the accuracy (CENIC VI-B).
_TIGHTEST_TOLERANCE = 1e-8


@register(
    "cenic", variants=(Variant("accuracy"), Variant("accuracy", "trapezoid", scheme="trapezoid"))
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
        Largest step [s]; 0.1 as in the paper. The first attempt is a tenth of it.
    min_step : float
        Smallest step [s]. A step of this size that is still refused, as forces that grow without
        bound will have it, ends the simulation with ``Status.STEP_TOO_SMALL``.
    scheme : {"step-doubling", "trapezoid"}
        First-order step doubling (robust, the default) or the second-order trapezoid. The latter
        conserves energy better but rings in stiff contact (sections V-B, VII-A): use it with an
        accuracy of 1e-3 or tighter.
    error_norm : {"position", "state"}
        What the accuracy bounds: positions, as in the paper, or velocities as well, in m/s and
        rad/s, for comparisons with general-purpose integrators.
    velocity_weight : float
        With w > 0, errors of velocity count as w·δt times their size. 0 by default, as in the
        paper: a weight of 1 made no grasp, walk or pile of ``docs/accuracy.md`` measurably better
        and cost up to a quarter more solver iterations in clutter, two fifths more in a walk.
    slip_regularization : float
        σ ≥ 0: contacts stick to within max(v_s, σ μ g δt) instead of the stiction tolerance v_s,
        which limits how stiff friction gets in long steps. 0 by default, as in the paper: a tenth
        more solver iterations in clutter, and no creep that depends on the step size.
    tolerance_ratio : float
        κ of equation 34: the convex solver's tolerance relative to the accuracy.
    max_iterations : int
        Newton iterations after which a solve counts as not converged and the step is retried
        smaller.
    hessian_reuse : bool
        Keep a factorization for further iterations while it converges fast enough (equation 35).
        Off by default: the block factorization costs no more than the extra iterations.
    """

    accuracy: float = 1e-3
    max_step: float = 0.1
    min_step: float = 1e-9
    scheme: str = "step-doubling"
    error_norm: str = "position"
    velocity_weight: float = 0.0
    slip_regularization: float = 0.0
    tolerance_ratio: float = 1e-3
    max_iterations: int = 100
    hessian_reuse: bool = False

    time_step = None

    def __post_init__(self) -> None:
        require_flags(self)
        require_positive("accuracy", self.accuracy)
        require_positive("max_step", self.max_step)
        require_positive("min_step", self.min_step)
        if self.min_step >= self.max_step:
            raise ModelError(f"min_step {self.min_step} must be below max_step {self.max_step}.")
        require_positive("tolerance_ratio", self.tolerance_ratio)
        require_count("max_iterations", self.max_iterations)
        require_non_negative("velocity_weight", self.velocity_weight)
        require_non_negative("slip_regularization", self.slip_regularization)
        require_one_of("scheme", self.scheme, _SCHEMES)
        require_one_of("error_norm", self.error_norm, ERROR_NORMS)

    @property
    def stepping(self) -> ErrorControl:
        return ErrorControl(
            self.accuracy, self.max_step, self.min_step, self.error_norm, self.velocity_weight
        )

    def make_method(self) -> Method:
        from asperity.integrators.methods.icf import ICF_LAWS, IcfMethod
        from asperity.integrators.methods.step_doubling import StepDoubling
        from asperity.integrators.methods.trapezoid import Trapezoid

        method = IcfMethod(
            law=ICF_LAWS["lagged"],
            tolerance=max(self.tolerance_ratio * self.accuracy, _TIGHTEST_TOLERANCE),
            slip_regularization=self.slip_regularization,
            max_iterations=int(self.max_iterations),
            hessian_reuse=self.hessian_reuse,
        )
        return Trapezoid(method) if self.scheme == "trapezoid" else StepDoubling(method)
