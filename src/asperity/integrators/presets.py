"""Integrators as users name them: a method, a stepping and their options."""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass

from asperity.errors import ModelError
from asperity.integrators.icf import icf_method
from asperity.integrators.step_doubling import ERROR_ORDER as DOUBLING_ORDER
from asperity.integrators.step_doubling import step_doubling_method
from asperity.integrators.stepping import (
    advance_error_controlled,
    advance_fixed,
)
from asperity.integrators.trapezoid import ERROR_ORDER as TRAPEZOID_ORDER
from asperity.integrators.trapezoid import trapezoid_method
from asperity.integrators.world import (
    ACCURACY,
    LARGEST_STEP,
    LAST_STEP,
    NEXT_STEP,
    SMALLEST_STEP,
    VELOCITY_WEIGHT,
    World,
)

__all__ = ["Cenic", "Icf", "Integrator"]

_SCHEMES = {
    "step-doubling": (step_doubling_method, DOUBLING_ORDER),
    "trapezoid": (trapezoid_method, TRAPEZOID_ORDER),
}

_FIXED_TOLERANCE = 1e-8
_FIRST_STEP = 0.1
_MIN_STEP = 1e-9


def _positive(name: str, value: float) -> None:
    if not (isinstance(value, int | float) and math.isfinite(value) and value > 0):
        raise ModelError(f"{name} must be a positive, finite number, got {value!r}.")


class Integrator(abc.ABC):
    """What a `Simulator` needs of an integrator."""

    time_step: float | None
    """The fixed step [s], or None under error control."""

    @abc.abstractmethod
    def prepare(self, world: World) -> None:
        """Compile what is needed and write the options into a world."""

    @abc.abstractmethod
    def advance(self, world: World, end: float, budget: int) -> int:
        """Advance the world's current state to time ``end`` [s]; returns a stepping's reason."""


def _prepare_solver(
    world: World, tolerance: float, max_iterations: int, hessian_reuse: bool
) -> None:
    world.problem.tolerance[0] = tolerance
    world.problem.limits[0] = max_iterations
    # CENIC VI-C: the wished number of iterations with one Hessian is 10.
    world.problem.limits[1] = 10 if hessian_reuse else 0


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
        First-order step doubling (robust, the default) or the second-order trapezoid, which
        conserves energy better but rings in stiff contact (sections V-B, VII-A): use it with an
        accuracy of 1e-3 or tighter.
    velocity_weight : float
        With w > 0, errors of velocity count as w·δt times their size, which notices slip that a
        position error of one step hides. 0 by default, as in the paper.
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
    min_step: float = _MIN_STEP
    scheme: str = "step-doubling"
    velocity_weight: float = 0.0
    tolerance_ratio: float = 1e-3
    max_iterations: int = 100
    hessian_reuse: bool = False

    time_step = None

    def __post_init__(self) -> None:
        _positive("accuracy", self.accuracy)
        _positive("max_step", self.max_step)
        _positive("min_step", self.min_step)
        if self.min_step >= self.max_step:
            raise ModelError(f"min_step {self.min_step} must be below max_step {self.max_step}.")
        _positive("tolerance_ratio", self.tolerance_ratio)
        _positive("max_iterations", self.max_iterations)
        if not (math.isfinite(self.velocity_weight) and self.velocity_weight >= 0):
            raise ModelError(f"velocity_weight must be non-negative, got {self.velocity_weight}.")
        if self.scheme not in _SCHEMES:
            raise ModelError(
                f"scheme {self.scheme!r} is unknown; use one of {', '.join(sorted(_SCHEMES))}."
            )

    def prepare(self, world: World) -> None:
        tolerance = max(self.tolerance_ratio * self.accuracy, _FIXED_TOLERANCE)
        _prepare_solver(world, tolerance, self.max_iterations, self.hessian_reuse)
        world.table.base_method = icf_method.address
        _ = _SCHEMES[self.scheme][0].address  # compile now
        reals = world.table.reals
        reals[ACCURACY] = self.accuracy
        reals[LARGEST_STEP] = self.max_step
        reals[SMALLEST_STEP] = self.min_step
        reals[NEXT_STEP] = _FIRST_STEP * self.max_step
        reals[LAST_STEP] = reals[NEXT_STEP]
        reals[VELOCITY_WEIGHT] = self.velocity_weight

    def advance(self, world: World, end: float, budget: int) -> int:
        method, order = _SCHEMES[self.scheme]
        return int(
            advance_error_controlled(world.table.address, method.address, order, end, budget)
        )


@dataclass(frozen=True, kw_only=True)
class Icf(Integrator):
    """Fixed steps of the lagged convex scheme (irrotational contact fields).

    Parameters
    ----------
    time_step : float
        Step size [s].
    tolerance : float
        Tolerance of the convex solver, 1e-8 as in the paper (section VI-B).
    max_iterations : int
        Newton iterations after which the simulation stops with ``Status.NOT_CONVERGED``. The
        problem is convex, so only violent impacts at long steps need more than a few dozen.
    hessian_reuse : bool
        See `Cenic`.
    """

    time_step: float = 1e-3
    tolerance: float = _FIXED_TOLERANCE
    max_iterations: int = 500
    hessian_reuse: bool = False

    def __post_init__(self) -> None:
        _positive("time_step", self.time_step)
        _positive("tolerance", self.tolerance)
        _positive("max_iterations", self.max_iterations)

    def prepare(self, world: World) -> None:
        _prepare_solver(world, self.tolerance, self.max_iterations, self.hessian_reuse)
        world.table.base_method = icf_method.address
        world.table.reals[LAST_STEP] = self.time_step

    def advance(self, world: World, end: float, budget: int) -> int:
        return int(
            advance_fixed(world.table.address, icf_method.address, self.time_step, end, budget)
        )
