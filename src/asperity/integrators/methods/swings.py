"""Oscillations keep their energy and phase in extrapolated steps.

An oscillator ends such a step on its exact sine, at every step size up to one radian. No further
solve is needed.

Velocities are v_0 at the beginning of the step, v̂ at the end of the whole step, and v_1 and v_2 at
the ends of the half steps. Extrapolation ends with the velocity 2 v_2 − v̂ and the position
q_0 ⊕ δt (v_1 + v_2 − v̂). With

    u = v_0 − 2 v_1 + v_2,

half a step times the change of acceleration from one half to the other, a multiple of δt u is added
to the position, and one of u that goes to zero as δt² does to the velocity. The order remains two.

**One oscillator.** Some forces are taken at a step's beginning: gravity, those of the contact
directions of a rolling body, and a part of the springs of joints
(`asperity.integrators.methods.springs`), whose rest is taken at the step's end. With the
stiffnesses m ω_g² of the first and m ω_k² of the second let g = (ω_g δt/2)² and p = (ω_k δt/2)².
The three solves give

    (1 + p) v_1 = v_0 + a/2,           u = u_g − p v_2,    u_g = −g v_1
    (1 + p) v_2 = (2 − g) v_1 − v_0,   (1 + 4 p) v̂ = 2 (1 + p) v_1 − v_0

where a is δt times the acceleration at the beginning. The exact solution is, with z² = 4 (g + p),

    v = v_0 cos z + a sin z / z,     q = q_0 ⊕ δt (v_0 sin z / z + a (1 − cos z)/z²)

Less the extrapolated end this is a sum of multiples of u and v̂ − v_0 (`swing_factors`), which are
small as δt² is. Both numbers need no eigenvalues. With the implicit springs K

    p = δt²/4 uᵀK u / uᵀM u,     g = −v_1ᵀM u_g / v_1ᵀM v_1
    M u = M (v_2 − v̂) + δt²/2 K (v_1 − 2 v̂),     M u_g = M u + δt²/4 K v_2

For comparison: extrapolation alone loses (ω δt)⁴/16 of the amplitude per step where forces are
taken at the beginning. The leapfrog method adds energy where step sizes follow the motion.

**Other motion.** What is added is a multiple of u, with the same factors in a whole island, so that
bodies in contact keep their momentum; v̂ − v_0 counts by its component along u. An island may also
move in another way, as a rattleback that rocks while it spins. Then p and g are no frequencies. The
squared cosine between u and w = g v_1 + p v_2,

    c = (uᵀS w)² / (uᵀS u · wᵀS w),     S = g M + δt²/4 K

is 1 for a single oscillation. So the correction is c times that above, and (1 − c) times the
third-order term in the Taylor series of the position is added, δt (2/3 − uᵀM u_g / uᵀM u) u. There
is no oscillation if uᵀS w is not negative.

**Fast motion** is left to extrapolation, which is L-stable where it is implicit: the correction
goes to zero as p + |g| goes from `LARGEST_SWING` to twice of it. A single oscillator never gains
energy. A sum of modes can gain a few percent in a step.

**Other implicit forces** are left out. Extrapolation of contacts, constraints, servos and dampers
is L-stable: of a displacement that a stiff force takes back within the step, nothing is left. With
this correction a part of it would be left. So u is taken without the directions that these forces
oppose (`asperity.convex.response`), and so are v_2 and v̂ − v_0 beside springs, which would seem to
swing what a servo or a damper moves. If bodies turn far in a step, their velocities turn with them,
and the analysis does not hold: the correction is divided by 1 + (φ/φ_0)⁴, with the angle φ of the
fastest body of the island. It is 0 on patches of pressure fields, whose points come and go, and in
islands with deformable bodies (`.vibrations`).
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, compiled_loop
from asperity.compiled.calls import call_pppn_status
from asperity.convex.matrix import multiply
from asperity.convex.response import PROJECTING, REPEATED
from asperity.integrators.methods.convex_step import velocities_at
from asperity.integrators.methods.extrapolation_layout import EXTRAPOLATION
from asperity.integrators.world_layout import WORLD
from asperity.plant.trees import velocity_from_solver, velocity_to_solver

__all__ = [
    "LARGEST_SWING",
    "SLOW_SWING",
    "THIRD_ORDER",
    "TURNING_ANGLE",
    "find_swings",
    "swing_factors",
    "tangent_matrix",
]

TURNING_ANGLE = 0.2
"""φ_0 [rad], without which a tippe top at 1e-2 falls that should not."""

LARGEST_SWING = 0.5
"""p + |g| up to which a step resolves a swing."""

SLOW_SWING = 1e-6
"""g + p below which a swing has the third-order term alone; factors would be round-off."""

THIRD_ORDER = 2.0 / 3.0
"""Part of δt u that the position lacks, if forces are taken at the ends of steps."""

# Of every island: products in the mass norm of u with itself, with v̂ − v_0 and with v_1, and of v_1
# with itself. Those with δt²/4 κ K of u with itself, which becomes p, and of v_1 and of u with v_2.
# Then g, and products of u and w with S.
_SQUARE, _KICK, _MIDDLE, _MIDDLE_SQUARE, _SPRINGS, _OPPOSED, _LATE = range(7)
_EARLY, _ALONG, _ACROSS, _SWING = range(7, 11)
# Then its mass and the momenta of u, v_1 and w, if it floats.
_MASS, _MOMENTA = 11, 12
# Share of the accuracy that u must move something by to be worth a factorization.
_NEGLIGIBLE = 1e-3


@compiled
def swing_factors(g: float, p: float) -> tuple[float, float, float, float]:
    """Factors of u and of v̂ − v_0 that a swing's extrapolated velocity and displacement lack."""
    s = g + p
    z = 2.0 * np.sqrt(s)
    sine = np.sin(z) / z
    cosine = np.cos(z)
    bend = 0.25 * (1.0 - cosine) / s
    inertia = 1.0 + p
    whole = 1.0 / (1.0 + 4.0 * p)
    # The factors of v_1 and of v_0 in velocities, of the exact end less the extrapolated one.
    late = 2.0 * (2.0 - g) / inertia - 2.0 * inertia * whole
    speed = 2.0 * inertia * sine - late
    speed_before = cosine - 2.0 * sine + 2.0 / inertia - whole
    late -= (2.0 - g) / inertia
    travel = 2.0 * inertia * bend - 1.0 - late
    travel_before = sine - 2.0 * bend + 1.0 / inertia - whole
    # v_1 is (1 + ε) v_0 + κ (v̂ − v_0), and v_0 of it and u are multiples of u and v̂ − v_0.
    more = p / inertia
    kick = 0.5 / (whole * inertia)
    opposed = 2.0 * p + g
    by_change = -inertia / (s + opposed * more)
    by_kick = by_change * opposed * kick / inertia
    speed_before += (1.0 + more) * speed
    travel_before += (1.0 + more) * travel
    return (
        by_change * speed_before,
        kick * speed + by_kick * speed_before,
        by_change * travel_before,
        kick * travel + by_kick * travel_before,
    )


@compiled
def _fill_turning(plant: Table, memory: Table, half: Table, step: float) -> None:
    """Fill what is left of every island's correction for how far its fastest body turns.

    That of islands with deformable bodies is in ``vibrating``.
    """
    trees = plant.trees
    memory.vibrating[:] = 0.0
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
        if tree >= 0 and turning[memory.island[tree]] > 0.0:
            memory.vibrating[memory.island[tree]] = turning[memory.island[tree]]
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
    """Let A be M, and what dampers add to it in a step of that size."""
    graph = world.problem.graph
    for tree in range(graph.ntree):
        if not graph.tree_spatial[tree]:
            n = graph.tree_size[tree]
            for i in range(n):
                at = graph.block_start[tree] + i * n + i
                damped = step * world.plant.dofs.damping[graph.tree_start[tree] + i]
                world.problem.smooth.matrix[at] = half.mass[at] + damped


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
def _about_centre(
    world: Table, half: Table, velocity: np.ndarray, momentum: np.ndarray, which: int
) -> None:
    """Fill a momentum M v, and take the velocity of the centre of mass from islands that float."""
    plant = world.plant
    graph = world.problem.graph
    memory = EXTRAPOLATION.at(world.memory)
    multiply(graph, world.problem.smooth, 0, graph.ntree, velocity, momentum)
    first = _MOMENTA + 3 * which
    for repeat in range(2):
        for tree in range(graph.ntree):
            if memory.floating[memory.island[tree]] == 0:
                continue
            sums = memory.sums[memory.island[tree]]
            linear = 3 if plant.trees.spatial[tree] else 0
            start = graph.tree_start[tree] + linear
            if repeat == 0 and which == 0:
                n = graph.tree_size[tree]
                sums[_MASS] += half.mass[graph.block_start[tree] + linear * n + linear]
            for i in range(3):
                if repeat == 0:
                    sums[first + i] += momentum[start + i]
                else:
                    velocity[start + i] -= sums[first + i] / sums[_MASS]
    multiply(graph, world.problem.smooth, 0, graph.ntree, velocity, momentum)


@compiled
def _sum_products(world: Table, half: Table, step: float) -> None:
    """Fill the products of every island; needs u in the problem's direction, M in its matrix."""
    plant = world.plant
    problem = world.problem
    graph = problem.graph
    memory = EXTRAPOLATION.at(world.memory)
    change, impulse = problem.iterate.direction, problem.iterate.direction_product
    _find_floating_islands(plant, memory)
    memory.sums[:] = 0.0
    _about_centre(world, half, change, impulse, 0)
    _about_centre(world, half, memory.middle, memory.momentum, 1)
    for tree in range(graph.ntree):
        sums = memory.sums[memory.island[tree]]
        start = graph.tree_start[tree]
        for i in range(start, start + graph.tree_size[tree]):
            sums[_SQUARE] += impulse[i] * change[i]
            sums[_KICK] += impulse[i] * memory.kick[i]
            sums[_MIDDLE] += impulse[i] * memory.middle[i]
            sums[_MIDDLE_SQUARE] += memory.momentum[i] * memory.middle[i]
            if not graph.tree_spatial[tree]:
                spring = 0.25 * step * step * world.spring_share[i] * plant.dofs.stiffness[i]
                sums[_SPRINGS] += spring * change[i] * change[i]
                sums[_OPPOSED] += spring * memory.late[i] * half.velocity[i]
                sums[_LATE] += spring * memory.late[i] * change[i]


@compiled
def _sum_likeness(world: Table, half: Table, step: float) -> None:
    """Fill g of every island, and the products by which u is compared with w."""
    plant = world.plant
    graph = world.problem.graph
    memory = EXTRAPOLATION.at(world.memory)
    change, impulse = world.problem.iterate.direction, world.problem.iterate.direction_product
    for island in range(plant.ntree):
        sums = memory.sums[island]
        if sums[_SQUARE] > 0.0 and sums[_MIDDLE_SQUARE] > 0.0:
            sums[_SPRINGS] /= sums[_SQUARE]
            sums[_EARLY] = -(sums[_MIDDLE] + sums[_OPPOSED]) / sums[_MIDDLE_SQUARE]
    swing = memory.middle
    for i in range(swing.size):
        sums = memory.sums[memory.island[plant.dofs.tree[i]]]
        swing[i] = sums[_EARLY] * half.velocity[i] + sums[_SPRINGS] * memory.late[i]
    _about_centre(world, half, swing, memory.momentum, 2)
    for tree in range(graph.ntree):
        sums = memory.sums[memory.island[tree]]
        start = graph.tree_start[tree]
        early = max(sums[_EARLY], 0.0)
        for i in range(start, start + graph.tree_size[tree]):
            opposed, own = early * memory.momentum[i], early * impulse[i]
            if not graph.tree_spatial[tree]:
                stiff = 0.25 * step * step * world.spring_share[i] * plant.dofs.stiffness[i]
                opposed += stiff * swing[i]
                own += stiff * change[i]
            sums[_ALONG] += opposed * change[i]
            sums[_SWING] += opposed * swing[i]
            sums[_ACROSS] += own * change[i]


@compiled
def _fill_shares(plant: Table, memory: Table) -> None:
    """Fill what is added of u to velocities, and of δt u to positions, of every island."""
    for island in range(plant.ntree):
        sums = memory.sums[island]
        memory.speed_share[island] = 0.0
        memory.travel_share[island] = 0.0
        g, p = sums[_EARLY], sums[_SPRINGS]
        if sums[_SQUARE] == 0.0:
            continue
        beyond = min(max((p + abs(g)) / LARGEST_SWING - 1.0, 0.0), 1.0)
        share = memory.turning[island] * (1.0 - beyond * beyond * (3.0 - 2.0 * beyond))
        third = THIRD_ORDER - (sums[_SQUARE] + sums[_LATE]) / sums[_SQUARE]
        size = sums[_ACROSS] * sums[_SWING]
        cosine = 0.0
        if sums[_ALONG] < 0.0 < size and p + g >= SLOW_SWING:
            cosine = sums[_ALONG] * sums[_ALONG] / size
            speed, speed_kick, travel, travel_kick = swing_factors(g, p)
            kick = sums[_KICK] / sums[_SQUARE]
            memory.speed_share[island] = share * cosine * (speed + speed_kick * kick)
            memory.travel_share[island] = share * cosine * (travel + travel_kick * kick)
        memory.travel_share[island] += share * (1.0 - cosine) * third


@compiled
def _respond(world: Table, half: Table, step: float, how: int) -> None:
    """Let the problem's direction, an impulse, become what is left of the velocity it makes."""
    memory = EXTRAPOLATION.at(world.memory)
    _set_matrix(world, half, step)
    call_pppn_status(memory.velocity_response, world.problem, half.contacts, half.rows, how)
    _set_matrix(world, half, 0.0)


@compiled
def _project(world: Table, half: Table, step: float) -> None:
    """Fill u without what is solved for, of M u in the problem's direction."""
    plant = world.plant
    problem = world.problem
    graph = problem.graph
    memory = EXTRAPOLATION.at(world.memory)
    for tree in range(graph.ntree):
        problem.guess.tree_marked[tree] = memory.swings[memory.island[tree]]
    _respond(world, half, step, PROJECTING)
    velocity_from_solver(plant, half.cdof, problem.iterate.direction, memory.tangent)
    for i in range(memory.tangent.size):
        if memory.rough[memory.island[plant.dofs.tree[i]]] == 1:
            memory.tangent[i] = 0.0


@compiled
def _fill_impulses(world: Table, half: Table, change: np.ndarray) -> None:
    """Fill M times a change of generalized velocities in the problem's direction."""
    problem = world.problem
    middle = EXTRAPOLATION.at(world.memory).middle
    _set_matrix(world, half, 0.0)
    velocity_to_solver(world.plant, half.cdof, change, middle)
    multiply(
        problem.graph, problem.smooth, 0, problem.graph.ntree, middle, problem.iterate.direction
    )


@compiled
def _add_springs(world: Table, half: Table, full: Table, step: float) -> None:
    """Add what makes M u of M (v_2 − v̂) in the problem's direction."""
    plant = world.plant
    for i in range(plant.nv):
        if not plant.trees.spatial[plant.dofs.tree[i]]:
            spring = 0.5 * step * step * world.spring_share[i] * plant.dofs.stiffness[i]
            change = spring * (half.qvel[i] - 2.0 * full.qvel[i])
            world.problem.iterate.direction[i] += change


@compiled
def _find_sprung_islands(world: Table) -> bool:
    """Mark the islands that have implicit springs and may swing; False if there are none."""
    plant = world.plant
    memory = EXTRAPOLATION.at(world.memory)
    memory.sprung[:] = 0
    found = False
    for i in range(plant.nv):
        island = memory.island[plant.dofs.tree[i]]
        if memory.swings[island] * world.spring_share[i] * plant.dofs.stiffness[i] > 0.0:
            memory.sprung[island] = 1
            found = True
    return found


@compiled
def _fill_unopposed(
    world: Table, half: Table, step: float, velocity: np.ndarray, out: np.ndarray
) -> None:
    """Fill what is left of generalized velocities beside what is solved for, where springs are."""
    memory = EXTRAPOLATION.at(world.memory)
    _fill_impulses(world, half, velocity)
    _respond(world, half, step, REPEATED)
    for i in range(out.size):
        if memory.sprung[memory.island[world.plant.dofs.tree[i]]] == 1:
            out[i] = world.problem.iterate.direction[i]


@compiled
def find_swings(
    world: Table, source: Table, half: Table, full: Table, target: Table, step: float
) -> None:
    """Fill u without what is solved for, and what of it is added to velocities and positions.

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
        memory.faster[i] = 0.0
        memory.moved[i] = 0.0
        if memory.rough[island] == 0:
            change[i] = target.qvel[i] - full.qvel[i]
            moved = memory.turning[island] * step * abs(change[i])
            if moved * plant.error_weight[i] > _NEGLIGIBLE * world.accuracy:
                memory.swings[island] = 1
                matters = True
    if matters:
        # Modes have been looked for at another velocity.
        velocities_at(problem.graph, problem.iterate, half, problem.iterate.velocity)
        _fill_impulses(world, half, change)
        _add_springs(world, half, full, step)
        _project(world, half, step)
        for i in range(change.size):
            change[i] = full.qvel[i] - source.qvel[i]
        velocity_to_solver(plant, half.cdof, change, memory.kick)
        velocity_to_solver(plant, half.cdof, target.qvel, memory.late)
        if _find_sprung_islands(world):
            _fill_unopposed(world, half, step, change, memory.kick)
            _fill_unopposed(world, half, step, target.qvel, memory.late)
            velocity_to_solver(plant, half.cdof, memory.tangent, problem.iterate.direction)
        for i in range(change.size):
            memory.middle[i] = half.velocity[i]
        _sum_products(world, half, step)
        _sum_likeness(world, half, step)
        _fill_shares(plant, memory)
        for i in range(change.size):
            island = memory.island[plant.dofs.tree[i]]
            memory.faster[i] = memory.speed_share[island] * memory.tangent[i]
            memory.moved[i] = memory.travel_share[island] * memory.tangent[i]


@compiled_loop(types.void(types.int64, types.float64, types.float64[:, ::1]))
def tangent_matrix(address: int, step: float, out: np.ndarray) -> None:
    """Fill the matrix of the last step, of that size, that leaves what is not solved for.

    Its modes and directions of contacts stay as they are.
    """
    world = WORLD.at(address)
    memory = EXTRAPOLATION.at(world.memory)
    for i in range(world.scratch.size):
        world.scratch[:] = 0.0
        world.scratch[i] = 1.0
        _fill_impulses(world, world.half, world.scratch)
        _project(world, world.half, step)
        for k in range(world.scratch.size):
            out[k, i] = memory.tangent[k]
