"""Positions of extrapolated steps that do not damp what swings.

With the velocities v̂ of a whole step, v_1 and v_2 of the two half steps, extrapolated positions are
q_0 ⊕ δt (v_1 + v_2 − v̂), those of

    q = q_0 ⊕ δt (v_1 + (1 − θ)(v_2 − v̂))

of second order for every θ, at no further solve. An oscillator of frequency ω whose force a step
takes at its beginning, as it takes gravity, and the forces of contact on what rolls, keeps its
amplitude up to (1 − θ)(ω δt)⁴/16 per step: with θ = 1 it is that of the leapfrog method, exactly
for ω δt < 2. An implicit spring loses (2 − θ)(ω δt)⁴/8.

What is stiff must not get that: of a displacement that a contact or a constraint takes back in a
step, −θ would be left instead of nothing. So v_2 − v̂ is taken without what they oppose
(`asperity.convex.tangent_part`). And where bodies turn far in a step, forces depend on velocities,
for which θ = 1 is no better: tops topple early. θ is 1/(1 + (φ/φ_0)⁴), with the angle φ by which
the fastest body of a tree turns.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, compiled_loop
from asperity.compiled.calls import call_ppp_status
from asperity.convex.matrix import multiply
from asperity.integrators.methods.convex_step import velocities_at
from asperity.integrators.methods.extrapolation_layout import EXTRAPOLATION
from asperity.integrators.world_layout import WORLD
from asperity.plant.trees import velocity_from_solver, velocity_to_solver

__all__ = ["displace_undamped", "undamping_matrix"]

# φ_0 [rad]. A rattleback that does not turn round (tests/physics) turns by 0.03 rad in steps at
# 1e-3, and rocks too much with θ = 1 there; one that does turn round turns by 0.01 rad at 1e-4.
_ANGLE = 0.04
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
        shares[tree] = 1.0 / (1.0 + (shares[tree] * (step / _ANGLE) ** 2) ** 2)


@compiled
def _fill_displacement(world: Table, half: Table, step: float, change: np.ndarray) -> None:
    """Fill θ δt times the tangent part of a change of generalized velocities."""
    plant = world.plant
    problem = world.problem
    memory = EXTRAPOLATION.at(world.memory)
    along = problem.direction
    velocity_to_solver(plant, half.cdof, change, along)
    multiply(problem, 0, problem.ntree, along, problem.direction_product)
    for i in range(change.size):
        tree = plant.dof_tree[i]
        implicit = 0.0
        if not problem.tree_spatial[tree]:
            # A is M and dampers and springs, of which M alone is wanted here.
            implicit = 0.5 * step * (plant.dof_damping[i] + 0.5 * step * plant.dof_stiffness[i])
        along[i] = problem.direction_product[i] - implicit * along[i]
    for tree in range(problem.ntree):
        problem.tree_marked[tree] = memory.undamps[tree]
    call_ppp_status(memory.tangent_part, problem, half.contacts, half.rows)
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
    for tree in range(problem.ntree):
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
