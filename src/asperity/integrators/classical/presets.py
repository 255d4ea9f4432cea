"""Classical integrators as users name them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from asperity.compiled import EntryPoint, Kernel
from asperity.contact.constraint_laws import STIFFEST_STEP
from asperity.contact.laws import LINEAR, PARABOLIC, SMOOTH
from asperity.errors import ModelError
from asperity.integrators.base import Integrator, require_one_of, require_positive
from asperity.integrators.classical.dynamics import dynamics, dynamics_solution
from asperity.integrators.classical.layout import STIFF_STEP, classical_table
from asperity.integrators.classical.runge_kutta import ERROR_ORDER as RUNGE_KUTTA_ORDER
from asperity.integrators.classical.runge_kutta import runge_kutta_3_method
from asperity.integrators.layout import (
    ACCURACY,
    FORCES_AT_HAND,
    LARGEST_STEP,
    LAST_STEP,
    NEXT_STEP,
    SMALLEST_STEP,
    VELOCITY_TIME,
    VELOCITY_WEIGHT,
)
from asperity.integrators.stepping import advance_error_controlled, advance_fixed
from asperity.integrators.world import CONVEX_KERNELS, World

__all__ = ["Classical", "RungeKutta3"]

_FRICTION_LAWS = {"smooth": SMOOTH, "linear": LINEAR, "parabolic": PARABOLIC}

# Time [s] by which an error of velocity counts as one of position.
_ERROR_NORMS = {"position": 0.0, "state": 1.0}

_FIRST_STEP = 0.1


@dataclass(frozen=True, kw_only=True)
class Classical(Integrator):
    """Options that all classical integrators share.

    They integrate the continuous dynamics: Hunt–Crossley contact and regularised friction as
    functions of the state, limits and equalities as stiff springs and dampers. The relaxation time
    of SAP plays no part.

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

    method: ClassVar[EntryPoint]
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
        require_one_of("error_norm", self.error_norm, _ERROR_NORMS)
        require_one_of("friction_law", self.friction_law, _FRICTION_LAWS)
        require_positive("constraint_step", self.constraint_step)

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        loop = advance_error_controlled if self.time_step is None else advance_fixed
        return (*CONVEX_KERNELS, loop, dynamics, dynamics_solution, self.method)

    def prepare(self, world: World) -> None:
        classical = classical_table(world)
        classical.dynamics = dynamics.address
        classical.friction_law = _FRICTION_LAWS[self.friction_law]
        classical.reals[STIFF_STEP] = self.constraint_step
        table = world.table
        table.solve_step = dynamics_solution.address
        table.ints[FORCES_AT_HAND] = 1
        reals = table.reals
        reals[ACCURACY] = 1e-3 if self.accuracy is None else self.accuracy
        reals[LARGEST_STEP] = self.max_step
        reals[SMALLEST_STEP] = self.min_step
        reals[NEXT_STEP] = _FIRST_STEP * self.max_step
        reals[LAST_STEP] = reals[NEXT_STEP] if self.time_step is None else self.time_step
        reals[VELOCITY_WEIGHT] = 0.0
        reals[VELOCITY_TIME] = _ERROR_NORMS[self.error_norm]

    def advance(self, world: World, end: float, budget: int) -> int:
        address, method = world.table.address, self.method.address
        if self.time_step is None:
            return int(advance_error_controlled(address, method, self.error_order, end, budget))
        return int(advance_fixed(address, method, self.time_step, end, budget))


@dataclass(frozen=True, kw_only=True)
class RungeKutta3(Classical):
    """The explicit Runge–Kutta method of order three with an error estimate (Drake's RK3).

    Accurate for smooth motion; stiff contact and stiction need steps of some v_s/(μ g), 10 µs with
    usual parameters, or the method is unstable. For studies and as a reference. Options are those
    of `Classical`.
    """

    method = runge_kutta_3_method
    error_order = RUNGE_KUTTA_ORDER
