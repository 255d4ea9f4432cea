"""`Sap`: near-rigid contact by projection onto the friction cone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from asperity.errors import ArgumentError
from asperity.integrators.integrator import (
    PRESSURE_FIELDS,
    SteppedIntegrator,
    refuse_unused,
    require_count,
    require_non_negative,
    require_positive,
)
from asperity.integrators.registry import Variant, register
from asperity.integrators.steppings.stepping import Fixed, Stepping

if TYPE_CHECKING:
    from asperity.integrators.methods.theta import ThetaMethod

__all__ = ["Sap"]

# θ, θ_vq of the θ-method (SAP II-C).
ThetaScheme = Literal["symplectic-euler", "midpoint", "implicit-euler", "explicit-euler"]
_THETA: dict[ThetaScheme, tuple[float, float]] = {
    "midpoint": (0.5, 0.5),
    "implicit-euler": (1.0, 1.0),
    "symplectic-euler": (0.0, 1.0),
    "explicit-euler": (0.0, 0.0),
}

# Of friction's bounds, as in `Icf` and `Cenic`.
_FRICTION_TOLERANCE = 1e-2

# Under error control steps have no size of their own.
_RELAXATION_TIME = 0.01


def _reference(step: float) -> Sap:
    # Materials without a relaxation time have that of the step: then there is no common limit.
    return Sap(
        time_step=step,
        tolerance=1e-8,
        friction_tolerance=1e-6,
        relaxation_time=_RELAXATION_TIME,
        resolve_impacts=False,
    )


@register(
    "sap",
    variants=(
        Variant("time_step", relaxation_time=_RELAXATION_TIME),
        Variant("time_step", "midpoint", theta_scheme="midpoint", relaxation_time=_RELAXATION_TIME),
        Variant("accuracy", "controlled", relaxation_time=_RELAXATION_TIME),
    ),
    reference=_reference,
)
@dataclass(frozen=True, kw_only=True)
class Sap(SteppedIntegrator):
    """Steps of the semi-analytic primal method with compliant contact (SAP), fixed ones by default.

    Normal forces are linear springs and dampers, by ``stiffness`` and ``relaxation_time`` of
    `ContactParameters`. It ignores ``dissipation``. Friction is bounded by the normal impulse that
    the step delivers, as in `Icf`, or with ``gliding`` part of the paper's projection. Linear
    servos and external systems are implicit, as in `Icf`, with any scheme.

    Parameters
    ----------
    time_step : float, optional
        Step size [s], 0.01 if there is no ``accuracy``.
    accuracy, max_step, min_step, error_norm, velocity_weight
        Of error control by step doubling, as in `Cenic`. Near-rigid contact and creep then depend
        on the steps that it takes.
    theta_scheme : {"symplectic-euler", "midpoint", "implicit-euler", "explicit-euler"}
        The θ-method (section II-C). Symplectic Euler, the default, costs least and lets bodies come
        to rest. In it dampers, drag, and springs faster than the step are implicit, because
        explicit ones gain energy without bound; tendons and fluids are explicit in the others. The
        midpoint rule is of second order and conserves energy. It chatters on stiff contacts with a
        relaxation time below (1 + √2)²/2 − 1 = 1.92 time steps. Implicit Euler is stable and
        dissipates.
    near_rigid : float
        β: contacts that the step cannot resolve get the period β δt. A resting point mass then
        overlaps by about β² g δt²/(4π²), 25 µm at 10 ms (section V-B, equation 29).
    slip_regularization : float, optional
        σ of the paper's friction, R_t = σ w, with 1e-3 in its cases: sticking contacts creep at up
        to about μ σ g δt (section V-B, equations 30 and 31), 6 µm/s in a grasp that needs a
        twentieth of its friction, in steps of 2 ms. By default friction reaches its limit at the
        stiction tolerance, as in `Icf`, and the same grasp creeps 0.15 µm/s, whatever the step. For
        ``gliding=True`` alone.
    relaxation_time : float, optional
        Relaxation time [s] of contacts whose materials give none; the time step by default, as in
        the paper's cases, and 0.01 under error control. With the time step, an overlap φ in which
        bodies start throws them apart at about φ/(2 δt): 1 m/s from 2 mm in steps of 1 ms. With a
        longer time they part more slowly.
    tolerance : float
        ε_r of the stopping criterion, relative to momentum or impulses (section IV-E, equation 26).
    scaling : {"mass", "system"}
        Diagonal that gives all components of that criterion the same units: of the mass matrix, as
        in the paper, or of A, mass with implicit joint springs and dampers, as in Drake.
    line_search : {"exact", "armijo"}
        How far to follow Newton's direction: to the minimum, or until the cost has decreased enough
        (section IV-B).
    max_iterations : int
        Newton iterations after which the simulation stops with ``Status.NOT_CONVERGED``.
    resolve_impacts : bool, optional
        Whether bodies part after impacts as fast as the relaxation time of their contacts says,
        also where the steps are too long to show it. On by default in fixed steps of symplectic
        Euler, and refused elsewhere. With the default relaxation time, bodies part only after
        impacts that steps resolve. Not part of the paper.
    friction_passes : int, optional
        Largest number of changes of the bounds of friction in a solve. By default 8, and 40 with
        pressure fields. In fixed steps ``Statistics.fallbacks`` counts solves in which the bounds
        then differ by more than a tenth from those of the solution; error control refuses such
        steps. Not with ``gliding=True``, like the next option.
    friction_tolerance : float, optional
        Largest relative difference of friction's bounds from those of the solution. By default
        1e-2, and under error control ten times the accuracy if that is less.
    gliding : bool
        Whether friction is that of the paper, with one coefficient, the dynamic one. A sliding body
        then glides at the height (δt + τ_d) μ ‖v_t‖, where contacts are kept (section V-A). Its
        points that slide fastest would glide highest, so they carry its load: a disc that spins on
        its face is braked by up to 1.5 times the torque.

    Notes
    -----
    ``docs/verification.md`` shows which cases of known outcome it gets right, and which wrong.
    """

    takes_every_actuator = True
    takes_every_friction = True
    starts_asleep = True

    theta_scheme: Literal["symplectic-euler", "midpoint", "implicit-euler", "explicit-euler"] = (
        "symplectic-euler"
    )
    near_rigid: float = 1.0
    slip_regularization: float | None = None
    relaxation_time: float | None = None
    tolerance: float = 1e-6
    scaling: Literal["mass", "system"] = "mass"
    line_search: Literal["exact", "armijo"] = "exact"
    max_iterations: int = 100
    resolve_impacts: bool | None = None
    friction_passes: int | None = None
    friction_tolerance: float | None = None
    gliding: bool = False

    default_time_step = 0.01
    contact_parameters = PRESSURE_FIELDS | {
        "stiffness",
        "relaxation_time",
        "friction",
        "dynamic_friction",
        "stiction_tolerance",
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("near_rigid", "tolerance"):
            require_positive(name, getattr(self, name))
        if self.slip_regularization is not None:
            require_positive("slip_regularization", self.slip_regularization)
            if not self.gliding:
                raise ArgumentError(
                    "slip_regularization is of the paper's friction; give gliding=True, too, or "
                    "omit it."
                )
            read = self.contact_parameters - {"stiction_tolerance"}
            object.__setattr__(self, "contact_parameters", read)
        require_count("max_iterations", self.max_iterations)
        if self.friction_passes is not None:
            require_count("friction_passes", self.friction_passes)
        if self.friction_tolerance is not None:
            require_positive("friction_tolerance", self.friction_tolerance)
        if self.gliding:
            refuse_unused(
                self,
                ("friction_passes", "friction_tolerance"),
                "has no effect with gliding=True, whose friction has no bounds that change in a "
                "solve; omit it.",
            )
        if self.relaxation_time is not None:
            require_non_negative("relaxation_time", self.relaxation_time)
        if self.resolve_impacts and not self._may_rebound:
            raise ArgumentError(
                "resolve_impacts=True is for fixed steps with theta_scheme='symplectic-euler'; "
                "omit it, or give a time_step and that scheme."
            )

    @property
    def _may_rebound(self) -> bool:
        return self.time_step is not None and self.theta_scheme == "symplectic-euler"

    @property
    def stepping(self) -> Stepping:
        if self.time_step is None:
            return super().stepping
        return Fixed(self.time_step, self._may_rebound and self.resolve_impacts is not False)

    def make_base_method(self) -> ThetaMethod:
        from asperity.integrators.methods.theta import ThetaMethod

        theta, theta_vq = _THETA[self.theta_scheme]
        time = self.relaxation_time
        if time is None and self.time_step is None:
            time = _RELAXATION_TIME
        tolerance = self.friction_tolerance
        if tolerance is None:
            accuracy = math.inf if self.accuracy is None else self.accuracy
            tolerance = min(_FRICTION_TOLERANCE, 10.0 * accuracy)
        return ThetaMethod(
            theta=theta,
            theta_vq=theta_vq,
            near_rigid=self.near_rigid,
            slip_regularization=self.slip_regularization,
            relaxation_time=time,
            tolerance=self.tolerance,
            norm_by_system=self.scaling == "system",
            line_search=self.line_search,
            max_iterations=int(self.max_iterations),
            gliding=self.gliding,
            friction_passes=self.friction_passes,
            friction_tolerance=tolerance,
            refuse_unsettled=self.time_step is None,
            looks_ahead=self.time_step is not None,
        )
