"""The continuous dynamics ẋ = f(t, x): the system that every method converges to.

    q̇ = N(q) v,    M(q) v̇ = τ(q, v) − D v + Jᵀ f_c(q, v) + Gᵀ f_r(q, v),    ȧ as MuJoCo has it

with the forces of contacts and of scalar constraints as functions of the state
(`asperity.contact.laws`, `asperity.contact.constraint_laws`), D the damping of joints and τ all
other smooth forces, with those of external systems, whose own states evolve as ż = h(z, q, v). M is
inverted tree by tree. Everything in a model that a convex method takes into account has a
continuous form, so nothing is refused here.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, entry_point
from asperity.compiled.calls import call_method, call_ppp_status
from asperity.contact.constraint_laws import row_force
from asperity.contact.laws import friction_of_contact, friction_per_speed, normal_force
from asperity.convex.block_cholesky import cholesky, cholesky_solve
from asperity.convex.contact_velocities import add_impulses
from asperity.integrators.methods.classical.stage_layout import CLASSICAL
from asperity.integrators.methods.convex_step import graph_of, velocities_at
from asperity.integrators.methods.motion import ensure_evaluated
from asperity.integrators.world_layout import NON_FINITE, OK, WORLD, compiled_method
from asperity.plant.evaluate import centripetal
from asperity.plant.plant_layouts import STATE
from asperity.plant.trees import is_centred, velocity_from_solver

__all__ = ["dynamics", "dynamics_solution"]

_LARGEST = 1.7976931348623157e308


@compiled
def _contact_forces(graph: Table, iterate: Table, contacts: Table, ncontact: int, law: int) -> None:
    """Fill ``g1, g2, gn`` with the forces [N] at the contact velocities ``v1, v2, vn``."""
    for i in range(ncontact):
        c = graph.contact[i]
        normal = normal_force(
            contacts.stiffness[c],
            contacts.dissipation[c],
            contacts.signed_distance[c],
            iterate.vn[i],
        )
        slip = np.sqrt(iterate.v1[i] * iterate.v1[i] + iterate.v2[i] * iterate.v2[i])
        tolerance = contacts.stiction_tolerance[c]
        coefficient = friction_of_contact(contacts, c, slip)
        share = coefficient * normal * friction_per_speed(law, slip, tolerance)
        iterate.g1[i] = -share * iterate.v1[i]
        iterate.g2[i] = -share * iterate.v2[i]
        iterate.gn[i] = normal


@compiled
def _row_forces(graph: Table, iterate: Table, rows: Table, nrow: int, stiff_step: float) -> None:
    """Fill ``row_impulse`` with the forces [N or Nm] at the row velocities ``row_u``."""
    for i in range(nrow):
        r = graph.row[i]
        iterate.row_impulse[i] = row_force(
            rows.kind[r],
            iterate.row_u[i],
            rows.position[r],
            rows.force[r],
            rows.lower[r],
            rows.upper[r],
            rows.inverse_mass[r],
            stiff_step,
        )


@compiled
def _solve_mass(graph: Table, hessian: Table, mass: np.ndarray, x: np.ndarray) -> bool:
    """``x = M⁻¹ x`` in solver velocities, tree by tree; False if M is not positive definite."""
    for tree in range(graph.ntree):
        start = graph.tree_start[tree]
        n = graph.tree_size[tree]
        block = graph.block_start[tree]
        hessian.factor_island[tree] = 0
        for k in range(block, block + n * n):
            hessian.factor[k] = mass[k]
        if not cholesky(hessian.factor, block, n, hessian.factor_inverse_diagonal, start):
            return False
        cholesky_solve(hessian.factor, block, n, hessian.factor_inverse_diagonal, x, start)
    return True


@entry_point(types.int64(WORLD.type, STATE.type, CLASSICAL.type))
def dynamics(world: Table, state: Table, classical: Table) -> int:
    """Evaluate the dynamics at a state, whose snapshot is then valid.

    Fills ``acceleration`` (generalized velocities) of the classical table, and the problem's
    ``g1, g2, gn`` and ``row_impulse`` with forces. The rates of positions and activations are the
    state's ``qvel`` and ``act_dot``. Returns a method's code.
    """
    code = ensure_evaluated(world, state)
    if code != OK:
        return code
    code = graph_of(world, state)
    if code != OK:
        return code
    if world.systems.size > 0:
        code = call_method(world.prepare_systems, world, state, 0, 0.0)
        if code != OK:
            return code
    plant = world.plant
    problem = world.problem
    graph, iterate = problem.graph, problem.iterate
    contacts = state.contacts
    rows = state.rows
    ncontact, nrow = velocities_at(graph, iterate, state, state.velocity)
    _contact_forces(graph, iterate, contacts, ncontact, classical.friction_law)
    _row_forces(graph, iterate, rows, nrow, classical.stiff_step)
    # A free body without damping has none in its solver velocities either.
    total = iterate.gradient
    for i in range(state.force.size):
        total[i] = state.force[i] - plant.dofs.damping[i] * state.velocity[i]
    add_impulses(graph, iterate, contacts, rows, (0, ncontact), (0, nrow), total, 1.0)
    if not _solve_mass(graph, problem.hessian, state.mass, total):
        return NON_FINITE
    velocity_from_solver(plant, state.cdof, total, classical.acceleration)
    for tree in range(plant.ntree):
        if not is_centred(plant, tree):
            turning = centripetal(plant, state, tree, state.qvel)
            for a in range(3):
                classical.acceleration[plant.trees.start[tree] + a] -= turning[a]
    size = 0.0
    for i in range(classical.acceleration.size):
        size += abs(classical.acceleration[i])
    # Kinematics and collisions must not be asked about infinite positions.
    return OK if size <= _LARGEST else NON_FINITE


@compiled_method
def dynamics_solution(world: Table, state: Table, _target: Table, step: float) -> int:
    """What publication shows of a classical method: the forces of the state, over a step.

    Leaves δt·f in the problem's impulses and v + δt·v̇ in its ``velocity``.
    """
    classical = CLASSICAL.at(world.memory)
    code = call_ppp_status(classical.dynamics, world, state, classical)
    if code != OK:
        return code
    problem = world.problem
    iterate = problem.iterate
    for i in range(problem.graph.nv):
        iterate.velocity[i] = state.velocity[i] + step * iterate.gradient[i]
    for i in range(state.contacts.count):
        iterate.g1[i] *= step
        iterate.g2[i] *= step
        iterate.gn[i] *= step
    for i in range(state.rows.count):
        iterate.row_impulse[i] *= step
    return OK
