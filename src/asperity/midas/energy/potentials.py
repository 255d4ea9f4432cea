"""The scalar functions of contact and of limits: barrier and smoothed friction, with derivatives.

The barrier is that of IPC (Li et al. 2020, equation 6) of the squared distance, scaled so that with
area weights its stiffness is a pressure [Pa]:

    b(D) = −κ w d̂ (z − 1)² ln z,   z = (D/d̂)² < 1,

for distance D, activation distance d̂ and contact area w. Friction is IPC's f₀ (section 5.5), whose
derivative rises from 0 to 1 while the slip grows to ε = ε_v h.

A barrier alone gives back all the energy that it takes. Where a step is short enough to resolve it,
what meets it bounces. A limit's force therefore has the factor of Hunt and Crossley's law (1975),

    F(x) (1 + d u)₊,   u = (x₀ − x)/h,

with the gap x₀ that the step begins from, so that nothing departs faster than 1/d.
"""

from __future__ import annotations

import math

from asperity.compiled import compiled

__all__ = ["barrier", "barrier_slopes", "damped_barrier", "friction", "friction_slope"]


@compiled
def barrier(square: float, activation: float) -> float:
    """−d̂ (z − 1)² ln z for a squared distance [m²]; infinite where surfaces touch."""
    z = square / (activation * activation)
    if z >= 1.0:
        return 0.0
    if z <= 0.0:
        return math.inf
    return -activation * (z - 1.0) * (z - 1.0) * math.log(z)


@compiled
def barrier_slopes(square: float, activation: float) -> tuple[float, float]:
    """First and second derivatives of `barrier` with respect to the distance D itself."""
    scale = activation * activation
    z = square / scale
    if z >= 1.0:
        return 0.0, 0.0
    logarithm = math.log(z)
    first = -2.0 * (z - 1.0) * logarithm - (z - 1.0) * (z - 1.0) / z
    second = -2.0 * logarithm - 4.0 * (z - 1.0) / z + (z - 1.0) * (z - 1.0) / (z * z)
    slope = activation * first * 2.0 * math.sqrt(square) / scale
    curvature = activation * (second * 4.0 * square / (scale * scale) + first * 2.0 / scale)
    return slope, curvature


@compiled
def _barrier_integral(x: float) -> float:
    """∫₀ˣ β(s) ds of the dimensionless barrier β(s) = −(s² − 1)² ln s², for 0 < x ≤ 1."""
    logarithm = math.log(x)
    square = x * x
    return (
        -2.0
        * x
        * (
            square * square / 5.0 * (logarithm - 0.2)
            - square * 2.0 / 3.0 * (logarithm - 1.0 / 3.0)
            + (logarithm - 1.0)
        )
    )


@compiled
def damped_barrier(x: float, start: float, damping: float) -> tuple[float, float, float]:
    """Dimensionless barrier with dissipation, and its first two derivatives by the gap.

    The force −b′(x) (1 + d (x₀ − x))₊ falls with x, as a product of two functions that do and are
    not negative, so that its potential is convex.

    Parameters
    ----------
    x : float
        Gap over the barrier's width.
    start : float
        x₀, which may be negative or more than 1.
    damping : float
        d, in units of the step over the width.
    """
    if x <= 0.0:
        return math.inf, 0.0, 0.0
    factor = 1.0 + damping * (start - x)
    if x >= 1.0 or factor <= 0.0:
        return 0.0, 0.0, 0.0
    slope, curvature = barrier_slopes(x * x, 1.0)
    energy = barrier(x * x, 1.0) * factor
    if damping > 0.0:
        end = min(1.0, start + 1.0 / damping)
        energy -= damping * (_barrier_integral(end) - _barrier_integral(x))
    return max(energy, 0.0), slope * factor, curvature * factor - damping * slope


@compiled
def friction(slip: float, width: float) -> float:
    """f₀: the slip y [m] beyond ε, smooth with f₀(0) = ε/3 below."""
    if slip >= width:
        return slip
    return slip * slip / width * (1.0 - slip / (3.0 * width)) + width / 3.0


@compiled
def friction_slope(slip: float, width: float) -> tuple[float, float]:
    """f₁(y)/y and (f₁′(y) y − f₁(y))/y³, where f₁ = f₀′.

    The force is μλ f₁/y u, and its derivative μλ (f₁/y 1 + (f₁′y − f₁)/y³ u uᵀ).
    """
    if slip >= width:
        return 1.0 / slip, -1.0 / (slip * slip * slip)
    if slip == 0.0:
        return 2.0 / width, 0.0
    return (2.0 - slip / width) / width, -1.0 / (width * width * slip)
