"""Newton's direction in the island at hand, and steps along it.

``direction`` p is prepared when A p and the changes of the velocities of contacts and rows along it
are there; every step keeps A v and these velocities up to date.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled, inlined
from asperity.compiled.calls import call_pp_status, call_pppd_double
from asperity.convex.contact_velocities import row_velocities
from asperity.convex.divided_island import (
    PREPARE,
    STEP,
    block_sum,
    is_divided,
    share_phase,
    tree_blocks,
)
from asperity.convex.ellipsoids import move_turns
from asperity.convex.island import island_velocities
from asperity.convex.matrix import multiply
from asperity.convex.paths import spread_velocities
from asperity.convex.problem import OF_DIRECTION

__all__ = [
    "begin_direction",
    "direction_size",
    "follow_direction",
    "newton_direction",
    "prepare_direction",
    "take_step",
]


@compiled
def newton_direction(problem: Table) -> None:
    """Solve for the Newton direction."""
    if problem.newton.begun == 0:
        begin_direction(problem)
    problem.newton.begun = 0
    call_pp_status(problem.entries.solve_factors, problem, 0)


@inlined
def begin_direction(problem: Table) -> None:
    """Fill ``direction`` with −g."""
    graph = problem.graph
    listed = graph.island_tree
    for index in range(problem.at_hand.first_tree, problem.at_hand.last_tree):
        start = graph.tree_start[listed[index]]
        for i in range(start, start + graph.tree_size[listed[index]]):
            problem.iterate.direction[i] = -problem.iterate.gradient[i]


@inlined
def direction_size(problem: Table) -> tuple[float, float]:
    """g·p and ‖D⁻¹ p‖ of the direction p, which is prepared if the island is divided."""
    graph = problem.graph
    if is_divided(problem):
        return block_sum(problem, 0), np.sqrt(block_sum(problem, 1))
    first = problem.at_hand.first_tree
    last = problem.at_hand.last_tree
    listed = graph.island_tree
    direction = problem.iterate.direction
    slope = 0.0
    norm = 0.0
    for index in range(first, last):
        start = graph.tree_start[listed[index]]
        for i in range(start, start + graph.tree_size[listed[index]]):
            slope += problem.iterate.gradient[i] * direction[i]
            norm += problem.smooth.mass_diagonal[i] * direction[i] * direction[i]
    return slope, np.sqrt(norm)


@compiled
def prepare_direction(problem: Table, contacts: Table, rows: Table) -> None:
    """Fill A p and the changes of contact and row velocities along ``direction``."""
    graph = problem.graph
    if is_divided(problem):
        direction = problem.iterate.direction
        island = graph.component[graph.ntree + graph.island_tree[problem.at_hand.first_tree]]
        spread_velocities(problem, contacts, island, island + 1, direction)
        problem.division.phase_contacts = contacts.address
        share_phase(problem, PREPARE, _chunks_and_blocks(problem))
        first = problem.at_hand.first_row
        row_velocities(
            graph, rows, first, problem.at_hand.last_row, direction, problem.iterate.row_du
        )
        return
    island_velocities(
        problem,
        contacts,
        rows,
        problem.iterate.direction,
        (
            problem.iterate.dv1,
            problem.iterate.dv2,
            problem.iterate.dvn,
            problem.iterate.turn_change,
        ),
        problem.iterate.row_du,
    )
    multiply(
        problem,
        problem.at_hand.first_tree,
        problem.at_hand.last_tree,
        problem.iterate.direction,
        problem.iterate.direction_product,
    )
    if graph.bonds.count > 0:
        call_pp_status(problem.entries.multiply_bonds, problem, OF_DIRECTION)


@compiled
def _chunks_and_blocks(problem: Table) -> int:
    return problem.at_hand.last_chunk - problem.at_hand.first_chunk + tree_blocks(problem)


@inlined
def take_step(problem: Table, alpha: float) -> None:
    """Go a share α of the prepared direction."""
    graph = problem.graph
    if is_divided(problem):
        problem.division.phase_share = alpha
        share_phase(problem, STEP, _chunks_and_blocks(problem))
        _move_rows(problem, alpha)
        return
    for index in range(problem.at_hand.first_tree, problem.at_hand.last_tree):
        start = graph.tree_start[graph.island_tree[index]]
        for i in range(start, start + graph.tree_size[graph.island_tree[index]]):
            problem.iterate.velocity[i] += alpha * problem.iterate.direction[i]
            problem.iterate.product[i] += alpha * problem.iterate.direction_product[i]
    for i in range(problem.at_hand.first_contact, problem.at_hand.last_contact):
        problem.iterate.v1[i] += alpha * problem.iterate.dv1[i]
        problem.iterate.v2[i] += alpha * problem.iterate.dv2[i]
        problem.iterate.vn[i] += alpha * problem.iterate.dvn[i]
    if graph.ellipsoids != 0:
        move_turns(problem, problem.at_hand.first_contact, problem.at_hand.last_contact, alpha)
    _move_rows(problem, alpha)


@compiled
def _move_rows(problem: Table, alpha: float) -> None:
    for i in range(problem.at_hand.first_row, problem.at_hand.last_row):
        problem.iterate.row_u[i] += alpha * problem.iterate.row_du[i]


@compiled
def follow_direction(problem: Table, tolerance: float) -> float:
    """Go along the prepared direction to the least cost of the island; returns the step length.

    Needs the cost of its potentials in ``search_cost`` and the slope in ``search_slope``. An exact
    search ends where the slope is that part of the first one.
    """
    graph = problem.graph
    direction = problem.iterate.direction
    smooth_slope = 0.0
    smooth_curvature = 0.0
    if is_divided(problem):
        smooth_slope = block_sum(problem, 2)
        smooth_curvature = block_sum(problem, 3)
    else:
        for index in range(problem.at_hand.first_tree, problem.at_hand.last_tree):
            start = graph.tree_start[graph.island_tree[index]]
            for i in range(start, start + graph.tree_size[graph.island_tree[index]]):
                smooth_slope += direction[i] * (problem.iterate.product[i] - problem.smooth.rhs[i])
                smooth_curvature += direction[i] * problem.iterate.direction_product[i]
    problem.newton.smooth_slope = smooth_slope
    problem.newton.smooth_curvature = smooth_curvature
    first = problem.at_hand.first_row
    alpha = call_pppd_double(
        problem.entries.line_search, problem, first, problem.at_hand.last_row, tolerance
    )
    if alpha != 0.0:
        take_step(problem, alpha)
    return alpha
