"""Exact line search: Newton's method with bisection on ℓ'(α) = 0 (CENIC VI-D, SAP IV-C).

The cost along the direction is smooth and convex, so ℓ' is monotone and the root is unique. The
first guess is the minimum of the cubic through ℓ(0), ℓ'(0), ℓ(α_max), ℓ'(α_max), α_max = 1.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import compiled, entry_point
from asperity.convex.potentials.lagged import along_contacts, contact_cost_along
from asperity.convex.potentials.rows import along_rows, row_cost_along
from asperity.convex.problem import PROBLEM

__all__ = ["line_search"]

_problem = PROBLEM.get

_EPSILON = 2.220446049250313e-16
_MAX_EVALUATIONS = 60


@compiled
def _along(problem, island, alpha):
    """First and second derivative of contacts and rows of the island."""
    slope_a, curvature_a = along_contacts(problem, island[2], island[3], alpha)
    slope_b, curvature_b = along_rows(problem, island[4], island[5], alpha)
    return slope_a + slope_b, curvature_a + curvature_b


@compiled
def _cubic_minimum(cost_0, cost_1, slope_0, slope_1):
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


@entry_point(types.int64(types.int64, types.int64))
def line_search(problem, _unused):
    """Minimise the cost of the island along the direction.

    Reads from ``search`` the slope at α = 0 and the curvature of the quadratic part and the cost of
    contacts and rows at α = 0, from ``tolerance[1]`` the part of |ℓ'(0)| at which to stop, and
    ``v*``, ``dv*``, ``row_u`` and ``row_du``.

    Returns the number of evaluations, and α in ``search[3]``: 0 < α ≤ 1, or 0 if ℓ does not
    decrease along the direction within round-off.
    """
    island = _problem(problem, "island")
    search = _problem(problem, "search")
    smooth_slope = search[0]
    smooth_curvature = search[1]
    cost = search[2]
    search[3] = 0.0
    slope_0, _ = _along(problem, island, 0.0)
    slope_0 += smooth_slope
    if not slope_0 < 0.0:
        return 1
    slope_1, _ = _along(problem, island, 1.0)
    slope_1 += smooth_slope + smooth_curvature
    target = _problem(problem, "tolerance")[1] * -slope_0
    if slope_1 <= target:
        # ℓ still falls at α = 1, or is flat there: take the whole Newton step.
        search[3] = 1.0
        return 2
    cost_1 = (
        contact_cost_along(problem, island[2], island[3], 1.0)
        + row_cost_along(problem, island[4], island[5], 1.0)
        + smooth_slope
        + 0.5 * smooth_curvature
    )
    low = 0.0
    high = 1.0
    alpha = _cubic_minimum(cost, cost_1, slope_0, slope_1)
    if not low < alpha < high:
        alpha = 0.5
    evaluations = 3
    previous = 1.0
    while evaluations < _MAX_EVALUATIONS:
        slope, curvature = _along(problem, island, alpha)
        slope += smooth_slope + alpha * smooth_curvature
        curvature += smooth_curvature
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
    search[3] = alpha
    return evaluations
