"""ICF: one convex step with lagged friction, the building block of CENIC (IV; method ``icf``).

    A = M_0 + δt D + δt² K,                  r = M_0 v_0 + δt f_0,
    v = argmin ½vᵀAv − rᵀv + Σ ℓ(Jv),        q = q_0 ⊕ δt v

D and K are the damping and stiffness of joints, which makes linear springs and dampers implicit;
f_0 are all other smooth forces, with the springs' at q_0. Linear servos, limits and constraints
enter as potentials (`asperity.convex.potentials`), and so do external systems
(`asperity.integrators.external`).
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.compiled.calls import (
    call_method,
    call_pp_status,
    call_ppp_status,
    call_pppd,
    call_pppn_status,
)
from asperity.convex.graph import COUPLING_TOO_SMALL, PATTERN_CHANGED
from asperity.convex.kinematics import (
    add_surface_velocities,
    contact_velocities,
    link_velocities,
    row_velocities,
)
from asperity.convex.potentials.contacts import prepare_contacts
from asperity.convex.potentials.rows import prepare_rows
from asperity.convex.problem import CONVERGED
from asperity.convex.problem import NOT_CONVERGED as NEWTON_NOT_CONVERGED
from asperity.integrators.layout import (
    COUPLING_FULL,
    END_VELOCITY,
    LIMITED,
    NON_FINITE,
    NOT_CONVERGED,
    OK,
    PREVIOUS_VELOCITY,
    compiled_method,
)
from asperity.integrators.results import keep_results
from asperity.plant.trees import velocity_from_solver, velocity_to_solver

__all__ = [
    "advance_activations",
    "ensure_evaluated",
    "graph_of",
    "icf_method",
    "icf_solution",
    "integrate_positions",
    "minimise",
    "prepare_potentials",
    "solve_potentials",
    "velocities_at",
]


@compiled
def ensure_evaluated(world: Table, state: Table) -> int:
    """Evaluate a state unless its snapshot is valid."""
    if state.valid == 1:
        return OK
    return call_pp_status(world.evaluate, world.plant, state)


@compiled
def smooth_terms(plant: Table, problem: Table, state: Table, step: float) -> None:
    """Fill A, diag(M) and r from the snapshot."""
    for i in range(problem.matrix.size):
        problem.matrix[i] = state.mass[i]
    for tree in range(problem.ntree):
        start = problem.tree_start[tree]
        n = problem.tree_size[tree]
        block = problem.block_start[tree]
        for i in range(n):
            value = 0.0
            row = block + i * n
            for j in range(n):
                value += state.mass[row + j] * state.velocity[start + j]
            problem.rhs[start + i] = value + step * state.force[start + i]
            problem.mass_diagonal[start + i] = state.mass_diagonal[start + i]
            problem.mass_inverse_diagonal[start + i] = state.mass_inverse_diagonal[start + i]
        if not problem.tree_spatial[tree]:
            for i in range(n):
                problem.matrix[block + i * n + i] += step * (
                    plant.dof_damping[start + i] + step * plant.dof_stiffness[start + i]
                )


@compiled
def velocities_at(problem: Table, state: Table, velocity: np.ndarray) -> tuple[int, int]:
    """Fill contact and row velocities for solver velocities at a state's configuration."""
    contacts = state.contacts
    rows = state.rows
    ncontact = contacts.count
    nrow = rows.count
    link_velocities(problem, contacts, velocity)
    contact_velocities(
        problem,
        contacts,
        0,
        ncontact,
        velocity,
        problem.v1,
        problem.v2,
        problem.vn,
    )
    add_surface_velocities(problem, contacts, 0, ncontact)
    row_velocities(problem, rows, 0, nrow, velocity, problem.row_u)
    return ncontact, nrow


@compiled
def prepare_potentials(problem: Table, state: Table, step: float) -> None:
    """Fill the numbers of all potentials at the beginning of the step."""
    ncontact, nrow = velocities_at(problem, state, state.velocity)
    prepare_contacts(problem, state.contacts, step, ncontact)
    prepare_rows(problem, state.rows, step, nrow, False)


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
    extrapolated as far as that lowers the cost.
    """
    plant = world.plant
    problem = world.problem
    contacts = state.contacts
    rows = state.rows
    if world.guess_kind == END_VELOCITY:
        world.guess_kind = 0
        velocity_to_solver(plant, state.cdof, world.guess, problem.velocity)
    else:
        for i in range(state.velocity.size):
            problem.velocity[i] = state.velocity[i]
        if world.guess_kind == PREVIOUS_VELOCITY:
            world.guess_kind = 0
            velocity_to_solver(plant, state.cdof, world.guess, problem.extrapolation)
            for i in range(problem.nv):
                problem.extrapolation[i] = problem.velocity[i] - problem.extrapolation[i]
            problem.extrapolated = 1
    status = call_pppn_status(world.solve_problem, problem, contacts, rows, world.factors_valid)
    world.factors_valid = 1
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
    if world.systems.size > 0:
        code = call_method(world.prepare_systems, world, state, 0, step)
        if code != OK:
            return code
    prepare_potentials(problem, state, step)
    code = minimise(world, state)
    while code == OK and world.systems.size > 0:
        # Ends, because every round limits an effort that was not.
        code = call_method(world.limit_systems, world, state, 0, step)
        if code != LIMITED:
            return code
        velocity_from_solver(plant, state.cdof, problem.velocity, world.guess)
        world.guess_kind = END_VELOCITY
        prepare_potentials(problem, state, step)
        code = minimise(world, state)
    return code


@compiled_method
def icf_solution(world: Table, state: Table, _target: Table, step: float) -> int:
    """Solve the convex problem of an ICF step; the result is in the problem's ``velocity``."""
    code = ensure_evaluated(world, state)
    if code != OK:
        return code
    plant = world.plant
    problem = world.problem
    smooth_terms(plant, problem, state, step)
    code = graph_of(world, state)
    if code != OK:
        return code
    return solve_potentials(world, state, step)


@compiled
def integrate_positions(
    plant: Table, source: Table, target: Table, qvel: np.ndarray, step: float
) -> None:
    """``target.qpos = source.qpos ⊕ step · qvel``; the target's snapshot becomes invalid."""
    for i in range(source.qpos.size):
        target.qpos[i] = source.qpos[i]
    call_pppd(
        plant.integrate_positions,
        plant.model,
        target.qpos.ctypes.data,
        qvel.ctypes.data,
        step,
    )
    target.time = source.time + step
    target.valid = 0


@compiled
def advance_activations(plant: Table, source: Table, target: Table, step: float) -> None:
    """Advance the actuators' activations from the source's rates, as MuJoCo does."""
    for i in range(source.act.size):
        if plant.act_kind[i] == 1:
            value = source.act[i] + source.act_dot[i] * plant.act_time_constant[i] * (
                1.0 - np.exp(-step / plant.act_time_constant[i])
            )
        else:
            value = source.act[i] + step * source.act_dot[i]
        target.act[i] = min(max(value, plant.act_range[i, 0]), plant.act_range[i, 1])


@compiled_method
def icf_method(world: Table, source: Table, target: Table, step: float) -> int:
    """One ICF step."""
    plant = world.plant
    code = call_method(world.solve_step, world, source, 0, step)
    if code != OK:
        return code
    problem = world.problem
    velocity_from_solver(plant, source.cdof, problem.velocity, target.qvel)
    integrate_positions(plant, source, target, target.qvel, step)
    advance_activations(plant, source, target, step)
    keep_results(world, source, source.qvel, target.qvel, step)
    world.has_error = 0
    if world.systems.size > 0:
        return call_method(world.advance_systems, world, source, target, step)
    return OK
