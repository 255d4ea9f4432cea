"""Newton directions of articulated trees with few contacts, by the Woodbury identity.

The Hessian is H = B + Jᵀ G J. The base B = A + Σ κ j jᵀ has the curvatures κ that scalar
constraints have at first. It does not change while Newton's method iterates, and neither do the
rows of J: those of each contact (`asperity.convex.contact_rows`), and one per constraint whose
curvature has changed since. G is block diagonal, with blocks for a contact's friction, its normal
direction, and each changed constraint. With B = L Lᵀ and the rows J of those with curvature,

    U = L⁻¹ Jᵀ,   W = Uᵀ U = J B⁻¹ Jᵀ,   K = G⁻¹ + W,
    H⁻¹ b = L⁻ᵀ (f − U K⁻¹ Uᵀ f),   f = L⁻¹ b.

W is the Delassus operator, and G⁻¹ the compliance. Instead of assembling and factorizing H, an
iteration solves with K, which has one row per contact direction with curvature
(`asperity.convex.reduced_system`).
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, entry_point
from asperity.compiled.row_kernels import dot_rows, subtract_rows
from asperity.contact.constraint_set import CONSTRAINT_SET, FRICTION
from asperity.contact.contact_set import CONTACT_SET
from asperity.convex.chain_cholesky import forward_chains
from asperity.convex.contact_iteration import (
    AT_END,
    ON_THE_WAY,
    SOLVED,
    SPOILED,
    iterate_contacts,
)
from asperity.convex.contact_rows import spread_changes, width
from asperity.convex.delassus import STRIDE, begin_contact_space, follow_rows
from asperity.convex.ellipsoids import move_contacts
from asperity.convex.island import island_gradient
from asperity.convex.potentials.rows import evaluate_rows
from asperity.convex.problem import PROBLEM, RESIDUAL_AND_STEP
from asperity.convex.problem_layout import MOST_TREES

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
# that change, as dry friction always does.
_MOST_OF_CONTACTS = 36
# Of several trees, whose H takes longer.
_MOST_OF_SEVERAL = 60
_LARGEST_PART = 1.3
_LARGEST_PART_WITH_FRICTION = 0.7
# Below, H is factorized as soon as K.
_SMALLEST_TREE = 6
# Part of the wanted residual up to which nobody looks again.
_BEYOND_DOUBT = 0.1


def large_trees(graph: Table) -> np.ndarray:
    """The trees that may fit."""
    return np.flatnonzero((graph.tree_size >= _SMALLEST_TREE) & (graph.tree_spatial == 0))


@compiled
def _island_size(graph: Table, at_hand: Table) -> int:
    """Dofs of the island, or 0 if no tree is large, or there are constraints between trees."""
    several = at_hand.last_tree - at_hand.first_tree
    if several > MOST_TREES:
        return 0
    size = 0
    largest = 0
    for index in range(at_hand.first_tree, at_hand.last_tree):
        tree = graph.island_tree[index]
        size += graph.tree_size[tree]
        if not graph.tree_spatial[tree]:
            largest = max(largest, graph.tree_size[tree])
    if largest < _SMALLEST_TREE:
        return 0
    for i in range(at_hand.first_row, at_hand.last_row):
        if graph.row_entry[i] < -1:
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
    # On near-rigid contacts, which methods with the other criterion have, solves have failed.
    if options.criterion != RESIDUAL_AND_STEP:
        return False
    alone = at_hand.last_tree - at_hand.first_tree == 1
    most = min(_MOST_OF_CONTACTS if alone else _MOST_OF_SEVERAL, int(_LARGEST_PART * size))
    count = 0
    for i in range(at_hand.first_contact, at_hand.last_contact):
        count += width(problem.graph, i)
    if count > most:
        return False
    # Dry friction takes coordinates, too.
    friction = 0
    for i in range(at_hand.first_row, at_hand.last_row):
        if law.row_kind[i] == FRICTION:
            friction += 1
    return friction == 0 or count + friction <= int(_LARGEST_PART_WITH_FRICTION * size)


@compiled
def _end_here(problem: Table) -> None:
    """Take the whole direction."""
    iterate, at_hand, graph = problem.iterate, problem.at_hand, problem.graph
    first = at_hand.first_row
    last = at_hand.last_row
    for i in range(first, last):
        iterate.row_u[i] += iterate.row_du[i]
    evaluate_rows(problem.law, iterate, first, last)
    for index in range(at_hand.first_tree, at_hand.last_tree):
        tree = graph.island_tree[index]
        start = graph.tree_start[tree]
        for i in range(start, start + graph.tree_size[tree]):
            iterate.velocity[i] += iterate.direction[i]


@compiled
def _return_to_beginning(problem: Table) -> None:
    """Give contacts and rows their velocities at the direction's beginning."""
    iterate, at_hand = problem.iterate, problem.at_hand
    du = problem.scratch.coordinate[3]
    spread_changes(problem.graph, iterate, at_hand, du)
    move_contacts(problem.graph, iterate, at_hand.first_contact, at_hand.last_contact, -1.0)
    for i in range(at_hand.first_row, at_hand.last_row):
        k = problem.hessian.row_coordinate[i]
        if k >= 0:
            iterate.row_u[i] -= du[k]


@compiled
def _forward(problem: Table) -> float:
    """Fill ``direction_product`` with f = L⁻¹ b, b = −g, and −Uᵀ f; returns fᵀ f."""
    graph, iterate, scratch = problem.graph, problem.iterate, problem.scratch
    z = scratch.coordinate[4]
    width = scratch.coordinates
    for k in range(width):
        z[k] = 0.0
    square = 0.0
    for index in range(problem.at_hand.first_tree, problem.at_hand.last_tree):
        tree = graph.island_tree[index]
        start = graph.tree_start[tree]
        n = graph.tree_size[tree]
        for i in range(start, start + n):
            iterate.direction_product[i] = -iterate.gradient[i]
        forward_chains(graph, problem.hessian, tree, iterate.direction_product)
        f = iterate.direction_product.ctypes.data + 8 * start
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
    newton, graph, scratch = problem.newton, problem.graph, problem.scratch
    cost = newton.search_cost
    begun = scratch.base_tree == graph.island_tree[problem.at_hand.first_tree] + 1
    if not begun and not begin_contact_space(problem, contacts, rows):
        return SPOILED
    # Where there is no room for more coordinates, a new base needs none but those of contacts.
    if not (follow_rows(problem, rows) or begin_contact_space(problem, contacts, rows)):
        return SPOILED
    square = _forward(problem)
    end, left = iterate_contacts(problem, contacts, rows, square)
    wanted = _BEYOND_DOUBT * newton.wanted_residual
    if end == AT_END and left <= wanted * wanted:
        _end_here(problem)
        return SOLVED
    _return_to_beginning(problem)
    if end != SPOILED and problem.law.settle_contacts != 0:
        cost = island_gradient(problem, contacts, rows)
    newton.search_cost = cost
    return end
