"""ICF."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from asperity.integrators.integrator import (
    SteppedIntegrator,
    require_count,
    require_one_of,
    require_positive,
)
from asperity.integrators.registry import register

if TYPE_CHECKING:
    from asperity.integrators.methods.icf import IcfMethod
    from asperity.integrators.methods.method import Method

__all__ = ["Icf"]

_FRICTION = ("delivered", "lagged", "similar")


@register("icf")
@dataclass(frozen=True, kw_only=True)
class Icf(SteppedIntegrator):
    """Steps of convex irrotational contact fields (ICF), fixed ones by default.

    With ``accuracy`` instead of ``time_step`` steps are doubled under error control, and
    extrapolated where motion is smooth; `Cenic` is that with a solver whose tolerance follows the
    accuracy.

    Parameters
    ----------
    time_step : float, optional
        Step size [s], 1e-3 if there is no ``accuracy``.
    accuracy, max_step, min_step, error_norm, velocity_weight
        Of error control, as in `Cenic`.
    friction : {"delivered", "lagged", "similar"}
        What friction is limited by. ``"delivered"``: the normal impulse that the step delivers, and
        the coefficient at the slip that results. ``"lagged"``: what the state before the step
        predicts of both, as in CENIC, which in a short impact can be wrong by a multiple. In
        ``"similar"`` they are coupled in one potential, which makes sliding bodies glide, steadily
        with a fixed step; under error control every step size has another height.
    tolerance : float
        Tolerance of the convex solver, 1e-8 as in the paper (section VI-B).
    max_iterations : int
        Newton iterations after which the simulation stops with ``Status.NOT_CONVERGED``. The
        problem is convex, so only violent impacts at long steps need more than a few dozen.
    friction_passes : int, optional
        Changes of the bounds of friction in a solve after which they stay as they are: by default
        4, and 40 with pressure fields, on whose many points the bounds depend on each other. Where
        they then differ from those of the solution by more than a tenth, as in violent impacts of
        many bodies, ``Statistics.fallbacks`` counts.
    friction_tolerance : float
        Relative change of friction by which its bounds may differ from those of the solution
        (``friction="delivered"``).
    hessian_reuse : bool
        Keep a factorization for further iterations while it converges fast enough (equation 35).

    resolve_impacts : bool
        Under error control as in `Cenic`; fixed steps count impacts whose rebound they damp, in
        ``Statistics.damped_impacts``.

    Notes
    -----
    Wrong by more than five times the tolerance of a case in ``docs/verification.md``, at 1 ms:
    impacts that are shorter than some steps, walls thinner than what a body flies in a step,
    free springs and rocking (rattleback, tippe top), which lose energy, and slow slip at the limit
    of friction.
    """

    takes_every_friction = True

    friction: str = "delivered"
    tolerance: float = 1e-8
    max_iterations: int = 500
    friction_passes: int | None = None
    friction_tolerance: float = 1e-2
    hessian_reuse: bool = False

    resolve_impacts: bool = True

    default_time_step = 1e-3

    def __post_init__(self) -> None:
        super().__post_init__()
        require_one_of("friction", self.friction, _FRICTION)
        require_positive("tolerance", self.tolerance)
        require_count("max_iterations", self.max_iterations)
        if self.friction_passes is not None:
            require_count("friction_passes", self.friction_passes)
        require_positive("friction_tolerance", self.friction_tolerance)

    @property
    def no_flexes(self) -> str | None:
        if self.friction == "similar":
            return "Icf with friction='similar'"
        return None

    @property
    def sees_impacts(self) -> bool:
        return self.resolve_impacts

    def make_base_method(self) -> IcfMethod:
        from asperity.integrators.methods.icf import ICF_LAWS, IcfMethod

        return IcfMethod(
            law=ICF_LAWS[self.friction],
            tolerance=self.tolerance,
            max_iterations=int(self.max_iterations),
            hessian_reuse=self.hessian_reuse,
            friction_passes=self.friction_passes,
            friction_tolerance=self.friction_tolerance,
            refuse_unsettled=self.time_step is None,
            center_gyroscopic=self.time_step is not None,
        )

    def doubled(self, method: Method) -> Method:
        from asperity.integrators.methods.extrapolation import Extrapolation

        return Extrapolation(method)
