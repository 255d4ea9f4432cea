"""Newton's method with line search, island by island (CENIC VI, SAP IV).

With D = diag(M)^(−1/2), or whatever diagonal the problem holds as its mass, an island ends

- by residual and step (CENIC, equations 32 and 33), when either holds:

      ‖D ∇ℓ‖ ≤ ε s,   s = min(max(1, min(‖D r‖, ‖D j‖)), 100 max(‖D δt k‖, ‖D j‖))
      η ‖D⁻¹ Δv‖ ≤ ε s,   η = θ/(1 − θ),  θ = ‖D⁻¹ Δv_k‖/‖D⁻¹ Δv_{k−1}‖,  η = 1 at first

  with the impulses j = Jᵀ γ of constraints and δt k of forces. The paper's s is max(1, ‖D r‖), by
  which a block on a heavy conveyor belt would be solved for no more accurately than the belt, and
  forces that leave light bodies with less than ε² J in a step would not move them at all;

- by momentum (SAP, equation 26), with the momentum p = A v:

      ‖D ∇ℓ‖ ≤ ε_a + ε max(‖D p‖, ‖D j‖)

so a good guess needs neither a Hessian nor a factorization. With Hessian reuse the last factors
serve until the predicted error after the wished number of iterations is too large (35); convexity
makes any positive definite matrix a descent direction. Without it they serve for the last iteration
alone, where the progress of the one before says that they will do. Of deformable bodies new factors
take as long as two iterations or more: a solve begins with those of the last step of the same size,
if it begins near its solution, and they serve for as long as their progress says that two more
iterations will do. Farther off other contacts stick than in those factors, which lead away. Near
convergence round-off can turn the direction uphill or stop the progress of the gradient: the solve
then ends at the attainable accuracy, as converged.

Forces in r may depend on the velocity, as gyroscopic ones do. They are those of the iterate
wherever the gradient is (``follow_forces``). By the second criterion a solve ends only once these
forces no longer change.

A law's numbers may depend on the solution, as bounds of friction do. They then follow the iterates
until they agree: a fixed point iteration within Newton's method, each of whose steps minimises a
convex cost. It contracts wherever friction changes normal impulses by less than itself, and always
does as steps become small.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, entry_point
from asperity.compiled.calls import call_pp_status, call_ppp_status
from asperity.contact.constraint_set import CONSTRAINT_SET, FRICTION
from asperity.contact.contact_set import CONTACT_SET
from asperity.convex.block_cholesky import factorize, solve_factors
from asperity.convex.contact_space import (
    AT_END,
    SOLVED,
    SPOILED,
    fits_contact_space,
    large_trees,
    solve_in_contact_space,
)
from asperity.convex.divided_phases import FEWEST_TREES, install_divided
from asperity.convex.ellipsoids import scaled_slip
from asperity.convex.hessian_assembly import assemble, begin_tree
from asperity.convex.island import (
    begin_island,
    factorize_island,
    follow_forces,
    give_up,
    gradient_norm,
    impulse_norm,
    island_estimates,
    island_gradient,
    island_impulses,
    largest_residual,
    scaled_norm,
    settle,
    settle_island,
    solve_islands,
)
from asperity.convex.island_steps import (
    direction_size,
    follow_direction,
    newton_direction,
    prepare_direction,
)
from asperity.convex.line_search import line_search
from asperity.convex.particles.panels import same_step, switch_panels
from asperity.convex.particles.solver import install_particles
from asperity.convex.potentials.contact_driver import (
    begin_estimates,
)
from asperity.convex.problem import CONVERGED, MOMENTUM, NON_FINITE, NOT_CONVERGED, PROBLEM

__all__ = ["begin_solve", "end_solve", "install_solver", "solve_problem"]

_ROUND_OFF = 1e-14
# Part of the slip, or of the stiction tolerance, by which the slip of a solution may be off.
_SLIP_LEFT = 0.03
# Iterations without progress of the gradient after which round-off may be the reason.
_PATIENCE = 6
# Disagreement of a law's numbers with the solution that is left where they have changed too often.
_NEARLY_SETTLED = 0.1
# Disagreement up to which the end of a Newton step is worth taking the law's numbers from.
_WORTH_ANTICIPATING = 0.3
# Share of the slope at which a search for a better guess ends.
_ROUGH = 0.3
# Share of Newton's step up to which a search that ends there says that its end is far from where
# the direction leads, which is what the law's numbers are taken from.
_SHORT = 0.3

# Residual over s up to which a solve begins with factors of an earlier one.
_NEAR = 0.02

# What a stage of an iteration has found, besides the codes that solvers return.
_GOES_ON = 3
_BEGINS_ANEW = 4  # contact space has failed: the next iteration takes the Hessian itself

# np.isfinite subtracts a value from itself, which reassociation turns into zero for any sum.
_LARGEST = 1.7976931348623157e308


@compiled
def _begin(problem: Table, rows: Table) -> None:
    """Prepare the solve of the island at hand from the guess in ``velocity``."""
    at_hand, newton = problem.at_hand, problem.newton
    begin_island(problem, rows)
    begin_estimates(problem, at_hand.first_contact, at_hand.last_contact)
    newton.disagreement = np.inf
    newton.changes = 0
    newton.in_contact_space = 1 if fits_contact_space(problem) else 0
    newton.has_factors = 1 if _has_factors(problem.graph, problem.hessian, at_hand) else 0
    newton.has_old_factors = newton.has_factors if problem.smooth.bond_step > 0.0 else 0
    newton.wanted_residual = 0.0
    newton.previous_residual = 0.0
    newton.least_residual = np.inf
    newton.stalled = 0
    newton.search_step = 1.0
    newton.step_length = 0.0
    newton.rate = 0.0


@compiled
def _evaluate(problem: Table, contacts: Table, rows: Table) -> None:
    """Fill gradient, curvatures, the cost of the potentials, and ‖D ∇ℓ‖.

    Forces that depend on the velocity are those of the iterate.
    """
    follow_forces(problem)
    problem.newton.search_cost = island_gradient(problem, contacts, rows)
    problem.newton.residual = gradient_norm(problem)


@compiled
def _wanted_residual(problem: Table) -> float:
    """What ‖D ∇ℓ‖ must not exceed at the end: ε s, or ε_a + ε max(‖D p‖, ‖D j‖)."""
    graph, smooth, iterate = problem.graph, problem.smooth, problem.iterate
    options = problem.options
    first, last = problem.at_hand.first_tree, problem.at_hand.last_tree
    if options.criterion == MOMENTUM:
        impulse = impulse_norm(graph, smooth, iterate, first, last)
        momentum = scaled_norm(graph, smooth, first, last, iterate.product)
        return options.absolute_tolerance + options.tolerance * max(momentum, impulse)
    return largest_residual(problem, options.tolerance)


@compiled
def _extrapolate_guess(problem: Table, contacts: Table, rows: Table) -> bool:
    """Improve the guess along ``extrapolation``, as far as the cost falls; True if it does."""
    at_hand, newton, graph = problem.at_hand, problem.newton, problem.graph
    slope = 0.0
    newton.begun = 0
    for index in range(at_hand.first_tree, at_hand.last_tree):
        start = graph.tree_start[graph.island_tree[index]]
        for i in range(start, start + graph.tree_size[graph.island_tree[index]]):
            problem.iterate.direction[i] = problem.guess.extrapolation[i]
            slope += problem.iterate.gradient[i] * problem.guess.extrapolation[i]
    if not slope < 0.0:
        return False
    prepare_direction(problem, contacts, rows)
    newton.search_slope = slope
    if follow_direction(problem, _ROUGH) == 0.0:
        return False
    first = at_hand.first_contact
    last = at_hand.last_contact
    begin_estimates(problem, first, last)
    settle(problem, contacts)
    newton.changes = 0
    begin_estimates(problem, first, last)
    _evaluate(problem, contacts, rows)
    return True


@compiled
def _stalls(newton: Table) -> bool:
    """Whether the gradient has stopped falling."""
    if newton.residual < 0.5 * newton.least_residual:
        newton.stalled = 0
        newton.least_residual = newton.residual
        return False
    newton.stalled += 1
    return newton.stalled >= _PATIENCE


@compiled
def _is_round_off(options: Table, newton: Table) -> bool:
    """Whether a gradient that has stopped falling is round-off, a difference of large numbers."""
    scale = max(1.0, newton.wanted_residual / options.tolerance, abs(newton.search_cost))
    return newton.residual <= 1e4 * _ROUND_OFF * scale


@compiled
def _look(problem: Table, contacts: Table, rows: Table, iteration: int) -> int:
    """Evaluate the iterate; a code if the solve is over, or `_GOES_ON`."""
    newton, options = problem.newton, problem.options
    follows = problem.guess.is_close == 1 if iteration == 0 else newton.search_step > _SHORT
    settled = follows and settle(problem, contacts)
    _evaluate(problem, contacts, rows)
    wanted = _wanted_residual(problem)
    newton.wanted_residual = wanted
    if not abs(newton.residual + newton.search_cost) <= _LARGEST:
        return NON_FINITE
    if newton.residual <= wanted:
        if settled or settle(problem, contacts):
            return CONVERGED
        _evaluate(problem, contacts, rows)
    if (
        iteration == 0
        and problem.guess.extrapolated == 1
        # In contact space the guess is the friction's direction, which extrapolation spoils.
        and newton.in_contact_space == 0
        and _extrapolate_guess(problem, contacts, rows)
        and newton.residual <= wanted
    ):
        return CONVERGED
    if _stalls(newton):
        if _is_round_off(options, newton):
            return CONVERGED
        newton.in_contact_space = 0
    if iteration == options.max_iterations:
        return give_up(problem.counts, newton.residual * options.tolerance / wanted)
    return _GOES_ON


@compiled
def _has_factors(graph: Table, hessian: Table, at_hand: Table) -> bool:
    """Whether there are factors of just this island from an earlier solve of the same graph."""
    size = at_hand.last_tree - at_hand.first_tree
    return hessian.factor_island[graph.island_tree[at_hand.first_tree]] == size


@compiled
def _factors_serve(problem: Table, iteration: int) -> bool:
    """Whether the last factors are good enough for this iteration, too.

    With Hessian reuse they are unless the predicted error θ^m/(1 − θ) ‖D⁻¹ Δv‖, after the m
    iterations that are left of those wished for, is too large (CENIC, equation 35).
    """
    newton = problem.newton
    wished = problem.options.reused_iterations
    wanted = newton.wanted_residual
    if wished == 0:
        step = problem.smooth.bond_step
        norm = newton.residual
        before = newton.previous_residual
        if iteration == 0:
            tree = problem.graph.island_tree[problem.at_hand.first_tree]
            same = step > 0.0 and same_step(problem.hessian.factor_step[tree], step)
            return same and norm * problem.options.tolerance <= _NEAR * wanted
        # Where they gain once more what the last iteration has gained, that is enough to end with.
        # With bonds two more iterations cost less than new factors.
        if step > 0.0:
            return norm * norm * norm <= wanted * before * before
        return norm * norm <= wanted * before
    if iteration < 2:
        return True
    rate = newton.rate
    ahead = max(wished - iteration, 0)
    return not rate**ahead / (1.0 - rate) * newton.step_length >= wanted


@compiled
def _refresh_factors(problem: Table, contacts: Table, rows: Table) -> bool:
    """Assemble and factorize the Hessian, and mark the factors as this island's."""
    at_hand = problem.at_hand
    if problem.scratch.base_tree == problem.graph.island_tree[at_hand.first_tree] + 1:
        # The factors of the base of contact space are overwritten.
        problem.scratch.base_tree = 0
    if not factorize_island(problem, contacts, rows):
        return False
    for index in range(at_hand.first_tree, at_hand.last_tree):
        tree = problem.graph.island_tree[index]
        problem.hessian.factor_island[tree] = at_hand.last_tree - at_hand.first_tree
        problem.hessian.factor_step[tree] = problem.smooth.bond_step
    problem.newton.has_factors = 1
    problem.newton.has_old_factors = 0
    return True


@compiled
def _look_ahead(problem: Table, contacts: Table) -> bool:
    """Let the law's numbers follow the end of the prepared direction; False if they agree."""
    newton, options = problem.newton, problem.options
    if (
        problem.law.settle_contacts == 0
        or options.refuse_unsettled == 0
        or newton.changes >= options.most_changes
        or newton.disagreement <= options.settle_tolerance
        or newton.disagreement > _WORTH_ANTICIPATING
    ):
        return False
    return settle_island(problem, contacts, options.settle_tolerance, True)


@compiled
def _prepare_newton_direction(problem: Table, contacts: Table, rows: Table) -> None:
    """Solve for the direction with the factors at hand, and prepare it; fill g·p and ‖D⁻¹ p‖."""
    newton_direction(problem)
    prepare_direction(problem, contacts, rows)
    problem.newton.search_slope, problem.newton.direction_length = direction_size(problem)


@compiled
def _descent_by_factors(problem: Table, contacts: Table, rows: Table, iteration: int) -> int:
    """`_descent` by the Hessian's factors, new ones or the last.

    Near the end the law's numbers are taken where the direction leads, and it is found once more
    with the same factors: a second step of the fixed point at a fraction of an iteration's cost.
    The cost that is searched is that of the new numbers, of which the direction is one of descent.
    """
    newton = problem.newton
    if newton.has_factors == 1 and _factors_serve(problem, iteration):
        problem.counts.reuses += 1
    elif not _refresh_factors(problem, contacts, rows):
        return NON_FINITE
    newton.direction_ends = AT_END
    _prepare_newton_direction(problem, contacts, rows)
    if iteration > 0 and newton.search_slope < 0.0 and _look_ahead(problem, contacts):
        newton.search_cost = island_gradient(problem, contacts, rows)
        _prepare_newton_direction(problem, contacts, rows)
    if not newton.search_slope < 0.0:
        # Uphill within round-off, or NaN.
        return CONVERGED if abs(newton.search_slope) <= _LARGEST else NON_FINITE
    return _GOES_ON


@compiled
def _descent_in_contact_space(problem: Table, contacts: Table, rows: Table) -> int:
    """`_descent` by `asperity.convex.contact_space`; `_BEGINS_ANEW` if that has failed."""
    newton = problem.newton
    end = call_ppp_status(problem.entries.solve_in_contact_space, problem, contacts, rows)
    if end == SOLVED:
        return CONVERGED
    if end != SPOILED:
        newton.search_slope, newton.direction_length = direction_size(problem)
    if end == SPOILED or not newton.search_slope < 0.0:
        # Round-off in contact space says nothing about how far the solution is.
        newton.in_contact_space = 0
        begin_estimates(problem, problem.at_hand.first_contact, problem.at_hand.last_contact)
        return _BEGINS_ANEW
    newton.direction_ends = end
    prepare_direction(problem, contacts, rows)
    return _GOES_ON


@compiled
def _descent(problem: Table, contacts: Table, rows: Table, iteration: int) -> int:
    """Prepare a direction of descent, with its slope and length; a code if the solve is over."""
    if problem.newton.in_contact_space == 1:
        return _descent_in_contact_space(problem, contacts, rows)
    return _descent_by_factors(problem, contacts, rows, iteration)


@compiled
def _rate(length: float, before: float) -> float:
    """θ = ‖D⁻¹ Δv_k‖/‖D⁻¹ Δv_{k−1}‖, below 1; 0 at first."""
    if not before > 0.0:
        return 0.0
    return min(length / before, 0.9999)


@compiled
def _step_is_small(problem: Table) -> bool:
    """η ‖D⁻¹ Δv‖ ≤ ε s, if the criterion has this part and the direction leads to the minimum.

    The first step is that after which there is no θ yet: contact space may have failed before. By
    factors of an earlier solve, in which something stuck, a step is small however far the end is.
    """
    newton = problem.newton
    if problem.options.criterion == MOMENTUM or newton.direction_ends != AT_END:
        return False
    if newton.has_old_factors == 1:
        return False
    eta = newton.rate / (1.0 - newton.rate) if newton.rate > 0.0 else 1.0
    return eta * newton.step_length <= newton.wanted_residual and _slip_is_known(problem, eta)


@compiled
def _slip_is_known(problem: Table, eta: float) -> bool:
    """Whether what a step has changed of slip is little beside it and the stiction tolerance.

    Where a contact or a joint sticks, a change that is small for a velocity is all of its friction:
    a first step along a stiff estimate of the curvature would end the solve far from balance.
    """
    iterate, at_hand = problem.iterate, problem.at_hand
    left = eta * problem.newton.search_step / _SLIP_LEFT
    for i in range(at_hand.first_contact, at_hand.last_contact):
        if iterate.h11[i] == 0.0 and iterate.h22[i] == 0.0:
            continue
        x = iterate.v1[i]
        y = iterate.v2[i]
        square = problem.law.soft_slip_square[i] + x * x + y * y
        change = iterate.dv1[i] * iterate.dv1[i] + iterate.dv2[i] * iterate.dv2[i]
        if problem.graph.ellipsoids != 0:
            slip, along, across = scaled_slip(iterate, i, 0.0)
            square = problem.law.soft_slip_square[i] + slip * slip
            change = along * along + across * across
        if left * left * change > square:
            return False
    law = problem.law
    for i in range(at_hand.first_row, at_hand.last_row):
        if law.row_kind[i] == FRICTION:
            square = law.row_target[i] + iterate.row_u[i] * iterate.row_u[i]
            if left * left * iterate.row_du[i] * iterate.row_du[i] > square:
                return False
    return True


@compiled
def _search(problem: Table, contacts: Table) -> int:
    """Go along the direction to the least cost; a code if the solve is over."""
    newton = problem.newton
    alpha = follow_direction(problem, problem.options.line_search_tolerance)
    if alpha == 0.0:
        return CONVERGED
    newton.search_step = alpha
    if newton.in_contact_space == 0:
        problem.counts.iterations += 1
        island_estimates(problem, alpha)
    elif alpha != 1.0:
        # Those that there are belong to the end of the direction.
        begin_estimates(problem, problem.at_hand.first_contact, problem.at_hand.last_contact)
    length = alpha * newton.direction_length
    newton.rate = _rate(length, newton.step_length)
    newton.step_length = length
    newton.previous_residual = newton.residual
    # Forces that follow converge linearly, which the ratio of two steps does not show.
    if _step_is_small(problem) and settle(problem, contacts) and not follow_forces(problem):
        island_impulses(problem)
        return CONVERGED
    return _GOES_ON


@compiled
def _minimise(problem: Table, contacts: Table, rows: Table) -> int:
    """Minimise over the island at hand, from the guess in ``velocity``."""
    _begin(problem, rows)
    for iteration in range(problem.options.max_iterations + 1):
        code = _look(problem, contacts, rows, iteration)
        if code == _GOES_ON:
            code = _descent(problem, contacts, rows, iteration)
        if code == _GOES_ON:
            code = _search(problem, contacts)
        if code not in (_GOES_ON, _BEGINS_ANEW):
            return code
    return NOT_CONVERGED


@compiled
def _solve_island(problem: Table, contacts: Table, rows: Table) -> int:
    """Minimise over the island at hand, with numbers of the law that agree with the solution.

    Where they cannot be found, the solve counts as not converged, or else the last ones stay.
    """
    options = problem.options
    code = _minimise(problem, contacts, rows)
    if code != CONVERGED or problem.newton.changes <= options.most_changes:
        return code
    if not settle_island(problem, contacts, max(options.settle_tolerance, _NEARLY_SETTLED), False):
        return code
    if options.refuse_unsettled == 1:
        return NOT_CONVERGED
    problem.counts.unsettled += 1
    return code


@compiled
def _solve_free(problem: Table) -> int:
    """Solve an island without contacts or rows, which is one tree: A v = r."""
    iterate, graph = problem.iterate, problem.graph
    tree = graph.island_tree[problem.at_hand.first_tree]
    start = graph.tree_start[tree]
    size = graph.tree_size[tree]
    begin_tree(graph, problem.smooth, problem.hessian, tree)
    if call_pp_status(problem.entries.factorize, problem, 0) == 0:
        return NON_FINITE
    problem.newton.followed = 0
    problem.newton.wanted_residual = 0.0
    follows = True
    total = 0.0
    while follows:
        for i in range(start, start + size):
            iterate.direction[i] = problem.smooth.rhs[i]
        call_pp_status(problem.entries.solve_factors, problem, 0)
        total = 0.0
        for i in range(start, start + size):
            iterate.velocity[i] = iterate.direction[i]
            total += iterate.direction[i]
        follows = follow_forces(problem)
    problem.hessian.factor_island[tree] = 0
    return CONVERGED if abs(total) <= _LARGEST else NON_FINITE


@compiled
def _is_left_out(graph: Table, guess: Table, at_hand: Table) -> bool:
    """Whether the island at hand has its solution already."""
    if guess.at_rest[graph.island_tree[at_hand.first_tree]] == 1:
        return True
    if guess.only_marked == 0:
        return False
    for index in range(at_hand.first_tree, at_hand.last_tree):
        if guess.tree_marked[graph.island_tree[index]] == 1:
            return False
    return True


@compiled
def _solve_any_island(problem: Table, contacts: Table, rows: Table) -> int:
    at_hand = problem.at_hand
    if _is_left_out(problem.graph, problem.guess, at_hand):
        return CONVERGED
    alone = at_hand.last_tree - at_hand.first_tree == 1
    if (
        alone
        and at_hand.first_contact == at_hand.last_contact
        and at_hand.first_row == at_hand.last_row
    ):
        return _solve_free(problem)
    return _solve_island(problem, contacts, rows)


@compiled
def begin_solve(problem: Table, have_factors: int) -> None:
    """Forget what earlier solves have left that is of no use to this one."""
    # Of several trees that there could be a base of only one would be served, the last.
    if problem.guess.only_marked == 0 or problem.graph.large_tree < 0:
        problem.scratch.base_tree = 0
    if have_factors == 0:
        problem.hessian.factor_island[:] = 0
        problem.hessian.other_island[:] = 0
    switch_panels(problem)


@compiled
def end_solve(guess: Table) -> None:
    """Clear what was said of this solve alone."""
    guess.extrapolated = 0
    guess.only_marked = 0


@entry_point(types.int64(PROBLEM.type, CONTACT_SET.type, CONSTRAINT_SET.type, types.int64))
def solve_problem(problem: Table, contacts: Table, rows: Table, have_factors: int) -> int:
    """Solve every island; the solution replaces the guess in ``velocity``, with its impulses.

    ``have_factors`` says that the factors of the last solve belong to the same graph (for Hessian
    reuse). Velocities of contacts and rows for the guess are filled here, unless ``guess_is_known``
    says that they are. If ``last_island`` is not 0, only the islands from ``first_island`` up to
    there are solved, of a solve that somebody else begins and ends. Returns ``CONVERGED``,
    ``NOT_CONVERGED`` (the worst residual is recorded, the solution is the best iterate) or
    ``NON_FINITE``.
    """
    if problem.at_hand.last_island != 0:
        return solve_islands(_solve_any_island, problem, contacts, rows)
    begin_solve(problem, have_factors)
    worst = solve_islands(_solve_any_island, problem, contacts, rows)
    end_solve(problem.guess)
    return worst


def install_solver(problem: Table) -> None:
    """Compile the solver and put its entry points into a problem."""
    graph = problem.graph
    problem.entries.assemble = assemble.address
    problem.entries.factorize = factorize.address
    problem.entries.solve_factors = solve_factors.address
    problem.entries.line_search = line_search.address
    # Of robots only: it is large, and piles need not compile it.
    large = large_trees(graph)
    graph.large_tree = int(large[0]) if len(large) == 1 else -1
    # Threads do not share the work of bonds yet.
    if graph.bonds.count > 0:
        install_particles(problem)
    elif graph.ntree >= FEWEST_TREES:
        install_divided(problem)
    if len(large) > 0:
        problem.entries.solve_in_contact_space = solve_in_contact_space.address
