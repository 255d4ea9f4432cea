"""How the velocities of a solved problem respond to impulses.

With the Hessian H = A + Jᵀ G J, impulses p change the solution by H⁻¹ p to first order. For a
change w of velocities, H⁻¹ M w is what remains of w once implicit forces have opposed it: those
that A has beside the mass M, and contacts and constraints with their curvatures G. Where these are
stiff this is the projection of w onto their tangent space in the mass norm. A contact that the step
resolves is soft, and would yield. To get a projection at every step size, curvatures are first
multiplied by a large number, and those of contacts are at least that number times their mass.
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

__all__ = ["AS_SOLVED", "PROJECTING", "REPEATED", "STIFFENED", "velocity_response"]

AS_SOLVED, PROJECTING, REPEATED = range(3)
"""Which Hessian responds."""

STIFFENED = 1e4
"""One over what a projection leaves of a change; more would cost the digits of what sticks."""


@compiled
def _is_marked(graph: Table, guess: Table, at_hand: Table) -> bool:
    for index in range(at_hand.first_tree, at_hand.last_tree):
        if guess.tree_marked[graph.island_tree[index]] == 1:
            return True
    return False


@compiled
def _clear_direction(graph: Table, iterate: Table, at_hand: Table) -> None:
    """Let the island's part of ``direction`` be zero."""
    for index in range(at_hand.first_tree, at_hand.last_tree):
        tree = graph.island_tree[index]
        start = graph.tree_start[tree]
        for i in range(start, start + graph.tree_size[tree]):
            iterate.direction[i] = 0.0


@compiled
def _stiffen(graph: Table, iterate: Table, at_hand: Table, contacts: Table) -> None:
    """Multiply the island's curvatures."""
    for i in range(at_hand.first_contact, at_hand.last_contact):
        normal = iterate.hnn[i]
        if not normal > 0.0:
            continue
        share = contacts.inverse_mass[graph.contact[i]] * normal
        factor = STIFFENED * max(1.0, 1.0 / share) if share > 0.0 else STIFFENED
        iterate.h11[i] *= factor
        iterate.h12[i] *= factor
        iterate.h22[i] *= factor
        iterate.h1n[i] *= factor
        iterate.h2n[i] *= factor
        iterate.hnn[i] *= factor
        for k in range(3):
            iterate.slip_curvature[i, k] *= factor
    for i in range(at_hand.first_row, at_hand.last_row):
        iterate.row_curvature[i] *= STIFFENED


@compiled
def _factorize(problem: Table, contacts: Table, rows: Table, stiffened: bool) -> bool:
    """Factorize the island's Hessian; False if that fails."""
    graph, at_hand = problem.graph, problem.at_hand
    alone = at_hand.last_tree == at_hand.first_tree + 1
    if (
        alone
        and at_hand.first_contact == at_hand.last_contact
        and at_hand.first_row == at_hand.last_row
    ):
        begin_tree(graph, problem.smooth, problem.hessian, graph.island_tree[at_hand.first_tree])
        return call_pp_status(problem.entries.factorize, problem, 0) != 0
    island_impulses(problem)
    if stiffened:
        _stiffen(graph, problem.iterate, at_hand, contacts)
    return factorize_island(problem, contacts, rows)


@entry_point(types.int64(PROBLEM.type, CONTACT_SET.type, CONSTRAINT_SET.type, types.int64))
def velocity_response(problem: Table, contacts: Table, rows: Table, how: int) -> int:
    """Replace impulses in ``direction`` by H⁻¹ p in islands in which a tree is marked.

    Elsewhere ``direction`` becomes zero, and where H cannot be factorized, whose trees lose their
    mark. Needs the solution of the problem, with the velocities of its contacts and rows. H is
    `AS_SOLVED`, so stiff that H⁻¹ is `PROJECTING`, or that of the last call, which is `REPEATED`.
    Returns the number of islands that were solved.
    """
    at_hand, graph = problem.at_hand, problem.graph
    solved = 0
    problem.scratch.base_tree = 0
    for k in range(graph.islands):
        choose_island(graph, at_hand, problem.newton, k)
        if not _is_marked(graph, problem.guess, at_hand):
            _clear_direction(graph, problem.iterate, at_hand)
            continue
        if how != REPEATED and not _factorize(problem, contacts, rows, how == PROJECTING):
            _clear_direction(graph, problem.iterate, at_hand)
            for index in range(at_hand.first_tree, at_hand.last_tree):
                problem.guess.tree_marked[graph.island_tree[index]] = 0
            continue
        # These are the factors of no solve.
        for index in range(at_hand.first_tree, at_hand.last_tree):
            problem.hessian.factor_island[graph.island_tree[index]] = 0
        call_pp_status(problem.entries.solve_factors, problem, 0)
        solved += 1
    return solved
