"""The second-order trapezoid scheme (CENIC V-B, equation 25; docs/equations.md, ‘Trapezoid’).

A full ICF step gives x̂. With bars for means of beginning and x̂, and hats for x̂,

    (M_0 + M̂ + δt D + ½ δt² K)(v − v_0) = δt (f_0 + f̂) + ... + j_0 + Ĵᵀ γ(Ĵ v),
    q = q_0 ⊕ ½ δt (v + v_0),

twice the momentum balance, so that the potentials enter unscaled. Their elastic forces are stepped
backwards from x̂ (f_e0 = f_e(q̂) + δt k v̂_n), linear springs and dampers of joints follow the
implicit trapezoid rule, and j_0 are the impulses δt·f of the continuous laws at the beginning (for
limits and equalities, which have none, those of the full step). The difference to x̂ estimates the
error.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.compiled.calls import call_method
from asperity.contact.constraint_set import ACTUATOR, FRICTION
from asperity.contact.laws import friction_coefficient
from asperity.convex.contact_velocities import add_impulses, row_velocities
from asperity.convex.potentials.lagged import prepare_lagged
from asperity.convex.potentials.rows import prepare_rows
from asperity.integrators.methods.convex_step import graph_of, minimise, velocities_at
from asperity.integrators.methods.method import WrappingMethod
from asperity.integrators.methods.motion import (
    advance_activations,
    ensure_evaluated,
    integrate_positions,
    position_difference,
)
from asperity.integrators.results import keep_results
from asperity.integrators.world_layout import END_VELOCITY, OK, compiled_method
from asperity.plant.trees import (
    add_mass,
    force_from_solver,
    force_to_solver,
    velocity_from_solver,
    velocity_to_solver,
)

__all__ = ["Trapezoid", "trapezoid_method"]


@compiled
def _impulses_now(problem: Table, state: Table, step: float) -> None:
    """Replace the impulses of the last solve by δt·f of the continuous laws, where there are such.

    Needs contact and row velocities at the state's own velocity.
    """
    contacts = state.contacts
    rows = state.rows
    order = problem.contact
    for i in range(contacts.count):
        c = order[i]
        normal = (
            step
            * contacts.stiffness[c]
            * max(-contacts.signed_distance[c], 0.0)
            * max(1.0 - contacts.dissipation[c] * problem.vn[i], 0.0)
        )
        square = problem.v1[i] * problem.v1[i] + problem.v2[i] * problem.v2[i]
        coefficient = friction_coefficient(
            contacts.static_friction[c],
            contacts.dynamic_friction[c],
            np.sqrt(square),
            contacts.stiction_tolerance[c],
        )
        f = coefficient * normal / np.sqrt(square + problem.soft_slip_square[i])
        problem.g1[i] = -f * problem.v1[i]
        problem.g2[i] = -f * problem.v2[i]
        problem.gn[i] = normal
    order = problem.row
    for i in range(rows.count):
        r = order[i]
        if rows.kind[r] == FRICTION:
            problem.row_impulse[i] = (
                -step
                * rows.upper[r]
                * problem.row_u[i]
                / np.sqrt(problem.row_u[i] * problem.row_u[i] + rows.lower[r] * rows.lower[r])
            )
        elif rows.kind[r] == ACTUATOR:
            problem.row_impulse[i] = step * min(max(rows.force[r], rows.lower[r]), rows.upper[r])


@compiled
def _smooth_terms(
    world: Table, source: Table, full: Table, step: float, start_impulse: np.ndarray
) -> None:
    """Fill A, diag(M) and r; ``start_impulse`` is j_0 in the solver velocities of the source."""
    plant = world.plant
    problem = world.problem
    matrix = problem.matrix
    rhs = problem.rhs
    product = problem.product
    for i in range(matrix.size):
        matrix[i] = full.mass[i]
    add_mass(
        plant,
        source.mass,
        source.cdof,
        full.cdof,
        problem.patch,
        matrix,
    )
    # Forces at the beginning and j_0, changed to the solver velocities of x̂.
    for i in range(rhs.size):
        product[i] = step * source.force[i] + start_impulse[i]
    force_from_solver(plant, source.cdof, product, world.scratch)
    force_to_solver(plant, full.cdof, world.scratch, rhs)
    velocity_to_solver(plant, full.cdof, source.qvel, product)
    for tree in range(plant.ntree):
        s = plant.tree_start[tree]
        n = plant.tree_size[tree]
        block = plant.block_start[tree]
        for i in range(n):
            value = 0.0
            for j in range(n):
                value += matrix[block + i * n + j] * product[s + j]
            rhs[s + i] += value + step * full.force[s + i]
            problem.mass_diagonal[s + i] = 2.0 * full.mass_diagonal[s + i]
            problem.mass_inverse_diagonal[s + i] = 0.5 / full.mass_diagonal[s + i]
            if not plant.tree_spatial[tree]:
                v = product[s + i]
                rhs[s + i] -= step * plant.dof_damping[s + i] * v
                rhs[s + i] -= (
                    step * step * plant.dof_stiffness[s + i] * (0.5 * v - full.qvel[s + i])
                )
        if not plant.tree_spatial[tree]:
            for i in range(n):
                matrix[block + i * n + i] += step * (
                    plant.dof_damping[s + i] + 0.5 * step * plant.dof_stiffness[s + i]
                )


@compiled
def _backward_potentials(world: Table, source: Table, full: Table, step: float) -> None:
    """Fill the numbers of all potentials from x̂, stepped backwards."""
    plant = world.plant
    problem = world.problem
    rows = full.rows
    ncontact, nrow = velocities_at(problem, full, full.velocity)
    prepare_lagged(problem, full.contacts, step, ncontact, step)
    velocity_to_solver(plant, full.cdof, source.qvel, problem.product)
    row_velocities(problem, rows, 0, nrow, problem.product, problem.row_du)
    prepare_rows(problem, rows, step, nrow, True)


@compiled_method
def trapezoid_method(world: Table, source: Table, target: Table, step: float) -> int:
    """One trapezoid step, with the full ICF step as its reference."""
    plant = world.plant
    problem = world.problem
    full = world.full
    world.guess_kind = 0
    code = call_method(world.base_method, world, source, full, step)
    if code != OK:
        return code
    # The graph is still that of the source.
    for i in range(world.guess.size):
        problem.gradient[i] = 0.0
    ncontact, nrow = velocities_at(problem, source, source.velocity)
    _impulses_now(problem, source, step)
    add_impulses(
        problem,
        source.contacts,
        source.rows,
        (0, ncontact),
        (0, nrow),
        problem.gradient,
        1.0,
    )
    code = ensure_evaluated(world, full)
    if code != OK:
        return code
    _smooth_terms(world, source, full, step, problem.gradient)
    code = graph_of(world, full)
    if code != OK:
        return code
    _backward_potentials(world, source, full, step)
    for i in range(world.guess.size):
        world.guess[i] = full.qvel[i]
    world.guess_kind = END_VELOCITY
    code = minimise(world, full)
    if code != OK:
        return code
    velocity_from_solver(plant, full.cdof, problem.velocity, target.qvel)
    keep_results(world, full, source.qvel, target.qvel, step)
    for i in range(world.scratch.size):
        world.scratch[i] = 0.5 * (source.qvel[i] + target.qvel[i])
    integrate_positions(plant, source, target, world.scratch, step)
    advance_activations(plant, source, target, step)
    position_difference(plant, full, target, world.result.error)
    # The order of the first-order solution that it is compared with.
    world.result.error_order = 2
    world.result.sample = full.address
    return OK


class Trapezoid(WrappingMethod):
    """ICF steps, corrected to second order and compared with themselves."""

    kernel = trapezoid_method
    order = 2
    estimates_error = True
    takes_systems = False
