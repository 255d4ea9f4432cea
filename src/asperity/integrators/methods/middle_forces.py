"""Gyroscopic and Coriolis forces of an extrapolated step's second half.

A step takes these forces at the velocity of its beginning. With those of the second half step at
v_1, the velocity before it, extrapolation is v_0 + δt a(v_1): a velocity that turns by z = i ω δt
is multiplied by 1 + z + z²/2, which runs ahead by (ω δt)³/6 and grows by (ω δt)⁴/8. With v_2 after
the second half step,

    v_1 + ⅔ (v_2 − 2 v_1 + v_0)

adds the term z³/6, so that it shrinks by (ω δt)⁴/24: what precesses keeps time, and light links
that whirl heavy ends gain no energy from that. Where it matters the second half step of robots is
solved again with the forces there. Free bodies are left as they are: their velocities are those of
fixed axes, in which their inertia turns, and this would only be a part of it.

Where a contact or an equality holds a body second order asks for more. A step meets J v = 0 with
the Jacobian of its beginning, so v_1 is off by the acceleration normal to the constraint, a
first-order error that the second half step projects out again, but not before it has entered these
forces. v_2 − v_1 + v_0 is free of that, and takes the other's place, for free bodies, too.
"""

from __future__ import annotations

from asperity.compiled import Table, compiled
from asperity.contact.constraint_set import EQUALITY
from asperity.integrators.methods.extrapolation_layout import EXTRAPOLATION
from asperity.integrators.methods.gyroscopic import gyroscopic_forces
from asperity.plant.trees import velocity_from_solver

__all__ = ["correct_gyroscopic_forces"]

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
        if memory.rough[island] == 1:
            continue
        if memory.held[island] == 1:
            memory.corrected[tree] = _SHARE_WHERE_HELD
            found = True
        elif not graph.tree_spatial[tree]:
            memory.corrected[tree] = _SHARE
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
        tree = plant.dof_tree[i]
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
def correct_gyroscopic_forces(world: Table, source: Table, half: Table, step: float) -> bool:
    """Take the forces of the second half step at another velocity; True if that matters anywhere.

    Needs the solution of the second half step in the problem.
    """
    plant = world.plant
    problem = world.problem
    memory = EXTRAPOLATION.at(world.memory)
    _find_held_islands(memory, half)
    if not _find_trees(problem.graph, memory):
        return False
    present = half.work.gyroscopic
    corrected = half.work.gyroscopic_following
    middle = problem.direction
    for i in range(present.size):
        left = 1.0 - memory.corrected[plant.dof_tree[i]]
        whole = problem.velocity[i] - half.velocity[i] + source.velocity[i]
        middle[i] = whole + left * (half.velocity[i] - whole)
    velocity_from_solver(plant, half.cdof, middle, world.guess)
    gyroscopic_forces(plant, half, half.qvel, present)
    gyroscopic_forces(plant, half, world.guess, corrected)
    if not _find_what_matters(world, half, step):
        return False
    for i in range(present.size):
        if memory.corrected[plant.dof_tree[i]] > 0.0:
            half.force[i] += corrected[i] - present[i]
    return True
