"""Friction of all kinds: torsion, rolling and a second coefficient of sliding.

Its potential is that of sliding, μλ f₀(‖u‖), of the scaled slip (docs/equations.md,
‘Friction of all kinds’)

    u = (u₁, s₀ u₂, s₁ ρ₁, s₂ ρ₂, s₃ ρ_n)

with the rotation ρ [rad] of the first side against the second over the step. An *arrow* e that is
fixed to a link moves by ρ × e, which is linear in Q. So the normal n and the first tangent t₁, as
arrows on both links, say

    ρ₁ = −t₂ · δn,   ρ₂ = t₁ · δn,   ρ_n = t₂ · δt₁.

Every stencil has the moments of its own normal force. All stencils of two links see one rotation:
their moments add up to those of the whole force, whether it acts in a point or over a face.

Rows y ⊗ d of u have one of three y on each side (of the slip and of both arrows) and one of the two
tangents for d. Products of different rows have 3 × 3 blocks that are not symmetric.
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled
from asperity.midas.energy.potentials import friction_slope
from asperity.midas.factor.outer_products import add_block
from asperity.midas.pose.matrices import make_orthogonal

__all__ = ["SLIPS", "add_kinds", "fill_kinds", "model_tangents", "place_arrows", "turn_kinds"]

SLIPS = 5
"""Components of a scaled slip."""

# Length, of one, with which a direction lies along a plane, and share of an axis along the normal
# with which it is no tangent.
_LIES = 1e-12
_ALONG = 0.5


@compiled
def model_tangents(
    engine: Table, pair: int, normal: np.ndarray, q: np.ndarray, frame: np.ndarray
) -> None:
    """Fill MuJoCo's tangents of a contact with a normal of any length, shape (2, 3).

    The first one is nearest to the y axis, or to the z axis if that is near the normal. On a plane
    a capsule has its own axis, and the x axis if it is upright.
    """
    shapes = engine.shapes
    length = math.sqrt(normal[0] ** 2 + normal[1] ** 2 + normal[2] ** 2)
    first = frame[0]
    other = frame[1]
    size = 0.0
    shape = engine.pairs.shape[pair]
    begin = shapes.vertex_start[shape[0]]
    if shape[1] < 0 and shapes.vertex_start[shape[0] + 1] == begin + 2:
        link = shapes.vertex_link[begin]
        for k in range(3):
            first[k] = 0.0
            for j in range(1, 4):
                ahead = shapes.vertex_rest[begin + 1, j] - shapes.vertex_rest[begin, j]
                first[k] += ahead * q[link, j, k]
        whole = math.sqrt(first[0] ** 2 + first[1] ** 2 + first[2] ** 2)
        for k in range(3):
            first[k] /= whole
        size = _project(first, normal, length)
        if size < _LIES:
            for k in range(3):
                first[k] = 1.0 if k == 0 else 0.0
            size = _project(first, normal, length)
    if size < _LIES:
        axis = 1 if abs(normal[1]) < _ALONG * length else 2
        for k in range(3):
            first[k] = 1.0 if k == axis else 0.0
        size = _project(first, normal, length)
    for k in range(3):
        first[k] /= size
    for k in range(3):
        i = (k + 1) % 3
        j = (k + 2) % 3
        other[k] = (normal[i] * first[j] - normal[j] * first[i]) / length


@compiled
def _project(vector: np.ndarray, normal: np.ndarray, length: float) -> float:
    """Take from a vector what it has along a normal; returns the length of the rest."""
    along = 0.0
    for k in range(3):
        along += vector[k] * normal[k]
    for k in range(3):
        vector[k] -= along / (length * length) * normal[k]
    return math.sqrt(vector[0] ** 2 + vector[1] ** 2 + vector[2] ** 2)


@compiled
def place_arrows(
    poses: Table, one: int, other: int, q: np.ndarray, frame: np.ndarray, arrow: np.ndarray
) -> None:
    """Fill y of the normal and of the first tangent on two links, shape (2, 2, 4).

    Links are turned as at ``q``, or, where they are nothing like rigid there, as they are now.
    """
    rotation = np.empty((3, 3))
    world = q.shape[0] - 1
    for side in range(2):
        link = one if side == 0 else other
        sign = 1.0 if side == 0 else -1.0
        if link == world:
            sign = 0.0
        for attempt in range(2):
            lead = q if attempt == 0 else poses.q
            for k in range(3):
                for j in range(3):
                    rotation[k, j] = lead[link, 1 + j, k]
            if make_orthogonal(rotation):
                break
        for which in range(2):
            arrow[side, which, 0] = 0.0
            for j in range(3):
                arrow[side, which, 1 + j] = 0.0
        for k in range(3):
            i = (k + 1) % 3
            m = (k + 2) % 3
            normal = frame[0, i] * frame[1, m] - frame[0, m] * frame[1, i]
            for j in range(3):
                arrow[side, 0, 1 + j] += sign * normal * rotation[k, j]
                arrow[side, 1, 1 + j] += sign * frame[0, k] * rotation[k, j]


@compiled
def fill_kinds(
    poses: Table,
    one: int,
    other: int,
    scale: np.ndarray,
    frame: np.ndarray,
    arrow: np.ndarray,
    q: np.ndarray,
    u: np.ndarray,
) -> float:
    """Scale the second slip and fill the others, shape (5,); returns the size of them all [m]."""
    u[1] *= scale[0]
    for k in range(2, SLIPS):
        u[k] = 0.0
    for side in range(2):
        link = one if side == 0 else other
        for j in range(1, 4):
            for k in range(3):
                move = q[link, j, k] - poses.q_slip[link, j, k]
                u[2] += scale[1] * arrow[side, 0, j] * move * frame[1, k]
                u[3] += scale[2] * arrow[side, 0, j] * move * frame[0, k]
                u[4] += scale[3] * arrow[side, 1, j] * move * frame[1, k]
    square = 0.0
    for k in range(SLIPS):
        square += u[k] * u[k]
    return math.sqrt(square)


@compiled
def turn_kinds(
    w: np.ndarray, u: np.ndarray, ahead: np.ndarray, size: float, width: float, share: float
) -> None:
    """Move a dual by a share of a direction, ahead by which is the slip; as `turn_dual`."""
    per_slip, bend = friction_slope(size, width)
    along = 0.0
    for k in range(SLIPS):
        ahead[k] = (ahead[k] - u[k]) / share
        along += u[k] * ahead[k]
    turn = bend / per_slip * along
    square = 0.0
    for k in range(SLIPS):
        w[k] += share * (per_slip * (u[k] + ahead[k]) + (turn - 1.0) * w[k])
        square += w[k] * w[k]
    for k in range(SLIPS):
        w[k] /= max(math.sqrt(square), 1.0)


@compiled
def _group(k: int) -> int:
    """Which y a component of the slip has: of the contact's point 0, of the arrows 1 and 2."""
    return 0 if k < 2 else (1 if k < 4 else 2)


@compiled
def _tangent(k: int) -> int:
    """Which tangent a component of the slip is along."""
    return 0 if k in (0, 3) else 1


@compiled
def _add_products(
    sums: np.ndarray, one: np.ndarray, other: np.ndarray, d: np.ndarray, rolls: bool
) -> None:
    """Add Σ (y_g y_hᵀ) ⊗ D_gh of the y of two sides, each shape (3, 4)."""
    for g in range(3):
        for h in range(3):
            if rolls or (g != 1 and h != 1):
                add_block(sums, one[g], other[h], d, 3 * g, 3 * h)


@compiled
def add_kinds(
    engine: Table, i: int, force: float, width: float, size: float, u: np.ndarray
) -> None:
    """Add gradient and Hessian blocks of a stencil with a scaled slip ``u`` of a known ``size``.

    ``force`` is h² μλ. The Hessian has the dual for u/‖u‖, as `friction_stiffness`.
    """
    friction = engine.friction
    links = engine.newton.link_gradient.shape[0]
    pair = friction.pair[i]
    frame = friction.frame[i]
    scale = engine.pairs.slip_scale[pair]
    w = friction.dual[i]
    d = engine.work.block_work[0]
    y = engine.work.kind_sides
    per_slip, bend = friction_slope(size, width)
    for g in range(9):
        for h in range(9):
            d[g, h] = 0.0
    for k in range(SLIPS):
        own = 1.0 if k == 0 else scale[k - 1]
        e = frame[_tangent(k)]
        push = force * per_slip * u[k] * own
        for side in range(2):
            for j in range(4):
                value = friction.weight[i, side, j]
                if k >= 2:
                    value = friction.arrow[i, side, _group(k) - 1, j]
                y[side, _group(k), j] = value
                for m in range(3):
                    if friction.link[i, side] < links:
                        engine.newton.link_gradient[friction.link[i, side], j, m] += (
                            push * value * e[m]
                        )
        for n in range(SLIPS):
            value = 0.5 * bend / per_slip * (w[k] * u[n] + w[n] * u[k])
            if k == n:
                value += per_slip
            value *= force * own * (1.0 if n == 0 else scale[n - 1])
            for r in range(3):
                for c in range(3):
                    d[3 * _group(k) + r, 3 * _group(n) + c] += value * e[r] * frame[_tangent(n), c]
    if engine.newton.only_slopes == 1:
        return
    a = friction.link[i, 0]
    b = friction.link[i, 1]
    rolls = scale[1] > 0.0 or scale[2] > 0.0
    if a < links:
        _add_products(engine.hessian.link_sums[a], y[0], y[0], d, rolls)
    if b < links:
        _add_products(engine.hessian.link_sums[b], y[1], y[1], d, rolls)
    if a < links and b < links:
        target = engine.hessian.slot_sums[engine.hessian.block_slot[engine.pairs.block[pair]]]
        one = 0 if a < b else 1
        _add_products(target, y[one], y[1 - one], d, rolls)
