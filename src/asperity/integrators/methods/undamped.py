"""Positions of extrapolated steps, to the third order where nothing stiff is in the way.

With the velocities v̂ of a whole step, v_1 and v_2 of the two half steps, extrapolated positions are
q_0 ⊕ δt (v_1 + v_2 − v̂), those of

    q = q_0 ⊕ δt (v_1 + (1 − θ)(v_2 − v̂))

of second order for every θ, at no further solve. Of forces that a step takes at its beginning, as
it takes gravity, gyroscopic forces, and the directions of contacts of what rolls,

    v_1 = v_0 + δt a_0/2,   v̂ = v_0 + δt a_0,   v_2 = v_0 + δt (a_0 + a_1)/2

with the acceleration a_1 half a step later, and a term δt² (θ a_0 + (1 − θ) a_1)/2 is that of
Taylor's series to the third order with θ = 1/3. Of an oscillator of frequency ω it leaves two
thirds of the damping of extrapolation, (ω δt)⁴/16 of an amplitude per step. θ = 1, which is the
leapfrog method's position, damps nothing while steps stay the same, but step sizes that follow the
motion then feed it: a ball with its weight below its middle that rocks by 0.05 rad gains seven
tenths of its energy in ten seconds at 1e-3, where it loses a fifth with θ = 1/3 and two thirds with
θ = 0.

What a step solves for must not get that: extrapolation of contacts, constraints, servos, springs
and dampers is L-stable and never feeds an implicit spring, and of a displacement that a stiff one
takes back in a step, −θ would be left instead of nothing. So v_2 − v̂ is taken without what they
oppose (`asperity.convex.response`). And of what turns far in a step, whose velocities turn with
it, the series says little: θ is 1/3 over 1 + (φ/φ_0)⁴, with the angle φ by which the fastest body
of a tree turns. It is 0 on patches of pressure fields, whose points come and go.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, compiled_loop
from asperity.compiled.calls import call_pppn_status
from asperity.convex.matrix import multiply
from asperity.convex.response import STIFFENED
from asperity.integrators.methods.convex_step import velocities_at
from asperity.integrators.methods.extrapolation_layout import EXTRAPOLATION
from asperity.integrators.world_layout import WORLD
from asperity.plant.trees import velocity_from_solver, velocity_to_solver

__all__ = ["displace_undamped", "undamping_matrix"]

# θ, and φ_0 [rad], without which a tippe top at 1e-2 falls that should not.
_SHARE = 1.0 / 3.0
_ANGLE = 0.2
# Share of the accuracy that a displacement must have to be worth a factorization.
_NEGLIGIBLE = 1e-3


@compiled
def _fill_shares(plant: Table, half: Table, step: float, shares: np.ndarray) -> None:
    """Fill θ of every tree."""
    for tree in range(plant.ntree):
        shares[tree] = 0.0
        if plant.tree_spatial[tree]:
            start = plant.tree_start[tree]
            for i in range(start, start + 3):
                shares[tree] += half.velocity[i] * half.velocity[i]
    if not plant.only_free_bodies:
        for body in range(1, plant.nbody):
            tree = plant.body_tree[body]
            if tree >= 0 and not plant.tree_spatial[tree]:
                v = half.mj_cvel[body]
                shares[tree] = max(shares[tree], v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    for tree in range(plant.ntree):
        turned = shares[tree] * (step / _ANGLE) ** 2
        shares[tree] = _SHARE / (1.0 + turned * turned)
    contacts = half.contacts
    if plant.elastic.bonds > 0:
        # What is implicit of a deformable body is all of it, and what touches it hangs on that.
        for tree in range(plant.ntree):
            shares[tree] = 0.0
    for c in range(contacts.count):
        if contacts.patch[c] >= 0:
            for side in range(2):
                link = contacts.link[c, side]
                if link >= 0:
                    shares[contacts.link_tree[link]] = 0.0


@compiled
def _set_matrix(world: Table, half: Table, factor: float) -> None:
    """Let A be M, and so many times its diagonal more where joints have dampers or springs."""
    plant = world.plant
    problem = world.problem
    graph = problem.graph
    for tree in range(plant.ntree):
        if graph.tree_spatial[tree]:
            continue
        start = plant.tree_start[tree]
        n = plant.tree_size[tree]
        for i in range(n):
            at = graph.block_start[tree] + i * n + i
            problem.matrix[at] = half.mass[at]
            if plant.dof_damping[start + i] > 0.0 or plant.dof_stiffness[start + i] > 0.0:
                problem.matrix[at] += factor * half.mass[at]


@compiled
def _fill_displacement(world: Table, half: Table, step: float, change: np.ndarray) -> None:
    """Fill θ δt times the tangent part of a change of generalized velocities."""
    plant = world.plant
    problem = world.problem
    graph = problem.graph
    memory = EXTRAPOLATION.at(world.memory)
    along = problem.direction
    velocity_to_solver(plant, half.cdof, change, along)
    _set_matrix(world, half, 0.0)
    multiply(problem, 0, graph.ntree, along, problem.direction_product)
    for i in range(change.size):
        along[i] = problem.direction_product[i]
    _set_matrix(world, half, STIFFENED)
    for tree in range(graph.ntree):
        problem.tree_marked[tree] = memory.undamps[tree]
    call_pppn_status(memory.velocity_response, problem, half.contacts, half.rows, 1)
    velocity_from_solver(plant, half.cdof, along, memory.displacement)
    for i in range(change.size):
        tree = plant.dof_tree[i]
        if memory.rough[memory.island[tree]] == 0:
            memory.displacement[i] *= memory.undamped_share[tree] * step
        else:
            memory.displacement[i] = 0.0


@compiled
def displace_undamped(world: Table, half: Table, full: Table, target: Table, step: float) -> None:
    """Fill the displacement by which extrapolated positions are to fall back.

    Needs the solution of the second half step in the problem, and velocities that are not yet
    extrapolated.
    """
    plant = world.plant
    problem = world.problem
    memory = EXTRAPOLATION.at(world.memory)
    change = world.scratch
    _fill_shares(plant, half, step, memory.undamped_share)
    for tree in range(problem.graph.ntree):
        memory.undamps[tree] = 0
    matters = False
    for i in range(change.size):
        tree = plant.dof_tree[i]
        change[i] = 0.0
        memory.displacement[i] = 0.0
        if memory.rough[memory.island[tree]] == 0:
            change[i] = target.qvel[i] - full.qvel[i]
            moved = memory.undamped_share[tree] * step * abs(change[i])
            if moved * plant.error_weight[i] > _NEGLIGIBLE * world.accuracy:
                memory.undamps[tree] = 1
                matters = True
    if matters:
        # Modes have been looked for at another velocity.
        velocities_at(problem, half, problem.velocity)
        _fill_displacement(world, half, step, change)


@compiled_loop(types.void(types.int64, types.float64, types.float64[:, ::1]))
def undamping_matrix(address: int, step: float, out: np.ndarray) -> None:
    """Fill the matrix by which a change of v_2 − v̂ moves the last step's positions back.

    Its angles, modes and directions of contacts stay as they are.
    """
    world = WORLD.at(address)
    memory = EXTRAPOLATION.at(world.memory)
    change = world.scratch
    for i in range(change.size):
        for k in range(change.size):
            change[k] = 0.0
        change[i] = 1.0
        _fill_displacement(world, world.half, step, change)
        for k in range(change.size):
            out[k, i] = memory.displacement[k]
