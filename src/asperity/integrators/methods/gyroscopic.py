"""Gyroscopic and Coriolis forces in the middle of a step.

Taken at the beginning of a step, as MuJoCo's Euler integrator takes them, these forces feed energy
into whatever spins fast: a gyroscope of 200 rad/s in steps of a millisecond goes to infinity. Taken
at the mean (v_0 + v)/2 of the velocities before and after the step they do no work: for a free body

    (v_0 + v) · M (v − v_0) = −δt (v_0 + v) · (ω̄ × I ω̄, 0) = 0,   ω̄ = (ω_0 + ω)/2,

and turning about ω itself leaves the energy as it is. The mean depends on the solution: a fixed
point, which contracts by the angle that bodies turn in half a step, and by the ratio of inertias if
a light link carries a heavy one.

Steps under error control take the middle's forces for free bodies alone. Robots have those of the
beginning there, and are corrected after the step (`.middle_forces`, `.step_balance`).

Forces of free bodies that turn less than two radians follow the iterates of Newton's method, which
therefore ends where they are those of the solution. That takes more iterations, but no second
solve. For all others the step's problem is solved again with the forces at the last solution until
these change little. Where that does not contract, a tree's forces go only part of the way: less of
it where that has led farther away, and as far as Aitken's rule says where it leads slowly closer.
What turns so far that this finds no end keeps its last forces if they are nearly those of its mean
velocity, and otherwise has none. Such steps are counted. Robots' velocities are then given the
energy that they should have, with forces or without, since their masses change within a step
(`.tree_balance`).

What does not turn far is left as it is: free bodies if none of them does, and each robot by itself,
so that it moves in the same way whatever another one does elsewhere: islands in which nothing turns
far are not solved again.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, entry_point
from asperity.compiled.arrays import copy_numbers
from asperity.compiled.calls import call_pp, call_ppip
from asperity.convex.problem import PROBLEM
from asperity.integrators.methods.convex_step import minimise, solve_potentials
from asperity.integrators.world_layout import (
    ALL_TREES,
    END_VELOCITY,
    FREE_BODIES,
    NO_TREES,
    NON_FINITE,
    NOT_CONVERGED,
    OK,
    WORLD,
)
from asperity.plant.evaluate import force_to_centres, gyroscopic_force
from asperity.plant.plant_layouts import STATE
from asperity.plant.rotations import Vector, dot, vector_at
from asperity.plant.trees import velocity_from_solver

__all__ = [
    "centered_forces",
    "find_turning",
    "follow_spins",
    "gyroscopic_forces",
    "solve_turning",
]

# Angle [rad] by which a body must turn in a step for its gyroscopic forces to be looked at: free
# bodies, in fixed steps and in those of error control, which must agree as they become shorter; and
# robots, of which all forces are to be computed anew.
_LARGE_ANGLE = 0.01
_LARGE_ANGLE_UNDER_CONTROL = 1e-6
_LARGE_ANGLE_OF_JOINTS = 0.1
# Angle [rad] up to which the fixed point contracts, so that forces of a free body follow the
# iterates; how often they may; and their mark.
_FOLLOWED_ANGLE = 2.0
_MOST_FOLLOWED = 100
_FOLLOWS = 2
# Change of velocity that matters to forces that follow, relative to that of turning, and per angle
# of a step [rad]: over a second it adds up to as much at any step size. In contact a change within
# the residual that the solve may leave does not matter either.
_MATTERS = 1e-7
# Change of velocity, relative to the velocity, that ends the passes, and the largest that forces
# may leave undone if they have found no end.
_SETTLED = 1e-6
_NEARLY_SETTLED = 0.05
_MOST_PASSES = 30

# Squared ratio of what is left to what was left a pass before, below which a pass goes all the way.
_CONTRACTS = 0.25
_LEAST_SHARE = 0.02


@compiled
def find_turning(world: Table, state: Table, step: float) -> bool:
    """Mark the trees whose forces are those of the middle of a step; False if there are none.

    A body of theirs turns far in it. Of free bodies all are marked if one is.
    """
    plant = world.plant
    trees = plant.trees
    turning = state.work.turning
    under_control = world.center_gyroscopic == FREE_BODIES
    fast = ((_LARGE_ANGLE_UNDER_CONTROL if under_control else _LARGE_ANGLE) / step) ** 2
    found = False
    if world.center_gyroscopic != NO_TREES:
        for tree in range(plant.ntree):
            if trees.spatial[tree]:
                spin = vector_at(state.velocity, trees.start[tree])
                found = found or dot(spin, spin) >= fast
    for tree in range(plant.ntree):
        turning[tree] = 1 if found and trees.spatial[tree] else 0
    if world.center_gyroscopic != ALL_TREES or plant.has_articulated_trees == 0:
        return found
    fast = (_LARGE_ANGLE_OF_JOINTS / step) ** 2
    for body in range(1, plant.nbody):
        tree = plant.bodies.tree[body]
        if tree < 0 or trees.spatial[tree]:
            continue
        spin = vector_at(state.mj_cvel[body], 0)
        if dot(spin, spin) >= fast:
            turning[tree] = 1
            found = True
    return found


@compiled
def _robots_turn(plant: Table, turning: np.ndarray) -> bool:
    """Whether trees with joints are marked, whose forces MuJoCo is asked for."""
    found = False
    for tree in range(plant.ntree):
        found = found or (turning[tree] == 1 and plant.trees.spatial[tree] == 0)
    return found


@entry_point(types.int64(WORLD.type, PROBLEM.type))
def follow_spins(world: Table, problem: Table) -> int:
    """Let forces of bodies that follow be those of the island's iterate; 1 if that changes much.

    Where they find no end, they are left to the passes.
    """
    iterate = problem.iterate
    plant = world.plant
    state = STATE.at(world.shared_source)
    work = state.work
    step = world.shared_step
    matters = 0
    negligible = problem.newton.wanted_residual**2
    problem.newton.followed += 1
    for index in range(problem.at_hand.first_tree, problem.at_hand.last_tree):
        tree = problem.graph.island_tree[index]
        if work.turning[tree] != _FOLLOWS:
            continue
        s = plant.trees.start[tree]
        spin = (
            0.5 * (state.velocity[s] + iterate.velocity[s]),
            0.5 * (state.velocity[s + 1] + iterate.velocity[s + 1]),
            0.5 * (state.velocity[s + 2] + iterate.velocity[s + 2]),
        )
        angle = step * np.sqrt(spin[0] * spin[0] + spin[1] * spin[1] + spin[2] * spin[2])
        if problem.newton.followed > _MOST_FOLLOWED or not angle <= _FOLLOWED_ANGLE:
            work.turning[tree] = 1
            continue
        force = gyroscopic_force(plant, state, tree, spin)
        change = 0.0
        size = 0.0
        for a in range(3):
            i = s + a
            difference = force[a] - work.spin_force[i]
            work.spin_force[i] = force[a]
            work.gyroscopic[i] += difference
            problem.smooth.rhs[i] += step * difference
            change += difference * difference * state.mass_inverse_diagonal[i]
            size += spin[a] * spin[a] * state.mass_diagonal[i]
        if step * step * change > max((_MATTERS * angle) ** 2 * size, negligible):
            matters = 1
    return matters


@compiled
def _spin(state: Table, start: int, qvel: np.ndarray) -> Vector:
    """Angular velocity of a free body with these generalized velocities [rad/s]."""
    x = 0.0
    y = 0.0
    z = 0.0
    for dof in range(start + 3, start + 6):
        x += state.cdof[dof, 0] * qvel[dof]
        y += state.cdof[dof, 1] * qvel[dof]
        z += state.cdof[dof, 2] * qvel[dof]
    return x, y, z


@compiled
def _begin_following(world: Table, state: Table, step: float) -> None:
    """Mark the bodies whose forces follow the iterates."""
    plant = world.plant
    work = state.work
    centered_forces(plant, state, state.qvel, work.turning, work.gyroscopic)
    for tree in range(plant.ntree):
        work.gyroscopic_share[tree] = 0.0
        if work.turning[tree] == 0 or plant.trees.spatial[tree] == 0:
            continue
        s = plant.trees.start[tree]
        spin = vector_at(state.velocity, s)
        if step * np.sqrt(dot(spin, spin)) > _FOLLOWED_ANGLE:
            continue
        work.turning[tree] = _FOLLOWS
        force = gyroscopic_force(plant, state, tree, spin)
        for a in range(3):
            work.spin_force[s + a] = force[a]
    world.shared_source = state.address
    world.shared_step = step
    world.problem.entries.follower = world.address
    world.problem.entries.follow_forces = world.follow_spins


@compiled
def _add_forces(
    plant: Table, smooth: Table, state: Table, tree: int, share: float, step: float
) -> None:
    """Add a share of what a tree's forces have left undone to them."""
    trees = plant.trees
    work = state.work
    for i in range(trees.start[tree], trees.start[tree] + trees.size[tree]):
        difference = share * work.gyroscopic_undone[i]
        smooth.rhs[i] += step * difference
        work.gyroscopic[i] += difference


@compiled
def _relax(plant: Table, smooth: Table, state: Table, tree: int, step: float) -> None:
    """Let a tree's forces go towards those at the last solution, as far as that leads closer."""
    trees = plant.trees
    work = state.work
    now = 0.0
    before = 0.0
    product = 0.0
    for i in range(trees.start[tree], trees.start[tree] + trees.size[tree]):
        undone = work.gyroscopic_following[i] - work.gyroscopic[i]
        weight = state.mass_inverse_diagonal[i]
        now += weight * undone * undone
        before += weight * work.gyroscopic_undone[i] * work.gyroscopic_undone[i]
        product += weight * undone * work.gyroscopic_undone[i]
    share = work.gyroscopic_share[tree]
    first = share == 0.0
    if not first and not now < before:
        # Back, and not as far: to where what is left changes its sign, if that is on the way.
        to = share * before / (before - product) if product < before else 0.0
        shorter = min(max(to, 0.1 * share), 0.5 * share)
        _add_forces(plant, smooth, state, tree, shorter - share, step)
        work.gyroscopic_share[tree] = shorter
        return
    if first or now <= _CONTRACTS * before:
        share = 1.0
    else:
        # Aitken's rule, for vectors.
        share *= (before - product) / (now - 2.0 * product + before)
        share = min(max(share, _LEAST_SHARE), 1.0)
    for i in range(trees.start[tree], trees.start[tree] + trees.size[tree]):
        work.gyroscopic_undone[i] = work.gyroscopic_following[i] - work.gyroscopic[i]
    work.gyroscopic_share[tree] = share
    _add_forces(plant, smooth, state, tree, share, step)


@compiled
def _undone(
    plant: Table, iterate: Table, state: Table, tree: int, step: float
) -> tuple[float, float]:
    """Change of velocity that a tree's forces have left undone, and velocity, in diag(M)'s metric.

    How fast what floats moves as a whole is not looked at.
    """
    trees = plant.trees
    work = state.work
    start = trees.start[tree]
    first = start + 3 if trees.floats[tree] else start
    last = start + (3 if trees.spatial[tree] else trees.size[tree])
    change = 0.0
    size = 0.0
    for i in range(start, start + trees.size[tree]):
        undone = step * (work.gyroscopic_following[i] - work.gyroscopic[i])
        change += undone * undone * state.mass_inverse_diagonal[i]
        if first <= i < last:
            size += iterate.velocity[i] * iterate.velocity[i] * state.mass_diagonal[i]
    return np.sqrt(change), np.sqrt(size)


@compiled
def _follow(plant: Table, smooth: Table, iterate: Table, state: Table, step: float) -> bool:
    """Let the forces of trees that turn follow the last solution; True if none changes much.

    Trees whose forces do not are done with, but free bodies alone are so together.
    """
    turning = state.work.turning
    settled = True
    for tree in range(plant.ntree):
        if turning[tree] != 1:
            continue
        change, size = _undone(plant, iterate, state, tree, step)
        _relax(plant, smooth, state, tree, step)
        if change <= _SETTLED * size:
            if plant.only_free_bodies == 0:
                turning[tree] = 0
        else:
            settled = False
    return settled


@compiled
def _set_velocity(plant: Table, state: Table, qvel: np.ndarray) -> None:
    """Give the state's MjData other velocities, and its bodies theirs."""
    copy_numbers(qvel, state.mj_qvel)
    call_pp(plant.mujoco.com_velocity, plant.model, state.data)


@compiled
def gyroscopic_forces(plant: Table, state: Table, qvel: np.ndarray, out: np.ndarray) -> None:
    """Gyroscopic and Coriolis forces (with gravity) at other velocities, in solver velocities.

    Leaves velocities in the state's MjData that are not the state's.
    """
    _set_velocity(plant, state, qvel)
    bias = state.work.dof_force
    call_ppip(plant.mujoco.newton_euler, plant.model, state.data, 0, bias.ctypes.data)
    for i in range(bias.size):
        bias[i] = -bias[i]
    force_to_centres(plant, state, qvel, bias, out)


@compiled
def centered_forces(
    plant: Table, state: Table, qvel: np.ndarray, turning: np.ndarray, out: np.ndarray
) -> None:
    """Torques of free bodies at other velocities, and `gyroscopic_forces` of robots if one turns.

    ``turning`` has the marks of `find_turning`.
    """
    if _robots_turn(plant, turning):
        gyroscopic_forces(plant, state, qvel, out)
    for tree in range(plant.ntree):
        if plant.trees.spatial[tree]:
            s = plant.trees.start[tree]
            force = gyroscopic_force(plant, state, tree, _spin(state, s, qvel))
            for a in range(3):
                out[s + a] = force[a]
                out[s + 3 + a] = 0.0


@compiled
def _solve_again(world: Table, state: Table) -> int:
    """Solve the islands of trees that turn with the forces that they have now."""
    problem = world.problem
    turning = state.work.turning
    problem.guess.only_marked = 1
    for tree in range(world.plant.ntree):
        problem.guess.tree_marked[tree] = 1 if turning[tree] == 1 else 0
    return minimise(world, state)


@compiled
def _find_forces(world: Table, state: Table, at_rest: bool) -> None:
    """Fill the forces that follow: those at the mean velocity, or at none."""
    mean = world.scratch
    for i in range(mean.size):
        mean[i] = 0.0 if at_rest else 0.5 * (state.qvel[i] + world.guess[i])
    work = state.work
    centered_forces(world.plant, state, mean, work.turning, work.gyroscopic_following)


@compiled
def _leave_out(world: Table, state: Table, step: float, all_of_them: bool) -> int:
    """Solve without velocity's forces of trees that have found no end, nor nearly one."""
    plant = world.plant
    trees = plant.trees
    problem = world.problem
    turning = state.work.turning
    work = state.work
    found = False
    if not all_of_them:
        velocity_from_solver(plant, state.cdof, problem.iterate.velocity, world.guess)
        _find_forces(world, state, False)
    for tree in range(plant.ntree):
        if turning[tree] != 1:
            continue
        change, size = _undone(plant, problem.iterate, state, tree, step)
        if all_of_them or not change <= _NEARLY_SETTLED * size:
            found = True
        else:
            turning[tree] = 0
    if not found:
        return OK
    _find_forces(world, state, True)
    for tree in range(plant.ntree):
        if turning[tree] != 1:
            continue
        for i in range(trees.start[tree], trees.start[tree] + trees.size[tree]):
            work.gyroscopic_undone[i] = work.gyroscopic_following[i] - work.gyroscopic[i]
        _add_forces(plant, problem.smooth, state, tree, 1.0, step)
    world.guess_kind = 0
    return _solve_again(world, state)


@compiled
def _any_is_left(plant: Table, state: Table) -> bool:
    """Whether there are trees that turn and whose forces do not follow the iterates."""
    found = False
    for tree in range(plant.ntree):
        found = found or state.work.turning[tree] == 1
    return found


@compiled
def solve_turning(world: Table, state: Table, step: float) -> int:
    """`solve_potentials` with gyroscopic forces at the mean velocity, if the method has them."""
    turns = find_turning(world, state, step)
    world.has_centered_forces = 1 if turns else 0
    if not turns:
        return solve_potentials(world, state, step)
    asks_mujoco = _robots_turn(world.plant, state.work.turning)
    _begin_following(world, state, step)
    code = solve_potentials(world, state, step)
    if code == OK and _any_is_left(world.plant, state):
        code = _find_middle(world, state, step)
        # The state's MjData has its own velocities again, as all that was computed of them.
        if asks_mujoco:
            _set_velocity(world.plant, state, state.qvel)
    world.problem.entries.follow_forces = 0
    return code


@compiled
def _find_middle(world: Table, state: Table, step: float) -> int:
    """Let the forces of trees that turn be those at the mean velocity, or none."""
    plant = world.plant
    problem = world.problem
    code = OK
    for _ in range(_MOST_PASSES):
        velocity_from_solver(plant, state.cdof, problem.iterate.velocity, world.guess)
        _find_forces(world, state, False)
        if _follow(plant, problem.smooth, problem.iterate, state, step):
            return OK
        world.guess_kind = END_VELOCITY
        code = _solve_again(world, state)
        if code not in (OK, NOT_CONVERGED, NON_FINITE):
            return code
        if code != OK:
            break
    # A body turns by so much in a step that there is no telling where its middle is.
    problem.counts.unsettled += 1
    return _leave_out(world, state, step, code != OK)
