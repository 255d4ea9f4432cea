"""A method from outside of the package, in one file: the explicit midpoint rule, with drag."""

from __future__ import annotations

from dataclasses import dataclass

from asperity.compiled import Layout, Table
from asperity.compiled.calls import call_method
from asperity.convex.block_cholesky import cholesky, cholesky_solve
from asperity.integrators.integrator import SteppedIntegrator, require_non_negative
from asperity.integrators.methods.convex_step import EVALUATION_KERNELS, install_evaluation
from asperity.integrators.methods.method import Method
from asperity.integrators.methods.motion import ensure_evaluated, integrate_positions
from asperity.integrators.registry import register
from asperity.integrators.world import World
from asperity.integrators.world_layout import OK, compiled_method
from asperity.plant.plant_layouts import STATE
from asperity.plant.state import State
from asperity.plant.trees import velocity_from_solver

MEMORY = Layout("toy", drag="f8", middle=STATE)


@compiled_method
def toy_solution(world: Table, state: Table, _target: Table, step: float) -> int:
    """The velocity v + h (M⁻¹ f − c v), in the problem's ``velocity``."""
    code = ensure_evaluated(world, state)
    if code != OK:
        return code
    problem = world.problem
    velocity, factor = problem.iterate.velocity, problem.hessian.factor
    for i in range(problem.graph.nv):
        velocity[i] = state.force[i]
    for tree in range(problem.graph.ntree):
        start, n, block = (
            problem.graph.tree_start[tree],
            problem.graph.tree_size[tree],
            problem.graph.block_start[tree],
        )
        for k in range(block, block + n * n):
            factor[k] = state.mass[k]
        cholesky(factor, block, n, problem.hessian.factor_inverse_diagonal, start)
        cholesky_solve(factor, block, n, problem.hessian.factor_inverse_diagonal, velocity, start)
    drag = MEMORY.at(world.memory).drag
    for i in range(problem.graph.nv):
        velocity[i] = state.velocity[i] + step * (velocity[i] - drag * state.velocity[i])
    return OK


@compiled_method
def toy_method(world: Table, source: Table, target: Table, step: float) -> int:
    """One step from x to x + h f(x + h/2 f(x))."""
    middle = MEMORY.at(world.memory).middle
    code = call_method(world.solve_step, world, source, 0, 0.5 * step)
    if code != OK:
        return code
    velocity_from_solver(world.plant, source.cdof, world.problem.iterate.velocity, middle.qvel)
    integrate_positions(world.plant, source, middle, source.qvel, 0.5 * step)
    code = call_method(world.solve_step, world, middle, 0, step)
    if code != OK:
        return code
    velocity_from_solver(world.plant, middle.cdof, world.problem.iterate.velocity, target.qvel)
    for i in range(target.qvel.size):
        target.qvel[i] += source.qvel[i] - middle.qvel[i]
    integrate_positions(world.plant, source, target, middle.qvel, step)
    world.result.error_order = 0
    world.result.sample = 0
    return OK


class ToyMethod(Method):
    kernel = toy_method
    solution = toy_solution
    order = 2
    forces_are_instantaneous = True
    takes_systems = False
    kernels = (*EVALUATION_KERNELS, toy_solution, toy_method)
    _middle: State | None = None

    def __init__(self, drag: float) -> None:
        self.drag = drag

    @property
    def states(self) -> tuple[State, ...]:
        return () if self._middle is None else (self._middle,)

    def prepare(self, world: World) -> None:
        super().prepare(world)
        install_evaluation(world)
        if self._middle is None:
            self._middle = world.new_state()
            self._table = Table(MEMORY, middle=self._middle.table)
        self._table.drag = self.drag
        world.table.memory = self._table.address


@register("toy")
@dataclass(frozen=True, kw_only=True)
class Toy(SteppedIntegrator):
    """Explicit midpoint steps, with drag, for motion without contact.

    Parameters
    ----------
    own_option : float
        Drag c [1/s]: everything loses the part c δt of its velocity.
    """

    own_option: float = 0.0

    default_time_step = 1e-3
    contact_parameters = frozenset()

    def __post_init__(self) -> None:
        super().__post_init__()
        require_non_negative("own_option", self.own_option)

    def make_base_method(self) -> Method:
        return ToyMethod(self.own_option)
