"""Line searches: exact, or backtracking.

The exact one is Newton's method with bisection on ℓ'(α) = 0 (CENIC VI-D, SAP IV-B and IV-C). The
cost along the direction is smooth and convex, so ℓ' is monotone and the root is unique. Newton's
own step, α = 1, is tried first. If the cost still falls there, the search goes on to α_max (1 in
CENIC, 1.5 in SAP's code). If it is little past the minimum, the search goes back from α = 1 by
Newton's method; else it starts at the minimum of the cubic through ℓ(0), ℓ'(0), ℓ(1), ℓ'(1), which
takes one more evaluation, that of the cost.

Backtracking scans α_max, 0.8 α_max, ... for the least cost with Armijo's criterion, ℓ(α) ≤ ℓ(0) +
c α ℓ'(0) (SAP IV-B). Ending with the criterion alone, as the text says, would accept 1.25 times
Newton's step for ever, and converge by a factor of four per iteration.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, entry_point, inlined
from asperity.convex.divided_island import ALONG, COST, chunk_sum, is_divided, share_phase
from asperity.convex.potentials.contact_driver import along_contacts, contact_cost_along
from asperity.convex.potentials.rows import along_rows, row_cost_along
from asperity.convex.problem import (
    ARMIJO,
    PROBLEM,
)

__all__ = ["line_search"]


Range = tuple[int, int]

_EPSILON = 2.220446049250313e-16
_MAX_EVALUATIONS = 60
_CLOSE = 0.3  # slope at α = 1 over that at 0, up to which Newton's method starts from α = 1
_ARMIJO_SLOPE = 1e-4
_ARMIJO_FACTOR = 0.8
_ARMIJO_REDUCTIONS = 60


@compiled
def _along(problem: Table, rows: Range, alpha: float) -> tuple[float, float]:
    """First and second derivative of the island's contacts and of rows."""
    division, at_hand = problem.division, problem.at_hand
    if is_divided(at_hand):
        division.phase_share = alpha
        share_phase(problem, ALONG, at_hand.last_chunk - at_hand.first_chunk)
        slope_a, curvature_a = chunk_sum(division, at_hand, 1), chunk_sum(division, at_hand, 2)
    else:
        slope_a, curvature_a = along_contacts(
            problem, at_hand.first_contact, at_hand.last_contact, alpha
        )
    slope_b, curvature_b = along_rows(problem.law, problem.iterate, rows[0], rows[1], alpha)
    return slope_a + slope_b, curvature_a + curvature_b


@compiled
def _along_whole(problem: Table, rows: Range) -> tuple[float, float]:
    """`_along` at α = 1, as the preparation of a divided island's direction has left it."""
    at_hand = problem.at_hand
    if not is_divided(at_hand):
        return _along(problem, rows, 1.0)
    slope, curvature = along_rows(problem.law, problem.iterate, rows[0], rows[1], 1.0)
    return slope + chunk_sum(problem.division, at_hand, 1), curvature + chunk_sum(
        problem.division, at_hand, 2
    )


@compiled
def _cubic_minimum(cost_0: float, cost_1: float, slope_0: float, slope_1: float) -> float:
    """Minimum in (0, 1) of the cubic with these values and slopes at 0 and 1."""
    a = 2.0 * (cost_0 - cost_1) + slope_0 + slope_1
    b = -3.0 * (cost_0 - cost_1) - 2.0 * slope_0 - slope_1
    c = slope_0
    if abs(a) < _EPSILON * (abs(b) + abs(c)):
        return -c / (2.0 * b)
    discriminant = max(b * b - 3.0 * a * c, 0.0)
    sign = 1.0 if b >= 0.0 else -1.0
    q = -(b + sign * np.sqrt(discriminant))
    alpha = q / (3.0 * a)
    if not 0.0 <= alpha <= 1.0:
        alpha = c / q
    return alpha


@compiled
def _cost_along(problem: Table, rows: Range, alpha: float) -> float:
    """Cost of the island's contacts and of rows at α, with the change of the quadratic part."""
    at_hand = problem.at_hand
    if is_divided(at_hand):
        problem.division.phase_share = alpha
        share_phase(problem, COST, at_hand.last_chunk - at_hand.first_chunk)
        cost = chunk_sum(problem.division, at_hand, 3)
    else:
        cost = contact_cost_along(problem, at_hand.first_contact, at_hand.last_contact, alpha)
    return (
        cost
        + row_cost_along(problem.law, problem.iterate, rows[0], rows[1], alpha)
        + alpha * problem.newton.smooth_slope
        + 0.5 * alpha * alpha * problem.newton.smooth_curvature
    )


@compiled
def _backtrack(problem: Table, rows: Range, slope_0: float) -> tuple[float, int]:
    """Step of the least cost that meets Armijo's criterion, and the number of evaluations."""
    cost = problem.newton.search_cost
    # What the sums of costs cannot tell apart is left to Newton's own step.
    round_off = 8.0 * _EPSILON * abs(cost)
    if -slope_0 <= round_off:
        return 1.0, 0
    best = 0.0
    alpha = problem.options.largest_search_step
    previous = np.inf
    for k in range(_ARMIJO_REDUCTIONS):
        change = _cost_along(problem, rows, alpha) - cost
        # The cost is convex: once it grows, the step before was the best of all.
        if change >= previous:
            return best, k + 1
        if change <= _ARMIJO_SLOPE * alpha * slope_0 + round_off:
            best = alpha
            previous = change
        alpha *= _ARMIJO_FACTOR
    return best, _ARMIJO_REDUCTIONS


@compiled
def _root(
    problem: Table, rows: Range, low: float, high: float, alpha: float, target: float
) -> tuple[float, int]:
    """Root of ℓ' in a bracket from a first guess, and the number of evaluations."""
    newton = problem.newton
    evaluations = 0
    previous = high - low
    while evaluations < _MAX_EVALUATIONS:
        slope, curvature = _along(problem, rows, alpha)
        slope += newton.smooth_slope + alpha * newton.smooth_curvature
        curvature += newton.smooth_curvature
        evaluations += 1
        if abs(slope) <= target:
            break
        if slope > 0.0:
            high = alpha
        else:
            low = alpha
        if high - low <= 4.0 * _EPSILON * high:
            break
        step = -slope / curvature
        following = alpha + step
        # Bisect where Newton leaves the bracket or gains less than bisection would.
        if not low < following < high or abs(step) > 0.5 * previous:
            following = 0.5 * (low + high)
            step = following - alpha
        previous = abs(step)
        alpha = following
    return alpha, evaluations


@inlined
def _exact(problem: Table, rows: Range, slope_0: float, tolerance: float) -> tuple[float, int]:
    """Step to the least cost, and the number of evaluations."""
    newton = problem.newton
    smooth_slope = newton.smooth_slope
    smooth_curvature = newton.smooth_curvature
    slope_1, curvature_1 = _along_whole(problem, rows)
    slope_1 += smooth_slope + smooth_curvature
    curvature_1 += smooth_curvature
    target = tolerance * -slope_0
    largest = problem.options.largest_search_step
    if slope_1 <= target and (slope_1 >= -target or largest <= 1.0):
        # ℓ is flat at α = 1, or still falls but may not be followed: take the whole Newton step.
        return 1.0, 1
    if slope_1 < 0.0:
        slope, _ = _along(problem, rows, largest)
        slope += smooth_slope + largest * smooth_curvature
        if slope <= target:
            return largest, 2
        alpha = 1.0 + (largest - 1.0) * slope_1 / (slope_1 - slope)
        alpha, evaluations = _root(problem, rows, 1.0, largest, alpha, target)
        return alpha, evaluations + 2
    alpha = 1.0 - slope_1 / curvature_1
    first = 1
    if not (alpha > 0.0 and slope_1 <= _CLOSE * -slope_0):
        cost_1 = _cost_along(problem, rows, 1.0)
        alpha = _cubic_minimum(newton.search_cost, cost_1, slope_0, slope_1)
        first = 2
    if not 0.0 < alpha < 1.0:
        alpha = 0.5
    alpha, evaluations = _root(problem, rows, 0.0, 1.0, alpha, target)
    return alpha, evaluations + first


@entry_point(types.float64(PROBLEM.type, types.int64, types.int64, types.float64))
def line_search(problem: Table, first_row: int, last_row: int, tolerance: float) -> float:
    """Minimise the cost of the island along the direction, with these rows.

    Reads ``smooth_slope``, ``smooth_curvature``, ``search_cost`` and ``search_slope``; ``v*``,
    ``dv*``, ``row_u`` and ``row_du``. An exact search ends where the slope is that part of the
    first one. Counts evaluations.

    Returns α, 0 < α ≤ α_max, or 0 if ℓ does not decrease along the direction within round-off.
    """
    slope = problem.newton.search_slope
    if not slope < 0.0:
        return 0.0
    rows = (first_row, last_row)
    if problem.options.line_search_method == ARMIJO:
        alpha, evaluations = _backtrack(problem, rows, slope)
    else:
        alpha, evaluations = _exact(problem, rows, slope, tolerance)
    problem.counts.line_search_evaluations += evaluations
    return alpha
