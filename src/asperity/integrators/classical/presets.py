"""Classical integrators as users name them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from asperity.compiled import EntryPoint, Kernel
from asperity.contact.constraint_laws import STIFFEST_STEP
from asperity.contact.laws import LINEAR, PARABOLIC, SMOOTH
from asperity.errors import ModelError
from asperity.integrators.base import ERROR_NORMS, Integrator, require_one_of, require_positive
from asperity.integrators.classical.analytic import differentiate_forces
from asperity.integrators.classical.dynamics import dynamics, dynamics_solution
from asperity.integrators.classical.implicit import (
    implicit_euler_method,
    rosenbrock_2_method,
    sdirk_2_method,
)
from asperity.integrators.classical.jacobian import differentiate
from asperity.integrators.classical.layout import (
    classical_table,
)
from asperity.integrators.classical.newton import solve_stage
from asperity.integrators.classical.runge_kutta import ERROR_ORDER as RUNGE_KUTTA_ORDER
from asperity.integrators.classical.runge_kutta import runge_kutta_3_method
from asperity.integrators.step_doubling import ERROR_ORDER as DOUBLING_ORDER
from asperity.integrators.step_doubling import step_doubling_method
from asperity.integrators.stepping import advance_error_controlled, advance_fixed
from asperity.integrators.substeps import substep_method
from asperity.integrators.world import CONVEX_KERNELS, World

__all__ = ["Classical", "ImplicitEuler", "Rosenbrock2", "RungeKutta3", "Sdirk2"]

_FRICTION_LAWS = {"smooth": SMOOTH, "linear": LINEAR, "parabolic": PARABOLIC}

_FIRST_STEP = 0.1


@dataclass(frozen=True, kw_only=True)
class Classical(Integrator):
    """Options that all classical integrators share.

    They integrate the continuous dynamics: Hunt–Crossley contact and regularised friction as
    functions of the state, limits and equalities as stiff springs and dampers. The relaxation time
    of SAP plays no part. The forces of external systems are functions of the state, too; their own
    states, like activations, are advanced with the rates of the step's beginning by implicit
    methods.

    Parameters
    ----------
    time_step : float, optional
        Fixed step size [s]. Give either this or ``accuracy``.
    accuracy : float, optional
        Largest estimated error of a step, as in `Cenic`; 1e-3 if there is no ``time_step``.
    max_step, min_step : float
        Largest and smallest step under error control [s], as in `Cenic`.
    error_norm : {"position", "state"}
        What the accuracy bounds: positions, as in `Cenic`, or velocities as well, in m/s and rad/s,
        as is usual with general-purpose integrators (Drake's full-state norm).
    friction_law : {"smooth", "linear", "parabolic"}
        How Coulomb friction is regularised below the stiction tolerance: CENIC's algebraic function
        (the limit of `Icf` and `Cenic`), TAMSI's ramp, or the parabola of Drake's TAMSI.
    constraint_step : float
        Limits and equalities are as stiff as those of `Icf` are in steps of this size [s]. 1e-4 by
        default, below which those of `Icf` get no stiffer: both then have the same limit. Explicit
        methods can afford more on models with limits or equalities: they are stable in steps up to
        about a hundredth of it.
    """

    time_step: float | None = None
    accuracy: float | None = None
    max_step: float = 0.1
    min_step: float = 1e-9
    error_norm: str = "position"
    friction_law: str = "smooth"
    constraint_step: float = STIFFEST_STEP

    base_method: ClassVar[EntryPoint]
    """One step."""
    fixed_method: ClassVar[EntryPoint]
    """What fixed steps call: the same, or something that repeats it."""
    controlled_method: ClassVar[EntryPoint]
    """What error control calls."""
    error_order: ClassVar[int]

    def __post_init__(self) -> None:
        if self.time_step is not None and self.accuracy is not None:
            raise ModelError(
                "time_step asks for fixed steps and accuracy for error control; give one of them."
            )
        for name in ("time_step", "accuracy"):
            if getattr(self, name) is not None:
                require_positive(name, getattr(self, name))
        require_positive("max_step", self.max_step)
        require_positive("min_step", self.min_step)
        if self.min_step >= self.max_step:
            raise ModelError(f"min_step {self.min_step} must be below max_step {self.max_step}.")
        require_one_of("error_norm", self.error_norm, ERROR_NORMS)
        require_one_of("friction_law", self.friction_law, _FRICTION_LAWS)
        require_positive("constraint_step", self.constraint_step)

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        methods = dict.fromkeys((self.base_method, self._method))
        loop = advance_error_controlled if self.time_step is None else advance_fixed
        return (*CONVEX_KERNELS, loop, dynamics, dynamics_solution, *methods)

    @property
    def takes_systems(self) -> bool:
        return True

    @property
    def evaluates_systems(self) -> bool:
        return True

    @property
    def _method(self) -> EntryPoint:
        return self.controlled_method if self.time_step is None else self.fixed_method

    def prepare(self, world: World) -> None:
        classical = classical_table(world)
        classical.dynamics = dynamics.address
        classical.friction_law = _FRICTION_LAWS[self.friction_law]
        classical.stiff_step = self.constraint_step
        table = world.table
        table.solve_step = dynamics_solution.address
        table.base_method = self.base_method.address
        table.accuracy = 1e-3 if self.accuracy is None else self.accuracy
        table.largest_step = self.max_step
        table.smallest_step = self.min_step
        table.next_step = _FIRST_STEP * self.max_step
        table.last_step = table.next_step if self.time_step is None else self.time_step
        table.velocity_weight = 0.0
        table.velocity_time = ERROR_NORMS[self.error_norm]

    def advance(self, world: World, end: float, budget: int) -> int:
        address, method = world.table, self._method.address
        if self.time_step is None:
            return int(advance_error_controlled(address, method, self.error_order, end, budget))
        return int(advance_fixed(address, method, self.time_step, end, budget))


@dataclass(frozen=True, kw_only=True)
class RungeKutta3(Classical):
    """The explicit Runge–Kutta method of order three with an error estimate (Drake's RK3).

    Accurate for smooth motion; stiff contact and stiction need steps of some v_s/(μ g), 10 µs with
    usual parameters, or the method is unstable. For studies and as a reference. Options are those
    of `Classical`. With contact use ``error_norm="state"``: positions alone notice an instability
    when bodies have already been launched.
    """

    base_method = fixed_method = controlled_method = runge_kutta_3_method
    error_order = RUNGE_KUTTA_ORDER


_NEWTON = ("full", "quasi")

_JACOBIANS = {"finite-differences": differentiate, "analytic": differentiate_forces}

# Errors of Newton's method are a twentieth of the accuracy at most, which does not spoil the
# estimate of a step's error (docs/equations.md, ‘Newton's method of implicit stages’).
_NEWTON_SHARE = 0.05
_FIXED_NEWTON_TOLERANCE = 1e-8


@dataclass(frozen=True, kw_only=True)
class _Implicit(Classical):
    jacobian: str = "finite-differences"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_one_of("jacobian", self.jacobian, _JACOBIANS)

    def _newton(self) -> tuple[bool, bool]:
        """Whether Newton's method is full, and whether it is transition-aware."""
        return False, False

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        return (*super().kernels, solve_stage, _JACOBIANS[self.jacobian])

    def prepare(self, world: World) -> None:
        super().prepare(world)
        world.add_work_state()
        classical = classical_table(world)
        classical.solve_stage = solve_stage.address
        classical.differentiate = _JACOBIANS[self.jacobian].address
        classical.full_newton, classical.transition_aware = map(int, self._newton())
        classical.has_jacobian = classical.limited = 0
        classical.factor_step = 0.0
        if self.time_step is None:
            classical.newton_tolerance = _NEWTON_SHARE * world.table.accuracy
        else:
            classical.newton_tolerance = _FIXED_NEWTON_TOLERANCE


@dataclass(frozen=True, kw_only=True)
class ImplicitEuler(_Implicit):
    """Implicit Euler with Newton's method, the baseline of the TAMSI paper (sections III, IV).

    First order and L-stable. Error control doubles steps. Fixed steps whose iteration does not
    converge are done in parts (convergence control). Further options are those of `Classical`.

    Parameters
    ----------
    jacobian : {"finite-differences", "analytic"}
        How to differentiate the dynamics: by two evaluations per degree of freedom, which makes
        large models slow and which contacts that come and go lead astray, or from the derivatives
        of contacts, constraints, joint springs and dampers, servos and external systems, without
        those of inertia and geometry.
    newton : {"quasi", "full"}
        Keep the Jacobian and its factors as long as they serve, or make new ones in every
        iteration.
    transition_aware : bool
        Cut updates that jump a stiction region (TALS). It helps while contacts keep their
        orientation, and little else: that is the paper's finding, and what `Tamsi` is for.
    """

    newton: str = "quasi"
    transition_aware: bool = False

    base_method = implicit_euler_method
    fixed_method = substep_method
    controlled_method = step_doubling_method
    error_order = DOUBLING_ORDER

    def __post_init__(self) -> None:
        super().__post_init__()
        require_one_of("newton", self.newton, _NEWTON)

    def _newton(self) -> tuple[bool, bool]:
        return self.newton == "full", self.transition_aware


@dataclass(frozen=True, kw_only=True)
class Sdirk2(_Implicit):
    """The two-stage, singly diagonally implicit Runge–Kutta method of order two.

    L-stable, with an embedded error estimate and quasi-Newton iterations. Fixed steps that do not
    converge are done in parts. Options are those of `Classical`, and ``jacobian`` of
    `ImplicitEuler`.
    """

    base_method = controlled_method = sdirk_2_method
    fixed_method = substep_method
    error_order = 2


@dataclass(frozen=True, kw_only=True)
class Rosenbrock2(_Implicit):
    """The two-stage Rosenbrock method of order two.

    L-stable, with an embedded error estimate and a new Jacobian, but no iteration, in every step.
    Options are those of `Classical`, and ``jacobian`` of `ImplicitEuler`.
    """

    base_method = fixed_method = controlled_method = rosenbrock_2_method
    error_order = 2
