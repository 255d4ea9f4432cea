"""Gyroscopic and Coriolis forces in the middle of a fixed step, in its momentum balance.

Trees of which a body turns far have those of the mean velocity ½ (v_0 + v)
(`asperity.integrators.methods.gyroscopic`); ``turning`` marks them.
"""

from __future__ import annotations

from asperity.compiled import Table, compiled
from asperity.integrators.methods.gyroscopic import centered_forces, find_turning
from asperity.plant.trees import force_from_solver

__all__ = [
    "add_middle_columns",
    "add_middle_forces",
    "find_middle_trees",
    "start_share",
]

# Displacement of velocities for derivatives of these forces, which are quadratic: central
# differences are exact whatever its size.
_SPIN = 1.0


@compiled
def find_middle_trees(world: Table, work: Table, state: Table, step: float) -> None:
    """Mark the trees with such forces, if the method has them."""
    root = work.root
    any_turns = find_turning(world, state, step)
    for tree in range(world.plant.ntree):
        root.turning[tree] = state.work.turning[tree] if any_turns else 0


@compiled
def start_share(root: Table, tree: int) -> float:
    """The share of the velocity at the beginning in that of a tree's forces, ½ or 1."""
    return 0.5 if root.turning[tree] == 1 else 1.0


@compiled
def _any_turns(root: Table) -> bool:
    turning = 0
    for tree in range(root.turning.size):
        turning += root.turning[tree]
    return bool(turning > 0)


@compiled
def _fill_mean(work: Table, state: Table) -> None:
    for i in range(work.mean.size):
        work.mean[i] = 0.5 * (state.qvel[i] + work.velocity[i])


@compiled
def add_middle_forces(world: Table, work: Table, state: Table, step: float) -> None:
    """Let r have the forces of the middle of the step instead of those of its beginning."""
    root = work.root
    if not _any_turns(root):
        return
    plant = world.plant
    problem = world.problem
    _fill_mean(work, state)
    for side in range(2):
        # In the end the data keep the velocities of the step's beginning, and all of them.
        velocity = work.mean if side == 0 else state.qvel
        centered_forces(plant, state, velocity, root.turning, root.gyroscopic)
        share = step if side == 0 else -step
        for i in range(problem.graph.nv):
            if root.turning[plant.dofs.tree[i]] == 1:
                problem.smooth.rhs[i] += share * root.gyroscopic[i]


@compiled
def add_middle_columns(world: Table, work: Table, state: Table, step: float) -> None:
    """Subtract δt ∂f/∂v of the forces f((v_0 + v)/2) from the system."""
    root = work.root
    if not _any_turns(root):
        return
    plant = world.plant
    force = root.gyroscopic
    nv = world.problem.graph.nv
    for j in range(nv):
        if root.turning[plant.dofs.tree[j]] == 0:
            continue
        for side in range(2):
            sign = 1.0 if side == 0 else -1.0
            _fill_mean(work, state)
            work.mean[j] += sign * _SPIN
            centered_forces(plant, state, work.mean, root.turning, force)
            for i in range(nv):
                if root.turning[plant.dofs.tree[i]] == 0:
                    force[i] = 0.0
            force_from_solver(plant, state.cdof, force, work.generalized)
            for i in range(nv):
                work.system[i, j] -= sign * step * 0.25 / _SPIN * work.generalized[i]
    centered_forces(plant, state, state.qvel, root.turning, force)
