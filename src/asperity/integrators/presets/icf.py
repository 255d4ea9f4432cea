"""`Icf`: convex steps of a fixed size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from asperity.integrators.integrator import (
    Integrator,
    refuse_unused,
    require_choices,
    require_count,
    require_positive,
)
from asperity.integrators.registry import register
from asperity.integrators.steppings.stepping import Fixed

if TYPE_CHECKING:
    from asperity.integrators.methods.icf import IcfMethod

__all__ = ["Icf"]


@register("icf")
@dataclass(frozen=True, kw_only=True)
class Icf(Integrator):
    """Fixed steps of convex irrotational contact fields (ICF); `Cenic` is ICF under error control.

    Parameters
    ----------
    time_step : float
        Step size [s].
    friction_bound : {"delivered", "lagged", "similar"}
        What limits friction. ``"delivered"``: the normal impulse that the step delivers, with the
        coefficient at the resulting slip. ``"lagged"``: the state before the step predicts both, as
        in CENIC. It can be wrong by a multiple in a short impact. ``"similar"``: one potential
        couples both, which makes sliding bodies glide at a height that grows with the step, and
        a disc that spins on its face stand on its rim, with up to 1.5 times the torque.
    tolerance : float
        Tolerance of the convex solver, 1e-8 as in the paper (section VI-B).
    max_iterations : int
        Newton iterations after which the simulation stops with ``Status.NOT_CONVERGED``. The
        problem is convex, so only violent impacts at long steps need more than a few dozen.
    friction_passes : int, optional
        Largest number of changes of the bounds of friction in a solve. By default 8, and 40 with
        pressure fields, on whose many points the bounds depend on each other.
        ``Statistics.fallbacks`` counts solves in which the bounds then differ from those of the
        solution by more than a tenth, as in violent impacts of many bodies and in dense piles. A
        larger number leaves fewer of these, for more iterations. For
        ``friction_bound="delivered"`` alone, like the next option.
    friction_tolerance : float
        Largest relative difference of friction's bounds from those of the solution.
    hessian_reuse : bool
        Keep a factorization for further iterations while it converges fast enough (equation 35).
    resolve_impacts : bool
        Whether bodies part after impacts as fast as the dissipation of their contacts says, also
        where the steps are too long to show it. Not part of the paper.
    sleep : bool, optional
        Whether islands at rest keep their last solution for as long as a bound of their motion
        allows it (docs/models.md, ‘Sleep’). By default the model decides, by its option flag.

    Notes
    -----
    ``docs/verification.md`` shows which cases of known outcome it gets right, and which wrong.
    """

    takes_every_actuator = True
    takes_every_friction = True
    takes_sleep = True

    time_step: float = 1e-3
    friction_bound: Literal["delivered", "lagged", "similar"] = "delivered"
    tolerance: float = 1e-8
    max_iterations: int = 500
    friction_passes: int | None = None
    friction_tolerance: float = 1e-2
    hessian_reuse: bool = False
    resolve_impacts: bool = True
    sleep: bool | None = None

    def __post_init__(self) -> None:
        require_choices(self)
        require_positive("time_step", self.time_step)
        require_positive("tolerance", self.tolerance)
        require_count("max_iterations", self.max_iterations)
        if self.friction_passes is not None:
            require_count("friction_passes", self.friction_passes)
        require_positive("friction_tolerance", self.friction_tolerance)
        if self.friction_bound != "delivered":
            refuse_unused(
                self,
                ("friction_passes", "friction_tolerance"),
                f"has no effect with friction_bound={self.friction_bound!r}, whose bounds do not "
                "change in a solve; omit it, or take friction_bound='delivered'.",
            )

    @property
    def no_flexes(self) -> str | None:
        if self.friction_bound == "similar":
            return "Icf with friction_bound='similar'"
        return None

    @property
    def stepping(self) -> Fixed:
        return Fixed(self.time_step, self.resolve_impacts)

    def make_method(self) -> IcfMethod:
        from asperity.integrators.methods.icf import ICF_LAWS, IcfMethod

        return IcfMethod(
            law=ICF_LAWS[self.friction_bound],
            tolerance=self.tolerance,
            max_iterations=int(self.max_iterations),
            hessian_reuse=self.hessian_reuse,
            friction_passes=self.friction_passes,
            friction_tolerance=self.friction_tolerance,
            refuse_unsettled=False,
            center_robots=True,
            explicit_springs=True,
            looks_ahead=True,
        )
