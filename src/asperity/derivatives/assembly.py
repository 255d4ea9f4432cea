"""The step's derivatives, of those of its momentum balance.

    dv = −H⁻¹ dg,        q⁺ = q ⊕ δq,   δq = δt (θ_vq v + (1 − θ_vq) v_0)

The angles of a rod's edges change by what they turn without a velocity besides
(`asperity.soft.twists`), and what stays of deformations by the end's positions
(`asperity.derivatives.balance.flow`).

Velocities of robots that turn far change by what balances them, too
(`asperity.derivatives.balance.balanced_ends`), and origins of joints beside a centre of mass by how
they turn about it (`asperity.derivatives.origins`).

In tangent spaces the end's position changes by J_r(δq) d(δq) + exp(−δq) dq, where a quaternion
describes it; everything else adds up.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.derivatives.balance.dense_solve import (
    factorize_system,
    solve_system,
    solve_transposed,
)
from asperity.derivatives.balance.flow import add_flow, pull_back_flow
from asperity.derivatives.origins import add_origins, pull_back_origins
from asperity.derivatives.stages import stage
from asperity.integrators.world_layout import OK
from asperity.soft.twists import turning_slopes

__all__ = ["assemble_step", "fill_turns", "pull_back_step"]

_SMALL = 1e-4


@compiled
def _fill_turn(u: np.ndarray, out: np.ndarray) -> None:
    """J_r(u), and exp(−u) − 1, of a rotation vector, row by row."""
    square = u[0] * u[0] + u[1] * u[1] + u[2] * u[2]
    angle = np.sqrt(square)
    if angle < _SMALL:
        # Series, whose next terms are below round-off.
        first = 0.5 - square / 24.0
        second = 1.0 / 6.0 - square / 120.0
        sine = 1.0 - square / 6.0
    else:
        first = (1.0 - np.cos(angle)) / square
        second = (angle - np.sin(angle)) / (square * angle)
        sine = np.sin(angle) / angle
    for i in range(3):
        for j in range(3):
            # [u]× and [u]×²
            cross = 0.0
            if i != j:
                k = 3 - i - j
                cross = u[k] if (i - j) % 3 == 1 else -u[k]
            twice = u[i] * u[j] - (square if i == j else 0.0)
            unit = 1.0 if i == j else 0.0
            out[3 * i + j] = unit - first * cross + second * twice
            out[9 + 3 * i + j] = -sine * cross + first * twice


@compiled
def _change(work: Table, along: bool, k: int, i: int) -> float:
    """What coordinate i of the state changes by with column k."""
    if along:
        return float(work.directions[k, i])
    return 1.0 if k == i else 0.0


@compiled
def fill_turns(work: Table, step: float) -> None:
    """Fill ``turns`` of all rotations."""
    for number in range(work.rotations.size):
        first = work.rotations[number]
        for a in range(3):
            work.mean[a] = step * (
                work.share * work.velocity[first + a]
                + (1.0 - work.share) * work.start.qvel[first + a]
            )
        _fill_turn(work.mean, work.turns[number])


@compiled
def _balance(plant: Table, work: Table, along: bool, count: int) -> None:
    """Let velocities of ``result`` be those after the balance."""
    ends = work.ends
    result = work.result
    nv = work.start.qvel.size
    numbers = np.empty((ends.changes.shape[2], count))
    for tree in range(plant.ntree):
        if ends.marked[tree] == 0:
            continue
        first = plant.trees.start[tree]
        last = first + plant.trees.size[tree]
        numbers[:] = 0.0
        for j in range(first, last):
            for a in range(numbers.shape[0]):
                slope = ends.changes[2, j, a]
                for k in range(count):
                    numbers[a, k] += slope * result[nv + j, k]
                if not along:
                    numbers[a, j] += ends.changes[0, j, a]
                    numbers[a, nv + j] += ends.changes[1, j, a]
                    continue
                for k in range(count):
                    numbers[a, k] += ends.changes[0, j, a] * work.directions[k, j]
                    numbers[a, k] += ends.changes[1, j, a] * work.directions[k, nv + j]
        for i in range(first, last):
            for k in range(count):
                change = ends.share[tree] * result[nv + i, k] + ends.scaled[i] * numbers[0, k]
                if i < first + 6:
                    change += numbers[1 + i - first, k]
                if k >= ends.parameters:
                    change += work.parameters.displaced_ends[k - ends.parameters, i]
                result[nv + i, k] = change


@compiled
def _pull_back_balance(plant: Table, work: Table, count: int) -> None:
    """Transpose of `_balance`, of the adjoint."""
    ends = work.ends
    adjoint = work.adjoint
    nv = work.start.qvel.size
    numbers = np.empty(ends.changes.shape[2])
    for tree in range(plant.ntree):
        if ends.marked[tree] == 0:
            continue
        first = plant.trees.start[tree]
        last = first + plant.trees.size[tree]
        numbers[:] = 0.0
        for i in range(first, last):
            own = adjoint[nv + i]
            numbers[0] += ends.scaled[i] * own
            if i < first + 6:
                numbers[1 + i - first] = own
            for k in range(ends.parameters, count):
                change = work.parameters.displaced_ends[k - ends.parameters]
                work.pulled[k] += change[i] * own
        for j in range(first, last):
            adjoint[nv + j] *= ends.share[tree]
            for a in range(numbers.size):
                work.pulled[j] += ends.changes[0, j, a] * numbers[a]
                work.pulled[nv + j] += ends.changes[1, j, a] * numbers[a]
                adjoint[nv + j] += ends.changes[2, j, a] * numbers[a]


@stage
def assemble_step(world: Table, work: Table, step: float, number: int) -> int:
    """Fill so many columns of ``result`` from H and ``columns``; all NaN if H is singular.

    With −count the columns belong to ``directions``, and else to coordinates of the state, inputs
    and parameters in this order.
    """
    start = work.start
    root = work.root
    along = number < 0
    count = -number if along else number
    nv = start.qvel.size
    others = start.act.size + start.plastic.size
    result = work.result
    right = work.right
    if not factorize_system(root, work.system):
        for i in range(result.shape[0]):
            for k in range(count):
                result[i, k] = np.nan
        return OK
    for k in range(count):
        for i in range(nv):
            right[i, k] = -work.columns[k, i]
    solve_system(root, right, count)
    fill_turns(work, step)
    for i in range(nv):
        for k in range(count):
            result[nv + i, k] = right[i, k]
            travel = work.share * right[i, k]
            travel += (1.0 - work.share) * _change(work, along, k, nv + i)
            result[i, k] = step * travel + _change(work, along, k, i)
    for i in range(others):
        for k in range(count):
            result[2 * nv + i, k] = work.columns[k, nv + i]
    for number in range(work.rotations.size):
        first = work.rotations[number]
        turn = work.turns[number]
        for k in range(count):
            x = _change(work, along, k, first)
            y = _change(work, along, k, first + 1)
            z = _change(work, along, k, first + 2)
            u = result[first, k] - x
            v = result[first + 1, k] - y
            w = result[first + 2, k] - z
            for a in range(3):
                value = turn[3 * a] * u + turn[3 * a + 1] * v + turn[3 * a + 2] * w
                value += turn[9 + 3 * a] * x + turn[10 + 3 * a] * y + turn[11 + 3 * a] * z
                result[first + a, k] = value + _change(work, along, k, first + a)
    elastic = world.plant.elastic
    slopes = np.empty((2, 3))
    for edge in range(elastic.turning_dof.size):
        turning_slopes(elastic, world.current, work.end, edge, slopes)
        for k in range(count):
            value = 0.0
            for place in range(2):
                dof = elastic.particle_dof[elastic.turning_particle[edge, place]]
                sign = 1.0 if place == 1 else -1.0
                if dof >= 0:
                    for i in range(3):
                        value += sign * slopes[0, i] * result[dof + i, k]
                        value += sign * slopes[1, i] * _change(work, along, k, dof + i)
            result[elastic.turning_dof[edge], k] += value
    add_flow(elastic, work, count)
    if work.ends.acts == 1:
        _balance(world.plant, work, along, count)
    add_origins(world.plant, work, step, along, count)
    return OK


@stage
def pull_back_step(world: Table, work: Table, step: float, count: int) -> int:
    """Fill ``pulled``, a function's derivatives by what the ``columns`` are by, of its ``adjoint``.

    This is the transpose of `assemble_step`, for one solution with Hᵀ; overwrites the adjoint.
    """
    nv = work.start.qvel.size
    others = work.start.act.size + work.start.plastic.size
    adjoint = work.adjoint
    pulled = work.pulled
    if not factorize_system(work.root, work.system):
        pulled[:count] = np.nan
        return OK
    fill_turns(work, step)
    pulled[:count] = 0.0
    elastic = world.plant.elastic
    pull_back_origins(world.plant, work, step, count)
    if work.ends.acts == 1:
        _pull_back_balance(world.plant, work, count)
    pull_back_flow(elastic, work)
    slopes = np.empty((2, 3))
    for edge in range(elastic.turning_dof.size):
        turning_slopes(elastic, world.current, work.end, edge, slopes)
        for place in range(2):
            dof = elastic.particle_dof[elastic.turning_particle[edge, place]]
            if dof >= 0:
                for i in range(3):
                    share = adjoint[elastic.turning_dof[edge]]
                    share *= 1.0 if place == 1 else -1.0
                    pulled[dof + i] += share * slopes[1, i]
                    adjoint[dof + i] += share * slopes[0, i]
    for i in range(nv):
        pulled[i] += adjoint[i]
    for number in range(work.rotations.size):
        first = work.rotations[number]
        turn = work.turns[number]
        x, y, z = adjoint[first], adjoint[first + 1], adjoint[first + 2]
        for a in range(3):
            pulled[first + a] += turn[9 + a] * x + turn[12 + a] * y + turn[15 + a] * z
            adjoint[first + a] = turn[a] * x + turn[3 + a] * y + turn[6 + a] * z
    for i in range(nv):
        pulled[nv + i] += step * (1.0 - work.share) * adjoint[i]
        work.mean[i] = -adjoint[nv + i] - step * work.share * adjoint[i]
    solve_transposed(work.root, work.mean)
    for k in range(count):
        value = 0.0
        for i in range(nv):
            value += work.mean[i] * work.columns[k, i]
        for i in range(others):
            value += adjoint[2 * nv + i] * work.columns[k, nv + i]
        pulled[k] += value
    return OK
