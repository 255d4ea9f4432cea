"""Islands of a problem: the loop over them, and what solvers do in one of them.

That is its gradient, norms and factors, for the *island at hand*, which `choose_island` has written
into the problem; directions, and steps along them, are `asperity.convex.island_steps`'.
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
    add_surface_velocities,
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
    "begin_island",
    "choose_island",
    "factorize_island",
    "follow_forces",
    "give_up",
    "gradient_norm",
    "guess_velocities",
    "island_estimates",
    "island_gradient",
    "island_impulses",
    "island_velocities",
    "momentum_scale",
    "scaled_norm",
    "settle",
    "settle_island",
    "solve_islands",
]


@higher_order
def solve_islands(
    solve_island: Callable[[Table, Table, Table], int], problem: Table, contacts: Table, rows: Table
) -> int:
    """Solve every island, and count, or those of the part at hand; returns the worst code.

    ``solve_island`` replaces the guess in the island's part of ``velocity`` by the solution, and
    counts ``iterations``.
    """
    whole = problem.at_hand.last_island == 0
    first = 0 if whole else problem.at_hand.first_island
    last = problem.graph.islands if whole else problem.at_hand.last_island
    worst = CONVERGED
    longest = 0
    for k in range(first, last):
        choose_island(problem, k)
        if problem.guess.is_known == 0:
            _guess_contact_velocities(problem, contacts, k)
        before = problem.counts.iterations
        worst = max(worst, solve_island(problem, contacts, rows))
        longest = max(longest, problem.counts.iterations - before)
    if whole:
        problem.counts.solves += 1
        problem.counts.longest_iterations += longest
    else:
        problem.at_hand.part_longest = max(problem.at_hand.part_longest, longest)
    return worst


@compiled
def _guess_contact_velocities(problem: Table, contacts: Table, k: int) -> None:
    """Fill the velocities of an island's contacts for the guess in ``velocity``."""
    graph = problem.graph
    first = graph.island_contact_start[k]
    last = graph.island_contact_start[k + 1]
    if first == last:
        return
    spread_velocities(problem, contacts, k, k + 1, problem.iterate.velocity)
    contact_velocities(
        graph,
        contacts,
        first,
        last,
        problem.iterate.velocity,
        problem.iterate.v1,
        problem.iterate.v2,
        problem.iterate.vn,
        problem.iterate.turn,
    )
    add_surface_velocities(problem, contacts, first, last)


@compiled
def guess_velocities(problem: Table, contacts: Table) -> None:
    """Fill the velocities of all contacts for the guess in ``velocity``."""
    for k in range(problem.graph.islands):
        _guess_contact_velocities(problem, contacts, k)


@compiled
def begin_island(problem: Table, rows: Table) -> None:
    """Fill A v and the velocities of rows for the guess."""
    problem.newton.followed = 0
    multiply(
        problem,
        problem.at_hand.first_tree,
        problem.at_hand.last_tree,
        problem.iterate.velocity,
        problem.iterate.product,
    )
    if problem.graph.bonds.count > 0:
        call_pp_status(problem.entries.multiply_bonds, problem, OF_VELOCITY)
    if problem.guess.is_known == 0:
        row_velocities(
            problem.graph,
            rows,
            problem.at_hand.first_row,
            problem.at_hand.last_row,
            problem.iterate.velocity,
            problem.iterate.row_u,
        )


@compiled
def follow_forces(problem: Table) -> bool:
    """Let forces in r that depend on the velocity be those of the iterate; True if that matters."""
    if problem.entries.follow_forces == 0:
        return False
    return call_pp_status(problem.entries.follow_forces, problem.entries.follower, problem) != 0


@compiled
def give_up(problem: Table, residual: float) -> int:
    """Record the residual, in units of the norm's scale, at which an island's solve has ended."""
    problem.counts.worst_residual = max(problem.counts.worst_residual, residual)
    return NOT_CONVERGED


@compiled
def choose_island(problem: Table, k: int) -> None:
    """Make island ``k`` of the graph the one at hand."""
    graph = problem.graph
    problem.at_hand.first_tree = graph.island_start[k]
    problem.at_hand.last_tree = graph.island_start[k + 1]
    problem.at_hand.first_contact = graph.island_contact_start[k]
    problem.at_hand.last_contact = graph.island_contact_start[k + 1]
    problem.at_hand.first_row = graph.island_row_start[k]
    problem.at_hand.last_row = graph.island_row_start[k + 1]
    problem.newton.begun = 0
    problem.at_hand.first_part = graph.divided.island_part_start[k]
    problem.at_hand.last_part = graph.divided.island_part_start[k + 1]
    problem.at_hand.first_chunk = graph.divided.island_chunk_start[k]
    problem.at_hand.last_chunk = graph.divided.island_chunk_start[k + 1]


@inlined
def scaled_norm(problem: Table, first: int, last: int, vector: np.ndarray) -> float:
    """‖D vector‖ over an island."""
    graph = problem.graph
    total = 0.0
    for index in range(first, last):
        start = graph.tree_start[graph.island_tree[index]]
        for i in range(start, start + graph.tree_size[graph.island_tree[index]]):
            total += vector[i] * vector[i] * problem.smooth.mass_inverse_diagonal[i]
    return np.sqrt(total)


@compiled
def momentum_scale(problem: Table, first: int, last: int) -> float:
    """max(‖D p‖, ‖D j‖) with j = p − r − ∇ℓ."""
    graph = problem.graph
    momentum = 0.0
    impulse = 0.0
    for index in range(first, last):
        start = graph.tree_start[graph.island_tree[index]]
        for i in range(start, start + graph.tree_size[graph.island_tree[index]]):
            j = problem.iterate.product[i] - problem.smooth.rhs[i] - problem.iterate.gradient[i]
            momentum += (
                problem.iterate.product[i]
                * problem.iterate.product[i]
                * problem.smooth.mass_inverse_diagonal[i]
            )
            impulse += j * j * problem.smooth.mass_inverse_diagonal[i]
    return np.sqrt(max(momentum, impulse))


@inlined
def gradient_norm(problem: Table) -> float:
    """‖D g‖ of the island's gradient."""
    if problem.newton.begun == 1:
        return np.sqrt(block_sum(problem, 4))
    return scaled_norm(
        problem, problem.at_hand.first_tree, problem.at_hand.last_tree, problem.iterate.gradient
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
def island_velocities(
    problem: Table,
    contacts: Table,
    rows: Table,
    vector: np.ndarray,
    out: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    row_out: np.ndarray,
) -> None:
    """Fill the velocities of contacts (without surface velocity) and rows along a vector."""
    graph = problem.graph
    if problem.at_hand.last_contact > problem.at_hand.first_contact:
        island = graph.component[graph.ntree + graph.island_tree[problem.at_hand.first_tree]]
        spread_velocities(problem, contacts, island, island + 1, vector)
    contact_velocities(
        graph,
        contacts,
        problem.at_hand.first_contact,
        problem.at_hand.last_contact,
        vector,
        out[0],
        out[1],
        out[2],
        out[3],
    )
    row_velocities(
        graph, rows, problem.at_hand.first_row, problem.at_hand.last_row, vector, row_out
    )


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
    first = problem.at_hand.first_contact
    last = problem.at_hand.last_contact
    if not is_divided(problem):
        measure_disagreement(problem, contacts, first, last, ahead)
        if numbers_agree(
            problem, problem.newton.bounds_square, problem.newton.changes_square, tolerance
        ):
            return False
        change_numbers(problem, contacts, first, last, ahead)
        return True
    chunks = problem.at_hand.last_chunk - problem.at_hand.first_chunk
    problem.division.phase_contacts = contacts.address
    problem.division.phase_share = 1.0 if ahead else 0.0
    share_phase(problem, DISAGREEMENT, chunks)
    if numbers_agree(problem, chunk_sum(problem, 4), chunk_sum(problem, 5), tolerance):
        return False
    share_phase(problem, SETTLE, chunks)
    return True


@inlined
def island_impulses(problem: Table) -> float:
    """Fill the island's impulses and curvatures; return the cost of its potentials."""
    if is_divided(problem):
        share_phase(problem, EVALUATE, problem.at_hand.last_chunk - problem.at_hand.first_chunk)
        cost = chunk_sum(problem, 0)
    else:
        cost = evaluate_contacts(
            problem, problem.at_hand.first_contact, problem.at_hand.last_contact
        )
    return cost + evaluate_rows(problem, problem.at_hand.first_row, problem.at_hand.last_row)


@compiled
def island_estimates(problem: Table, alpha: float) -> None:
    """Let the law's estimates follow the prepared direction, of which α has been taken."""
    if is_divided(problem):
        # They have, with the step.
        return
    update_estimates(problem, problem.at_hand.first_contact, problem.at_hand.last_contact, alpha)


@compiled
def island_gradient(problem: Table, contacts: Table, rows: Table) -> float:
    """Fill the island's impulses, curvatures and gradient; return the cost of its potentials."""
    graph = problem.graph
    problem.newton.begun = 0
    problem.division.phase_contacts = contacts.address
    cost = island_impulses(problem)
    if is_divided(problem):
        _divided_gradient(problem, contacts, rows)
        return cost
    for index in range(problem.at_hand.first_tree, problem.at_hand.last_tree):
        start = graph.tree_start[graph.island_tree[index]]
        for i in range(start, start + graph.tree_size[graph.island_tree[index]]):
            problem.iterate.gradient[i] = problem.iterate.product[i] - problem.smooth.rhs[i]
    add_impulses(
        problem,
        contacts,
        rows,
        (problem.at_hand.first_contact, problem.at_hand.last_contact),
        (problem.at_hand.first_row, problem.at_hand.last_row),
        problem.iterate.gradient,
        -1.0,
    )
    return cost


@compiled
def _divided_gradient(problem: Table, contacts: Table, rows: Table) -> None:
    """Fill the gradient of a divided island from the impulses.

    Impulses between free bodies are added by them, all others at the end.
    """
    graph = problem.graph
    out = problem.iterate.gradient
    share_phase(problem, GRADIENT, tree_blocks(problem))
    if only_pairs(problem):
        problem.newton.begun = 1
        return
    if problem.at_hand.last_chunk > problem.at_hand.first_chunk:
        island = graph.component[graph.ntree + graph.island_tree[problem.at_hand.first_tree]]
        clear_links(graph, island, island + 1, out)
        first = graph.divided.chunk_pair[problem.at_hand.first_chunk, 0]
        for pair in range(first, graph.divided.chunk_pair[problem.at_hand.last_chunk - 1, 1]):
            if graph.divided.pair_tree[pair, 0] == NOT_FREE:
                begin = graph.divided.pair_contact[pair, 0]
                end = graph.divided.pair_contact[pair, 1]
                add_contact_impulses(problem, contacts, begin, end, out, -1.0)
        gather_forces(problem, contacts, island, island + 1, out)
    add_row_impulses(problem, rows, problem.at_hand.first_row, problem.at_hand.last_row, out, -1.0)
