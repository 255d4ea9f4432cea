"""Exact line search: Newton's method with bisection on ℓ'(α) = 0 (CENIC VI-D, SAP IV-C).

The cost along the direction is smooth and convex, so ℓ' is monotone and the root is unique. The
first guess is the minimum of the cubic through ℓ(0), ℓ'(0), ℓ(α_max), ℓ'(α_max), α_max = 1.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import compiled
from asperity.convex.potentials.lagged import along_contacts, contact_cost_along
from asperity.convex.potentials.rows import along_rows, row_cost_along

__all__ = ["line_search"]

_EPSILON = 2.220446049250313e-16
_MAX_EVALUATIONS = 60


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


@compiled
def line_search(problem, contacts, rows, smooth_slope, smooth_curvature, cost, tolerance):
    """Minimise the cost along the direction.

    Parameters
    ----------
    problem : int
        Address of the problem, with ``v*``, ``dv*``, ``row_u`` and ``row_du`` filled.
    contacts, rows : tuple[int, int]
        Ranges of the island's contacts and rows.
    smooth_slope, smooth_curvature : float
        First derivative at α = 0, and second derivative, of the quadratic part.
    cost : float
        Cost of contacts and rows at α = 0.
    tolerance : float
        Stop when |ℓ'(α)| is below this part of |ℓ'(0)|.

    Returns
    -------
    tuple[float, int]
        α, 0 < α ≤ 1, and the number of evaluations. α = 0 means that ℓ does not decrease along the
        direction within round-off.
    """
    slope_a, _ = along_contacts(problem, contacts[0], contacts[1], 0.0)
    slope_b, _ = along_rows(problem, rows[0], rows[1], 0.0)
    slope_0 = smooth_slope + slope_a + slope_b
    if not slope_0 < 0.0:
        return 0.0, 1
    slope_a, curvature_a = along_contacts(problem, contacts[0], contacts[1], 1.0)
    slope_b, curvature_b = along_rows(problem, rows[0], rows[1], 1.0)
    slope_1 = smooth_slope + smooth_curvature + slope_a + slope_b
    target = tolerance * -slope_0
    if slope_1 <= target:
        # ℓ still falls at α = 1, or is flat there: take the whole Newton step.
        return 1.0, 2
    cost_1 = (
        contact_cost_along(problem, contacts[0], contacts[1], 1.0)
        + row_cost_along(problem, rows[0], rows[1], 1.0)
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
        slope_a, curvature_a = along_contacts(problem, contacts[0], contacts[1], alpha)
        slope_b, curvature_b = along_rows(problem, rows[0], rows[1], alpha)
        slope = smooth_slope + alpha * smooth_curvature + slope_a + slope_b
        curvature = smooth_curvature + curvature_a + curvature_b
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
