"""Energy balance: an extrapolated step ends with the energy that it should have.

**Why.** An extrapolated step changes the energy of an oscillation by a third-order term, in the
same direction step after step. A mode with implicit forces loses (ω δt)⁴/2 of its energy per step,
and a linkage gains or loses a little. The energy at the end is known, however. It is that of
motion, gravity and springs (`asperity.plant.tree_energy`), and changes by the work W of all other
forces:

    E(q, v) = E(q_0, v_0) + W.

**Correction.** The positions of the two solutions differ by e = q_2 ⊖ q̂, which is δt²/4 times the
acceleration. An island moves on along e, and its velocities are scaled:

    q → q ⊕ 4 λ e,      v → s v,      λ = (E(q_0, v_0) + W − E(q, v)) / (2 T + 4 ∂E/∂q · e)

The factor s, nearly 1 + λ, solves the equation exactly. In the mass norm of v and q/δt this is the
smallest change that gives the island its energy. It also works where a swing turns back and the
kinetic energy T is small. If the difference is negligible λ is 0.

**Work.** W has three parts: forces F that a step takes at its beginning, dampers D, and
constraints. The first two follow from Simpson's rule. Its velocity v_m in the middle is the one
that agrees with the distance:

    δt/6 (F_0·v_0 + 4 F_1·v_m + (2 F_1 − F_0)·v),      −δt/6 (v_0ᵀD v_0 + 4 v_mᵀD v_m + vᵀD v).

That is wrong where forces jump, as delayed ones do. So the work in the three solutions is a second
estimate. An island gets the smaller of the two corrections, and none if they differ in sign.

The work of constraints is that of their impulses at the end velocities of each solution,
extrapolated as positions are: 2 W_1 + 2 W_2 − Ŵ. The work of equalities is third-order small. So is
the error of this sum where their directions turn. If they turn little, the sum tells which part of
E is an error of position that they take back. If they turn far, their work is taken for 0, as it is
while they hold.

**Left out** are islands with contacts that push: rolling on a gap within the accuracy exchanges
more energy than a step loses. So are islands that float freely, whose momenta are known as well
(`.tree_balance`), and islands with a kind of energy that is not known. Islands whose velocities
jump are left out, too, as they do if those at the beginning violate an equality or a limit: its
impulse then dissipates energy. So are those with passive dampers (`asperity.plant.passive_rows`),
dampers of joints, or servos that the step does not resolve.

None of this is part of the CENIC paper.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.contact.constraint_set import ACTUATOR, EQUALITY, LIMIT, PASSIVE
from asperity.integrators.methods.extrapolation_layout import EXTRAPOLATION
from asperity.integrators.methods.motion import move_positions, position_difference
from asperity.integrators.methods.swings import TURNING_ANGLE
from asperity.plant.evaluate import gyroscopic_force
from asperity.plant.tree_energy import energy_of_trees
from asperity.plant.trees import velocity_to_solver

__all__ = ["add_work", "balance_energy", "begin_work"]

# Largest |λ| and |s − 1|. If more lacks the step does not resolve the motion.
_MOST = 0.2
# Lack of energy, over twice the kinetic energy, up to which only velocities are scaled.
_LITTLE = 0.002
# Share of the accuracy by which velocities must change a position in a step to matter.
_NEGLIGIBLE = 1e-3
# Angle [rad] from which the work of equalities is taken for 0, smoothly.
_FAR = 0.03
# Impulses times changes of speed, over twice the kinetic energy, above which velocities jump.
_JUMPED = 1e-3
# Rate of a passive damper times the step from which its work is not known.
_UNRESOLVED = 0.1
# That of a joint's damper, or of a servo's, which may hold what swings.
_STRONG = 0.5
# Work of limits, servos and dry friction, and of equalities.
_HELD, _EQUALITIES = 0, 1


@compiled
def begin_work(world: Table) -> None:
    """Set the work of a step's solutions to zero."""
    memory = EXTRAPOLATION.at(world.memory)
    for tree in range(world.plant.ntree):
        for kind in range(2):
            memory.work_of_whole[kind, tree] = 0.0
            memory.work_of_halves[kind, tree] = 0.0


@compiled
def add_work(plant: Table, state: Table, end: np.ndarray, work: np.ndarray) -> None:
    """Add the work of the constraint rows of a step from a state.

    Parameters
    ----------
    plant, state : Table
        The state's constraint set has the step's impulses.
    end : array, shape (nv,)
        Generalized velocities at the step's end.
    work : array, shape (2, ntree)
        By all but equalities and passive forces, and by equalities [J].
    """
    rows = state.rows
    if rows.count == 0:
        return
    velocity = state.work.velocity_change
    velocity_to_solver(plant, state.cdof, end, velocity)
    for r in range(rows.count):
        if rows.impulse[r] != 0.0 and rows.kind[r] != PASSIVE:
            speed = 0.0
            for e in range(rows.start[r, 0], rows.start[r, 2]):
                speed += rows.jacobian[e] * velocity[rows.dof[e]]
            kind = _EQUALITIES if rows.kind[r] == EQUALITY else _HELD
            work[kind, rows.tree[r, 0]] += rows.impulse[r] * speed


@compiled
def _find_islands(world: Table, source: Table, half: Table, full: Table, step: float) -> bool:
    """Mark the trees of islands whose energy is balanced; False if there are none.

    These are smooth, do not float, are not pushed by a contact, and accelerate.
    """
    plant = world.plant
    if plant.only_free_bodies and half.rows.count == 0:
        return False
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
    for i in range(plant.nv):
        if step * plant.dofs.damping[i] * plant.dofs.inverse_weight[i] > _STRONG:
            wanted[island_of[plant.dofs.tree[i]]] = 0
    for tree in range(plant.ntree):
        island = island_of[tree]
        later = graph.component[plant.ntree + tree]
        if plant.springs.known[tree] == 0 or memory.rough[island] == 1 or later != island:
            wanted[island] = 0
            wanted[later] = 0
        if not plant.trees.spatial[tree] and not plant.trees.floats[tree]:
            memory.fixed[island] = 1
    rows = half.rows
    for r in range(rows.count):
        island = island_of[rows.tree[r, 0]]
        if rows.tree[r, 1] < 0:
            memory.fixed[island] = 1
        rate = step * rows.derivative[r] * rows.inverse_mass[r]
        if rows.kind[r] == PASSIVE and rate > _UNRESOLVED:
            wanted[island] = 0
        if rows.kind[r] == ACTUATOR and rate > _STRONG:
            wanted[island] = 0
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
def _force(plant: Table, state: Table, tree: int, out: np.ndarray) -> None:
    """Fill the forces on a tree that a step takes at its beginning, but gravity's and springs'."""
    start = plant.trees.start[tree]
    if not plant.trees.spatial[tree]:
        for i in range(start, start + plant.trees.size[tree]):
            out[i] = state.force[i] + state.mj_qfrc_bias[i] - state.mj_qfrc_spring[i]
        return
    spin = (state.velocity[start], state.velocity[start + 1], state.velocity[start + 2])
    gyroscopic = gyroscopic_force(plant, state, tree, spin)
    mass = state.mass[plant.trees.block_start[tree] + 21]
    for a in range(3):
        out[start + a] = state.force[start + a] - gyroscopic[a]
        weight = mass * plant.gravity[a]
        out[start + 3 + a] = state.force[start + 3 + a] - weight


@compiled
def _smooth_work(
    plant: Table,
    source: Table,
    half: Table,
    tree: int,
    velocities: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
) -> tuple[float, float]:
    """Work on a tree, over δt, of the forces that a step takes at its beginning, and of dampers.

    By Simpson's rule, and extrapolated from that with the velocities at the solutions' ends. The
    velocities are six times the mean one, the end's, v̂ and v_2, in solver velocities half way.
    """
    mean, end, whole, second = velocities
    first = source.work.gyroscopic
    middle = half.work.gyroscopic
    _force(plant, source, tree, first)
    _force(plant, half, tree, middle)
    simpson = 0.0
    extrapolated = 0.0
    start = plant.trees.start[tree]
    for i in range(start, start + plant.trees.size[tree]):
        v0, v1, v2 = source.velocity[i], half.velocity[i], second[i]
        halfway = 0.25 * (mean[i] - v0 - end[i])
        simpson += first[i] * (v0 - end[i]) + middle[i] * (4.0 * halfway + 2.0 * end[i])
        extrapolated += first[i] * (v1 - whole[i]) + middle[i] * v2
        if not plant.trees.spatial[tree]:
            damping = plant.dofs.damping[i]
            simpson -= damping * (v0 * v0 + 4.0 * halfway * halfway + end[i] * end[i])
            extrapolated -= damping * (v1 * v1 + v2 * v2 - whole[i] * whole[i])
    return simpson / 6.0, extrapolated


@compiled
def _find_jumps(world: Table, source: Table, half: Table) -> None:
    """Fill what equalities and limits change of an island's motion in the first half step.

    That is the sum of impulses times changes of speed along their rows [J].
    """
    plant = world.plant
    memory = EXTRAPOLATION.at(world.memory)
    memory.jumped[:] = 0.0
    rows = source.rows
    velocity = source.work.velocity_change
    velocity_to_solver(plant, source.cdof, half.qvel, velocity)
    for r in range(rows.count):
        if rows.kind[r] == EQUALITY or rows.kind[r] == LIMIT:
            change = 0.0
            for e in range(rows.start[r, 0], rows.start[r, 2]):
                dof = rows.dof[e]
                change += rows.jacobian[e] * (velocity[dof] - source.velocity[dof])
            memory.jumped[memory.island[rows.tree[r, 0]]] += rows.impulse[r] * change


@compiled
def _find_energies(
    world: Table, source: Table, half: Table, full: Table, target: Table, step: float
) -> None:
    """Fill the energy that every island lacks, and twice its kinetic energy."""
    plant = world.plant
    memory = EXTRAPOLATION.at(world.memory)
    energy = memory.energy
    marked = memory.balanced
    motion = half.work.tree_motion
    energy_of_trees(plant, half, marked, source.qpos, source.qvel, energy[0])
    energy_of_trees(plant, half, marked, target.qpos, target.qvel, energy[1])
    mean, end = half.work.dof_force, half.work.velocity_change
    whole, second = source.work.dof_force, source.work.velocity_change
    position_difference(plant, source, target, world.scratch)
    for i in range(plant.nv):
        world.scratch[i] *= 6.0 / step
    velocity_to_solver(plant, half.cdof, world.scratch, mean)
    velocity_to_solver(plant, half.cdof, target.qvel, end)
    velocity_to_solver(plant, half.cdof, full.qvel, whole)
    velocity_to_solver(plant, half.cdof, world.guess, second)
    for island in range(plant.ntree):
        memory.lacking[island] = 0.0
        memory.lacking_otherwise[island] = 0.0
        memory.twice_kinetic[island] = 0.0
    for tree in range(plant.ntree):
        if marked[tree] == 0:
            continue
        island = memory.island[tree]
        # By the angle φ that the fastest body turns (`.swings`), 1/(1 + (φ/φ_0)⁴).
        turned = (1.0 / memory.turning[island] - 1.0) * (TURNING_ANGLE / _FAR) ** 4
        velocities = (mean, end, whole, second)
        simpson, extrapolated = _smooth_work(plant, source, half, tree, velocities)
        work = step * simpson
        for kind in range(2):
            done = 2.0 * memory.work_of_halves[kind, tree] - memory.work_of_whole[kind, tree]
            work += done if kind == _HELD else done / (1.0 + turned)
        lacking = energy[0, tree] + work - energy[1, tree]
        memory.lacking[island] += lacking
        memory.lacking_otherwise[island] += lacking + step * (extrapolated - simpson)
        memory.twice_kinetic[island] += motion[tree, 0]
    for island in range(plant.ntree):
        lacking, other = memory.lacking[island], memory.lacking_otherwise[island]
        jumps = memory.jumped[island] > _JUMPED * memory.twice_kinetic[island]
        if jumps or lacking * other <= 0.0:
            memory.lacking[island] = 0.0
        elif abs(other) < abs(lacking):
            memory.lacking[island] = other


@compiled
def _scale_velocities(memory: Table, marked: np.ndarray) -> bool:
    """Find s of islands that lack little against their motion, and unmark them; if any are left."""
    left = False
    for tree in range(marked.size):
        if marked[tree] == 0:
            continue
        island = memory.island[tree]
        lacking, twice = memory.lacking[island], memory.twice_kinetic[island]
        if abs(lacking) <= _LITTLE * twice:
            memory.scale[island] = np.sqrt(1.0 + 2.0 * lacking / twice) if twice > 0.0 else 1.0
            marked[tree] = 0
        else:
            left = True
    return left


@compiled
def _find_shares(world: Table, half: Table, target: Table) -> None:
    """Find λ of marked trees' islands, by the energy beside the end."""
    plant = world.plant
    memory = EXTRAPOLATION.at(world.memory)
    energy = memory.energy
    marked = memory.balanced
    way = world.scratch
    for i in range(plant.nv):
        way[i] = -marked[plant.dofs.tree[i]] * world.result.error[i]
    for i in range(plant.nq):
        memory.beside[i] = target.qpos[i]
    move_positions(plant, memory.beside, way, 1.0)
    energy_of_trees(plant, half, marked, memory.beside, target.qvel, energy[2])
    slope = memory.slope
    for island in range(plant.ntree):
        slope[island] = memory.twice_kinetic[island]
    for tree in range(plant.ntree):
        if marked[tree] == 1:
            slope[memory.island[tree]] += 4.0 * (energy[1, tree] - energy[2, tree])
    for tree in range(plant.ntree):
        island = memory.island[tree]
        if marked[tree] == 1 and abs(memory.lacking[island]) < _MOST * slope[island]:
            memory.energy_share[island] = memory.lacking[island] / slope[island]


@compiled
def _find_scales(world: Table, half: Table, target: Table) -> None:
    """Find s of islands that have moved on.

    Where the velocities cannot make up for what was too far, s is 1, and λ what leaves the energy
    that is wanted, by the secant.
    """
    plant = world.plant
    memory = EXTRAPOLATION.at(world.memory)
    energy = memory.energy
    marked = memory.balanced
    motion = half.work.tree_motion
    energy_of_trees(plant, half, marked, target.qpos, target.qvel, energy[2])
    for island in range(plant.ntree):
        memory.twice_kinetic[island] = 0.0
        memory.gained[island] = 0.0
    for tree in range(plant.ntree):
        if marked[tree] == 1:
            island = memory.island[tree]
            memory.gained[island] += energy[2, tree] - energy[1, tree]
            memory.twice_kinetic[island] += motion[tree, 0]
    least, most = (1.0 - _MOST) ** 2, (1.0 + _MOST) ** 2
    for island in range(plant.ntree):
        share, gained = memory.energy_share[island], memory.gained[island]
        if share == 0.0 or memory.twice_kinetic[island] <= 0.0:
            continue
        lacking = memory.lacking[island]
        square = 1.0 + 2.0 * (lacking - gained) / memory.twice_kinetic[island]
        if square < least and lacking > 0.0:
            memory.energy_share[island] = share * lacking / gained
        else:
            memory.scale[island] = np.sqrt(min(max(square, least), most))


@compiled
def balance_energy(
    world: Table, source: Table, half: Table, full: Table, target: Table, step: float
) -> None:
    """Give islands at the end of an extrapolated step their energy.

    Parameters
    ----------
    world : Table
        Its ``guess`` has v_2, and its result the position error q_2 ⊖ q̂.
    source, half, full, target : Table
        The beginning, the half way, the end of the whole step, and the extrapolated end.
    step : float
        Size of the whole step [s].
    """
    plant = world.plant
    memory = EXTRAPOLATION.at(world.memory)
    share = memory.energy_share
    way = world.scratch
    for island in range(plant.ntree):
        share[island] = 0.0
        memory.scale[island] = 1.0
        memory.balanced[island] = 0
    if not _find_islands(world, source, half, full, step):
        return
    _find_jumps(world, source, half)
    _find_energies(world, source, half, full, target, step)
    if _scale_velocities(memory, memory.balanced):
        _find_shares(world, half, target)
        for i in range(plant.nv):
            way[i] = 4.0 * share[memory.island[plant.dofs.tree[i]]] * world.result.error[i]
        move_positions(plant, target.qpos, way, 1.0)
        _find_scales(world, half, target)
        for i in range(plant.nv):
            island = memory.island[plant.dofs.tree[i]]
            way[i] = 4.0 * share[island] * world.result.error[i] - way[i]
        move_positions(plant, target.qpos, way, 1.0)
    for i in range(plant.nv):
        target.qvel[i] *= memory.scale[memory.island[plant.dofs.tree[i]]]
    for tree in range(plant.ntree):
        island = memory.island[tree]
        memory.balanced[tree] = memory.scale[island] != 1.0 or share[island] != 0.0
