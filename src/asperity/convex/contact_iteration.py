"""Newton's method in the coordinates of `asperity.convex.contact_space`.

Constraints that change on the way get coordinates when this is found, after the first iteration or
at the end, and are then evaluated as contacts are. The bounds of friction follow within a step of
Newton's method where the law has bounds that follow: the step foresees them
(`asperity.convex.reduced_system`), and the cost that is searched is that of the bounds to which it
leads. Where it is not one of descent of that cost, Newton's direction for bounds as they are is.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled, inlined
from asperity.compiled.calls import call_pppd_double
from asperity.compiled.row_kernels import dot_rows, subtract_rows
from asperity.convex.chain_cholesky import backward_chains
from asperity.convex.contact_rows import gather_impulses, gather_slips, spread_changes, width
from asperity.convex.contact_velocities import row_velocities
from asperity.convex.delassus import STRIDE, add_changing_rows
from asperity.convex.ellipsoids import move_contacts
from asperity.convex.island import settle
from asperity.convex.potentials.contact_driver import (
    change_numbers,
    evaluate_contacts,
    update_estimates,
)
from asperity.convex.potentials.rows import evaluate_rows
from asperity.convex.reduced_system import keep_friction, solve_reduced

__all__ = ["AT_END", "ON_THE_WAY", "SOLVED", "SPOILED", "end_direction", "iterate_contacts"]

# Part of the wanted residual that is left in contact space.
_INNER_TOLERANCE = 0.5
_MOST_ITERATIONS = 50

# How a solve has ended.
SPOILED = 0
AT_END = 1
ON_THE_WAY = 2
SOLVED = 3


@compiled
def _add_product(scratch: Table, x: np.ndarray, out: np.ndarray) -> None:
    """``out += W x``."""
    width = scratch.coordinates
    data = scratch.delassus.ctypes.data
    subtract_rows(out.ctypes.data, x.ctypes.data, 8, data, STRIDE, width, width)


@inlined
def _rows_of(problem: Table) -> tuple[int, int]:
    """The island's rows, if any of them has a coordinate."""
    scratch, at_hand = problem.scratch, problem.at_hand
    if scratch.coordinates == scratch.contact_coordinates:
        return 0, 0
    return at_hand.first_row, at_hand.last_row


@compiled
def _fill_impulses(problem: Table, out: np.ndarray) -> None:
    """Fill γ of contacts, and that of rows with coordinates, without −κ du of the base."""
    iterate, at_hand = problem.iterate, problem.at_hand
    du = problem.scratch.coordinate[3]
    gather_impulses(problem.graph, iterate, at_hand, out)
    first, last = _rows_of(problem)
    for i in range(first, last):
        k = problem.hessian.row_coordinate[i]
        if k >= 0:
            out[k] = iterate.row_impulse[i] + problem.hessian.row_base[i] * du[k]


@compiled
def _fill_residual(problem: Table) -> None:
    """x = μ + γ₀ − γ."""
    mu, start, x = problem.scratch.coordinate[:3]
    _fill_impulses(problem, x)
    for k in range(problem.scratch.coordinates):
        x[k] = mu[k] + start[k] - x[k]


@compiled
def _dot(a: np.ndarray, b: np.ndarray, n: int) -> float:
    return dot_rows(a.ctypes.data, b.ctypes.data, n)


@compiled
def _may_follow(law: Table, contacts: Table) -> bool:
    """Whether bounds of friction follow within a step of Newton's method.

    Points of a patch press each other's places: their bounds are damped.
    """
    return law.settle_contacts != 0 and contacts.patch_count == 0


@compiled
def _find_step(problem: Table, follows: bool, sticks: bool) -> bool:
    """Fill the step of impulses and the changes of velocities along it; False if there is none."""
    scratch = problem.scratch
    x, _, _, step, change, y = scratch.coordinate[2:8]
    # s, then dμ = s − x and its velocities
    if not solve_reduced(problem, y, follows, sticks, step):
        return False
    for k in range(scratch.coordinates):
        change[k] = -y[k]
    _add_product(scratch, step, change)
    for k in range(scratch.coordinates):
        step[k] -= x[k]
    spread_changes(problem.graph, problem.iterate, problem.at_hand, change)
    first, last = _rows_of(problem)
    for i in range(first, last):
        k = problem.hessian.row_coordinate[i]
        problem.iterate.row_du[i] = change[k] if k >= 0 else 0.0
    return True


@compiled
def _evaluate(problem: Table) -> None:
    """Fill impulses, curvatures and x, and the cost of contacts and of rows."""
    iterate, at_hand = problem.iterate, problem.at_hand
    cost = evaluate_contacts(problem, at_hand.first_contact, at_hand.last_contact)
    first, last = _rows_of(problem)
    cost += evaluate_rows(problem.law, iterate, first, last)
    problem.newton.search_cost = cost
    _fill_residual(problem)


@compiled
def _square_of_residual(problem: Table, rho: float, square: float) -> float:
    """‖ρ g + Jᵀ x‖² in the norm of B⁻¹; fills its velocities, y = ρ z + W x."""
    scratch = problem.scratch
    x, _, z, _, _, y = scratch.coordinate[2:8]
    n = scratch.coordinates
    for k in range(n):
        y[k] = rho * z[k]
    _add_product(scratch, x, y)
    return rho * (rho * square + _dot(z, x, n)) + _dot(x, y, n)


@compiled
def _follow_step(problem: Table, contacts: Table) -> None:
    """Let bounds of friction be those of the step's end, and all else at its beginning follow."""
    first = problem.at_hand.first_contact
    last = problem.at_hand.last_contact
    change_numbers(problem, contacts, first, last, True)
    _evaluate(problem)


@compiled
def _follow_friction(problem: Table) -> None:
    """Let the friction of contacts that are taken to stick be that of the step's end."""
    law, at_hand, scratch = problem.law, problem.at_hand, problem.scratch
    mu, start, _, _, _, step, _, _, slip, w = scratch.coordinate
    at = 0
    for i in range(at_hand.first_contact, at_hand.last_contact):
        end = at + width(problem.graph, i) - 1
        limit = law.friction_limit[i]
        if scratch.sticking[i - at_hand.first_contact] == 1 and limit > 0.0:
            square = 0.0
            for k in range(at, end):
                w[k] = -(start[k] + mu[k] + step[k]) / limit
                square += w[k] * w[k]
            shorter = 1.0 / max(np.sqrt(square), 1.0)
            for k in range(at, end):
                w[k] *= shorter
            keep_friction(problem.graph, law, i, at, slip, w)
        at = end + 1


@compiled
def _search(problem: Table, base_slope: float, slope: float) -> float:
    """Line search along the direction of coordinates.

    ``base_slope`` is the part of the slope that vanishes with ρ. Rows without coordinates are part
    of the base, and do not change here.
    """
    newton, n = problem.newton, problem.scratch.coordinates
    mu, start, _, du, _, step, change = problem.scratch.coordinate[:7]
    smooth_slope = base_slope + _dot(start, change, n) + _dot(mu, change, n)
    curvature = _dot(step, change, n) - base_slope
    first, last = _rows_of(problem)
    for i in range(first, last):
        k = problem.hessian.row_coordinate[i]
        if k >= 0:
            smooth_slope -= problem.hessian.row_base[i] * du[k] * change[k]
            curvature -= problem.hessian.row_base[i] * change[k] * change[k]
    newton.smooth_slope = smooth_slope
    newton.smooth_curvature = curvature
    newton.search_slope = slope
    tolerance = problem.options.line_search_tolerance
    return call_pppd_double(problem.entries.line_search, problem, first, last, tolerance)


@compiled
def end_direction(problem: Table, rho: float) -> None:
    """Fill the direction that belongs to the coordinates: L⁻ᵀ ((1 − ρ) f + U μ)."""
    graph, iterate, scratch = problem.graph, problem.iterate, problem.scratch
    mu = scratch.coordinate[0].ctypes.data
    for index in range(problem.at_hand.first_tree, problem.at_hand.last_tree):
        tree = graph.island_tree[index]
        start = graph.tree_start[tree]
        columns = scratch.response.ctypes.data + scratch.response_start[tree] * STRIDE
        for i in range(graph.tree_size[tree]):
            own = dot_rows(columns + i * STRIDE, mu, scratch.coordinates)
            f = iterate.direction_product[start + i]
            iterate.direction[start + i] = (1.0 - rho) * f + own
        backward_chains(graph, problem.hessian, tree, iterate.direction)


@compiled
def _fill_direction(problem: Table, rows: Table, rho: float) -> None:
    """Fill the direction so far, and how rows without coordinates change along it."""
    at_hand = problem.at_hand
    end_direction(problem, rho)
    row_du = problem.iterate.row_du
    first = at_hand.first_row
    last = at_hand.last_row
    row_velocities(problem.graph, rows, first, last, problem.iterate.direction, row_du)
    for i in range(first, last):
        if problem.hessian.row_coordinate[i] >= 0:
            row_du[i] = 0.0


@compiled
def _begin_rows(problem: Table, first: int) -> None:
    """Fill what belongs to rows with coordinates from ``first`` on, which are new, so far."""
    graph, iterate, scratch = problem.graph, problem.iterate, problem.scratch
    mu, start, _, du, z = scratch.coordinate[:5]
    for k in range(first, scratch.coordinates):
        z[k] = 0.0
    for index in range(problem.at_hand.first_tree, problem.at_hand.last_tree):
        tree = graph.island_tree[index]
        for i in range(graph.tree_size[tree]):
            f = iterate.direction_product[graph.tree_start[tree] + i]
            for k in range(first, scratch.coordinates):
                z[k] -= scratch.response[scratch.response_start[tree] + i, k] * f
    for i in range(problem.at_hand.first_row, problem.at_hand.last_row):
        k = problem.hessian.row_coordinate[i]
        if k >= first:
            mu[k] = 0.0
            du[k] = iterate.row_du[i]
            start[k] = iterate.row_impulse[i]
            iterate.row_u[i] += du[k]


@compiled
def iterate_contacts(
    problem: Table, contacts: Table, rows: Table, square: float
) -> tuple[int, float]:
    """Minimise in the coordinates, and fill the direction that belongs to where that ends.

    Needs f in ``direction_product``. Returns how that has ended, and the residual's square. At the
    end ``row_du`` has what rows without coordinates have yet to change by.
    """
    iterate, at_hand, scratch = problem.iterate, problem.at_hand, problem.scratch
    mu, start, x, du, z, step, change, _, slip = scratch.coordinate[:9]
    n = scratch.coordinates
    first = at_hand.first_contact
    last = at_hand.last_contact
    for k in range(n):
        mu[k] = 0.0
        du[k] = 0.0
    _fill_impulses(problem, start)
    gather_slips(problem.graph, iterate, at_hand, slip)
    for i in range(last - first):
        scratch.sticking[i] = 0
    rho = 1.0
    wanted = _INNER_TOLERANCE * problem.newton.wanted_residual
    settled = False
    left = np.inf
    may_follow = _may_follow(problem.law, contacts)
    descends = True
    for iteration in range(_MOST_ITERATIONS):
        if iteration > 0:
            settled = settle(problem, contacts)
        _evaluate(problem)
        left = _square_of_residual(problem, rho, square)
        converged = settled and left <= wanted * wanted
        if converged or (iteration == 1 and at_hand.last_row > at_hand.first_row):
            _fill_direction(problem, rows, rho)
            if not add_changing_rows(problem, rows):
                return ON_THE_WAY, left
            if scratch.coordinates > n:
                _begin_rows(problem, n)
                _evaluate(problem)
                _square_of_residual(problem, rho, square)
                n = scratch.coordinates
                converged = False
        if converged:
            return AT_END, left
        sticks = may_follow and descends
        follows = sticks and not settled
        found = _find_step(problem, follows, sticks)
        if not (found or sticks):
            return SPOILED, left
        if found and follows:
            _follow_step(problem, contacts)
        base_slope = rho * (_dot(z, step, n) - rho * square)
        slope = base_slope + _dot(x, change, n)
        descends = found and slope < 0.0
        if not descends:
            if not sticks:
                break
            # Newton's direction of the cost does.
            continue
        alpha = _search(problem, base_slope, slope)
        if alpha == 0.0:
            break
        problem.counts.iterations += 1
        move_contacts(problem.graph, iterate, first, last, alpha)
        gather_slips(problem.graph, iterate, at_hand, slip)
        first_row, last_row = _rows_of(problem)
        for i in range(first_row, last_row):
            iterate.row_u[i] += alpha * iterate.row_du[i]
        update_estimates(problem, first, last, alpha)
        _follow_friction(problem)
        for k in range(n):
            mu[k] += alpha * step[k]
            du[k] += alpha * change[k]
        rho *= 1.0 - alpha
    end_direction(problem, rho)
    return ON_THE_WAY, left
