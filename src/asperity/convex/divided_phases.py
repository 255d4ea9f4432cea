"""Phases of a divided island's solve, item by item: the entry point that a team's threads call.

Whatever an item writes is its own, and what it computes depends on nothing else: the bits of a
solve are those of one thread. A contact law gets the problem of the thread that calls it, which
differs from the island's in a few numbers alone (`asperity.convex.shared_islands`).
"""

from __future__ import annotations

from numba import types

from asperity.compiled import Table, compiled, entry_point, inlined
from asperity.contact.contact_set import CONTACT_SET
from asperity.convex.contact_velocities import contact_velocities, impulse_in_world
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
from asperity.convex.ellipsoids import move_turns, turn_impulse_in_world
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
def _gradient_of_tree(problem: Table, contacts: Table, tree: int) -> float:
    """Fill a tree's part g of A v − r with the impulses of pairs of free bodies; ‖D g‖².

    The direction becomes −g.
    """
    graph = problem.graph
    start = graph.tree_start[tree]
    if graph.tree_spatial[tree] == 1:
        return _gradient_of_body(problem, contacts, tree, start)
    norm = 0.0
    for i in range(start, start + graph.tree_size[tree]):
        value = problem.iterate.product[i] - problem.smooth.rhs[i]
        problem.iterate.gradient[i] = value
        problem.iterate.direction[i] = -value
        norm += value * value * problem.smooth.mass_inverse_diagonal[i]
    return norm


@inlined
def _gradient_of_body(problem: Table, contacts: Table, tree: int, start: int) -> float:
    graph = problem.graph
    a = b = c = d = e = f = 0.0
    for k in range(graph.divided.tree_pair_start[tree], graph.divided.tree_pair_start[tree + 1]):
        pair = graph.divided.tree_pair[k]
        on_b = graph.divided.pair_tree[pair, 1] == tree
        arm = contacts.arm_b if on_b else contacts.arm_a
        sign = -1.0 if on_b else 1.0
        for i in range(graph.divided.pair_contact[pair, 0], graph.divided.pair_contact[pair, 1]):
            x, y, z = impulse_in_world(problem, contacts, i, sign)
            at = graph.contact[i]
            a += arm[at, 1] * z - arm[at, 2] * y
            b += arm[at, 2] * x - arm[at, 0] * z
            c += arm[at, 0] * y - arm[at, 1] * x
            d += x
            e += y
            f += z
            if graph.ellipsoids != 0 and graph.ellipsoidal[i] != 0:
                x, y, z = turn_impulse_in_world(problem, contacts, i, sign)
                a += x
                b += y
                c += z
    norm = _set_gradient(problem, start, a)
    norm += _set_gradient(problem, start + 1, b)
    norm += _set_gradient(problem, start + 2, c)
    norm += _set_gradient(problem, start + 3, d)
    norm += _set_gradient(problem, start + 4, e)
    return norm + _set_gradient(problem, start + 5, f)


@inlined
def _set_gradient(problem: Table, i: int, impulse: float) -> float:
    value = problem.iterate.product[i] - problem.smooth.rhs[i] + impulse
    problem.iterate.gradient[i] = value
    problem.iterate.direction[i] = -value
    return value * value * problem.smooth.mass_inverse_diagonal[i]


@compiled
def _look_along(problem: Table, own: Table, chunk: int, alpha: float) -> None:
    graph = problem.graph
    first = graph.divided.chunk_contact[chunk, 0]
    last = graph.divided.chunk_contact[chunk, 1]
    slope, curvature = along_contacts(own, first, last, alpha)
    problem.division.chunk_sum[chunk, 1] = slope
    problem.division.chunk_sum[chunk, 2] = curvature


@inlined
def _terms_of_direction(problem: Table, i: int) -> tuple[float, float, float, float]:
    p = problem.iterate.direction[i]
    return (
        problem.iterate.gradient[i] * p,
        problem.smooth.mass_diagonal[i] * p * p,
        p * (problem.iterate.product[i] - problem.smooth.rhs[i]),
        p * problem.iterate.direction_product[i],
    )


@compiled
def _sum_direction(problem: Table, first: int, last: int, block: int) -> None:
    """Fill `asperity.convex.divided_island.block_sum` for a block."""
    graph = problem.graph
    slope = norm = smooth_slope = smooth_curvature = 0.0
    for index in range(first, last):
        start = graph.tree_start[graph.island_tree[index]]
        size = graph.tree_size[graph.island_tree[index]]
        if size == 6:
            # A loop whose turns are known is none.
            for k in range(6):
                a, b, c, d = _terms_of_direction(problem, start + k)
                slope += a
                norm += b
                smooth_slope += c
                smooth_curvature += d
            continue
        for i in range(start, start + size):
            a, b, c, d = _terms_of_direction(problem, i)
            slope += a
            norm += b
            smooth_slope += c
            smooth_curvature += d
    problem.division.block_sum[block, 0] = slope
    problem.division.block_sum[block, 1] = norm
    problem.division.block_sum[block, 2] = smooth_slope
    problem.division.block_sum[block, 3] = smooth_curvature


@compiled
def _do_chunk(problem: Table, own: Table, contacts: Table, phase: int, chunk: int) -> None:
    graph = problem.graph
    first = graph.divided.chunk_contact[chunk, 0]
    last = graph.divided.chunk_contact[chunk, 1]
    alpha = problem.division.phase_share
    if phase == EVALUATE:
        problem.division.chunk_sum[chunk, 0] = evaluate_contacts(own, first, last)
    elif phase == SUM_PAIRS:
        pairs = graph.divided.chunk_pair
        sum_pairs(problem, contacts, pairs[chunk, 0], pairs[chunk, 1])
    elif phase == PREPARE:
        contact_velocities(
            graph,
            contacts,
            first,
            last,
            problem.iterate.direction,
            problem.iterate.dv1,
            problem.iterate.dv2,
            problem.iterate.dvn,
            problem.iterate.turn_change,
        )
        if problem.options.line_search_method == EXACT:
            # Where line searches look first.
            _look_along(problem, own, chunk, 1.0)
    elif phase == ALONG:
        _look_along(problem, own, chunk, alpha)
    elif phase == COST:
        problem.division.chunk_sum[chunk, 3] = contact_cost_along(own, first, last, alpha)
    elif phase == STEP:
        for i in range(first, last):
            problem.iterate.v1[i] += alpha * problem.iterate.dv1[i]
            problem.iterate.v2[i] += alpha * problem.iterate.dv2[i]
            problem.iterate.vn[i] += alpha * problem.iterate.dvn[i]
        if graph.ellipsoids != 0:
            move_turns(problem, first, last, alpha)
        update_estimates(own, first, last, alpha)
    elif phase == DISAGREEMENT:
        measure_disagreement(own, contacts, first, last, alpha == 1.0)
        problem.division.chunk_sum[chunk, 4] = own.newton.bounds_square
        problem.division.chunk_sum[chunk, 5] = own.newton.changes_square
    elif phase == SETTLE:
        own.newton.changes = problem.newton.changes
        change_numbers(own, contacts, first, last, alpha == 1.0)


@inlined
def _move_tree(problem: Table, tree: int, alpha: float) -> None:
    graph = problem.graph
    start = graph.tree_start[tree]
    if graph.tree_size[tree] == 6:
        for k in range(6):
            i = start + k
            problem.iterate.velocity[i] += alpha * problem.iterate.direction[i]
            problem.iterate.product[i] += alpha * problem.iterate.direction_product[i]
        return
    for i in range(start, start + graph.tree_size[tree]):
        problem.iterate.velocity[i] += alpha * problem.iterate.direction[i]
        problem.iterate.product[i] += alpha * problem.iterate.direction_product[i]


@compiled
def _do_block(problem: Table, contacts: Table, phase: int, block: int) -> None:
    first = problem.at_hand.first_tree + TREE_BLOCK * block
    last = min(first + TREE_BLOCK, problem.at_hand.last_tree)
    if phase == PREPARE:
        multiply(problem, first, last, problem.iterate.direction, problem.iterate.direction_product)
        _sum_direction(problem, first, last, block)
        return
    alpha = problem.division.phase_share
    norm = 0.0
    for index in range(first, last):
        tree = problem.graph.island_tree[index]
        if phase == GRADIENT:
            norm += _gradient_of_tree(problem, contacts, tree)
        elif phase == ADD_PAIRS:
            add_pairs_of_tree(problem, tree)
        elif phase == STEP:
            _move_tree(problem, tree, alpha)
    if phase == GRADIENT:
        problem.division.block_sum[block, 4] = norm


@entry_point(types.int64(PROBLEM.type, types.int64, types.int64, types.int64))
def do_phase(problem: Table, part: int, member: int, _unused: int) -> int:
    """Do some items of the phase at hand; returns 1 if the factorization of one has failed."""
    phase = problem.division.phase
    items = problem.division.phase_items
    first = part * items // problem.division.phase_parts
    last = (part + 1) * items // problem.division.phase_parts
    code = 0
    if phase in (FACTORIZE, FILL_AND_FACTORIZE):
        for item in range(first, last):
            # Teams begin parts from the last to the first.
            turned = item if problem.division.team == 0 else items - 1 - item
            code = max(code, factorize_item(problem, turned, phase == FILL_AND_FACTORIZE))
        return code
    if phase in (FORWARD, BACKWARD):
        for item in range(problem.at_hand.first_part + first, problem.at_hand.first_part + last):
            if phase == FORWARD:
                forward_part(problem, item)
            else:
                backward_part(problem, item)
        return 0
    own = PROBLEM.at(problem.division.members[member])
    contacts = CONTACT_SET.at(problem.division.phase_contacts)
    chunks = 0
    if phase not in (GRADIENT, ADD_PAIRS):
        chunks = problem.at_hand.last_chunk - problem.at_hand.first_chunk
    for item in range(first, last):
        if item < chunks:
            _do_chunk(problem, own, contacts, phase, problem.at_hand.first_chunk + item)
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
