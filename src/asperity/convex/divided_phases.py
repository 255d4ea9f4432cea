"""Phases of a divided island's solve: the entry point that a team's threads call, item by item.

An item writes only what is its own, and what it computes depends on nothing else. A solve therefore
has the bits of one thread. A contact law gets the problem of the thread that calls it, which
differs from the island's in a few numbers (`asperity.convex.shared_islands`).
"""

from __future__ import annotations

from numba import types

from asperity.compiled import Table, compiled, entry_point, inlined
from asperity.contact.contact_set import CONTACT_SET
from asperity.convex.contact_velocities import contact_changes, impulse_in_world
from asperity.convex.divided_assembly import add_pairs_of_tree, assemble_divided, sum_pairs
from asperity.convex.divided_cholesky import (
    backward_part,
    factorize_divided,
    factorize_item,
    forward_part,
    solve_divided,
)
from asperity.convex.divided_island import (
    ADD_PAIRS,
    ALONG,
    BACKWARD,
    COST,
    DISAGREEMENT,
    EVALUATE,
    FACTORIZE,
    FILL_AND_FACTORIZE,
    FORWARD,
    GRADIENT,
    PREPARE,
    SETTLE,
    STEP,
    SUM_PAIRS,
    share_items,
)
from asperity.convex.divided_layout import TREE_BLOCK
from asperity.convex.ellipsoids import move_contacts, turn_impulse_in_world
from asperity.convex.matrix import multiply
from asperity.convex.potentials.contact_driver import (
    along_contacts,
    change_numbers,
    contact_cost_along,
    evaluate_contacts,
    measure_disagreement,
    update_estimates,
)
from asperity.convex.problem import EXACT, PROBLEM

__all__ = ["DIVIDED_KERNELS", "FEWEST_TREES", "do_phase", "install_divided"]

# Trees from which on an island is divided: its phases then take microseconds at least.
FEWEST_TREES = 100


@compiled
def _gradient_of_tree(
    graph: Table, smooth: Table, iterate: Table, contacts: Table, tree: int
) -> float:
    """Fill a tree's part g of A v − r with the impulses of pairs of free bodies; ‖D g‖².

    The direction becomes −g.
    """
    start = graph.tree_start[tree]
    if graph.tree_spatial[tree] == 1:
        return _gradient_of_body(graph, smooth, iterate, contacts, tree, start)
    norm = 0.0
    for i in range(start, start + graph.tree_size[tree]):
        value = iterate.product[i] - smooth.rhs[i]
        iterate.gradient[i] = value
        iterate.direction[i] = -value
        norm += value * value * smooth.mass_inverse_diagonal[i]
    return norm


@inlined
def _gradient_of_body(
    graph: Table, smooth: Table, iterate: Table, contacts: Table, tree: int, start: int
) -> float:
    divided = graph.divided
    a = b = c = d = e = f = 0.0
    for k in range(divided.tree_pair_start[tree], divided.tree_pair_start[tree + 1]):
        pair = divided.tree_pair[k]
        on_b = divided.pair_tree[pair, 1] == tree
        arm = contacts.arm_b if on_b else contacts.arm_a
        sign = -1.0 if on_b else 1.0
        for i in range(divided.pair_contact[pair, 0], divided.pair_contact[pair, 1]):
            x, y, z = impulse_in_world(graph, iterate, contacts, i, sign)
            at = graph.contact[i]
            a += arm[at, 1] * z - arm[at, 2] * y
            b += arm[at, 2] * x - arm[at, 0] * z
            c += arm[at, 0] * y - arm[at, 1] * x
            d += x
            e += y
            f += z
            if graph.ellipsoids != 0 and graph.ellipsoidal[i] != 0:
                x, y, z = turn_impulse_in_world(graph, iterate, contacts, i, sign)
                a += x
                b += y
                c += z
    norm = _set_gradient(smooth, iterate, start, a)
    norm += _set_gradient(smooth, iterate, start + 1, b)
    norm += _set_gradient(smooth, iterate, start + 2, c)
    norm += _set_gradient(smooth, iterate, start + 3, d)
    norm += _set_gradient(smooth, iterate, start + 4, e)
    return norm + _set_gradient(smooth, iterate, start + 5, f)


@inlined
def _set_gradient(smooth: Table, iterate: Table, i: int, impulse: float) -> float:
    value = iterate.product[i] - smooth.rhs[i] + impulse
    iterate.gradient[i] = value
    iterate.direction[i] = -value
    return value * value * smooth.mass_inverse_diagonal[i]


@compiled
def _look_along(divided: Table, division: Table, own: Table, chunk: int, alpha: float) -> None:
    first = divided.chunk_contact[chunk, 0]
    last = divided.chunk_contact[chunk, 1]
    slope, curvature = along_contacts(own, first, last, alpha)
    division.chunk_sum[chunk, 1] = slope
    division.chunk_sum[chunk, 2] = curvature


@inlined
def _terms_of_direction(smooth: Table, iterate: Table, i: int) -> tuple[float, float, float, float]:
    p = iterate.direction[i]
    return (
        iterate.gradient[i] * p,
        smooth.mass_diagonal[i] * p * p,
        p * (iterate.product[i] - smooth.rhs[i]),
        p * iterate.direction_product[i],
    )


@compiled
def _sum_direction(problem: Table, first: int, last: int, block: int) -> None:
    """Fill `asperity.convex.divided_island.block_sum` for a block."""
    division, graph = problem.division, problem.graph
    slope = norm = smooth_slope = smooth_curvature = 0.0
    for index in range(first, last):
        start = graph.tree_start[graph.island_tree[index]]
        size = graph.tree_size[graph.island_tree[index]]
        if size == 6:
            # A loop whose turns are known is none.
            for k in range(6):
                a, b, c, d = _terms_of_direction(problem.smooth, problem.iterate, start + k)
                slope += a
                norm += b
                smooth_slope += c
                smooth_curvature += d
            continue
        for i in range(start, start + size):
            a, b, c, d = _terms_of_direction(problem.smooth, problem.iterate, i)
            slope += a
            norm += b
            smooth_slope += c
            smooth_curvature += d
    division.block_sum[block, 0] = slope
    division.block_sum[block, 1] = norm
    division.block_sum[block, 2] = smooth_slope
    division.block_sum[block, 3] = smooth_curvature


@compiled
def _do_chunk(problem: Table, own: Table, contacts: Table, phase: int, chunk: int) -> None:
    iterate, division, graph = problem.iterate, problem.division, problem.graph
    divided = graph.divided
    first = divided.chunk_contact[chunk, 0]
    last = divided.chunk_contact[chunk, 1]
    alpha = division.phase_share
    if phase == EVALUATE:
        division.chunk_sum[chunk, 0] = evaluate_contacts(own, first, last)
    elif phase == SUM_PAIRS:
        pairs = divided.chunk_pair
        sum_pairs(problem, contacts, pairs[chunk, 0], pairs[chunk, 1])
    elif phase == PREPARE:
        contact_changes(graph, iterate, contacts, first, last, iterate.direction)
        if problem.options.line_search_method == EXACT:
            # Where line searches look first.
            _look_along(divided, division, own, chunk, 1.0)
    elif phase == ALONG:
        _look_along(divided, division, own, chunk, alpha)
    elif phase == COST:
        division.chunk_sum[chunk, 3] = contact_cost_along(own, first, last, alpha)
    elif phase == STEP:
        move_contacts(graph, iterate, first, last, alpha)
        update_estimates(own, first, last, alpha)
    elif phase == DISAGREEMENT:
        measure_disagreement(own, contacts, first, last, alpha == 1.0)
        division.chunk_sum[chunk, 4] = own.newton.bounds_square
        division.chunk_sum[chunk, 5] = own.newton.changes_square
    elif phase == SETTLE:
        own.newton.changes = problem.newton.changes
        own.newton.residual = problem.newton.residual
        own.newton.wanted_residual = problem.newton.wanted_residual
        change_numbers(own, contacts, first, last, alpha == 1.0)


@inlined
def _move_tree(graph: Table, iterate: Table, tree: int, alpha: float) -> None:
    start = graph.tree_start[tree]
    if graph.tree_size[tree] == 6:
        for k in range(6):
            i = start + k
            iterate.velocity[i] += alpha * iterate.direction[i]
            iterate.product[i] += alpha * iterate.direction_product[i]
        return
    for i in range(start, start + graph.tree_size[tree]):
        iterate.velocity[i] += alpha * iterate.direction[i]
        iterate.product[i] += alpha * iterate.direction_product[i]


@compiled
def _do_block(problem: Table, contacts: Table, phase: int, block: int) -> None:
    graph, iterate = problem.graph, problem.iterate
    first = problem.at_hand.first_tree + TREE_BLOCK * block
    last = min(first + TREE_BLOCK, problem.at_hand.last_tree)
    if phase == PREPARE:
        multiply(graph, problem.smooth, first, last, iterate.direction, iterate.direction_product)
        _sum_direction(problem, first, last, block)
        return
    alpha = problem.division.phase_share
    norm = 0.0
    for index in range(first, last):
        tree = graph.island_tree[index]
        if phase == GRADIENT:
            norm += _gradient_of_tree(graph, problem.smooth, iterate, contacts, tree)
        elif phase == ADD_PAIRS:
            add_pairs_of_tree(problem, tree)
        elif phase == STEP:
            _move_tree(graph, iterate, tree, alpha)
    if phase == GRADIENT:
        problem.division.block_sum[block, 4] = norm


@entry_point(types.int64(PROBLEM.type, types.int64, types.int64, types.int64))
def do_phase(problem: Table, part: int, member: int, _unused: int) -> int:
    """Do some items of the phase at hand; returns 1 if the factorization of one has failed."""
    division, at_hand = problem.division, problem.at_hand
    phase = division.phase
    items = division.phase_items
    first = part * items // division.phase_parts
    last = (part + 1) * items // division.phase_parts
    code = 0
    if phase in (FACTORIZE, FILL_AND_FACTORIZE):
        for item in range(first, last):
            # Teams begin parts from the last to the first.
            turned = item if division.team == 0 else items - 1 - item
            code = max(code, factorize_item(problem, turned, phase == FILL_AND_FACTORIZE))
        return code
    if phase in (FORWARD, BACKWARD):
        for item in range(at_hand.first_part + first, at_hand.first_part + last):
            if phase == FORWARD:
                forward_part(problem.graph, problem.iterate, problem.hessian, item)
            else:
                backward_part(problem.graph, problem.iterate, problem.hessian, item)
        return 0
    own = PROBLEM.at(division.members[member])
    contacts = CONTACT_SET.at(division.phase_contacts)
    chunks = 0
    if phase not in (GRADIENT, ADD_PAIRS):
        chunks = at_hand.last_chunk - at_hand.first_chunk
    for item in range(first, last):
        if item < chunks:
            _do_chunk(problem, own, contacts, phase, at_hand.first_chunk + item)
        else:
            _do_block(problem, contacts, phase, item - chunks)
    return 0


DIVIDED_KERNELS = (share_items, do_phase, assemble_divided, factorize_divided, solve_divided)
"""What divided islands need compiled."""


def install_divided(problem: Table) -> None:
    """Compile `DIVIDED_KERNELS`, and let islands of many trees be divided."""
    problem.entries.share_phase = share_items.address
    problem.entries.do_phase = do_phase.address
    problem.entries.assemble_divided = assemble_divided.address
    problem.entries.factorize_divided = factorize_divided.address
    problem.entries.solve_divided = solve_divided.address
    problem.graph.divided.fewest_trees = FEWEST_TREES
