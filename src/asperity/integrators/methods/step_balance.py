"""The balance of energy and momentum of fixed steps and of extrapolated ones.

Of a fixed step the forces are those of its middle where there are such (`.gyroscopic`). Of two half
steps and a whole one, of which velocities are extrapolated, what trees should have is extrapolated
in the same way, to the second order. The second half begins with a velocity that constraints of its
first have left, not those of its own, whose forces would seem to do work: its mean is that of its
end and of v_2 − v_1 + v_0.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.integrators.methods.tree_balance import add_gains, balance_trees, begin_gains
from asperity.integrators.methods.turning_trees import choose_marked, mark_touched, mark_trees
from asperity.integrators.world_layout import ALL_TREES

__all__ = ["balance_doubled_step", "balance_marked", "balance_step", "choose_balanced"]


@compiled
def choose_balanced(world: Table, source: Table, step: float) -> bool:
    """Mark the robots that are balanced after a fixed step, in ``source.work.turning``.

    Needs the step's impulses in the contact set. False if there are none.
    """
    plant = world.plant
    if world.balances_steps == 0 or not mark_trees(plant, source, step):
        return False
    mark_touched(source, source.work.turning)
    return choose_marked(plant, source, False)


@compiled
def balance_marked(
    world: Table, source: Table, target: Table, force: np.ndarray, step: float
) -> None:
    """Balance the velocities at a step's end of the trees that are marked.

    Parameters
    ----------
    world, source, target : Table
        The source has the marks, and the mass matrix.
    force : array, shape (nv,)
        Gravity, gyroscopic and Coriolis forces of the step.
    step : float
        Its size [s].
    """
    plant = world.plant
    work = source.work
    twice_mean = world.scratch
    change = work.velocity_change
    for i in range(plant.nv):
        twice_mean[i] = target.qvel[i] + source.qvel[i]
        change[i] = target.qvel[i] - source.qvel[i]
    begin_gains(plant, source, work.turning, work.gains)
    add_gains(plant, source, work.turning, (twice_mean, change), force, step, work.gains)
    balance_trees(plant, source, target, work.turning, step)


@compiled
def balance_step(world: Table, source: Table, target: Table, step: float) -> None:
    """Balance the velocities after a step of robots that turn far, unless others do it."""
    plant = world.plant
    if not choose_balanced(world, source, step):
        return
    work = source.work
    force = work.gyroscopic
    centered = world.center_gyroscopic == ALL_TREES and world.has_centered_forces == 1
    for i in range(plant.nv):
        if not centered or work.gyroscopic_share[plant.dofs.tree[i]] == 0.0:
            force[i] = -source.mj_qfrc_bias[i]
    balance_marked(world, source, target, force, step)


@compiled
def _add_part(
    world: Table, state: Table, marked: np.ndarray, end: np.ndarray, step: float, gains: np.ndarray
) -> None:
    """`add_gains` of a step with the forces at its beginning."""
    twice_mean = world.scratch
    change = state.work.velocity_change
    force = state.work.gyroscopic
    for i in range(world.plant.nv):
        twice_mean[i] = end[i] + state.qvel[i]
        change[i] = end[i] - state.qvel[i]
        force[i] = -state.mj_qfrc_bias[i]
    add_gains(world.plant, state, marked, (twice_mean, change), force, step, gains)


@compiled
def _add_second_half(
    world: Table,
    source: Table,
    half: Table,
    marked: np.ndarray,
    end: np.ndarray,
    smooth: np.ndarray,
    corrected: np.ndarray,
    step: float,
    gains: np.ndarray,
) -> None:
    plant = world.plant
    dofs = plant.dofs
    twice_mean = world.scratch
    change = half.work.velocity_change
    force = half.work.gyroscopic
    for i in range(plant.nv):
        change[i] = end[i] - half.qvel[i]
        if smooth[dofs.tree[i]]:
            twice_mean[i] = 2.0 * end[i] - half.qvel[i] + source.qvel[i]
        else:
            twice_mean[i] = end[i] + half.qvel[i]
        if corrected[dofs.tree[i]] > 0.0 and smooth[dofs.tree[i]]:
            force[i] = half.work.gyroscopic_following[i]
        else:
            force[i] = -half.mj_qfrc_bias[i]
    add_gains(plant, half, marked, (twice_mean, change), force, step, gains)


@compiled
def balance_doubled_step(
    world: Table,
    states: tuple[Table, Table, Table, Table],
    end: np.ndarray,
    smooth: np.ndarray,
    corrected: np.ndarray,
    balanced: np.ndarray,
    step: float,
) -> None:
    """Balance the velocities after a doubled step of robots that turn far.

    Parameters
    ----------
    world : Table
        Its scratch is written to.
    states : tuple of Table
        The beginning, the half way, the end of the whole step, and the extrapolated end, which is
        balanced.
    end : array, shape (nv,)
        Generalized velocities after the second half step.
    smooth : array of int64, shape (ntree,)
        1 for the trees that are extrapolated.
    corrected : array, shape (ntree,)
        Above 0 for those whose forces of the second half are others than those of its beginning.
    balanced : array of int64, shape (ntree,)
        1 for those that have their energy already.
    step : float
        Size of the whole step [s].
    """
    source, half, full, target = states
    plant = world.plant
    if not mark_trees(plant, half, step):
        return
    marked = half.work.turning
    for tree in range(plant.ntree):
        if balanced[tree] == 1:
            marked[tree] = 0
    mark_touched(source, marked)
    mark_touched(half, marked)
    if not choose_marked(plant, half, True):
        return
    gains = source.work.gains
    halves = half.work.gains
    for tree in range(plant.ntree):
        halves[tree] = 0.0
        gains[tree] = 0.0
    _add_part(world, source, marked, full.qvel, step, gains)
    _add_part(world, source, marked, half.qvel, 0.5 * step, halves)
    _add_second_half(world, source, half, marked, end, smooth, corrected, 0.5 * step, halves)
    for tree in range(plant.ntree):
        for k in range(gains.shape[1]):
            both = halves[tree, k]
            halves[tree, k] = 2.0 * both - gains[tree, k] if smooth[tree] else both
    begin_gains(plant, source, marked, gains)
    for tree in range(plant.ntree):
        for k in range(gains.shape[1]):
            gains[tree, k] += halves[tree, k]
    balance_trees(plant, source, target, marked, step)
