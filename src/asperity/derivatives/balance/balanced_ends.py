"""The balance of robots that turn far in a step, with its derivatives.

A step ends with velocities v⁺ = b(q_0, v_0, v), v being the solution and b what
`asperity.integrators.methods.step_balance` gives the energy and momentum that there should be. By
each of the three b is known in closed form (`asperity.derivatives.balance.end_slopes`), and by
parameters it has differences. Which trees are balanced is that of the state itself. For differences
what floats is looked at from where its centre of mass stays: a robot that is thrown has much more
energy than its joints, whose own would drown in round-off.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.compiled.arrays import copy_numbers
from asperity.compiled.calls import call_pp, call_pp_status
from asperity.derivatives.balance.displacement import restore
from asperity.derivatives.balance.end_slopes import fill_end_slopes
from asperity.derivatives.layout import CONTACT_PARAMETER, INPUTS
from asperity.derivatives.stages import stage
from asperity.integrators.methods.gyroscopic import gyroscopic_forces
from asperity.integrators.methods.motion import move_positions
from asperity.integrators.methods.step_balance import balance_marked, choose_balanced
from asperity.integrators.methods.turning_trees import FLOATS
from asperity.integrators.results import write_results
from asperity.integrators.world_layout import OK, WORLD
from asperity.plant.tree_motion import MOMENTUM, SPIN

__all__ = ["BALANCED_KERNELS", "balanced_end", "differentiate_ends"]


@compiled
def _fill_forces(world: Table, work: Table) -> None:
    """Fill ``gyroscopic`` with the forces that the step has had, of an evaluated state."""
    plant = world.plant
    state = world.current
    middle = work.root.turning
    for share in range(2):
        # Of trees with forces of the middle of the step, and then of others.
        found = False
        for i in range(plant.nv):
            tree = plant.dofs.tree[i]
            found = found or (work.ends.marked[tree] != 0 and middle[tree] == 1 - share)
            work.mean[i] = state.qvel[i]
            if share == 0:
                work.mean[i] = 0.5 * (state.qvel[i] + work.ends.solved[i])
        if not found:
            continue
        gyroscopic_forces(plant, state, work.mean, work.generalized)
        for i in range(plant.nv):
            if middle[plant.dofs.tree[i]] == 1 - share:
                state.work.gyroscopic[i] = work.generalized[i]


@compiled
def _drift(world: Table, work: Table, sign: float, velocity: np.ndarray) -> None:
    """Add the velocities of centres of mass, times a sign, to what floats."""
    trees = world.plant.trees
    for tree in range(world.plant.ntree):
        if work.ends.marked[tree] == FLOATS:
            for a in range(3):
                velocity[trees.start[tree] + a] += sign * work.ends.drift[tree, a]


@compiled
def _balance(world: Table, work: Table, step: float) -> np.ndarray:
    """b of the current state, of which the mass matrix is known, and of ``solved``.

    Both are other ones afterwards.
    """
    plant = world.plant
    state = world.current
    target = world.following
    solved = work.ends.solved
    _drift(world, work, -1.0, state.qvel)
    _drift(world, work, -1.0, solved)
    _fill_forces(world, work)
    copy_numbers(state.qpos, target.qpos)
    for i in range(plant.nv):
        work.mean[i] = step * (work.share * solved[i] + (1.0 - work.share) * state.qvel[i])
        target.qvel[i] = solved[i]
    move_positions(plant, target.qpos, work.mean, 1.0)
    copy_numbers(work.ends.marked, state.work.turning)
    balance_marked(world, state, target, state.work.gyroscopic, step)
    _drift(world, work, 1.0, target.qvel)
    return target.qvel


@stage
def balanced_end(world: Table, work: Table, step: float, _number: int) -> int:
    """Fill the velocity after the balance of the step whose root has been found."""
    ends = work.ends
    state = world.current
    plant = world.plant
    problem = world.problem
    write_results(problem.graph, problem.iterate, state.contacts, state.rows)
    ends.acts = 1 if choose_balanced(world, state, step) else 0
    if ends.acts == 0:
        return OK
    copy_numbers(state.work.turning, ends.marked)
    copy_numbers(work.velocity, ends.solved)
    ends.drift[:] = 0.0
    copy_numbers(_balance(world, work, step), ends.velocity)
    ends.gains[:] = state.work.gains
    for tree in range(plant.ntree):
        if ends.marked[tree] == FLOATS:
            mass = state.mass[plant.trees.block_start[tree]]
            ends.drift[tree] = state.work.tree_motion[tree, MOMENTUM:SPIN] / mass
    # As the evaluation has left it.
    copy_numbers(state.qvel, state.mj_qvel)
    call_pp(plant.mujoco.com_velocity, plant.model, state.data)
    return OK


@compiled
def _by_parameters(world: Table, work: Table, step: float) -> None:
    """Fill what b changes by with parameters."""
    parameters = work.parameters
    for index in range(parameters.displaced.shape[0]):
        change = parameters.displaced_ends[index]
        change[:] = 0.0
        if parameters.displaced_kind[index] == CONTACT_PARAMETER:
            continue
        last = parameters.displaced[index, 2] != 0
        scale = (0.5 if last else 1.0) / parameters.displaced_sizes[index]
        for side in range(2):
            copy_numbers(work.velocity, work.ends.solved)
            if side == 1 and not last:
                restore(work.start, work.inputs, world.current)
                call_pp_status(work.evaluate_smooth, world.plant, world.current)
                change -= scale * _balance(world, work, step)
                continue
            other = WORLD.at(parameters.displaced[index, 2 * side])
            inputs = INPUTS.at(parameters.displaced[index, 2 * side + 1])
            restore(work.start, inputs, other.current)
            call_pp_status(work.evaluate_smooth, other.plant, other.current)
            change += (scale if side == 0 else -scale) * _balance(other, work, step)


@stage
def differentiate_ends(world: Table, work: Table, step: float, _number: int) -> int:
    """Fill derivatives of the velocity after the balance; the state is not evaluated afterwards."""
    fill_end_slopes(world, work, step)
    _by_parameters(world, work, step)
    restore(work.start, work.inputs, world.current)
    world.current.valid = 0
    return OK


BALANCED_KERNELS = (balanced_end, differentiate_ends)
