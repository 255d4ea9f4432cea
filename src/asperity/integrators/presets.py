"""Integrators as users name them: a method, a stepping and their options."""

from __future__ import annotations

import math
from dataclasses import dataclass

from asperity.compiled import Kernel
from asperity.convex.potentials.lagged import LAGGED_LAW
from asperity.convex.potentials.law_table import ContactLaw, install_law
from asperity.convex.potentials.sap import SAP_LAW
from asperity.convex.potentials.similar import SIMILAR_LAW
from asperity.convex.problem import (
    ARMIJO,
    EXACT,
    MOMENTUM,
    RESIDUAL_AND_STEP,
)
from asperity.errors import ModelError
from asperity.integrators.base import (
    ERROR_NORMS,
    Integrator,
    require_non_negative,
    require_one_of,
    require_positive,
)
from asperity.integrators.icf import icf_method, icf_solution
from asperity.integrators.step_doubling import ERROR_ORDER as DOUBLING_ORDER
from asperity.integrators.step_doubling import step_doubling_method
from asperity.integrators.stepping import (
    advance_error_controlled,
    advance_fixed,
)
from asperity.integrators.theta import theta_method, theta_solution
from asperity.integrators.trapezoid import ERROR_ORDER as TRAPEZOID_ORDER
from asperity.integrators.trapezoid import trapezoid_method
from asperity.integrators.world import CONVEX_KERNELS, World
from asperity.plant.evaluate import evaluate_smooth

__all__ = ["Cenic", "Icf", "Sap"]

_SCHEMES = {
    "step-doubling": (step_doubling_method, DOUBLING_ORDER),
    "trapezoid": (trapezoid_method, TRAPEZOID_ORDER),
}

# θ, θ_vq of the θ-method (SAP II-C).
_THETA = {
    "midpoint": (0.5, 0.5),
    "implicit-euler": (1.0, 1.0),
    "symplectic-euler": (0.0, 1.0),
    "explicit-euler": (0.0, 0.0),
}

_LAWS = {"lagged": LAGGED_LAW, "similar": SIMILAR_LAW}

_SCALINGS = {"mass": 0.0, "system": 1.0}

_LINE_SEARCHES = {"exact": EXACT, "armijo": ARMIJO}

_FIXED_TOLERANCE = 1e-8
_FIRST_STEP = 0.1
_MIN_STEP = 1e-9


def _prepare_icf(world: World, options: Cenic | Icf, tolerance: float, law: ContactLaw) -> None:
    """Write the options of CENIC's convex solver, and let it solve ICF's problem."""
    problem = world.problem
    install_law(problem, law)
    problem.tolerance = tolerance
    problem.line_search_tolerance = 1e-2
    problem.slip_regularization = options.slip_regularization
    problem.largest_search_step = 1.0
    problem.max_iterations = options.max_iterations
    # CENIC VI-C: the wished number of iterations with one Hessian is 10.
    problem.reused_iterations = 10 if options.hessian_reuse else 0
    problem.criterion = RESIDUAL_AND_STEP
    problem.line_search_method = EXACT
    world.table.solve_step = icf_solution.address
    world.table.base_method = icf_method.address


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
    min_step: float = _MIN_STEP
    scheme: str = "step-doubling"
    error_norm: str = "position"
    velocity_weight: float = 0.0
    slip_regularization: float = 0.0
    tolerance_ratio: float = 1e-3
    max_iterations: int = 100
    hessian_reuse: bool = False

    time_step = None

    def __post_init__(self) -> None:
        require_positive("accuracy", self.accuracy)
        require_positive("max_step", self.max_step)
        require_positive("min_step", self.min_step)
        if self.min_step >= self.max_step:
            raise ModelError(f"min_step {self.min_step} must be below max_step {self.max_step}.")
        require_positive("tolerance_ratio", self.tolerance_ratio)
        require_positive("max_iterations", self.max_iterations)
        require_non_negative("velocity_weight", self.velocity_weight)
        require_non_negative("slip_regularization", self.slip_regularization)
        require_one_of("scheme", self.scheme, _SCHEMES)
        require_one_of("error_norm", self.error_norm, ERROR_NORMS)

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        method, _ = _SCHEMES[self.scheme]
        return (
            *CONVEX_KERNELS,
            advance_error_controlled,
            icf_solution,
            *LAGGED_LAW.kernels,
            method,
            icf_method,
        )

    @property
    def takes_systems(self) -> bool:
        return self.scheme == "step-doubling"

    def prepare(self, world: World) -> None:
        tolerance = max(self.tolerance_ratio * self.accuracy, _FIXED_TOLERANCE)
        _prepare_icf(world, self, tolerance, LAGGED_LAW)
        world.table.accuracy = self.accuracy
        world.table.largest_step = self.max_step
        world.table.smallest_step = self.min_step
        world.table.next_step = _FIRST_STEP * self.max_step
        world.table.last_step = world.table.next_step
        world.table.velocity_weight = self.velocity_weight
        world.table.velocity_time = ERROR_NORMS[self.error_norm]

    def advance(self, world: World, end: float, budget: int) -> int:
        method, order = _SCHEMES[self.scheme]
        return int(advance_error_controlled(world.table, method.address, order, end, budget))


@dataclass(frozen=True, kw_only=True)
class Icf(Integrator):
    """Fixed steps of convex irrotational contact fields (ICF).

    Parameters
    ----------
    time_step : float
        Step size [s].
    law : {"lagged", "similar"}
        Whether friction is limited by the normal force of the step's beginning (CENIC's law, free
        of artifacts) or by that of its end, which makes sliding bodies glide.
    slip_regularization : float
        σ of `Cenic`, here 1e-3 as in SAP: a violent step that is not to be repeated smaller would
        otherwise need a hundred iterations.
    tolerance : float
        Tolerance of the convex solver, 1e-8 as in the paper (section VI-B).
    max_iterations : int
        Newton iterations after which the simulation stops with ``Status.NOT_CONVERGED``. The
        problem is convex, so only violent impacts at long steps need more than a few dozen.
    hessian_reuse : bool
        See `Cenic`.
    """

    time_step: float = 1e-3
    law: str = "lagged"
    slip_regularization: float = 1e-3
    tolerance: float = _FIXED_TOLERANCE
    max_iterations: int = 500
    hessian_reuse: bool = False

    def __post_init__(self) -> None:
        require_positive("time_step", self.time_step)
        require_one_of("law", self.law, _LAWS)
        require_non_negative("slip_regularization", self.slip_regularization)
        require_positive("tolerance", self.tolerance)
        require_positive("max_iterations", self.max_iterations)

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        law = _LAWS[self.law]
        return (*CONVEX_KERNELS, icf_solution, *law.kernels, advance_fixed, icf_method)

    @property
    def takes_systems(self) -> bool:
        return True

    def prepare(self, world: World) -> None:
        _prepare_icf(world, self, self.tolerance, _LAWS[self.law])
        world.table.last_step = self.time_step

    def advance(self, world: World, end: float, budget: int) -> int:
        return int(advance_fixed(world.table, icf_method.address, self.time_step, end, budget))


@dataclass(frozen=True, kw_only=True)
class Sap(Integrator):
    """Fixed steps of the semi-analytic primal method with compliant contact (SAP).

    Normal forces are linear springs and dampers, by ``stiffness`` and ``relaxation_time`` of
    `ContactParameters`; Hunt–Crossley ``dissipation`` and the stiction tolerance play no part.
    There is one coefficient of friction, the dynamic one. Linear servos and external systems are
    implicit, as in `Icf`, with any scheme.

    Parameters
    ----------
    time_step : float
        Step size [s].
    scheme : {"symplectic-euler", "midpoint", "implicit-euler", "explicit-euler"}
        The θ-method (section II-C). Symplectic Euler, the default, costs least and lets things come
        to rest, but is explicit in joint springs and dampers: those faster than the step (damping
        above 2 m/δt) need one of the next two. The midpoint rule is of second order and conserves
        energy; bodies chatter on stiff contacts with a relaxation time below 1.92 time steps,
        (1 + √2)²/2 − 1, where the step's own dynamics of a contact are no longer over-damped.
        Implicit Euler is stable and dissipates.
    near_rigid : float
        β: contacts that the step cannot resolve get the period β δt. A resting point mass then
        penetrates by about β² g δt²/(4π²), 25 µm at 10 ms (section V-B, equation 29).
    slip_regularization : float
        σ: what sticks creeps at no more than about μ σ g δt (section V-B, equations 30 and 31).
    relaxation_time : float, optional
        Relaxation time [s] of contacts whose materials give none; the time step by default, as in
        the paper's cases.
    tolerance : float
        ε_r of the stopping criterion, relative to momentum or impulses (section IV-E, equation 26).
    scaling : {"mass", "system"}
        Diagonal that gives all components of that criterion the same units: of the mass matrix, as
        in the paper, or of A, mass with implicit joint springs and dampers, as in Drake.
    line_search : {"exact", "armijo"}
        Section IV-B.
    max_iterations : int
        Newton iterations after which the simulation stops with ``Status.NOT_CONVERGED``.
    """

    time_step: float = 0.01
    scheme: str = "symplectic-euler"
    near_rigid: float = 1.0
    slip_regularization: float = 1e-3
    relaxation_time: float | None = None
    tolerance: float = 1e-6
    scaling: str = "mass"
    line_search: str = "exact"
    max_iterations: int = 100

    def __post_init__(self) -> None:
        for name in (
            "time_step",
            "near_rigid",
            "slip_regularization",
            "tolerance",
            "max_iterations",
        ):
            require_positive(name, getattr(self, name))
        time = self.relaxation_time
        if time is not None and not (math.isfinite(time) and time >= 0):
            raise ModelError(f"relaxation_time must be non-negative, got {time}.")
        require_one_of("scheme", self.scheme, _THETA)
        require_one_of("scaling", self.scaling, _SCALINGS)
        require_one_of("line_search", self.line_search, _LINE_SEARCHES)

    @property
    def takes_systems(self) -> bool:
        return True

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        return (
            *CONVEX_KERNELS,
            theta_solution,
            *SAP_LAW.kernels,
            evaluate_smooth,
            advance_fixed,
            theta_method,
        )

    def prepare(self, world: World) -> None:
        problem = world.problem
        install_law(problem, SAP_LAW)
        problem.tolerance = self.tolerance
        problem.absolute_tolerance = 1e-14
        problem.line_search_tolerance = 1e-8
        problem.slip_regularization = self.slip_regularization
        problem.max_iterations = self.max_iterations
        problem.reused_iterations = 0
        problem.criterion = MOMENTUM
        problem.line_search_method = _LINE_SEARCHES[self.line_search]
        problem.largest_search_step = 1.5 if self.line_search == "exact" else 1.25
        problem.near_rigid = self.near_rigid
        time = self.relaxation_time
        problem.relaxation_time = -1.0 if time is None else time
        table = world.table
        table.theta, table.theta_vq = _THETA[self.scheme]
        table.norm_by_system = _SCALINGS[self.scaling]
        table.evaluate_smooth = evaluate_smooth.address
        table.solve_step = theta_solution.address
        table.base_method = theta_method.address
        table.last_step = self.time_step

    def advance(self, world: World, end: float, budget: int) -> int:
        return int(advance_fixed(world.table, theta_method.address, self.time_step, end, budget))
