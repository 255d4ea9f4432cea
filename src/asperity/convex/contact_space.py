"""Newton directions of articulated trees with few contacts, by the Woodbury identity.

The Hessian is H = B + Jᵀ G J. The base B = A + Σ κ j jᵀ, with the curvatures κ that scalar
constraints have at first, stays as it is while Newton's method iterates, and so do the rows of J:
three per contact, and one per constraint whose curvature has changed since. G is block diagonal:
for each contact's two tangential directions, its normal one, and each changed constraint. With
B = L Lᵀ and the rows J of those with curvature,

    U = L⁻¹ Jᵀ,   W = Uᵀ U = J B⁻¹ Jᵀ,   K = G⁻¹ + W,
    H⁻¹ b = L⁻ᵀ (f − U K⁻¹ Uᵀ f),   f = L⁻¹ b.

W is the Delassus operator, and G⁻¹ the compliance. An iteration solves with K, which has a row per
direction in which contacts have curvature (`asperity.convex.reduced_system`), instead of assembling
and factorizing H.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, entry_point
from asperity.compiled.calls import call_pppd_double
from asperity.contact.constraint_set import CONSTRAINT_SET, FRICTION
from asperity.contact.contact_set import CONTACT_SET
from asperity.convex.chain_cholesky import (
    backward_chains,
    forward_chains,
)
from asperity.convex.contact_velocities import row_velocities
from asperity.convex.delassus import STRIDE, begin_contact_space, follow_rows
from asperity.convex.island import island_gradient, settle
from asperity.convex.island_steps import begin_direction
from asperity.convex.potentials.contact_driver import (
    change_numbers,
    evaluate_contacts,
    update_estimates,
)
from asperity.convex.potentials.rows import evaluate_rows, rows_are_linear
from asperity.convex.problem import PROBLEM, RESIDUAL_AND_STEP
from asperity.convex.problem_layout import MOST_TREES
from asperity.convex.reduced_system import solve_reduced
from asperity.convex.row_kernels import dot_rows, subtract_rows

__all__ = [
    "AT_END",
    "ON_THE_WAY",
    "SOLVED",
    "SPOILED",
    "fits_contact_space",
    "large_trees",
    "solve_in_contact_space",
]

# Coordinates that contacts may take, and as a part of the tree's dofs: others are for constraints
# that change. Dry friction, which is only found to have changed, makes each of them dearer.
_MOST_OF_CONTACTS = 36
# Of several trees, whose H takes longer.
_MOST_OF_SEVERAL = 60
_LARGEST_PART = 1.3
_LARGEST_PART_WITH_FRICTION = 0.7
# Below, H is factorized as soon as K.
_SMALLEST_TREE = 8
# Part of the wanted residual that is left in contact space, and up to which nobody looks again.
_INNER_TOLERANCE = 0.5
_BEYOND_DOUBT = 0.1
_MOST_ITERATIONS = 50

# How a solve has ended.
SPOILED = 0
AT_END = 1
ON_THE_WAY = 2
SOLVED = 3


def large_trees(graph: Table) -> np.ndarray:
    """The trees that may fit."""
    return np.flatnonzero((graph.tree_size >= _SMALLEST_TREE) & (graph.tree_spatial == 0))


@compiled
def _island_size(graph: Table, at_hand: Table) -> int:
    """Dofs of the island, or 0 if there are trees that do not fit, or constraints between trees."""
    several = at_hand.last_tree - at_hand.first_tree
    size = 0
    if several > MOST_TREES:
        return 0
    for index in range(at_hand.first_tree, at_hand.last_tree):
        tree = graph.island_tree[index]
        if graph.tree_spatial[tree] or graph.tree_size[tree] < _SMALLEST_TREE:
            return 0
        size += graph.tree_size[tree]
    if several > 1:
        for i in range(at_hand.first_row, at_hand.last_row):
            if graph.row_entry[i] < 0:
                return 0
    return size


@compiled
def fits_contact_space(problem: Table) -> bool:
    """Whether the island at hand is to be solved with `solve_in_contact_space`."""
    at_hand, options, law = problem.at_hand, problem.options, problem.law
    if problem.entries.solve_in_contact_space == 0 or options.reused_iterations != 0:
        return False
    size = _island_size(problem.graph, at_hand)
    if size == 0:
        return False
    # Coupled laws have contacts whose curvature has no inverse.
    if law.coupled == 1:
        return False
    # Their curvature has more than two tangential directions.
    if problem.graph.ellipsoids != 0:
        return False
    # On near-rigid contacts, which methods with the other criterion have, solves have failed.
    if options.criterion != RESIDUAL_AND_STEP:
        return False
    alone = at_hand.last_tree - at_hand.first_tree == 1
    most = min(_MOST_OF_CONTACTS if alone else _MOST_OF_SEVERAL, int(_LARGEST_PART * size))
    count = 3 * (at_hand.last_contact - at_hand.first_contact)
    if count > most:
        return False
    # The curvature of dry friction changes with every iteration.
    friction = 0
    for i in range(at_hand.first_row, at_hand.last_row):
        if law.row_kind[i] == FRICTION:
            friction += 1
    return friction == 0 or count + friction <= int(_LARGEST_PART_WITH_FRICTION * size)


@compiled
def _multiply(scratch: Table, x: np.ndarray, out: np.ndarray) -> None:
    """``out = W x``."""
    width = scratch.coordinates
    for k in range(width):
        out[k] = 0.0
    subtract_rows(
        out.ctypes.data, x.ctypes.data, 8, scratch.delassus.ctypes.data, STRIDE, width, width
    )
    for k in range(width):
        out[k] = -out[k]


@compiled
def _read_impulses(iterate: Table, at_hand: Table, out: np.ndarray) -> None:
    """Impulses of the contacts, coordinate by coordinate."""
    at = 0
    for i in range(at_hand.first_contact, at_hand.last_contact):
        out[at] = iterate.g1[i]
        out[at + 1] = iterate.g2[i]
        out[at + 2] = iterate.gn[i]
        at += 3


@compiled
def _fill_residual(problem: Table, rows: Table) -> None:
    """x = μ + γ₀ − γ of contacts, and μ + G du of changed rows."""
    iterate, at_hand = problem.iterate, problem.at_hand
    mu, start, x, du = problem.scratch.coordinate[:4]
    at = 0
    for i in range(at_hand.first_contact, at_hand.last_contact):
        x[at] = mu[at] + start[at] - iterate.g1[i]
        x[at + 1] = mu[at + 1] + start[at + 1] - iterate.g2[i]
        x[at + 2] = mu[at + 2] + start[at + 2] - iterate.gn[i]
        at += 3
    for i in range(at_hand.first_row, at_hand.last_row):
        k = problem.hessian.row_coordinate[i]
        if k >= 0:
            x[k] = mu[k] + (iterate.row_curvature[i] - problem.hessian.row_base[i]) * du[k]


@compiled
def _dot(a: np.ndarray, b: np.ndarray, n: int) -> float:
    return dot_rows(a.ctypes.data, b.ctypes.data, n)


@compiled
def _find_step(problem: Table, rho: float, follows: bool, sticks: bool) -> bool:
    """Fill the step of impulses and the changes of velocities along it; False if there is none."""
    iterate, at_hand, scratch = problem.iterate, problem.at_hand, problem.scratch
    _, _, x, _, z, step, change, weighted, y = scratch.coordinate
    # s, then dμ = s − x and its velocities
    if not solve_reduced(problem, y, follows, sticks, step):
        return False
    _multiply(scratch, step, change)
    for k in range(scratch.coordinates):
        change[k] -= y[k]
        weighted[k] = change[k] + rho * z[k]
        step[k] -= x[k]
    at = 0
    for i in range(at_hand.first_contact, at_hand.last_contact):
        iterate.dv1[i] = change[at]
        iterate.dv2[i] = change[at + 1]
        iterate.dvn[i] = change[at + 2]
        at += 3
    return True


@compiled
def _follow_step(problem: Table, contacts: Table, rows: Table) -> None:
    """Let bounds of friction be those of the step's end, and all else at its beginning follow."""
    first = problem.at_hand.first_contact
    last = problem.at_hand.last_contact
    change_numbers(problem, contacts, first, last, True)
    problem.newton.search_cost = evaluate_contacts(problem, first, last)
    _fill_residual(problem, rows)


@compiled
def _follow_friction(problem: Table) -> None:
    """Let the friction of contacts that are taken to stick be that of the step's end."""
    law, at_hand, scratch = problem.law, problem.at_hand, problem.scratch
    mu, start, _, _, _, step, _, _, _ = scratch.coordinate
    at = 0
    for i in range(at_hand.first_contact, at_hand.last_contact):
        limit = law.friction_limit[i]
        if scratch.sticking[at // 3] == 1 and limit > 0.0:
            x = -(start[at] + mu[at] + step[at]) / limit
            y = -(start[at + 1] + mu[at + 1] + step[at + 1]) / limit
            shorter = 1.0 / max(np.sqrt(x * x + y * y), 1.0)
            law.dual1[i] = shorter * x
            law.dual2[i] = shorter * y
        at += 3


@compiled
def _search(problem: Table, rho: float, square: float, slope: float) -> float:
    """Line search along the direction of coordinates; rows are linear here."""
    iterate, at_hand = problem.iterate, problem.at_hand
    newton, scratch = problem.newton, problem.scratch
    _, _, _, _, z, step, change, weighted, _ = scratch.coordinate
    n = scratch.coordinates
    pushed = 0.0
    at = 0
    for i in range(at_hand.first_contact, at_hand.last_contact):
        pushed += iterate.g1[i] * change[at] + iterate.g2[i] * change[at + 1]
        pushed += iterate.gn[i] * change[at + 2]
        at += 3
    curvature = rho * rho * square - 2.0 * rho * _dot(z, step, n) + _dot(step, weighted, n)
    first = at_hand.first_row
    for i in range(first, at_hand.last_row):
        k = problem.hessian.row_coordinate[i]
        if k >= 0:
            bend = iterate.row_curvature[i] - problem.hessian.row_base[i]
            curvature += bend * change[k] * change[k]
    newton.smooth_slope = slope + pushed
    newton.smooth_curvature = curvature
    newton.search_slope = slope
    tolerance = problem.options.line_search_tolerance
    return call_pppd_double(problem.entries.line_search, problem, first, first, tolerance)


@compiled
def _add_responses(problem: Table, share: float) -> None:
    """Replace f by a share of it and U μ."""
    graph, scratch = problem.graph, problem.scratch
    mu = scratch.coordinate[0]
    direction = problem.iterate.direction
    for index in range(problem.at_hand.first_tree, problem.at_hand.last_tree):
        tree = graph.island_tree[index]
        start = graph.tree_start[tree]
        columns = scratch.response.ctypes.data + scratch.response_start[tree] * STRIDE
        for i in range(graph.tree_size[tree]):
            own = dot_rows(columns + i * STRIDE, mu.ctypes.data, scratch.coordinates)
            direction[start + i] = share * direction[start + i] + own


@compiled
def _end_direction(problem: Table, rho: float) -> None:
    """Replace f by the direction that belongs to the coordinates."""
    graph, at_hand = problem.graph, problem.at_hand
    _add_responses(problem, 1.0 - rho)
    for index in range(at_hand.first_tree, at_hand.last_tree):
        tree = graph.island_tree[index]
        backward_chains(graph, problem.hessian, tree, problem.iterate.direction)


@compiled
def _rows_change(problem: Table, rows: Table, rho: float) -> bool:
    """Whether constraints change along the direction so far. Overwrites ``direction_product``."""
    iterate, at_hand, graph = problem.iterate, problem.at_hand, problem.graph
    first = at_hand.first_row
    last = at_hand.last_row
    if first == last:
        return False
    for index in range(at_hand.first_tree, at_hand.last_tree):
        start = graph.tree_start[graph.island_tree[index]]
        for i in range(start, start + graph.tree_size[graph.island_tree[index]]):
            iterate.direction_product[i] = iterate.direction[i]
    _end_direction(problem, rho)
    row_velocities(graph, rows, first, last, iterate.direction, iterate.row_du)
    for index in range(at_hand.first_tree, at_hand.last_tree):
        start = graph.tree_start[graph.island_tree[index]]
        for i in range(start, start + graph.tree_size[graph.island_tree[index]]):
            iterate.direction[i] = iterate.direction_product[i]
    return not rows_are_linear(problem.law, iterate, first, last)


@compiled
def _iterate(
    problem: Table, contacts: Table, rows: Table, square: float
) -> tuple[int, float, float]:
    """Minimise in the coordinates; returns how that has ended, ρ, and the residual's square."""
    iterate, at_hand, scratch = problem.iterate, problem.at_hand, problem.scratch
    mu, start, x, du, z, step, change, weighted, y = scratch.coordinate
    n = scratch.coordinates
    first = at_hand.first_contact
    last = at_hand.last_contact
    for k in range(n):
        mu[k] = 0.0
        du[k] = 0.0
        start[k] = 0.0
    _read_impulses(iterate, at_hand, start)
    rho = 1.0
    wanted = _INNER_TOLERANCE * problem.newton.wanted_residual
    settled = False
    left = np.inf
    # Points of a patch press each other's places: their bounds are damped.
    may_follow = problem.law.settle_contacts != 0 and contacts.patch_count == 0
    descends = True
    for iteration in range(_MOST_ITERATIONS):
        if iteration > 0:
            settled = settle(problem, contacts)
        problem.newton.search_cost = evaluate_contacts(problem, first, last)
        _fill_residual(problem, rows)
        _multiply(scratch, x, y)
        # ρ g + Jᵀ x in the norm of B⁻¹
        left = rho * (rho * square + 2.0 * _dot(z, x, n)) + _dot(x, y, n)
        if settled and left <= wanted * wanted:
            return AT_END, rho, left
        if iteration == 1 and _rows_change(problem, rows, rho):
            break
        for k in range(n):
            y[k] += rho * z[k]
        sticks = may_follow and descends
        follows = sticks and not settled
        found = _find_step(problem, rho, follows, sticks)
        if not (found or sticks):
            return SPOILED, rho, left
        if found and follows:
            _follow_step(problem, contacts, rows)
        slope = rho * (_dot(z, step, n) - rho * square) + _dot(x, change, n)
        descends = found and slope < 0.0
        if not descends:
            if not sticks:
                break
            # Newton's direction of the cost does.
            continue
        alpha = _search(problem, rho, square, slope)
        if alpha == 0.0:
            break
        problem.counts.iterations += 1
        at = 0
        for i in range(first, last):
            iterate.v1[i] += alpha * change[at]
            iterate.v2[i] += alpha * change[at + 1]
            iterate.vn[i] += alpha * change[at + 2]
            at += 3
        update_estimates(problem, first, last, alpha)
        _follow_friction(problem)
        for k in range(n):
            mu[k] += alpha * step[k]
            du[k] += alpha * change[k]
        rho *= 1.0 - alpha
    return ON_THE_WAY, rho, left


@compiled
def _end_here(problem: Table, rows: Table) -> bool:
    """Take the whole direction, and be done, unless constraints change along it."""
    iterate, at_hand, graph = problem.iterate, problem.at_hand, problem.graph
    first = at_hand.first_row
    last = at_hand.last_row
    row_velocities(graph, rows, first, last, iterate.direction, iterate.row_du)
    if not rows_are_linear(problem.law, iterate, first, last):
        return False
    for i in range(first, last):
        iterate.row_u[i] += iterate.row_du[i]
    evaluate_rows(problem.law, iterate, first, last)
    for index in range(at_hand.first_tree, at_hand.last_tree):
        tree = graph.island_tree[index]
        start = graph.tree_start[tree]
        for i in range(start, start + graph.tree_size[tree]):
            iterate.velocity[i] += iterate.direction[i]
    return True


@compiled
def _return_to_beginning(iterate: Table, at_hand: Table, scratch: Table) -> None:
    """Give contacts their velocities at the direction's beginning."""
    if scratch.coordinates == 0:
        return
    du = scratch.coordinate[3]
    at = 0
    for i in range(at_hand.first_contact, at_hand.last_contact):
        iterate.v1[i] -= du[at]
        iterate.v2[i] -= du[at + 1]
        iterate.vn[i] -= du[at + 2]
        at += 3


@compiled
def _forward(problem: Table) -> float:
    """Replace the direction by f = L⁻¹ b, and fill −Uᵀ f; returns fᵀ f."""
    graph, scratch = problem.graph, problem.scratch
    z = scratch.coordinate[4]
    width = scratch.coordinates
    for k in range(width):
        z[k] = 0.0
    square = 0.0
    for index in range(problem.at_hand.first_tree, problem.at_hand.last_tree):
        tree = graph.island_tree[index]
        n = graph.tree_size[tree]
        forward_chains(graph, problem.hessian, tree, problem.iterate.direction)
        f = problem.iterate.direction.ctypes.data + 8 * graph.tree_start[tree]
        columns = scratch.response.ctypes.data + scratch.response_start[tree] * STRIDE
        subtract_rows(z.ctypes.data, f, 8, columns, STRIDE, n, width)
        square += dot_rows(f, f, n)
    return square


@entry_point(types.int64(PROBLEM.type, CONTACT_SET.type, CONSTRAINT_SET.type))
def solve_in_contact_space(problem: Table, contacts: Table, rows: Table) -> int:
    """Fill the island's part of ``direction`` with one of descent, at whose end contacts agree.

    Needs the gradient, and the cost of the potentials in ``search_cost``; both follow the law's
    numbers. Leaves the estimates of contacts at the end, but their velocities at the beginning.
    Returns `SOLVED` if the end is the island's solution, which ``velocity`` then is, with all that
    belongs to it, `SPOILED` if round-off keeps the direction from being found, which H itself may
    stand, and `ON_THE_WAY` if it does not lead to the minimum: its length then says nothing.
    """
    iterate, at_hand, newton = problem.iterate, problem.at_hand, problem.newton
    graph, scratch = problem.graph, problem.scratch
    begin_direction(graph, iterate, at_hand)
    cost = newton.search_cost
    begun = scratch.base_tree == graph.island_tree[at_hand.first_tree] + 1
    if not begun and not begin_contact_space(problem, contacts, rows):
        return SPOILED
    # Where there is no room for more coordinates, a new base needs none but those of contacts.
    if not (follow_rows(problem, rows) or begin_contact_space(problem, contacts, rows)):
        return SPOILED
    end = AT_END
    left = 0.0
    square = _forward(problem)
    if scratch.coordinates > 0:
        end, rho, left = _iterate(problem, contacts, rows, square)
        if end == SPOILED:
            _return_to_beginning(iterate, at_hand, scratch)
            return SPOILED
    else:
        rho = 0.0
        problem.counts.iterations += 1
    _end_direction(problem, rho)
    wanted = _BEYOND_DOUBT * newton.wanted_residual
    if end == AT_END and left <= wanted * wanted and _end_here(problem, rows):
        return SOLVED
    _return_to_beginning(iterate, at_hand, scratch)
    if problem.law.settle_contacts != 0:
        cost = island_gradient(problem, contacts, rows)
    newton.search_cost = cost
    return end
