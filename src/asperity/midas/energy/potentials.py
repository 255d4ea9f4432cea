"""The scalar functions of contact and of limits: barrier and smoothed friction, with derivatives.

The barrier is that of IPC (Li et al. 2020, equation 6) of the squared distance, scaled so that with
area weights its stiffness is a pressure [Pa]:

    b(D) = −κ w d̂ (z − 1)² ln z,   z = (D/d̂)² < 1,

for distance D, activation distance d̂ and contact area w. Friction is IPC's f₀ (section 5.5), whose
derivative rises from 0 to 1 while the slip grows to ε = ε_v h.

A barrier alone gives back all the energy that it takes. Where a step is short enough to resolve it,
what meets it bounces. A limit's barrier is therefore stiffer while it is met, and softer on the way
back (`dissipation_factor`).
"""

from __future__ import annotations

import math

from numba import types

from asperity.compiled import compiled, compiled_loop
from asperity.midas.engine_layout import SMALLEST_ACTIVATION

__all__ = [
    "barrier",
    "barrier_force",
    "barrier_model",
    "barrier_secant",
    "barrier_slopes",
    "differs",
    "dissipation_factor",
    "expected_ratio",
    "friction",
    "friction_slope",
    "lowered_activation",
    "ratio_of_force",
]

# Difference of two ratios D/d̂, relative to the depth 1 − D/d̂, that no secant is drawn between.
_SAME = 1e-3
# Difference of two depths 1 − D/d̂, relative to the larger one, from which it counts, and the depth
# from which one does.
_UNLIKE = 0.01
_LEAST = 1e-5
# Depth 1 − D/d̂ that is assumed of what a direction has met without knowing of it, at most. With 0.1
# a humanoid takes more iterations, with 0.015 heaps of boxes do.
_FIRST_DEPTH = 0.04
# Share of the activation distance by which surfaces part that a barrier throws. What is pressed
# parts by less as bodies deform, which begin undeformed.
_PARTS = 1e-2
# Least factor of a barrier that something departs from.
_SOFTEST = 0.1


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


@compiled_loop(types.float64(types.float64, types.float64))
def barrier_force(distance: float, activation: float) -> float:
    """Force −b′/κw at a distance [m], for Python."""
    slope, _ = barrier_slopes(distance * distance, activation)
    return -slope


@compiled
def ratio_of_force(force: float) -> float:
    """D/d̂ at which −b′(D)/κw is ``force``; 1 without force.

    The force is convex and falls, so that Newton's method comes from below.
    """
    if force <= 0.0:
        return 1.0
    # It is 24 (1 − r)² near r = 1, more elsewhere, and 2/r near 0.
    ratio = 1.0 / (1.0 + math.sqrt(force / 24.0) + 0.5 * force)
    while -barrier_slopes(ratio * ratio, 1.0)[0] < force:
        ratio *= 0.5
    for _ in range(20):
        slope, curvature = barrier_slopes(ratio * ratio, 1.0)
        step = (-slope - force) / curvature
        ratio += step
        if step < 1e-3 * (1.0 - ratio):
            break
    return min(ratio, 1.0 - 1e-9)


@compiled
def barrier_secant(square: float, activation: float, final: float) -> tuple[float, float]:
    """First derivative, and the second's mean from there to the ratio ``final`` of d̂.

    A barrier begins with the cube of the depth. Its tangent is therefore twice as steep as the
    secant to where it has no force, so that what presses it ever less takes Newton's method an
    iteration for every halving. The secant to where it will be leads there at once: Newton's
    method on the forces instead of the distances, as primal-dual methods have it (Wright,
    Primal-Dual Interior-Point Methods, 1997).
    """
    slope, curvature = barrier_slopes(square, activation)
    ratio = math.sqrt(square) / activation
    if abs(final - ratio) <= _SAME * (1.0 - min(ratio, final)):
        return slope, curvature
    end, _ = barrier_slopes(final * final * activation * activation, activation)
    return slope, (end - slope) / ((final - ratio) * activation)


@compiled
def expected_ratio(final: float, before: float, after: float) -> float:
    """D/d̂ at which a barrier has the force that a direction has counted with; 1 without force.

    Its curvature was that of the secant to ``final``, and it leads from ``before`` to ``after``.
    """
    if before >= 1.0 and final == 1.0:
        # The direction has known nothing of it.
        return 1.0 - min(max(1.0 - after, 0.0), _FIRST_DEPTH)
    slope, curvature = barrier_secant(before * before, 1.0, final)
    return ratio_of_force(curvature * (before - after) - slope)


@compiled
def differs(one: float, other: float) -> bool:
    """Whether the secant between two ratios D/d̂, of at most 1, is no tangent."""
    depth = 1.0 - min(one, other)
    return depth > _LEAST and abs(one - other) > _UNLIKE * depth


@compiled
def barrier_model(
    square: float, activation: float, anchor: float, final: float
) -> tuple[float, float]:
    """First and second derivative by which a direction counts with a barrier.

    The barrier is linearized at the ratio ``anchor`` of d̂ (`asperity.midas.newton.anticipation`),
    or, where that is 0, has its own slope and the curvature of the secant to ``final``.
    """
    if anchor == 0.0:
        return barrier_secant(square, activation, final)
    at = anchor * activation
    slope, curvature = barrier_slopes(at * at, activation)
    return slope + curvature * (math.sqrt(square) - at), curvature


@compiled
def dissipation_factor(before: float, closing: float, dissipation: float) -> float:
    """What a barrier's force is multiplied by in a step that begins with a closing speed u.

    That is 1 + d u as in Hunt and Crossley's law (1975), and the inverse at the opposite speed of
    what opens; but while something is within the barrier no more than ``before``, in the last step
    (infinite for what arrives). So what presses against a limit comes to rest: with the speed alone
    it would be pushed out, fall in, and be pushed out again. The speed is that of the beginning: a
    force by that of the end changes by as much as it is over 1/d, which takes Newton's method twice
    the iterations.
    """
    share = dissipation * closing
    factor = 1.0 + share if share > 0.0 else 1.0 / (1.0 - share)
    return max(min(before, factor), _SOFTEST)


@compiled
def lowered_activation(given: float, activation: float, ended: float) -> float:
    """d̂ of surfaces that were at a given distance, and ended at another after a trial step [m]."""
    parts = given < activation and ended > given + _PARTS * activation
    return max(given, SMALLEST_ACTIVATION) if parts else activation


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
