"""Derivatives of the places and velocities of free bodies' joints, beside their centres of mass.

With u = δt w̄ the travel of a body's rotation, w the angular velocity at the end in its own axes, c
its centre of mass in them, and R and R′ the orientations before and after the step,

    x⁺ = … + R (c + u × c) − R′ c,        v⁺ = … + R (w × c) − R′ (w × c)

(`asperity.plant.trees`). In tangent spaces R changes by R [φ]× with the rotation φ of the state.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.integrators.world_layout import WORLD
from asperity.plant.rotations import (
    Quaternion,
    Vector,
    between,
    cross,
    dot,
    plus,
    turned,
    turned_back,
    unit_quaternion,
    unit_vector,
    vector_at,
)
from asperity.plant.trees import base_position, is_centred

__all__ = ["add_origins", "pull_back_origins"]


@compiled
def _stays(plant: Table, work: Table, tree: int) -> bool:
    """Whether an origin moves as the centre of mass does, for all values of the parameters."""
    if work.parameters.displaced.shape[0] > 0:
        return bool(plant.trees.spatial[tree] == 0)
    return is_centred(plant, tree)


@compiled
def _numbers(
    plant: Table, work: Table, tree: int, step: float
) -> tuple[Quaternion, Quaternion, Vector, Vector, Vector]:
    """R, R′, w̄, c + u × c and w × c."""
    at, dof = base_position(plant, tree) + 3, plant.trees.start[tree] + 3
    c = vector_at(plant.trees.centre[tree], 0)
    w = vector_at(work.velocity, dof)
    mean = plus((0.0, 0.0, 0.0), w, work.share)
    mean = plus(mean, vector_at(work.start.qvel, dof), 1.0 - work.share)
    return (
        unit_quaternion(work.start.qpos, at),
        unit_quaternion(work.end, at),
        mean,
        plus(c, cross(mean, c), step),
        cross(w, c),
    )


@compiled
def _centre_change(plant: Table, parameters: Table, tree: int, index: int) -> Vector:
    """What the centre of mass changes by with a parameter."""
    other = plant
    share = 1.0 / parameters.displaced_sizes[index]
    if parameters.displaced[index, 2] != 0:
        other = WORLD.at(parameters.displaced[index, 2]).plant
        share *= 0.5
    larger = WORLD.at(parameters.displaced[index, 0]).plant
    change = between(larger.trees.centre, tree, other.trees.centre, tree)
    return share * change[0], share * change[1], share * change[2]


@compiled
def _change(work: Table, along: bool, k: int, first: int) -> Vector:
    """What three coordinates of the state change by with column k."""
    if along:
        return vector_at(work.directions[k], first)
    return unit_vector(k - first)


@compiled
def add_origins(plant: Table, work: Table, step: float, along: bool, count: int) -> None:
    """Add to so many columns of ``result`` what the turning of centres of mass contributes."""
    result = work.result
    nv = work.start.qvel.size
    nothing = (0.0, 0.0, 0.0)
    for tree in range(plant.ntree):
        if _stays(plant, work, tree):
            continue
        s = plant.trees.start[tree]
        quat, last, mean, swept, speed = _numbers(plant, work, tree, step)
        c = vector_at(plant.trees.centre[tree], 0)
        w = vector_at(work.velocity, s + 3)
        for k in range(count):
            before = _change(work, along, k, s + 3)
            faster = _change(work, along, k, nv + s + 3)
            after = result[s + 3, k], result[s + 4, k], result[s + 5, k]
            end = result[nv + s + 3, k], result[nv + s + 4, k], result[nv + s + 5, k]
            moved = nothing
            if k >= work.ends.parameters:
                moved = _centre_change(plant, work.parameters, tree, k - work.ends.parameters)
            travel = plus(plus(nothing, end, work.share), faster, 1.0 - work.share)
            travel = plus(cross(travel, c), cross(mean, moved), 1.0)
            begin = turned(quat, plus(plus(moved, travel, step), cross(before, swept), 1.0))
            place = plus(begin, turned(last, plus(moved, cross(after, c), 1.0)), -1.0)
            own = plus(cross(end, c), cross(w, moved), 1.0)
            begin = turned(quat, plus(own, cross(before, speed), 1.0))
            gain = plus(begin, turned(last, plus(own, cross(after, speed), 1.0)), -1.0)
            for a in range(3):
                result[s + a, k] += place[a]
                result[nv + s + a, k] += gain[a]


@compiled
def _add(values: np.ndarray, first: int, vector: Vector, scale: float) -> None:
    for a in range(3):
        values[first + a] += scale * vector[a]


@compiled
def pull_back_origins(plant: Table, work: Table, step: float, count: int) -> None:
    """Transpose of `add_origins`, of the adjoint, to be pulled back further."""
    adjoint, pulled = work.adjoint, work.pulled
    nv = work.start.qvel.size
    for tree in range(plant.ntree):
        if _stays(plant, work, tree):
            continue
        s = plant.trees.start[tree]
        quat, last, mean, swept, speed = _numbers(plant, work, tree, step)
        c = vector_at(plant.trees.centre[tree], 0)
        w = vector_at(work.velocity, s + 3)
        place, gain = vector_at(adjoint, s), vector_at(adjoint, nv + s)
        place_before, place_after = turned_back(quat, place), turned_back(last, place)
        gain_before, gain_after = turned_back(quat, gain), turned_back(last, gain)
        gained = plus(gain_before, gain_after, -1.0)
        travel = cross(c, place_before)
        _add(pulled, s + 3, cross(swept, place_before), 1.0)
        _add(pulled, s + 3, cross(speed, gain_before), 1.0)
        _add(pulled, nv + s + 3, travel, step * (1.0 - work.share))
        _add(adjoint, s + 3, cross(c, place_after), -1.0)
        _add(adjoint, s + 3, cross(speed, gain_after), -1.0)
        _add(adjoint, nv + s + 3, travel, step * work.share)
        _add(adjoint, nv + s + 3, cross(c, gained), 1.0)
        # c changes by parameters alone.
        by_centre = plus(plus(place_before, cross(place_before, mean), step), place_after, -1.0)
        by_centre = plus(by_centre, cross(gained, w), 1.0)
        for k in range(work.ends.parameters, count):
            moved = _centre_change(plant, work.parameters, tree, k - work.ends.parameters)
            pulled[k] += dot(by_centre, moved)
