"""Newton's direction in the island at hand, and steps along it.

Before a step, A p and the changes of contact and row velocities along the direction p are computed.
A step then updates A v and these velocities.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled, inlined
from asperity.compiled.calls import call_pp_status, call_pppd_double
from asperity.convex.contact_velocities import contact_changes, row_velocities
from asperity.convex.divided_island import (
    PREPARE,
    STEP,
    block_sum,
    is_divided,
    share_phase,
    tree_blocks,
)
from asperity.convex.ellipsoids import move_contacts
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
        begin_direction(problem.graph, problem.iterate, problem.at_hand)
    problem.newton.begun = 0
    call_pp_status(problem.entries.solve_factors, problem, 0)


@inlined
def begin_direction(graph: Table, iterate: Table, at_hand: Table) -> None:
    """Fill ``direction`` with −g."""
    listed = graph.island_tree
    for index in range(at_hand.first_tree, at_hand.last_tree):
        start = graph.tree_start[listed[index]]
        for i in range(start, start + graph.tree_size[listed[index]]):
            iterate.direction[i] = -iterate.gradient[i]


@inlined
def direction_size(problem: Table) -> tuple[float, float]:
    """g·p and ‖D⁻¹ p‖ of the direction p, which is prepared if the island is divided."""
    at_hand, graph = problem.at_hand, problem.graph
    if is_divided(at_hand):
        return block_sum(problem.division, at_hand, 0), np.sqrt(
            block_sum(problem.division, at_hand, 1)
        )
    first = at_hand.first_tree
    last = at_hand.last_tree
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
    iterate, at_hand, graph = problem.iterate, problem.at_hand, problem.graph
    direction = iterate.direction
    first = at_hand.first_contact
    last = at_hand.last_contact
    if last > first:
        island = graph.component[graph.ntree + graph.island_tree[at_hand.first_tree]]
        spread_velocities(graph, iterate, contacts, island, island + 1, direction)
    row_velocities(graph, rows, at_hand.first_row, at_hand.last_row, direction, iterate.row_du)
    if is_divided(at_hand):
        problem.division.phase_contacts = contacts.address
        share_phase(problem, PREPARE, _chunks_and_blocks(at_hand))
        return
    contact_changes(graph, iterate, contacts, first, last, direction)
    multiply(
        graph,
        problem.smooth,
        at_hand.first_tree,
        at_hand.last_tree,
        direction,
        iterate.direction_product,
    )
    if graph.bonds.count > 0:
        call_pp_status(problem.entries.multiply_bonds, problem, OF_DIRECTION)


@compiled
def _chunks_and_blocks(at_hand: Table) -> int:
    return at_hand.last_chunk - at_hand.first_chunk + tree_blocks(at_hand)


@inlined
def take_step(problem: Table, alpha: float) -> None:
    """Go a share α of the prepared direction."""
    iterate, at_hand, graph = problem.iterate, problem.at_hand, problem.graph
    if is_divided(at_hand):
        problem.division.phase_share = alpha
        share_phase(problem, STEP, _chunks_and_blocks(at_hand))
        _move_rows(iterate, at_hand, alpha)
        return
    for index in range(at_hand.first_tree, at_hand.last_tree):
        start = graph.tree_start[graph.island_tree[index]]
        for i in range(start, start + graph.tree_size[graph.island_tree[index]]):
            iterate.velocity[i] += alpha * iterate.direction[i]
            iterate.product[i] += alpha * iterate.direction_product[i]
    move_contacts(graph, iterate, at_hand.first_contact, at_hand.last_contact, alpha)
    _move_rows(iterate, at_hand, alpha)


@compiled
def _move_rows(iterate: Table, at_hand: Table, alpha: float) -> None:
    for i in range(at_hand.first_row, at_hand.last_row):
        iterate.row_u[i] += alpha * iterate.row_du[i]


@compiled
def follow_direction(problem: Table, tolerance: float) -> float:
    """Go along the prepared direction to the least cost of the island; returns the step length.

    Needs the cost of its potentials in ``search_cost`` and the slope in ``search_slope``. An exact
    search ends where the slope is that part of the first one.
    """
    iterate, at_hand, graph = problem.iterate, problem.at_hand, problem.graph
    direction = iterate.direction
    smooth_slope = 0.0
    smooth_curvature = 0.0
    if is_divided(at_hand):
        smooth_slope = block_sum(problem.division, at_hand, 2)
        smooth_curvature = block_sum(problem.division, at_hand, 3)
    else:
        for index in range(at_hand.first_tree, at_hand.last_tree):
            start = graph.tree_start[graph.island_tree[index]]
            for i in range(start, start + graph.tree_size[graph.island_tree[index]]):
                smooth_slope += direction[i] * (iterate.product[i] - problem.smooth.rhs[i])
                smooth_curvature += direction[i] * iterate.direction_product[i]
    problem.newton.smooth_slope = smooth_slope
    problem.newton.smooth_curvature = smooth_curvature
    first = at_hand.first_row
    alpha = call_pppd_double(
        problem.entries.line_search, problem, first, at_hand.last_row, tolerance
    )
    if alpha != 0.0:
        take_step(problem, alpha)
    return alpha
