"""The energy that an extrapolated step should leave.

An extrapolated step changes the energy of what swings by a term of its third order, in the same
direction step after step: a mode that must be solved for loses (ω δt)⁴/2 of its energy, a linkage
gains or loses, by little against the accuracy. But the energy at the end is known. It is that of
motion, gravity and springs (`asperity.plant.tree_energy`), and changes by the work W of all else,

    E(q, v) = E(q_0, v_0) + W.

W of one solution is the sum of its impulses times the velocities at its end (of dampers, which take
a square, times the mean), and of the step 2 W_1 + 2 W_2 − Ŵ, as positions are extrapolated.
The velocities of an island are scaled, and its position moves on along the difference e = q_2 ⊖ q̂
between the solutions, which is δt²/4 times the acceleration:

    v → (1 + λ) v,      q → q ⊕ 4 λ e,      λ = (E(q_0, v_0) + W − E(q, v)) / (2 T + 4 ∂E/∂q · e).

That is along the gradient of E in the metric of the mass, of v and of q/δt: the smallest change
that gives the island its energy, which also serves where a swing turns back and T is small.

What equalities do is third-order small, as is the error of the sum above where their directions
turn. If they turn little that sum tells which part of E is the error of position that they take
back; if they turn far, their work is taken for 0, which it is while they are met.

Islands with contacts that push are left as they are: rolling on a gap that the accuracy allows
exchanges more energy with it than a step loses. So are those that float freely, of whom momenta are
known as well (`.tree_balance`), and those of which some energy is not known.

None of this is part of the CENIC paper.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.compiled.calls import call_pppd
from asperity.contact.constraint_set import EQUALITY
from asperity.integrators.methods.extrapolation_layout import EXTRAPOLATION
from asperity.integrators.methods.swings import TURNING_ANGLE
from asperity.plant.evaluate import gyroscopic_force
from asperity.plant.tree_energy import energy_of_trees
from asperity.plant.trees import velocity_to_solver

__all__ = ["add_work", "balance_energy", "begin_work"]

# Largest |λ|. If more lacks the step does not resolve the motion.
_MOST = 0.1
# Share of the accuracy by which velocities must change a position in a step to matter.
_NEGLIGIBLE = 1e-3
# Angle [rad] from which the work of equalities is taken for 0, smoothly.
_FAR = 0.03
# What work is of: all but equalities, and those.
_CERTAIN, _EQUALITIES = 0, 1


@compiled
def begin_work(world: Table) -> None:
    """Set the work of a step's solutions to zero."""
    memory = EXTRAPOLATION.at(world.memory)
    for tree in range(world.plant.ntree):
        for kind in range(2):
            memory.work_of_whole[kind, tree] = 0.0
            memory.work_of_halves[kind, tree] = 0.0


@compiled
def add_work(plant: Table, state: Table, end: np.ndarray, step: float, work: np.ndarray) -> None:
    """Add the work of a step from a state on every tree, but for gravity, springs and contacts.

    Parameters
    ----------
    plant, state : Table
        The state's constraint set has the step's impulses.
    end : array, shape (nv,)
        Generalized velocities at the step's end.
    step : float
        Its size [s].
    work : array, shape (2, ntree)
        By all but equalities, and by these [J].
    """
    rows = state.rows
    if plant.only_free_bodies and rows.count == 0:
        return
    trees = plant.trees
    velocity = state.work.velocity_change
    velocity_to_solver(plant, state.cdof, end, velocity)
    for tree in range(plant.ntree):
        start = trees.start[tree]
        power = 0.0
        if trees.spatial[tree]:
            spin = (state.velocity[start], state.velocity[start + 1], state.velocity[start + 2])
            gyroscopic = gyroscopic_force(plant, state, tree, spin)
            mass = state.mass[trees.block_start[tree] + 21]
            for a in range(3):
                power += (state.force[start + a] - gyroscopic[a]) * velocity[start + a]
                force = state.force[start + 3 + a] - gyroscopic[3 + a] - mass * plant.gravity[a]
                power += force * velocity[start + 3 + a]
        else:
            for i in range(start, start + trees.size[tree]):
                force = state.force[i] + state.mj_qfrc_bias[i] - state.mj_qfrc_spring[i]
                mean = 0.5 * (state.velocity[i] + velocity[i])
                power += (force - plant.dofs.damping[i] * mean) * velocity[i]
        work[_CERTAIN, tree] += step * power
    for r in range(rows.count):
        if rows.impulse[r] != 0.0:
            speed = 0.0
            for e in range(rows.start[r, 0], rows.start[r, 2]):
                speed += rows.jacobian[e] * velocity[rows.dof[e]]
            kind = _EQUALITIES if rows.kind[r] == EQUALITY else _CERTAIN
            work[kind, rows.tree[r, 0]] += rows.impulse[r] * speed


@compiled
def _find_islands(world: Table, source: Table, half: Table, full: Table, step: float) -> bool:
    """Mark the trees of islands whose energy is balanced; False if there are none.

    These are smooth, do not float, are not pushed by a contact, and accelerate.
    """
    plant = world.plant
    graph = world.problem.graph
    memory = EXTRAPOLATION.at(world.memory)
    island_of = memory.island
    wanted = memory.balanced_island
    for island in range(plant.ntree):
        wanted[island] = 0
        memory.fixed[island] = 0
    for i in range(plant.nv):
        island = island_of[plant.dofs.tree[i]]
        moved = step * abs(full.qvel[i] - source.qvel[i])
        if moved * plant.error_weight[i] > _NEGLIGIBLE * world.accuracy:
            wanted[island] = 1
    for tree in range(plant.ntree):
        island = island_of[tree]
        later = graph.component[plant.ntree + tree]
        if plant.springs.known[tree] == 0 or memory.rough[island] == 1 or later != island:
            wanted[island] = 0
            wanted[later] = 0
        if not plant.trees.spatial[tree] and not plant.trees.floats[tree]:
            memory.fixed[island] = 1
    for r in range(half.rows.count):
        if half.rows.tree[r, 1] < 0:
            memory.fixed[island_of[half.rows.tree[r, 0]]] = 1
    for contacts in (source.contacts, half.contacts):
        for c in range(contacts.count):
            if contacts.impulse[c, 2] > 0.0:
                link = max(contacts.link[c, 0], contacts.link[c, 1])
                wanted[island_of[contacts.link_tree[link]]] = 0
    found = False
    for tree in range(plant.ntree):
        island = island_of[tree]
        memory.balanced[tree] = wanted[island] * memory.fixed[island]
        found = found or memory.balanced[tree] == 1
    return found


@compiled
def _move(plant: Table, qpos: np.ndarray, way: np.ndarray) -> None:
    call_pppd(
        plant.mujoco.integrate_positions, plant.model, qpos.ctypes.data, way.ctypes.data, 1.0
    )


@compiled
def _find_energies(world: Table, source: Table, half: Table, target: Table) -> None:
    """Fill the energy that every island lacks, and how much more it has for λ."""
    plant = world.plant
    memory = EXTRAPOLATION.at(world.memory)
    energy = memory.energy
    marked = memory.balanced
    motion = half.work.tree_motion
    way = world.scratch
    energy_of_trees(plant, half, marked, source.qpos, source.qvel, energy[0])
    for i in range(plant.nv):
        way[i] = -marked[plant.dofs.tree[i]] * world.result.error[i]
    for i in range(plant.nq):
        memory.other_qpos[i] = target.qpos[i]
    _move(plant, memory.other_qpos, way)
    energy_of_trees(plant, half, marked, memory.other_qpos, target.qvel, energy[1])
    energy_of_trees(plant, half, marked, target.qpos, target.qvel, energy[2])
    for island in range(plant.ntree):
        memory.lacking[island] = 0.0
        memory.slope[island] = 0.0
    for tree in range(plant.ntree):
        if marked[tree] == 0:
            continue
        island = memory.island[tree]
        # By the angle φ that the fastest body turns (`.swings`), 1/(1 + (φ/φ_0)⁴).
        turned = (1.0 / memory.turning[island] - 1.0) * (TURNING_ANGLE / _FAR) ** 4
        memory.lacking[island] += energy[0, tree] - energy[2, tree]
        memory.slope[island] += motion[tree, 0] + 4.0 * (energy[2, tree] - energy[1, tree])
        for kind in range(2):
            work = 2.0 * memory.work_of_halves[kind, tree] - memory.work_of_whole[kind, tree]
            memory.lacking[island] += work if kind == _CERTAIN else work / (1.0 + turned)


@compiled
def balance_energy(
    world: Table, source: Table, half: Table, full: Table, target: Table, step: float
) -> None:
    """Give islands at the end of an extrapolated step their energy.

    Parameters
    ----------
    world : Table
        Its result has the position error q_2 ⊖ q̂.
    source, half, full, target : Table
        The beginning, the half way, the end of the whole step, and the extrapolated end.
    step : float
        Size of the whole step [s].
    """
    plant = world.plant
    memory = EXTRAPOLATION.at(world.memory)
    for island in range(plant.ntree):
        memory.energy_share[island] = 0.0
    if not _find_islands(world, source, half, full, step):
        return
    _find_energies(world, source, half, target)
    way = world.scratch
    for tree in range(plant.ntree):
        island = memory.island[tree]
        if memory.balanced[tree] == 1:
            lacking, slope = memory.lacking[island], memory.slope[island]
            if abs(lacking) < _MOST * slope:
                memory.energy_share[island] = lacking / slope
    for i in range(plant.nv):
        share = memory.energy_share[memory.island[plant.dofs.tree[i]]]
        target.qvel[i] *= 1.0 + share
        way[i] = 4.0 * share * world.result.error[i]
    _move(plant, target.qpos, way)
