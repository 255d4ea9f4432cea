"""Estimates w of the direction of friction, which shape a law's curvature along a slip.

A law's own curvature along a slip vanishes, or nearly, as soon as the contact slides. Newton's
directions then lead far beyond where friction would stop, and the sharper friction is, the more of
them it takes. So the direction of friction is a variable w of its own (Chan, Golub and Mulet 1999),
with the equation η w = v_t of the law's η(v_t) and ‖w‖ ≤ 1:

    H_tt = (f/η) (1 − sym(w uᵀ)),   u = v_t/η,   w ← (v_t + Δv_t − w (u · Δv_t))/η

For w = u this is the Hessian. For any other w it is positive semidefinite, so that a direction is
one of descent, and the solution does not depend on w (docs/equations.md, ‘Lagged’).
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled, inlined
from asperity.convex.ellipsoids import scaled_slip

__all__ = ["begin_dual", "follow_dual"]

# Added to what is divided by; smaller than any slip that matters.
_TINY = 1e-200


@inlined
def begin_dual(
    graph: Table, law: Table, iterate: Table, i: int, square: float, soft: float
) -> None:
    """Let w be that of the present slip u, 0 if friction could stop it; η² = ‖u‖² + ``soft``."""
    stops = square < law.stoppable[i] * law.stoppable[i]
    inverse = 0.0 if stops else 1.0 / (np.sqrt(square + soft) + _TINY)
    law.dual1[i] = inverse * iterate.v1[i]
    law.dual2[i] = inverse * iterate.v2[i]
    if graph.ellipsoids != 0 and graph.ellipsoidal[i] != 0:
        law.dual1[i] = inverse * np.sqrt(square)
        law.dual2[i] = 0.0


@compiled
def _follow_radial(
    law: Table, iterate: Table, i: int, alpha: float, before: float, soft: float, least: float
) -> None:
    """Update the w of an ellipsoidal contact, of which only the part along û is kept."""
    slip, along, across = scaled_slip(iterate, i, -alpha)
    eta = np.sqrt(slip * slip + soft)
    turn = before * slip * along / (eta + _TINY)
    if eta <= least:
        eta = least + _TINY
        turn = 0.0
    # In the plane of u and Δu before the step, with û as its first axis.
    x = (slip + along - turn) / eta
    y = across / eta
    u = slip + alpha * along
    v = alpha * across
    now = np.sqrt(u * u + v * v)
    part = (x * u + y * v) / now if now > 0.0 else 0.0
    law.dual1[i] = min(max(part, 0.0), 1.0)
    law.dual2[i] = 0.0


@inlined
def follow_dual(
    graph: Table, law: Table, iterate: Table, i: int, alpha: float, soft: float, least: float
) -> None:
    """Let w follow a Newton step Δv, of which α has been taken; η² = ‖v_t‖² + ``soft``.

    Below ``least`` η is that, and friction is linear in the slip.
    """
    before = law.dual1[i]
    x = iterate.v1[i] - alpha * iterate.dv1[i]
    y = iterate.v2[i] - alpha * iterate.dv2[i]
    eta = np.sqrt(x * x + y * y + soft)
    inverse = 1.0 / (max(eta, least) + _TINY)
    along = 0.0
    if eta > least:
        along = (x * iterate.dv1[i] + y * iterate.dv2[i]) * inverse
    x = inverse * (x + iterate.dv1[i] - law.dual1[i] * along)
    y = inverse * (y + iterate.dv2[i] - law.dual2[i] * along)
    shorter = 1.0 / max(np.sqrt(x * x + y * y), 1.0)
    law.dual1[i] = shorter * x
    law.dual2[i] = shorter * y
    if graph.ellipsoids != 0 and graph.ellipsoidal[i] != 0:
        _follow_radial(law, iterate, i, alpha, before, soft, least)
