"""Gyroscopic and Coriolis forces in the middle of a fixed step.

Taken at the beginning of a step, as MuJoCo's Euler integrator takes them, these forces feed energy
into whatever spins fast: a gyroscope of 200 rad/s in steps of a millisecond goes to infinity. Taken
at the mean (v_0 + v)/2 of the velocities before and after the step they do no work: for a free body

    (v_0 + v) · M (v − v_0) = −δt (v_0 + v) · (ω̄ × I ω̄, 0) = 0,   ω̄ = (ω_0 + ω)/2,

and turning about ω itself leaves the energy as it is. The mean depends on the solution, so the
step's problem is solved again with the forces at the last solution until these change little: a
fixed point of convex problems, which contracts by the angle that bodies turn in half a step; where
that is too large to contract, the last forces stay, and the step is counted. What does not turn far
is left as it is: steps of free bodies in which none does, and, where there are robots, each
kinematic tree by itself, so that a robot moves in the same way whatever another one does elsewhere:
islands in which nothing turns far are not solved again.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.compiled.calls import call_pp, call_ppip
from asperity.integrators.methods.convex_step import minimise
from asperity.integrators.world_layout import END_VELOCITY, OK
from asperity.plant.evaluate import gyroscopic_force
from asperity.plant.tree_bias import bias_of_trees
from asperity.plant.trees import force_to_solver, velocity_from_solver

__all__ = ["center_gyroscopic_forces", "find_turning", "gyroscopic_forces"]

# Angle [rad] by which a body must turn in a step for its gyroscopic forces to be looked at: free
# bodies alone, and with articulated ones, of which all forces are to be computed anew.
_LARGE_ANGLE = 0.01
_LARGE_ANGLE_OF_JOINTS = 0.1
# Change of velocity, relative to the largest velocity, that ends the passes.
_SETTLED = 1e-6
_MOST_PASSES = 20


@compiled
def find_turning(plant: Table, state: Table, step: float) -> bool:
    """Mark the trees of which a body turns far in a step; False if there is none.

    Of free bodies alone all are marked if one is.
    """
    turning = state.work.turning
    found = False
    for tree in range(plant.ntree):
        turning[tree] = 0
    if plant.only_free_bodies:
        largest = 0.0
        for tree in range(plant.ntree):
            s = plant.tree_start[tree]
            v = state.velocity[s : s + 3]
            largest = max(largest, v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
        if np.sqrt(largest) * step < _LARGE_ANGLE:
            return False
        for tree in range(plant.ntree):
            turning[tree] = 1
        return True
    fast = (_LARGE_ANGLE_OF_JOINTS / step) ** 2
    for body in range(1, plant.nbody):
        tree = plant.body_tree[body]
        if tree < 0:
            continue
        v = state.mj_cvel[body]
        if v[0] * v[0] + v[1] * v[1] + v[2] * v[2] >= fast:
            turning[tree] = 1
            found = True
    return found


@compiled
def _follow(plant: Table, problem: Table, state: Table, step: float) -> bool:
    """Let the forces of trees that turn follow the last solution; True if none changes much.

    Trees whose forces do not are done with, but free bodies alone are so together.
    """
    work = state.work
    turning = work.turning
    together = plant.only_free_bodies == 1
    settled = True
    change = 0.0
    largest = 0.0
    for tree in range(plant.ntree):
        if turning[tree] == 0:
            continue
        if not together:
            change = 0.0
            largest = 0.0
        start = plant.tree_start[tree]
        for i in range(start, start + plant.tree_size[tree]):
            difference = step * (work.gyroscopic_following[i] - work.gyroscopic[i])
            problem.rhs[i] += difference
            work.gyroscopic[i] = work.gyroscopic_following[i]
            change = max(change, abs(difference) * state.mass_inverse_diagonal[i])
            largest = max(largest, abs(problem.velocity[i]))
        if not together:
            if change <= _SETTLED * largest:
                turning[tree] = 0
            else:
                settled = False
    return change <= _SETTLED * largest if together else settled


@compiled
def gyroscopic_forces(plant: Table, state: Table, qvel: np.ndarray, out: np.ndarray) -> None:
    """Gyroscopic and Coriolis forces (with gravity) at other velocities, in solver velocities.

    Leaves velocities in the state's MjData that are not the state's.
    """
    if plant.only_free_bodies:
        for tree in range(plant.ntree):
            s = plant.tree_start[tree]
            x = 0.0
            y = 0.0
            z = 0.0
            for dof in range(s + 3, s + 6):
                x += state.cdof[dof, 0] * qvel[dof]
                y += state.cdof[dof, 1] * qvel[dof]
                z += state.cdof[dof, 2] * qvel[dof]
            force = gyroscopic_force(plant, state, tree, (x, y, z))
            for a in range(6):
                out[s + a] = force[a]
        return
    for i in range(qvel.size):
        state.mj_qvel[i] = qvel[i]
    call_pp(plant.com_velocity, plant.model, state.data)
    bias = state.work.dof_force
    call_ppip(plant.newton_euler, plant.model, state.data, 0, bias.ctypes.data)
    for i in range(bias.size):
        bias[i] = -bias[i]
    force_to_solver(plant, state.cdof, bias, out)


@compiled
def _turning_forces(plant: Table, state: Table, qvel: np.ndarray, out: np.ndarray) -> None:
    """`gyroscopic_forces` of the trees that turn, which leave the state's MjData as they are."""
    work = state.work
    if plant.only_free_bodies:
        gyroscopic_forces(plant, state, qvel, out)
        return
    bias = work.dof_force
    for i in range(bias.size):
        bias[i] = 0.0
    bias_of_trees(plant, state, work.turning, qvel, bias)
    for i in range(bias.size):
        bias[i] = -bias[i]
    force_to_solver(plant, state.cdof, bias, out)


@compiled
def center_gyroscopic_forces(world: Table, state: Table, step: float) -> int:
    """Solve the step again until its gyroscopic forces are those at the mean velocity.

    Needs the solution with the forces at the step's beginning in the problem.
    """
    plant = world.plant
    problem = world.problem
    if not find_turning(plant, state, step):
        return OK
    work = state.work
    turning = work.turning
    mean = world.scratch
    _turning_forces(plant, state, state.qvel, work.gyroscopic)
    code = OK
    settled = False
    for _ in range(_MOST_PASSES):
        velocity_from_solver(plant, state.cdof, problem.velocity, world.guess)
        for i in range(mean.size):
            mean[i] = 0.5 * (state.qvel[i] + world.guess[i])
        _turning_forces(plant, state, mean, work.gyroscopic_following)
        settled = _follow(plant, problem, state, step)
        if settled:
            break
        world.guess_kind = END_VELOCITY
        problem.only_marked = 1
        for tree in range(plant.ntree):
            problem.tree_marked[tree] = turning[tree]
        code = minimise(world, state)
        if code != OK:
            break
    if code == OK and not settled:
        # A body turns by so much in a step that there is no telling where its middle is.
        problem.unsettled += 1
    return code
