"""The momentum balance of a step at a prescribed velocity, and its derivatives by velocity.

A step's velocity v is the root of

    g(v) = A v − r − Jᵀ γ(J v) − Gᵀ λ(G v)

in which the bound of delivered friction is that of v itself and gyroscopic forces in the middle of
the step are those at ½ (v_0 + v). The method prepares A, r, the graph and the potentials, as it
does for its solver, which is then not called.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, compiled_loop, entry_point
from asperity.compiled.calls import call_method
from asperity.contact.constraint_set import CONSTRAINT_SET
from asperity.contact.contact_set import CONTACT_SET
from asperity.contact.laws import friction_slope
from asperity.convex.contact_velocities import (
    contact_velocities,
    link_velocities,
    row_velocities,
)
from asperity.convex.island import begin_island, choose_island, guess_velocities, island_gradient
from asperity.convex.island import multiply as multiply_island
from asperity.convex.potentials.contact_driver import (
    begin_estimates,
    evaluate_contacts,
    settle_contacts,
)
from asperity.convex.problem import CONVERGED, PROBLEM
from asperity.derivatives.layout import DELIVERED_BOUND, DERIVATIVE, FRICTION_ALONE
from asperity.derivatives.matching import remember_sets
from asperity.integrators.methods.gyroscopic import find_turning, gyroscopic_forces
from asperity.integrators.methods.motion import advance_activations
from asperity.integrators.world_layout import OK, WORLD
from asperity.plant.trees import force_from_solver, velocity_from_solver, velocity_to_solver

__all__ = [
    "RESIDUAL_KERNELS",
    "activations_after",
    "keep_the_guess",
    "prepare",
    "read_solution",
    "residual",
    "solve",
    "system",
]

# Displacement of velocities in the middle of a step for derivatives of gyroscopic forces, which are
# quadratic: central differences are exact whatever its size.
_SPIN = 1.0


@entry_point(types.int64(PROBLEM.type, CONTACT_SET.type, CONSTRAINT_SET.type, types.int64))
def keep_the_guess(_problem: Table, _contacts: Table, _rows: Table, _have_factors: int) -> int:
    """Stand in for a solver: what the solver would have been given stays as it is."""
    return CONVERGED


@compiled
def prepare(world: Table, state: Table, step: float) -> int:
    """Let the method prepare its problem at a state; the solver must be `keep_the_guess`."""
    world.guess_kind = 0
    return call_method(world.solve_step, world, state, 0, step)


@compiled
def _center_gyroscopic_forces(world: Table, work: Table, state: Table, step: float) -> None:
    """Let r have the gyroscopic forces of the middle of the step, of trees that turn far."""
    plant = world.plant
    problem = world.problem
    any_turns = False
    for tree in range(plant.ntree):
        any_turns = any_turns or work.turning[tree] == 1
    if not any_turns:
        return
    for i in range(work.mean.size):
        work.mean[i] = 0.5 * (state.qvel[i] + work.velocity[i])
    gyroscopic_forces(plant, state, work.mean, work.gyroscopic)
    for i in range(problem.nv):
        if work.turning[plant.dof_tree[i]] == 1:
            problem.rhs[i] += step * work.gyroscopic[i]
    # The data keep the velocities of the step's beginning, as all that was computed of them.
    gyroscopic_forces(plant, state, state.qvel, work.gyroscopic)
    for i in range(problem.nv):
        if work.turning[plant.dof_tree[i]] == 1:
            problem.rhs[i] -= step * work.gyroscopic[i]


@compiled
def residual(world: Table, work: Table, state: Table, step: float, out: np.ndarray) -> None:
    """Fill ``out`` with g at the prescribed velocity, in generalized forces, after `prepare`."""
    plant = world.plant
    problem = world.problem
    if problem.center_gyroscopic == 1:
        _center_gyroscopic_forces(world, work, state, step)
    velocity_to_solver(plant, state.cdof, work.velocity, problem.velocity)
    guess_velocities(problem, state.contacts)
    tolerance = problem.settle_tolerance
    # No change of a bound is within this tolerance, not even where nothing slips.
    problem.settle_tolerance = np.nan
    for k in range(problem.islands):
        choose_island(problem, k)
        begin_island(problem, state.rows)
        if problem.settle_contacts != 0:
            problem.changes = 0
            settle_contacts(problem, state.contacts, problem.first_contact, problem.last_contact)
        island_gradient(problem, state.contacts, state.rows)
    problem.settle_tolerance = tolerance
    force_from_solver(plant, state.cdof, problem.gradient, work.generalized)
    for i in range(work.generalized.size):
        out[i] = work.generalized[i]


@compiled
def activations_after(
    world: Table, work: Table, state: Table, step: float, out: np.ndarray
) -> None:
    """Fill the part of ``out`` behind the residual with the activations at the step's end."""
    if state.act.size > 0:
        advance_activations(world.plant, state, world.following, step)
        for i in range(state.act.size):
            out[work.qvel.size + i] = world.following.act[i]


@compiled_loop(types.int64(types.int64, types.float64))
def solve(world_address: int, step: float) -> int:
    """Solve the step of the current state with the solver that is installed."""
    world = WORLD.at(world_address)
    world.guess_kind = 0
    return call_method(world.solve_step, world, world.current, 0, step)


@compiled
def _add_gyroscopic_columns(world: Table, work: Table, state: Table, step: float) -> None:
    """Subtract δt ∂f/∂v of gyroscopic forces f((v_0 + v)/2) from the system."""
    plant = world.plant
    problem = world.problem
    force = work.gyroscopic
    nv = problem.nv
    for j in range(nv):
        if work.turning[plant.dof_tree[j]] == 0:
            continue
        for side in range(2):
            sign = 1.0 if side == 0 else -1.0
            for i in range(nv):
                work.mean[i] = 0.5 * (state.qvel[i] + work.velocity[i])
            work.mean[j] += sign * _SPIN
            gyroscopic_forces(plant, state, work.mean, force)
            for i in range(nv):
                if work.turning[plant.dof_tree[i]] == 0:
                    force[i] = 0.0
            force_from_solver(plant, state.cdof, force, work.generalized)
            for i in range(nv):
                work.system[i, j] -= sign * step * 0.25 / _SPIN * work.generalized[i]
    gyroscopic_forces(plant, state, state.qvel, force)


@compiled
def _fill_jacobian(world: Table, work: Table, state: Table) -> None:
    """Fill A and the Jacobians of contacts and rows, by generalized velocities."""
    plant = world.plant
    problem = world.problem
    contacts = state.contacts
    rows = state.rows
    nv = problem.nv
    unit = work.mean
    direction = problem.direction
    for j in range(nv):
        for i in range(nv):
            unit[i] = 0.0
        unit[j] = 1.0
        velocity_to_solver(plant, state.cdof, unit, direction)
        multiply_island(problem, 0, problem.ntree, direction, problem.direction_product)
        force_from_solver(plant, state.cdof, problem.direction_product, work.generalized)
        for i in range(nv):
            work.system[i, j] = work.generalized[i]
        link_velocities(problem, contacts, direction)
        contact_velocities(
            problem,
            contacts,
            0,
            contacts.count,
            direction,
            problem.dv1,
            problem.dv2,
            problem.dvn,
        )
        for i in range(contacts.count):
            work.jacobian[3 * i, j] = problem.dv1[i]
            work.jacobian[3 * i + 1, j] = problem.dv2[i]
            work.jacobian[3 * i + 2, j] = problem.dvn[i]
        row_velocities(problem, rows, 0, rows.count, direction, problem.row_du)
        for i in range(rows.count):
            work.jacobian[3 * contacts.count + i, j] = problem.row_du[i]


@compiled
def _add_curvatures(work: Table, contacts: int, rows: int) -> None:
    """Add Jᵀ (−∂γ/∂v) J of contacts and rows to the system."""
    system = work.system
    jacobian = work.jacobian
    nv = system.shape[0]
    for c in range(contacts):
        first = 3 * c
        for i in range(nv):
            x = jacobian[first, i]
            y = jacobian[first + 1, i]
            z = jacobian[first + 2, i]
            if x == 0.0 and y == 0.0 and z == 0.0:
                continue
            p = x * work.blocks[c, 0, 0] + y * work.blocks[c, 1, 0] + z * work.blocks[c, 2, 0]
            q = x * work.blocks[c, 0, 1] + y * work.blocks[c, 1, 1] + z * work.blocks[c, 2, 1]
            r = x * work.blocks[c, 0, 2] + y * work.blocks[c, 1, 2] + z * work.blocks[c, 2, 2]
            for j in range(nv):
                system[i, j] += (
                    p * jacobian[first, j] + q * jacobian[first + 1, j] + r * jacobian[first + 2, j]
                )
    for k in range(rows):
        row = 3 * contacts + k
        for i in range(nv):
            x = work.row_curvature[k] * jacobian[row, i]
            if x != 0.0:
                for j in range(nv):
                    system[i, j] += x * jacobian[row, j]


@compiled
def _add_bound(problem: Table, contacts: Table, work: Table, i: int) -> None:
    """Add what a bound of friction L = μ(‖v_t‖) n(v_n) adds to −∂γ_t/∂v, γ_t = −L v_t/η.

    Where ε = σ L w, η = √(‖v_t‖² + ε²) depends on the bound, too.
    """
    c = problem.contact[i]
    x = problem.v1[i]
    y = problem.v2[i]
    square = problem.soft_slip_square[i]
    inverse = 1.0 / np.sqrt(x * x + y * y + square)
    by_limit = inverse
    if problem.slip_regularization * problem.stoppable[i] > contacts.stiction_tolerance[c]:
        by_limit -= square * inverse * inverse * inverse
    slip = np.sqrt(x * x + y * y)
    coefficient, slope = friction_slope(
        contacts.static_friction[c],
        contacts.dynamic_friction[c],
        slip,
        contacts.stiction_tolerance[c],
    )
    # ∂L/∂v; the direction of a slip of zero does not matter, as the slope is zero there or the
    # product with v_t is.
    by_slip = problem.gn[i] * slope / slip if slip > 0.0 else 0.0
    d1 = by_slip * x
    d2 = by_slip * y
    dn = -coefficient * problem.hnn[i]
    work.blocks[i, 0, 0] += by_limit * x * d1
    work.blocks[i, 0, 1] += by_limit * x * d2
    work.blocks[i, 0, 2] += by_limit * x * dn
    work.blocks[i, 1, 0] += by_limit * y * d1
    work.blocks[i, 1, 1] += by_limit * y * d2
    work.blocks[i, 1, 2] += by_limit * y * dn


@compiled
def _fill_blocks(world: Table, work: Table, state: Table) -> None:
    """Fill −∂γ/∂v of every contact and the curvatures of rows, at the prescribed velocity."""
    problem = world.problem
    contacts = state.contacts
    count = contacts.count
    if problem.begin_estimates != 0:
        # Curvatures are those of the law itself where the estimates are the present velocities.
        for i in range(count):
            problem.stoppable[i] = 0.0
        begin_estimates(problem, 0, count)
        evaluate_contacts(problem, 0, count)
        for i in range(count):
            c = problem.contact[i]
            problem.stoppable[i] = problem.friction_limit[i] * contacts.inverse_mass[c]
    for i in range(count):
        work.blocks[i, 0, 0] = problem.h11[i]
        work.blocks[i, 0, 1] = problem.h12[i]
        work.blocks[i, 1, 0] = problem.h12[i]
        work.blocks[i, 1, 1] = problem.h22[i]
        work.blocks[i, 0, 2] = problem.h1n[i]
        work.blocks[i, 1, 2] = problem.h2n[i]
        work.blocks[i, 2, 0] = 0.0 if work.coupling == FRICTION_ALONE else problem.h1n[i]
        work.blocks[i, 2, 1] = 0.0 if work.coupling == FRICTION_ALONE else problem.h2n[i]
        work.blocks[i, 2, 2] = problem.hnn[i]
        if work.coupling == DELIVERED_BOUND:
            _add_bound(problem, contacts, work, i)
    for i in range(state.rows.count):
        work.row_curvature[i] = problem.row_curvature[i]


@compiled_loop(types.int64(types.int64, types.int64, types.float64))
def system(world_address: int, work_address: int, step: float) -> int:
    """Fill g, and its derivative H by the velocity, at the prescribed velocity."""
    world = WORLD.at(world_address)
    work = DERIVATIVE.at(work_address)
    state = world.current
    code = prepare(world, state, step)
    if code != OK:
        return code
    residual(world, work, state, step, work.sides[0])
    activations_after(world, work, state, step, work.sides[0])
    _fill_blocks(world, work, state)
    _fill_jacobian(world, work, state)
    _add_curvatures(work, state.contacts.count, state.rows.count)
    if world.problem.center_gyroscopic == 1:
        _add_gyroscopic_columns(world, work, state, step)
    return OK


@compiled_loop(types.int64(types.int64, types.int64, types.float64))
def read_solution(world_address: int, work_address: int, step: float) -> int:
    """Prescribe the solution that the solver has found, and keep what belongs to the state."""
    world = WORLD.at(world_address)
    work = DERIVATIVE.at(work_address)
    plant = world.plant
    state = world.current
    velocity_from_solver(plant, state.cdof, world.problem.velocity, work.velocity)
    for tree in range(plant.ntree):
        work.turning[tree] = 0
    if world.problem.center_gyroscopic == 1:
        find_turning(plant, state, step)
        for tree in range(plant.ntree):
            work.turning[tree] = state.work.turning[tree]
    remember_sets(work, state)
    return OK


RESIDUAL_KERNELS = (system, solve, read_solution, keep_the_guess)
