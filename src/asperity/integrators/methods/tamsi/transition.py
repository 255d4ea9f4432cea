"""The transition-aware line search (TALS): how much of a Newton update to take (TAMSI III-A).

Regularised friction is steep in the stiction region ‖v_t‖ < v_s and flat around it. An update that
crosses the region sees none of its slope, and Newton's method cycles from one side to the other. So
the update of a contact's tangential velocity v by Δ is cut where it passes the region, and where it
turns by more than θ_max. All updates are cut by the smallest share α that any contact asks for.

With x = ‖v‖/v_s, x_1 = ‖v + Δ‖/v_s and ε the size, in stiction tolerances, that counts as zero:

1. ‖Δ‖ < ε v_s: the update is taken whole;
2. x < ε and x_1 > 1, out of rest: stop at v_s/2, for the friction law has no direction at rest;
3. x > 1 and x_1 < ε, onto rest: stop v_s/2 before, for the same reason;
4. x ≤ 1 or x_1 ≤ 1: the region is seen, the update is taken whole;
5. the path crosses the region: stop at its point nearest to rest (v_α · Δ = 0), or v_s/2 before if
   that is rest itself;
6. else, v and v + Δ more than θ_max apart: stop where they are θ_max apart. By the law of sines in
   the triangle of 0, v and v + α Δ,

       α = ‖v‖² sin θ_max/(|v × Δ| cos θ_max − v · Δ sin θ_max).

Cases 5 and 6 are the paper's; the others are corners that its implementation in Drake has too.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import compiled

__all__ = ["LARGEST_TURN", "transition_step"]

LARGEST_TURN = np.pi / 3.0
"""θ_max [rad] (TAMSI III-A)."""

_SINE = np.sin(LARGEST_TURN)
_COSINE = np.cos(LARGEST_TURN)


@compiled
def transition_step(
    x: float, y: float, dx: float, dy: float, stiction_tolerance: float, relative: float
) -> float:
    """Share α ∈ (0, 1] of the update (dx, dy) to a tangential velocity (x, y), all in m/s.

    ``relative`` is ε. Velocities that are not finite give a share that is NaN or 1.
    """
    length = np.sqrt(dx * dx + dy * dy)
    zero = relative * stiction_tolerance
    if length < zero:
        return 1.0
    speed = np.sqrt(x * x + y * y)
    after = np.sqrt((x + dx) * (x + dx) + (y + dy) * (y + dy))
    half = 0.5 * stiction_tolerance / length
    if speed < zero and after > stiction_tolerance:
        return half
    if speed > stiction_tolerance and after < zero:
        return 1.0 - half
    if speed <= stiction_tolerance or after <= stiction_tolerance:
        return 1.0
    along = x * dx + y * dy
    across = abs(x * dy - y * dx)
    # Distance of the path from rest, if its nearest point lies within the update.
    if along < 0.0 and -along < length * length and across < length * stiction_tolerance:
        nearest = -along / (length * length)
        return nearest - half if across < length * zero else nearest
    if speed * speed + along > _COSINE * speed * after:
        return 1.0
    return min(speed * speed * _SINE / (across * _COSINE - along * _SINE), 1.0)
