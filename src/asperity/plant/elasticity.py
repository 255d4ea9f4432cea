"""Elastic forces and stiffnesses of flexes at a state, by degrees of freedom."""

from __future__ import annotations

from numba import types

from asperity.compiled import Table, compiled, entry_point
from asperity.plant.plant_layouts import EVALUATED, PLANT, STATE
from asperity.soft.corotation import add_elasticity
from asperity.soft.folds import add_folds
from asperity.soft.plasticity import add_plasticity
from asperity.soft.strands import add_strands
from asperity.soft.twists import add_twists

__all__ = ["find_elasticity", "find_positions"]


@compiled
def find_positions(elastic: Table, state: Table) -> None:
    """Fill the positions of particles in the frames of the flexes."""
    position = state.soft.position
    for p in range(elastic.particles):
        first = elastic.particle_qpos[p]
        for a in range(3):
            position[p, a] = elastic.particle_base[p, a]
            if first >= 0:
                position[p, a] += state.qpos[first + a]


@entry_point(types.int64(PLANT.type, STATE.type))
def find_elasticity(plant: Table, state: Table) -> int:
    """Fill the forces of elements, strands and twists, and stiffnesses that elements give bonds."""
    elastic = plant.elastic
    soft = state.soft
    find_positions(elastic, state)
    for p in range(elastic.particles):
        for a in range(3):
            soft.force[p, a] = 0.0
        for k in range(9):
            soft.own[p, k] = 0.0
    for bond in range(elastic.bonds):
        for k in range(9):
            soft.bond[bond, k] = 0.0
    soft.energy = add_elasticity(elastic, soft.position, soft.work, soft.force, soft.own, soft.bond)
    if elastic.yielding > 0:
        soft.energy += add_plasticity(
            elastic,
            soft.position,
            state.plastic,
            soft.work,
            soft.force,
            soft.own,
            soft.bond,
        )
    if elastic.folds > 0:
        soft.energy += add_folds(
            elastic,
            soft.position,
            state.plastic,
            soft.work,
            soft.force,
            soft.own,
            soft.bond,
            soft.work_points,
        )
    soft.energy += add_strands(elastic, soft.position, soft.work, soft.force)
    soft.energy += add_twists(elastic, state)
    return EVALUATED
