"""Gyroscopic and Coriolis forces of an extrapolated step's second half.

A step takes these forces at the velocity of its beginning. With those of the second half step at
v_1, the velocity before it, extrapolation is v_0 + δt a(v_1): a velocity that turns by z = i ω δt
is multiplied by 1 + z + z²/2, which runs ahead by (ω δt)³/6 and grows by (ω δt)⁴/8. With v_2 after
the second half step,

    v_1 + ⅔ (v_2 − 2 v_1 + v_0)

adds the term z³/6, so that it shrinks by (ω δt)⁴/24: what precesses keeps time, and light links
that whirl heavy ends gain no energy from that. Where it matters v_2 is corrected: the difference of
the forces is an impulse to which velocities respond as the step's solution does to first order,
H⁻¹ ½ δt (c(…) − c(v_1)), and ½ δt times this is added to positions. Free bodies have the forces of
the middle of each step already (`.gyroscopic`).

Where a contact or an equality holds a robot second order asks for more. A step meets J v = 0 with
the Jacobian of its beginning, so v_1 is off by the acceleration normal to the constraint, a
first-order error that the second half step projects out again, but not before it has entered these
forces. v_2 − v_1 + v_0 is free of that, and takes the other's place.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, compiled_loop
from asperity.compiled.calls import call_pppn_status
from asperity.contact.constraint_set import EQUALITY
from asperity.convex.response import AS_SOLVED
from asperity.integrators.methods.convex_step import velocities_at
from asperity.integrators.methods.extrapolation_layout import EXTRAPOLATION
from asperity.integrators.methods.gyroscopic import gyroscopic_forces
from asperity.integrators.methods.icf import smooth_terms
from asperity.integrators.methods.motion import move_positions
from asperity.integrators.world_layout import WORLD
from asperity.plant.trees import force_to_solver, velocity_from_solver

__all__ = ["correct_velocities", "response_matrix"]

# Of v_2 − 2 v_1 + v_0.
_SHARE = 2.0 / 3.0
_SHARE_WHERE_HELD = 1.0

# Share of the accuracy by which these forces may move a body in a step, and in a second [1/s],
# without which short steps would add up to a first-order error.
_NEGLIGIBLE = 1e-3
_NEGLIGIBLE_RATE = 0.5
# Share of the velocity beyond which the step is too long for it where something is held: energy
# would grow.
_TOO_MUCH = 0.001


@compiled
def _find_held_islands(memory: Table, state: Table) -> None:
    """Find the islands in which a contact or an equality holds a body."""
    for tree in range(memory.island.size):
        memory.held[tree] = 0
    contacts = state.contacts
    for c in range(contacts.count):
        if contacts.impulse[c, 2] > 0.0:
            for side in range(2):
                link = contacts.link[c, side]
                if link >= 0:
                    memory.held[memory.island[contacts.link_tree[link]]] = 1
    rows = state.rows
    for r in range(rows.count):
        if rows.kind[r] == EQUALITY:
            memory.held[memory.island[rows.tree[r, 0]]] = 1


@compiled
def _find_trees(graph: Table, memory: Table) -> bool:
    """Fill the share of every tree, 0 of those that are left as they are; False if all are."""
    found = False
    for tree in range(memory.island.size):
        island = memory.island[tree]
        memory.corrected[tree] = 0.0
        if memory.rough[island] == 0 and not graph.tree_spatial[tree]:
            memory.corrected[tree] = _SHARE_WHERE_HELD if memory.held[island] == 1 else _SHARE
            found = True
    return found


@compiled
def _find_what_matters(world: Table, half: Table, step: float) -> bool:
    """Leave the shares of trees in whose islands forces change enough, and not too much."""
    plant = world.plant
    memory = EXTRAPOLATION.at(world.memory)
    present = half.work.gyroscopic
    corrected = half.work.gyroscopic_following
    for tree in range(memory.island.size):
        memory.changed[tree] = 0.0
        memory.fastest[tree] = 0.0
    for i in range(present.size):
        tree = plant.dofs.tree[i]
        island = memory.island[tree]
        memory.fastest[island] = max(memory.fastest[island], abs(half.velocity[i]))
        if memory.corrected[tree] > 0.0:
            change = 0.5 * step * abs(corrected[i] - present[i]) * half.mass_inverse_diagonal[i]
            memory.changed[island] = max(memory.changed[island], change)
    least = min(2.0 * _NEGLIGIBLE / step, _NEGLIGIBLE_RATE) * world.accuracy
    found = False
    for tree in range(memory.island.size):
        island = memory.island[tree]
        gained = memory.changed[island]
        matters = gained > least
        if memory.held[island] == 1 and not gained < _TOO_MUCH * memory.fastest[island]:
            matters = False
        if not matters:
            memory.corrected[tree] = 0.0
        elif memory.corrected[tree] > 0.0:
            found = True
    return found


@compiled
def _fill_changes(world: Table, half: Table, step: float, out: np.ndarray) -> None:
    """Fill what the forces that were found change of the velocities at the end."""
    plant = world.plant
    problem = world.problem
    iterate = problem.iterate
    memory = EXTRAPOLATION.at(world.memory)
    iterate.direction[:] = 0.0
    for tree in range(plant.ntree):
        problem.guess.tree_marked[tree] = 0
        if memory.corrected[tree] > 0.0:
            problem.guess.tree_marked[tree] = 1
            start = plant.trees.start[tree]
            for i in range(start, start + plant.trees.size[tree]):
                iterate.direction[i] = 0.5 * step * memory.middle_force[i]
    call_pppn_status(memory.velocity_response, problem, half.contacts, half.rows, AS_SOLVED)
    velocity_from_solver(plant, half.cdof, iterate.direction, out)


@compiled
def correct_velocities(
    world: Table, source: Table, half: Table, target: Table, step: float
) -> None:
    """Let the velocities after the second half step have other forces in it, where that matters.

    Needs the solution of the second half step in the problem.
    """
    plant = world.plant
    problem = world.problem
    iterate = problem.iterate
    memory = EXTRAPOLATION.at(world.memory)
    _find_held_islands(memory, half)
    if not _find_trees(problem.graph, memory):
        return
    present = half.work.gyroscopic
    corrected = half.work.gyroscopic_following
    middle = iterate.direction
    for i in range(present.size):
        left = 1.0 - memory.corrected[plant.dofs.tree[i]]
        whole = iterate.velocity[i] - half.velocity[i] + source.velocity[i]
        middle[i] = whole + left * (half.velocity[i] - whole)
    velocity_from_solver(plant, half.cdof, middle, world.guess)
    gyroscopic_forces(plant, half, half.qvel, present)
    gyroscopic_forces(plant, half, world.guess, corrected)
    if not _find_what_matters(world, half, step):
        return
    for i in range(present.size):
        memory.middle_force[i] = corrected[i] - present[i]
    # Modes have been looked for at another velocity.
    velocities_at(problem.graph, iterate, half, iterate.velocity)
    _fill_changes(world, half, step, world.scratch)
    for i in range(present.size):
        target.qvel[i] += world.scratch[i]
    move_positions(plant, target.qpos, world.scratch, 0.5 * step)


@compiled_loop(types.void(types.int64, types.float64, types.float64[:, ::1]))
def response_matrix(address: int, step: float, out: np.ndarray) -> None:
    """Fill the matrix by which generalized forces of the last step change velocities.

    Contacts and laws stay as they are.
    """
    world = WORLD.at(address)
    half = world.half
    force = EXTRAPOLATION.at(world.memory).middle_force
    # Positions that were moved have another matrix A (`asperity.integrators.methods.swings`).
    smooth_terms(world, half, 0.5 * step, 0, world.plant.ntree)
    unit = np.zeros(force.size)
    change = np.zeros(force.size)
    for i in range(force.size):
        unit[i] = 1.0
        force_to_solver(world.plant, half.cdof, unit, force)
        unit[i] = 0.0
        _fill_changes(world, half, step, change)
        for k in range(force.size):
            out[k, i] = change[k]
