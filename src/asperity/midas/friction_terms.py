"""Lagged, smoothed friction (IPC, section 5.5).

Normal forces, contact points and tangent planes are those of a given state, so that friction has
the potential Σ μλ f₀(‖u‖) with slips u that are linear in the links' coordinates.
"""

from __future__ import annotations

import math

from asperity.compiled import compiled
from asperity.midas.contact_terms import add_outer, contact_sides
from asperity.midas.distances import EDGE_EDGE, VERTEX_PLANE, mollifier
from asperity.midas.layouts import (
    ACTIVATION,
    BARRIER_STIFFNESS,
    CANDIDATES,
    FRICTION_PAIRS,
    MIDAS,
    STEP,
    STICTION,
)
from asperity.midas.potentials import barrier_slopes, friction, friction_slope

__all__ = [
    "add_friction_terms",
    "collect_friction",
    "friction_energy",
    "friction_scale",
    "normal_force",
    "tangents",
]

_midas = MIDAS.get


@compiled
def normal_force(engine, i, x):
    """Normal force [N] of a candidate measured at ``x``."""
    reals = _midas(engine, "reals")
    activation = reals[ACTIVATION]
    square = _midas(engine, "candidate_square")[i]
    if square >= activation * activation or square <= 0.0:
        return 0.0
    slope, _ = barrier_slopes(square, activation)
    force = -reals[BARRIER_STIFFNESS] * _midas(engine, "candidate_weight")[i] * slope
    if _midas(engine, "candidate_kind")[i] == EDGE_EDGE:
        v = _midas(engine, "candidate_vertex")[i]
        threshold = _midas(engine, "candidate_threshold")[i]
        slopes = _midas(engine, "mollifier_slope")
        force *= mollifier(v[0], v[1], v[2], v[3], x, threshold, slopes)
    return force


@compiled
def tangents(normal, frame):
    """Fill two unit vectors across a normal (of any length), shape (2, 3)."""
    k = 0
    if abs(normal[1]) < abs(normal[k]):
        k = 1
    if abs(normal[2]) < abs(normal[k]):
        k = 2
    i = (k + 1) % 3
    j = (k + 2) % 3
    length = math.sqrt(normal[i] * normal[i] + normal[j] * normal[j])
    frame[0, k] = 0.0
    frame[0, i] = -normal[j] / length
    frame[0, j] = normal[i] / length
    size = math.sqrt(length * length + normal[k] * normal[k])
    # normal × first tangent
    frame[1, k] = (normal[i] * frame[0, j] - normal[j] * frame[0, i]) / size
    frame[1, i] = (normal[j] * frame[0, k] - normal[k] * frame[0, j]) / size
    frame[1, j] = (normal[k] * frame[0, i] - normal[i] * frame[0, k]) / size


@compiled
def collect_friction(engine, x):
    """Freeze friction at candidates measured at ``x``."""
    kind = _midas(engine, "candidate_kind")
    vertex = _midas(engine, "candidate_vertex")
    coefficient = _midas(engine, "candidate_coefficient")
    arm = _midas(engine, "candidate_arm")
    pair = _midas(engine, "candidate_pair")
    owner = _midas(engine, "vertex_link")
    friction_of = _midas(engine, "pair_friction")
    friction_pair = _midas(engine, "friction_pair")
    link = _midas(engine, "friction_link")
    weight = _midas(engine, "friction_weight")
    frame = _midas(engine, "friction_frame")
    force = _midas(engine, "friction_force")
    ints = _midas(engine, "ints")
    world = _midas(engine, "link_parent").size
    count = 0
    for i in range(ints[CANDIDATES]):
        mu = friction_of[pair[i]]
        if mu == 0.0:
            continue
        value = mu * normal_force(engine, i, x)
        if value <= 0.0:
            continue
        force[count] = value
        friction_pair[count] = pair[i]
        link[count, 0] = owner[vertex[i, 0]]
        link[count, 1] = world if kind[i] == VERTEX_PLANE else owner[vertex[i, 3]]
        contact_sides(engine, kind[i], vertex[i], coefficient[i], weight[count])
        tangents(arm[i], frame[count])
        count += 1
    ints[FRICTION_PAIRS] = count


@compiled
def friction_scale(engine):
    """Sum of the forces that friction can bear [N]."""
    force = _midas(engine, "friction_force")
    total = 0.0
    for i in range(_midas(engine, "ints")[FRICTION_PAIRS]):
        total += force[i]
    return total


@compiled
def _slip(engine, i, q, u):
    """Fill the slip [m] of a friction stencil from the start of the step, shape (2,)."""
    link = _midas(engine, "friction_link")
    weight = _midas(engine, "friction_weight")
    frame = _midas(engine, "friction_frame")
    start = _midas(engine, "q_slip")
    u[0] = 0.0
    u[1] = 0.0
    for side in range(2):
        body = link[i, side]
        for j in range(4):
            w = weight[i, side, j]
            for k in range(3):
                move = w * (q[body, j, k] - start[body, j, k])
                u[0] += move * frame[i, 0, k]
                u[1] += move * frame[i, 1, k]


@compiled
def friction_energy(engine, q):
    """Energy of friction [J s²]."""
    force = _midas(engine, "friction_force")
    u = _midas(engine, "slip")
    reals = _midas(engine, "reals")
    h = reals[STEP]
    width = reals[STICTION] * h
    total = 0.0
    for i in range(_midas(engine, "ints")[FRICTION_PAIRS]):
        _slip(engine, i, q, u)
        total += force[i] * friction(math.sqrt(u[0] * u[0] + u[1] * u[1]), width)
    return h * h * total


@compiled
def add_friction_terms(engine, q):
    """Add gradients and Hessian blocks of friction."""
    link = _midas(engine, "friction_link")
    weight = _midas(engine, "friction_weight")
    frame = _midas(engine, "friction_frame")
    force = _midas(engine, "friction_force")
    pair = _midas(engine, "friction_pair")
    pair_block = _midas(engine, "pair_block")
    block_slot = _midas(engine, "block_slot")
    gradient = _midas(engine, "link_gradient")
    sums = _midas(engine, "link_sums")
    slot_sums = _midas(engine, "slot_sums")
    u = _midas(engine, "slip")
    reals = _midas(engine, "reals")
    h = reals[STEP]
    width = reals[STICTION] * h
    links = gradient.shape[0]
    for i in range(_midas(engine, "ints")[FRICTION_PAIRS]):
        _slip(engine, i, q, u)
        per_slip, bend = friction_slope(math.sqrt(u[0] * u[0] + u[1] * u[1]), width)
        s = h * h * force[i]
        a0 = s * (per_slip + bend * u[0] * u[0])
        a1 = s * bend * u[0] * u[1]
        a2 = s * (per_slip + bend * u[1] * u[1])
        p = frame[i, 0]
        o = frame[i, 1]
        h00 = a0 * p[0] * p[0] + 2.0 * a1 * p[0] * o[0] + a2 * o[0] * o[0]
        h11 = a0 * p[1] * p[1] + 2.0 * a1 * p[1] * o[1] + a2 * o[1] * o[1]
        h22 = a0 * p[2] * p[2] + 2.0 * a1 * p[2] * o[2] + a2 * o[2] * o[2]
        h01 = a0 * p[0] * p[1] + a1 * (p[0] * o[1] + p[1] * o[0]) + a2 * o[0] * o[1]
        h02 = a0 * p[0] * p[2] + a1 * (p[0] * o[2] + p[2] * o[0]) + a2 * o[0] * o[2]
        h12 = a0 * p[1] * p[2] + a1 * (p[1] * o[2] + p[2] * o[1]) + a2 * o[1] * o[2]
        for side in range(2):
            body = link[i, side]
            if body >= links:
                continue
            y = weight[i, side]
            for j in range(4):
                for k in range(3):
                    gradient[body, j, k] += s * per_slip * y[j] * (u[0] * p[k] + u[1] * o[k])
            add_outer(sums[body], y, y, h00, h01, h02, h11, h12, h22)
        a = link[i, 0]
        b = link[i, 1]
        if a < links and b < links:
            target = slot_sums[block_slot[pair_block[pair[i]]]]
            one = 0 if a < b else 1
            add_outer(target, weight[i, one], weight[i, 1 - one], h00, h01, h02, h11, h12, h22)
