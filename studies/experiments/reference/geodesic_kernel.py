"""Kernel of the geodesic interior-point method, on the block algebra of Newton's method.

Permenter, "A geodesic interior-point method for linear optimization over symmetric cones"
(arXiv 2008.08047), for the primal problem of SAP (equation 19). Contacts are scaled to Lorentz
cones, with the normal first: λ = (μ γ_n, γ_t), s = (g_n/μ, g_t), and R and v̂ accordingly. Points of
the central path of parameter m are λ = √m Q e^d, s = √m Q⁻¹ e^(−d) with Q = Q(w^½), the quadratic
representation. Linearised about d = 0, with κ = 1/√m, u = κ v and T = (I + Q R Q)⁻¹, S = Q T Q:

    (A + Jᵀ S J) u = κ A v* + Jᵀ (2 Q T e + κ S v̂),   d = 2 T e − e − T Q (J u − κ v̂)

Both are affine in κ, so one factorization with two right-hand sides gives them for every κ. An
iteration takes the largest κ, up to that of the wished m, for which ‖d‖_∞ ≤ 1 (spectral norm, over
all cones), and moves along the geodesic, w ← Q exp(α d) with α = min(1, 2/‖d‖²_∞). It ends with the
wished κ: then λ = Q(e + d)/κ and s = Q⁻¹(e − d)/κ are in their cones, and the momentum balance is
met by u.

Everything is done in the eigenvectors of Q: (1, t)/√2, (1, −t)/√2 and (0, t⊥), where t is the
direction of w's tangential part; the eigenvalues are λ_1, λ_2 and √(λ_1 λ_2), those of w. Next to
the cone's boundary λ_2 is lost in the round-off of w itself. So w is kept as its tangential part
and its determinant λ_1 λ_2, which grows by exactly e^(2 α d_0) in an iteration.

Contacts without friction and limits are half lines, for which all of this is scalar.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, entry_point
from asperity.compiled.calls import call_pp_status, call_ppp_status
from asperity.contact.constraint_set import CONSTRAINT_SET, EQUALITY
from asperity.contact.contact_set import CONTACT_SET
from asperity.convex.contact_velocities import (
    add_impulses,
    fill_velocities,
    row_velocities,
)
from asperity.convex.island import (
    begin_island,
    choose_island,
    guess_velocities,
)
from asperity.convex.paths import spread_velocities
from asperity.convex.problem import CONVERGED, NON_FINITE, NOT_CONVERGED, PROBLEM
from studies.experiments.reference.geodesic_distance import (
    choose_kappa,
    fill_distance,
    fill_first_impulses,
    fill_second_impulses,
)
from studies.experiments.reference.geodesic_points import (
    fill_frames,
    fill_row_curvatures,
    fill_solution,
    move_points,
    start_points,
)
from studies.experiments.reference.geodesic_table import GEODESIC, LARGEST

__all__ = ["geodesic_kernel"]

# A warm start is given up when its first ‖d‖_∞ is above the first number for every κ, or when it
# allows less than this part of the wished κ: then it is no nearer to the end than a cold one is.
_WARM_DISTANCE = 1.05
_WARM_SHARE = 0.1


@compiled
def _solve(
    problem: Table,
    contacts: Table,
    rows: Table,
    contact_range: tuple[int, int],
    row_range: tuple[int, int],
    share: float,
    out: np.ndarray,
) -> float:
    """out = (A + Jᵀ S J)⁻¹ (share r + Jᵀ γ) with the impulses at hand; fills velocities."""
    graph = problem.graph
    listed = graph.island_tree
    direction = problem.iterate.direction
    for index in range(problem.at_hand.first_tree, problem.at_hand.last_tree):
        start = graph.tree_start[listed[index]]
        for i in range(start, start + graph.tree_size[listed[index]]):
            direction[i] = share * problem.smooth.rhs[i]
    add_impulses(
        problem.graph, problem.iterate, contacts, rows, contact_range, row_range, direction, 1.0
    )
    call_pp_status(problem.entries.solve_factors, problem, 0)
    iterate = problem.iterate
    first, last = contact_range
    if last > first:
        island = graph.component[graph.ntree + listed[problem.at_hand.first_tree]]
        spread_velocities(graph, iterate, contacts, island, island + 1, direction)
    fill_velocities(
        graph,
        contacts,
        first,
        last,
        direction,
        iterate.v1,
        iterate.v2,
        iterate.vn,
        iterate.turn,
    )
    row_velocities(graph, rows, row_range[0], row_range[1], direction, iterate.row_u)
    total = 0.0
    for index in range(problem.at_hand.first_tree, problem.at_hand.last_tree):
        start = graph.tree_start[listed[index]]
        for i in range(start, start + graph.tree_size[listed[index]]):
            out[i] = direction[i]
            total += abs(direction[i])
    return total


@compiled
def _write_velocity(
    problem: Table, rows: Table, work: Table, row_range: tuple[int, int], kappa: float
) -> None:
    """v = u/κ; also fills the velocities of rows."""
    graph = problem.graph
    for index in range(problem.at_hand.first_tree, problem.at_hand.last_tree):
        start = graph.tree_start[graph.island_tree[index]]
        for i in range(start, start + graph.tree_size[graph.island_tree[index]]):
            work.velocity[i] = work.first[i] / kappa + work.second[i]
    row_velocities(graph, rows, row_range[0], row_range[1], work.velocity, problem.iterate.row_u)


@compiled
def _count_cones(law: Table, contact_range: tuple[int, int], row_range: tuple[int, int]) -> int:
    count = contact_range[1] - contact_range[0]
    for i in range(row_range[0], row_range[1]):
        if law.row_kind[i] != EQUALITY:
            count += 1
    return count


@compiled
def _solve_island(
    problem: Table,
    contacts: Table,
    rows: Table,
    work: Table,
    contact_range: tuple[int, int],
    row_range: tuple[int, int],
    warm: bool,
) -> tuple[int, int]:
    """Solve the island at hand, whose contact and row velocities are those of the guess."""
    law = problem.law
    wished = 1.0 / np.sqrt(work.complementarity)
    most = work.max_iterations
    cones = _count_cones(law, contact_range, row_range)
    start_points(problem, work, contact_range, row_range, warm)
    for iteration in range(1, most + 1):
        fill_frames(problem, work, contact_range)
        fill_row_curvatures(problem, work, row_range)
        call_ppp_status(problem.entries.assemble, problem, contacts, rows)
        if call_pp_status(problem.entries.factorize, problem, 0) == 0:
            return NON_FINITE, iteration
        fill_first_impulses(problem, work, contact_range, row_range)
        size = _solve(problem, contacts, rows, contact_range, row_range, 0.0, work.first)
        fill_distance(
            problem,
            contacts,
            work,
            contact_range,
            row_range,
            False,
            work.offset,
            work.row_offset,
        )
        fill_second_impulses(problem, contacts, work, contact_range, row_range)
        size += _solve(problem, contacts, rows, contact_range, row_range, 1.0, work.second)
        fill_distance(
            problem,
            contacts,
            work,
            contact_range,
            row_range,
            True,
            work.slope,
            work.row_slope,
        )
        if not size <= LARGEST:
            return NON_FINITE, iteration
        if cones == 0:
            _write_velocity(problem, rows, work, row_range, 1.0)
            fill_solution(problem, work, contact_range, row_range, 1.0)
            return CONVERGED, iteration
        kappa, norm = choose_kappa(law, work, contact_range, row_range, wished)
        if not norm <= LARGEST:
            return NON_FINITE, iteration
        if (kappa == wished and norm <= 1.0) or iteration == most:
            kappa = kappa if kappa > 0.0 else wished
            _write_velocity(problem, rows, work, row_range, kappa)
            fill_solution(problem, work, contact_range, row_range, kappa)
            return (CONVERGED if kappa == wished and norm <= 1.0 else NOT_CONVERGED), iteration
        far = norm > _WARM_DISTANCE or kappa < _WARM_SHARE * wished
        if warm and iteration == 1 and far:
            start_points(problem, work, contact_range, row_range, False)
            continue
        move_points(law, work, contact_range, row_range, kappa, min(1.0, 2.0 / (norm * norm)))
    return NOT_CONVERGED, most


@entry_point(types.int64(PROBLEM.type, CONTACT_SET.type, CONSTRAINT_SET.type, GEODESIC.type))
def geodesic_kernel(problem: Table, contacts: Table, rows: Table, work: Table) -> int:
    """Solve every island; the guess in the problem's ``velocity`` stays.

    Uses the problem's factors, curvatures, impulses and velocities of contacts and rows. Returns
    a code of `asperity.convex.convex_newton`.
    """
    warm = work.warm == 1
    work.iterations = 0
    work.longest_iterations = 0
    for tree in range(problem.hessian.factor_island.size):
        problem.hessian.factor_island[tree] = 0
    worst = CONVERGED
    guess_velocities(problem.graph, problem.iterate, contacts)
    for k in range(problem.graph.islands):
        choose_island(problem.graph, problem.at_hand, problem.newton, k)
        contact_range = (problem.at_hand.first_contact, problem.at_hand.last_contact)
        row_range = (problem.at_hand.first_row, problem.at_hand.last_row)
        begin_island(problem, rows)
        code, used = _solve_island(problem, contacts, rows, work, contact_range, row_range, warm)
        if (
            problem.at_hand.first_contact < problem.at_hand.last_contact
            or problem.at_hand.first_row < problem.at_hand.last_row
        ):
            work.iterations += used
            work.longest_iterations = max(work.longest_iterations, used)
        worst = max(worst, code)
    return worst
