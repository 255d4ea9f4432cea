"""Base of methods that solve a convex problem in every step: potentials, graph and solution.

A method fills A and r. The potentials of contacts and rows, the feedback of external systems and
the warm start are the same for all.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Kernel, Table, compiled, entry_point
from asperity.compiled.arrays import copy_numbers
from asperity.compiled.calls import call_method, call_ppp_status, call_pppn_status
from asperity.compiled.team import over_ranges
from asperity.contact.constraint_laws import DRIFT_SPEED
from asperity.convex.block_cholesky import factorize, solve_factors
from asperity.convex.contact_velocities import (
    contact_velocities,
    link_velocities,
    row_velocities,
)
from asperity.convex.convex_newton import install_solver, solve_problem
from asperity.convex.graph import COUPLING_TOO_SMALL, PATTERN_CHANGED, build_graph
from asperity.convex.hessian_assembly import assemble
from asperity.convex.line_search import line_search
from asperity.convex.potentials.contact_driver import expect_impulses, prepare_contacts
from asperity.convex.potentials.rows import prepare_rows
from asperity.convex.problem import CONVERGED
from asperity.convex.problem import NOT_CONVERGED as NEWTON_NOT_CONVERGED
from asperity.integrators.methods.method import Method
from asperity.integrators.results import FEWEST_CONTACTS, RESULT_KERNELS, install_results
from asperity.integrators.world import World
from asperity.integrators.world_layout import (
    COUPLING_FULL,
    END_VELOCITY,
    LIMITED,
    NON_FINITE,
    NOT_CONVERGED,
    OK,
    PREVIOUS_VELOCITY,
    SHARE_SIGNATURE,
    TOWARDS,
)
from asperity.plant.detection.collision import read_contacts
from asperity.plant.detection.gliding import GlidingDetection
from asperity.plant.detection.turning_contacts import fill_turning_velocities
from asperity.plant.evaluate import evaluate, evaluate_motion, read_constraints
from asperity.plant.plant import Plant
from asperity.plant.plant_layouts import STATE
from asperity.plant.trees import velocity_from_solver, velocity_to_solver

__all__ = [
    "EVALUATION_KERNELS",
    "ConvexMethod",
    "FarSightedMethod",
    "drift_speed",
    "equality_step",
    "graph_of",
    "install_evaluation",
    "limit_step",
    "minimise",
    "prepare_potentials",
    "solve_potentials",
    "turning_step",
    "velocities_at",
]

# Changes of the bounds of friction, in points and with pressure fields: what presses one point of a
# patch more presses others less, so that more of them are needed.
_PASSES = 8
_FIELD_PASSES = 40

# Step whose near-rigid spring equalities have under error control [s]. Shorter ones are stiffer, so
# that what cannot be reached takes more steps.
_EQUALITY_STEP = 3e-4


@entry_point(SHARE_SIGNATURE)
def _fill_velocities(world: Table, first: int, last: int, _unused: int) -> int:
    """Fill the velocities of some contacts at the beginning of the step."""
    problem = world.problem
    state = STATE.at(world.shared_source)
    contact_velocities(problem.graph, problem.iterate, state.contacts, first, last, state.velocity)
    return OK


EVALUATION_KERNELS = (
    read_constraints,
    evaluate,
    evaluate_motion,
    read_contacts,
    build_graph,
    _fill_velocities,
    *RESULT_KERNELS,
)
"""What it takes to evaluate states, to find out what couples, and to keep results."""


def install_evaluation(world: World) -> None:
    """Put the entry points of `EVALUATION_KERNELS` into a world."""
    world.table.evaluate = evaluate.address
    world.table.build_graph = build_graph.address
    world.table.fill_velocities = _fill_velocities.address
    install_results(world.table)


class FarSightedMethod(Method):
    """A method that may find contacts at a distance."""

    _gliding: GlidingDetection | None = None

    @property
    def sees_ahead(self) -> bool:
        return self._gliding is not None and bool(self._gliding.table.looks_ahead)

    @staticmethod
    def settle_friction(
        world: World, passes: int | None, tolerance: float, refuse_unsettled: bool
    ) -> None:
        """Let bounds of friction follow the solution, as options of integrators say."""
        if passes is None:
            passes = _FIELD_PASSES if world.plant.fields.any else _PASSES
        options = world.problem.options
        options.settle_tolerance = tolerance
        options.most_changes = int(passes)
        options.refuse_unsettled = int(refuse_unsettled)

    def look_farther(
        self,
        world: World,
        *,
        glides: bool = False,
        looks_ahead: bool = False,
        keeps_pressed: bool = False,
        relaxes: bool = False,
        default_relaxation: float | None = None,
    ) -> None:
        """Find contacts at a distance, too (see `GlidingDetection`)."""
        if self._gliding is None:
            self._gliding = GlidingDetection(
                world.plant,
                glides=glides,
                looks_ahead=looks_ahead,
                keeps_pressed=keeps_pressed,
                relaxes=relaxes,
                default_relaxation=default_relaxation,
            )
        self._install_gliding(world)

    def detection_for(self, plant: Plant) -> GlidingDetection | None:
        if self._gliding is None:
            return None
        return self._gliding.of(plant)

    def _install_gliding(self, world: World) -> None:
        assert self._gliding is not None
        address = self._gliding.table.address if self._gliding.needed else 0
        for state in world.evaluated_states:
            state.table.gliding = address
            state.table.glides = self._gliding.table.glides

    def plant_changed(self, world: World) -> None:
        if self._gliding is not None:
            self._gliding.read_model()
            self._install_gliding(world)


class ConvexMethod(FarSightedMethod):
    """A method whose steps solve convex problems (`asperity.convex.convex_newton`)."""

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        return (solve_problem, assemble, line_search, *EVALUATION_KERNELS, factorize, solve_factors)

    def prepare(self, world: World) -> None:
        super().prepare(world)
        install_evaluation(world)
        install_solver(world.problem)
        world.table.solve_problem = solve_problem.address
        world.share_islands(solve_problem.address)
        for state in world.evaluated_states:
            state.table.every_friction = 1
            state.table.passive_rows = 1


@compiled
def velocities_at(
    graph: Table, iterate: Table, state: Table, velocity: np.ndarray
) -> tuple[int, int]:
    """Fill contact and row velocities for solver velocities at a state's configuration."""
    contacts = state.contacts
    rows = state.rows
    ncontact = contacts.count
    nrow = rows.count
    link_velocities(graph, iterate, contacts, velocity)
    contact_velocities(graph, iterate, contacts, 0, ncontact, velocity)
    row_velocities(graph, rows, 0, nrow, velocity, iterate.row_u)
    return ncontact, nrow


@compiled
def limit_step(world: Table, step: float) -> float:
    """The step that limits take the period of their near-rigid spring from.

    A whole step and its halves have that of a half step in common: if each gave way by its own
    amount, extrapolation would take the difference for motion.
    """
    return 0.5 * world.doubled_step if world.doubled_step > 0.0 else step


@compiled
def equality_step(world: Table, step: float) -> float:
    """The step that equalities take the period of their near-rigid spring from.

    Under error control all steps have one in common, or else what hangs at rest has a velocity and
    lengths of ropes change with the step.
    """
    return _EQUALITY_STEP if world.doubled_step > 0.0 else step


@compiled
def drift_speed(world: Table) -> float:
    """The speed up to which violations of equalities are taken back within a step.

    What a half step leaves is its error: to take it back in the next would count it twice.
    """
    return 0.0 if world.doubled_step > 0.0 else DRIFT_SPEED


@compiled
def turning_step(world: Table, step: float) -> float:
    """The step in which round contacts turn, if its order is not that of a scheme around it.

    That is so with extrapolation and in the trapezoid scheme.
    """
    return 0.0 if world.doubled_step > 0.0 or world.trapezoid != 0 else step


@compiled
def prepare_potentials(world: Table, state: Table, step: float, interval: float) -> None:
    """Fill the numbers of all potentials at the beginning of the step.

    Impulses are expected that have acted in ``interval`` [s], unless that is 0.
    """
    problem = world.problem
    graph = problem.graph
    ncontact = state.contacts.count
    nrow = state.rows.count
    fill_turning_velocities(world.plant, state, turning_step(world, step))
    link_velocities(graph, problem.iterate, state.contacts, state.velocity)
    world.shared_source = state.address
    over_ranges(world.team, world.fill_velocities, world.address, ncontact, FEWEST_CONTACTS, False)
    row_velocities(graph, state.rows, 0, nrow, state.velocity, problem.iterate.row_u)
    prepare_contacts(problem, state.contacts, step, ncontact)
    if interval > 0.0:
        expect_impulses(graph, problem.law, state.contacts, step, interval)
    slow = drift_speed(world)
    limits, equalities = limit_step(world, step), equality_step(world, step)
    prepare_rows(problem, state.rows, step, limits, equalities, slow, nrow, False)


@compiled
def graph_of(world: Table, state: Table) -> int:
    """Islands and order for the state's contacts and constraints, unless they are at hand."""
    evaluation = state.evaluations
    if world.graph_state == state.address and world.graph_evaluation == evaluation:
        return OK
    world.graph_state = 0
    graph = call_ppp_status(
        world.build_graph,
        world.problem,
        state.contacts,
        state.rows,
    )
    if graph == COUPLING_TOO_SMALL:
        return COUPLING_FULL
    if graph == PATTERN_CHANGED:
        world.factors_valid = 0
    world.graph_state = state.address
    world.graph_evaluation = evaluation
    return OK


@compiled
def minimise(world: Table, state: Table) -> int:
    """Solve the prepared problem from the guess, or else from the state's own velocity.

    With `PREVIOUS_VELOCITY` the guess is the velocity one step ago, and the state's own velocity is
    extrapolated as far as that lowers the cost. So is the guess with `TOWARDS`, along a direction
    of its own.
    """
    plant = world.plant
    problem = world.problem
    guess, iterate = problem.guess, problem.iterate
    contacts = state.contacts
    rows = state.rows
    guess.is_close = 0
    if world.guess_kind in (END_VELOCITY, TOWARDS):
        guess.is_close = 1
        velocity_to_solver(plant, state.cdof, world.guess, iterate.velocity)
        if world.guess_kind == TOWARDS:
            guess.extrapolated = 1
            velocity_to_solver(plant, state.cdof, world.guess_direction, guess.extrapolation)
        world.guess_kind = 0
    else:
        copy_numbers(state.velocity, iterate.velocity)
        if world.guess_kind == PREVIOUS_VELOCITY:
            world.guess_kind = 0
            velocity_to_solver(plant, state.cdof, world.guess, guess.extrapolation)
            for i in range(problem.graph.nv):
                guess.extrapolation[i] = iterate.velocity[i] - guess.extrapolation[i]
            guess.extrapolated = 1
    status = call_pppn_status(world.solve_problem, problem, contacts, rows, world.factors_valid)
    world.factors_valid = 1
    guess.is_known = 0
    if status == CONVERGED:
        return OK
    return NOT_CONVERGED if status == NEWTON_NOT_CONVERGED else NON_FINITE


@compiled
def solve_potentials(world: Table, state: Table, step: float) -> int:
    """Prepare all potentials and solve, with the feedback of external systems in its limits.

    Needs A, r and the graph, and takes the guess that there is.
    """
    plant = world.plant
    problem = world.problem
    interval = world.guess_interval
    world.guess_interval = 0.0
    if world.systems.size > 0:
        code = call_method(world.prepare_systems, world, state, 0, step)
        if code != OK:
            return code
    prepare_potentials(world, state, step, interval)
    problem.guess.is_known = 1 if world.guess_kind in (0, PREVIOUS_VELOCITY) else 0
    code = minimise(world, state)
    while code == OK and world.systems.size > 0:
        # Ends, because every round limits an effort that was not.
        code = call_method(world.limit_systems, world, state, 0, step)
        if code != LIMITED:
            return code
        velocity_from_solver(plant, state.cdof, problem.iterate.velocity, world.guess)
        world.guess_kind = END_VELOCITY
        prepare_potentials(world, state, step, interval)
        code = minimise(world, state)
    return code
