"""Oscillations keep their energy and phase in extrapolated steps.

An oscillator ends such a step on its exact sine, at every step size up to one radian. No further
solve is needed.

Velocities are v̂ at the end of the whole step, and v_1 and v_2 at the ends of the half steps.
Extrapolation ends with the velocity 2 v_2 − v̂ and the position q_0 ⊕ δt (v_1 + v_2 − v̂). It is
one of a family,

    v = 2 v_2 − v̂ − 2 σ d,      q = q_0 ⊕ δt (v_1 + (1 − π) d),      d = v_2 − v̂

which is of second order if σ goes to zero as δt² does, for every π.

**One oscillator.** Consider forces that a step takes at its beginning: gravity, slow springs, and
those of the contact directions of a rolling body. An oscillator of frequency ω then has d = −s v_1
with s = (ω δt)²/4. The exact solution is a sine. With z = ω δt it is

    v = v_1 cos z + (v̂ − v_0) (sin z / z − ½ cos z)
    q = q_0 ⊕ δt (v_1 sin z / z + (v̂ − v_0) ((1 − cos z)/z² − ½ sin z / z))

Since v̂ − v_0 is parallel to d, this gives σ and π, with four functions α, β, γ, δ of s alone:

    2 − 2 σ = α + β r,      1 − π = γ + δ r,      r = dᵀM (v̂ − v_0) / dᵀM d

The quotient s = −dᵀM v_1 / v_1ᵀM v_1 needs no eigenvalues. For comparison: extrapolation,
σ = π = 0, loses (ω δt)⁴/16 of the amplitude per step. The leapfrog method, σ = 0 and π = 1, adds
energy where step sizes follow the motion.

**Other motion.** σ and π are those of whole islands, so that bodies in contact keep their momentum.
An island may also move in another way, as a rattleback that rocks while it spins. The quotient s is
then no frequency. The squared cosine between d and v_1 in the mass norm,

    c = (dᵀM v_1)² / (dᵀM d · v_1ᵀM v_1)

is 1 for a single oscillation. So σ and π are c times those above, and (1 − c)/3 is added to π: a
third is the third-order term in the Taylor series of the position. There is no oscillation if
dᵀM v_1 is not negative. s is at most 1/4, a step of one radian.

**Implicit forces** are left out. Extrapolation of contacts, constraints, servos and dampers is
L-stable: of a displacement that a stiff force takes back within the step, nothing is left. With
this correction −π of it would be left. So d is taken without the directions that these forces
oppose (`asperity.convex.response`). If bodies turn far in a step, their velocities turn with them,
and the analysis does not hold: σ and π are divided by 1 + (φ/φ_0)⁴, with the angle φ of the fastest
body of the island. Both are 0 on patches of pressure fields, whose points come and go, and in
islands with deformable bodies, whose elasticity is implicit.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, compiled_loop, inlined
from asperity.compiled.calls import call_pppn_status
from asperity.convex.matrix import multiply
from asperity.convex.response import STIFFENED
from asperity.integrators.methods.convex_step import velocities_at
from asperity.integrators.methods.extrapolation_layout import EXTRAPOLATION
from asperity.integrators.world_layout import WORLD
from asperity.plant.trees import velocity_from_solver, velocity_to_solver

__all__ = [
    "ALPHA",
    "BETA",
    "DELTA",
    "GAMMA",
    "LARGEST_SWING",
    "THIRD_ORDER",
    "TURNING_ANGLE",
    "find_swings",
    "tangent_matrix",
]

THIRD_ORDER = 1.0 / 3.0
"""π of motion that is no swing."""

TURNING_ANGLE = 0.2
"""φ_0 [rad], without which a tippe top at 1e-2 falls that should not."""

LARGEST_SWING = 0.25
"""s up to which a step resolves a swing."""

ALPHA = (2.0, -2.0 / 3.0, 4.0 / 45.0, -2.0 / 315.0, 4.0 / 14175.0)
BETA = (0.0, 1.0 / 3.0, -1.0 / 5.0, 2.0 / 63.0, -1.0 / 405.0, 2.0 / 17325.0)
GAMMA = (2.0 / 3.0, -2.0 / 15.0, 4.0 / 315.0, -2.0 / 2835.0, 4.0 / 155925.0)
DELTA = (0.0, 1.0 / 6.0, -2.0 / 45.0, 1.0 / 210.0, -4.0 / 14175.0)
"""Series of four functions in s: (1 − cos z)/s, sin z / z − ½ (1 + cos z), (1 − sin z / z)/s and
(1 − cos z)/z² − ½ sin z / z, with z² = 4 s."""

# What is summed of every island: −dᵀM v_1, dᵀM d, dᵀM (v̂ − v_0), v_1ᵀM v_1, and if it floats its
# mass and the momenta of d, v_1 and v̂ − v_0.
_OPPOSED, _SQUARE, _KICK, _ENERGY, _MASS, _MOMENTA = range(6)
# Share of the accuracy that d must move something by to be worth a factorization.
_NEGLIGIBLE = 1e-3


@compiled
def _fill_turning(plant: Table, memory: Table, half: Table, step: float) -> None:
    """Fill what is left of every island's correction for how far its fastest body turns."""
    trees = plant.trees
    turning = memory.turning
    for tree in range(plant.ntree):
        turning[tree] = 0.0
    for tree in range(plant.ntree):
        if trees.spatial[tree]:
            square = 0.0
            start = trees.start[tree]
            for i in range(start, start + 3):
                square += half.velocity[i] * half.velocity[i]
            island = memory.island[tree]
            turning[island] = max(turning[island], square)
    if not plant.only_free_bodies:
        for body in range(1, plant.nbody):
            tree = plant.bodies.tree[body]
            if tree >= 0 and not trees.spatial[tree]:
                v = half.mj_cvel[body]
                square = v[0] * v[0] + v[1] * v[1] + v[2] * v[2]
                island = memory.island[tree]
                turning[island] = max(turning[island], square)
    for island in range(plant.ntree):
        turned = turning[island] * (step / TURNING_ANGLE) ** 2
        turning[island] = 1.0 / (1.0 + turned * turned)
    for p in range(plant.elastic.particles):
        tree = plant.elastic.particle_tree[p]
        if tree >= 0:
            turning[memory.island[tree]] = 0.0
    contacts = half.contacts
    for c in range(contacts.count):
        if contacts.patch[c] >= 0:
            for side in range(2):
                link = contacts.link[c, side]
                if link >= 0:
                    turning[memory.island[contacts.link_tree[link]]] = 0.0


@compiled
def _set_matrix(world: Table, half: Table, step: float) -> None:
    """Let A be M, and what dampers add to it in a step of that size, and springs so far as solved.

    In place of a share w of d where springs are implicit in part, what they add leaves w of it.
    """
    plant = world.plant
    problem = world.problem
    graph = problem.graph
    memory = EXTRAPOLATION.at(world.memory)
    for tree in range(graph.ntree):
        if graph.tree_spatial[tree]:
            continue
        start = plant.trees.start[tree]
        n = plant.trees.size[tree]
        held = min(1.0 / max(memory.explicit[tree], 1.0 / STIFFENED) - 1.0, STIFFENED)
        for i in range(n):
            at = graph.block_start[tree] + i * n + i
            problem.smooth.matrix[at] = half.mass[at] + step * plant.dofs.damping[start + i]
            if step > 0.0 and plant.dofs.stiffness[start + i] > 0.0:
                problem.smooth.matrix[at] += held * half.mass[at]


@inlined
def _series(terms: tuple[float, ...], s: float) -> float:
    value = 0.0
    power = 1.0
    for term in terms:
        value += term * power
        power *= s
    return value


@compiled
def _find_floating_islands(plant: Table, memory: Table) -> None:
    """Find the islands that nothing holds and all of whose trees float.

    What they swing with is measured about their centre of mass, so that they do the same on a
    train.
    """
    for tree in range(plant.ntree):
        memory.floating[tree] = 1 - memory.held[tree]
    for tree in range(plant.ntree):
        if not plant.trees.spatial[tree] and not plant.trees.floats[tree]:
            memory.floating[memory.island[tree]] = 0


@compiled
def _sum_products(world: Table, half: Table) -> None:
    """Fill the sums of every island; needs d in the problem's direction, and M in its matrix."""
    plant = world.plant
    problem = world.problem
    graph = problem.graph
    memory = EXTRAPOLATION.at(world.memory)
    change = problem.iterate.direction
    impulse = problem.iterate.direction_product
    multiply(graph, problem.smooth, 0, graph.ntree, change, impulse)
    _find_floating_islands(plant, memory)
    memory.sums[:] = 0.0
    for tree in range(graph.ntree):
        sums = memory.sums[memory.island[tree]]
        start = graph.tree_start[tree]
        n = graph.tree_size[tree]
        for i in range(start, start + n):
            sums[_OPPOSED] -= impulse[i] * half.velocity[i]
            sums[_SQUARE] += impulse[i] * change[i]
            sums[_KICK] += impulse[i] * memory.kick[i]
            sums[_ENERGY] += memory.momentum[i] * half.velocity[i]
        if memory.floating[memory.island[tree]] == 1:
            linear = 3 if plant.trees.spatial[tree] else 0
            row = graph.block_start[tree] + linear * n
            sums[_MASS] += half.mass[row + linear]
            for i in range(3):
                sums[_MOMENTA + i] += impulse[start + linear + i]
                sums[_MOMENTA + 3 + i] += memory.momentum[start + linear + i]
                for j in range(n):
                    sums[_MOMENTA + 6 + i] += half.mass[row + i * n + j] * memory.kick[start + j]


@compiled
def _fill_shares(plant: Table, memory: Table) -> None:
    """Fill σ and π of every island."""
    for island in range(plant.ntree):
        sums = memory.sums[island]
        if sums[_MASS] > 0.0:
            for i in range(_MOMENTA, _MOMENTA + 3):
                sums[_OPPOSED] += sums[i] * sums[i + 3] / sums[_MASS]
                sums[_SQUARE] -= sums[i] * sums[i] / sums[_MASS]
                sums[_KICK] -= sums[i] * sums[i + 6] / sums[_MASS]
                sums[_ENERGY] -= sums[i + 3] * sums[i + 3] / sums[_MASS]
        turning = memory.turning[island]
        memory.slowed_share[island] = 0.0
        memory.moved_share[island] = turning * THIRD_ORDER
        opposed = sums[_OPPOSED]
        if opposed > 0.0 and sums[_SQUARE] > 0.0 and sums[_ENERGY] > 0.0:
            s = min(opposed / sums[_ENERGY], LARGEST_SWING)
            swings = turning * opposed * opposed / (sums[_SQUARE] * sums[_ENERGY])
            ratio = sums[_KICK] / sums[_SQUARE]
            slowed = 1.0 - 0.5 * (_series(ALPHA, s) + _series(BETA, s) * ratio)
            moved = 1.0 - _series(GAMMA, s) - _series(DELTA, s) * ratio
            memory.slowed_share[island] = swings * slowed
            memory.moved_share[island] += swings * (moved - THIRD_ORDER)


@compiled
def _project(world: Table, half: Table, step: float, change: np.ndarray) -> None:
    """Fill the tangent part of a change of generalized velocities."""
    plant = world.plant
    problem = world.problem
    iterate, graph = problem.iterate, problem.graph
    memory = EXTRAPOLATION.at(world.memory)
    along = iterate.direction
    _set_matrix(world, half, 0.0)
    multiply(graph, problem.smooth, 0, graph.ntree, half.velocity, memory.momentum)
    velocity_to_solver(plant, half.cdof, change, along)
    multiply(graph, problem.smooth, 0, graph.ntree, along, iterate.direction_product)
    for i in range(change.size):
        along[i] = iterate.direction_product[i]
    for tree in range(graph.ntree):
        problem.guess.tree_marked[tree] = memory.swings[memory.island[tree]]
    _set_matrix(world, half, step)
    call_pppn_status(memory.velocity_response, problem, half.contacts, half.rows, 1)
    _set_matrix(world, half, 0.0)
    velocity_from_solver(plant, half.cdof, along, memory.tangent)
    for i in range(change.size):
        if memory.rough[memory.island[plant.dofs.tree[i]]] == 1:
            memory.tangent[i] = 0.0


@compiled
def find_swings(
    world: Table, source: Table, half: Table, full: Table, target: Table, step: float
) -> None:
    """Fill d without what is solved for, and the shares of it that are taken back.

    Needs the solution of the second half step in the problem, and velocities that are not yet
    extrapolated.
    """
    plant = world.plant
    problem = world.problem
    memory = EXTRAPOLATION.at(world.memory)
    change = world.scratch
    _fill_turning(plant, memory, half, step)
    for island in range(problem.graph.ntree):
        memory.swings[island] = 0
    matters = False
    for i in range(change.size):
        island = memory.island[plant.dofs.tree[i]]
        change[i] = 0.0
        memory.tangent[i] = 0.0
        if memory.rough[island] == 0:
            change[i] = target.qvel[i] - full.qvel[i]
            moved = memory.turning[island] * step * abs(change[i])
            if moved * plant.error_weight[i] > _NEGLIGIBLE * world.accuracy:
                memory.swings[island] = 1
                matters = True
    if matters:
        # Modes have been looked for at another velocity.
        velocities_at(problem.graph, problem.iterate, half, problem.iterate.velocity)
        _project(world, half, step, change)
        for i in range(change.size):
            change[i] = full.qvel[i] - source.qvel[i]
        velocity_to_solver(plant, half.cdof, change, memory.kick)
        _sum_products(world, half)
        _fill_shares(plant, memory)


@compiled_loop(types.void(types.int64, types.float64, types.float64[:, ::1]))
def tangent_matrix(address: int, step: float, out: np.ndarray) -> None:
    """Fill the matrix of the last step, of that size, that takes d without what is solved for.

    Its modes and directions of contacts stay as they are.
    """
    world = WORLD.at(address)
    memory = EXTRAPOLATION.at(world.memory)
    change = world.scratch
    for i in range(change.size):
        for k in range(change.size):
            change[k] = 0.0
        change[i] = 1.0
        _project(world, world.half, step, change)
        for k in range(change.size):
            out[k, i] = memory.tangent[k]
