"""Whether a step's solution is where pieces of contact laws or rows meet.

It is if another piece begins within round-off of the solution: curvatures are then other ones at
velocities that are a bit larger or smaller.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.convex.ellipsoids import slip_square
from asperity.convex.potentials.contact_driver import evaluate_contacts
from asperity.convex.potentials.rows import evaluate_rows
from asperity.derivatives.balance.row_changes import row_piece

__all__ = ["count_kinks"]

# How near a velocity [m/s, rad/s] or position [m, rad] is to where pieces meet: round-off of what
# was solved, more of what is fast, and less than matters beside it.
_NEAR = 1e-12
# Curvatures on both sides that differ by more have a kink between.
_KINK = 0.1


@compiled
def _contact_kinks(problem: Table, count: int) -> int:
    """How many contacts have other curvatures a bit faster or slower, along normal or slip."""
    iterate = problem.iterate
    curvature = np.zeros((2, count, 2))
    found = np.zeros(count, np.int64)
    velocity = np.zeros((count, 3))
    turn = iterate.turn[:count].copy()
    slips = np.empty(count)
    for i in range(count):
        slips[i] = np.sqrt(slip_square(problem.graph, iterate, i, 0.0))
        velocity[i, 0] = iterate.v1[i]
        velocity[i, 1] = iterate.v2[i]
        velocity[i, 2] = iterate.vn[i]
    for axis in range(2):
        for side in range(2):
            for i in range(count):
                x = velocity[i, 0]
                y = velocity[i, 1]
                slip = slips[i]
                size = _NEAR * max(1.0, slip, abs(velocity[i, 2]))
                if side == 1:
                    size = -size
                if axis == 0:
                    iterate.vn[i] = velocity[i, 2] + size
                elif slip > _NEAR:
                    iterate.v1[i] = x + size * x / slip
                    iterate.v2[i] = y + size * y / slip
                    for k in range(3):
                        iterate.turn[i, k] = turn[i, k] * (1.0 + size / slip)
            evaluate_contacts(problem, 0, count)
            for i in range(count):
                curvature[side, i, 0] = iterate.h11[i] + iterate.h22[i]
                curvature[side, i, 1] = iterate.hnn[i]
        for i in range(count):
            for k in range(2):
                one = curvature[0, i, k]
                other = curvature[1, i, k]
                if abs(one - other) > _KINK * max(abs(one), abs(other)):
                    found[i] = 1
        for i in range(count):
            iterate.v1[i] = velocity[i, 0]
            iterate.v2[i] = velocity[i, 1]
            iterate.vn[i] = velocity[i, 2]
            for k in range(3):
                iterate.turn[i, k] = turn[i, k]
    evaluate_contacts(problem, 0, count)
    return int(found.sum())


@compiled
def _row_kinks(world: Table, rows: Table, step: float) -> int:
    """How many rows are on another piece a bit faster or slower, nearer or farther."""
    problem = world.problem
    iterate = problem.iterate
    count = rows.count
    found = np.zeros(count, np.int64)
    pieces = np.zeros(count, np.int64)
    velocity = iterate.row_u[:count].copy()
    for what in range(2):
        for side in range(2):
            size = _NEAR if side == 0 else -_NEAR
            if what == 0:
                for i in range(count):
                    iterate.row_u[i] = velocity[i] + size
                evaluate_rows(problem.law, iterate, 0, count)
            for i in range(count):
                shift = 0.0 if what == 0 else size
                impulse = iterate.row_impulse[i]
                curvature = iterate.row_curvature[i]
                piece = row_piece(world, rows, i, impulse, curvature, step, shift)
                if side == 1 and piece != pieces[i]:
                    found[i] = 1
                pieces[i] = piece
        for i in range(count):
            iterate.row_u[i] = velocity[i]
        evaluate_rows(problem.law, iterate, 0, count)
    return int(found.sum())


@compiled
def count_kinks(world: Table, state: Table, step: float) -> int:
    """How many contacts and rows are where pieces of their laws meet, at a solution.

    The problem has been evaluated there, and is again.
    """
    kinks = 0
    if state.contacts.count > 0:
        kinks += _contact_kinks(world.problem, state.contacts.count)
    if state.rows.count > 0:
        kinks += _row_kinks(world, state.rows, step)
    return kinks
