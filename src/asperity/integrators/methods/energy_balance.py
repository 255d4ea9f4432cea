"""The balance of kinetic energy of robots that turn far in a step.

Velocities of a step are found with the mass matrix of its beginning; at its end a tree has another.
In continuous time gyroscopic and Coriolis forces x make up for that: their work is what the change
of mass takes. Over a step, with v̄ the mean velocity and x those forces without gravity,

    T(q, v) = ½ v · M(q_0) v − δt v̄ · x,

but for terms of higher order, which let light limbs that flail gain energy without bound: links of
2 g with 300 g at their end, at 40 rad/s in steps of 2 ms, three hundred times theirs in a second.
So velocities of trees that turn far are scaled to that energy. Single free bodies obey it as they
are.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.integrators.methods.gyroscopic import forces_at_rest
from asperity.plant.tree_energy import energy_of_trees

__all__ = ["balance_energy"]

# What impedes nothing: a solution that lacks more has lost it to something else.
_MOST_GAIN = 1.02


@compiled
def _energy(mass: np.ndarray, block: int, velocity: np.ndarray, start: int, size: int) -> float:
    """Twice the kinetic energy of a tree [J]."""
    total = 0.0
    for i in range(size):
        momentum = 0.0
        for j in range(size):
            momentum += mass[block + i * size + j] * velocity[start + j]
        total += momentum * velocity[start + i]
    return total


@compiled
def balance_energy(world: Table, source: Table, target: Table, step: float) -> None:
    """Scale the velocities after a step of trees that turn far to what their energy should be."""
    problem = world.problem
    # A step that has failed may have left its mark to a method that does not centre forces.
    if problem.turning == 0 or problem.center_gyroscopic == 0:
        return
    problem.turning = 0
    plant = world.plant
    work = source.work
    velocity = problem.velocity
    gained = work.energy
    forces_at_rest(plant, source, world.scratch, work.gyroscopic_following)
    for tree in range(plant.ntree):
        gained[tree] = 0.0
    energy_of_trees(plant, source, work.turning, target.qpos, target.qvel, 1.0, gained)
    energy_of_trees(plant, source, work.turning, source.qpos, target.qvel, -1.0, gained)
    for tree in range(plant.ntree):
        if work.turning[tree] == 0 or plant.tree_spatial[tree]:
            continue
        start = plant.tree_start[tree]
        size = plant.tree_size[tree]
        found = _energy(source.mass, plant.block_start[tree], velocity, start, size)
        given = found
        found += gained[tree]
        for i in range(start, start + size):
            force = work.gyroscopic[i] - work.gyroscopic_following[i]
            given -= step * force * (source.velocity[i] + velocity[i])
        if found > 0.0:
            share = min(np.sqrt(max(given, 0.0) / found), _MOST_GAIN)
            for i in range(start, start + size):
                target.qvel[i] *= share
