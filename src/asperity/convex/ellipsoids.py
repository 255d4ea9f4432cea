"""Friction of all kinds: sliding, torsion and rolling, with an ellipsoid as the limit.

Torsion, rolling and different coefficients along the two tangents make the limit of friction an
ellipsoid, Σ (f_k/μ_k)² ≤ n². By maximum dissipation its potential is that of one coefficient, μ,
for the *scaled slip* u = (v_1, s_0 v_2, s_1 ω_1, s_2 ω_2, s_3 ω_n), with further coefficients over
μ as scales (docs/equations.md, ‘Friction of all kinds’). If the rows e_k of the Jacobian are scaled
likewise, nothing else changes.

Laws are isotropic and written for a slip of two components. So they are asked in the plane of the
slip and its change, in which the slip is (‖u‖, 0). Their impulses and curvatures there give

    γ_u = γ_1 û,   H_uu = h_22 1 + (h_11 − h_22) û ûᵀ,   H_un = h_1n û,   û = u/‖u‖.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled, inlined
from asperity.convex.spatial_hessian import Full, Symmetric

__all__ = [
    "Six",
    "add_turn_impulse",
    "contact_row",
    "ellipsoid_hessian",
    "fill_turns",
    "move_contacts",
    "scaled_slip",
    "slip_square",
    "spread_response",
    "turn_impulse_in_world",
]

Six = tuple[float, float, float, float, float, float]


@compiled
def fill_turns(
    graph: Table,
    contacts: Table,
    first: int,
    last: int,
    vector: np.ndarray,
    v2: np.ndarray,
    turn: np.ndarray,
) -> None:
    """Scale the second slips of ellipsoidal contacts and fill their turning, 0 of the others."""
    frame = contacts.frame
    for i in range(first, last):
        for k in range(3):
            turn[i, k] = 0.0
        if graph.ellipsoidal[i] == 0:
            continue
        c = graph.contact[i]
        scale = contacts.slip_scale[c]
        v2[i] *= scale[0]
        for a in range(3):
            w = 0.0
            if graph.base_b[i] >= 0:
                w += vector[graph.base_b[i] + a]
            if graph.base_a[i] >= 0:
                w -= vector[graph.base_a[i] + a]
            for k in range(3):
                turn[i, k] += scale[1 + k] * frame[c, 3 * k + a] * w


@inlined
def slip_square(graph: Table, iterate: Table, i: int, alpha: float) -> float:
    """‖u‖² at ``v + α Δv``, with α = 0 now."""
    x = iterate.v1[i]
    y = iterate.v2[i]
    if alpha != 0.0:
        x += alpha * iterate.dv1[i]
        y += alpha * iterate.dv2[i]
    square = x * x + y * y
    if graph.ellipsoids != 0:
        for k in range(3):
            z = iterate.turn[i, k] + alpha * iterate.turn_change[i, k]
            square += z * z
    return square


@compiled
def scaled_slip(iterate: Table, i: int, alpha: float) -> tuple[float, float, float]:
    """‖u‖ at ``v + α Δv``, and the parts of Δu along u there and across."""
    dx = iterate.dv1[i]
    dy = iterate.dv2[i]
    x = iterate.v1[i] + alpha * dx
    y = iterate.v2[i] + alpha * dy
    square = x * x + y * y
    along = x * dx + y * dy
    change = dx * dx + dy * dy
    for k in range(3):
        dz = iterate.turn_change[i, k]
        z = iterate.turn[i, k] + alpha * dz
        square += z * z
        along += z * dz
        change += dz * dz
    slip = np.sqrt(square)
    if slip == 0.0:
        return 0.0, np.sqrt(change), 0.0
    along /= slip
    return slip, along, np.sqrt(max(change - along * along, 0.0))


@compiled
def spread_response(
    iterate: Table, i: int, slip: float, impulse: float, along: float, across: float, normal: float
) -> None:
    """Fill an ellipsoidal contact's impulses and curvatures from those in the plane of its slip."""
    inverse = 1.0 / slip if slip > 0.0 else 0.0
    u = iterate.slip_direction[i]
    u[0] = iterate.v1[i] * inverse
    u[1] = iterate.v2[i] * inverse
    iterate.g1[i] = impulse * u[0]
    iterate.g2[i] = impulse * u[1]
    for k in range(3):
        u[2 + k] = iterate.turn[i, k] * inverse
        iterate.turn_impulse[i, k] = impulse * u[2 + k]
    more = along - across
    iterate.slip_curvature[i, 0] = across
    iterate.slip_curvature[i, 1] = more
    iterate.slip_curvature[i, 2] = normal
    iterate.h11[i] = across + more * u[0] * u[0]
    iterate.h12[i] = more * u[0] * u[1]
    iterate.h22[i] = across + more * u[1] * u[1]
    iterate.h1n[i] = normal * u[0]
    iterate.h2n[i] = normal * u[1]


@inlined
def move_contacts(graph: Table, iterate: Table, first: int, last: int, alpha: float) -> None:
    """Let the velocities of contacts follow a step α along the prepared direction."""
    for i in range(first, last):
        iterate.v1[i] += alpha * iterate.dv1[i]
        iterate.v2[i] += alpha * iterate.dv2[i]
        iterate.vn[i] += alpha * iterate.dvn[i]
    if graph.ellipsoids != 0:
        for i in range(first, last):
            for k in range(3):
                iterate.turn[i, k] += alpha * iterate.turn_change[i, k]


@compiled
def turn_impulse_in_world(
    graph: Table, iterate: Table, contacts: Table, i: int, sign: float
) -> tuple[float, float, float]:
    """The impulse of torsion and rolling on B in world axes [N m s], times a sign."""
    c = graph.contact[i]
    frame = contacts.frame
    scale = contacts.slip_scale
    r = sign * scale[c, 1] * iterate.turn_impulse[i, 0]
    s = sign * scale[c, 2] * iterate.turn_impulse[i, 1]
    t = sign * scale[c, 3] * iterate.turn_impulse[i, 2]
    return (
        frame[c, 0] * r + frame[c, 3] * s + frame[c, 6] * t,
        frame[c, 1] * r + frame[c, 4] * s + frame[c, 7] * t,
        frame[c, 2] * r + frame[c, 5] * s + frame[c, 8] * t,
    )


@compiled
def add_turn_impulse(
    graph: Table, iterate: Table, contacts: Table, i: int, out: np.ndarray, sign: float
) -> None:
    """Add the impulse of torsion and rolling to the forces on both sides."""
    x, y, z = turn_impulse_in_world(graph, iterate, contacts, i, sign)
    if graph.base_b[i] >= 0:
        base = graph.base_b[i]
        out[base] += x
        out[base + 1] += y
        out[base + 2] += z
    if graph.base_a[i] >= 0:
        base = graph.base_a[i]
        out[base] -= x
        out[base + 1] -= y
        out[base + 2] -= z


@compiled
def contact_row(contacts: Table, c: int, arm: np.ndarray, k: int) -> Six:
    """Row e_k of a side's Jacobian (rotation, translation): five of the slip, then the normal.

    Contacts that are not ellipsoidal have none from 2 to 4.
    """
    frame = contacts.frame
    scale = contacts.slip_scale
    if 2 <= k < 5:
        s = scale[c, k - 1]
        at = 3 * (k - 2)
        return (s * frame[c, at], s * frame[c, at + 1], s * frame[c, at + 2], 0.0, 0.0, 0.0)
    s = scale[c, 0] if k == 1 and contacts.ellipsoidal[c] != 0 else 1.0
    at = 6 if k == 5 else 3 * k
    x = s * frame[c, at]
    y = s * frame[c, at + 1]
    z = s * frame[c, at + 2]
    return (
        arm[c, 1] * z - arm[c, 2] * y,
        arm[c, 2] * x - arm[c, 0] * z,
        arm[c, 0] * y - arm[c, 1] * x,
        x,
        y,
        z,
    )


@compiled
def slip_row(graph: Table, iterate: Table, contacts: Table, i: int, arm: np.ndarray) -> Six:
    """The row of a side's Jacobian along the slip, Σ û_k e_k."""
    c = graph.contact[i]
    s = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for k in range(5):
        u = iterate.slip_direction[i, k]
        e = contact_row(contacts, c, arm, k)
        s = (
            s[0] + u * e[0],
            s[1] + u * e[1],
            s[2] + u * e[2],
            s[3] + u * e[3],
            s[4] + u * e[4],
            s[5] + u * e[5],
        )
    return s


@compiled
def _add_product(
    h: tuple[Symmetric, Full, Symmetric], w: float, a: Six, b: Six
) -> tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]:
    """Add ½ w (a bᵀ + b aᵀ) to (G, Q, P)."""
    g, q, p = h
    v = 0.5 * w
    return (
        (
            g[0] + w * a[3] * b[3],
            g[1] + v * (a[3] * b[4] + a[4] * b[3]),
            g[2] + v * (a[3] * b[5] + a[5] * b[3]),
            g[3] + w * a[4] * b[4],
            g[4] + v * (a[4] * b[5] + a[5] * b[4]),
            g[5] + w * a[5] * b[5],
        ),
        (
            q[0] + v * (a[0] * b[3] + b[0] * a[3]),
            q[1] + v * (a[0] * b[4] + b[0] * a[4]),
            q[2] + v * (a[0] * b[5] + b[0] * a[5]),
            q[3] + v * (a[1] * b[3] + b[1] * a[3]),
            q[4] + v * (a[1] * b[4] + b[1] * a[4]),
            q[5] + v * (a[1] * b[5] + b[1] * a[5]),
            q[6] + v * (a[2] * b[3] + b[2] * a[3]),
            q[7] + v * (a[2] * b[4] + b[2] * a[4]),
            q[8] + v * (a[2] * b[5] + b[2] * a[5]),
        ),
        (
            p[0] + w * a[0] * b[0],
            p[1] + v * (a[0] * b[1] + a[1] * b[0]),
            p[2] + v * (a[0] * b[2] + a[2] * b[0]),
            p[3] + w * a[1] * b[1],
            p[4] + v * (a[1] * b[2] + a[2] * b[1]),
            p[5] + w * a[2] * b[2],
        ),
    )


@compiled
def ellipsoid_hessian(
    graph: Table, iterate: Table, contacts: Table, i: int, arm: np.ndarray
) -> tuple[Symmetric, Full, Symmetric]:
    """`asperity.convex.spatial_hessian.spatial_hessian` of an ellipsoidal contact: (G, Q, P)."""
    c = graph.contact[i]
    across = iterate.slip_curvature[i, 0]
    h = (
        (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    )
    for k in range(5):
        e = contact_row(contacts, c, arm, k)
        h = _add_product(h, across, e, e)
    s = slip_row(graph, iterate, contacts, i, arm)
    n = contact_row(contacts, c, arm, 5)
    h = _add_product(h, iterate.slip_curvature[i, 1], s, s)
    h = _add_product(h, 2.0 * iterate.slip_curvature[i, 2], s, n)
    return _add_product(h, iterate.hnn[i], n, n)
