"""Vibrations of deformable bodies keep their energy and phase in extrapolated steps.

The elasticity of deformable bodies is implicit. With half a step h, stiffnesses K that stay as they
are and P = h² M⁻¹ K, a half step multiplies velocities by R = (1 + P)⁻¹. Extrapolation alone loses
(ω δt)⁴/16 of the amplitude of a mode of frequency ω per step. A body has many modes, so that shares
of a whole island (`asperity.integrators.methods.swings`) do not help. But what its modes lack is a
function of P, and close to a polynomial of R, which the factors of a half step apply. With

    y_0 = P v_0,    y_1 = P v_1

at the beginning of the step and halfway,

    Σ (a_k Rᵏ y_0 + b_k Rᵏ y_1),  k = 2, 3, 4

is added to the velocity, and with other factors, times δt, to the position. The sum of a_k is 4/3
and that of b_k −4/3. All factors of the position add up to −2/3. This is what second order lacks in
the Taylor series, and any forces keep second order. The other freedom is used to be nearest to the
exact rotation of velocity and position up to ω δt ≈ 1, among the factors with which no mode gains
energy at any frequency (a quadratic programme). The error of a step, over the amplitude, is

    ω δt             0.3      0.5      0.7      1
    extrapolation    4e-3     1.8e-2   4.3e-2   0.10
    with this        7e-5     2.2e-4   1e-4     3.5e-3

and R → 0 leaves nothing of fast modes, which stay L-stable. Rayleigh's damping β K adds h β K to
h² K in R; at β = 0.1 δt the error at ω δt = 0.5 falls from 1.8e-2 to 2e-3.

**Tension** of ropes and cloth acts at a step's beginning, and its stiffness K across them on the
change of velocities alone (`asperity.soft.vibrations`). Of a mode a half step makes

    (1 + P) v_1 = v_0 + P w − P q_0/h,   w = v_0 (1 + 2 x)/(1 + x)²,   x = 4 P/c,

by which extrapolation adds energy to swings. What it lacks of the exact rotation has factors of its
own, found likewise. The sums of a_k and b_k are 10/3 and −10/3, and all factors of the position add
up to 1/3. K is that of the tension halfway: what steps find of tensions may jump.

    ω δt             0.3      0.5      0.7      1
    extrapolation    1e-2     4.1e-2   9e-2     0.17
    with this        7e-5     2.4e-4   5e-4     4e-3

**Contact.** R leaves out the directions in which contacts and constraints are stiff, as that of
swings does (`asperity.convex.response`).

**Turning.** Elements turn with ω. Rates P v are those in their frames (`asperity.soft.rates`): what
turns as it is has none. With the mean ω of an island those of the beginning are turned to the
middle, and the sums to the end of the step. What moves by δx has −ω × δx more velocity, so that it
keeps its angular momentum. The correction is divided by 1 + (φ/φ_0)⁴ with the angle φ of the
fastest element.

**Where not.** The correction costs a factorization and eight solves. It is left out where it would
move nothing by a thousandth of the accuracy, where the step does not resolve most of what vibrates,
and where damping ends it within about a period: by means over an island in which each mode counts
as h² vᵀK v.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.compiled.arrays import copy_numbers
from asperity.compiled.calls import call_pppn_status
from asperity.convex.matrix import multiply
from asperity.convex.response import PROJECTING, REPEATED
from asperity.integrators.methods.convex_step import velocities_at
from asperity.integrators.methods.extrapolation_layout import EXTRAPOLATION
from asperity.integrators.methods.icf import fill_elasticity, smooth_terms
from asperity.plant.trees import velocity_from_solver
from asperity.soft.rates import add_stiffness_rates
from asperity.soft.strands import edge_rates, find_taut_strands
from asperity.soft.tense_triangles import find_taut_triangles
from asperity.soft.vibrations import add_tension_rates

__all__ = [
    "FACTORS_OF_FIRST",
    "FACTORS_OF_MIDDLE",
    "TAUT_FACTORS_OF_FIRST",
    "TAUT_FACTORS_OF_MIDDLE",
    "find_vibrations",
]

FACTORS_OF_FIRST = (
    *(1.5009332007, -10.4166887946, 10.2490889273),
    *(2.8710287424, -8.3933323983, 8.1373760125),
)
FACTORS_OF_MIDDLE = (
    *(-5.2667848305, 23.0767222265, -19.1432707294),
    *(-3.6218434966, 13.602429247, -13.2623247738),
)
"""Of R², R³ and R⁴ in velocities, and in positions: factors of y_0 and of y_1."""

TAUT_FACTORS_OF_FIRST = (
    *(4.541222232, -17.6001958764, 16.3923069777),
    *(0.6664245278, -4.1145509046, 8.0086810974),
)
TAUT_FACTORS_OF_MIDDLE = (
    *(-3.8003588821, 14.5777560603, -14.1107305115),
    *(-1.0457573282, 5.0224703198, -8.2039343789),
)
"""Likewise of tensions."""

_TURNING_ANGLE = 0.1  # [rad]
# Edges of ropes count as if they turned twice as fast, as their pull turns with them.
_OF_EDGES = 4.0
# Share of the accuracy that vibrations must move something by to be worth a factorization.
_NEGLIGIBLE = 1e-3
# Mean of P beyond which a step does not resolve what vibrates, and of β ω beyond which that ends
# soon.
_UNRESOLVED = 1.0
_DAMPED = 0.3
# Of every island, weighed by the energy that P adds: the sums of P, of β and of 1.
_STIFF, _SLOW, _ENERGY = range(3)


@compiled
def _fill_rates(
    world: Table, state: Table, step: float, out: np.ndarray, spins: np.ndarray
) -> None:
    """Fill M P v of a state, and what turns in every island."""
    out[:] = 0.0
    soft = state.soft
    add_stiffness_rates(
        world.plant.elastic,
        soft.position,
        state.qvel,
        soft.work,
        0.25 * step * step,
        out,
        EXTRAPOLATION.at(world.memory).island,
        spins,
    )
    for island in range(len(spins)):
        if spins[island, 3] > 0.0:
            for i in range(3):
                spins[island, i] /= spins[island, 3]


@compiled
def _count_edges(elastic: Table, memory: Table, half: Table) -> None:
    """Let edges of ropes count among what turns."""
    for strand in range(elastic.strands):
        tree = elastic.particle_tree[elastic.strand_particle[strand, 1]]
        if tree >= 0 and elastic.strand_particle[strand, 2] < 0:
            _, square = edge_rates(elastic, half.soft.position, half.qvel, strand)
            own = memory.spins[1, memory.island[tree]]
            own[4] = max(own[4], _OF_EDGES * square)


@compiled
def _moves(world: Table, source: Table, half: Table, target: Table, step: float) -> bool:
    """Whether what accelerations of soft bodies change by in the step could matter."""
    plant = world.plant
    memory = EXTRAPOLATION.at(world.memory)
    for i in range(plant.nv):
        if memory.vibrating[memory.island[plant.dofs.tree[i]]] > 0.0:
            change = source.qvel[i] - 2.0 * half.qvel[i] + target.qvel[i]
            if step * abs(change) * plant.error_weight[i] > _NEGLIGIBLE * world.accuracy:
                return True
    return False


@compiled
def _sum_energies(world: Table, half: Table, rates: np.ndarray) -> None:
    """Fill the sums of every island of what P does to the velocity halfway."""
    plant = world.plant
    elastic = plant.elastic
    memory = EXTRAPOLATION.at(world.memory)
    memory.sums[:] = 0.0
    for p in range(elastic.particles):
        dof = elastic.particle_dof[p]
        if dof < 0:
            continue
        sums = memory.sums[memory.island[elastic.particle_tree[p]]]
        for i in range(dof, dof + 3):
            sums[_STIFF] += rates[i] * rates[i] * half.mass_inverse_diagonal[i]
            energy = rates[i] * half.qvel[i]
            sums[_ENERGY] += energy
            sums[_SLOW] += elastic.particle_damping[p] * energy


@compiled
def _mark(world: Table, half: Table, step: float, rates: np.ndarray) -> bool:
    """Mark the trees of islands in which the correction matters; False if there are none."""
    plant = world.plant
    memory = EXTRAPOLATION.at(world.memory)
    marked = world.problem.guess.tree_marked
    wanted = memory.swings
    for island in range(plant.ntree):
        wanted[island] = 0
    found = False
    for i in range(plant.nv):
        island = memory.island[plant.dofs.tree[i]]
        if memory.vibrating[island] == 0.0 or memory.rough[island] == 1:
            continue
        moved = memory.vibrating[island] * step * abs(rates[i]) * half.mass_inverse_diagonal[i]
        sums = memory.sums[island]
        if moved > _NEGLIGIBLE * world.accuracy and sums[_STIFF] < _UNRESOLVED * sums[_ENERGY]:
            frequency = 2.0 * np.sqrt(sums[_STIFF] / sums[_ENERGY]) / step
            if frequency * sums[_SLOW] < _DAMPED * sums[_ENERGY]:
                wanted[island] = 1
                found = True
    for tree in range(plant.ntree):
        marked[tree] = wanted[memory.island[tree]]
    return found


@compiled
def _set_mass(plant: Table, graph: Table, half: Table, matrix: np.ndarray) -> None:
    """Let A be M."""
    for tree in range(plant.ntree):
        if not graph.tree_spatial[tree]:
            block = graph.block_start[tree]
            for i in range(block, block + graph.tree_size[tree] ** 2):
                matrix[i] = half.mass[i]


@compiled
def _respond(world: Table, half: Table, how: int, step: float) -> None:
    """Replace impulses in the problem's direction by the velocities that they change."""
    problem = world.problem
    if how == PROJECTING:
        smooth_terms(world, half, 0.5 * step, 0, problem.graph.ntree)
        fill_elasticity(world, half, 0.5 * step)
    response = EXTRAPOLATION.at(world.memory).velocity_response
    call_pppn_status(response, problem, half.contacts, half.rows, how)
    if how == PROJECTING:
        _set_mass(world.plant, problem.graph, half, problem.smooth.matrix)


@compiled
def _add_series(
    world: Table,
    half: Table,
    how: int,
    step: float,
    factors: tuple[float, float, float, float, float, float],
    faster: np.ndarray,
    moved: np.ndarray,
) -> None:
    """Add R², R³ and R⁴ times what impulses in the problem's direction give, with these factors."""
    problem = world.problem
    graph = problem.graph
    direction = problem.iterate.direction
    velocity = EXTRAPOLATION.at(world.memory).middle
    _respond(world, half, how, step)
    for power in range(3):
        for i in range(velocity.size):
            velocity[i] = direction[i]
        multiply(graph, problem.smooth, 0, graph.ntree, velocity, direction)
        _respond(world, half, REPEATED, step)
        for i in range(velocity.size):
            faster[i] += factors[power] * direction[i]
            moved[i] += factors[3 + power] * direction[i]


@compiled
def _turn(elastic: Table, memory: Table, spins: np.ndarray, time: float, v: np.ndarray) -> None:
    """Turn vectors of particles by what their islands turn in a time."""
    for p in range(elastic.particles):
        dof = elastic.particle_dof[p]
        if dof >= 0:
            own = spins[memory.island[elastic.particle_tree[p]]]
            a, b, c = 0.5 * time * own[0], 0.5 * time * own[1], 0.5 * time * own[2]
            # Cayley's formula: by 2 arctan |(a, b, c)|.
            scale = 2.0 / (1.0 + a * a + b * b + c * c)
            x = v[dof] + b * v[dof + 2] - c * v[dof + 1]
            y = v[dof + 1] + c * v[dof] - a * v[dof + 2]
            z = v[dof + 2] + a * v[dof + 1] - b * v[dof]
            v[dof] += scale * (b * z - c * y)
            v[dof + 1] += scale * (c * x - a * z)
            v[dof + 2] += scale * (a * y - b * x)


@compiled
def _add_coriolis(elastic: Table, memory: Table, step: float) -> None:
    """Let what is moved keep its angular momentum: it has −ω × δx more velocity."""
    moved, faster = memory.moved, memory.faster
    for p in range(elastic.particles):
        dof = elastic.particle_dof[p]
        if dof >= 0:
            own = memory.spins[1, memory.island[elastic.particle_tree[p]]]
            for i in range(3):
                j, k = (i + 1) % 3, (i + 2) % 3
                faster[dof + i] -= step * (own[j] * moved[dof + k] - own[k] * moved[dof + j])


@compiled
def find_vibrations(world: Table, source: Table, half: Table, target: Table, step: float) -> None:
    """Fill what is added to velocities and positions of islands with deformable bodies.

    Needs the solution of the second half step in the problem, and velocities that are not yet
    extrapolated.
    """
    plant = world.plant
    elastic = plant.elastic
    if elastic.elements + elastic.strands == 0 or not _moves(world, source, half, target, step):
        return
    problem = world.problem
    memory = EXTRAPOLATION.at(world.memory)
    direction = problem.iterate.direction
    rates, tense_rates = memory.kick, memory.momentum
    _fill_rates(world, half, step, rates, memory.spins[1])
    _count_edges(elastic, memory, half)
    find_taut_strands(elastic, half)
    find_taut_triangles(elastic, half)
    square = 0.25 * step * step
    tense_rates[:] = 0.0
    add_tension_rates(elastic, half, half.qvel, square, tense_rates)
    for i in range(plant.nv):
        direction[i] = rates[i] + tense_rates[i]
    _sum_energies(world, half, direction)
    if not _mark(world, half, step, direction):
        return
    # Modes have been looked for at another velocity.
    velocities_at(problem.graph, problem.iterate, half, problem.iterate.velocity)
    faster, moved = source.work.velocity_change, half.work.velocity_change
    faster[:] = 0.0
    moved[:] = 0.0
    how = PROJECTING
    _fill_rates(world, source, step, direction, memory.spins[0])
    if elastic.elements > 0:
        # These are of the beginning, and what follows is of the middle.
        _turn(elastic, memory, memory.spins[0], 0.5 * step, direction)
        _add_series(world, half, how, step, FACTORS_OF_FIRST, faster, moved)
        copy_numbers(rates, direction)
        how = REPEATED
        _add_series(world, half, how, step, FACTORS_OF_MIDDLE, faster, moved)
    if elastic.strands + elastic.triangles > 0:
        # Of the tension halfway, as what a step finds of it may jump.
        direction[:] = 0.0
        add_tension_rates(elastic, half, source.qvel, square, direction)
        _turn(elastic, memory, memory.spins[0], 0.5 * step, direction)
        _add_series(world, half, how, step, TAUT_FACTORS_OF_FIRST, faster, moved)
        copy_numbers(tense_rates, direction)
        _add_series(world, half, REPEATED, step, TAUT_FACTORS_OF_MIDDLE, faster, moved)
    _turn(elastic, memory, memory.spins[1], 0.5 * step, faster)
    _turn(elastic, memory, memory.spins[1], 0.5 * step, moved)
    velocity_from_solver(plant, half.cdof, faster, memory.momentum)
    velocity_from_solver(plant, half.cdof, moved, memory.middle)
    for i in range(plant.nv):
        island = memory.island[plant.dofs.tree[i]]
        if memory.swings[island] == 1 and memory.vibrating[island] > 0.0:
            turned = memory.spins[1, island, 4] * (step / _TURNING_ANGLE) ** 2
            share = memory.vibrating[island] / (1.0 + turned * turned)
            memory.faster[i] = share * memory.momentum[i]
            memory.moved[i] = share * memory.middle[i]
    _add_coriolis(elastic, memory, step)
