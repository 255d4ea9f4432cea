"""The classical integrators, which are baselines and references."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from asperity.integrators.integrator import SteppedIntegrator, require_positive
from asperity.integrators.registry import Variant, register
from asperity.integrators.steppings.stepping import ErrorNorm

if TYPE_CHECKING:
    from asperity.integrators.methods.method import Method

__all__ = [
    "Classical",
    "ImplicitClassical",
    "ImplicitEuler",
    "Rosenbrock2",
    "RungeKutta3",
    "Sdirk2",
]


# Limits and equalities of `Icf` get no stiffer in shorter steps
# (`asperity.contact.constraint_laws.STIFFEST_STEP`).
_CONSTRAINT_STEP = 1e-4

# Errors of Newton's method are a twentieth of the accuracy at most
# (docs/equations.md, ‘Classical methods’).
_NEWTON_SHARE = 0.05
_FIXED_NEWTON_TOLERANCE = 1e-8

_VARIANTS = (Variant("accuracy"),)


@dataclass(frozen=True, kw_only=True)
class Classical(SteppedIntegrator):
    """Options that all classical integrators share.

    They integrate the continuous dynamics: Hunt–Crossley contact and regularised friction as
    functions of the state, limits and equalities as stiff springs and dampers. They ignore SAP's
    relaxation time. The forces of external systems are functions of the state, too. Implicit
    methods advance the states of external systems, and activations, with the rates of the step's
    beginning: their order is one with these, but two of `Sdirk2` with activations.

    Parameters
    ----------
    time_step : float, optional
        Fixed step size [s]. Give either this or ``accuracy``.
    accuracy : float, optional
        Largest estimated error of a step, as in `Cenic`; 1e-3 if there is no ``time_step``.
    max_step, min_step, velocity_weight : float
        Of error control, as in `Cenic`.
    error_norm : {"position", "state"}
        What the accuracy bounds: positions, as in `Cenic`, or velocities as well, in m/s and rad/s,
        as is usual with general-purpose integrators (Drake's full-state norm).
    friction_law : {"smooth", "linear", "parabolic"}
        How Coulomb friction is regularised below the stiction tolerance: CENIC's algebraic function
        (the limit of `Icf` and `Cenic`), TAMSI's ramp, or the parabola of Drake's TAMSI.
    constraint_step : float
        Limits and equalities are as stiff as those of `Icf` in steps of this size [s]. By default
        1e-4, below which those of `Icf` get no stiffer. Explicit methods are stable in steps up to
        about a hundredth of it, so a larger value pays on models with limits or equalities.
    """

    friction_law: Literal["smooth", "linear", "parabolic"] = "smooth"
    constraint_step: float = _CONSTRAINT_STEP

    # What sticks has the time constant v_s/(μ g), of 10 µs, which they have to resolve.
    default_stiction_tolerance = 1e-4
    default_joint_stiction_tolerance = 1e-3

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive("constraint_step", self.constraint_step)

    def _options(self) -> dict[str, Any]:
        """Of the method."""
        return {"friction_law": self.friction_law, "constraint_step": self.constraint_step}


@register("runge-kutta-3", variants=_VARIANTS)
@dataclass(frozen=True, kw_only=True)
class RungeKutta3(Classical):
    """The explicit Runge–Kutta method of order three with an error estimate (Drake's RK3).

    It is accurate for smooth motion. Stiff contact and stiction need steps of some v_s/(μ g), 10 µs
    with usual parameters, or the method is unstable. Use it for studies and as a reference. Options
    are those of `Classical`.

    Parameters
    ----------
    error_norm : {"state", "position"}
        What the accuracy bounds; here by default velocities as well. Errors of positions alone show
        an instability only when bodies have already been launched.
    """

    error_norm: ErrorNorm = "state"

    def make_base_method(self) -> Method:
        from asperity.integrators.methods.classical.classical_methods import RungeKutta3Method

        return RungeKutta3Method(**self._options())


@dataclass(frozen=True, kw_only=True)
class ImplicitClassical(Classical):
    """Options that the implicit classical integrators share.

    Parameters
    ----------
    jacobian : {"finite-differences", "analytic"}
        How to differentiate the dynamics. Finite differences take two evaluations per degree of
        freedom, which makes large models slow, and are wrong where contacts come and go. Analytic
        derivatives are those of contacts, constraints, joint springs and dampers, servos and
        external systems, without those of inertia and geometry.
    """

    jacobian: Literal["finite-differences", "analytic"] = "finite-differences"

    def _options(self) -> dict[str, Any]:
        tolerance = _FIXED_NEWTON_TOLERANCE
        if self.accuracy is not None:
            tolerance = _NEWTON_SHARE * self.accuracy
        return {**super()._options(), "jacobian": self.jacobian, "newton_tolerance": tolerance}


@register("implicit-euler", variants=_VARIANTS)
@dataclass(frozen=True, kw_only=True)
class ImplicitEuler(ImplicitClassical):
    """Implicit Euler with Newton's method, the baseline of the TAMSI paper (sections III, IV).

    It is of first order and L-stable. Error control doubles steps. Fixed steps whose iteration does
    not converge are divided (convergence control). Further options are those of
    `ImplicitClassical`.

    Parameters
    ----------
    newton : {"quasi", "full"}
        Keep the Jacobian and its factors as long as they serve, or make new ones in every
        iteration.
    transition_aware : bool
        Cut updates that jump a stiction region (TALS). As the paper finds, it helps only while
        contacts keep their orientation.
    """

    newton: Literal["full", "quasi"] = "quasi"
    transition_aware: bool = False

    divides_steps = True

    def make_base_method(self) -> Method:
        from asperity.integrators.methods.classical.classical_methods import ImplicitEulerMethod

        return ImplicitEulerMethod(
            **self._options(),
            full_newton=self.newton == "full",
            transition_aware=self.transition_aware,
        )


@register("sdirk2", variants=_VARIANTS)
@dataclass(frozen=True, kw_only=True)
class Sdirk2(ImplicitClassical):
    """The two-stage, singly diagonally implicit Runge–Kutta method of order two.

    It is L-stable, with an embedded error estimate and quasi-Newton iterations. Fixed steps that do
    not converge are divided. Options are those of `ImplicitClassical`.
    """

    divides_steps = True

    def make_base_method(self) -> Method:
        from asperity.integrators.methods.classical.classical_methods import Sdirk2Method

        return Sdirk2Method(**self._options())


@register("rosenbrock2", variants=_VARIANTS)
@dataclass(frozen=True, kw_only=True)
class Rosenbrock2(ImplicitClassical):
    """The two-stage Rosenbrock method of order two.

    It is L-stable, with an embedded error estimate and a new Jacobian, but no iteration, in every
    step. A step in which a joint meets or leaves a limit is one of `Sdirk2`. Options are those of
    `ImplicitClassical`.
    """

    divides_steps = True

    def make_base_method(self) -> Method:
        from asperity.integrators.methods.classical.classical_methods import Rosenbrock2Method

        return Rosenbrock2Method(**self._options())
