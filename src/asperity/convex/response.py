"""How the velocities of a solved problem respond to impulses.

With the Hessian H = A + Jᵀ G J, impulses p change the solution by H⁻¹ p, up to what is quadratic in
them. H⁻¹ M w is a change w of velocities without what A has beside the mass M, and contacts and
constraints with their curvatures G, would take back: where these are stiff, the projection of w
onto their tangent space in the metric of the mass. A contact that the step resolves is soft and
would be seen to yield. For a projection whatever the step, curvatures are first multiplied by a
large number, and those of contacts are that times their mass at least.
"""

from __future__ import annotations

from numba import types

from asperity.compiled import Table, compiled, entry_point
from asperity.compiled.calls import call_pp_status
from asperity.contact.constraint_set import CONSTRAINT_SET
from asperity.contact.contact_set import CONTACT_SET
from asperity.convex.hessian_assembly import begin_tree
from asperity.convex.island import choose_island, factorize_island, island_impulses
from asperity.convex.problem import PROBLEM

__all__ = ["STIFFENED", "velocity_response"]

STIFFENED = 1e4
"""One over what a projection leaves of a change; more would cost the digits of what sticks."""


@compiled
def _is_marked(problem: Table) -> bool:
    for index in range(problem.at_hand.first_tree, problem.at_hand.last_tree):
        if problem.guess.tree_marked[problem.graph.island_tree[index]] == 1:
            return True
    return False


@compiled
def _clear_direction(problem: Table) -> None:
    """Let the island's part of ``direction`` be zero."""
    graph = problem.graph
    for index in range(problem.at_hand.first_tree, problem.at_hand.last_tree):
        tree = graph.island_tree[index]
        start = graph.tree_start[tree]
        for i in range(start, start + graph.tree_size[tree]):
            problem.iterate.direction[i] = 0.0


@compiled
def _stiffen(problem: Table, contacts: Table) -> None:
    """Multiply the island's curvatures."""
    for i in range(problem.at_hand.first_contact, problem.at_hand.last_contact):
        normal = problem.iterate.hnn[i]
        if not normal > 0.0:
            continue
        share = contacts.inverse_mass[problem.graph.contact[i]] * normal
        factor = STIFFENED * max(1.0, 1.0 / share) if share > 0.0 else STIFFENED
        problem.iterate.h11[i] *= factor
        problem.iterate.h12[i] *= factor
        problem.iterate.h22[i] *= factor
        problem.iterate.h1n[i] *= factor
        problem.iterate.h2n[i] *= factor
        problem.iterate.hnn[i] *= factor
        for k in range(3):
            problem.iterate.slip_curvature[i, k] *= factor
    for i in range(problem.at_hand.first_row, problem.at_hand.last_row):
        problem.iterate.row_curvature[i] *= STIFFENED


@compiled
def _factorize(problem: Table, contacts: Table, rows: Table, stiffened: bool) -> bool:
    """Factorize the island's Hessian; False if that fails."""
    if (
        problem.at_hand.first_contact == problem.at_hand.last_contact
        and problem.at_hand.first_row == problem.at_hand.last_row
    ):
        begin_tree(problem, problem.graph.island_tree[problem.at_hand.first_tree])
        return call_pp_status(problem.entries.factorize, problem, 0) != 0
    island_impulses(problem)
    if stiffened:
        _stiffen(problem, contacts)
    return factorize_island(problem, contacts, rows)


@entry_point(types.int64(PROBLEM.type, CONTACT_SET.type, CONSTRAINT_SET.type, types.int64))
def velocity_response(problem: Table, contacts: Table, rows: Table, stiffened: int) -> int:
    """Replace impulses in ``direction`` by H⁻¹ p in islands in which a tree is marked.

    Elsewhere, and where H cannot be factorized, ``direction`` becomes zero. Needs the solution of
    the problem, with the velocities of its contacts and rows. With ``stiffened`` 1 curvatures are
    so stiff that H⁻¹ projects. Returns the number of islands that were solved.
    """
    graph = problem.graph
    solved = 0
    problem.scratch.base_tree = 0
    for k in range(graph.islands):
        choose_island(problem, k)
        if not _is_marked(problem) or not _factorize(problem, contacts, rows, stiffened == 1):
            _clear_direction(problem)
            continue
        # These are the factors of no solve.
        for index in range(problem.at_hand.first_tree, problem.at_hand.last_tree):
            problem.hessian.factor_island[graph.island_tree[index]] = 0
        call_pp_status(problem.entries.solve_factors, problem, 0)
        solved += 1
    return solved
