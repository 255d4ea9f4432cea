"""The loop over islands, and the gradient, norms and factors of one of them.

Kernels work on the *island at hand*, which `choose_island` has written into the problem. Newton's
directions and steps along them are in `asperity.convex.island_steps`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from asperity.compiled import Table, compiled, higher_order, inlined
from asperity.compiled.calls import call_pp_status, call_ppp_status
from asperity.convex.contact_velocities import (
    add_contact_impulses,
    add_impulses,
    add_row_impulses,
    clear_links,
    contact_velocities,
    row_velocities,
)
from asperity.convex.divided_island import (
    DISAGREEMENT,
    EVALUATE,
    GRADIENT,
    SETTLE,
    block_sum,
    chunk_sum,
    is_divided,
    only_pairs,
    share_phase,
    tree_blocks,
)
from asperity.convex.graph_layout import NOT_FREE
from asperity.convex.matrix import multiply
from asperity.convex.paths import gather_forces, spread_velocities
from asperity.convex.potentials.contact_driver import (
    change_numbers,
    evaluate_contacts,
    measure_disagreement,
    numbers_agree,
    update_estimates,
)
from asperity.convex.potentials.rows import evaluate_rows
from asperity.convex.problem import CONVERGED, NOT_CONVERGED, OF_VELOCITY

__all__ = [
    "IMPULSES",
    "begin_island",
    "choose_island",
    "factorize_island",
    "follow_forces",
    "give_up",
    "gradient_norm",
    "guess_velocities",
    "impulse_norm",
    "island_estimates",
    "island_gradient",
    "island_impulses",
    "largest_residual",
    "scaled_norm",
    "settle",
    "settle_island",
    "solve_islands",
]

IMPULSES = 100.0
"""Largest s of a solve's criterion, over the impulses of a step's forces and constraints.

These are then right within a tenth of the accuracy, however light a body or short a step is.
"""

_ROUND_OFF = 1e-14


@higher_order
def solve_islands(
    solve_island: Callable[[Table, Table, Table], int], problem: Table, contacts: Table, rows: Table
) -> int:
    """Solve every island, and count, or those of the part at hand; returns the worst code.

    ``solve_island`` replaces the guess in the island's part of ``velocity`` by the solution, and
    counts ``iterations``.
    """
    graph, at_hand, counts = problem.graph, problem.at_hand, problem.counts
    whole = at_hand.last_island == 0
    first = 0 if whole else at_hand.first_island
    last = graph.islands if whole else at_hand.last_island
    worst = CONVERGED
    longest = 0
    for k in range(first, last):
        choose_island(graph, at_hand, problem.newton, k)
        if problem.guess.is_known == 0:
            _guess_contact_velocities(graph, problem.iterate, contacts, k)
        before = counts.iterations
        worst = max(worst, solve_island(problem, contacts, rows))
        longest = max(longest, counts.iterations - before)
    if whole:
        counts.solves += 1
        counts.longest_iterations += longest
    else:
        at_hand.part_longest = max(at_hand.part_longest, longest)
    return worst


@compiled
def _guess_contact_velocities(graph: Table, iterate: Table, contacts: Table, k: int) -> None:
    """Fill the velocities of an island's contacts for the guess in ``velocity``."""
    first = graph.island_contact_start[k]
    last = graph.island_contact_start[k + 1]
    if first == last:
        return
    spread_velocities(graph, iterate, contacts, k, k + 1, iterate.velocity)
    contact_velocities(graph, iterate, contacts, first, last, iterate.velocity)


@compiled
def guess_velocities(graph: Table, iterate: Table, contacts: Table) -> None:
    """Fill the velocities of all contacts for the guess in ``velocity``."""
    for k in range(graph.islands):
        _guess_contact_velocities(graph, iterate, contacts, k)


@compiled
def begin_island(problem: Table, rows: Table) -> None:
    """Fill A v and the velocities of rows for the guess."""
    graph, iterate, at_hand = problem.graph, problem.iterate, problem.at_hand
    problem.newton.followed = 0
    multiply(
        graph,
        problem.smooth,
        at_hand.first_tree,
        at_hand.last_tree,
        iterate.velocity,
        iterate.product,
    )
    if graph.bonds.count > 0:
        call_pp_status(problem.entries.multiply_bonds, problem, OF_VELOCITY)
    if problem.guess.is_known == 0:
        row_velocities(
            graph,
            rows,
            at_hand.first_row,
            at_hand.last_row,
            iterate.velocity,
            iterate.row_u,
        )


@compiled
def follow_forces(problem: Table) -> bool:
    """Let forces in r that depend on the velocity be those of the iterate; True if that matters."""
    entries = problem.entries
    if entries.follow_forces == 0:
        return False
    return call_pp_status(entries.follow_forces, entries.follower, problem) != 0


@compiled
def give_up(counts: Table, residual: float) -> int:
    """Record the residual, in units of the norm's scale, at which an island's solve has ended."""
    counts.worst_residual = max(counts.worst_residual, residual)
    return NOT_CONVERGED


@compiled
def choose_island(graph: Table, at_hand: Table, newton: Table, k: int) -> None:
    """Make island ``k`` of the graph the one at hand."""
    divided = graph.divided
    at_hand.first_tree = graph.island_start[k]
    at_hand.last_tree = graph.island_start[k + 1]
    at_hand.first_contact = graph.island_contact_start[k]
    at_hand.last_contact = graph.island_contact_start[k + 1]
    at_hand.first_row = graph.island_row_start[k]
    at_hand.last_row = graph.island_row_start[k + 1]
    newton.begun = 0
    at_hand.first_part = divided.island_part_start[k]
    at_hand.last_part = divided.island_part_start[k + 1]
    at_hand.first_chunk = divided.island_chunk_start[k]
    at_hand.last_chunk = divided.island_chunk_start[k + 1]


@inlined
def scaled_norm(graph: Table, smooth: Table, first: int, last: int, vector: np.ndarray) -> float:
    """‖D vector‖ over an island."""
    total = 0.0
    for index in range(first, last):
        start = graph.tree_start[graph.island_tree[index]]
        for i in range(start, start + graph.tree_size[graph.island_tree[index]]):
            total += vector[i] * vector[i] * smooth.mass_inverse_diagonal[i]
    return np.sqrt(total)


@compiled
def impulse_norm(graph: Table, smooth: Table, iterate: Table, first: int, last: int) -> float:
    """‖D j‖ of the impulses j = p − r − ∇ℓ of contacts and constraints."""
    total = 0.0
    for index in range(first, last):
        start = graph.tree_start[graph.island_tree[index]]
        for i in range(start, start + graph.tree_size[graph.island_tree[index]]):
            j = iterate.product[i] - smooth.rhs[i] - iterate.gradient[i]
            total += j * j * smooth.mass_inverse_diagonal[i]
    return np.sqrt(total)


@compiled
def largest_residual(problem: Table, tolerance: float) -> float:
    """What ‖D ∇ℓ‖ must not exceed: ε s (`asperity.convex.convex_newton`), or else round-off."""
    graph, smooth = problem.graph, problem.smooth
    first, last = problem.at_hand.first_tree, problem.at_hand.last_tree
    impulse = impulse_norm(graph, smooth, problem.iterate, first, last)
    force = scaled_norm(graph, smooth, first, last, smooth.impulse)
    change = scaled_norm(graph, smooth, first, last, smooth.rhs)
    scale = min(max(1.0, min(impulse, change)), IMPULSES * max(impulse, force))
    return max(tolerance * scale, _ROUND_OFF * max(1.0, change))


@inlined
def gradient_norm(problem: Table) -> float:
    """‖D g‖ of the island's gradient."""
    at_hand = problem.at_hand
    if problem.newton.begun == 1:
        return np.sqrt(block_sum(problem.division, at_hand, 4))
    return scaled_norm(
        problem.graph,
        problem.smooth,
        at_hand.first_tree,
        at_hand.last_tree,
        problem.iterate.gradient,
    )


@compiled
def factorize_island(problem: Table, contacts: Table, rows: Table) -> bool:
    """Assemble and factorize the matrix of the present curvatures; False if that fails."""
    filled = call_ppp_status(problem.entries.assemble, problem, contacts, rows)
    if call_pp_status(problem.entries.factorize, problem, filled) == 0:
        return False
    problem.counts.factorizations += 1
    return True


@compiled
def settle(problem: Table, contacts: Table) -> bool:
    """Let the law's numbers follow the present velocities; True if they agree, or have to.

    A solve in which they have changed too often goes on with those that it has.
    """
    options = problem.options
    if problem.law.settle_contacts == 0 or problem.newton.changes > options.most_changes:
        return True
    if settle_island(problem, contacts, options.settle_tolerance, False):
        problem.newton.changes += 1
        return False
    return True


@compiled
def settle_island(problem: Table, contacts: Table, tolerance: float, ahead: bool) -> bool:
    """Let the law's numbers agree with velocities to a tolerance; True if that changes the problem.

    These are the present velocities, or those at the end of the prepared direction.
    """
    division, at_hand, newton = problem.division, problem.at_hand, problem.newton
    first = at_hand.first_contact
    last = at_hand.last_contact
    if not is_divided(at_hand):
        measure_disagreement(problem, contacts, first, last, ahead)
        if numbers_agree(newton, newton.bounds_square, newton.changes_square, tolerance):
            return False
        change_numbers(problem, contacts, first, last, ahead)
        return True
    chunks = at_hand.last_chunk - at_hand.first_chunk
    division.phase_contacts = contacts.address
    division.phase_share = 1.0 if ahead else 0.0
    share_phase(problem, DISAGREEMENT, chunks)
    if numbers_agree(
        newton, chunk_sum(division, at_hand, 4), chunk_sum(division, at_hand, 5), tolerance
    ):
        return False
    share_phase(problem, SETTLE, chunks)
    return True


@inlined
def island_impulses(problem: Table) -> float:
    """Fill the island's impulses and curvatures; return the cost of its potentials."""
    at_hand = problem.at_hand
    if is_divided(at_hand):
        share_phase(problem, EVALUATE, at_hand.last_chunk - at_hand.first_chunk)
        cost = chunk_sum(problem.division, at_hand, 0)
    else:
        cost = evaluate_contacts(problem, at_hand.first_contact, at_hand.last_contact)
    return cost + evaluate_rows(problem.law, problem.iterate, at_hand.first_row, at_hand.last_row)


@compiled
def island_estimates(problem: Table, alpha: float) -> None:
    """Let the law's estimates follow the prepared direction, of which α has been taken."""
    at_hand = problem.at_hand
    if is_divided(at_hand):
        # They have, with the step.
        return
    update_estimates(problem, at_hand.first_contact, at_hand.last_contact, alpha)


@compiled
def island_gradient(problem: Table, contacts: Table, rows: Table) -> float:
    """Fill the island's impulses, curvatures and gradient; return the cost of its potentials."""
    iterate, at_hand, graph = problem.iterate, problem.at_hand, problem.graph
    problem.newton.begun = 0
    problem.division.phase_contacts = contacts.address
    cost = island_impulses(problem)
    if is_divided(at_hand):
        _divided_gradient(problem, contacts, rows)
        return cost
    for index in range(at_hand.first_tree, at_hand.last_tree):
        start = graph.tree_start[graph.island_tree[index]]
        for i in range(start, start + graph.tree_size[graph.island_tree[index]]):
            iterate.gradient[i] = iterate.product[i] - problem.smooth.rhs[i]
    add_impulses(
        graph,
        iterate,
        contacts,
        rows,
        (at_hand.first_contact, at_hand.last_contact),
        (at_hand.first_row, at_hand.last_row),
        iterate.gradient,
        -1.0,
    )
    return cost


@compiled
def _divided_gradient(problem: Table, contacts: Table, rows: Table) -> None:
    """Fill the gradient of a divided island from the impulses.

    Impulses between free bodies are added by them, all others at the end.
    """
    iterate, at_hand, graph = problem.iterate, problem.at_hand, problem.graph
    divided = graph.divided
    out = iterate.gradient
    share_phase(problem, GRADIENT, tree_blocks(at_hand))
    if only_pairs(graph, at_hand):
        problem.newton.begun = 1
        return
    if at_hand.last_chunk > at_hand.first_chunk:
        island = graph.component[graph.ntree + graph.island_tree[at_hand.first_tree]]
        clear_links(graph, island, island + 1, out)
        first = divided.chunk_pair[at_hand.first_chunk, 0]
        for pair in range(first, divided.chunk_pair[at_hand.last_chunk - 1, 1]):
            if divided.pair_tree[pair, 0] == NOT_FREE:
                begin = divided.pair_contact[pair, 0]
                end = divided.pair_contact[pair, 1]
                add_contact_impulses(graph, iterate, contacts, begin, end, out, -1.0)
        gather_forces(graph, iterate, contacts, island, island + 1, out)
    add_row_impulses(graph, iterate, rows, at_hand.first_row, at_hand.last_row, out, -1.0)
