"""The momentum balance of a step at a prescribed velocity.

A step's velocity v is the root of

    g(v) = A v − r − Jᵀ γ(J v) − Gᵀ λ(G v)

in which the bound of delivered friction is that of v itself and gyroscopic forces in the middle of
the step are those at ½ (v_0 + v). The method prepares A, r, the graph and the potentials, as it
does for its solver, which is then not called.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, entry_point
from asperity.compiled.arrays import copy_numbers
from asperity.compiled.calls import call_method
from asperity.contact.constraint_set import CONSTRAINT_SET
from asperity.contact.contact_set import CONTACT_SET
from asperity.convex.island import (
    begin_island,
    choose_island,
    guess_velocities,
    island_gradient,
)
from asperity.convex.matrix import multiply
from asperity.convex.potentials.contact_driver import begin_estimates, change_numbers
from asperity.convex.problem import CONVERGED, PROBLEM
from asperity.derivatives.balance.middle_velocity import add_middle_forces
from asperity.integrators.methods.icf import fill_elasticity, smooth_terms
from asperity.integrators.methods.motion import advance_activations
from asperity.integrators.methods.theta import theta_terms
from asperity.integrators.world_layout import OK
from asperity.plant.trees import force_from_solver, velocity_to_solver

__all__ = ["activations_after", "keep_the_guess", "prepare", "residual", "smooth_balance"]


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
def residual(world: Table, work: Table, state: Table, step: float, out: np.ndarray) -> None:
    """Fill ``out`` with g at the prescribed velocity, in generalized forces, after `prepare`."""
    plant = world.plant
    problem = world.problem
    graph, iterate, at_hand = problem.graph, problem.iterate, problem.at_hand
    add_middle_forces(world, work, state, step)
    velocity_to_solver(plant, state.cdof, work.velocity, iterate.velocity)
    guess_velocities(graph, iterate, state.contacts)
    for k in range(graph.islands):
        choose_island(graph, at_hand, problem.newton, k)
        begin_island(problem, state.rows)
        if problem.law.settle_contacts != 0:
            problem.newton.changes = 0
            begin_estimates(problem, at_hand.first_contact, at_hand.last_contact)
            # However little that is.
            first = at_hand.first_contact
            change_numbers(problem, state.contacts, first, at_hand.last_contact, False)
        island_gradient(problem, state.contacts, state.rows)
    force_from_solver(plant, state.cdof, iterate.gradient, work.generalized)
    copy_numbers(work.generalized, out)


@compiled
def activations_after(
    world: Table, start: Table, state: Table, step: float, out: np.ndarray
) -> None:
    """Fill the part of ``out`` behind the residual with the activations at the step's end."""
    if state.act.size > 0:
        advance_activations(world.plant, state, world.following, step)
        for i in range(state.act.size):
            out[start.qvel.size + i] = world.following.act[i]


@compiled
def _multiply_bonds(plant: Table, bond: np.ndarray, x: np.ndarray, out: np.ndarray) -> None:
    """Add to A x what bonds between particles contribute."""
    trees = plant.trees
    bond_tree = plant.elastic.bond_tree
    for k in range(len(bond_tree)):
        one = bond_tree[k, 0]
        other = bond_tree[k, 1]
        for i in range(trees.size[one]):
            for j in range(trees.size[other]):
                value = bond[k, 3 * i + j]
                out[trees.start[one] + i] += value * x[trees.start[other] + j]
                out[trees.start[other] + j] += value * x[trees.start[one] + i]


@compiled
def smooth_balance(world: Table, work: Table, state: Table, step: float) -> int:
    """Fill the problem's ``gradient`` with A v − r of an evaluated state; returns a code."""
    plant = world.plant
    problem = world.problem
    iterate, graph = problem.iterate, problem.graph
    if work.has_stages == 1:
        code = theta_terms(world, state, step)
        if code != OK:
            return code
    else:
        smooth_terms(world, state, step, 0, graph.ntree)
        fill_elasticity(world, state, step)
    add_middle_forces(world, work, state, step)
    velocity_to_solver(plant, state.cdof, work.velocity, iterate.velocity)
    multiply(graph, problem.smooth, 0, graph.ntree, iterate.velocity, iterate.gradient)
    _multiply_bonds(plant, problem.smooth.bond, iterate.velocity, iterate.gradient)
    for i in range(graph.nv):
        iterate.gradient[i] -= problem.smooth.rhs[i]
    return OK
