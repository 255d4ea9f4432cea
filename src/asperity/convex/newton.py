"""Newton's method with line search, island by island (CENIC VI, SAP IV).

With D = diag(M)^(−1/2), or whatever diagonal the problem holds as its mass, an island ends

- by residual and step (CENIC, equations 32 and 33), when either holds with s = max(1, ‖D r‖):

      ‖D ∇ℓ‖ ≤ ε s
      η ‖D⁻¹ Δv‖ ≤ ε s,   η = θ/(1 − θ),  θ = ‖D⁻¹ Δv_k‖/‖D⁻¹ Δv_{k−1}‖,  η = 1 at first

- by momentum (SAP, equation 26), with the momentum p = A v and the impulses j = Jᵀ γ:

      ‖D ∇ℓ‖ ≤ ε_a + ε max(‖D p‖, ‖D j‖)

so a good guess needs neither a Hessian nor a factorization. With Hessian reuse the last factors
serve until the predicted error after the wished number of iterations is too large (35); convexity
makes any positive definite matrix a descent direction. Without it they serve for the last iteration
alone, where the progress of the one before says that they will do. Near convergence round-off can
turn the direction uphill or stop the progress of the gradient: the solve then ends at the
attainable accuracy, as converged.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, entry_point
from asperity.compiled.calls import call_pp_status, call_ppp_status
from asperity.contact.constraint_set import CONSTRAINT_SET
from asperity.contact.contact_set import CONTACT_SET
from asperity.convex.assembly import assemble
from asperity.convex.block_cholesky import factorize, solve_factors
from asperity.convex.island import (
    choose_island,
    extrapolate_guess,
    follow_direction,
    island_gradient,
    island_impulses,
    momentum_scale,
    multiply,
    newton_direction,
    scaled_norm,
)
from asperity.convex.kinematics import (
    add_surface_velocities,
    contact_velocities,
    link_velocities,
    row_velocities,
)
from asperity.convex.line_search import line_search
from asperity.convex.potentials.lagged import begin_estimates, update_estimates
from asperity.convex.problem import (
    CONVERGED,
    LAGGED,
    MOMENTUM,
    NON_FINITE,
    NOT_CONVERGED,
    PROBLEM,
)

__all__ = ["install_solver", "solve_problem"]

_ROUND_OFF = 1e-14

# np.isfinite subtracts a value from itself, which reassociation turns into zero for any sum.
_LARGEST = 1.7976931348623157e308


@compiled
def _solve_island(
    problem: Table, contacts: Table, rows: Table, have_factors: bool, extrapolated: bool
) -> int:
    """Minimise over the island at hand, from the guess in ``velocity``."""
    row_range = (problem.first_row, problem.last_row)
    first = problem.first_tree
    last = problem.last_tree
    wished = problem.reused_iterations
    most = problem.max_iterations
    by_momentum = problem.criterion == MOMENTUM
    lagged = problem.law == LAGGED
    epsilon = problem.tolerance

    multiply(problem, first, last, problem.velocity, problem.product)
    row_velocities(problem, rows, row_range[0], row_range[1], problem.velocity, problem.row_u)
    scale = 1.0
    previous = 0.0
    rate = 0.0
    before = 0.0
    best = np.inf
    stalled = 0
    if lagged:
        begin_estimates(problem, problem.first_contact, problem.last_contact)
    # Factors of an earlier solve serve if the graph is the same one and this island had been
    # factorized.
    fresh = have_factors and problem.factor_island[problem.island_tree[first]] == last - first
    for iteration in range(most + 1):
        cost = island_gradient(problem, contacts, rows)
        norm = scaled_norm(problem, first, last, problem.gradient)
        if by_momentum:
            scale = momentum_scale(problem, first, last) + problem.absolute_tolerance / epsilon
        elif iteration == 0:
            scale = max(1.0, scaled_norm(problem, first, last, problem.rhs))
        if not abs(norm + cost) <= _LARGEST:
            return NON_FINITE
        if norm <= epsilon * scale:
            return CONVERGED
        if iteration == 0 and extrapolated and extrapolate_guess(problem, contacts, rows, cost):
            if lagged:
                begin_estimates(problem, problem.first_contact, problem.last_contact)
            cost = island_gradient(problem, contacts, rows)
            norm = scaled_norm(problem, first, last, problem.gradient)
            if norm <= epsilon * scale:
                return CONVERGED
        # The gradient is a difference of large numbers; when it has stopped falling at the level of
        # round-off there is nothing left to gain.
        if norm < 0.5 * best:
            best = norm
            stalled = 0
        else:
            stalled += 1
            if stalled >= 6 and norm <= 1e4 * _ROUND_OFF * max(scale, abs(cost)):
                return CONVERGED
        if iteration == most:
            problem.worst_residual = max(problem.worst_residual, norm / scale)
            return NOT_CONVERGED

        refresh = not fresh
        if fresh and wished > 0 and iteration >= 2:
            ahead = max(wished - iteration, 0)
            refresh = rate**ahead / (1.0 - rate) * previous >= epsilon * scale
        elif wished == 0:
            # Old factors gain once more what the last iteration has gained: enough to end with?
            refresh = not (iteration > 0 and norm * norm <= 0.1 * epsilon * scale * before)
        before = norm
        if refresh:
            call_ppp_status(problem.assemble, problem, contacts, rows)
            if call_pp_status(problem.factorize, problem, 0) == 0:
                return NON_FINITE
            problem.factorizations += 1
            fresh = True
            for index in range(first, last):
                problem.factor_island[problem.island_tree[index]] = last - first
        else:
            problem.reuses += 1
        slope, length = newton_direction(problem, first, last)
        if not slope < 0.0:
            # Uphill within round-off, or NaN.
            return CONVERGED if abs(slope) <= _LARGEST else NON_FINITE

        alpha = follow_direction(problem, contacts, rows, cost, slope)
        if alpha == 0.0:
            return CONVERGED
        problem.iterations += 1
        if lagged:
            update_estimates(problem, problem.first_contact, problem.last_contact, alpha)

        length *= alpha
        if iteration == 0:
            eta = 1.0
            rate = 0.0
        else:
            rate = min(length / previous, 0.9999) if previous > 0.0 else 0.0
            eta = rate / (1.0 - rate)
        previous = length
        if not by_momentum and eta * length <= epsilon * scale:
            island_impulses(problem)
            return CONVERGED
    return NOT_CONVERGED


@compiled
def _solve_free(problem: Table) -> int:
    """Solve an island without contacts or rows, which is one tree: A v = r."""
    tree = problem.island_tree[problem.first_tree]
    start = problem.tree_start[tree]
    size = problem.tree_size[tree]
    block = problem.block_start[tree]
    for k in range(block, block + size * size):
        problem.factor[k] = problem.matrix[k]
    if call_pp_status(problem.factorize, problem, 0) == 0:
        return NON_FINITE
    for i in range(start, start + size):
        problem.direction[i] = problem.rhs[i]
    call_pp_status(problem.solve_factors, problem, 0)
    total = 0.0
    for i in range(start, start + size):
        problem.velocity[i] = problem.direction[i]
        total += problem.direction[i]
    problem.factor_island[tree] = 0
    return CONVERGED if abs(total) <= _LARGEST else NON_FINITE


@entry_point(types.int64(PROBLEM.type, CONTACT_SET.type, CONSTRAINT_SET.type, types.int64))
def solve_problem(problem: Table, contacts: Table, rows: Table, have_factors: int) -> int:
    """Solve every island; the solution replaces the guess in ``velocity``, with its impulses.

    ``have_factors`` says that the factors of the last solve belong to the same graph (for Hessian
    reuse). Contact velocities of the guess must not be filled: this does it. Returns ``CONVERGED``,
    ``NOT_CONVERGED`` (the worst residual is recorded, the solution is the best iterate) or
    ``NON_FINITE``.
    """
    problem.solves += 1
    ncontact = problem.island_contact_start[problem.islands]
    link_velocities(problem, contacts, problem.velocity)
    contact_velocities(
        problem,
        contacts,
        0,
        ncontact,
        problem.velocity,
        problem.v1,
        problem.v2,
        problem.vn,
    )
    add_surface_velocities(problem, contacts, 0, ncontact)
    worst = CONVERGED
    extrapolated = problem.extrapolated == 1
    problem.extrapolated = 0
    if have_factors == 0:
        for tree in range(problem.factor_island.size):
            problem.factor_island[tree] = 0
    longest = 0
    for k in range(problem.islands):
        choose_island(problem, k)
        if problem.first_contact == problem.last_contact and problem.first_row == problem.last_row:
            worst = max(worst, _solve_free(problem))
        else:
            before = problem.iterations
            status = _solve_island(problem, contacts, rows, have_factors == 1, extrapolated)
            worst = max(worst, status)
            longest = max(longest, problem.iterations - before)
    problem.longest_iterations += longest
    return worst


def install_solver(problem: Table) -> None:
    """Compile the solver and put its entry points into a problem."""
    problem.assemble = assemble.address
    problem.factorize = factorize.address
    problem.solve_factors = solve_factors.address
    problem.line_search = line_search.address
