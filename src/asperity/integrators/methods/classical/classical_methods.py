"""Classical integrators as methods: explicit and implicit ones."""

from __future__ import annotations

from dataclasses import dataclass, field

from asperity.compiled import EntryPoint, Kernel, Table
from asperity.contact.laws import LINEAR, PARABOLIC, SMOOTH
from asperity.integrators.methods.classical.analytic import differentiate_forces
from asperity.integrators.methods.classical.dynamics import dynamics, dynamics_solution
from asperity.integrators.methods.classical.jacobian import differentiate
from asperity.integrators.methods.classical.runge_kutta import (
    implicit_euler_method,
    rosenbrock_2_method,
    runge_kutta_3_method,
    sdirk_2_method,
)
from asperity.integrators.methods.classical.stage_layout import CLASSICAL
from asperity.integrators.methods.classical.stage_newton import solve_stage
from asperity.integrators.methods.convex_step import EVALUATION_KERNELS, install_evaluation
from asperity.integrators.methods.method import Method
from asperity.integrators.world import World
from asperity.plant.state import State

__all__ = [
    "ClassicalMethod",
    "ImplicitEulerMethod",
    "ImplicitMethod",
    "Rosenbrock2Method",
    "RungeKutta3Method",
    "Sdirk2Method",
]

_FRICTION_LAWS = {"smooth": SMOOTH, "linear": LINEAR, "parabolic": PARABOLIC}

_JACOBIANS: dict[str, EntryPoint] = {
    "finite-differences": differentiate,
    "analytic": differentiate_forces,
}


@dataclass(kw_only=True, eq=False)
class ClassicalMethod(Method):
    """A method that integrates the continuous dynamics (`…classical.dynamics`).

    Parameters
    ----------
    friction_law : {"smooth", "linear", "parabolic"}
    constraint_step : float
        Limits and equalities are as stiff as those of ICF in such steps [s].
    """

    solution = dynamics_solution
    evaluates_systems = True

    friction_law: str
    constraint_step: float
    table: Table | None = field(init=False, default=None)

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        return (*EVALUATION_KERNELS, dynamics, dynamics_solution, self.kernel)

    def grow_contacts(self, capacity: int) -> None:
        assert self.table is not None
        # Those of the last iterate are forgotten.
        self.table.resize(contacts=capacity)
        self.table.known_contacts = 0

    def set_system_states(self, count: int) -> None:
        assert self.table is not None
        self.table.resize(system_states=count)

    @property
    def history(self) -> tuple[int, ...]:
        assert self.table is not None
        return tuple(self.table.address_of(name) for name in ("has_jacobian", "factor_step"))

    def prepare(self, world: World) -> None:
        super().prepare(world)
        install_evaluation(world)
        if self.table is None:
            model = world.plant.model
            self.table = Table(
                CLASSICAL,
                nv=model.nv,
                na=model.na,
                system_states=0,
                contacts=world.contact_capacity,
            )
        world.table.memory = self.table.address
        self.table.dynamics = dynamics.address
        self.table.friction_law = _FRICTION_LAWS[self.friction_law]
        self.table.stiff_step = self.constraint_step


class RungeKutta3Method(ClassicalMethod):
    """`asperity.integrators.methods.classical.runge_kutta`."""

    kernel = runge_kutta_3_method
    order = 3
    estimates_error = True


@dataclass(kw_only=True, eq=False)
class ImplicitMethod(ClassicalMethod):
    """A method whose stages are solved by Newton's method.

    Parameters
    ----------
    jacobian : {"finite-differences", "analytic"}
    newton_tolerance : float
        Of the state, in m, m/s, rad, rad/s.
    full_newton, transition_aware : bool
        Whether every iteration has a Jacobian of its own, and whether updates are cut by TALS.
    """

    jacobian: str
    newton_tolerance: float
    full_newton: bool = False
    transition_aware: bool = False
    _work: State | None = field(init=False, default=None)

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        return (*super().kernels, solve_stage, _JACOBIANS[self.jacobian])

    @property
    def states(self) -> tuple[State, ...]:
        return () if self._work is None else (self._work,)

    def set_system_states(self, count: int) -> None:
        super().set_system_states(count)
        for state in self.states:
            state.table.resize(system_states=count)

    def prepare(self, world: World) -> None:
        super().prepare(world)
        assert self.table is not None
        if self._work is None:
            self._work = world.new_state()
            self.table.work = self._work.table
        self.table.solve_stage = solve_stage.address
        for state in world.evaluated_states:
            state.table.passive_rows = 1
        self.table.differentiate = _JACOBIANS[self.jacobian].address
        self.table.full_newton = int(self.full_newton)
        self.table.transition_aware = int(self.transition_aware)
        self.table.newton_tolerance = self.newton_tolerance
        self.table.limited = self.table.has_jacobian = 0
        self.table.factor_step = 0.0


class ImplicitEulerMethod(ImplicitMethod):
    """Implicit Euler."""

    kernel = implicit_euler_method


class Sdirk2Method(ImplicitMethod):
    """The two-stage SDIRK method."""

    kernel = sdirk_2_method
    order = 2
    estimates_error = True


class Rosenbrock2Method(ImplicitMethod):
    """The two-stage Rosenbrock method."""

    kernel = rosenbrock_2_method
    order = 2
    estimates_error = True
